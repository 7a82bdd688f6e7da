//! Several changes to files, all or none.
//!
//! Everything is checked, then every new content is staged in a temporary file beside its target, then a journal
//! entry says how to take each step back, and only then the first file changes. The entry that replaces it is the
//! one moment at which the old turns into the new: a kill before it takes all back at the next start, one after it
//! only leaves tidying to do.

mod check;
mod make;
mod planned;
mod stage;

use crate::{
    OsFiles, hash,
    journal::{Journal, Note},
    root::Place,
    undo,
};
use check::Draft;
use haft_core::{Failure, FailureKind, FileChange, FileOp, RealPath, WriteMode};
use std::{collections::BTreeSet, sync::Arc};

/// So many files change together at most.
const OPS_MAX: usize = 5_000;

/// How far the changes have come.
#[derive(Default)]
struct Making {
    /// The temporary files in the folders in which they were made, whatever these are called by now.
    temps: Vec<Place>,
    /// How many changes were begun, in their order.
    begun: usize,
    /// The files that hold something else already than what was written.
    overtaken: Vec<RealPath>,
}

impl OsFiles {
    /// See [`haft_core::Files::apply`].
    pub(crate) fn apply_all(&self, ops: &[FileOp]) -> Result<Vec<FileChange>, Failure> {
        self.require_apart(ops)?;
        let mut draft = Draft::default();
        for op in ops {
            self.check(op, &mut draft)?;
        }
        let Draft { planned, folders, .. } = draft;
        let temps: Vec<RealPath> = planned.iter().filter_map(|one| one.temp().cloned()).collect();
        let folders: Vec<RealPath> = folders.into_iter().collect();
        let staged = Note::Staged { temps: temps.clone(), folders: folders.clone() };
        let journal = Journal::begin(&self.state, &staged)?;
        let mut making = Making::default();
        let steps = match self.stage(&planned, &mut making) {
            Ok(steps) => steps,
            Err(failure) => {
                // What can't be removed now is removed at the next start.
                if undo::sweep_places(&making.temps, &folders).is_ok() {
                    journal.done();
                }
                return Err(failure);
            }
        };
        let set = Note::Set { steps, folders };
        let (journal, made) = match journal.advance(&set) {
            Ok(journal) => (journal, self.make(&planned, &mut making)),
            Err((journal, failure)) => (journal, Err(failure)),
        };
        let journal = match made {
            Ok(()) => journal.advance(&Note::Staged { temps, folders: Vec::new() }),
            Err(failure) => Err((journal, failure)),
        };
        match journal {
            Ok(journal) => {
                if undo::sweep_places(&making.temps, &[]).is_ok() {
                    journal.done();
                }
                undo::remove_folders(&ops.iter().filter_map(tidied).cloned().collect::<Vec<_>>());
                let mut changes: Vec<FileChange> = ops.iter().flat_map(changes).collect();
                for change in &mut changes {
                    change.overtaken = making.overtaken.contains(&change.path);
                }
                Ok(changes)
            }
            Err((journal, failure)) => Err(take_back(journal, &set, &making, failure)),
        }
    }

    /// No path may be named twice: which of the two changes counted would be a guess.
    fn require_apart(&self, ops: &[FileOp]) -> Result<(), Failure> {
        if ops.len() > OPS_MAX {
            return Err(Failure::invalid(format!(
                "{} files are too many to change at once; change at most {OPS_MAX}, then the others",
                ops.len()
            )));
        }
        let mut named = BTreeSet::new();
        for at in ops.iter().flat_map(FileOp::paths) {
            if at.beneath.is_empty() {
                return Err(Failure::invalid(format!("{} is a folder; name a file in it", self.show(at))));
            }
            if !named.insert(at.absolute()) {
                return Err(Failure::invalid(format!(
                    "{} is named by two changes; nothing was changed. Join them, or make one after the other",
                    self.show(at)
                )));
            }
        }
        Ok(())
    }
}

/// The folder that goes at the end.
fn tidied(op: &FileOp) -> Option<&RealPath> {
    if let FileOp::Tidy { at } = op { Some(at) } else { None }
}

fn changes(op: &FileOp) -> Vec<FileChange> {
    let change = |path: &RealPath, before: Option<&Arc<str>>, after| FileChange {
        path: path.clone(),
        before: before.cloned(),
        after,
        overtaken: false,
    };
    match op {
        FileOp::Write { at, content, mode, .. } => {
            let before = match mode {
                WriteMode::New => None,
                WriteMode::Over { before } => Some(before),
            };
            vec![change(at, before, Some(hash::of(content)))]
        }
        FileOp::Restore { at, content, over, .. } => {
            vec![change(at, over.as_ref(), Some(hash::of(content)))]
        }
        FileOp::Remove { at, before } => vec![change(at, Some(before), None)],
        FileOp::Move { from, to, before, content, .. } => {
            let after = content.as_deref().map_or_else(|| Arc::clone(before), hash::of);
            vec![change(from, Some(before), None), change(to, None, Some(after))]
        }
        FileOp::Tidy { .. } => Vec::new(),
    }
}

/// Takes all back that was begun, and says so where it can't be.
fn take_back(journal: Journal, set: &Note, making: &Making, failure: Failure) -> Failure {
    let Note::Set { steps, folders } = set else { return failure };
    let begun = steps.get(..making.begun).unwrap_or(steps);
    match undo::roll_back(begun, &[]) {
        Ok(whole) => {
            // A temporary file holds nothing by now that isn't in its place.
            if undo::sweep_places(&making.temps, folders).is_ok() {
                journal.done();
            }
            if whole {
                return failure;
            }
            // Not to be tried again as if nothing had happened.
            let text = format!(
                "{}. What else was changed is put back, but something else wrote one of the files at the same \
                 moment: read them again",
                failure.text
            );
            Failure { kind: FailureKind::Internal, text, ..failure }
        }
        // The entry stays for the next start.
        Err(error) => {
            let text = format!(
                "{}. Not all of what else was changed could be put back ({error}); it will be at the next start",
                failure.text
            );
            Failure { kind: FailureKind::Internal, text, ..failure }
        }
    }
}
