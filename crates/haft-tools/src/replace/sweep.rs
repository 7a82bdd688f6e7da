//! A pattern replaced in all files beneath some paths: found before anything is written.

use super::{
    change::{Changed, Outcome, change},
    pattern::Pattern,
};
use crate::{
    glob::{Hidden, counted},
    text::{binary, diff, grouped, paths, whole::read_whole},
};
use haft_core::{
    Cancel, Failure, FailureKind, FileKind, FileOp, Files, RealPath, WalkOptions, WriteMode, content_hash,
};
use sha2::{Digest, Sha256};
use std::{collections::BTreeSet, fmt::Write as _, ops::ControlFlow};

/// So many files change together.
const FILES_MAX: usize = 1_000;
/// So many files are looked at.
const SEARCHED_MAX: usize = 100_000;
/// A longer file is left out.
const FILE_MAX_BYTES: u64 = 16 * 1_024 * 1_024;
/// So much changed content is held.
const CHANGED_MAX_BYTES: usize = 256 * 1_024 * 1_024;
/// All diffs together; the rest is counted.
const DIFFS_MAX_BYTES: usize = 40 * 1_024;
/// So many files are listed.
const LISTED_MAX: usize = 100;
/// So many entries of a folder are looked at to count what is hidden.
const SURVEY_MAX_ENTRIES: u64 = 100_000;
/// So many files that couldn't be read are named.
const UNREADABLE_LISTED_MAX: usize = 3;
/// So many files whose encoding can't hold the new text are named.
const UNFIT_LISTED_MAX: usize = 3;

/// What is replaced where.
pub(super) struct Sweep<'a> {
    /// The files.
    pub(super) files: &'a dyn Files,
    /// The files and folders to look in.
    pub(super) trees: &'a [RealPath],
    /// Only files of this form.
    pub(super) glob: Option<&'a str>,
    /// What is looked for.
    pub(super) pattern: &'a Pattern,
    /// Ends it early.
    pub(super) cancel: &'a Cancel,
}

/// One file that changes.
#[derive(Debug)]
pub(super) struct FileChanged {
    /// The file.
    pub(super) at: RealPath,
    /// Its path as it is written for readers.
    pub(super) name: String,
    /// Its content now.
    pub(super) before: Vec<u8>,
    /// Its content afterwards.
    pub(super) changed: Changed,
}

/// All that was found.
#[derive(Debug, Default)]
pub(super) struct Swept {
    /// The files that change.
    pub(super) files: Vec<FileChanged>,
    /// How many were looked at.
    pub(super) searched: u64,
    /// What was left out: how many, and what they are.
    left_out: Vec<(u64, &'static str)>,
    /// Some of the files whose encoding can't hold the new text: which, and what of it.
    unencodable: Vec<String>,
    /// Some of the files that couldn't be read, with the reason.
    unreadable: Vec<String>,
    /// What ignore rules and leading dots hide.
    pub(super) hidden: Hidden,
}

impl Sweep<'_> {
    /// Looks at every file.
    ///
    /// # Errors
    /// Not found; invalid input for a bad glob, and where too much would change.
    pub(super) fn sweep(&self) -> Result<Swept, Failure> {
        let mut left_out = LeftOut::default();
        let mut swept = Swept::default();
        let mut held = 0;
        for at in self.list(&mut left_out)? {
            if self.cancel.is_fired() {
                return Err(Failure::cancelled());
            }
            if let Err(failure) = self.files.may_change(&at) {
                if failure.kind == FailureKind::Cancelled {
                    return Err(failure);
                }
                left_out.denied += 1;
                continue;
            }
            let Some(before) = self.read(&at, &mut left_out)? else { continue };
            swept.searched += 1;
            match change(&before, self.pattern) {
                Outcome::Binary => left_out.binary += 1,
                Outcome::Unfit => left_out.unfit += 1,
                Outcome::Unencodable(error) => {
                    left_out.unencodable += 1;
                    if swept.unencodable.len() < UNFIT_LISTED_MAX {
                        let name = paths::shown(&at, &self.files.workspace());
                        swept.unencodable.push(format!("{name}: {error}"));
                    }
                }
                Outcome::Same => {}
                Outcome::Changed(changed) => {
                    held += before.len() + changed.after.len();
                    if swept.files.len() == FILES_MAX || held > CHANGED_MAX_BYTES {
                        return Err(Failure::invalid(format!(
                            "more than {} files or {} MiB would change at once, so nothing was changed. Narrow it by \
                             paths or glob, and do the rest in further calls",
                            grouped(wide(FILES_MAX)),
                            CHANGED_MAX_BYTES / 2 / 1_024 / 1_024
                        )));
                    }
                    let name = paths::shown(&at, &self.files.workspace());
                    swept.files.push(FileChanged { at, name, before, changed });
                }
            }
        }
        swept.left_out = left_out.named();
        if swept.files.is_empty() {
            for (tree, files) in &left_out.walked {
                self.survey(tree, *files, &mut swept.hidden);
            }
        }
        swept.unreadable = left_out.reasons;
        Ok(swept)
    }

    /// The files beneath all trees, each once.
    fn list(&self, left_out: &mut LeftOut) -> Result<Vec<RealPath>, Failure> {
        let mut known = BTreeSet::new();
        let mut found = Vec::new();
        for tree in self.trees {
            let stat = self.files.stat(tree)?;
            match stat.kind {
                FileKind::Folder => self.walk(tree, left_out, &mut |at: &RealPath| {
                    if known.insert(at.absolute()) {
                        found.push(at.clone());
                    }
                    found.len() < SEARCHED_MAX
                })?,
                FileKind::File => {
                    if known.insert(tree.absolute()) {
                        found.push(tree.clone());
                    }
                }
                FileKind::Link | FileKind::Special(_) => left_out.special += 1,
            }
            if found.len() >= SEARCHED_MAX {
                return Err(Failure::invalid(format!(
                    "there are more than {} files to look at, so nothing was changed. Narrow it by paths or glob",
                    grouped(wide(SEARCHED_MAX))
                )));
            }
        }
        Ok(found)
    }

    fn walk(
        &self,
        tree: &RealPath,
        left_out: &mut LeftOut,
        take: &mut dyn FnMut(&RealPath) -> bool,
    ) -> Result<(), Failure> {
        let options = self.options();
        let (mut links, mut large, mut files) = (0, 0, 0);
        let report = self.files.walk(tree, &options, &mut |entry| {
            files += u64::from(entry.kind == FileKind::File);
            match entry.kind {
                FileKind::File if entry.len > FILE_MAX_BYTES => large += 1,
                FileKind::File => {
                    if !take(&entry.path) {
                        return ControlFlow::Break(());
                    }
                }
                FileKind::Link => links += 1,
                FileKind::Folder | FileKind::Special(_) => {}
            }
            ControlFlow::Continue(())
        })?;
        left_out.links += links;
        left_out.large += large;
        left_out.special += report.special;
        left_out.denied += report.denied;
        left_out.unreadable += report.error_count;
        left_out.say(report.errors);
        left_out.walked.push((tree.clone(), files));
        Ok(())
    }

    fn options(&self) -> WalkOptions {
        WalkOptions {
            globs: self.glob.iter().map(|glob| (*glob).to_owned()).collect(),
            cancel: self.cancel.clone(),
            ..WalkOptions::default()
        }
    }

    /// Counts what ignore rules and leading dots kept from the walk, as far as it is cheap to say.
    fn survey(&self, tree: &RealPath, walked: u64, hidden: &mut Hidden) {
        let options = WalkOptions { ignored: true, ..self.options() };
        let (mut entries, mut found) = (0_u64, 0_u64);
        let done = self.files.walk(tree, &options, &mut |entry| {
            entries += 1;
            found += u64::from(entry.kind == FileKind::File);
            if entries < SURVEY_MAX_ENTRIES { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        if done.is_ok() {
            hidden.count += found.saturating_sub(walked);
            hidden.at_least |= entries >= SURVEY_MAX_ENTRIES;
        }
    }

    /// A file's content; none where it is left out, and counted.
    fn read(&self, at: &RealPath, left_out: &mut LeftOut) -> Result<Option<Vec<u8>>, Failure> {
        // Most files of a tree that aren't text show it at once.
        let head = match self.files.read(at, 0, binary::HEAD_BYTES) {
            Ok(head) => head,
            Err(failure) if failure.kind == FailureKind::Cancelled => return Err(failure),
            Err(failure) => {
                left_out.unreadable += 1;
                left_out.say([failure.text]);
                return Ok(None);
            }
        };
        if binary::is_binary(&head) {
            left_out.binary += 1;
            return Ok(None);
        }
        if head.len() < binary::HEAD_BYTES {
            return Ok(Some(head));
        }
        // One that was named for itself wasn't measured yet.
        if self.files.peek(at).is_some_and(|stat| stat.len > FILE_MAX_BYTES) {
            left_out.large += 1;
            return Ok(None);
        }
        match read_whole(self.files, at, self.cancel) {
            Ok(bytes) if u64::try_from(bytes.len()).is_ok_and(|len| len <= FILE_MAX_BYTES) => Ok(Some(bytes)),
            Ok(_) => {
                left_out.large += 1;
                Ok(None)
            }
            Err(failure) if failure.kind == FailureKind::Cancelled => Err(failure),
            Err(failure) => {
                left_out.unreadable += 1;
                left_out.say([failure.text]);
                Ok(None)
            }
        }
    }
}

/// What is left out, counted.
#[derive(Debug, Default)]
struct LeftOut {
    binary: u64,
    unencodable: u64,
    unfit: u64,
    links: u64,
    special: u64,
    large: u64,
    denied: u64,
    unreadable: u64,
    /// Why, of some.
    reasons: Vec<String>,
    /// The folders that were walked, and how many files each has that aren't hidden.
    walked: Vec<(RealPath, u64)>,
}

impl LeftOut {
    fn say(&mut self, reasons: impl IntoIterator<Item = String>) {
        let room = UNREADABLE_LISTED_MAX.saturating_sub(self.reasons.len());
        self.reasons.extend(reasons.into_iter().take(room));
    }

    fn named(&self) -> Vec<(u64, &'static str)> {
        let all = [
            (self.binary, "binary"),
            (self.unencodable, "in an encoding that can't hold the new text"),
            (self.unfit, "in an encoding in which the new text would change others"),
            (self.links, "links"),
            (self.special, "special files"),
            (self.large, "longer than 16 MiB"),
            (self.denied, "denied by rules"),
            (self.unreadable, "unreadable"),
        ];
        all.into_iter().filter(|(count, _)| *count > 0).collect()
    }
}

impl Swept {
    /// The changes to make.
    pub(super) fn ops(&self) -> Vec<FileOp> {
        let op = |file: &FileChanged| FileOp::Write {
            at: file.at.clone(),
            content: file.changed.after.clone(),
            mode: WriteMode::Over { before: content_hash(&file.before) },
            executable: None,
        };
        self.files.iter().map(op).collect()
    }

    /// How many places change.
    pub(super) fn count(&self) -> u64 {
        self.files.iter().map(|file| file.changed.count).sum()
    }

    /// Stands for exactly these changes.
    pub(super) fn digest(&self) -> Vec<u8> {
        let mut hasher = Sha256::new();
        for file in &self.files {
            hasher.update(Sha256::digest(file.at.absolute()));
            hasher.update(&file.changed.digest);
        }
        hasher.finalize().to_vec()
    }

    /// Counts in a sentence: `3 places in 2 files`.
    pub(super) fn counts(&self) -> String {
        format!("{} in {}", counted(self.count(), "place"), counted(wide(self.files.len()), "file"))
    }

    /// For each file its count, and what was left out.
    pub(super) fn listed(&self) -> String {
        let mut text = String::new();
        for file in self.files.iter().take(LISTED_MAX) {
            let _ = write!(text, "\n{}: {}", file.name, grouped(file.changed.count));
        }
        if self.files.len() > LISTED_MAX {
            let _ = write!(text, "\n… {} more files", self.files.len() - LISTED_MAX);
        }
        text + &self.rest()
    }

    /// What was left out, in a line.
    pub(super) fn rest(&self) -> String {
        let parts: Vec<String> =
            self.left_out.iter().map(|(count, what)| format!("{} {what}", grouped(*count))).collect();
        let mut text = String::new();
        if !parts.is_empty() {
            let _ = write!(text, "\nLeft out: {}.", parts.join(", "));
        }
        for file in self.unencodable.iter().chain(&self.unreadable) {
            let _ = write!(text, "\n{file}");
        }
        if self.hidden.count > 0 {
            let at_least = if self.hidden.at_least { "At least " } else { "" };
            let _ = write!(
                text,
                "\n{at_least}{} hidden by ignore rules or a leading dot; name file or folder in paths to change it \
                 too.",
                counted(self.hidden.count, "file")
            );
        }
        text
    }

    /// The refusal where all that matches is in files whose encoding can't hold the new text.
    pub(super) fn unfit(&self) -> Option<Failure> {
        let first = self.unencodable.first()?;
        Some(Failure::invalid(format!(
            "no file was changed: {first}. Use characters of that encoding, or convert the file to UTF-8 first, for \
             example with iconv.{}",
            self.rest()
        )))
    }

    /// The changes for people, as far as there is room.
    pub(super) fn diffs(&self) -> String {
        let mut text = String::new();
        let mut left_out = 0;
        for file in &self.files {
            if text.len() > DIFFS_MAX_BYTES {
                left_out += 1;
                continue;
            }
            text.push_str(&diff::of_files(&file.name, &file.before, &file.changed.after).text);
        }
        if left_out > 0 {
            let _ = writeln!(text, "… the diffs of {left_out} more files");
        }
        text
    }
}

fn wide(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
