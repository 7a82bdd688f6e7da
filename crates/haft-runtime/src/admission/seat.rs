//! One call's place in the order; dropping it gives the place up.

use super::{Claims, Queue, queue::Look};
use haft_core::CallId;
use std::pin::pin;

/// A place in the order of one session's calls. The executor keeps it, never the tool: one that ignores its
/// cancel can't keep claims.
#[must_use = "the place is given up when this is dropped"]
pub struct Seat {
    queue: Queue,
    call: CallId,
}

/// What waiting led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// The call holds its claims.
    Admitted,
    /// A call ended that may have changed what names mean: resolve again, declare again, wait again.
    LookAgain,
}

impl Seat {
    pub(super) fn new(queue: Queue, call: CallId) -> Self {
        Self { queue, call }
    }

    /// The call that has this place.
    pub fn call(&self) -> &CallId {
        &self.call
    }

    /// Says what the call touches.
    pub fn declare(&self, claims: Claims) {
        self.queue.declare(&self.call, claims);
    }

    /// Waits until the call may run, or must look again at what it touches.
    ///
    /// # Cancellation
    /// Safe: a dropped wait holds nothing.
    pub async fn admitted(&self) -> Admission {
        loop {
            let mut changed = pin!(self.queue.changed());
            changed.as_mut().enable();
            match self.queue.look(&self.call) {
                Look::Admitted => return Admission::Admitted,
                Look::Void => return Admission::LookAgain,
                Look::Wait => changed.await,
            }
        }
    }

    /// Waits until what the call said it touches is void.
    pub async fn voided(&self) {
        loop {
            let mut changed = pin!(self.queue.changed());
            changed.as_mut().enable();
            if self.queue.is_void(&self.call) {
                return;
            }
            changed.await;
        }
    }

    /// Whether earlier calls that this one conflicts with are still to end.
    pub fn is_waiting(&self) -> bool {
        self.queue.is_waiting(&self.call) != Some(false)
    }

    /// Waits until no earlier call stands against this one, without taking its claims; or until what it said it
    /// touches is void.
    pub async fn turn(&self) {
        loop {
            let mut changed = pin!(self.queue.changed());
            changed.as_mut().enable();
            if self.queue.is_waiting(&self.call) != Some(true) {
                return;
            }
            changed.await;
        }
    }

    /// Gives up the claims but keeps the place.
    pub fn step_back(&self) {
        self.queue.step_back(&self.call);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.queue.leave(&self.call);
    }
}
