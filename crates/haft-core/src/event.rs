//! What happens during calls, as typed events.

use crate::{CallId, Outcome, RealPath, Status, Why};
use serde::Serialize;
use std::{collections::BTreeMap, sync::Arc};

/// What a running tool says.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", content = "data", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Progress {
    /// A line for people.
    Log(String),
    /// Output so far.
    PartialOutput(String),
    /// Numbers by name.
    Metric(BTreeMap<String, f64>),
    /// An absolute path that changed.
    FileChanged(String),
    /// Something a person should know.
    Warning(String),
}

/// One event on the bus; the names on the wire are those of the contract.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "event", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Event {
    /// A host asked for a call.
    #[serde(rename = "call.requested")]
    Requested {
        /// The call.
        call: CallId,
        /// The name asked for.
        tool: Arc<str>,
        /// The argument text.
        input: Arc<str>,
    },
    /// The name led to a tool.
    #[serde(rename = "call.resolved")]
    Resolved {
        /// The call.
        call: CallId,
        /// The tool.
        tool: Arc<str>,
        /// Who registered it.
        owner: Arc<str>,
    },
    /// The gates have spoken.
    #[serde(rename = "call.judged")]
    Judged {
        /// The call.
        call: CallId,
        /// `allow`, `ask` or `deny`.
        verdict: &'static str,
        /// Why.
        why: Vec<Why>,
    },
    /// A person is asked.
    #[serde(rename = "approval.asked")]
    Asked {
        /// The call.
        call: CallId,
    },
    /// The question is settled.
    #[serde(rename = "approval.answered")]
    Answered {
        /// The call.
        call: CallId,
        /// `once`, `session`, `always`, `deny`, `dismissed`, `settled` or `timed-out`.
        answer: &'static str,
    },
    /// The tool runs.
    #[serde(rename = "call.started")]
    Started {
        /// The call.
        call: CallId,
    },
    /// The tool says something.
    #[serde(rename = "tool.progress")]
    Progress {
        /// The call.
        call: CallId,
        /// What.
        progress: Progress,
    },
    /// The one terminal event of a call.
    #[serde(rename = "call.ended")]
    Ended {
        /// The call.
        call: CallId,
        /// The tool.
        tool: Arc<str>,
        /// How it ended.
        outcome: Outcome,
        /// Milliseconds from request to end.
        duration_ms: u64,
    },
    /// A call changed a file.
    #[serde(rename = "file.changed")]
    FileChanged {
        /// The call.
        call: CallId,
        /// The file.
        path: RealPath,
    },
    /// A command goes on beside the conversation.
    #[serde(rename = "job.started")]
    JobStarted {
        /// Its name.
        job: Arc<str>,
        /// The call that started it.
        call: CallId,
        /// Its line, secrets masked.
        line: Arc<str>,
        /// Its first process.
        pid: Option<i32>,
        /// Whether it outlives the session.
        kept: bool,
    },
    /// Such a command has ended.
    #[serde(rename = "job.ended")]
    JobEnded {
        /// Its name.
        job: Arc<str>,
        /// The call that started it.
        call: CallId,
        /// How its first process ended; none where that isn't known.
        status: Option<Status>,
        /// Milliseconds from its start.
        duration_ms: u64,
    },
    /// An answer was saved for later calls.
    #[serde(rename = "grant.saved")]
    GrantSaved {
        /// The rule as saved.
        rule: String,
    },
    /// The model goes round in circles.
    #[serde(rename = "loop.detected")]
    LoopDetected {
        /// What repeats.
        what: String,
    },
    /// The catalogue changed.
    #[serde(rename = "tools.changed")]
    ToolsChanged {
        /// How many tools there are now.
        count: usize,
    },
}
