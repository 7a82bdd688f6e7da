//! The places of one session's calls, in their order, and how many of them run.
//!
//! The number is kept, not counted: with a thousand calls waiting, each change makes all of them look.

use super::Claims;
use haft_core::CallId;
use std::collections::BTreeMap;

/// Where a call stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// It hasn't said what it touches, or what it said is void.
    Unknown,
    /// It has.
    Declared(Claims),
    /// It runs.
    Holding(Claims),
}

impl Place {
    /// Whether the call has one of the places for running calls.
    fn has_slot(&self) -> bool {
        matches!(self, Self::Holding(held) if held.takes_slot())
    }
}

/// Where all of them stand.
#[derive(Default)]
pub(super) struct Places {
    by_call: BTreeMap<CallId, Place>,
    running: usize,
}

impl Places {
    /// How many calls have a place.
    pub(super) fn len(&self) -> usize {
        self.by_call.len()
    }

    /// How many run and take one of the places for that.
    pub(super) fn running(&self) -> usize {
        self.running
    }

    /// Where a call stands; none where it has no place.
    pub(super) fn get(&self, call: &CallId) -> Option<&Place> {
        self.by_call.get(call)
    }

    /// All of them, in the order of calls.
    pub(super) fn in_order(&self) -> impl Iterator<Item = (&CallId, &Place)> {
        self.by_call.iter()
    }

    /// Puts a call in a place and returns where it stood.
    pub(super) fn put(&mut self, call: &CallId, place: Place) -> Option<Place> {
        self.running += usize::from(place.has_slot());
        let before = self.by_call.insert(call.clone(), place);
        self.left(before.as_ref());
        before
    }

    /// Takes a call's place away and returns where it stood.
    pub(super) fn remove(&mut self, call: &CallId) -> Option<Place> {
        let before = self.by_call.remove(call);
        self.left(before.as_ref());
        before
    }

    /// Makes void what waiting calls said.
    pub(super) fn void_declared(&mut self) {
        for place in self.by_call.values_mut() {
            if matches!(place, Place::Declared(_)) {
                *place = Place::Unknown;
            }
        }
    }

    fn left(&mut self, before: Option<&Place>) {
        self.running -= usize::from(before.is_some_and(Place::has_slot));
    }
}
