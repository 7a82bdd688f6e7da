//! What a session's log says when it is opened again.

use super::{
    LOG_VERSION, LogEntry, LogLine,
    changes::Changes,
    record::{log_file, run_file},
};
use haft_core::{
    CallId, ChangedBy, Failure, FailureKind, FileStep, JobView, Outcome, RealPath, Seen, StateFolder,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// How much of a log a reader gets: its end.
const RESUME_MAX_BYTES: usize = 16 << 20;
/// A log is read in pieces of this length.
const PIECE_BYTES: usize = 1 << 20;
/// When the log has grown by so much, what it says is kept beside it.
const KEEP_BYTES: u64 = 256 * 1024;
/// A longer past isn't one.
const PAST_MAX_BYTES: usize = 64 << 20;

/// A call that was running when its process died.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Interrupted {
    /// The call.
    pub call: CallId,
    /// The name asked for.
    pub tool: String,
    /// The caller's own id.
    pub foreign_id: Option<String>,
}

/// A job that was running when its process died.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LostJob {
    /// Its name.
    pub(crate) job: Arc<str>,
    call: CallId,
    line: Arc<str>,
    pid: Option<i32>,
    kept: bool,
}

impl LostJob {
    /// What became of it.
    pub(crate) fn fate(&self) -> String {
        match (self.kept, self.pid) {
            (true, Some(pid)) => format!(
                "haft ended while it ran, and it was to be kept: where it still runs, kill -9 {pid} ends it"
            ),
            _ => "haft ended while it ran, and it was stopped with it; what it printed is gone. Start it again where \
                  it is needed"
                .to_owned(),
        }
    }

    /// As it stands: over.
    pub(crate) fn view(&self) -> JobView {
        JobView {
            id: Some(Arc::clone(&self.job)),
            call: self.call.clone(),
            line: Arc::clone(&self.line),
            folder: String::new(),
            pid: self.pid,
            kept: self.kept,
            terminal: false,
            takes_input: false,
            confined: None,
            ran: Duration::ZERO,
            silent: Duration::ZERO,
            quiet: None,
            unread: 0,
            waiting: 0,
            unfinished: String::new(),
            end: Some(Err(Failure::new(FailureKind::Unavailable, self.fate()))),
        }
    }
}

/// What was running when its process died.
#[derive(Debug, Default)]
pub(crate) struct Lost {
    pub(crate) calls: Vec<Interrupted>,
    pub(crate) jobs: Vec<LostJob>,
}

/// What a log says up to some place; kept beside it, so that a long log isn't read again at each start.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Past {
    /// How many bytes of the log it stands for.
    offset: u64,
    pub(crate) state: BTreeMap<Arc<str>, Value>,
    pub(crate) seen: Vec<(RealPath, Seen)>,
    /// What undo goes by.
    #[serde(default)]
    pub(crate) changes: Changes,
    /// Calls without an outcome, with the number of the process they ran in.
    open: Vec<(u64, Interrupted)>,
    /// Jobs without an end, in the same way.
    #[serde(default)]
    jobs: Vec<(u64, LostJob)>,
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

/// Reads a session's past, and gives `interrupted` to calls and jobs whose process is gone and that have no outcome.
/// Several processes may open a session at once: each call gets it from one of them.
pub(crate) fn past(state: &dyn StateFolder, session: &str) -> Result<(Past, Lost), Failure> {
    let past = read(state, session)?;
    let runs = past.open.iter().map(|(run, _)| *run).chain(past.jobs.iter().map(|(run, _)| *run));
    let runs: BTreeSet<u64> = runs.collect();
    // A run that is dead now writes no more, so what the log says of its calls after this look is final.
    let dead: BTreeSet<u64> =
        runs.into_iter().filter(|run| !state.is_held(&run_file(session, *run))).collect();
    if dead.is_empty() {
        return Ok((past, Lost::default()));
    }
    let mut settled = None;
    state.update(&format!("sessions/{session}/settling"), &mut |_| {
        let past = read(state, session)?;
        let lost = Lost { calls: of_dead(&past.open, &dead), jobs: of_dead(&past.jobs, &dead) };
        let log = state.open_log(&log_file(session))?;
        for call in &lost.calls {
            log.append(&interrupted_line(call)?)?;
        }
        for job in &lost.jobs {
            log.append(&lost_job_line(job)?)?;
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

fn of_dead<T: Clone>(open: &[(u64, T)], dead: &BTreeSet<u64>) -> Vec<T> {
    open.iter().filter(|(run, _)| dead.contains(run)).map(|(_, one)| one.clone()).collect()
}

/// Reads what came to the log since the past that is kept beside it, whatever its length, in flat memory.
fn read(state: &dyn StateFolder, session: &str) -> Result<Past, Failure> {
    let at = format!("sessions/{session}/past.json");
    let kept = state.read_tail(&at, PAST_MAX_BYTES)?;
    // One that can't be read, or doesn't end where a line of this log ends, is made anew from the log.
    let ends_a_line = |past: &Past| {
        past.offset == 0
            || matches!(state.read_from(&log_file(session), past.offset - 1, 1), Ok(Some(last)) if last == b"\n")
    };
    let kept = kept
        .and_then(|kept| serde_json::from_slice::<Past>(&kept).ok())
        .filter(ends_a_line)
        .unwrap_or_default();
    let mut reading = Reading::from(kept);
    let from = reading.offset;
    loop {
        let piece = state.read_from(&log_file(session), reading.offset, PIECE_BYTES)?.unwrap_or_default();
        // Only whole lines: a last one without its end is still being written, or torn.
        let Some(end) = memchr::memrchr(b'\n', &piece) else {
            // A line longer than a piece is passed over by its parts.
            if piece.len() < PIECE_BYTES {
                break;
            }
            reading.offset += u64::try_from(piece.len()).unwrap_or(0);
            continue;
        };
        let lines = piece.get(..=end).unwrap_or_default();
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            if let Ok(line) = serde_json::from_slice::<Line<'_>>(line) {
                reading.take(line);
            }
        }
        reading.offset += u64::try_from(lines.len()).unwrap_or(0);
    }
    let grown = reading.offset.saturating_sub(from);
    let past = Past::from(reading);
    if grown > KEEP_BYTES
        && let Ok(bytes) = serde_json::to_vec(&past)
    {
        // Best effort: without it, the next start reads more. What another process kept meanwhile is as good.
        let _ = state.update(&at, &mut |_| Ok(bytes.clone()));
    }
    Ok(past)
}

/// A past in the making.
struct Reading {
    offset: u64,
    state: BTreeMap<Arc<str>, Value>,
    seen: HashMap<RealPath, Seen>,
    changes: Changes,
    open: BTreeMap<CallId, (u64, Interrupted)>,
    jobs: BTreeMap<Arc<str>, (u64, LostJob)>,
}

impl From<Past> for Reading {
    fn from(past: Past) -> Self {
        let open = past.open.into_iter().map(|(run, call)| (call.call.clone(), (run, call)));
        let jobs = past.jobs.into_iter().map(|(run, job)| (Arc::clone(&job.job), (run, job)));
        let (offset, state, changes) = (past.offset, past.state, past.changes);
        let (seen, open, jobs) = (past.seen.into_iter().collect(), open.collect(), jobs.collect());
        Self { offset, state, seen, changes, open, jobs }
    }
}

impl From<Reading> for Past {
    fn from(reading: Reading) -> Self {
        let Reading { offset, state, seen, changes, open, jobs } = reading;
        let (seen, open) = (seen.into_iter().collect(), open.into_values().collect());
        Self { offset, state, seen, changes, open, jobs: jobs.into_values().collect() }
    }
}

impl Reading {
    fn take(&mut self, line: Line<'_>) {
        let Some(call) = line.call else { return };
        match line.entry {
            "requested" => {
                let (tool, foreign_id) = (line.tool.unwrap_or_default().into_owned(), line.foreign_id);
                self.open.insert(call.clone(), (line.run, Interrupted { call, tool, foreign_id }));
            }
            "changing" => {
                let tool = line.tool.unwrap_or_default().into_owned().into();
                self.changes.add(ChangedBy { call, tool, turn: line.turn, files: line.changes });
            }
            "unchanged" => self.changes.take_out(&call, &line.unchanged),
            "jobStarted" => {
                let Some(job) = line.job else { return };
                let text = line.command.unwrap_or_default().into_owned().into();
                let lost =
                    LostJob { job: Arc::clone(&job), call, line: text, pid: line.pid, kept: line.kept };
                self.jobs.insert(job, (line.run, lost));
            }
            "jobEnded" => {
                if let Some(job) = line.job {
                    self.jobs.remove(&job);
                }
            }
            "ended" => {
                self.open.remove(&call);
                self.state.extend(line.session);
                for (path, seen) in line.seen {
                    self.seen.entry(path).and_modify(|known| known.merge(&seen)).or_insert(seen);
                }
            }
            _ => {}
        }
    }
}

/// What of a line of the log matters here; the rest is passed over unread.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line<'a> {
    #[serde(borrow)]
    entry: &'a str,
    #[serde(default)]
    call: Option<CallId>,
    #[serde(default)]
    run: u64,
    #[serde(default, borrow)]
    tool: Option<Cow<'a, str>>,
    #[serde(default)]
    foreign_id: Option<String>,
    #[serde(default)]
    session: Vec<(Arc<str>, Value)>,
    #[serde(default)]
    seen: Vec<(RealPath, Seen)>,
    #[serde(default)]
    turn: Option<u64>,
    #[serde(default)]
    changes: Vec<FileStep>,
    #[serde(default)]
    unchanged: Vec<RealPath>,
    #[serde(default)]
    job: Option<Arc<str>>,
    #[serde(default, borrow, rename = "line")]
    command: Option<Cow<'a, str>>,
    #[serde(default)]
    pid: Option<i32>,
    #[serde(default)]
    kept: bool,
}

/// The changes of files that a session's log tells, and one value of its state.
///
/// # Errors
/// Unavailable where the log can't be read.
pub(crate) fn changes_in(
    state: &dyn StateFolder,
    session: &str,
    key: &str,
) -> Result<(Vec<ChangedBy>, Option<Value>), Failure> {
    let past = read(state, session)?;
    Ok((past.changes.list(), past.state.get(key).cloned()))
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
    LogLine::bytes(since_1970(), entry)
}

fn lost_job_line(lost: &LostJob) -> Result<Vec<u8>, Failure> {
    let entry = LogEntry::JobEnded {
        job: Arc::clone(&lost.job),
        call: lost.call.clone(),
        how: "interrupted".to_owned(),
        status: None,
        duration_ms: 0,
    };
    LogLine::bytes(since_1970(), entry)
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
