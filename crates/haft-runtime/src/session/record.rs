//! Writing the log, and giving each call its number.

use super::{LogEntry, LogLine};
use crate::seal::Masks;
use haft_core::{Clock, Counter, Failure, Held, LineLog, StateFolder};
use std::{
    sync::{
        Arc, LazyLock,
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

/// Where the shared counter can't be written, numbers that can't meet counted ones, nor another process's.
static OVERFLOW: LazyLock<AtomicU64> =
    LazyLock::new(|| AtomicU64::new(1 << 62 | u64::from(std::process::id()) << 30));

/// The log of one session in one process.
pub(crate) struct Recorder {
    log: Box<dyn LineLog>,
    clock: Arc<dyn Clock>,
    masks: Masks,
    pub(crate) run: u64,
    /// Says to other processes that the calls of this run are alive.
    _held: Box<dyn Held>,
}

impl Recorder {
    pub(crate) fn open(
        state: &dyn StateFolder,
        session: &str,
        clock: Arc<dyn Clock>,
        masks: Masks,
    ) -> Result<Self, Failure> {
        let run = state.open_counter(&format!("sessions/{session}/runs.count"))?.next()?;
        let held = state.hold(&run_file(session, run))?;
        let log = state.open_log(&log_file(session))?;
        for entry in state.list(&format!("sessions/{session}")) {
            // Left by processes that were killed; nobody holds them.
            let at = format!("sessions/{session}/{}", entry.name);
            if entry.name.starts_with("run-") && !state.is_held(&at) {
                // Held for a moment and dropped: that removes it, unless somebody has come to hold it.
                drop(state.hold(&at));
            }
        }
        Ok(Self { log, clock, masks, run, _held: held })
    }

    /// Adds a line for each entry, all at once.
    pub(crate) fn write(&self, entries: impl IntoIterator<Item = LogEntry>) -> Result<(), Failure> {
        let since = self.clock.now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut lines = Vec::new();
        for entry in entries {
            let line = self.masks.json(LogLine::bytes(since, entry)?);
            if lines.is_empty() {
                lines = line;
            } else {
                lines.push(b'\n');
                lines.extend_from_slice(&line);
            }
        }
        self.log.append(&lines)
    }
}

/// The log of a session.
pub(crate) fn log_file(session: &str) -> String {
    format!("sessions/{session}/log.jsonl")
}

/// The file that the process of a run holds while it lives.
pub(crate) fn run_file(session: &str, run: u64) -> String {
    format!("sessions/{session}/run-{run}")
}
