//! Answers that hold on: for later calls, and for the questions that stand open.

use crate::kit::{
    Asked, Person, log_of, only, path_in, person, probe, put_input, putter, request, session_of, soon,
};
use haft_core::{Answer, Approver, Event, Outcome, Touch};
use haft_policy::{
    Action, Policy, Rule, RuleOrigin,
    secrets::{Detector, Masker},
};
use haft_runtime::{LogEntry, Renewal, Session, SessionSetup};
use haft_test::{Answers, Harness, HarnessSetup};
use serde_json::json;
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use tokio::sync::mpsc::UnboundedReceiver;

/// A session whose questions the test answers, and a tool that asks.
fn asked(kit: &Harness) -> (Arc<Session>, UnboundedReceiver<Asked>) {
    let (person, questions): (Arc<Person>, _) = person();
    let approver = person as Arc<dyn Approver>;
    kit.register(
        probe("note")
            .asks()
            .touches(|input| only(Touch::Read(path_in(input))))
            .run(|_, _| async { Ok("noted") }),
    );
    (session_of(kit, "asked", |setup| SessionSetup { approver, ..setup }), questions)
}

#[tokio::test]
async fn a_lasting_answer_settles_later_calls() {
    let always = Answer::Always { rule: "note".to_owned() };
    for (answer, keep) in [(Answer::Session, "session"), (always, "always")] {
        let kit = Harness::answering(Answers::script([answer]));
        let mut events = kit.session().events();
        kit.register(probe("note").asks().run(|_, _| async { Ok("noted") }));
        for _ in 0..3 {
            assert!(kit.call("note", json!({})).await.outcome.is_completed());
        }
        assert_eq!(kit.answers().asked().len(), 1, "{keep}");
        let mut saved = 0;
        while let Some(event) = events.try_next() {
            saved += usize::from(matches!(event, Event::GrantSaved { rule } if rule == "note"));
        }
        assert_eq!(saved, 1, "{keep}");
        let logged = |entry: &LogEntry| matches!(entry, LogEntry::Granted { rule, keep: kept } if rule == "note" && kept == keep);
        assert_eq!(log_of(&kit, "test").iter().filter(|entry| logged(entry)).count(), 1, "{keep}");
    }
}

#[tokio::test]
async fn an_answer_for_once_settles_nothing_else() {
    let kit = Harness::answering(Answers::yes());
    kit.register(probe("note").asks().run(|_, _| async { Ok("noted") }));
    for _ in 0..3 {
        assert!(kit.call("note", json!({})).await.outcome.is_completed());
    }
    assert_eq!(kit.answers().asked().len(), 3);
}

#[tokio::test]
async fn an_answer_for_the_session_holds_for_the_narrowest_rule() {
    let kit = Harness::answering(Answers::script([Answer::Session]));
    kit.register(putter().asks().run(put_input));
    for path in ["a.txt", "a.txt", "b.txt"] {
        let ended = kit.call("put", json!({"path": path, "text": "x"})).await;
        assert!(ended.outcome.is_completed(), "{}", ended.output.joined_text());
    }
    assert_eq!(kit.answers().asked().len(), 2);
}

#[tokio::test]
async fn one_answer_settles_all_open_questions_that_it_covers() {
    let answers = [Answer::Session, Answer::Always { rule: "note(./a/**)".to_owned() }];
    for answer in answers {
        let kit = Harness::new();
        let (session, mut questions) = asked(&kit);
        let submit = |path: &str| kit.executor().submit(&session, request("note", &json!({"path": path})));
        let running = ["a/x", "a/x", "b/x"].map(submit);
        let mut open = Vec::new();
        for _ in 0..3 {
            open.push(soon(questions.recv()).await.unwrap());
        }
        open.sort_by(|a, b| a.question.call.cmp(&b.question.call));
        let [first, mut second, third] = <[Asked; 3]>::try_from(open).ok().unwrap();
        first.answer.send(answer.clone()).unwrap();
        // The question that the answer covers is withdrawn, the other stands.
        soon(second.answer.closed()).await;
        assert!(!third.answer.is_closed());
        let late = second.answer.send(Answer::Deny { feedback: None });
        assert!(late.is_err(), "a late answer leaves no residue");
        third.answer.send(Answer::Deny { feedback: None }).unwrap();
        let mut outcomes = Vec::new();
        for call in running {
            outcomes.push(soon(call).await.outcome.name());
        }
        assert_eq!(outcomes, ["completed", "completed", "denied"], "{answer:?}");
        assert!(questions.try_recv().is_err(), "nobody was asked again");
    }
}

#[tokio::test]
async fn a_deny_rule_that_comes_while_a_question_stands_settles_it() {
    let kit = Harness::new();
    let (session, mut questions) = asked(&kit);
    let running = kit.executor().submit(&session, request("note", &json!({"path": "a/x"})));
    let mut open = soon(questions.recv()).await.unwrap();
    let mut policy = session.policy().as_ref().clone();
    policy.rules.push(Rule::parse(Action::Deny, "note", &RuleOrigin::default()).unwrap());
    session.set_policy(policy);
    soon(open.answer.closed()).await;
    let ended = soon(running).await;
    assert!(
        matches!(&ended.outcome, Outcome::Denied { why, .. } if why.gate == "deny"),
        "{:?}",
        ended.outcome
    );
}

#[tokio::test]
async fn a_path_outside_allowed_for_the_session_is_asked_once() {
    let kit = Harness::answering(Answers::script([Answer::Session]));
    let outside = kit.workspace().parent().unwrap().join("elsewhere.txt");
    kit.register(putter().asks().run(put_input));
    let call = |text: &str| kit.call("put", json!({"path": outside.to_str(), "text": text}));
    assert!(call("one").await.outcome.is_completed());
    assert!(call("two").await.outcome.is_completed());
    assert_eq!(kit.answers().asked().len(), 1);
    assert_eq!(std::fs::read(&outside).unwrap(), b"two");
}

#[tokio::test]
async fn a_grant_is_bound_to_the_tools_hash() {
    let kit = Harness::answering(Answers::script([Answer::Session]));
    let note = || probe("note").asks().run(|_, _| async { Ok("noted") });
    for (hash, asked) in [("h1", 1), ("h1", 1), ("h2", 2)] {
        kit.catalogue().register_hashed(note(), "ext", Some(hash.into())).unwrap().keep();
        kit.session().refresh();
        assert!(kit.call("note", json!({})).await.outcome.is_completed());
        assert_eq!(kit.answers().asked().len(), asked, "{hash}");
    }
}

#[tokio::test]
async fn a_rule_is_offered_only_where_it_would_hold() {
    let rules = vec![(Action::Ask, "note".to_owned())];
    let answers = Answers::script([Answer::Session, Answer::Once]);
    let kit = Harness::with(HarnessSetup { rules, answers, ..HarnessSetup::default() });
    kit.register(probe("note").run(|_, _| async { Ok("noted") }));
    kit.register(probe("other").asks().run(|_, _| async { Ok("noted") }));
    for _ in 0..2 {
        assert!(kit.call("note", json!({})).await.outcome.is_completed());
    }
    kit.call("other", json!({})).await;
    let asked = kit.answers().asked();
    assert_eq!(asked.len(), 3, "an answer for the session can't hold against a guard");
    for guarded in asked.iter().take(2) {
        assert!(guarded.rules.is_empty() && guarded.session.is_none(), "{guarded:?}");
        assert!(guarded.why.iter().any(|why| why.gate == "approval"), "{:?}", guarded.why);
    }
    assert_eq!(
        (asked[2].rules.len(), asked[2].session.as_deref(), asked[2].why.len()),
        (1, Some("other"), 1)
    );
}

/// Somebody else, who refuses `note` from some time on.
#[derive(Default)]
struct Elsewhere {
    is_due: AtomicBool,
}

impl Renewal for Elsewhere {
    fn is_due(&self) -> bool {
        self.is_due.swap(false, Ordering::SeqCst)
    }

    fn renew(&self, policy: &mut Policy) {
        policy.rules.push(Rule::parse(Action::Deny, "note", &RuleOrigin::default()).unwrap());
    }
}

#[tokio::test]
async fn what_is_said_elsewhere_holds_from_the_next_call_on_also_for_a_child() {
    let kit = Harness::new();
    kit.register(probe("note").run(|_, _| async { Ok("noted") }));
    let elsewhere = Arc::new(Elsewhere::default());
    let session = session_of(&kit, "renewed", |setup| SessionSetup {
        renewal: Some(Arc::clone(&elsewhere) as Arc<dyn Renewal>),
        ..setup
    });
    let child =
        session_of(&kit, "child", |setup| SessionSetup { parent: Some(Arc::clone(&session)), ..setup });
    let call = |session: &Arc<Session>| kit.executor().submit(session, request("note", &json!({})));
    assert!(call(&session).await.outcome.is_completed() && call(&child).await.outcome.is_completed());
    elsewhere.is_due.store(true, Ordering::SeqCst);
    for session in [&child, &session] {
        let ended = call(session).await;
        assert!(matches!(&ended.outcome, Outcome::Denied { why, .. } if why.gate == "deny"), "{ended:?}");
    }
    assert_eq!(session.policy().rules.len(), 1, "taken over once");
}

/// Somebody who stores a secret while sessions run.
#[derive(Default)]
struct Stores {
    is_new: AtomicBool,
}

impl Renewal for Stores {
    fn is_due(&self) -> bool {
        false
    }

    fn renew(&self, _: &mut Policy) {}

    fn masker(&self) -> Option<Arc<Masker>> {
        self.is_new.swap(false, Ordering::SeqCst).then(|| masker(&["s3cond-secret"]))
    }
}

fn masker(values: &[&str]) -> Arc<Masker> {
    let known = values.iter().map(|value| ("stored".to_owned(), value.as_bytes().to_vec()));
    Arc::new(Masker::new(Arc::new(Detector::new(known).unwrap()), [7; 32]))
}

#[tokio::test]
async fn what_is_stored_while_a_session_runs_is_masked_from_the_next_call_on_also_in_a_child() {
    let kit = Harness::new();
    kit.register(probe("note").run(|_, _| async { Ok("s3cond-secret") }));
    let stores = Arc::new(Stores::default());
    let session = session_of(&kit, "masked", |setup| SessionSetup {
        renewal: Some(Arc::clone(&stores) as Arc<dyn Renewal>),
        masker: Some(masker(&[])),
        ..setup
    });
    let child =
        session_of(&kit, "child", |setup| SessionSetup { parent: Some(Arc::clone(&session)), ..setup });
    let said = async |session: &Arc<Session>| {
        let ended = kit.executor().submit(session, request("note", &json!({}))).await;
        format!("{:?}", ended.output.content)
    };
    assert!(said(&session).await.contains("s3cond-secret"));
    stores.is_new.store(true, Ordering::SeqCst);
    for session in [&child, &session] {
        let shown = said(session).await;
        assert!(shown.contains("[secret:stored:") && !shown.contains("s3cond"), "{shown}");
    }
}
