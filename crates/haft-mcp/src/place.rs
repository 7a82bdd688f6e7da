//! Open requests of one client by id.

use crate::{
    fault::Fault,
    frame::{Asked, Id},
};
use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio_util::sync::CancellationToken;

/// How many requests may be open; the executor runs far fewer at once, the others wait.
const OPEN_MAX: usize = 1_024;

/// The open requests. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Places(Arc<Mutex<Open>>);

#[derive(Default)]
struct Open {
    by_id: HashMap<Id, Taken>,
    last: u64,
}

/// An id in use.
struct Taken {
    /// Tells requests apart that had one id one after another.
    serial: u64,
    cancelled: CancellationToken,
}

/// A request that wants a reply; its id is free again when this is dropped.
pub(crate) struct Place {
    /// The id as the client wrote it.
    pub(crate) raw_id: String,
    /// Fires when the client no longer wants a reply.
    pub(crate) cancelled: CancellationToken,
    places: Places,
    id: Id,
    serial: u64,
}

impl Places {
    /// Opens a place for a request.
    ///
    /// # Errors
    /// The id is in use, or too many are open.
    pub(crate) fn open(&self, asked: &Asked<'_>) -> Result<Place, Fault> {
        let mut open = self.lock();
        let (count, serial) = (open.by_id.len(), open.last + 1);
        let cancelled = CancellationToken::new();
        match open.by_id.entry(asked.id.clone()) {
            Entry::Occupied(_) => return Err(Fault::invalid_request("a request with this id is still open")),
            Entry::Vacant(_) if count >= OPEN_MAX => return Err(Fault::busy(count)),
            Entry::Vacant(vacant) => vacant.insert(Taken { serial, cancelled: cancelled.clone() }),
        };
        open.last = serial;
        drop(open);
        let (raw_id, id) = (asked.raw_id.to_owned(), asked.id.clone());
        Ok(Place { raw_id, cancelled, places: self.clone(), id, serial })
    }

    /// The client no longer wants a reply; its id is free at once. One that was answered already, or never asked,
    /// can't be cancelled.
    pub(crate) fn cancel(&self, id: &Id) {
        if let Some(taken) = self.lock().by_id.remove(id) {
            taken.cancelled.cancel();
        }
    }

    /// How many are open.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.lock().by_id.len()
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// The id, for the log.
    pub(crate) fn foreign_id(&self) -> String {
        self.id.to_text()
    }

    /// Frees the id; whether the client still wants the reply.
    pub(crate) fn close(&self) -> bool {
        let mut open = self.places.lock();
        let is_open = open.by_id.get(&self.id).is_some_and(|taken| taken.serial == self.serial);
        if is_open {
            open.by_id.remove(&self.id);
        }
        is_open
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(id: i64) -> Asked<'static> {
        Asked { id: Id::Number(id), raw_id: "1", method: "m".to_owned(), params: None }
    }

    #[test]
    fn an_id_is_in_use_until_its_request_is_answered_or_cancelled() {
        let places = Places::default();
        let first = places.open(&asked(1)).unwrap();
        assert_eq!(places.open(&asked(1)).err().unwrap().error.code, -32_600);
        places.cancel(&Id::Number(1));
        assert!(first.cancelled.is_cancelled());
        let second = places.open(&asked(1)).unwrap();
        assert!(!first.close(), "it was cancelled");
        drop(first);
        assert!(!second.cancelled.is_cancelled() && second.close());
        assert_eq!(places.count(), 0);
    }
}
