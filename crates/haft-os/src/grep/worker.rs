//! One of the threads that open and search files.

use super::{
    engine::Engine,
    found::Outcome,
    queue::{Part, Queue, Watch},
};
use crate::{
    OsFiles,
    standing::{Standing, modified},
    walk::{Filter, MOVED, Seen, Step, note},
};
use haft_core::{FileKind, GrepHit, WalkReport};
use std::{mem, sync::Arc};

/// What was found goes back once it holds so much, though not all that was taken is searched.
const PARTS_MAX_BYTES: usize = 1024 * 1024;

/// Takes steps of the walk, and gives back what came of them.
pub(super) struct Worker<'a> {
    files: &'a OsFiles,
    engine: Engine,
    filter: Arc<Filter>,
    standing: Standing<'a>,
}

impl<'a> Worker<'a> {
    pub(super) fn new(files: &'a OsFiles, engine: Engine, filter: &Arc<Filter>) -> Self {
        let standing = Standing::new(files, Arc::clone(filter));
        Self { files, engine, filter: Arc::clone(filter), standing }
    }

    /// Works until there are no more steps or nobody wants them.
    pub(super) fn work(mut self, queue: &Queue) {
        let _watch = Watch(queue);
        let (mut taken, mut parts) = (Vec::new(), Vec::new());
        while let Some(first) = queue.take(&mut taken) {
            if self.filter.is_cancelled() {
                queue.stop();
                return;
            }
            let (mut from, mut held) = (first, 0_usize);
            let mut part = Part { to: first, ..Part::default() };
            for step in taken.drain(..) {
                part.to = part.to.saturating_add(1);
                part.hit = self.step(step, &mut part.tally);
                if part.hit.is_none() {
                    continue;
                }
                // A hit ends its part, so that what is counted before it is told before it.
                let to = part.to;
                held = held.saturating_add(part.bytes());
                parts.push((from, mem::replace(&mut part, Part { to, ..Part::default() })));
                from = to;
                if held > PARTS_MAX_BYTES {
                    held = 0;
                    if !queue.give(&mut parts) {
                        return;
                    }
                }
            }
            if from < part.to {
                parts.push((from, part));
            }
            if !queue.give(&mut parts) {
                return;
            }
        }
    }

    /// Does what one step asks for.
    fn step(&mut self, step: Step, tally: &mut WalkReport) -> Option<GrepHit> {
        let seen = match step {
            Step::Seen(seen) => seen,
            Step::Denied(folders) => {
                tally.denied += folders;
                return None;
            }
            Step::Unreadable(error) => {
                note(tally, error);
                return None;
            }
        };
        if self.filter.has_rules() && self.filter.denies(&self.filter.real(&seen.path)) {
            tally.denied += 1;
            return None;
        }
        match seen.kind {
            FileKind::File => self.file(&seen, tally),
            FileKind::Special(_) => {
                match self.standing.confirm(&seen) {
                    Some(_) => tally.special += 1,
                    None => note(tally, MOVED.to_owned()),
                }
                None
            }
            FileKind::Folder | FileKind::Link => None,
        }
    }

    fn file(&mut self, seen: &Seen, tally: &mut WalkReport) -> Option<GrepHit> {
        let searched = match self.standing.open(seen) {
            Ok(Some((file, stat))) => {
                let len = u64::try_from(stat.st_size).unwrap_or(0);
                self.engine.search(&file, len).map(|outcome| (outcome, stat))
            }
            Ok(None) => {
                note(tally, MOVED.to_owned());
                return None;
            }
            Err(error) => Err(error),
        };
        tally.files += 1;
        match searched {
            Ok((Outcome::Lines { count, lines, left_out }, stat)) => {
                let path = self.filter.real(&seen.path);
                return Some(GrepHit { path, modified: modified(&stat), count, lines, left_out });
            }
            Ok((Outcome::Binary, _)) => tally.binary += 1,
            Ok((Outcome::Nothing, _)) => {}
            Err(error) => {
                let path = self.filter.real(&seen.path);
                note(tally, format!("{}: {error}", self.files.show(&path)));
            }
        }
        None
    }
}
