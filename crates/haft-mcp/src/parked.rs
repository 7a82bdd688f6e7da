//! Calls of the modern era that asked their client something and wait for it to come back with the answers.

use crate::{
    exchange::{Caller, Exchange},
    fault::Fault,
    seal::Ticket,
};
use serde_json::{Map, Value};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// How long a call waits for its client to come back; as long as a person may take for an answer.
pub(crate) const PARK_TIMEOUT: Duration = Duration::from_secs(300);

/// How many calls may wait.
const PARKED_MAX: usize = 256;
/// How many of them may hold a place for running calls: clients that don't come back leave the others theirs.
const HOLDING_MAX: usize = 5;

/// The calls that wait.
#[derive(Default)]
pub(crate) struct Parked(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    calls: HashMap<u64, Arc<Exchange>>,
    last: u64,
}

impl Parked {
    /// Lets a call wait; what its client brings back names the ticket. None where it has just ended.
    ///
    /// # Errors
    /// Too many wait; the call ends then.
    pub(crate) fn park(&self, exchange: &Arc<Exchange>) -> Result<Option<Ticket>, Fault> {
        let mut waiting = self.lock();
        let count = waiting.calls.len();
        if count >= PARKED_MAX {
            exchange.cancel.cancel();
            return Err(Fault::busy(count));
        }
        let next = waiting.last + 1;
        let Some(ticket) = exchange.park(next) else { return Ok(None) };
        waiting.last = waiting.last.max(ticket.number);
        waiting.calls.insert(ticket.number, Arc::clone(exchange));
        waiting.make_place();
        Ok(Some(ticket))
    }

    /// The call that a client comes back to, with its answers; none where it no longer waits for this round's.
    pub(crate) fn resume(
        &self,
        ticket: Ticket,
        caller: Caller,
        answers: &Map<String, Value>,
    ) -> Option<Arc<Exchange>> {
        let mut waiting = self.lock();
        let exchange = waiting.calls.get(&ticket.number)?;
        if !exchange.resume(ticket.round, caller, answers) {
            return None;
        }
        waiting.calls.remove(&ticket.number)
    }

    /// A call that has ended waits a while for its client all the same, since the answer may be on its way.
    pub(crate) async fn outlast(&self, exchange: &Arc<Exchange>) {
        let Some(number) = exchange.number() else { return };
        exchange.left_alone_or_taken().await;
        let mut waiting = self.lock();
        if waiting.calls.get(&number).is_some_and(|waits| Arc::ptr_eq(waits, exchange)) {
            waiting.calls.remove(&number);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Ends the calls that have waited longest where too many hold a place.
    fn make_place(&self) {
        let holding = self.calls.iter().filter(|(_, call)| !call.cancel.is_cancelled() && call.holds_place());
        let mut numbers: Vec<u64> = holding.map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        let too_many = numbers.len().saturating_sub(HOLDING_MAX);
        for call in numbers.iter().take(too_many).filter_map(|number| self.calls.get(number)) {
            call.cancel.cancel();
        }
    }
}
