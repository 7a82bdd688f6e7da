//! The tool `edit`.

use super::{
    input::{EditInput, Replacement},
    matching::Kind,
    plan::{Change, apply, carry, digest, plan},
};
use crate::text::{
    Coding, LineEnd, View,
    agreed::{Busy, Round, settle},
    binary,
    diff::{self, Diff},
    foreign::Foreign,
    names, paths, unmasked,
    whole::{lines_of, read_whole},
};
use haft_core::{
    Cancel, Cx, Effects, Failure, FailureKind, FileChange, Files, Output, PathArg, Permission, Preview,
    RealPath, Risk, Seen, SessionView, Spec, Tool, Touch, WriteMode, content_hash,
};
use serde_json::json;
use std::{fmt::Write as _, sync::Arc};

/// So many places are listed in the result.
const LISTED_MAX: usize = 10;

/// Replaces text in a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EditTool;

impl Tool for EditTool {
    type Input = EditInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        Spec::new("edit", include_str!("prompt.md").trim_end())
            .with_aliases(&["Edit", "MultiEdit"])
            .with_input_aliases("path", &["file_path", "file", "filename", "filePath"])
            .with_input_aliases("old", &["old_string", "old_text", "oldText", "old_str", "oldString"])
            .with_input_aliases("new", &["new_string", "new_text", "newText", "new_str", "newString"])
            .with_input_aliases("all", &["replace_all", "replaceAll"])
            .with_category("files")
            .with_permission(Permission::Confirm)
            .with_risk(Risk::Standard)
            .with_capabilities(&["fs.write"])
            .with_display("✏️", "Editing")
    }

    fn validate(&self, input: &EditInput) -> Result<(), Failure> {
        input.edits().map(|_| ())
    }

    fn effects(&self, input: &EditInput, _: &dyn SessionView) -> Effects {
        Effects::Only(vec![Touch::Read(input.path.clone()), Touch::Write(input.path.clone())])
    }

    async fn preview(&self, input: &EditInput, cx: &Cx) -> Result<Preview, Failure> {
        let job = Job::new(input, cx)?;
        cx.blocking(move || {
            let ready = job.ready()?;
            Ok(Preview { text: ready.diff(&job.name).text, digest: digest(&ready.before, &ready.changes) })
        })
        .await
    }

    async fn run(&self, input: EditInput, cx: &Cx) -> Result<Output, Failure> {
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
    edits: Vec<Replacement>,
    session: Arc<dyn SessionView>,
    seen: Option<Seen>,
    foreign: Foreign,
    cancel: Cancel,
}

/// A change that is ready to be written over exactly this content.
struct Ready {
    before: Vec<u8>,
    before_hash: Arc<str>,
    after: Vec<u8>,
    changes: Vec<Change>,
}

impl Ready {
    fn diff(&self, name: &str) -> Diff {
        diff::of_files(name, &self.before, &self.after)
    }

    /// Whether the same character parts the lines before and after, so that their numbers can be compared.
    fn keeps_line_ends(&self) -> bool {
        let end = |bytes: &[u8]| LineEnd::of(View::of(bytes, Coding::of(bytes)).text());
        end(&self.before) == end(&self.after)
    }
}

impl Job {
    fn new(input: &EditInput, cx: &Cx) -> Result<Self, Failure> {
        let at = cx.path(&input.path)?;
        let seen = cx.session.seen(&at);
        let files = Arc::clone(&cx.world.files);
        let name = paths::shown(&at, &files.workspace());
        Ok(Self {
            files,
            at,
            written: input.path.clone(),
            name,
            edits: input.edits()?,
            session: Arc::clone(&cx.session),
            seen,
            foreign: Foreign::of(cx),
            cancel: cx.cancel.clone(),
        })
    }

    fn ready(&self) -> Result<Ready, Failure> {
        let before = read_whole(&*self.files, &self.at, &self.cancel).map_err(|failure| {
            if failure.kind != FailureKind::NotFound {
                return failure;
            }
            let alike = names::alike(&*self.files, &self.written, &self.at);
            let text = alike.map_or(failure.text, |alike| alike.missing(&self.name));
            Failure { text: format!("{text}; a new file is made with write"), ..failure }
        })?;
        if let Some(refusal) = binary::refusal(&self.name, &before) {
            return Err(refusal);
        }
        let before_hash = content_hash(&before);
        let unmask = |text: &str| unmasked(&*self.session, text, &before);
        let edits: Result<Vec<Replacement>, Failure> = self
            .edits
            .iter()
            .map(|edit| Ok(Replacement { old: unmask(&edit.old)?, new: unmask(&edit.new)?, all: edit.all }))
            .collect();
        let changes = match plan(&self.name, &before, &edits?) {
            Ok(changes) => changes,
            Err(failure) => return Err(self.with_foreign_change(failure, &before, &before_hash)),
        };
        let after = apply(&before, &changes);
        Ok(Ready { before, before_hash, after, changes })
    }

    /// Where a place isn't there any more, what somebody else made of the file says why.
    fn with_foreign_change(&self, failure: Failure, now: &[u8], hash: &str) -> Failure {
        let is_stale = self.foreign.is_stale(&self.at, self.seen.as_ref(), hash);
        let Some(seen) = self.seen.as_ref().filter(|_| is_stale && failure.kind == FailureKind::Conflict)
        else {
            return failure;
        };
        let change = self.foreign.change(&self.at, seen, now);
        let text =
            format!("{}\nThe file was changed elsewhere since it was last read.{change}", failure.text);
        Failure { text, ..failure }
    }

    /// Reads, computes and writes over exactly what was read; again where somebody else was faster, as
    /// long as the change stays the one that was agreed to.
    fn run(&self) -> Result<Output, Failure> {
        let look = || {
            let ready = self.ready()?;
            Ok(Round::Ready(digest(&ready.before, &ready.changes), ready))
        };
        settle(
            &self.cancel,
            look,
            |ready| self.write(&ready),
            Busy {
                what: &format!("{} is", self.name),
                place: "place",
                call: "edit",
                then: "it, read it again, and give old as it is then.",
            },
        )
    }

    fn write(&self, ready: &Ready) -> Result<Output, Failure> {
        if ready.before == ready.after {
            return Ok(Output::text(format!("Nothing changed: {} has the new text already.", self.name)));
        }
        let mode = WriteMode::Over { before: Arc::clone(&ready.before_hash) };
        let change = self.files.write(&self.at, &ready.after, &mode)?;
        Ok(self.output(ready, change))
    }

    fn output(&self, ready: &Ready, change: FileChange) -> Output {
        let hash = change.after.clone().unwrap_or_else(|| content_hash(&ready.after));
        let total = lines_of(&ready.after);
        let mut text = describe(&self.name, &ready.changes);
        if let Some(note) = change.note(&self.name) {
            text.push('\n');
            text.push_str(&note);
        }
        let known = self.seen.as_ref().filter(|seen| *seen.hash == *ready.before_hash);
        let seen = known
            .filter(|seen| seen.is_whole() || ready.keeps_line_ends())
            .map(|seen| carry(seen, &ready.changes, &hash, total));
        if let Some(old) = &self.seen
            && self.foreign.is_stale(&self.at, Some(old), &ready.before_hash)
        {
            text.push_str(
                "\nThe file was changed elsewhere since it was last read; these places were still as given.",
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

/// What was replaced where, and how each place was found unless exactly.
fn describe(name: &str, changes: &[Change]) -> String {
    let noun = if changes.len() == 1 { "replacement" } else { "replacements" };
    let mut lines: Vec<String> =
        changes.iter().take(LISTED_MAX).map(|change| change.lines.0.to_string()).collect();
    lines.dedup();
    let of = if lines.len() == 1 { "line" } else { "lines" };
    let more = if changes.len() > LISTED_MAX { " and further ones" } else { "" };
    let mut text = format!("Edited {name}: {} {noun}, {of} {}{more}.", changes.len(), lines.join(", "));
    for change in changes.iter().filter(|change| change.kind != Kind::Exact) {
        let _ = write!(text, "\nLine {}: old differed in {}", change.lines.0, change.kind.words());
        let done = match change.kind {
            Kind::LineEnds => "; new lines got the file's line ends.",
            Kind::Indentation => "; new was given the file's indentation.",
            Kind::Exact | Kind::TrailingBlanks | Kind::LookAlikes | Kind::Accents => "; new is as given.",
        };
        text.push_str(done);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_names_places_and_kinds() {
        let change =
            |line, kind| Change { span: 0..1, new: Vec::new(), kind, lines: (line, line), gained: 0 };
        assert_eq!(describe("a.rs", &[change(3, Kind::Exact)]), "Edited a.rs: 1 replacement, line 3.");
        assert_eq!(
            describe("a.rs", &[change(3, Kind::Exact), change(9, Kind::Indentation)]),
            "Edited a.rs: 2 replacements, lines 3, 9.\nLine 9: old differed in indentation; new was \
             given the file's indentation."
        );
    }
}
