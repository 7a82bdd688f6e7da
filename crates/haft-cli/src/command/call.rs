//! `haft call`: one call through the whole path.

use super::{Interrupts, block_on, end_jobs, tools};
use crate::{app::App, print, status::Status, words::Typed};
use haft_core::{Ended, Event, FailureKind, Outcome, Progress, Request, Spec, TraceStep};
use haft_runtime::{EventStream, Resolved, Snapshot};
use serde_json::{Value, json};
use std::sync::Arc;

/// Makes the call.
///
/// # Errors
/// The session can't be opened, or the input can't be read.
pub(super) fn call(app: &App, typed: &Typed) -> anyhow::Result<Status> {
    block_on(async {
        for problem in &app.problems {
            print::note(&problem.to_string());
        }
        let live = app.live_for_one_call(&app.session_name("cli"), app.approver())?;
        live.meet_for(&typed.tool).await;
        let snapshot = live.session.snapshot();
        let spec = spec_of(&snapshot, &typed.tool);
        if typed.asks_help(spec.as_deref()) {
            return tools::show(app, &live.tools, &typed.tool, typed.json);
        }
        let text = typed.text(spec.as_deref())?;
        let mut interrupts = Interrupts::listen()?;
        let mut events = live.session.events();
        let running = live.executor.submit(&live.session, Request::new(typed.tool.as_str(), text));
        let ended = {
            let ended = interrupts.until_ended(running);
            tokio::pin!(ended);
            loop {
                tokio::select! {
                    biased;
                    ended = &mut ended => break ended,
                    event = events.next() => warn(&event),
                }
            }
        };
        rest(&mut events);
        live.session.end_run();
        end_jobs(&live.session).await;
        live.close().await;
        if typed.json {
            print::json(&object(&ended))?;
        } else if ended.outcome.is_completed() {
            print::result(&ended.output.content);
        } else {
            print::note(&print::shown(&ended.output.content));
        }
        if !ended.outcome.is_completed()
            && let Some(hint) = typed.misplaced(spec.as_deref())
        {
            print::note(&hint);
        }
        Ok(Status::from(&ended.outcome))
    })
}

/// The declaration of the tool that a name leads to.
pub(super) fn spec_of(snapshot: &Snapshot, name: &str) -> Option<Arc<Spec>> {
    match snapshot.resolve(name) {
        Resolved::Tool(offer, _) => Some(Arc::clone(offer.spec())),
        Resolved::Gone(_) | Resolved::Unknown(_) => None,
    }
}

fn warn(event: &Event) {
    if let Event::Progress { progress: Progress::Warning(text), .. } = event {
        print::note(&format!("warning: {text}"));
    }
}

fn rest(events: &mut EventStream) {
    while let Some(event) = events.try_next() {
        warn(&event);
    }
}

/// The one object of `--json`.
pub(super) fn object(ended: &Ended) -> Value {
    let denied = match &ended.outcome {
        Outcome::Denied { why, feedback } => {
            json!({"gate": why.gate, "reason": why.reason, "rule": why.rule, "feedback": feedback})
        }
        _ => Value::Null,
    };
    json!({
        "call": ended.call,
        "tool": ended.tool,
        "owner": ended.owner,
        "outcome": ended.outcome.name(),
        "content": ended.output.content,
        "structured": ended.output.structured,
        "metadata": ended.output.metadata,
        "error": error(ended),
        "denied": denied,
        "truncation": ended.output.truncation,
        "trace": trace(&ended.trace),
        "durationMs": u64::try_from(ended.duration.as_millis()).unwrap_or(u64::MAX),
    })
}

/// The steps of a trace, with all of their fields.
pub(super) fn trace(steps: &[TraceStep]) -> Value {
    let steps = steps.iter().map(|step| {
        json!({
            "step": step.step,
            "verdict": step.verdict,
            "reason": step.reason,
            "rule": step.rule,
            "source": step.source,
        })
    });
    Value::Array(steps.collect())
}

fn error(ended: &Ended) -> Value {
    if let Some(failure) = &ended.failure {
        return json!({"kind": failure.kind, "text": failure.text, "retryable": failure.retryable});
    }
    let (kind, retryable) = match &ended.outcome {
        Outcome::Completed | Outcome::Denied { .. } => return Value::Null,
        Outcome::Failed { kind } => (*kind, false),
        Outcome::Invalid => (FailureKind::InvalidInput, false),
        Outcome::Unknown => (FailureKind::NotFound, false),
        Outcome::TimedOut => (FailureKind::Timeout, true),
        Outcome::Cancelled | Outcome::Interrupted => (FailureKind::Cancelled, false),
    };
    json!({"kind": kind, "text": ended.output.joined_text(), "retryable": retryable})
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{CallId, Output, Why};
    use std::time::Duration;

    fn ended(outcome: Outcome) -> Ended {
        Ended {
            call: CallId::outer(3),
            tool: "x".into(),
            owner: None,
            outcome,
            output: Output::text("said"),
            failure: None,
            trace: vec![TraceStep::new("resolve", "ok")],
            duration: Duration::from_millis(7),
        }
    }

    #[test]
    fn the_object_has_every_field_of_the_contract() {
        let object = object(&ended(Outcome::Completed));
        let keys: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
        let expected = [
            "call",
            "tool",
            "owner",
            "outcome",
            "content",
            "structured",
            "metadata",
            "error",
            "denied",
            "truncation",
            "trace",
            "durationMs",
        ];
        assert_eq!(keys, expected);
        assert_eq!(object["call"], "3");
        assert_eq!(object["content"], json!([{"type": "text", "text": "said"}]));
        assert_eq!(
            object["trace"][0],
            json!({"step": "resolve", "verdict": "ok", "reason": null, "rule": null, "source": null})
        );
        assert!(object["error"].is_null() && object["denied"].is_null() && object["truncation"].is_null());
    }

    #[test]
    fn a_denial_and_an_invalid_input_say_why() {
        let why = Why { rule: Some("x".into()), ..Why::new("deny", "no") };
        let denied = object(&ended(Outcome::Denied { why, feedback: None }));
        assert_eq!(denied["denied"], json!({"gate": "deny", "reason": "no", "rule": "x", "feedback": null}));
        let invalid = object(&ended(Outcome::Invalid));
        assert_eq!(invalid["error"], json!({"kind": "invalid-input", "text": "said", "retryable": false}));
    }
}
