//! The session log: append-only lines of JSON, each with a version.

use haft_core::{
    CallId, Effects, Failure, FileChange, FileStep, Outcome, RealPath, Seen, Status, TraceStep, Truncation,
};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// The version of the lines written now; readers skip lines of later ones, counted.
pub const LOG_VERSION: u32 = 1;

/// One line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LogLine {
    /// [`LOG_VERSION`].
    pub v: u32,
    /// Milliseconds since 1970.
    pub at: u64,
    /// What happened.
    #[serde(flatten)]
    pub entry: LogEntry,
}

impl LogLine {
    /// A line as it stands in the file, without its end.
    pub(crate) fn bytes(since_1970: Duration, entry: LogEntry) -> Result<Vec<u8>, Failure> {
        let at = u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX);
        serde_json::to_vec(&Self { v: LOG_VERSION, at, entry }).map_err(|error| {
            Failure::internal("the session log has no JSON form").diagnose(error.to_string())
        })
    }
}

/// A step of a trace without what it doesn't say, which would be a third of the log.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Said<'a> {
    step: &'a str,
    verdict: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
}

fn said<S: Serializer>(trace: &[TraceStep], serializer: S) -> Result<S::Ok, S::Error> {
    // Each field by its name: a further one is to be thought of here too.
    serializer.collect_seq(trace.iter().map(|TraceStep { step, verdict, reason, rule, source }| Said {
        step,
        verdict,
        reason: reason.as_deref(),
        rule: rule.as_deref(),
        source: source.as_deref(),
    }))
}

/// What a line says.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "camelCase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum LogEntry {
    /// A process opened the session.
    Opened {
        /// Its number among the processes of this session.
        run: u64,
        /// The workspace's root.
        workspace: String,
        /// The approval mode.
        mode: String,
    },
    /// A call came in.
    Requested {
        /// The call.
        call: CallId,
        /// The process it runs in.
        run: u64,
        /// The name asked for.
        tool: String,
        /// The raw argument text.
        raw: String,
        /// The model's turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u64>,
        /// The caller's own id.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        foreign_id: Option<String>,
    },
    /// The tool is about to run.
    Started {
        /// The call.
        call: CallId,
        /// The tool.
        tool: Arc<str>,
        /// Who registered it.
        owner: Arc<str>,
        /// The input that runs.
        input: Arc<Value>,
        /// What it touches.
        effects: Effects<RealPath>,
    },
    /// The call is about to change files: written before, so that a change cut off by a kill can be undone too.
    Changing {
        /// The call.
        call: CallId,
        /// The tool.
        tool: Arc<str>,
        /// The model's turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<u64>,
        /// Each file before and after.
        changes: Vec<FileStep>,
    },
    /// What was announced last for these files didn't happen.
    Unchanged {
        /// The call.
        call: CallId,
        /// The files.
        unchanged: Vec<RealPath>,
    },
    /// The call is over.
    Ended {
        /// The call.
        call: CallId,
        /// The tool.
        tool: Arc<str>,
        /// How.
        #[serde(flatten)]
        outcome: Outcome,
        /// Each step's word.
        #[serde(serialize_with = "said")]
        trace: Vec<TraceStep>,
        /// From request to end.
        duration_ms: u64,
        /// Bytes given to the model.
        bytes: u64,
        /// The input, where the call ended before it started.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Arc<Value>>,
        /// What it would have touched, where the call ended before it started.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effects: Option<Effects<RealPath>>,
        /// What was left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        truncation: Option<Truncation>,
        /// The operator's view of a failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diagnostic: Option<String>,
        /// Files changed, by content hash.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        files: Vec<FileChange>,
        /// Changes of the session's state.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        session: Vec<(Arc<str>, Value)>,
        /// What the model saw of files.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        seen: Vec<(RealPath, Seen)>,
    },
    /// A message of the host's conversation, in the host's own form.
    Message {
        /// The message.
        message: Value,
    },
    /// Something about a call that isn't its outcome: a cleanup that failed, what a tool did after its call ended.
    Note {
        /// The call.
        call: CallId,
        /// What.
        text: String,
    },
    /// A command goes on beside the conversation.
    JobStarted {
        /// Its name.
        job: Arc<str>,
        /// The call that started it.
        call: CallId,
        /// The process it belongs to.
        run: u64,
        /// Its line.
        line: String,
        /// Its first process.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pid: Option<i32>,
        /// Whether it outlives the session.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        kept: bool,
    },
    /// Such a command is over.
    JobEnded {
        /// Its name.
        job: Arc<str>,
        /// The call that started it.
        call: CallId,
        /// `ended`, `stopped`, `timed-out`, `failed`, `interrupted`, or `kept` where it goes on by itself.
        how: String,
        /// How its first process ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<Status>,
        /// From its start to its end.
        duration_ms: u64,
    },
    /// An answer was saved.
    Granted {
        /// The rule.
        rule: String,
        /// `session` or `always`.
        keep: String,
    },
}
