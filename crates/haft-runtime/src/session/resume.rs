//! What a session's log says when it is opened again.

use super::{LOG_VERSION, LogEntry, LogLine, record::run_file};
use haft_core::{CallId, Failure, RealPath, Seen, StateFolder};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

/// How much of a log is read when a session is opened again: its end.
const RESUME_MAX_BYTES: usize = 16 << 20;

/// A call that was running when its process died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interrupted {
    /// The call.
    pub call: CallId,
    /// The name asked for.
    pub tool: String,
    /// The caller's own id.
    pub foreign_id: Option<String>,
}

/// What can be told from a log.
#[derive(Debug, Default)]
pub(crate) struct Past {
    pub(crate) state: BTreeMap<Arc<str>, Value>,
    pub(crate) seen: HashMap<RealPath, Seen>,
    pub(crate) interrupted: Vec<Interrupted>,
}

/// The lines of a session's log (its last 16 MiB), and how many couldn't be read: torn, damaged, or of a
/// later version.
///
/// # Errors
/// Unavailable where the file can't be read.
pub fn read_log(state: &dyn StateFolder, session: &str) -> Result<(Vec<LogLine>, usize), Failure> {
    let at = format!("sessions/{session}/log.jsonl");
    let bytes = state.read_tail(&at, RESUME_MAX_BYTES)?.unwrap_or_default();
    let cut = bytes.len() == RESUME_MAX_BYTES;
    let mut lines = Vec::new();
    let mut unreadable = 0;
    // The first line of a cut log is half a line.
    for line in bytes.split(|byte| *byte == b'\n').skip(usize::from(cut)).filter(|line| !line.is_empty()) {
        match serde_json::from_slice::<LogLine>(line) {
            Ok(line) if line.v <= LOG_VERSION => lines.push(line),
            _ => unreadable += 1,
        }
    }
    Ok((lines, unreadable))
}

/// Reads a session's past; calls whose process is gone and that have no outcome are interrupted.
pub(crate) fn past(state: &dyn StateFolder, session: &str) -> Result<Past, Failure> {
    let (lines, _) = read_log(state, session)?;
    let mut past = Past::default();
    let mut open: BTreeMap<CallId, (u64, Interrupted)> = BTreeMap::new();
    for line in lines {
        match line.entry {
            LogEntry::Requested { call, run, tool, foreign_id, .. } => {
                open.insert(call.clone(), (run, Interrupted { call, tool, foreign_id }));
            }
            LogEntry::Ended { call, session, seen, .. } => {
                open.remove(&call);
                past.state.extend(session);
                for (path, seen) in seen {
                    past.seen.entry(path).and_modify(|known| known.merge(&seen)).or_insert(seen);
                }
            }
            _ => {}
        }
    }
    let runs: BTreeSet<u64> = open.values().map(|(run, _)| *run).collect();
    let dead: BTreeSet<u64> =
        runs.into_iter().filter(|run| !state.is_held(&run_file(session, *run))).collect();
    past.interrupted =
        open.into_values().filter(|(run, _)| dead.contains(run)).map(|(_, call)| call).collect();
    for run in dead {
        // Best effort: an empty file that nobody holds does no harm.
        let _ = state.remove(&run_file(session, run));
    }
    Ok(past)
}
