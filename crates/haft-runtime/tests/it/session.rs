//! A session's memory: its log, what is known when it is opened again, and the end of a run.

use crate::kit::{log_of, probe, request, session_of, soon};
use haft_core::{
    Answer, Approver, BoxFuture, CallId, Clock, Failure, Outcome, Output, Question, RealPath, Seen,
};
use haft_policy::{Mode, Policy};
use haft_runtime::{Catalogue, LogEntry, Session, SessionSetup, read_log};
use haft_test::{Answers, Harness};
use serde_json::json;
use std::{
    io::Write,
    sync::{Arc, Mutex},
};

#[tokio::test]
async fn a_call_is_in_the_log_before_it_starts_and_after_it_ends() {
    let kit = Harness::new();
    let state = Arc::clone(kit.state());
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    kit.register(probe("count").with(|spec| spec.with_input_schema(schema)).run(move |_, _| {
        let (lines, _) = read_log(&*state, "test").unwrap();
        let names: Vec<&str> = lines
            .iter()
            .map(|line| match &line.entry {
                LogEntry::Opened { .. } => "opened",
                LogEntry::Requested { .. } => "requested",
                LogEntry::Started { .. } => "started",
                _ => "other",
            })
            .collect();
        let names = names.join(" ");
        async move { Ok(names) }
    }));
    let raw = "{\"n\":  \"3\"}";
    let mut asked = haft_core::Request::new("count", raw).in_turn(7);
    asked.foreign_id = Some("toolu_1".to_owned());
    let ended = kit.executor().submit(kit.session(), asked).await;
    assert_eq!(ended.output.joined_text(), "opened requested started");
    let log = log_of(&kit, "test");
    let [_, requested, started, over] = <[LogEntry; 4]>::try_from(log).expect("four lines");
    let LogEntry::Requested { call, raw: logged, turn, foreign_id, .. } = requested else {
        panic!("{requested:?}")
    };
    assert_eq!((call, logged.as_str(), turn), (ended.call.clone(), raw, Some(7)));
    assert_eq!(foreign_id.as_deref(), Some("toolu_1"));
    let LogEntry::Started { input, owner, .. } = started else { panic!("{started:?}") };
    assert_eq!((input.as_ref(), owner.as_ref()), (&json!({"n": 3}), "test:count"));
    let LogEntry::Ended { outcome, trace, bytes, .. } = over else { panic!("{over:?}") };
    assert_eq!((outcome, &trace, bytes), (Outcome::Completed, &ended.trace, 24));
}

#[tokio::test]
async fn a_call_is_in_the_log_while_it_waits_for_an_answer() {
    let kit = Harness::answering(Answers::silent());
    kit.register(probe("note").asks().run(|_, _| async { Ok("noted") }));
    let running = kit.executor().submit(kit.session(), request("note", &json!({})));
    kit.answers().wait_for(1).await;
    let log = log_of(&kit, "test");
    assert!(matches!(&log[..], [LogEntry::Opened { .. }, LogEntry::Requested { .. }]), "{log:?}");
    kit.answers().speak();
    soon(running).await;
    let log = log_of(&kit, "test");
    assert!(matches!(&log[2..], [LogEntry::Started { .. }, LogEntry::Ended { .. }]), "{log:?}");
}

/// Somebody who falls over each question.
struct Clumsy;

impl Approver for Clumsy {
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        panic!("{} is asked about", question.tool)
    }
}

#[tokio::test]
async fn a_call_that_breaks_off_before_it_waits_is_in_the_log() {
    let kit = Harness::new();
    kit.register(probe("note").asks().run(|_, _| async { Ok("noted") }));
    let session = session_of(&kit, "broken", |setup| SessionSetup { approver: Arc::new(Clumsy), ..setup });
    soon(kit.executor().submit(&session, request("note", &json!({})))).await;
    let log = log_of(&kit, "broken");
    assert!(matches!(&log[..], [LogEntry::Opened { .. }, LogEntry::Requested { .. }]), "{log:?}");
}

#[tokio::test]
async fn the_log_says_nothing_of_what_a_step_doesnt_say() {
    let kit = Harness::new();
    kit.register(probe("note").run(|_, _| async { Ok("noted") }));
    let ended = kit.call("note", json!({})).await;
    assert!(
        ended.trace.iter().any(|step| step.rule.is_none())
            && ended.trace.iter().any(|step| step.reason.is_some())
    );
    let log = std::fs::read_to_string(kit.state().root.join("sessions/test/log.jsonl")).unwrap();
    assert!(!log.contains("null"), "{log}");
}

#[tokio::test]
async fn the_trace_names_each_step_in_order() {
    let kit = Harness::new();
    kit.register(probe("note").asks().run(|_, _| async { Ok("noted") }));
    let ended = kit.call("note", json!({})).await;
    let steps: Vec<&str> = ended
        .trace
        .iter()
        .map(|step| step.step.as_ref())
        .filter(|step| !step.starts_with("guard:") && !step.starts_with("settler:"))
        .collect();
    let expected = [
        "resolve",
        "parse",
        "validate",
        "effects",
        "judge",
        "approve",
        "admit",
        "freshness",
        "run",
        "seal",
        "record",
    ];
    assert_eq!(steps, expected);
}

#[tokio::test]
async fn a_session_opened_again_goes_on_with_state_reads_and_numbers() {
    let kit = Harness::new();
    let file = RealPath::new("/w", "a.txt");
    let read = file.clone();
    kit.register(probe("look").run(move |input, _| {
        let seen = Seen { hash: "h".into(), lines: vec![(1, input["to"].as_u64().unwrap_or(1))], total: 9 };
        let output = Output {
            session: vec![("cwd".into(), input["cwd"].clone())],
            seen: vec![(read.clone(), seen)],
            ..Output::text("looked")
        };
        async move { Ok(output) }
    }));
    kit.call("look", json!({"to": 3, "cwd": "/first"})).await;
    kit.call("look", json!({"to": 9, "cwd": "/second"})).await;
    let again = kit.open_session("test").unwrap();
    for session in [kit.session(), &again] {
        assert_eq!(session.state_of("cwd"), Some(json!("/second")));
        assert_eq!(session.seen_of(&file), Some(Seen::whole("h", 9)));
    }
    assert!(again.interrupted().is_empty());
    // A process takes numbers in blocks, so there may be gaps, but none is given twice.
    let next = kit.executor().submit(&again, request("look", &json!({"cwd": "/third"}))).await;
    let other = kit.call("look", json!({})).await;
    assert!(next.call > CallId::outer(2) && other.call > CallId::outer(2) && next.call != other.call);
}

#[tokio::test]
async fn a_torn_last_line_is_counted_and_spoils_only_itself() {
    let kit = Harness::new();
    kit.register(probe("note").run(|_, _| async { Ok("noted") }));
    kit.call("note", json!({})).await;
    let path = kit.state().root.join("sessions/test/log.jsonl");
    let whole = read_log(&**kit.state(), "test").unwrap().0.len();
    let mut log = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    log.write_all(b"{\"v\":1,\"at\":17000").unwrap();
    drop(log);
    let (lines, unreadable) = read_log(&**kit.state(), "test").unwrap();
    assert_eq!((lines.len(), unreadable), (whole, 1));
    let again = kit.open_session("test").unwrap();
    let next = kit.executor().submit(&again, request("note", &json!({}))).await;
    assert_eq!(next.call.to_string(), "2");
    let (lines, unreadable) = read_log(&**kit.state(), "test").unwrap();
    // The opening, and the call's request, start and end.
    assert_eq!((lines.len(), unreadable), (whole + 4, 1));
}

#[tokio::test]
async fn the_hooks_of_a_run_fire_once_the_last_first() {
    let kit = Harness::new();
    let fired: Arc<Mutex<Vec<u64>>> = Arc::default();
    let seen = Arc::clone(&fired);
    kit.register(probe("hook").run(move |input, cx| {
        let (fired, number) = (Arc::clone(&seen), input["n"].as_u64().unwrap_or(0));
        cx.session.on_run_end(Box::new(move || fired.lock().unwrap().push(number)));
        async { Ok("hooked") }
    }));
    for number in 1..=3 {
        kit.call("hook", json!({"n": number})).await;
    }
    kit.session().add_hook(Box::new(|| panic!("boom")));
    assert!(fired.lock().unwrap().is_empty());
    kit.session().end_run();
    kit.session().end_run();
    assert_eq!(*fired.lock().unwrap(), [3, 2, 1]);
}

#[tokio::test]
async fn the_end_of_a_run_cancels_what_runs_and_the_next_run_is_free() {
    let kit = Harness::new();
    let started = Arc::new(tokio::sync::Notify::new());
    let here = Arc::clone(&started);
    kit.register(probe("long").run(move |input, cx| {
        let here = Arc::clone(&here);
        async move {
            if input["wait"] == true {
                here.notify_one();
                cx.cancel.fired().await;
                return Err(Failure::cancelled());
            }
            Ok("done")
        }
    }));
    let running = kit.executor().submit(kit.session(), request("long", &json!({"wait": true})));
    soon(started.notified()).await;
    kit.session().end_run();
    assert_eq!(soon(running).await.outcome, Outcome::Cancelled);
    assert!(kit.call("long", json!({})).await.outcome.is_completed());
}

#[tokio::test]
async fn a_session_without_a_state_folder_keeps_nothing() {
    let kit =
        Harness::with(haft_test::HarnessSetup { recorded: false, ..haft_test::HarnessSetup::default() });
    kit.register(probe("note").run(|_, _| async { Ok("noted") }));
    assert!(kit.call("note", json!({})).await.outcome.is_completed());
    assert!(!kit.state().root.join("sessions").exists());
}

#[test]
fn a_session_id_with_other_characters_is_refused() {
    let clock: Arc<dyn Clock> = Arc::new(haft_test::FakeClock::default());
    let open = |id: &str| {
        let policy = Policy::new(Mode::Default, RealPath::new("/w", ""));
        Session::open(SessionSetup::new(id, Catalogue::new(), policy, Arc::clone(&clock))).map(drop)
    };
    for id in ["", ".", "..", "a/b", "a.b", "a b", "é", "a\0", &"a".repeat(65)] {
        let failure = open(id).expect_err(id);
        assert!(failure.text.contains("letters, digits, hyphens, underscores"), "{id:?}: {}", failure.text);
    }
    for id in ["a", "A-z_9", &"a".repeat(64)] {
        open(id).expect(id);
    }
}

#[tokio::test]
async fn a_long_log_is_read_once_and_what_it_says_stays() {
    let kit = Harness::new();
    kit.register(probe("go").run(|input, _| {
        let output = Output { session: vec![("cwd".into(), input["cwd"].clone())], ..Output::text("gone") };
        async move { Ok(output) }
    }));
    kit.call("go", json!({"cwd": "/early"})).await;
    for _ in 0..40 {
        kit.session().record(LogEntry::Message { message: json!("x".repeat(64 * 1024)) }).unwrap();
    }
    let kept = kit.state().root.join("sessions/test/past.json");
    assert!(!kept.exists());
    assert_eq!(kit.open_session("test").unwrap().state_of("cwd"), Some(json!("/early")));
    assert!(kept.exists(), "what the long log says is kept beside it");
    kit.call("go", json!({"cwd": "/late"})).await;
    assert_eq!(kit.open_session("test").unwrap().state_of("cwd"), Some(json!("/late")));
    // One that doesn't fit the log, or is damaged, is made anew from it.
    for damaged in [&b"{"[..], b"{\"offset\":7,\"state\":{\"cwd\":\"/wrong\"},\"seen\":[],\"open\":[]}"] {
        std::fs::write(&kept, damaged).unwrap();
        assert_eq!(kit.open_session("test").unwrap().state_of("cwd"), Some(json!("/late")));
    }
}
