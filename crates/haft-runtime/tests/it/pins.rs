//! Foreign tools: the first use asks, a change asks again and shows what changed, whoever looks.

use crate::kit::{probe, request, session_of};
use haft_core::{AnyTool, Bound, Clock, Ended, Event, Failure, Progress, Spec, StateFolder};
use haft_os::OsState;
use haft_policy::{Action, Grant, Mode, Policy, Rule, RuleOrigin};
use haft_runtime::{
    Session,
    settings::{SavedPin, TrustFile, TrustPins},
};
use haft_test::{Answers, Harness};
use serde_json::{Value, json};
use std::sync::Arc;

/// A tool that says what it is made of.
struct Parted {
    tool: Arc<dyn AnyTool>,
    command: String,
}

impl AnyTool for Parted {
    fn spec(&self) -> &Arc<Spec> {
        self.tool.spec()
    }

    fn parts(&self) -> Vec<(String, String)> {
        vec![("command".to_owned(), self.command.clone())]
    }

    fn bind(self: Arc<Self>, input: Arc<Value>) -> Result<Box<dyn Bound>, Failure> {
        Arc::clone(&self.tool).bind(input)
    }
}

/// Offers `says`, which runs without a question once it is known.
fn offer(kit: &Harness, hash: &str, command: &str) {
    let tool = probe("says").run(|_, _| async { Ok("said") });
    let tool = Parted { tool, command: command.to_owned() };
    kit.catalogue().register_hashed(Arc::new(tool), "folder:t", Some(hash.into())).unwrap().keep();
}

fn trust(kit: &Harness) -> TrustFile {
    TrustFile::new(Arc::clone(kit.state()) as Arc<dyn StateFolder>, "/w")
}

/// A session with pins of its own, as another process has them.
fn session(kit: &Harness, id: &str, answers: &Answers, change: impl FnOnce(&mut Policy)) -> Arc<Session> {
    session_of(kit, id, |mut setup| {
        let clock = Arc::clone(kit.clock()) as Arc<dyn Clock>;
        setup.pins = Some(Arc::new(TrustPins::new(trust(kit), clock)));
        setup.approver = Arc::new(answers.clone());
        change(&mut setup.policy);
        setup
    })
}

async fn call(kit: &Harness, session: &Arc<Session>) -> Ended {
    session.refresh();
    kit.executor().submit(session, request("says", &json!({}))).await
}

#[tokio::test]
async fn only_a_use_that_was_allowed_makes_a_tool_known_and_then_in_every_session() {
    let kit = Harness::new();
    offer(&kit, "h1", "echo one");
    let no = Answers::no();
    let refused = session(&kit, "refused", &no, |_| {});
    for count in 1..=2 {
        assert_eq!(call(&kit, &refused).await.outcome.name(), "denied");
        assert_eq!(no.asked().len(), count);
    }
    let yes = Answers::yes();
    for id in ["first", "second"] {
        let session = session(&kit, id, &yes, |_| {});
        for _ in 0..2 {
            assert!(call(&kit, &session).await.outcome.is_completed());
        }
    }
    let asked = yes.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].why[0].gate, "first-use");
    assert!(call(&kit, &refused).await.outcome.is_completed(), "it looks anew");
}

#[tokio::test]
async fn a_changed_tool_asks_again_and_shows_what_changed() {
    let kit = Harness::new();
    let answers = Answers::yes();
    let session = session(&kit, "a", &answers, |_| {});
    for (hash, command) in [("h1", "echo one"), ("h2", "echo two"), ("h2", "echo two"), ("h1", "echo one")] {
        offer(&kit, hash, command);
        assert!(call(&kit, &session).await.outcome.is_completed());
    }
    let reasons: Vec<String> = answers.asked().iter().map(|asked| asked.why[0].reason.clone()).collect();
    assert_eq!(reasons.len(), 3, "{reasons:#?}");
    assert!(reasons[1].ends_with("command: \"echo one\" → \"echo two\""), "{reasons:#?}");
    assert!(reasons[2].ends_with("command: \"echo two\" → \"echo one\""), "{reasons:#?}");
}

#[tokio::test]
async fn yolo_asks_only_where_the_workspace_is_not_trusted() {
    let kit = Harness::new();
    offer(&kit, "h1", "echo one");
    let answers = Answers::no();
    let strange = session(&kit, "strange", &answers, |policy| {
        policy.mode = Mode::Yolo;
        policy.trusted = false;
    });
    assert_eq!(call(&kit, &strange).await.outcome.name(), "denied");
    assert_eq!(answers.asked().len(), 1);
    let own = session(&kit, "own", &answers, |policy| policy.mode = Mode::Yolo);
    assert!(call(&kit, &own).await.outcome.is_completed());
    assert!(call(&kit, &strange).await.outcome.is_completed(), "what ran is known");
    assert_eq!(answers.asked().len(), 1);
}

#[tokio::test]
async fn a_grant_for_just_this_definition_is_an_answer() {
    let kit = Harness::new();
    offer(&kit, "h1", "echo one");
    let answers = Answers::no();
    let session = session(&kit, "a", &answers, |policy| {
        let rule = Rule::parse(Action::Allow, "says", &RuleOrigin::default()).unwrap();
        policy.grants.push(Grant { rule, tool_hash: Some("h1".into()) });
    });
    assert!(call(&kit, &session).await.outcome.is_completed());
    offer(&kit, "h2", "echo two");
    assert_eq!(call(&kit, &session).await.outcome.name(), "denied");
    assert_eq!(answers.asked().len(), 1);
}

#[tokio::test]
async fn a_damaged_trust_file_knows_no_tool_and_says_that_it_keeps_none() {
    let kit = Harness::new();
    offer(&kit, "h1", "echo one");
    let answers = Answers::yes();
    let session = session(&kit, "a", &answers, |_| {});
    assert!(call(&kit, &session).await.outcome.is_completed());
    std::fs::write(trust(&kit).path(), "{").unwrap();
    let mut events = session.events();
    for count in 2..=3 {
        assert!(call(&kit, &session).await.outcome.is_completed());
        assert_eq!(answers.asked().len(), count);
    }
    let mut warned = 0;
    while let Some(event) = events.try_next() {
        if let Event::Progress { progress: Progress::Warning(text), .. } = event {
            warned += usize::from(text.contains("will ask again") && text.contains("damaged"));
        }
    }
    assert_eq!(warned, 2);
    assert_eq!(std::fs::read_to_string(trust(&kit).path()).unwrap(), "{");
}

#[test]
fn many_who_pin_at_once_lose_nothing() {
    let kit = Harness::new();
    trust(&kit).set_trusted(true).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..6 {
            let root = kit.state().root.clone();
            scope.spawn(move || {
                let trust = TrustFile::new(Arc::new(OsState::new(root)), "/w");
                for number in 0..20 {
                    let pin = SavedPin { hash: "h".into(), parts: Vec::new(), pinned_at: 1 };
                    trust.add_pin(&format!("o/{writer}-{number}"), &pin).unwrap();
                }
            });
        }
    });
    let trust = trust(&kit).load();
    assert!(trust.trusted);
    assert_eq!(trust.pins.len(), 120);
}
