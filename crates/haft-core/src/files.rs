//! Files, as the runtime and the tools see them.
//!
//! Blocking on purpose (call it inside [`crate::Cx::blocking`]) and coarse on purpose (a walk visits tens of
//! thousands of files). Every path is opened beneath its root without following links, so that what was
//! judged is what is opened.

use crate::{Cancel, Failure, FileChange, FileTraits, PathArg, RealPath};
use std::{ops::ControlFlow, sync::Arc, time::SystemTime};

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, where links aren't followed.
    Link,
    /// A pipe, socket or device, with its name for people.
    Special(&'static str),
}

/// What is known of a file without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// What it is.
    pub kind: FileKind,
    /// Its length in bytes.
    pub len: u64,
    /// When its content last changed.
    pub modified: Option<SystemTime>,
    /// How many names it has.
    pub links: u64,
    /// Permission bits, 0 where the system has none.
    pub mode: u32,
}

/// What stands at a path, with its content where that is short.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Short {
    /// What stands there.
    pub stat: Stat,
    /// All of it, where it is a file no longer than was asked for.
    pub bytes: Option<Vec<u8>>,
}

/// One entry of a listing or a walk.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Where it is.
    pub path: RealPath,
    /// What it is; links aren't followed.
    pub kind: FileKind,
    /// Its length in bytes.
    pub len: u64,
    /// When its content last changed.
    pub modified: Option<SystemTime>,
    /// How deep beneath the walked folder, from 1.
    pub depth: usize,
}

/// A folder's entries by name.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// The first entries.
    pub entries: Vec<Entry>,
    /// How many more there are.
    pub left_out: u64,
}

/// What must hold for a write to happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WriteMode {
    /// Nothing may stand there; missing folders are made.
    New,
    /// The content there must have this [`crate::content_hash`].
    Over {
        /// The hash of the content that is replaced.
        before: Arc<str>,
    },
}

/// One of several changes to files that happen together; see [`Files::apply`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileOp {
    /// A whole content is written, as by [`Files::write`].
    Write {
        /// The file.
        at: RealPath,
        /// Its content to be.
        content: Vec<u8>,
        /// What must hold for it.
        mode: WriteMode,
        /// Whether it may be run as a program from now on; none leaves it as it is.
        executable: Option<bool>,
    },
    /// A file is removed.
    Remove {
        /// The file.
        at: RealPath,
        /// The hash of the content that it must have.
        before: Arc<str>,
    },
    /// A file is as it was, content and mode, and never open to more users than it was; one that was removed comes
    /// back. Missing folders are made.
    Restore {
        /// The file.
        at: RealPath,
        /// Its content to be.
        content: Vec<u8>,
        /// Its permission bits to be; those that give a program another user's rights are left out.
        mode: u32,
        /// The hash of the content that it must have now; none where nothing may stand there.
        over: Option<Arc<str>>,
        /// What else a file that comes back gets, as far as the system lets.
        traits: Option<FileTraits>,
    },
    /// A folder goes once all else is done, if it is empty by then; it is no fault if it isn't.
    Tidy {
        /// The folder.
        at: RealPath,
    },
    /// A file gets another path, and keeps its mode and attributes. Nothing may stand at the new path; missing
    /// folders are made.
    Move {
        /// Where it is.
        from: RealPath,
        /// Where it goes.
        to: RealPath,
        /// The hash of the content that it must have.
        before: Arc<str>,
        /// Its content to be; none leaves it as it is.
        content: Option<Vec<u8>>,
        /// Whether it may be run as a program from now on; none leaves it as it is.
        executable: Option<bool>,
    },
}

impl FileOp {
    /// The paths that are written: one, or for a move both.
    pub fn paths(&self) -> impl Iterator<Item = &RealPath> {
        let (first, second) = match self {
            Self::Write { at, .. }
            | Self::Remove { at, .. }
            | Self::Restore { at, .. }
            | Self::Tidy { at } => (at, None),
            Self::Move { from, to, .. } => (from, Some(to)),
        };
        std::iter::once(first).chain(second)
    }
}

/// A filter over real paths: `true` leaves the path out and counts it as denied.
pub type Skip = Arc<dyn Fn(&RealPath) -> bool + Send + Sync>;

/// How a walk goes.
#[derive(Clone, Default)]
pub struct WalkOptions {
    /// Also what ignore rules and leading dots hide; `.git` never.
    pub ignored: bool,
    /// At most so deep, 1 is the folder's own entries.
    pub depth: Option<usize>,
    /// Only paths that match one of these globs, gitignore syntax, `!` excludes.
    pub globs: Vec<String>,
    /// Only files of these types (`rust`, `py`, as ripgrep names them).
    pub types: Vec<String>,
    /// What a rule denies.
    pub skip: Option<Skip>,
    /// Ends the walk early.
    pub cancel: Cancel,
}

/// What a walk or search left out, counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WalkReport {
    /// Files looked at.
    pub files: u64,
    /// Paths that a rule denies.
    pub denied: u64,
    /// Pipes, sockets and devices.
    pub special: u64,
    /// Binary files, where text was searched.
    pub binary: u64,
    /// What couldn't be read, the first few with their reason.
    pub errors: Vec<String>,
    /// How many couldn't be read.
    pub error_count: u64,
    /// Whether the visitor or a cancel ended it early.
    pub stopped: bool,
}

/// What to search for.
#[derive(Clone, Default)]
pub struct GrepQuery {
    /// A regular expression, or plain text where `fixed`.
    pub pattern: String,
    /// Whether the pattern is plain text.
    pub fixed: bool,
    /// Whether case counts.
    pub ignore_case: bool,
    /// Whether a match may span lines.
    pub multiline: bool,
    /// Lines of context on each side.
    pub context: usize,
    /// Where to look.
    pub walk: WalkOptions,
}

/// One line of a file that matched, or of its context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrepLine {
    /// Its number, from 1.
    pub number: u64,
    /// Its text without the line end, undecodable bytes replaced.
    pub text: String,
    /// Whether it matched, or is context.
    pub matched: bool,
    /// Whether lines were left out before it.
    pub after_gap: bool,
}

/// The matches in one file.
#[derive(Debug, Clone)]
pub struct GrepHit {
    /// The file.
    pub path: RealPath,
    /// When it last changed.
    pub modified: Option<SystemTime>,
    /// How many lines matched.
    pub count: u64,
    /// The lines, at most 1,000 a file and 2,000 bytes a line.
    pub lines: Vec<GrepLine>,
    /// How many matching lines were left out of `lines`.
    pub left_out: u64,
}

/// Held while one process writes a file; released when dropped.
pub trait FileLock: Send {}

/// The files of a workspace and its further roots.
pub trait Files: Send + Sync {
    /// The workspace's root.
    fn workspace(&self) -> RealPath;

    /// Follows all links. What doesn't exist yet is resolved as far as it does.
    ///
    /// # Errors
    /// Invalid input for an unusable path, for example one with a NUL byte or `..` beneath something missing.
    fn resolve(&self, path: &PathArg) -> Result<RealPath, Failure>;

    /// As [`Files::resolve`], for what is only read: where no such name exists, the one that can't be told from it
    /// by eye stands for it (another kind of blank, a composed letter).
    ///
    /// # Errors
    /// As [`Files::resolve`]; a conflict where several names look like it.
    fn resolve_existing(&self, path: &PathArg) -> Result<RealPath, Failure> {
        self.resolve(path)
    }

    /// What stands there.
    ///
    /// # Errors
    /// Not found; conflict where a link stands in the way.
    fn stat(&self, at: &RealPath) -> Result<Stat, Failure>;

    /// What stands there, none where nothing does or it can't be told: as [`Files::stat`] for whoever needs no words
    /// for what is missing, which may take a look at its whole folder.
    fn peek(&self, at: &RealPath) -> Option<Stat> {
        self.stat(at).ok()
    }

    /// Reads at most `max_bytes` from `offset`.
    ///
    /// # Errors
    /// Not found, a folder, or a special file (never opened, so it can't block).
    fn read(&self, at: &RealPath, offset: u64, max_bytes: usize) -> Result<Vec<u8>, Failure>;

    /// What stands there, and its content where it is a file of at most `max_bytes`, in one look.
    ///
    /// # Errors
    /// As [`Files::stat`] and [`Files::read`].
    fn read_short(&self, at: &RealPath, max_bytes: usize) -> Result<Short, Failure> {
        let stat = self.stat(at)?;
        let is_short =
            stat.kind == FileKind::File && usize::try_from(stat.len).is_ok_and(|len| len <= max_bytes);
        let bytes = if is_short { Some(self.read(at, 0, max_bytes.saturating_add(1))?) } else { None };
        // It may have grown meanwhile.
        Ok(Short { stat, bytes: bytes.filter(|bytes| bytes.len() <= max_bytes) })
    }

    /// The entries of a folder by name, at most `max`.
    ///
    /// # Errors
    /// Not found, or not a folder.
    fn list(&self, at: &RealPath, max: usize) -> Result<Listing, Failure>;

    /// Whether no rule keeps that file from being changed, so that what changes many leaves it out beforehand. Says
    /// nothing of whether the system lets it be written.
    ///
    /// # Errors
    /// Permission, where a rule denies it.
    fn may_change(&self, _: &RealPath) -> Result<(), Failure> {
        Ok(())
    }

    /// Writes the whole content: a temporary file beside the target, synced, renamed over it, read back.
    /// Keeps mode, owner and links; a file with several names is written in place.
    ///
    /// # Errors
    /// Conflict where `mode` doesn't hold; the file is then unchanged. What somebody else wrote right after it is no
    /// failure: the change is then [`FileChange::overtaken`].
    fn write(&self, at: &RealPath, content: &[u8], mode: &WriteMode) -> Result<FileChange, Failure>;

    /// Makes several changes, all or none: everything is checked before the first, and where one fails the
    /// others are taken back. After a kill the next start takes back what was half done. Gives one change for each
    /// path, in order: two for a move, none for a folder.
    ///
    /// # Errors
    /// Invalid input where a path is named twice or is no regular file; a conflict where what an op states doesn't
    /// hold. Nothing is changed then.
    fn apply(&self, ops: &[FileOp]) -> Result<Vec<FileChange>, Failure>;

    /// What a file has besides content and mode.
    ///
    /// # Errors
    /// Not found; permission.
    fn traits(&self, at: &RealPath) -> Result<FileTraits, Failure> {
        let links = self.stat(at)?.links;
        Ok(FileTraits { links, ..FileTraits::default() })
    }

    /// Visits what is beneath `tree`, folders before their content.
    ///
    /// # Errors
    /// Not found, or an unusable glob or type.
    fn walk(
        &self,
        tree: &RealPath,
        options: &WalkOptions,
        visit: &mut dyn FnMut(&Entry) -> ControlFlow<()>,
    ) -> Result<WalkReport, Failure>;

    /// Searches the files beneath `tree` (or that one file), in the order of paths.
    ///
    /// # Errors
    /// Invalid input for a bad pattern, glob or type; not found.
    fn grep(
        &self,
        tree: &RealPath,
        query: &GrepQuery,
        visit: &mut dyn FnMut(GrepHit) -> ControlFlow<()>,
    ) -> Result<WalkReport, Failure>;

    /// Excludes other processes (and other sessions of this one) from writing the same file.
    /// Waits until it is free or `cancel` fires.
    ///
    /// # Errors
    /// Cancelled; unavailable where the lock can't be made.
    fn lock(&self, at: &RealPath, cancel: &Cancel) -> Result<Box<dyn FileLock>, Failure>;

    /// As [`Files::lock`], for several files at once: a file that is named by two of its names is locked once, and
    /// two callers never wait for each other.
    ///
    /// # Errors
    /// As [`Files::lock`].
    fn lock_all(&self, files: &[RealPath], cancel: &Cancel) -> Result<Vec<Box<dyn FileLock>>, Failure> {
        files.iter().map(|at| self.lock(at, cancel)).collect()
    }
}
