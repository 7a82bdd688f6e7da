//! The declaration and the run of `glob`.

use super::{answer::answer, input::GlobInput, matcher::Matcher, search::Query};
use haft_core::{Cx, Effects, Failure, FailureKind, Output, PathArg, Risk, SessionView, Spec, Tool, Touch};
use std::sync::Arc;

/// Paths listed unless the caller says otherwise.
const LIMIT: u32 = 100;
/// Most paths listed: beneath the bound on lines, so that the notes below them are never cut off.
pub(super) const LIMIT_MAX: u32 = 1_900;

/// Finds files by the pattern of their names.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GlobTool;

impl Tool for GlobTool {
    type Input = GlobInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        Spec::new("glob", include_str!("prompt.md").trim())
            .with_aliases(&["Glob"])
            .with_input_aliases("path", &["dir", "directory"])
            .with_input_aliases("limit", &["head_limit", "max_results"])
            .with_category("files")
            .with_capabilities(&["fs.read"])
            .with_risk(Risk::Safe)
            .with_display("🔍", "Finding")
            .read_only()
            .concurrency_safe()
            .idempotent()
    }

    fn validate(&self, input: &GlobInput) -> Result<(), Failure> {
        Matcher::new(&input.split()?.rest).map(drop)
    }

    fn effects(&self, input: &GlobInput, _: &dyn SessionView) -> Effects {
        match input.split() {
            Ok(split) => Effects::Only(vec![Touch::ReadTree(PathArg(split.base))]),
            Err(_) => Effects::Everything,
        }
    }

    async fn run(&self, input: GlobInput, cx: &Cx) -> Result<Output, Failure> {
        let split = input.split()?;
        let tree = cx.path(&PathArg(split.base.clone()))?;
        let names_git = split.rest.split('/').any(|part| part == ".git");
        if names_git || tree.beneath.split('/').any(|part| part == ".git") {
            return Err(Failure::invalid(".git is never searched; list it with bash, or use git itself"));
        }
        let is_hidden = !tree.is_outside() && tree.beneath.split('/').any(|part| part.starts_with('.'));
        let query = Arc::new(Query {
            workspace: cx.world.files.workspace(),
            matcher: Matcher::new(&split.rest)?,
            depth: split.depth(),
            literal: split.literal,
            ignored: input.ignored.unwrap_or(false) || is_hidden,
            named: split.named || input.path.is_some(),
            within: split.named || !tree.beneath.is_empty(),
            limit: usize::try_from(input.limit.filter(|limit| *limit > 0).unwrap_or(LIMIT).min(LIMIT_MAX))
                .unwrap_or(usize::MAX),
            cancel: cx.cancel.clone(),
            tree,
        });
        let search = {
            let (files, query) = (Arc::clone(&cx.world.files), Arc::clone(&query));
            cx.blocking(move || query.search(files.as_ref()))
        };
        let survey = {
            let (files, query) = (Arc::clone(&cx.world.files), Arc::clone(&query));
            cx.blocking(move || Ok(query.survey(files.as_ref())))
        };
        let (found, survey) = futures::future::join(search, survey).await;
        let found = match found {
            Err(failure) if failure.kind == FailureKind::NotFound && split.named => {
                let text =
                    format!("No files match \"{}\": there is no folder {}.", input.pattern, split.base);
                return Ok(Output::text(text));
            }
            found => found?,
        };
        if cx.cancel.is_fired() {
            return Err(Failure::cancelled());
        }
        let hidden = found.hidden(&survey?);
        Ok(answer(&input.pattern, found, hidden))
    }
}
