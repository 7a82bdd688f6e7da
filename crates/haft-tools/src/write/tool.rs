//! The tool `write`.

use super::{
    input::WriteInput,
    plan::{Plan, Wanted},
};
use crate::{
    glob::counted,
    text::{foreign::Foreign, paths, unmasked},
};
use haft_core::{
    Cancel, Cx, Effects, Failure, FileChange, Files, Output, PathArg, Permission, Preview, RealPath, Risk,
    Seen, SessionView, Spec, Tool, Touch, content_hash,
};
use serde_json::json;
use std::sync::Arc;

/// Creates and overwrites files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteTool;

impl Tool for WriteTool {
    type Input = WriteInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        Spec::new("write", include_str!("prompt.md").trim_end())
            .with_aliases(&["Write"])
            .with_input_aliases("path", &["file_path", "file", "filename", "filePath"])
            .with_input_aliases("content", &["contents", "text", "file_text", "fileText"])
            .with_category("files")
            .with_permission(Permission::Confirm)
            .with_risk(Risk::Standard)
            .idempotent()
            .with_capabilities(&["fs.write"])
            .with_display("📝", "Writing")
    }

    fn effects(&self, input: &WriteInput, _: &dyn SessionView) -> Effects {
        // Answers tell of what is there: that it has this content already, or what somebody else made of it.
        Effects::Only(vec![Touch::Read(input.path.clone()), Touch::Write(input.path.clone())])
    }

    async fn preview(&self, input: &WriteInput, cx: &Cx) -> Result<Preview, Failure> {
        let job = Job::new(input.clone(), cx)?;
        cx.blocking(move || {
            let plan = job.plan()?;
            let diff = plan.diff(&job.name);
            let text = if plan.is_change() { diff.text } else { format!("{} stays as it is.", job.name) };
            Ok(Preview { text, digest: plan.digest() })
        })
        .await
    }

    async fn run(&self, input: WriteInput, cx: &Cx) -> Result<Output, Failure> {
        let job = Job::new(input, cx)?;
        let at = job.at.clone();
        let output = cx.blocking(move || job.run()).await?;
        if !output.files.is_empty() {
            cx.file_changed(&at);
        }
        Ok(output)
    }
}

/// All that the blocking part needs.
struct Job {
    files: Arc<dyn Files>,
    at: RealPath,
    /// The path as it was written.
    written: PathArg,
    /// The path as it is written for readers.
    name: String,
    content: String,
    session: Arc<dyn SessionView>,
    seen: Option<Seen>,
    foreign: Foreign,
    cancel: Cancel,
}

impl Job {
    fn new(input: WriteInput, cx: &Cx) -> Result<Self, Failure> {
        let at = cx.path(&input.path)?;
        let seen = cx.session.seen(&at);
        let files = Arc::clone(&cx.world.files);
        let name = paths::shown(&at, &files.workspace());
        Ok(Self {
            files,
            at,
            written: input.path,
            name,
            content: input.content,
            session: Arc::clone(&cx.session),
            seen,
            foreign: Foreign::of(cx),
            cancel: cx.cancel.clone(),
        })
    }

    fn plan(&self) -> Result<Plan, Failure> {
        let wanted = Wanted {
            at: &self.at,
            written: &self.written,
            name: &self.name,
            content: &self.content,
            seen: self.seen.as_ref(),
            unmask: &|text: &str, now: &[u8]| unmasked(&*self.session, text, now),
            foreign: &|seen: &Seen, now: &[u8]| self.foreign.change(&self.at, seen, now),
        };
        Plan::of(&*self.files, &wanted, &self.cancel)
    }

    fn run(&self) -> Result<Output, Failure> {
        let plan = self.plan()?;
        let (at, lines) = (&self.at, plan.lines());
        let seen = vec![(at.clone(), Seen::whole(&content_hash(&plan.after), lines))];
        if !plan.is_change() {
            let text = format!("Nothing changed: {} has exactly this content already.", self.name);
            return Ok(Output { seen, ..Output::text(text) });
        }
        if self.cancel.is_fired() {
            return Err(Failure::cancelled());
        }
        let change = self.files.write(at, &plan.after, &plan.mode())?;
        Ok(self.output(&plan, change, seen))
    }

    fn output(&self, plan: &Plan, change: FileChange, seen: Vec<(RealPath, Seen)>) -> Output {
        let (name, lines) = (&self.name, plan.lines());
        let verb = if plan.before.is_some() { "Overwrote" } else { "Created" };
        let bytes = u64::try_from(plan.after.len()).unwrap_or(u64::MAX);
        let mut text = format!("{verb} {name}: {}, {}", counted(bytes, "byte"), counted(lines, "line"));
        for note in &plan.notes {
            text.push_str(", ");
            text.push_str(note);
        }
        text.push('.');
        if let Some(note) = change.note(name) {
            text.push('\n');
            text.push_str(&note);
        }
        let diff = plan.diff(name);
        Output { seen, files: vec![change], ..Output::text(text) }.with_metadata(json!({
            "path": self.at.absolute(),
            "diff": diff.text,
            "added": diff.added,
            "removed": diff.removed,
            "created": plan.before.is_none(),
        }))
    }
}
