//! The declaration and the run of `grep`.

use super::{
    input::{GrepInput, GrepMode},
    page::{Page, Window},
    verdict::{searched, text},
};
use crate::{glob::Hidden, text::paths};
use haft_core::{
    Cx, Effects, Failure, FileKind, Files, GrepQuery, Output, RealPath, Risk, SessionView, Spec, Tool, Touch,
    WalkOptions, WalkReport,
};
use serde_json::json;
use std::{ops::ControlFlow, sync::Arc};

/// Matches (or files) shown unless the caller says otherwise.
const LIMIT: u32 = 250;
/// Most entries that are visited only to count what is hidden.
const SURVEY_MAX_ENTRIES: u64 = 20_000;
/// Most lines of context.
const CONTEXT_MAX: u32 = 100;

/// Searches the content of files.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GrepTool;

impl Tool for GrepTool {
    type Input = GrepInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        Spec::new("grep", include_str!("prompt.md").trim())
            .with_aliases(&["Grep"])
            .with_input_aliases("path", &["dir", "directory"])
            .with_input_aliases("ignoreCase", &["ignore_case", "-i", "case_insensitive"])
            .with_input_aliases("mode", &["output_mode"])
            .with_input_aliases("glob", &["include"])
            .with_input_aliases("limit", &["head_limit", "max_results"])
            .with_input_aliases("context", &["-C"])
            .with_category("files")
            .with_capabilities(&["fs.read"])
            .with_risk(Risk::Safe)
            .with_display("🔎", "Searching")
            .read_only()
            .concurrency_safe()
            .idempotent()
    }

    fn validate(&self, input: &GrepInput) -> Result<(), Failure> {
        if input.pattern.is_empty() {
            return Err(Failure::invalid(
                "/pattern is empty, which matches every line; use read or glob instead",
            ));
        }
        Ok(())
    }

    fn effects(&self, input: &GrepInput, _: &dyn SessionView) -> Effects {
        Effects::Only(vec![Touch::ReadTree(input.tree())])
    }

    async fn run(&self, input: GrepInput, cx: &Cx) -> Result<Output, Failure> {
        let tree = cx.path(&input.tree())?;
        let files = Arc::clone(&cx.world.files);
        let job = Job {
            query: query(&input, cx),
            window: window(&input),
            workspace: files.workspace(),
            named: input.path.is_some(),
            tree,
        };
        let (page, report, hidden) = cx.blocking(move || job.search(files.as_ref())).await?;
        let metadata = json!({
            "matches": page.matches,
            "filesWithMatches": page.files,
            "filesSearched": searched(&report),
            "shown": page.shown,
            "hidden": hidden.count,
        });
        let output = Output::text(text(&page, &report, hidden)).with_metadata(metadata);
        if cx.cancel.is_fired() {
            let failure = Failure::cancelled();
            return Err(if page.matches > 0 { failure.with_partial(output) } else { failure });
        }
        Ok(output)
    }
}

fn window(input: &GrepInput) -> Window {
    let mode = input.mode.unwrap_or_default();
    Window {
        mode,
        context: if mode == GrepMode::Content {
            input.context.unwrap_or(0).min(CONTEXT_MAX).into()
        } else {
            0
        },
        offset: input.offset.unwrap_or(0).into(),
        limit: input.limit.filter(|limit| *limit > 0).unwrap_or(LIMIT).into(),
    }
}

fn query(input: &GrepInput, cx: &Cx) -> GrepQuery {
    GrepQuery {
        pattern: input.pattern.clone(),
        fixed: input.fixed.unwrap_or(false),
        ignore_case: input.ignore_case.unwrap_or(false),
        multiline: input.multiline.unwrap_or(false),
        context: usize::try_from(window(input).context).unwrap_or(0),
        walk: WalkOptions {
            globs: input.glob.iter().cloned().collect(),
            types: input.kind.iter().cloned().collect(),
            cancel: cx.cancel.clone(),
            ..WalkOptions::default()
        },
    }
}

/// One search, off the async threads.
struct Job {
    tree: RealPath,
    workspace: RealPath,
    query: GrepQuery,
    window: Window,
    named: bool,
}

impl Job {
    fn search(mut self, files: &dyn Files) -> Result<(Page, WalkReport, Hidden), Failure> {
        let (page, report) = self.page(files)?;
        if report.files > 0 || !self.named || !self.is_hidden_whole(files) {
            let hidden = if page.matches == 0 { self.hidden(files, &report) } else { Hidden::default() };
            return Ok((page, report, hidden));
        }
        // A folder that the caller names is searched, though ignore rules hide all of it.
        self.query.walk.ignored = true;
        let (page, report) = self.page(files)?;
        Ok((page, report, Hidden::default()))
    }

    /// How many files ignore rules kept from the search, as far as it is cheap to say.
    fn hidden(&self, files: &dyn Files, report: &WalkReport) -> Hidden {
        let options = WalkOptions { ignored: true, ..self.query.walk.clone() };
        let (mut entries, mut found, mut at_least) = (0_u64, 0_u64, false);
        let walked = files.walk(&self.tree, &options, &mut |entry| {
            entries += 1;
            found += u64::from(entry.kind == FileKind::File);
            at_least = entries >= SURVEY_MAX_ENTRIES;
            if at_least { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        // One file, which is searched whatever hides it, can't be walked.
        if walked.is_err() {
            return Hidden::default();
        }
        Hidden { count: found.saturating_sub(report.files), at_least }
    }

    fn page(&self, files: &dyn Files) -> Result<(Page, WalkReport), Failure> {
        let mut page = Page::new(self.window);
        let report = files.grep(&self.tree, &self.query, &mut |hit| {
            page.add(&paths::shown(&hit.path, &self.workspace), &hit);
            ControlFlow::Continue(())
        })?;
        Ok((page, report))
    }

    fn is_hidden_whole(&self, files: &dyn Files) -> bool {
        let options = WalkOptions { cancel: self.query.walk.cancel.clone(), ..WalkOptions::default() };
        let mut is_empty = true;
        let walked = files.walk(&self.tree, &options, &mut |_| {
            is_empty = false;
            ControlFlow::Break(())
        });
        walked.is_ok() && is_empty
    }
}
