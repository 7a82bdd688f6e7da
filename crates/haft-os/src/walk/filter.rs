//! Which of the paths that a walk comes to are shown, beside what ignore rules hide.

use super::Seen;
use crate::files::kind;
use haft_core::{Cancel, Failure, FileKind, RealPath, Skip, WalkOptions};
use ignore::{
    DirEntry,
    overrides::{Override, OverrideBuilder},
    types::{Types, TypesBuilder},
};
use std::{
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// Decides on each path, on folders before they are descended into.
pub(crate) struct Filter {
    tree: RealPath,
    folder: PathBuf,
    globs: Override,
    types: Types,
    skip: Option<Skip>,
    cancel: Cancel,
    denied: AtomicU64,
}

impl Filter {
    pub(super) fn new(tree: &RealPath, options: &WalkOptions) -> Result<Self, Failure> {
        let folder = PathBuf::from(tree.absolute());
        Ok(Self {
            tree: tree.clone(),
            globs: globs(&folder, &options.globs)?,
            types: types(&options.types)?,
            folder,
            skip: options.skip.clone(),
            cancel: options.cancel.clone(),
            denied: AtomicU64::new(0),
        })
    }

    /// The folder that is walked.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// How many folders were denied so far.
    pub(super) fn denied(&self) -> u64 {
        self.denied.load(Ordering::Relaxed)
    }

    /// Whether the walk goes on to what it came to.
    pub(super) fn keeps(&self, found: &DirEntry) -> bool {
        if found.file_name() == ".git" {
            return false;
        }
        let is_folder = found.file_type().is_some_and(|of| of.is_dir());
        if self.globs.matched(found.path(), is_folder).is_ignore() {
            return false;
        }
        if self.types.matched(found.path(), is_folder).is_ignore() {
            return false;
        }
        // Last, so that only what would have been shown is counted as denied. Of a file it is asked by whoever takes
        // the step: rules cost more than the walk, and only a folder has to be known beforehand.
        if is_folder && self.has_rules() && self.denies(&self.real(found.path())) {
            self.denied.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        true
    }

    /// What is shown of what the walk came to: not the walked folder itself.
    pub(super) fn seen(&self, found: DirEntry) -> Option<Seen> {
        let (kind, depth) = (kind(found.file_type()?), found.depth());
        if depth == 0 || (kind == FileKind::Folder && !self.shows_folder(found.path())) {
            return None;
        }
        Some(Seen { path: found.into_path(), kind, depth })
    }

    /// Whether a rule denies a path.
    pub(crate) fn denies(&self, path: &RealPath) -> bool {
        self.skip.as_ref().is_some_and(|skip| skip(path))
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.is_fired()
    }

    /// Whether there is a rule that could deny something.
    pub(crate) fn has_rules(&self) -> bool {
        self.skip.is_some()
    }

    /// A folder is walked through though it matches no glob, but shown only where it does.
    fn shows_folder(&self, path: &Path) -> bool {
        let wanted = self.globs.num_whitelists() == 0 || self.globs.matched(path, true).is_whitelist();
        wanted && self.types.is_empty()
    }

    /// The path beneath the root of a path that the walk came to.
    pub(crate) fn real(&self, path: &Path) -> RealPath {
        let rest = path.as_os_str().as_bytes();
        let rest = rest.strip_prefix(self.folder.as_os_str().as_bytes()).unwrap_or(rest);
        match rest.strip_prefix(b"/").unwrap_or(rest) {
            b"" => self.tree.clone(),
            rest => self.tree.join(&String::from_utf8_lossy(rest)),
        }
    }
}

fn globs(folder: &Path, globs: &[String]) -> Result<Override, Failure> {
    let mut builder = OverrideBuilder::new(folder);
    let refuse = |glob: &str, error: &ignore::Error| {
        Failure::invalid(format!(
            "the glob {glob} can't be used: {error}; use gitignore syntax, for example `src/**/*.rs`"
        ))
    };
    for glob in globs {
        // As people write paths; a gitignore pattern with it matches nothing.
        let plain = glob.strip_prefix("./").unwrap_or(glob);
        builder.add(plain).map_err(|error| refuse(glob, &error))?;
    }
    builder.build().map_err(|error| refuse(&globs.join(" "), &error))
}

fn types(names: &[String]) -> Result<Types, Failure> {
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    for name in names {
        builder.select(name);
    }
    builder.build().map_err(|error| {
        Failure::invalid(format!(
            "{error}; use ripgrep's names (rust, py, js, ts, go, java, md), or a glob instead"
        ))
    })
}
