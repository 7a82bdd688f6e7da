//! What hooks are told: of a session, a call, its end, or an event of the session.

use super::{Hook, HookEvent, names::Told};
use haft_core::Output;
use haft_policy::Mode;
use serde_json::{Map, Value, json};
use std::{sync::Arc, time::Duration};

/// The session that hooks are told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSession {
    /// Its id.
    pub id: Arc<str>,
    /// The absolute path of its log, where it keeps one.
    pub transcript: Option<String>,
    /// Its approval mode.
    pub mode: Mode,
}

/// A call as hooks are told of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HookCall<'a> {
    /// The session.
    pub(crate) session: &'a HookSession,
    /// The call's id; the model provider's own where there is one.
    pub(crate) id: &'a str,
    /// The name that a model calls.
    pub(crate) tool: &'a str,
    /// Whether the tool is built in.
    pub(crate) is_core: bool,
    /// The input that will run, or ran.
    pub(crate) input: &'a Value,
}

/// How a call's run ended, as hooks are told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HookEnd<'a> {
    /// What it returned, sealed.
    pub(crate) output: &'a Output,
    /// What went wrong, where it failed.
    pub(crate) error: Option<&'a str>,
    /// How long it ran.
    pub(crate) took: Duration,
}

/// One call of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolUse {
    /// The call's id, or the model provider's own for it.
    pub id: String,
    /// The name that a model calls.
    pub tool: String,
    /// Whether the tool is built in.
    pub is_core: bool,
    /// The input that ran.
    pub input: Value,
    /// The text that the model gets.
    pub response: String,
}

/// An event that isn't about a single call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SessionEvent<'a> {
    /// The session begins; `startup`, `resume`, `clear` or `compact`.
    Start {
        /// Why.
        source: &'a str,
    },
    /// The session ends.
    End {
        /// Why.
        reason: &'a str,
    },
    /// A person said something.
    Prompt {
        /// What.
        text: &'a str,
    },
    /// The model is done.
    Stop {
        /// Whether it goes on only because a hook said so: without an eye on this, it never ends.
        again: bool,
        /// Its last words.
        last: &'a str,
    },
    /// A subagent is done.
    SubagentStop {
        /// What kind of subagent.
        agent: &'a str,
        /// As for [`SessionEvent::Stop`].
        again: bool,
    },
    /// The conversation is about to be shortened; `manual` or `auto`.
    Compact {
        /// Who wants it.
        trigger: &'a str,
        /// What the person wants kept.
        instructions: &'a str,
    },
    /// All calls of one turn of the model are over.
    Batch {
        /// The calls in order.
        calls: &'a [ToolUse],
    },
}

impl SessionEvent<'_> {
    pub(super) fn event(self) -> HookEvent {
        match self {
            Self::Start { .. } => HookEvent::SessionStart,
            Self::End { .. } => HookEvent::SessionEnd,
            Self::Prompt { .. } => HookEvent::UserPromptSubmit,
            Self::Stop { .. } => HookEvent::Stop,
            Self::SubagentStop { .. } => HookEvent::SubagentStop,
            Self::Compact { .. } => HookEvent::PreCompact,
            Self::Batch { .. } => HookEvent::PostToolBatch,
        }
    }

    /// What a matcher is held against; none where there is nothing to choose from.
    pub(super) fn subject(&self) -> Option<&str> {
        match self {
            Self::Start { source } => Some(source),
            Self::End { reason } => Some(reason),
            Self::SubagentStop { agent, .. } => Some(agent),
            Self::Compact { trigger, .. } => Some(trigger),
            Self::Prompt { .. } | Self::Stop { .. } | Self::Batch { .. } => None,
        }
    }

    /// The JSON for one hook.
    pub(super) fn told(&self, hook: &Hook, session: &HookSession, workspace: &str) -> Value {
        let mut all = common(hook, session, workspace);
        let mut add = |key: &str, value: Value| all.insert(key.to_owned(), value);
        match self {
            Self::Start { source } => drop(add("source", json!(source))),
            Self::End { reason } => drop(add("reason", json!(reason))),
            Self::Prompt { text } => drop(add("prompt", json!(text))),
            Self::Stop { again, last } => {
                add("stop_hook_active", json!(again));
                add("last_assistant_message", json!(last));
            }
            Self::SubagentStop { agent, again } => {
                add("agent_type", json!(agent));
                add("stop_hook_active", json!(again));
            }
            Self::Compact { trigger, instructions } => {
                add("trigger", json!(trigger));
                add("custom_instructions", json!(instructions));
            }
            Self::Batch { calls } => {
                let calls: Vec<Value> = calls.iter().map(|call| call.told(hook, workspace)).collect();
                add("tool_calls", Value::Array(calls));
            }
        }
        Value::Object(all)
    }
}

impl ToolUse {
    fn told(&self, hook: &Hook, workspace: &str) -> Value {
        let told = hook.names.told((self.tool.as_str(), self.is_core), &self.input, workspace);
        let response = hook.names.response(&told, &self.response, None);
        json!({
            "tool_name": told.tool,
            "tool_input": told.input,
            "tool_use_id": self.id,
            "tool_response": response,
        })
    }
}

impl HookCall<'_> {
    /// The call in the hook's names, and the JSON that it is sent.
    pub(super) fn told(&self, hook: &Hook, workspace: &str) -> (Told, Map<String, Value>) {
        let told = hook.names.told((self.tool, self.is_core), self.input, workspace);
        let mut all = common(hook, self.session, workspace);
        all.insert("tool_name".to_owned(), json!(told.tool));
        all.insert("tool_input".to_owned(), told.input.clone());
        all.insert("tool_use_id".to_owned(), json!(self.id));
        (told, all)
    }

    /// The same for a call that is over.
    pub(super) fn told_end(&self, end: &HookEnd<'_>, hook: &Hook, workspace: &str) -> Value {
        let (told, mut all) = self.told(hook, workspace);
        let text = end.output.joined_text();
        let millis = u64::try_from(end.took.as_millis()).unwrap_or(u64::MAX);
        all.insert("duration_ms".to_owned(), json!(millis));
        match end.error {
            Some(error) => all.insert("error".to_owned(), json!(error)),
            None => all.insert(
                "tool_response".to_owned(),
                hook.names.response(&told, &text, end.output.structured.as_ref()),
            ),
        };
        Value::Object(all)
    }
}

/// What every event has.
fn common(hook: &Hook, session: &HookSession, workspace: &str) -> Map<String, Value> {
    let mut all = Map::new();
    let mut add = |key: &str, value: &str| all.insert(key.to_owned(), json!(value));
    add("session_id", &session.id);
    add("transcript_path", session.transcript.as_deref().unwrap_or_default());
    add("cwd", workspace);
    add("permission_mode", hook.names.mode(session.mode));
    add("hook_event_name", hook.event.name());
    all
}
