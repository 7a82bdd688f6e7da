//! Writing the log, and giving each call its number.

use super::{LOG_VERSION, LogEntry, LogLine};
use haft_core::{Clock, Counter, Failure, Held, LineLog, StateFolder};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::UNIX_EPOCH,
};

/// Numbers of outer calls, each given once across all processes that share the session.
pub(crate) enum Numbers {
    /// On disk.
    Shared(Box<dyn Counter>),
    /// In this process only.
    Own(AtomicU64),
}

impl Numbers {
    pub(crate) fn next(&self) -> u64 {
        match self {
            Self::Shared(counter) => {
                counter.next().unwrap_or_else(|_| OVERFLOW.fetch_add(1, Ordering::Relaxed))
            }
            Self::Own(next) => next.fetch_add(1, Ordering::Relaxed) + 1,
        }
    }
}

/// Where the shared counter can't be written, numbers of this process that can't meet counted ones.
static OVERFLOW: AtomicU64 = AtomicU64::new(1 << 48);

/// The log of one session in one process.
pub(crate) struct Recorder {
    log: Box<dyn LineLog>,
    clock: Arc<dyn Clock>,
    pub(crate) run: u64,
    /// Says to other processes that the calls of this run are alive.
    _held: Box<dyn Held>,
}

impl Recorder {
    pub(crate) fn open(
        state: &dyn StateFolder,
        session: &str,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Failure> {
        let run = state.open_counter(&format!("sessions/{session}/runs.count"))?.next()?;
        let held = state.hold(&run_file(session, run))?;
        let log = state.open_log(&format!("sessions/{session}/log.jsonl"))?;
        Ok(Self { log, clock, run, _held: held })
    }

    pub(crate) fn write(&self, entry: LogEntry) -> Result<(), Failure> {
        let since = self.clock.now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        let line = serde_json::to_vec(&LogLine { v: LOG_VERSION, at, entry }).map_err(|error| {
            Failure::internal("the session log has no JSON form").diagnose(error.to_string())
        })?;
        self.log.append(&line)
    }
}

/// The file that the process of a run holds while it lives.
pub(crate) fn run_file(session: &str, run: u64) -> String {
    format!("sessions/{session}/run-{run}")
}
