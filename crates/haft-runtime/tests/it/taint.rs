//! Private data, strangers' words and a way out: any two run, the third asks, by whatever path the first two came.

use crate::kit::{getter, probe, put_input, putter, request, session_of};
use haft_core::{Answer, AnyTool, Effects, Ended, Event, Outcome, Progress, Spec, StateFolder, Touch};
use haft_policy::{Mode, Policy, Taint};
use haft_runtime::SessionSetup;
use haft_test::{Answers, Harness};
use serde_json::{Value, json};
use std::sync::Arc;

fn from_strangers(spec: Spec) -> Spec {
    let mut spec = spec.read_only();
    spec.untrusted_source = true;
    spec
}

/// `web`: what strangers wrote; it contacts nobody here.
fn web() -> Arc<dyn AnyTool> {
    probe("web").with(from_strangers).run(|_, _| async { Ok("words of a stranger") })
}

/// `send`: contacts a host.
fn sender() -> Arc<dyn AnyTool> {
    probe("send")
        .touches(|input| Effects::Only(vec![Touch::Host(input["host"].as_str().unwrap_or("h").into())]))
        .run(|_, _| async { Ok("sent") })
}

/// `outer`: makes one call from inside.
fn outer() -> Arc<dyn AnyTool> {
    probe("outer").touches(|_| Effects::Delegated).run(|input, cx| async move {
        let inner = request(input["tool"].as_str().unwrap_or_default(), &input["input"]);
        Ok(cx.nested.call(inner).await.output.joined_text())
    })
}

fn long() -> Arc<dyn AnyTool> {
    probe("long").with(from_strangers).run(|_, _| async { Ok("strange line\n".repeat(20_000)) })
}

fn harness(answers: Answers) -> Harness {
    let kit = Harness::answering(answers);
    for tool in [web(), sender(), outer(), long(), getter(), putter().run(put_input)] {
        kit.register(tool);
    }
    kit.write(".env", "KEY=1");
    kit.write("plain", "text");
    kit
}

async fn send(kit: &Harness) -> Ended {
    kit.call("send", json!({"host": "b.example"})).await
}

/// Reads `.env`, which itself is asked.
async fn read_private(kit: &Harness) {
    let ended = kit.call("get", json!({"path": ".env"})).await;
    assert_eq!(ended.outcome, Outcome::Completed, "{}", ended.output.joined_text());
}

fn denied(ended: &Ended) -> bool {
    matches!(ended.outcome, Outcome::Denied { .. })
}

#[tokio::test]
async fn all_three_ask_and_any_two_run() {
    let kit = harness(Answers::script([Answer::Once, Answer::Deny { feedback: None }]));
    kit.call("web", json!({})).await;
    assert_eq!(send(&kit).await.outcome, Outcome::Completed, "strangers' words and a way out");
    read_private(&kit).await;
    assert!(denied(&send(&kit).await), "all three");
    let question = kit.answers().asked().pop().unwrap();
    let why = &question.why[0];
    assert_eq!(why.gate, "taint");
    for part in ["get ", ".env", "web", "b.example"] {
        assert!(why.reason.contains(part), "{part} in {}", why.reason);
    }

    let kit = harness(Answers::script([Answer::Once]));
    read_private(&kit).await;
    assert_eq!(send(&kit).await.outcome, Outcome::Completed, "private data and a way out");
    assert_eq!(kit.call("get", json!({"path": "plain"})).await.outcome, Outcome::Completed);
}

#[tokio::test]
async fn an_answer_covers_the_host_until_something_further_comes_in() {
    let answers = [Answer::Once, Answer::Session, Answer::Deny { feedback: None }];
    let kit = harness(Answers::script(answers));
    kit.call("web", json!({})).await;
    read_private(&kit).await;
    assert_eq!(send(&kit).await.outcome, Outcome::Completed);
    assert_eq!(send(&kit).await.outcome, Outcome::Completed, "covered");
    assert_eq!(kit.answers().asked().len(), 2);
    kit.call("long", json!({})).await;
    assert!(denied(&send(&kit).await), "a further mark asks again");
}

#[tokio::test]
async fn marks_travel_through_files_into_later_sessions_and_copies() {
    let kit = harness(Answers::script([Answer::Once, Answer::Once, Answer::Deny { feedback: None }]));
    kit.call("web", json!({})).await;
    kit.call("put", json!({"path": "notes", "text": "what a stranger said"})).await;
    kit.sh("cp notes copy").await;

    let later = |id: &str, path: &'static str| {
        let session =
            session_of(&kit, id, |setup| SessionSetup { approver: Arc::new(kit.answers().clone()), ..setup });
        session.refresh();
        async move { (session, path) }
    };
    for (id, path) in [("by-path", "notes"), ("by-copy", "copy")] {
        let (session, path) = later(id, path).await;
        let get = |path: &str| kit.executor().submit(&session, request("get", &json!({"path": path})));
        assert!(session.policy().marks.untrusted.is_empty());
        get(path).await;
        let is_marked = !session.policy().marks.untrusted.is_empty();
        // `get` doesn't say which content it showed, so that only the name tells.
        assert_eq!(is_marked, path == "notes", "{path}");
    }
}

#[tokio::test]
async fn marks_travel_through_nested_calls_and_spilled_results() {
    let kit = harness(Answers::script([Answer::Once, Answer::Deny { feedback: None }]));
    let inner: Value = json!({"tool": "web", "input": {}});
    kit.call("outer", inner).await;
    assert!(!kit.session().policy().marks.untrusted.is_empty(), "from a nested call");
    read_private(&kit).await;
    let sending = json!({"tool": "send", "input": {"host": "b.example"}});
    let text = kit.call("outer", sending).await.output.joined_text();
    assert!(text.contains("denied by user"), "a nested call is judged too: {text}");

    let kit = harness(Answers::script([]));
    let cut = kit.call("long", json!({})).await.output.truncation.unwrap();
    let session = session_of(&kit, "later", |setup| {
        let mut policy = Policy::clone(&kit.session().policy());
        policy.mode = Mode::Default;
        SessionSetup { policy, ..setup }
    });
    assert!(session.policy().marks.untrusted.is_empty(), "marks are the session's own");
    let get = kit.executor().submit(&session, request("get", &json!({"path": cut.path.unwrap()})));
    get.await;
    assert!(!session.policy().marks.untrusted.is_empty(), "from a spilled result");
}

#[tokio::test]
async fn marks_of_a_child_are_its_parents_too() {
    let kit = harness(Answers::script([Answer::Once, Answer::Deny { feedback: None }]));
    let child =
        session_of(&kit, "child", |setup| SessionSetup { parent: Some(Arc::clone(kit.session())), ..setup });
    child.refresh();
    kit.executor().submit(&child, request("web", &json!({}))).await;
    assert!(!kit.session().policy().marks.untrusted.is_empty());
    read_private(&kit).await;
    assert!(denied(&send(&kit).await));
}

#[tokio::test]
async fn marks_last_when_the_session_is_opened_again() {
    let kit = harness(Answers::script([Answer::Once]));
    kit.call("web", json!({})).await;
    read_private(&kit).await;
    let again = kit.open_session("test").unwrap();
    let marks = &again.policy().marks;
    assert_eq!((marks.private.len(), marks.untrusted.len()), (1, 1));
}

#[tokio::test]
async fn no_tool_takes_the_marks_away() {
    let kit = harness(Answers::script([]));
    kit.register(probe("forget").run(|_, _| async {
        let mut output = haft_core::Output::text("done");
        output.session.push(("marks".into(), json!({"private": [], "untrusted": []})));
        Ok(output)
    }));
    kit.call("web", json!({})).await;
    kit.call("forget", json!({})).await;
    let again = kit.open_session("test").unwrap();
    assert_eq!(again.policy().marks.untrusted.len(), 1);
}

/// `trade`: contacts a host, and returns what strangers there say.
fn trader() -> Arc<dyn AnyTool> {
    probe("trade")
        .with(from_strangers)
        .touches(|_| Effects::Only(vec![Touch::Host("b.example".into())]))
        .run(|_, _| async { Ok("words of b") })
}

#[tokio::test]
async fn an_answer_for_a_way_holds_though_the_call_brings_words_back() {
    let kit = harness(Answers::script([Answer::Once, Answer::Session]));
    kit.register(trader());
    kit.call("web", json!({})).await;
    read_private(&kit).await;
    for _ in 0..3 {
        assert_eq!(kit.call("trade", json!({})).await.outcome, Outcome::Completed);
    }
    assert_eq!(kit.answers().asked().len(), 2);
}

#[tokio::test]
async fn reading_back_what_the_session_wrote_brings_nothing_new() {
    let kit = harness(Answers::script([Answer::Once, Answer::Session, Answer::Deny { feedback: None }]));
    kit.call("web", json!({})).await;
    read_private(&kit).await;
    assert_eq!(send(&kit).await.outcome, Outcome::Completed);
    for _ in 0..3 {
        kit.call("put", json!({"path": "notes", "text": "what a stranger said"})).await;
        kit.call("get", json!({"path": "notes"})).await;
    }
    let marks = kit.session().policy().marks.clone();
    assert_eq!((marks.private.len(), marks.untrusted.len()), (1, 1), "{marks:?}");
    assert_eq!(send(&kit).await.outcome, Outcome::Completed, "the answer still holds");
    assert_eq!(kit.answers().asked().len(), 2);

    // What another session wrote is news.
    let other = session_of(&kit, "other", |setup| setup);
    other.refresh();
    kit.executor().submit(&other, request("web", &json!({}))).await;
    kit.executor().submit(&other, request("put", &json!({"path": "theirs", "text": "x"}))).await;
    kit.call("get", json!({"path": "theirs"})).await;
    let untrusted = kit.session().policy().marks.untrusted.clone();
    assert!(untrusted.last().unwrap().what.ends_with("theirs (holds: web)"), "{untrusted:?}");
    assert!(denied(&send(&kit).await));
}

#[tokio::test]
async fn a_list_of_marked_files_that_cannot_be_read_marks_everything() {
    let kit = harness(Answers::script([]));
    let list = StateFolder::path(&**kit.state(), "marked-files.json");
    std::fs::write(&list, "{").unwrap();
    kit.call("get", json!({"path": "plain"})).await;
    let marks = kit.session().policy().marks.clone();
    for list in [&marks.private, &marks.untrusted] {
        assert!(list.len() == 1 && list[0].what.contains("can't be read"), "{marks:?}");
    }
    kit.call("put", json!({"path": "notes", "text": "x"})).await;
    let written: Value = serde_json::from_slice(&std::fs::read(&list).unwrap()).unwrap();
    assert!(written["lost"] == true && written["files"].as_object().unwrap().len() == 1, "{written}");
    // The next session still can't tell what is marked.
    let later = session_of(&kit, "later", |setup| setup);
    later.refresh();
    kit.executor().submit(&later, request("get", &json!({"path": "plain"}))).await;
    assert!(!later.policy().marks.private.is_empty() && !later.policy().marks.untrusted.is_empty());
}

#[tokio::test]
async fn a_warning_is_given_once_where_the_setting_wants_no_more() {
    let kit = harness(Answers::yes());
    let session = session_of(&kit, "warned", |setup| {
        let policy = Policy { taint: Taint::Warn, ..setup.policy };
        SessionSetup { policy, approver: Arc::new(kit.answers().clone()), ..setup }
    });
    session.refresh();
    let call = |tool: &str, input: Value| kit.executor().submit(&session, request(tool, &input));
    call("web", json!({})).await;
    call("get", json!({"path": ".env"})).await;
    let mut events = session.events();
    assert_eq!(call("send", json!({"host": "b.example"})).await.outcome, Outcome::Completed);
    let mut warnings = Vec::new();
    while let Some(event) = events.try_next() {
        if let Event::Progress { progress: Progress::Warning(text), .. } = event {
            warnings.push(text);
        }
    }
    assert!(warnings.len() == 1 && warnings[0].contains("b.example"), "{warnings:?}");
}
