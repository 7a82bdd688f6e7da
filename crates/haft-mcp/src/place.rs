//! Open requests by id, and the place that each call took in the order of effects when its frame came.
//!
//! A place is given back by dropping the call, whoever drops it: the SDK may refuse a call without a handler.

use crate::{
    fault::Fault,
    frame::{Asked, Id},
};
use haft_core::Request;
use haft_runtime::Seat;
use serde_json::Value;
use std::{
    collections::{HashMap, hash_map::Entry},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

/// How many requests may be open; the executor runs far fewer at once, the others wait.
const OPEN_MAX: usize = 1_024;

/// Where a handler leaves the result it made, as JSON text that goes out untouched.
#[derive(Debug, Default)]
pub(crate) struct Slot(OnceLock<String>);

impl Slot {
    /// Leaves the result; a second one is ignored.
    pub(crate) fn fill(&self, result: String) {
        let _ = self.0.set(result);
    }

    pub(crate) fn get(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

/// A request that wants a reply.
#[derive(Debug)]
pub(crate) struct Place {
    /// The id as the client wrote it.
    pub(crate) raw_id: String,
    /// The result, once there is one.
    pub(crate) slot: Arc<Slot>,
}

/// The open requests.
#[derive(Debug, Default)]
pub(crate) struct Places {
    open: HashMap<Id, Place>,
}

impl Places {
    /// Opens a place for a request.
    ///
    /// # Errors
    /// The id is in use, or too many are open.
    pub(crate) fn open(&mut self, asked: &Asked<'_>) -> Result<Arc<Slot>, Fault> {
        let count = self.open.len();
        match self.open.entry(asked.id.clone()) {
            Entry::Occupied(_) => Err(Fault::invalid_request("a request with this id is still open")),
            Entry::Vacant(_) if count >= OPEN_MAX => Err(Fault::busy(count)),
            Entry::Vacant(vacant) => {
                let slot = Arc::new(Slot::default());
                vacant.insert(Place { raw_id: asked.raw_id.to_owned(), slot: Arc::clone(&slot) });
                Ok(slot)
            }
        }
    }

    /// Closes the place of a request that was answered or cancelled.
    pub(crate) fn close(&mut self, id: &Id) -> Option<Place> {
        self.open.remove(id)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }
}

/// A tool call between its frame and its run.
pub(crate) struct Call {
    /// The name asked for.
    pub(crate) tool: String,
    /// The text of the arguments exactly as it came.
    pub(crate) arguments: String,
    /// Under which the client wants to hear of progress.
    pub(crate) progress_token: Option<Value>,
    /// The request's id, for the log.
    pub(crate) foreign_id: String,
    /// Where the result goes.
    pub(crate) slot: Arc<Slot>,
    seat: Mutex<Option<Seat>>,
}

impl Call {
    /// A call of `tool` that holds `seat`.
    pub(crate) fn new(tool: String, asked: &Asked<'_>, seat: Seat, slot: Arc<Slot>) -> Self {
        let foreign_id = match &asked.id {
            Id::Number(number) => number.to_string(),
            Id::Text(text) => text.as_ref().to_owned(),
        };
        let seat = Mutex::new(Some(seat));
        Self { tool, arguments: "{}".to_owned(), progress_token: None, foreign_id, slot, seat }
    }

    /// The place in the order of effects; once.
    pub(crate) fn take_seat(&self) -> Option<Seat> {
        self.seat.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// What the executor is asked for.
    pub(crate) fn request(&self) -> Request {
        Request {
            foreign_id: Some(self.foreign_id.clone()),
            ..Request::new(self.tool.as_str(), self.arguments.as_str())
        }
    }
}
