//! What a session's log says when it is opened again.

use super::{
    LOG_VERSION, LogEntry, LogLine,
    record::{log_file, run_file},
};
use haft_core::{CallId, Failure, Outcome, RealPath, Seen, StateFolder};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
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
    /// Calls without an outcome, by the number of the process they ran in.
    open: BTreeMap<CallId, (u64, Interrupted)>,
}

/// The lines of a session's log (its last 16 MiB), and how many couldn't be read: torn, damaged, or of a
/// later version.
///
/// # Errors
/// Unavailable where the file can't be read.
pub fn read_log(state: &dyn StateFolder, session: &str) -> Result<(Vec<LogLine>, usize), Failure> {
    let bytes = state.read_tail(&log_file(session), RESUME_MAX_BYTES)?.unwrap_or_default();
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

/// Reads a session's past, and gives `interrupted` to calls whose process is gone and that have no outcome.
/// Several processes may open a session at once: each call gets it from one of them.
pub(crate) fn past(state: &dyn StateFolder, session: &str) -> Result<(Past, Vec<Interrupted>), Failure> {
    let past = read(state, session)?;
    let runs: BTreeSet<u64> = past.open.values().map(|(run, _)| *run).collect();
    // A run that is dead now writes no more, so what the log says of its calls after this look is final.
    let dead: BTreeSet<u64> =
        runs.into_iter().filter(|run| !state.is_held(&run_file(session, *run))).collect();
    if dead.is_empty() {
        return Ok((past, Vec::new()));
    }
    let mut settled = None;
    state.update(&format!("sessions/{session}/settling"), &mut |_| {
        let past = read(state, session)?;
        let lost: Vec<Interrupted> =
            past.open.values().filter(|(run, _)| dead.contains(run)).map(|(_, call)| call.clone()).collect();
        let log = state.open_log(&log_file(session))?;
        for call in &lost {
            log.append(&interrupted_line(call)?)?;
        }
        settled = Some((past, lost));
        Ok(Vec::new())
    })?;
    for run in dead {
        // Best effort: an empty file that nobody holds does no harm.
        let _ = state.remove(&run_file(session, run));
    }
    settled.ok_or_else(|| Failure::internal("the session's past couldn't be settled"))
}

fn read(state: &dyn StateFolder, session: &str) -> Result<Past, Failure> {
    let (lines, _) = read_log(state, session)?;
    let mut past = Past::default();
    for line in lines {
        match line.entry {
            LogEntry::Requested { call, run, tool, foreign_id, .. } => {
                past.open.insert(call.clone(), (run, Interrupted { call, tool, foreign_id }));
            }
            LogEntry::Ended { call, session, seen, .. } => {
                past.open.remove(&call);
                past.state.extend(session);
                for (path, seen) in seen {
                    past.seen.entry(path).and_modify(|known| known.merge(&seen)).or_insert(seen);
                }
            }
            _ => {}
        }
    }
    Ok(past)
}

fn interrupted_line(lost: &Interrupted) -> Result<Vec<u8>, Failure> {
    let entry = LogEntry::Ended {
        call: lost.call.clone(),
        tool: lost.tool.as_str().into(),
        outcome: Outcome::Interrupted,
        trace: Vec::new(),
        duration_ms: 0,
        bytes: 0,
        input: None,
        effects: None,
        truncation: None,
        diagnostic: Some("its process ended before the call did".to_owned()),
        files: Vec::new(),
        session: Vec::new(),
        seen: Vec::new(),
    };
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    LogLine::bytes(since, entry)
}
