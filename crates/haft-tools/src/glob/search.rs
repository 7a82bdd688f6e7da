//! The walks behind one `glob`: one that obeys ignore rules, one that counts what they hide.

use super::{
    matcher::{Matcher, nfc},
    newest::{Hit, Newest},
};
use crate::text::paths;
use haft_core::{Cancel, Entry, Failure, FileKind, Files, RealPath, WalkOptions, WalkReport};
use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
    ops::ControlFlow,
};

/// Most entries that are visited only to count what is hidden.
const SURVEY_MAX_ENTRIES: u64 = 100_000;

/// What to look for, and where.
pub(super) struct Query {
    /// The folder that is walked.
    pub(super) tree: RealPath,
    /// The workspace, for how paths are written.
    pub(super) workspace: RealPath,
    /// What paths beneath `tree` must match.
    pub(super) matcher: Matcher,
    /// The path beneath `tree`, where the pattern has no wildcard.
    pub(super) literal: Option<String>,
    /// How deep a match can lie.
    pub(super) depth: Option<usize>,
    /// Whether ignore rules are off.
    pub(super) ignored: bool,
    /// Whether the caller named `tree`, so that rules which hide all of it give way.
    pub(super) named: bool,
    /// Whether that is a folder in the workspace: rules give way too where they hide all that matches.
    pub(super) within: bool,
    /// Most paths to keep.
    pub(super) limit: usize,
    /// Ends the walks early.
    pub(super) cancel: Cancel,
}

/// What was found where ignore rules hold.
pub(super) struct Found {
    /// The newest matches.
    pub(super) newest: Newest,
    /// Matching links, which aren't followed.
    pub(super) links: u64,
    /// Matching pipes, sockets and devices.
    pub(super) special: u64,
    /// Whether a folder has exactly the name asked for.
    pub(super) folder: bool,
    /// What the walk left out.
    pub(super) report: WalkReport,
    seen: HashSet<u64>,
    entries: u64,
    unruled: bool,
}

/// What matches where no ignore rule holds.
#[derive(Default)]
pub(super) struct Survey {
    matched: Vec<u64>,
    bounded: bool,
}

/// How many matches are hidden.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Hidden {
    /// How many were counted.
    pub(crate) count: u64,
    /// Whether there may be more.
    pub(crate) at_least: bool,
}

impl Query {
    /// Finds what matches.
    ///
    /// # Errors
    /// Not found, or not a folder.
    pub(super) fn search(&self, files: &dyn Files) -> Result<Found, Failure> {
        let mut found = Found::new(self.limit);
        if let Some(literal) = self.literal.as_deref() {
            // A path that is written out wins over every rule.
            let depth = literal.split('/').count();
            files.walk(&self.tree, &self.options(true, Some(depth)), &mut |entry| {
                if self.relative(&entry.path).is_some_and(|relative| *nfc(relative) == *nfc(literal)) {
                    found.look(entry, self);
                }
                ControlFlow::Continue(())
            })?;
        }
        let report = self.walk(files, self.ignored, &mut found)?;
        found.report = report;
        let gives_way = (found.entries == 0 && self.named) || (found.is_empty() && self.within);
        if gives_way && !self.ignored && !self.cancel.is_fired() {
            found.report = self.walk(files, true, &mut found)?;
            found.unruled = true;
        }
        Ok(found)
    }

    /// Collects what would match without ignore rules, as far as it is cheap.
    pub(super) fn survey(&self, files: &dyn Files) -> Survey {
        let mut survey = Survey::default();
        if self.ignored {
            return survey;
        }
        let mut entries = 0_u64;
        let walked = files.walk(&self.tree, &self.options(true, self.depth), &mut |entry| {
            entries += 1;
            if entries > SURVEY_MAX_ENTRIES {
                survey.bounded = true;
                return ControlFlow::Break(());
            }
            if entry.kind == FileKind::File && self.matches(&entry.path) {
                survey.matched.push(fingerprint(&entry.path));
            }
            ControlFlow::Continue(())
        });
        survey.bounded |= walked.is_err();
        survey
    }

    fn walk(&self, files: &dyn Files, ignored: bool, found: &mut Found) -> Result<WalkReport, Failure> {
        files.walk(&self.tree, &self.options(ignored, self.depth), &mut |entry| {
            found.entries += 1;
            if entry.kind != FileKind::Folder && self.matches(&entry.path) {
                found.look(entry, self);
            }
            ControlFlow::Continue(())
        })
    }

    fn options(&self, ignored: bool, depth: Option<usize>) -> WalkOptions {
        WalkOptions { ignored, depth, cancel: self.cancel.clone(), ..WalkOptions::default() }
    }

    fn matches(&self, path: &RealPath) -> bool {
        self.relative(path).is_some_and(|relative| self.matcher.is_match(relative))
    }

    fn relative<'a>(&self, path: &'a RealPath) -> Option<&'a str> {
        if self.tree.beneath.is_empty() {
            return Some(&path.beneath);
        }
        path.beneath.strip_prefix(self.tree.beneath.as_ref())?.strip_prefix('/')
    }
}

impl Found {
    fn new(limit: usize) -> Self {
        Self {
            newest: Newest::new(limit),
            links: 0,
            special: 0,
            folder: false,
            report: WalkReport::default(),
            seen: HashSet::new(),
            entries: 0,
            unruled: false,
        }
    }

    fn is_empty(&self) -> bool {
        self.newest.total() == 0 && self.links == 0 && self.special == 0
    }

    /// How many matches ignore rules keep from the list.
    pub(super) fn hidden(&self, survey: &Survey) -> Hidden {
        if self.unruled {
            return Hidden::default();
        }
        let count = survey.matched.iter().filter(|print| !self.seen.contains(*print)).count();
        Hidden { count: u64::try_from(count).unwrap_or(u64::MAX), at_least: survey.bounded }
    }

    fn look(&mut self, entry: &Entry, query: &Query) {
        match entry.kind {
            FileKind::Folder => self.folder = true,
            FileKind::Special(_) if self.seen.insert(fingerprint(&entry.path)) => self.special += 1,
            FileKind::Link if query.literal.is_none() => self.links += 1,
            FileKind::File | FileKind::Link if self.seen.insert(fingerprint(&entry.path)) => {
                let path = paths::shown(&entry.path, &query.workspace);
                self.newest.push(Hit { modified: entry.modified, path });
            }
            FileKind::File | FileKind::Link | FileKind::Special(_) => {}
        }
    }
}

fn fingerprint(path: &RealPath) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.beneath.hash(&mut hasher);
    hasher.finish()
}
