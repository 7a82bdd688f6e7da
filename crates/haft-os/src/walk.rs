//! Walking a folder the way ripgrep does: ignore rules, globs, types, and what a rule denies.
//!
//! Names come from paths of the system; each is given as a path beneath the same root once it is found to stand there
//! ([`Standing`]), and whoever opens it goes through that root again. Globs and types here only leave out: neither shows what an ignore rule
//! hides.

use crate::{
    OsFiles,
    files::kind,
    standing::{Standing, modified},
};
use haft_core::{Cancel, Entry, Failure, FileKind, RealPath, Skip, WalkOptions, WalkReport};
use ignore::{
    DirEntry, WalkBuilder,
    overrides::{Override, OverrideBuilder},
    types::{Types, TypesBuilder},
};
use rustix::fs::Stat;
use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

/// How many errors are told in words; the rest is counted.
const ERRORS_MAX: usize = 5;

/// What is done with each path that a walk comes to.
pub(crate) type Visit<'a> = dyn FnMut((&DirEntry, &Stat), RealPath, FileKind) -> ControlFlow<()> + 'a;

impl OsFiles {
    pub(crate) fn walk_tree(
        &self,
        tree: &RealPath,
        options: &WalkOptions,
        visit: &mut dyn FnMut(&Entry) -> ControlFlow<()>,
    ) -> Result<WalkReport, Failure> {
        self.each(tree, options, &mut |(found, stat), path, kind| {
            visit(&Entry {
                path,
                kind,
                len: u64::try_from(stat.st_size).unwrap_or(0),
                modified: modified(stat),
                depth: found.depth(),
            })
        })
    }

    /// Visits all that is beneath `tree` in the order of paths. Special files are counted and visited too; the
    /// visitor must not open them.
    pub(crate) fn each(
        &self,
        tree: &RealPath,
        options: &WalkOptions,
        visit: &mut Visit<'_>,
    ) -> Result<WalkReport, Failure> {
        let meta = self.look(tree)?;
        match kind(meta.file_type()) {
            FileKind::Folder => {}
            FileKind::Link => return Err(self.link_in_the_way(tree)),
            _ => {
                let shown = self.show(tree);
                return Err(Failure::invalid(format!("{shown} is not a folder; name the folder it is in")));
            }
        }
        let filter = Arc::new(Filter::new(tree, options)?);
        let mut report = WalkReport::default();
        if filter.denies(tree) {
            report.denied = 1;
            return Ok(report);
        }
        let mut standing = Standing::new(self, self.how);
        for found in walk_builder(&filter, options).build() {
            if options.cancel.is_fired() {
                break;
            }
            let found = match found {
                Ok(found) => found,
                Err(error) => {
                    note(&mut report, error.to_string());
                    continue;
                }
            };
            let Some(kind) = found.file_type().map(kind) else {
                continue;
            };
            if found.depth() == 0 {
                // The folder itself.
                continue;
            }
            let path = filter.real(found.path());
            // What isn't there any more, or was never beneath the root, isn't told.
            let Some(stat) = standing.confirm(&path, (found.file_name(), found.ino())) else {
                note(&mut report, "something was moved while it was walked through".to_owned());
                continue;
            };
            match kind {
                FileKind::Folder if !filter.shows_folder(found.path()) => continue,
                FileKind::File => report.files += 1,
                FileKind::Special(_) => report.special += 1,
                FileKind::Folder | FileKind::Link => {}
            }
            if visit((&found, &stat), path, kind).is_break() {
                report.stopped = true;
                break;
            }
        }
        report.stopped |= options.cancel.is_fired();
        report.denied = filter.denied.load(Ordering::Relaxed);
        Ok(report)
    }
}

/// Counts something that couldn't be read, and keeps the first few reasons.
pub(crate) fn note(report: &mut WalkReport, error: String) {
    report.error_count += 1;
    if report.errors.len() < ERRORS_MAX {
        report.errors.push(error);
    }
}

fn walk_builder(filter: &Arc<Filter>, options: &WalkOptions) -> WalkBuilder {
    let mut builder = WalkBuilder::new(&filter.folder);
    builder
        .standard_filters(!options.ignored)
        // A `.gitignore` says what isn't worth a look, whether or not git has been set up already.
        .require_git(false)
        .follow_links(false)
        .max_depth(options.depth)
        .current_dir(&filter.folder)
        .sort_by_file_name(std::cmp::Ord::cmp);
    let filter = Arc::clone(filter);
    builder.filter_entry(move |found| filter.keeps(found));
    builder
}

/// Decides on each path, before a folder is descended into.
struct Filter {
    tree: RealPath,
    folder: PathBuf,
    globs: Override,
    types: Types,
    skip: Option<Skip>,
    cancel: Cancel,
    denied: AtomicU64,
}

impl Filter {
    fn new(tree: &RealPath, options: &WalkOptions) -> Result<Self, Failure> {
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

    fn keeps(&self, found: &DirEntry) -> bool {
        if self.cancel.is_fired() || found.file_name() == ".git" {
            return false;
        }
        let folder = found.file_type().is_some_and(|of| of.is_dir());
        if self.globs.matched(found.path(), folder).is_ignore() {
            return false;
        }
        if self.types.matched(found.path(), folder).is_ignore() {
            return false;
        }
        // Last, so that only what would have been shown is counted as denied.
        if self.denies(&self.real(found.path())) {
            self.denied.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        true
    }

    fn denies(&self, path: &RealPath) -> bool {
        self.skip.as_ref().is_some_and(|skip| skip(path))
    }

    /// A folder is walked through though it matches no glob, but shown only where it does.
    fn shows_folder(&self, path: &Path) -> bool {
        let wanted = self.globs.num_whitelists() == 0 || self.globs.matched(path, true).is_whitelist();
        wanted && self.types.is_empty()
    }

    fn real(&self, path: &Path) -> RealPath {
        let rest = path.strip_prefix(&self.folder).unwrap_or(path);
        self.tree.join(&rest.to_string_lossy())
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
