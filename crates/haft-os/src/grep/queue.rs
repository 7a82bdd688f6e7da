//! Work that goes out to several threads in order, and comes back in the same order.
//!
//! Steps are numbered as they come in. A worker takes a run of them and gives back parts, each with the number of
//! its first step and of the step after its last; a part waits until all before it are there. What waits is bounded
//! in number and in bytes: the walk stops going ahead, and workers wait with what they found. The worker that holds
//! the next number never waits for another worker, so there is always one that goes on.

use crate::walk::{Step, add};
use haft_core::{GrepHit, WalkReport};
use std::{
    collections::{BTreeMap, VecDeque},
    mem,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

/// So many steps may wait to be taken.
const STEPS_MAX: usize = 1_024;
/// So far may the walk be ahead of what came back in order.
const AHEAD_MAX: u64 = 8_192;
/// Most steps that one worker takes at once.
const TAKE_MAX: usize = 32;
/// Found lines may hold so much while they wait for their turn or for the visitor.
const HELD_MAX_BYTES: usize = 32 * 1024 * 1024;

/// What came of a run of steps.
#[derive(Default)]
pub(super) struct Part {
    /// The number after that of its last step.
    pub(super) to: u64,
    /// What was counted.
    pub(super) tally: WalkReport,
    /// What the last of them found.
    pub(super) hit: Option<GrepHit>,
}

impl Part {
    /// About how much memory it holds.
    pub(super) fn bytes(&self) -> usize {
        let line = mem::size_of::<haft_core::GrepLine>();
        self.hit.iter().flat_map(|hit| &hit.lines).map(|found| line + found.text.len()).sum()
    }
}

/// The steps and parts of one search.
pub(super) struct Queue {
    workers: usize,
    /// How many of them wait for steps. Changed only while the state is locked.
    idle_workers: AtomicUsize,
    state: Mutex<State>,
    /// There are steps to take.
    steps: Condvar,
    /// There is room for steps.
    room: Condvar,
    /// There is room for parts.
    space: Condvar,
    /// There is something for the visitor.
    ready: Condvar,
}

#[derive(Default)]
struct State {
    steps: VecDeque<Step>,
    /// The number of the first of `steps`.
    first: u64,
    /// Whether no more steps come in.
    is_closed: bool,
    /// Whether nobody wants anything any more.
    is_over: bool,
    /// Parts by the number of their first step, while those before them are missing.
    waiting: BTreeMap<u64, Part>,
    /// The number that comes next.
    next: u64,
    /// Parts in order. Two of them without a hit are one.
    ready: VecDeque<Part>,
    held_bytes: usize,
    full_workers: usize,
    is_walk_waiting: bool,
    is_visitor_waiting: bool,
}

impl State {
    /// The number of the next step that comes in.
    fn end(&self) -> u64 {
        self.first.saturating_add(u64::try_from(self.steps.len()).unwrap_or(u64::MAX))
    }

    fn is_full(&self, share: u64) -> bool {
        let steps = u64::try_from(self.steps.len()).unwrap_or(u64::MAX);
        let steps_max = u64::try_from(STEPS_MAX).unwrap_or(u64::MAX);
        steps >= steps_max / share || self.end().saturating_sub(self.next) >= AHEAD_MAX / share
    }

    fn is_done(&self) -> bool {
        self.is_over || (self.is_closed && self.next == self.end())
    }

    /// Whether there is a hit among what is ready.
    fn has_hit(&self) -> bool {
        self.ready.len() > 1 || self.ready.front().is_some_and(|part| part.hit.is_some())
    }

    /// Whether a worker has to wait with parts that start at a number: for those before it, or for the visitor where
    /// that one has something to take.
    fn has_no_space(&self, from: u64) -> bool {
        self.held_bytes > HELD_MAX_BYTES && (from != self.next || self.has_hit()) && !self.is_over
    }

    fn add(&mut self, part: Part) {
        self.next = part.to;
        if let Some(last) = self.ready.back_mut().filter(|last| last.hit.is_none()) {
            add(&mut last.tally, part.tally);
            last.to = part.to;
            last.hit = part.hit;
            return;
        }
        self.ready.push_back(part);
    }
}

impl Queue {
    pub(super) fn new(workers: usize) -> Self {
        Self {
            workers: workers.max(1),
            idle_workers: AtomicUsize::new(0),
            state: Mutex::default(),
            steps: Condvar::new(),
            room: Condvar::new(),
            space: Condvar::new(),
            ready: Condvar::new(),
        }
    }

    /// How many workers it is for.
    pub(super) fn workers(&self) -> usize {
        self.workers
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes in steps, once there is room; false where nobody wants them any more.
    pub(super) fn push(&self, batch: &mut Vec<Step>) -> bool {
        let mut state = self.lock();
        while state.is_full(1) && !state.is_over {
            state.is_walk_waiting = true;
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_walk_waiting = false;
        if state.is_over {
            return false;
        }
        state.steps.extend(batch.drain(..));
        self.wake_worker(&state);
        true
    }

    /// Whether a worker has nothing to do, so that even a few steps are welcome; a guess.
    pub(super) fn is_hungry(&self) -> bool {
        self.idle_workers.load(Ordering::Relaxed) > 0
    }

    /// No more steps come in.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        self.steps.notify_all();
        self.ready.notify_all();
    }

    /// Nobody wants anything any more.
    pub(super) fn stop(&self) {
        let mut state = self.lock();
        state.is_over = true;
        state.steps.clear();
        for waiting in [&self.steps, &self.room, &self.space, &self.ready] {
            waiting.notify_all();
        }
    }

    /// Gives a worker its next steps, and the number of the first; none at the end. The fewer are left, the fewer it
    /// gets, so that all workers end together.
    pub(super) fn take(&self, taken: &mut Vec<Step>) -> Option<u64> {
        let mut state = self.lock();
        while state.steps.is_empty() && !state.is_closed && !state.is_over {
            self.idle_workers.fetch_add(1, Ordering::Relaxed);
            state = self.steps.wait(state).unwrap_or_else(PoisonError::into_inner);
            self.idle_workers.fetch_sub(1, Ordering::Relaxed);
        }
        if state.steps.is_empty() || state.is_over {
            return None;
        }
        let share = (state.steps.len() / (self.workers * 2)).clamp(1, TAKE_MAX);
        taken.extend(state.steps.drain(..share));
        let from = state.first;
        state.first = from.saturating_add(u64::try_from(share).unwrap_or(u64::MAX));
        self.wake_walk(&mut state);
        self.wake_worker(&state);
        Some(from)
    }

    /// Takes parts back, which follow each other, once there is space; false where nobody wants them any more.
    pub(super) fn give(&self, parts: &mut Vec<(u64, Part)>) -> bool {
        let Some(from) = parts.first().map(|(from, _)| *from) else {
            return true;
        };
        let mut state = self.lock();
        while state.has_no_space(from) {
            state.full_workers += 1;
            state = self.space.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.full_workers -= 1;
        }
        if state.is_over {
            return false;
        }
        for (from, part) in parts.drain(..) {
            state.held_bytes = state.held_bytes.saturating_add(part.bytes());
            state.waiting.insert(from, part);
        }
        let before = state.next;
        loop {
            let next = state.next;
            let Some(part) = state.waiting.remove(&next) else {
                break;
            };
            state.add(part);
        }
        if state.next != before {
            self.wake_walk(&mut state);
            if state.full_workers > 0 {
                self.space.notify_all();
            }
            if state.is_visitor_waiting && (state.has_hit() || state.is_done()) {
                state.is_visitor_waiting = false;
                self.ready.notify_all();
            }
        }
        true
    }

    /// What is ready for the visitor, once there is a hit; false at the end.
    pub(super) fn ready(&self, parts: &mut VecDeque<Part>) -> bool {
        let mut state = self.lock();
        while !state.has_hit() && !state.is_done() {
            state.is_visitor_waiting = true;
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.is_visitor_waiting = false;
        if state.ready.is_empty() {
            return false;
        }
        mem::swap(parts, &mut state.ready);
        let taken = parts.iter().map(Part::bytes).sum();
        state.held_bytes = state.held_bytes.saturating_sub(taken);
        if state.full_workers > 0 {
            self.space.notify_all();
        }
        true
    }

    /// One at a time: whoever wakes and leaves steps behind wakes the next.
    fn wake_worker(&self, state: &State) {
        if !state.steps.is_empty() && self.is_hungry() {
            self.steps.notify_one();
        }
    }

    fn wake_walk(&self, state: &mut State) {
        // Once there is room for more than a little.
        if state.is_walk_waiting && !state.is_full(2) {
            state.is_walk_waiting = false;
            self.room.notify_all();
        }
    }
}

/// Stops the search where the thread that has it ends by a panic; then no part would come any more, or nobody would
/// take one.
pub(super) struct Watch<'a>(pub(super) &'a Queue);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(count: usize) -> Vec<Step> {
        (0..count).map(|_| Step::Denied(1)).collect()
    }

    fn part(to: u64, name: Option<&str>) -> Part {
        let hit = name.map(|name| GrepHit {
            path: haft_core::RealPath::new("/w", name),
            modified: None,
            count: 1,
            lines: Vec::new(),
            left_out: 0,
        });
        Part { to, tally: WalkReport { files: 1, ..WalkReport::default() }, hit }
    }

    #[test]
    fn parts_come_out_in_the_order_of_the_steps() {
        let queue = Queue::new(1);
        assert!(queue.push(&mut steps(6)));
        queue.close();
        let (mut taken, mut froms) = (Vec::new(), Vec::new());
        while let Some(from) = queue.take(&mut taken) {
            froms.push(from);
        }
        assert_eq!((taken.len(), froms[0]), (6, 0));
        assert!(queue.give(&mut vec![(3, part(4, Some("b"))), (4, part(6, None))]));
        assert!(queue.give(&mut vec![(0, part(2, None)), (2, part(3, Some("a")))]));
        let mut parts = VecDeque::new();
        assert!(queue.ready(&mut parts));
        let seen: Vec<_> = parts
            .drain(..)
            .map(|part| (part.tally.files, part.hit.map(|hit| hit.path.beneath.to_string())))
            .collect();
        assert_eq!(seen, [(2, Some("a".to_owned())), (1, Some("b".to_owned())), (1, None)]);
        assert!(!queue.ready(&mut parts));
    }

    #[test]
    fn after_a_stop_nobody_waits() {
        let queue = Queue::new(2);
        queue.stop();
        assert!(!queue.push(&mut steps(1)));
        assert_eq!(queue.take(&mut Vec::new()), None);
        assert!(!queue.give(&mut vec![(7, part(8, None))]));
        assert!(!queue.ready(&mut VecDeque::new()));
    }

    #[test]
    fn the_walk_waits_while_it_is_too_far_ahead() {
        let queue = Queue::new(1);
        assert!(queue.push(&mut steps(STEPS_MAX)));
        thread::scope(|scope| {
            let pushed = scope.spawn(|| queue.push(&mut steps(1)));
            let mut taken = Vec::new();
            // All of the first come out before the one that had to wait.
            while taken.len() <= STEPS_MAX {
                queue.take(&mut taken).unwrap();
            }
            assert!(pushed.join().unwrap());
        });
    }
}
