//! The tool `replace`.

use super::{
    input::ReplaceInput,
    pattern::Pattern,
    sweep::{Sweep, Swept},
};
use crate::{
    glob::counted,
    text::{
        agreed::{Busy, Round, settle},
        foreign::Foreign,
        paths,
        whole::lines_of,
    },
};
use haft_core::{
    Cancel, Cx, Effects, Exposure, Failure, FileChange, FileKind, FileLock, Files, Flags, Output, Permission,
    Preview, RealPath, Risk, Seen, SessionView, Spec, Tool, Touch, content_hash,
};
use serde_json::json;
use std::{cell::RefCell, collections::BTreeSet, fmt::Write as _, sync::Arc};

/// So many files are locked, since each lock is an open file; beyond it only contents are compared.
const LOCKED_MAX: usize = 256;
/// So many files that somebody else changed are named.
const STALE_LISTED_MAX: usize = 10;

/// Replaces a pattern in many files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReplaceTool;

impl Tool for ReplaceTool {
    type Input = ReplaceInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        Spec::new("replace", include_str!("prompt.md").trim_end())
            .with_input_aliases("pattern", &["search", "regex", "find"])
            .with_input_aliases("replacement", &["replace", "with"])
            .with_input_aliases("paths", &["path", "files"])
            .with_input_aliases("glob", &["include"])
            .with_input_aliases("literal", &["fixed"])
            .with_input_aliases("dryRun", &["dry_run"])
            .with_category("files")
            .with_permission(Permission::Confirm)
            .with_risk(Risk::Standard)
            .with_capabilities(&["fs.write"])
            .with_exposure(Exposure::Deferred)
            .with_display("🔁", "Replacing")
    }

    fn validate(&self, input: &ReplaceInput) -> Result<(), Failure> {
        pattern(input).map(drop)
    }

    fn effects(&self, input: &ReplaceInput, _: &dyn SessionView) -> Effects {
        let trees = input.trees().into_iter();
        Effects::Only(if input.is_dry() {
            trees.map(Touch::ReadTree).collect()
        } else {
            trees.map(Touch::WriteTree).collect()
        })
    }

    fn flags(&self, input: &ReplaceInput) -> Flags {
        if !input.is_dry() {
            return Flags::default();
        }
        Flags {
            permission: Some(Permission::Auto),
            read_only: Some(true),
            concurrency_safe: Some(true),
            risk: Some(Risk::Safe),
            ..Flags::default()
        }
    }

    async fn preview(&self, input: &ReplaceInput, cx: &Cx) -> Result<Preview, Failure> {
        let job = Job::new(input, cx)?;
        cx.blocking(move || {
            let swept = job.sweep()?;
            let text = format!("Replaces {}{}\n{}", swept.counts(), swept.listed(), swept.diffs());
            Ok(Preview { text, digest: swept.digest() })
        })
        .await
    }

    async fn run(&self, input: ReplaceInput, cx: &Cx) -> Result<Output, Failure> {
        let job = Job::new(&input, cx)?;
        let output = cx.blocking(move || job.run()).await?;
        for change in &output.files {
            cx.file_changed(&change.path);
        }
        Ok(output)
    }
}

fn pattern(input: &ReplaceInput) -> Result<Pattern, Failure> {
    if input.literal.unwrap_or(false) {
        Pattern::literal(&input.pattern, &input.replacement)
    } else {
        Pattern::expression(&input.pattern, &input.replacement)
    }
}

/// Files that others are kept off. They stay so until the call is over, so that what met a conflict while it waited for
/// them meets none when it looks again.
#[derive(Default)]
struct Locked {
    paths: BTreeSet<RealPath>,
    _locks: Vec<Box<dyn FileLock>>,
}

impl Locked {
    fn all(job: &Job, paths: BTreeSet<RealPath>) -> Result<Self, Failure> {
        let listed: Vec<RealPath> = paths.iter().cloned().collect();
        let locks = if listed.is_empty() { Vec::new() } else { job.files.lock_all(&listed, &job.cancel)? };
        Ok(Self { paths, _locks: locks })
    }
}

/// All that the blocking part needs.
struct Job {
    files: Arc<dyn Files>,
    trees: Vec<RealPath>,
    glob: Option<String>,
    pattern: Pattern,
    is_dry: bool,
    /// Knows what was seen of the files.
    session: Arc<dyn SessionView>,
    foreign: Foreign,
    cancel: Cancel,
}

impl Job {
    fn new(input: &ReplaceInput, cx: &Cx) -> Result<Self, Failure> {
        let trees: Result<Vec<RealPath>, Failure> = input.trees().iter().map(|path| cx.path(path)).collect();
        Ok(Self {
            files: Arc::clone(&cx.world.files),
            trees: trees?,
            glob: input.glob.clone(),
            pattern: pattern(input)?,
            is_dry: input.is_dry(),
            session: Arc::clone(&cx.session),
            foreign: Foreign::of(cx),
            cancel: cx.cancel.clone(),
        })
    }

    fn sweep(&self) -> Result<Swept, Failure> {
        let sweep = Sweep {
            files: &*self.files,
            trees: &self.trees,
            glob: self.glob.as_deref(),
            pattern: &self.pattern,
            cancel: &self.cancel,
        };
        sweep.sweep()
    }

    /// Finds all places, and changes exactly those; again where somebody else was faster, as long as they stay
    /// those that were agreed to.
    fn run(&self) -> Result<Output, Failure> {
        let locked = RefCell::new(self.lock_named()?);
        settle(
            &self.cancel,
            || self.look(),
            |swept| self.write(&swept, &mut locked.borrow_mut()),
            Busy { what: "the files are", place: "places", call: "call", then: "them, then try again." },
        )
    }

    fn look(&self) -> Result<Round<Swept>, Failure> {
        let swept = self.sweep()?;
        if swept.files.is_empty() {
            return swept.unfit().map_or_else(|| Ok(Round::Done(nothing(&swept))), Err);
        }
        if self.is_dry {
            let diff = swept.diffs();
            let text = format!("Would replace {}{}\n{diff}", swept.counts(), swept.listed());
            return Ok(Round::Done(Output::text(text).with_metadata(metadata(&swept, diff))));
        }
        Ok(Round::Ready(swept.digest(), swept))
    }

    /// Keeps others off the files before they are looked at, where all are named themselves. Those in folders are known
    /// only when they were found, which takes its time.
    fn lock_named(&self) -> Result<Locked, Failure> {
        let is_file = |at: &RealPath| self.files.peek(at).is_some_and(|stat| stat.kind == FileKind::File);
        if self.is_dry || !self.trees.iter().all(is_file) {
            return Ok(Locked::default());
        }
        Locked::all(self, self.trees.iter().take(LOCKED_MAX).cloned().collect())
    }

    fn write(&self, swept: &Swept, locked: &mut Locked) -> Result<Output, Failure> {
        let paths: BTreeSet<RealPath> =
            swept.files.iter().take(LOCKED_MAX).map(|file| file.at.clone()).collect();
        if !paths.is_subset(&locked.paths) {
            // Whoever waits for locks holds none.
            *locked = Locked::default();
            *locked = Locked::all(self, paths)?;
        }
        let changes = self.files.apply(&swept.ops())?;
        Ok(self.output(swept, changes))
    }

    fn output(&self, swept: &Swept, files: Vec<FileChange>) -> Output {
        let mut seen = Vec::new();
        let mut text = format!("Replaced {}{}", swept.counts(), swept.listed());
        let workspace = self.files.workspace();
        let notes = files.iter().filter_map(|change| change.note(&paths::shown(&change.path, &workspace)));
        for note in notes.take(STALE_LISTED_MAX) {
            let _ = write!(text, "\n{note}");
        }
        let mut stale = 0_usize;
        for file in &swept.files {
            let Some(earlier) = self.session.seen(&file.at) else { continue };
            let before = content_hash(&file.before);
            // Who knew the whole file knows it still.
            if earlier.is_whole() && *earlier.hash == *before {
                let after = file.changed.after.as_slice();
                seen.push((file.at.clone(), Seen::whole(&content_hash(after), lines_of(after))));
            }
            if !self.foreign.is_stale(&file.at, Some(&earlier), &before) {
                continue;
            }
            stale += 1;
            if stale <= STALE_LISTED_MAX {
                let change = self.foreign.change(&file.at, &earlier, &file.before);
                let _ = write!(text, "\n{} was changed elsewhere since it was last read.{change}", file.name);
            }
        }
        if stale > STALE_LISTED_MAX {
            let _ = write!(text, "\n… and {} more files were, too", stale - STALE_LISTED_MAX);
        }
        Output { seen, files, ..Output::text(text) }.with_metadata(metadata(swept, swept.diffs()))
    }
}

fn metadata(swept: &Swept, diff: String) -> serde_json::Value {
    let paths: Vec<String> = swept.files.iter().map(|file| file.at.absolute()).collect();
    json!({
        "paths": paths,
        "replaced": swept.count(),
        "filesSearched": swept.searched,
        "diff": diff,
    })
}

fn nothing(swept: &Swept) -> Output {
    let what = match (swept.searched, swept.hidden.count) {
        (0, 0) => {
            "Nothing was searched: no text file here fits paths and glob; nothing was changed.".to_owned()
        }
        (0, _) => {
            "Nothing was searched: all that fits paths and glob is hidden; nothing was changed.".to_owned()
        }
        (searched, _) => format!(
            "Nothing matches in {}, or all that matches is already as wanted; nothing was changed.",
            counted(searched, "file")
        ),
    };
    Output::text(format!("{what}{}", swept.rest())).with_metadata(metadata(swept, String::new()))
}
