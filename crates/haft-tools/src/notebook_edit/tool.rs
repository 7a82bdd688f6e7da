//! The tool `notebook_edit`.

use super::{
    input::NotebookEditInput,
    plan::{Planned, plan},
    step::Step,
};
use crate::text::{
    Coding,
    agreed::{Busy, Round, settle},
    binary,
    diff::{Diff, diff},
    foreign::Foreign,
    names, paths,
    whole::{count_lines, read_whole},
};
use haft_core::{
    Cancel, Cx, Effects, Exposure, Failure, FailureKind, FileChange, Files, Output, PathArg, Permission,
    Preview, RealPath, Risk, Seen, SessionView, Spec, Tool, Touch, WriteMode, content_hash,
};
use serde_json::json;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// Changes cells of notebooks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NotebookEditTool;

impl Tool for NotebookEditTool {
    type Input = NotebookEditInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        Spec::new("notebook_edit", include_str!("prompt.md").trim_end())
            .with_aliases(&["NotebookEdit"])
            .with_input_aliases("path", &["notebook_path", "file_path", "file", "filename", "notebookPath"])
            .with_input_aliases("cell", &["cell_id", "cellId", "id"])
            .with_input_aliases("action", &["edit_mode", "editMode", "mode"])
            .with_input_aliases("source", &["new_source", "newSource", "content"])
            .with_input_aliases("type", &["cell_type", "cellType"])
            .with_category("files")
            .with_permission(Permission::Confirm)
            .with_risk(Risk::Standard)
            .with_capabilities(&["fs.write"])
            .with_exposure(Exposure::Deferred)
            .with_display("📓", "Editing")
    }

    fn validate(&self, input: &NotebookEditInput) -> Result<(), Failure> {
        input.step().map(|_| ())
    }

    fn effects(&self, input: &NotebookEditInput, _: &dyn SessionView) -> Effects {
        Effects::Only(vec![Touch::Read(input.path.clone()), Touch::Write(input.path.clone())])
    }

    async fn preview(&self, input: &NotebookEditInput, cx: &Cx) -> Result<Preview, Failure> {
        let job = Job::new(input, cx)?;
        cx.blocking(move || {
            let ready = job.ready()?;
            Ok(Preview { text: ready.diff(&job.name).text, digest: ready.digest() })
        })
        .await
    }

    async fn run(&self, input: NotebookEditInput, cx: &Cx) -> Result<Output, Failure> {
        let job = Job::new(&input, cx)?;
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
    step: Step,
    seen: Option<Seen>,
    foreign: Foreign,
    cancel: Cancel,
}

/// A change that is ready to be written over exactly this content.
struct Ready {
    before: Vec<u8>,
    before_hash: Arc<str>,
    after: Vec<u8>,
    parts: Vec<String>,
    says: String,
}

impl Ready {
    fn diff(&self, name: &str) -> Diff {
        diff(name, &self.before, &self.after)
    }

    /// Stands for the cells that the change concerns, and for nothing else of the file.
    fn digest(&self) -> Vec<u8> {
        let mut hasher = Sha256::new();
        for part in &self.parts {
            hasher.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            hasher.update(part);
        }
        hasher.finalize().to_vec()
    }
}

impl Job {
    fn new(input: &NotebookEditInput, cx: &Cx) -> Result<Self, Failure> {
        let at = cx.path(&input.path)?;
        let seen = cx.session.seen(&at);
        let files = Arc::clone(&cx.world.files);
        let name = paths::shown(&at, &files.workspace());
        Ok(Self {
            files,
            at,
            written: input.path.clone(),
            name,
            step: input.step()?,
            seen,
            foreign: Foreign::of(cx),
            cancel: cx.cancel.clone(),
        })
    }

    fn ready(&self) -> Result<Ready, Failure> {
        let before = read_whole(&*self.files, &self.at, &self.cancel).map_err(|failure| {
            let is_missing = failure.kind == FailureKind::NotFound;
            let alike = is_missing.then(|| names::alike(&*self.files, &self.written, &self.at)).flatten();
            let text = alike.map_or(failure.text, |alike| alike.missing(&self.name));
            Failure { text, ..failure }
        })?;
        if let Some(refusal) = binary::refusal(&self.name, &before) {
            return Err(refusal);
        }
        let mark = match Coding::of(&before) {
            coding @ (Coding::Utf8 | Coding::Utf8Bom) => coding.bom(),
            other => {
                return Err(Failure::invalid(format!(
                    "{} is {}, and notebooks are UTF-8; nothing was changed. Convert it first, for example with \
                     iconv.",
                    self.name,
                    other.name()
                )));
            }
        };
        let text = before.get(mark.len()..).and_then(|text| std::str::from_utf8(text).ok());
        let Planned { after, parts, says } = plan(&self.name, text.unwrap_or_default(), &self.step)?;
        let after = [mark, after.as_bytes()].concat();
        Ok(Ready { before_hash: content_hash(&before), before, after, parts, says })
    }

    /// Reads, computes and writes over exactly what was read; again where somebody else was faster, as long as the
    /// change stays the one that was agreed to.
    fn run(&self) -> Result<Output, Failure> {
        let look = || {
            let ready = self.ready()?;
            Ok(Round::Ready(ready.digest(), ready))
        };
        settle(
            &self.cancel,
            look,
            |ready| self.write(&ready),
            Busy {
                what: &format!("{} is", self.name),
                place: "cell",
                call: "edit",
                then: "it, and read it again.",
            },
        )
    }

    fn write(&self, ready: &Ready) -> Result<Output, Failure> {
        if ready.before == ready.after {
            return Ok(Output::text(format!("Nothing changed: {} is so already.", self.name)));
        }
        let mode = WriteMode::Over { before: Arc::clone(&ready.before_hash) };
        let change = self.files.write(&self.at, &ready.after, &mode)?;
        Ok(self.output(ready, change))
    }

    fn output(&self, ready: &Ready, change: FileChange) -> Output {
        let is_known =
            self.seen.as_ref().is_some_and(|seen| *seen.hash == *ready.before_hash && seen.is_whole());
        let seen = is_known.then(|| Seen::whole(&content_hash(&ready.after), count_lines(&ready.after)));
        let mut text = ready.says.clone();
        if let Some(note) = change.note(&self.name) {
            text.push('\n');
            text.push_str(&note);
        }
        if let Some(old) = &self.seen
            && self.foreign.is_stale(&self.at, Some(old), &ready.before_hash)
        {
            text.push_str(
                "\nThe notebook was changed elsewhere since it was last read; the cell was found as named.",
            );
            text.push_str(&self.foreign.change(&self.at, old, &ready.before));
        }
        let diff = ready.diff(&self.name);
        Output {
            seen: seen.map(|seen| (self.at.clone(), seen)).into_iter().collect(),
            files: vec![change],
            ..Output::text(text)
        }
        .with_metadata(json!({
            "path": self.at.absolute(),
            "diff": diff.text,
            "added": diff.added,
            "removed": diff.removed,
        }))
    }
}
