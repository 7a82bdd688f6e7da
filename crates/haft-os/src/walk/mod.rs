//! Walking a folder the way ripgrep does: ignore rules, globs, types, and what a rule denies.
//!
//! Names come from paths of the system, in their order, as [`Steps`]; each is given as a path beneath the same root
//! once it is found to stand there ([`Standing`]), and whoever opens it goes through that root again. Globs and types
//! here only leave out: neither shows what an ignore rule hides. The walk goes ahead on a thread of its own, so far
//! and no farther, while the visitor is called on the caller's.

mod filter;

pub(crate) use filter::Filter;

use crate::{
    OsFiles, fault,
    files::kind,
    standing::{Standing, modified},
};
use haft_core::{Entry, Failure, FileKind, RealPath, WalkOptions, WalkReport};
use ignore::{Walk, WalkBuilder};
use std::{
    ops::ControlFlow,
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{self, SyncSender},
    },
    thread,
};

/// How many errors are told in words; the rest is counted.
const ERRORS_MAX: usize = 5;
/// A walk that has no more steps than these needs no thread of its own.
const ALONE_STEPS: usize = 256;
/// So many steps go from thread to thread at once.
const BATCH_STEPS: usize = 64;
/// So many batches may wait for the visitor.
const BATCHES_MAX: usize = 32;
/// What is said of a name that doesn't lead to what was seen.
pub(crate) const MOVED: &str = "something was moved while it was walked through";

/// One thing that a walk came to, by its path.
pub(crate) struct Seen {
    pub(crate) path: PathBuf,
    pub(crate) kind: FileKind,
    /// How deep beneath the walked folder, from 1.
    pub(crate) depth: usize,
}

/// What a walk gives, in the order of paths.
pub(crate) enum Step {
    /// Something that no rule hides. Whether it is denied is known of folders alone.
    Seen(Seen),
    /// So many folders were denied and not entered.
    Denied(u64),
    /// Something couldn't be read.
    Unreadable(String),
}

impl OsFiles {
    /// Visits all that is beneath `tree` in the order of paths. Special files are counted and visited too; the
    /// visitor must not open them.
    pub(crate) fn walk_tree(
        &self,
        tree: &RealPath,
        options: &WalkOptions,
        visit: &mut dyn FnMut(&Entry) -> ControlFlow<()>,
    ) -> Result<WalkReport, Failure> {
        let mut steps = self.steps(tree, options)?;
        let filter = Arc::clone(&steps.filter);
        let standing = Standing::new(self, Arc::clone(&filter));
        let mut visitor = Visitor { filter, standing, report: WalkReport::default(), visit };
        let mut taken = 0;
        while taken < ALONE_STEPS && !visitor.report.stopped {
            match steps.next() {
                Some(step) => visitor.take(step),
                None => break,
            }
            taken += 1;
        }
        if taken == ALONE_STEPS && !visitor.report.stopped {
            visitor.follow(steps).map_err(|error| fault::io("walk through", &self.show(tree), &error))?;
        }
        let mut report = visitor.report;
        report.stopped |= options.cancel.is_fired();
        Ok(report)
    }

    /// The steps of a walk through a folder.
    pub(crate) fn steps(&self, tree: &RealPath, options: &WalkOptions) -> Result<Steps, Failure> {
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
        if filter.denies(tree) {
            return Ok(Steps { walk: None, filter, denied: 0, then: Some(Step::Denied(1)) });
        }
        let walk = walk_builder(&filter, options).build();
        Ok(Steps { walk: Some(walk), filter, denied: 0, then: None })
    }
}

/// A walk, step by step.
pub(crate) struct Steps {
    walk: Option<Walk>,
    filter: Arc<Filter>,
    /// How many denied folders were told.
    denied: u64,
    /// What comes after the one that was just given.
    then: Option<Step>,
}

impl Steps {
    pub(crate) fn rules(&self) -> Arc<Filter> {
        Arc::clone(&self.filter)
    }
}

impl Iterator for Steps {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.filter.is_cancelled() {
            return None;
        }
        if let Some(step) = self.then.take() {
            return Some(step);
        }
        loop {
            let found = self.walk.as_mut()?.next();
            let step = match found {
                Some(Ok(found)) => self.filter.seen(found).map(Step::Seen),
                Some(Err(error)) => Some(Step::Unreadable(error.to_string())),
                None => {
                    self.walk = None;
                    None
                }
            };
            // What was denied on the way to this step comes before it, so that counts are those of the order.
            let denied = self.filter.denied();
            let more = denied.saturating_sub(self.denied);
            if more > 0 {
                self.denied = denied;
                self.then = step;
                return Some(Step::Denied(more));
            }
            if step.is_some() {
                return step;
            }
            if self.filter.is_cancelled() {
                return None;
            }
        }
    }
}

/// Takes the steps of a walk on the caller's thread.
struct Visitor<'a, 'v> {
    filter: Arc<Filter>,
    standing: Standing<'a>,
    report: WalkReport,
    visit: &'v mut dyn FnMut(&Entry) -> ControlFlow<()>,
}

impl Visitor<'_, '_> {
    /// Takes steps that another thread makes.
    fn follow(&mut self, steps: Steps) -> std::io::Result<()> {
        thread::scope(|scope| {
            // The end of the receiver, also where the visitor panics, is the end of the walk.
            let (send, receive) = mpsc::sync_channel(BATCHES_MAX);
            let name = "haft-walk".to_owned();
            thread::Builder::new().name(name).spawn_scoped(scope, move || go_ahead(steps, &send))?;
            for step in receive.into_iter().flatten() {
                self.take(step);
                if self.report.stopped {
                    break;
                }
            }
            Ok(())
        })
    }

    fn take(&mut self, step: Step) {
        let report = &mut self.report;
        let seen = match step {
            Step::Seen(seen) => seen,
            Step::Denied(folders) => {
                report.denied += folders;
                return;
            }
            Step::Unreadable(error) => {
                note(report, error);
                return;
            }
        };
        let path = self.filter.real(&seen.path);
        if seen.kind != FileKind::Folder && self.filter.denies(&path) {
            report.denied += 1;
            return;
        }
        // What isn't there any more, or was never beneath the root, isn't told.
        let Some(stat) = self.standing.confirm(&seen) else {
            note(report, MOVED.to_owned());
            return;
        };
        match seen.kind {
            FileKind::File => report.files += 1,
            FileKind::Special(_) => report.special += 1,
            FileKind::Folder | FileKind::Link => {}
        }
        let entry = Entry {
            path,
            kind: seen.kind,
            len: u64::try_from(stat.st_size).unwrap_or(0),
            modified: modified(&stat),
            depth: seen.depth,
        };
        report.stopped = (self.visit)(&entry).is_break() || self.filter.is_cancelled();
    }
}

/// Makes the steps until there are no more or nobody wants them.
fn go_ahead(steps: Steps, send: &SyncSender<Vec<Step>>) {
    let mut batch = Vec::with_capacity(BATCH_STEPS);
    for step in steps {
        batch.push(step);
        if batch.len() == BATCH_STEPS {
            let full = std::mem::replace(&mut batch, Vec::with_capacity(BATCH_STEPS));
            if send.send(full).is_err() {
                return;
            }
        }
    }
    // Nobody may be there any more to take the last.
    let _ = send.send(batch);
}

/// Counts something that couldn't be read, and keeps the first few reasons.
pub(crate) fn note(report: &mut WalkReport, error: String) {
    report.error_count += 1;
    if report.errors.len() < ERRORS_MAX {
        report.errors.push(error);
    }
}

/// Adds what another report counted, which came after.
pub(crate) fn add(report: &mut WalkReport, other: WalkReport) {
    report.files += other.files;
    report.denied += other.denied;
    report.special += other.special;
    report.binary += other.binary;
    report.error_count += other.error_count;
    let room = ERRORS_MAX.saturating_sub(report.errors.len());
    report.errors.extend(other.errors.into_iter().take(room));
    report.stopped |= other.stopped;
}

fn walk_builder(filter: &Arc<Filter>, options: &WalkOptions) -> WalkBuilder {
    let mut builder = WalkBuilder::new(filter.folder());
    builder
        .standard_filters(!options.ignored)
        // A `.gitignore` says what isn't worth a look, whether or not git has been set up already.
        .require_git(false)
        .follow_links(false)
        .max_depth(options.depth)
        .current_dir(filter.folder())
        .sort_by_file_name(std::cmp::Ord::cmp);
    let filter = Arc::clone(filter);
    builder.filter_entry(move |found| filter.keeps(found));
    builder
}
