//! What would become of a call, without running or asking anything.

use crate::kit::{log_of, only, path_in, probe, request};
use haft_core::{AnyTool, Preview, Request, Touch};
use haft_policy::{Action, Mode};
use haft_test::{Harness, HarnessSetup};
use serde_json::json;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

/// A tool that asks, and counts what it is made to do.
fn note(done: &Arc<AtomicUsize>) -> Arc<dyn AnyTool> {
    let (shown, ran) = (Arc::clone(done), Arc::clone(done));
    probe("note")
        .asks()
        .touches(|input| only(Touch::Write(path_in(input))))
        .preview(move |_, _| {
            shown.fetch_add(1, Ordering::SeqCst);
            async { Ok(Preview::default()) }
        })
        .run(move |_, _| {
            ran.fetch_add(1, Ordering::SeqCst);
            async { Ok("noted") }
        })
}

#[tokio::test]
async fn explaining_runs_nothing_and_asks_nobody() {
    let kit = Harness::new();
    let done = Arc::new(AtomicUsize::new(0));
    kit.register(note(&done));
    let lines = log_of(&kit, "test").len();
    let explained = kit.executor().explain(kit.session(), &request("note", &json!({"path": "a.txt"})));
    assert_eq!(explained.verdict, "ask");
    assert!(explained.reason.contains("declares that it asks first"), "{}", explained.reason);
    let steps: Vec<&str> = explained.trace.iter().map(|step| step.step.as_ref()).collect();
    for step in ["resolve", "parse", "validate", "effects", "judge", "settler:default"] {
        assert!(steps.contains(&step), "{step} in {steps:?}");
    }
    assert!(!steps.contains(&"run"));
    assert_eq!(done.load(Ordering::SeqCst), 0);
    assert!(kit.answers().asked().is_empty());
    assert_eq!(log_of(&kit, "test").len(), lines);
    assert_eq!(kit.call("note", json!({"path": "a.txt"})).await.call.to_string(), "1", "it takes no number");
}

#[tokio::test]
async fn explaining_is_no_call_that_listeners_hear_of() {
    let kit = Harness::new();
    kit.register(note(&Arc::default()));
    let mut events = kit.session().events();
    let _ = kit.executor().explain(kit.session(), &request("note", &json!({"path": "a.txt"})));
    let heard = events.try_next();
    assert!(heard.is_none(), "{heard:?}");
}

#[tokio::test]
async fn explaining_names_the_rule_and_its_place() {
    let rules = vec![(Action::Deny, "edit(secret/**)".to_owned()), (Action::Allow, "note".to_owned())];
    let kit = Harness::with(HarnessSetup { rules, mode: Mode::Default, ..HarnessSetup::default() });
    kit.register(note(&Arc::default()));
    let explain =
        |path: &str| kit.executor().explain(kit.session(), &request("note", &json!({"path": path})));
    let denied = explain("secret/a.txt");
    assert_eq!((denied.verdict, denied.rule.as_deref()), ("deny", Some("edit(secret/**)")));
    assert_eq!(denied.source.as_deref(), Some("test:1"));
    let allowed = explain("a.txt");
    assert_eq!((allowed.verdict, allowed.rule.as_deref()), ("allow", Some("note")));
}

#[tokio::test]
async fn what_isnt_judged_at_all_is_explained_too() {
    let kit = Harness::new();
    kit.register(note(&Arc::default()));
    let unknown = kit.executor().explain(kit.session(), &Request::new("nothing", "{}"));
    assert_eq!(unknown.verdict, "unknown");
    assert!(unknown.reason.starts_with("Unknown tool: nothing"), "{}", unknown.reason);
    let invalid = kit.executor().explain(kit.session(), &Request::new("note", "{"));
    assert_eq!(invalid.verdict, "invalid");
    assert_eq!(
        invalid.trace.last().map(|step| (step.step.as_ref(), step.verdict.as_ref())),
        Some(("parse", "invalid"))
    );
}

#[tokio::test]
async fn two_rules_that_say_the_same_are_told_once() {
    let rules = vec![(Action::Ask, "*".to_owned()), (Action::Ask, "*".to_owned())];
    let kit = Harness::with(HarnessSetup { rules, ..HarnessSetup::default() });
    kit.register(note(&Arc::default()));
    let explained = kit.executor().explain(kit.session(), &request("note", &json!({"path": "a.txt"})));
    assert_eq!(explained.reason.matches("the rule \"*\" asks for it").count(), 1, "{}", explained.reason);
}
