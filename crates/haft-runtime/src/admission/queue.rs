//! The order of one session's calls.
//!
//! Each call takes its place by [`Queue::reserve`], a plain function, before anything is spawned. Until it has
//! said what it touches, nobody passes it. A call is admitted once no earlier call conflicts with it and fewer
//! than [`RUNNING_MAX`] run. When a call ends that could have moved names (made a link, replaced a folder),
//! what waiting calls said they touch is void until they have looked again. And while such a call is still to
//! come or running, what those who wait for it say they touch is provisional: nobody passes them on the
//! strength of a name that is about to change.

use super::{
    Claims, Seat,
    places::{Place, Places},
};
use haft_core::CallId;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// How many calls of one session run at once.
pub const RUNNING_MAX: usize = 10;

/// The places of one session's calls.
#[derive(Clone, Default)]
pub struct Queue {
    inner: Arc<Inner>,
    #[cfg(test)]
    fault: Fault,
}

/// A fault that a test seeds to see that it would be noticed.
#[cfg(test)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Fault {
    #[default]
    None,
    IgnoresUndeclared,
    IgnoresWaiting,
    IgnoresRunning,
    KeepsOldNames,
    NoLimit,
    PassesDispatchers,
    TrustsProvisional,
}

#[derive(Default)]
struct Inner {
    places: Mutex<Places>,
    /// Rung at every change; waiting calls look again.
    changed: Notify,
}

/// What a look at the order says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// It runs now.
    Admitted,
    /// Somebody is before it.
    Wait,
    /// What it said it touches is void.
    Void,
}

impl Queue {
    /// Takes the place of a call; later places wait for what it will say.
    pub fn reserve(&self, call: CallId) -> Seat {
        self.places().put(&call, Place::Unknown);
        Seat::new(self.clone(), call)
    }

    /// How many calls have a place.
    pub fn len(&self) -> usize {
        self.places().len()
    }

    /// Whether no call has a place.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[cfg(test)]
    pub(super) fn with_fault(fault: Fault) -> Self {
        Self { fault, ..Self::default() }
    }

    /// Whether the seeded fault overlooks that place.
    #[cfg(test)]
    fn overlooks(&self, place: &Place) -> bool {
        match (self.fault, place) {
            (Fault::IgnoresUndeclared, Place::Unknown) | (Fault::IgnoresWaiting, Place::Declared(_)) => true,
            (Fault::IgnoresRunning, Place::Holding(held)) => held.takes_slot(),
            (Fault::PassesDispatchers, Place::Holding(held)) => !held.takes_slot(),
            _ => false,
        }
    }

    pub(super) fn declare(&self, call: &CallId, claims: Claims) {
        self.places().put(call, Place::Declared(claims));
        self.inner.changed.notify_waiters();
    }

    /// One look: admits the call if nothing stands against it.
    pub(super) fn look(&self, call: &CallId) -> Look {
        let mut places = self.places();
        let claims = match places.get(call) {
            Some(Place::Declared(claims)) => claims.clone(),
            Some(Place::Holding(_)) => return Look::Admitted,
            Some(Place::Unknown) | None => return Look::Void,
        };
        if claims.takes_slot() {
            // Before the others are looked through: where many wait, this is what keeps nearly all of them.
            let full = places.running() >= RUNNING_MAX;
            #[cfg(test)]
            let full = full && self.fault != Fault::NoLimit;
            if full || self.is_kept_waiting(&places, call, &claims) {
                return Look::Wait;
            }
        }
        places.put(call, Place::Holding(claims));
        Look::Admitted
    }

    /// Whether an earlier call stands against this one; none where what it said it touches is void.
    pub(super) fn is_waiting(&self, call: &CallId) -> Option<bool> {
        let places = self.places();
        match places.get(call) {
            Some(Place::Declared(claims)) => Some(self.is_kept_waiting(&places, call, claims)),
            Some(Place::Holding(_)) => Some(false),
            Some(Place::Unknown) | None => None,
        }
    }

    fn is_kept_waiting(&self, places: &Places, call: &CallId, claims: &Claims) -> bool {
        // Those before the one that is looked at which may change what its paths mean.
        let mut movers = Vec::new();
        for (other, place) in places.in_order() {
            if self.stands_against(other, place, call, claims)
                || self.is_provisional(&movers, (other, place), call)
            {
                return true;
            }
            if let Place::Declared(held) | Place::Holding(held) = place
                && held.can_move_names()
            {
                movers.push((other, held));
            }
        }
        false
    }

    /// Whether the place of `other` keeps `call` waiting.
    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "tests seed faults by it"))]
    fn stands_against(&self, other: &CallId, place: &Place, call: &CallId, claims: &Claims) -> bool {
        #[cfg(test)]
        if self.overlooks(place) {
            return false;
        }
        // A dispatcher holds nothing against the calls made inside it.
        if related(other, call) {
            return false;
        }
        match place {
            Place::Unknown => other < call,
            Place::Declared(held) => other < call && held.conflict(claims),
            // A later call may run already: it was admitted while this one said something else.
            Place::Holding(held) => (other < call || held.takes_slot()) && held.conflict(claims),
        }
    }

    /// Whether `other`, before `call`, waits for one of these, who may change what its paths mean.
    #[cfg_attr(not(test), expect(clippy::unused_self, reason = "tests seed faults by it"))]
    fn is_provisional(
        &self,
        movers: &[(&CallId, &Claims)],
        (other, place): (&CallId, &Place),
        call: &CallId,
    ) -> bool {
        #[cfg(test)]
        if self.fault == Fault::TrustsProvisional {
            return false;
        }
        let Place::Declared(said) = place else { return false };
        other < call
            && !related(other, call)
            && movers.iter().any(|(mover, held)| !related(mover, other) && held.conflict(said))
    }

    /// Gives up what the call holds but not its place; it will declare again.
    pub(super) fn step_back(&self, call: &CallId) {
        self.end_claims(call, Some(Place::Unknown));
    }

    pub(super) fn leave(&self, call: &CallId) {
        self.end_claims(call, None);
    }

    fn end_claims(&self, call: &CallId, then: Option<Place>) {
        let mut places = self.places();
        let before = match then {
            Some(place) => places.put(call, place),
            None => places.remove(call),
        };
        let moved = matches!(&before, Some(Place::Holding(claims)) if claims.can_move_names());
        #[cfg(test)]
        let moved = moved && self.fault != Fault::KeepsOldNames;
        if moved {
            places.void_declared();
        }
        drop(places);
        self.inner.changed.notify_waiters();
    }

    /// A wait for the next change; enable it before looking, so that no change is missed.
    pub(super) fn changed(&self) -> tokio::sync::futures::Notified<'_> {
        self.inner.changed.notified()
    }

    pub(super) fn is_void(&self, call: &CallId) -> bool {
        matches!(self.places().get(call), Some(Place::Unknown) | None)
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.inner.places.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn related(a: &CallId, b: &CallId) -> bool {
    a == b || a.is_inside(b) || b.is_inside(a)
}
