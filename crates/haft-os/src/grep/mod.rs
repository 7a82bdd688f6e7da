//! Searching in files with ripgrep's own engine, several at a time, the results in the order of paths.
//!
//! One thread walks, as many as the machine has cores open and search, and the caller's visits. Each file is opened
//! through its root without following a link and looked at before it is read, so that neither a swapped link nor a
//! pipe is ever searched. Files that turn out binary count as such and give no lines.

mod coding;
mod engine;
mod found;
mod queue;
mod worker;

use crate::{
    OsFiles, fault,
    files::kind,
    walk::{Seen, Step, Steps, add, note},
};
use engine::Engine;
use found::Outcome;
use haft_core::{Failure, FileKind, GrepHit, GrepQuery, RealPath, WalkReport};
use queue::{Queue, Watch};
use std::{collections::VecDeque, io, ops::ControlFlow, thread};
use worker::Worker;

/// At most so many threads search.
const WORKERS_MAX: usize = 12;
/// The first steps are looked at together, so that few files don't make many threads.
const FIRST_STEPS: usize = 32;
/// So many steps are handed over at once; where a worker has nothing to do, so few.
const BATCH_STEPS: usize = 32;
const HASTY_STEPS: usize = 4;

impl OsFiles {
    pub(crate) fn search(
        &self,
        tree: &RealPath,
        query: &GrepQuery,
        visit: &mut dyn FnMut(GrepHit) -> ControlFlow<()>,
    ) -> Result<WalkReport, Failure> {
        let engine = Engine::new(query)?;
        let meta = self.look(tree)?;
        if kind(meta.file_type()) != FileKind::Folder {
            return self.search_one(tree, query, engine, visit);
        }
        let steps = self.steps(tree, &query.walk)?;
        let mut report = self
            .search_all(steps, &engine, visit)
            .map_err(|error| fault::io("search", &self.show(tree), &error))?;
        report.stopped |= query.walk.cancel.is_fired();
        Ok(report)
    }

    /// Searches all files that a walk comes to.
    fn search_all(
        &self,
        mut steps: Steps,
        engine: &Engine,
        visit: &mut dyn FnMut(GrepHit) -> ControlFlow<()>,
    ) -> io::Result<WalkReport> {
        let filter = steps.rules();
        let mut first: Vec<Step> = steps.by_ref().filter(is_wanted).take(FIRST_STEPS).collect();
        if first.is_empty() {
            return Ok(WalkReport::default());
        }
        let is_all = first.len() < FIRST_STEPS;
        let cores = thread::available_parallelism().map_or(1, usize::from).min(WORKERS_MAX);
        let queue = &Queue::new(cores.min(first.len()));
        let mut report = WalkReport::default();
        thread::scope(|scope| {
            // Also where the visitor panics, the others must come to their end.
            let _end = Stop(queue);
            queue.push(&mut first);
            for _ in 0..queue.workers() {
                let worker = Worker::new(self, engine.another(), &filter);
                thread::Builder::new()
                    .name("haft-search".to_owned())
                    .spawn_scoped(scope, move || worker.work(queue))?;
            }
            if is_all {
                queue.close();
            } else {
                thread::Builder::new()
                    .name("haft-walk".to_owned())
                    .spawn_scoped(scope, move || go_ahead(steps, queue))?;
            }
            let mut parts = VecDeque::new();
            while queue.ready(&mut parts) {
                for part in parts.drain(..) {
                    add(&mut report, part.tally);
                    if part.hit.is_some_and(|hit| visit(hit).is_break()) {
                        report.stopped = true;
                        return Ok(());
                    }
                }
            }
            Ok::<(), io::Error>(())
        })?;
        Ok(report)
    }

    fn search_one(
        &self,
        file: &RealPath,
        query: &GrepQuery,
        mut engine: Engine,
        visit: &mut dyn FnMut(GrepHit) -> ControlFlow<()>,
    ) -> Result<WalkReport, Failure> {
        let mut report = WalkReport::default();
        if query.walk.skip.as_ref().is_some_and(|skip| skip(file)) {
            report.denied = 1;
            return Ok(report);
        }
        let place = self.place(file).map_err(|error| self.trouble("search", file, &error))?;
        let (open, meta) = self.open_regular(file, &place)?;
        report.files = 1;
        match engine.search(&open, meta.len()) {
            Ok(Outcome::Lines { count, lines, left_out }) => {
                let (path, modified) = (file.clone(), meta.modified().ok());
                report.stopped = visit(GrepHit { path, modified, count, lines, left_out }).is_break();
            }
            Ok(Outcome::Binary) => report.binary = 1,
            Ok(Outcome::Nothing) => {}
            Err(error) => note(&mut report, format!("{}: {error}", self.show(file))),
        }
        report.stopped |= query.walk.cancel.is_fired();
        Ok(report)
    }
}

/// Whether a worker has something to do with a step.
fn is_wanted(step: &Step) -> bool {
    !matches!(step, Step::Seen(Seen { kind: FileKind::Folder, .. }))
}

/// Walks until there is no more or nobody wants it.
fn go_ahead(steps: Steps, queue: &Queue) {
    let _watch = Watch(queue);
    let mut batch = Vec::with_capacity(BATCH_STEPS);
    for step in steps.filter(is_wanted) {
        batch.push(step);
        let wanted = if queue.is_hungry() { HASTY_STEPS } else { BATCH_STEPS };
        if batch.len() >= wanted && !queue.push(&mut batch) {
            return;
        }
    }
    if queue.push(&mut batch) {
        queue.close();
    }
}

/// Ends a search when it is dropped.
struct Stop<'a>(&'a Queue);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}
