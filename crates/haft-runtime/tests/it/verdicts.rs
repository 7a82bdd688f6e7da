//! A child's verdict is the stricter of its own and of all above it.

use crate::kit::{probe, request, session_of};
use haft_core::{Ended, Outcome};
use haft_policy::{Action, Mode, Policy};
use haft_runtime::SessionSetup;
use haft_test::{Answers, Harness, HarnessSetup};
use serde_json::json;
use std::sync::Arc;

/// A call in a child session of that mode, whose parent is the harness's session.
async fn child_call(kit: &Harness, mode: Mode) -> Ended {
    kit.register(probe("note").run(|_, _| async { Ok("noted") }));
    let workspace = kit.world().files.workspace();
    let child = session_of(kit, "child", |setup| SessionSetup {
        parent: Some(Arc::clone(kit.session())),
        policy: Policy::new(mode, workspace),
        approver: Arc::new(kit.answers().clone()),
        ..setup
    });
    kit.executor().submit(&child, request("note", &json!({}))).await
}

#[tokio::test]
async fn a_free_child_under_a_parent_in_plan_mode_changes_nothing() {
    let kit = Harness::in_mode(Mode::Plan);
    let ended = child_call(&kit, Mode::Full).await;
    assert!(
        matches!(&ended.outcome, Outcome::Denied { why, .. } if why.gate == "plan"),
        "{:?}",
        ended.outcome
    );
    let parents = |reason: &Option<std::borrow::Cow<str>>| {
        reason.as_deref().is_some_and(|text| text.contains("parent's policy"))
    };
    assert!(
        ended.trace.iter().any(|step| step.step == "guard:plan" && parents(&step.reason)),
        "{:?}",
        ended.trace
    );
}

#[tokio::test]
async fn a_parents_deny_rule_holds_for_its_child() {
    let rules = vec![(Action::Deny, "note".to_owned())];
    let kit = Harness::with(HarnessSetup { mode: Mode::Full, rules, ..HarnessSetup::default() });
    let ended = child_call(&kit, Mode::Full).await;
    assert!(matches!(&ended.outcome, Outcome::Denied { why, .. } if why.rule.as_deref() == Some("note")));
    let text = ended.output.joined_text();
    assert!(text.contains("(rule note, test:1)"), "{text}");
}

#[tokio::test]
async fn a_parent_that_asks_makes_its_child_ask() {
    let kit =
        Harness::with(HarnessSetup { mode: Mode::Ask, answers: Answers::no(), ..HarnessSetup::default() });
    let ended = child_call(&kit, Mode::Full).await;
    assert!(
        matches!(&ended.outcome, Outcome::Denied { why, .. } if why.gate == "user"),
        "{:?}",
        ended.outcome
    );
    assert_eq!(kit.answers().asked().len(), 1);
}

#[tokio::test]
async fn a_parent_thats_freer_loosens_nothing() {
    let kit = Harness::in_mode(Mode::Full);
    let ended = child_call(&kit, Mode::Plan).await;
    assert!(
        matches!(&ended.outcome, Outcome::Denied { why, .. } if why.gate == "plan"),
        "{:?}",
        ended.outcome
    );
}
