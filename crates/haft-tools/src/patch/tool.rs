//! The tool `patch`.

use super::{
    input::PatchInput,
    parse::parse,
    plan::{Look, Plan},
    result::describe,
    section::Patch,
};
use crate::text::{
    agreed::{Busy, Round, settle},
    foreign::Foreign,
    paths,
};
use haft_core::{
    Cancel, Cx, Effects, Exposure, Failure, FileChange, Files, Output, PathArg, Permission, Preview,
    RealPath, Risk, Seen, SessionView, Spec, Tool, Touch, content_hash,
};
use serde_json::json;
use std::sync::Arc;

/// Changes many files by hunks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PatchTool;

impl Tool for PatchTool {
    type Input = PatchInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        Spec::new("patch", include_str!("prompt.md").trim_end())
            .with_aliases(&["apply_patch", "ApplyPatch"])
            .with_input_aliases("patch", &["input", "diff", "patch_text", "patchText"])
            .with_category("files")
            .with_permission(Permission::Confirm)
            .with_risk(Risk::Standard)
            .with_capabilities(&["fs.write"])
            .with_exposure(Exposure::Deferred)
            .with_display("🩹", "Patching")
    }

    fn validate(&self, input: &PatchInput) -> Result<(), Failure> {
        parse(&input.patch).map(drop)
    }

    fn effects(&self, input: &PatchInput, _: &dyn SessionView) -> Effects {
        let Ok(patch) = parse(&input.patch) else { return Effects::Everything };
        let mut touches: Vec<Touch<PathArg>> = Vec::new();
        for touch in patch.sections.iter().flat_map(super::section::Section::touches) {
            if !touches.contains(&touch) {
                touches.push(touch);
            }
        }
        Effects::Only(touches)
    }

    async fn preview(&self, input: &PatchInput, cx: &Cx) -> Result<Preview, Failure> {
        let job = Job::new(input, cx)?;
        cx.blocking(move || {
            let plan = job.plan()?;
            Ok(Preview { text: plan.shown().text, digest: plan.digest() })
        })
        .await
    }

    async fn run(&self, input: PatchInput, cx: &Cx) -> Result<Output, Failure> {
        let job = Job::new(&input, cx)?;
        let output = cx.blocking(move || job.run()).await?;
        for change in &output.files {
            cx.file_changed(&change.path);
        }
        Ok(output)
    }
}

/// All that the blocking part needs.
struct Job {
    files: Arc<dyn Files>,
    patch: Patch,
    paths: Arc<[(PathArg, RealPath)]>,
    /// What the session has seen of each path.
    seen: Vec<(RealPath, Seen)>,
    foreign: Foreign,
    session: Arc<dyn SessionView>,
    cancel: Cancel,
}

impl Job {
    fn new(input: &PatchInput, cx: &Cx) -> Result<Self, Failure> {
        let patch = parse(&input.patch)?;
        let known = cx.paths.iter().filter_map(|(_, at)| Some((at.clone(), cx.session.seen(at)?)));
        Ok(Self {
            files: Arc::clone(&cx.world.files),
            patch,
            seen: known.collect(),
            foreign: Foreign::of(cx),
            session: Arc::clone(&cx.session),
            paths: Arc::clone(&cx.paths),
            cancel: cx.cancel.clone(),
        })
    }

    fn plan(&self) -> Result<Plan, Failure> {
        Plan::of(
            &self.patch,
            &Look { files: &*self.files, paths: &self.paths, cancel: &self.cancel, session: &*self.session },
        )
    }

    /// Plans, and makes exactly the changes planned; again where somebody else was faster, as long as they stay
    /// those that were agreed to.
    fn run(&self) -> Result<Output, Failure> {
        let look = || {
            let plan = self.plan()?;
            Ok(Round::Ready(plan.digest(), plan))
        };
        settle(
            &self.cancel,
            look,
            |plan| self.write(&plan),
            Busy {
                what: "a file of the patch is",
                place: "place",
                call: "patch",
                then: "it, read it again, and send the patch as it must be then.",
            },
        )
    }

    fn write(&self, plan: &Plan) -> Result<Output, Failure> {
        let ops = plan.ops();
        if ops.is_empty() {
            return Ok(Output::text("Nothing changed: every file has the new text already."));
        }
        let changes = self.files.apply(&ops)?;
        Ok(self.output(plan, changes))
    }

    fn seen_of(&self, at: &RealPath) -> Option<&Seen> {
        self.seen.iter().find(|(path, _)| path == at).map(|(_, seen)| seen)
    }

    fn output(&self, plan: &Plan, files: Vec<FileChange>) -> Output {
        let shown = plan.shown();
        let mut notes = self.patch.notes.clone();
        let workspace = self.files.workspace();
        notes.extend(files.iter().filter_map(|change| change.note(&paths::shown(&change.path, &workspace))));
        let mut seen = Vec::new();
        for file in &plan.files {
            let earlier = self.seen_of(&file.at);
            if let (Some(seen), Some(before)) = (earlier, &file.before)
                && self.foreign.is_stale(&file.at, earlier, &content_hash(before))
            {
                notes.push(format!(
                    "{} was changed elsewhere since it was last read; these places were still as given.{}",
                    file.name,
                    self.foreign.change(&file.at, seen, before)
                ));
            }
            seen.extend(file.seen(earlier).map(|seen| (file.goal().clone(), seen)));
        }
        let paths: Vec<String> = plan.files.iter().map(|file| file.goal().absolute()).collect();
        Output { seen, files, ..Output::text(describe(&shown, &notes)) }.with_metadata(json!({
            "paths": paths,
            "diff": shown.text,
            "added": shown.added,
            "removed": shown.removed,
        }))
    }
}
