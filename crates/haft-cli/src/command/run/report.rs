//! A run for programs: one object a line as things happen, one at the end.

use crate::print;
use haft_agent::{AgentEnd, AgentObserver, AgentRun, RetryNotice, Usage};
use haft_core::{CallId, Ended};
use serde_json::{Value, json};

/// Prints each thing that happens as one JSON object on a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct JsonWatch;

impl AgentObserver for JsonWatch {
    fn text(&self, delta: &str) {
        put(&json!({"type": "text", "text": delta}));
    }

    fn call_started(&self, id: &CallId, tool: &str, input: &str) {
        // What isn't JSON is what the model wrote; the runtime refuses it.
        let input = serde_json::from_str(input).unwrap_or_else(|_| Value::String(input.to_owned()));
        put(&json!({"type": "call", "call": id, "tool": tool, "input": input}));
    }

    fn call_ended(&self, ended: &Ended) {
        put(&json!({
            "type": "result",
            "call": ended.call,
            "tool": ended.tool,
            "outcome": ended.outcome.name(),
            "content": ended.output.content,
            "metadata": ended.output.metadata,
            "durationMs": u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX),
        }));
    }

    fn usage(&self, turn: Usage, total: Usage) {
        put(&json!({"type": "usage", "turn": turn, "total": total}));
    }

    fn retry(&self, notice: &RetryNotice) {
        put(&json!({
            "type": "retry",
            "attempt": notice.attempt,
            "tries": notice.tries,
            "waitMs": u64::try_from(notice.wait.as_millis()).unwrap_or(u64::MAX),
            "reason": notice.reason,
            "textDropped": notice.text_dropped,
        }));
    }

    fn loop_detected(&self, what: &str) {
        put(&json!({"type": "loop", "text": what}));
    }

    fn warning(&self, text: &str) {
        put(&json!({"type": "warning", "text": text}));
    }
}

fn put(event: &Value) {
    // A value has a JSON form, and a reader that has gone is no fault.
    let _ = print::json(event);
}

/// The first line of a stream.
pub(super) fn begin(session: &str) -> Value {
    json!({"type": "session", "session": session})
}

/// The last line of a stream.
pub(super) fn last(run: &AgentRun, session: &str) -> Value {
    let mut line = json!({"type": "end"});
    if let (Some(line), Value::Object(end)) = (line.as_object_mut(), end(run, session)) {
        line.extend(end);
    }
    line
}

/// The whole run in one object; `error` is there where it didn't end well.
pub(super) fn end(run: &AgentRun, session: &str) -> Value {
    let mut end = json!({
        "text": run.text,
        "end": name(&run.end),
        "turns": run.turns,
        "usage": run.usage,
        "session": session,
    });
    if let (Some(end), Some(why)) = (end.as_object_mut(), why(&run.end)) {
        end.insert("error".to_owned(), Value::String(why));
    }
    end
}

/// The wire name of an end.
fn name(end: &AgentEnd) -> &'static str {
    match end {
        AgentEnd::Done => "done",
        AgentEnd::StoppedByUser { .. } => "stopped-by-user",
        AgentEnd::StoppedByHook { .. } => "stopped-by-hook",
        AgentEnd::Loop { .. } => "loop",
        AgentEnd::MaxTurns => "max-turns",
        AgentEnd::TokenLimit => "token-limit",
        AgentEnd::Refused => "refused",
        AgentEnd::Interrupted => "interrupted",
        AgentEnd::Failed(_) => "failed",
        _ => "other",
    }
}

/// Why it ended before the model was done, for people.
pub(crate) fn why(end: &AgentEnd) -> Option<String> {
    Some(match end {
        AgentEnd::Done => return None,
        AgentEnd::StoppedByUser { tool } => format!("stopped: you refused {tool}"),
        AgentEnd::StoppedByHook { reason } => format!("stopped by a hook: {reason}"),
        AgentEnd::Loop { what } => format!("stopped: the model went round in circles ({what})"),
        AgentEnd::MaxTurns => {
            "stopped: the most turns of one run are used up; --max-turns allows more".to_owned()
        }
        AgentEnd::TokenLimit => "stopped: the answer was cut by a token limit".to_owned(),
        AgentEnd::Refused => "stopped: the model or its provider refused to answer".to_owned(),
        AgentEnd::Interrupted => "interrupted".to_owned(),
        AgentEnd::Failed(error) => format!("failed: {error}"),
        other => format!("stopped: {other:?}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_has_its_fields_in_order_and_an_error_only_where_there_is_one() {
        let run = |end| AgentRun { end, text: "t".to_owned(), usage: Usage::default(), turns: 2 };
        let done = end(&run(AgentEnd::Done), "s");
        let keys: Vec<&String> = done.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["text", "end", "turns", "usage", "session"]);
        let cut = last(&run(AgentEnd::MaxTurns), "s");
        assert_eq!(
            (&cut["type"], &cut["end"], &cut["turns"]),
            (&json!("end"), &json!("max-turns"), &json!(2))
        );
        assert!(cut["error"].as_str().unwrap().contains("--max-turns"));
    }
}
