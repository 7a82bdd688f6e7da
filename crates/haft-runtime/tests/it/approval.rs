//! Questions: asked once, answered in words, never for ever.

use crate::kit::{Listener, only, probe, request, session_of};
use haft_core::{Answer, Effects, Event, Failure, Outcome, Request, Touch};
use haft_policy::Mode;
use haft_test::{Answers, Harness};
use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::time::{Instant, advance};

fn note(kit: &Harness) {
    kit.register(probe("note").asks().run(|_, _| async { Ok("noted") }));
}

#[tokio::test]
async fn a_call_asks_once_and_says_what_it_will_do() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    let effects = |_: &serde_json::Value| only(Touch::Write("a.txt".into()));
    kit.register(probe("word_note").asks().touches(effects).run(|_, _| async { Ok("noted") }));
    let ended = kit.call("word_note", json!({"text": "x"})).await;
    assert!(ended.outcome.is_completed());
    let asked = kit.answers().asked();
    assert_eq!(asked.len(), 1);
    let question = &asked[0];
    assert_eq!((question.label.as_str(), question.input["text"].as_str()), ("Word note", Some("x")));
    let real = kit.world().files.workspace().join("a.txt");
    assert_eq!(question.effects, Effects::Only(vec![Touch::Write(real)]));
    assert_eq!(question.rules, ["word_note(./a.txt)", "word_note(./**)", "word_note"]);
    let events = listener.assert_ended_once(&ended);
    let words: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            Event::Asked { .. } => Some("asked"),
            Event::Answered { answer, .. } => Some(*answer),
            Event::Started { .. } => Some("started"),
            _ => None,
        })
        .collect();
    assert_eq!(words, ["asked", "once", "started"]);
}

#[tokio::test]
async fn a_refusal_says_so_in_the_contracts_words() {
    let kit = Harness::answering(Answers::no());
    note(&kit);
    let ended = kit.call("note", json!({})).await;
    let Outcome::Denied { why, feedback } = &ended.outcome else { panic!("{:?}", ended.outcome) };
    assert_eq!((why.gate.as_ref(), feedback), ("user", &None));
    assert_eq!(ended.output.joined_text(), "Tool use denied by user: note");
}

#[tokio::test]
async fn a_refusal_with_feedback_hands_it_on() {
    let feedback = Some("use the other file".to_owned());
    let kit = Harness::answering(Answers::script([Answer::Deny { feedback: feedback.clone() }]));
    note(&kit);
    let ended = kit.call("note", json!({})).await;
    let Outcome::Denied { why, feedback: given } = &ended.outcome else { panic!("{:?}", ended.outcome) };
    assert_eq!((why.reason.as_str(), given), ("Tool use denied by user: note", &feedback));
    assert_eq!(ended.output.joined_text(), "Tool use denied by user: note. They said: use the other file");
}

#[tokio::test]
async fn a_closed_question_is_a_cancel_and_no_denial() {
    let kit = Harness::answering(Answers::script([Answer::Dismissed]));
    let mut listener = Listener::on(&kit);
    note(&kit);
    let ended = kit.call("note", json!({})).await;
    assert_eq!(ended.outcome, Outcome::Cancelled);
    listener.assert_ended_once(&ended);
}

#[tokio::test(start_paused = true)]
async fn five_minutes_without_an_answer_are_a_denial_that_says_so() {
    let kit = Harness::answering(Answers::silent());
    let mut listener = Listener::on(&kit);
    note(&kit);
    let before = Instant::now();
    let ended = kit.call("note", json!({})).await;
    assert_eq!(before.elapsed().as_secs(), 300);
    assert!(
        matches!(&ended.outcome, Outcome::Denied { why, .. } if why.gate == "approval"),
        "{:?}",
        ended.outcome
    );
    let text = ended.output.joined_text();
    assert!(text.contains("nobody answered within 5 minutes"), "{text}");
    assert_eq!(kit.answers().withdrawn(), 1);
    listener.assert_ended_once(&ended);
}

#[tokio::test]
async fn a_cancel_withdraws_the_question() {
    let kit = Harness::answering(Answers::silent());
    let mut listener = Listener::on(&kit);
    note(&kit);
    let running = kit.executor().submit(kit.session(), Request::new("note", "{}"));
    kit.answers().wait_for(1).await;
    running.cancel.fire();
    let ended = running.await;
    assert_eq!((&ended.outcome, kit.answers().withdrawn()), (&Outcome::Cancelled, 1));
    listener.assert_ended_once(&ended);
}

#[tokio::test(start_paused = true)]
async fn the_outer_calls_time_stands_still_while_a_person_is_asked() {
    let kit = Harness::answering(Answers::silent());
    note(&kit);
    let limit = Duration::from_secs(10);
    kit.register(probe("outer").with(|spec| spec.with_timeout(limit)).touches(|_| Effects::Delegated).run(
        |_, cx| async move {
            let inner = cx.nested.call(Request::new("note", "{}")).await;
            Ok(inner.outcome.name())
        },
    ));
    let running = kit.executor().submit(kit.session(), Request::new("outer", "{}"));
    kit.answers().wait_for(1).await;
    advance(limit * 10).await;
    kit.answers().speak();
    let ended = running.await;
    assert_eq!((&ended.outcome, ended.output.joined_text().as_str()), (&Outcome::Completed, "completed"));
}

#[tokio::test(start_paused = true)]
async fn a_calls_own_time_begins_after_the_answer() {
    let kit = Harness::answering(Answers::silent());
    let limit = Duration::from_secs(10);
    kit.register(
        probe("note")
            .asks()
            .with(|spec| spec.with_timeout(limit))
            .run(|_, _| std::future::pending::<Result<String, Failure>>()),
    );
    let running = kit.executor().submit(kit.session(), Request::new("note", "{}"));
    kit.answers().wait_for(1).await;
    advance(limit * 10).await;
    let answered = Instant::now();
    kit.answers().speak();
    assert_eq!(running.await.outcome, Outcome::TimedOut);
    assert!(answered.elapsed() >= limit, "{:?}", answered.elapsed());
}

#[tokio::test]
async fn where_nobody_is_the_denial_names_the_rule_that_would_allow() {
    let kit = Harness::new();
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let effects = |_: &serde_json::Value| only(Touch::Write("a.txt".into()));
    kit.register(probe("note").asks().touches(effects).run(move |_, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok("noted") }
    }));
    let session = session_of(&kit, "empty", |setup| setup);
    let ended = kit.executor().submit(&session, request("note", &json!({}))).await;
    assert!(
        matches!(&ended.outcome, Outcome::Denied { why, .. } if why.gate == "approval"),
        "{:?}",
        ended.outcome
    );
    let text = ended.output.joined_text();
    assert!(
        text.contains("nobody is there") && text.contains("permissions.allow = [\"note(./a.txt)\"]"),
        "{text}"
    );
    assert_eq!(runs.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn in_headless_mode_nobody_is_asked_and_the_denial_names_the_rule() {
    let kit = Harness::in_mode(Mode::Headless);
    note(&kit);
    let ended = kit.call("note", json!({})).await;
    assert!(matches!(ended.outcome, Outcome::Denied { .. }), "{:?}", ended.outcome);
    let text = ended.output.joined_text();
    assert!(text.contains("the rule \"note\" under allow would let it run"), "{text}");
    assert!(kit.answers().asked().is_empty());
}
