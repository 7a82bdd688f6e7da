//! Whose question is open: one at a time, and of those that wait the earliest call's comes first.

use haft_core::CallId;
use std::{
    collections::BTreeSet,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;

/// What is about no call comes before any call; a number keeps two alike apart.
type Key = (Option<CallId>, u64);

/// The turns of all who ask.
#[derive(Default)]
pub(super) struct Turns {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    is_open: bool,
    waiting: BTreeSet<Key>,
    next: u64,
}

impl Turns {
    /// Waits for the turn of a call, or of what is about none.
    ///
    /// # Cancellation
    /// Safe: who stops waiting holds up nobody.
    pub(super) async fn take(&self, call: Option<&CallId>) -> Turn<'_> {
        let mut turn = {
            let mut state = self.lock();
            let key = (call.cloned(), state.next);
            state.next += 1;
            state.waiting.insert(key.clone());
            Turn { turns: self, key, has_come: false }
        };
        loop {
            // Made before looking, so that a change in between wakes it.
            let changed = self.changed.notified();
            {
                let mut state = self.lock();
                if !state.is_open && state.waiting.first() == Some(&turn.key) {
                    state.is_open = true;
                    state.waiting.remove(&turn.key);
                    turn.has_come = true;
                }
            }
            if turn.has_come {
                return turn;
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A turn, or a place among those that wait; it ends when this is dropped.
pub(super) struct Turn<'a> {
    turns: &'a Turns,
    key: Key,
    has_come: bool,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        {
            let mut state = self.turns.lock();
            if self.has_come {
                state.is_open = false;
            } else {
                state.waiting.remove(&self.key);
            }
        }
        self.turns.changed.notify_waiters();
    }
}
