//! The agent against a loopback server that streams its answers byte by byte, and against recorded turns.
// The helpers are part of the tests, which lints can't know.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod server;
mod wire;

use haft_agent::{
    Agent, AgentEnd, AgentObserver, AgentOptions, AgentRun, Message, Model, ModelSettings, Results,
    RetryNotice, RetryPolicy, Scripted, read_lines,
};
use haft_core::{AnyTool, CallId, Cancel, Ended, Failure, Permission, Risk, Spec, tool};
use haft_test::Harness;
use serde_json::{Value, json};
use server::{Part, Reply, Server};
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::{Barrier, Notify};
use wire::{ANTHROPIC, CHAT, Protocol};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Words {
    /// What to say back
    text: String,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Nothing {}

/// Says its text back, and counts.
fn echo(runs: &Arc<AtomicUsize>) -> Arc<dyn AnyTool> {
    let runs = Arc::clone(runs);
    harmless("echo").run(move |input: Words, _cx| {
        runs.fetch_add(1, Ordering::SeqCst);
        async move { Ok(format!("said {}", input.text)) }
    })
}

fn harmless(name: &str) -> haft_core::ToolBuilder {
    tool(name, "For tests.")
        .permission(Permission::Auto)
        .risk(Risk::Safe)
        .read_only()
        .touches_nothing()
        .with(Spec::concurrency_safe)
}

fn agent(harness: &Harness, model: Arc<dyn Model>) -> Agent {
    let retry = RetryPolicy { tries: 4, base: Duration::from_millis(2), cap: Duration::from_millis(5) };
    Agent::new(harness.executor().clone(), harness.session().clone(), model, "Be brief.")
        .with_options(AgentOptions { max_turns: 20, retry })
}

fn connect(protocol: &Protocol, server: &Server) -> Arc<dyn Model> {
    let mut settings = ModelSettings::parse(protocol.spec).unwrap();
    settings.base_url = Some(server.base_url.clone());
    settings.api_key = Some("key".to_owned());
    settings.connect(Arc::new(haft_os::OsHttp::default())).unwrap()
}

/// A run of an agent with an echo tool against canned answers.
struct Played {
    run: AgentRun,
    history: Vec<Message>,
    requests: Vec<server::Received>,
    echoed: usize,
}

async fn play(protocol: &Protocol, replies: Vec<Reply>) -> Played {
    let server = Server::start(replies).await;
    let harness = Harness::new();
    let runs = Arc::new(AtomicUsize::new(0));
    harness.register(echo(&runs));
    let mut agent = agent(&harness, connect(protocol, &server));
    let run = agent.run("go", &Cancel::new()).await;
    let history = agent.history().to_vec();
    Played { run, history, requests: server.received(), echoed: runs.load(Ordering::SeqCst) }
}

/// Outcome and text of each result of the history.
fn outcomes(history: &[Message]) -> Vec<(String, String)> {
    let results = history.iter().filter_map(|message| match message {
        Message::Results(results) => Some(results),
        _ => None,
    });
    results
        .flat_map(|results: &Results| &results.results)
        .map(|result| {
            let text = result.content.iter().filter_map(haft_core::Block::as_text).collect();
            (result.outcome.clone(), text)
        })
        .collect()
}

fn script(lines: &[Value]) -> Arc<dyn Model> {
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    Arc::new(Scripted::parse(&text.join("\n")).unwrap())
}

#[tokio::test]
async fn two_calls_run_together_and_before_the_answer_ends() {
    for protocol in [&ANTHROPIC, &CHAT] {
        let started = Arc::new(Notify::new());
        let calls = [("a", "meet", r#"{"text":"é→"}"#), ("b", "meet", r#"{"text":"🦀"}"#)];
        let [first, rest] = (protocol.answer_in_two)("I look.", &calls);
        let server = Server::start(vec![
            // The rest is sent only when the first call runs.
            Reply::Stream(vec![Part::Bytes(first), Part::Wait(Arc::clone(&started)), Part::Bytes(rest)]),
            Reply::stream((protocol.answer)("done", &[], protocol.end)),
        ])
        .await;
        let harness = Harness::new();
        let barrier = Arc::new(Barrier::new(2));
        harness.register(harmless("meet").run(move |input: Words, _cx| {
            let (barrier, started) = (Arc::clone(&barrier), Arc::clone(&started));
            async move {
                started.notify_one();
                barrier.wait().await;
                Ok(format!("met {}", input.text))
            }
        }));
        let mut agent = agent(&harness, connect(protocol, &server));
        let run = agent.run("go", &Cancel::new()).await;
        assert_eq!((run.end, run.text.as_str(), run.turns), (AgentEnd::Done, "done", 2));
        assert!(run.usage.output_tokens > 0);
        let expected = [("completed", "met é→"), ("completed", "met 🦀")];
        assert_eq!(outcomes(agent.history()), expected.map(|(a, b)| (a.to_owned(), b.to_owned())));

        let requests = server.received();
        assert_eq!(requests.len(), 2);
        assert!(requests[0].path.ends_with(protocol.path), "{}", requests[0].path);
        assert_eq!(requests[0].header(protocol.key_header), Some(protocol.key_value));
        assert_eq!((protocol.tool_names)(&requests[0].body), ["meet"]);
        let sent_back = (protocol.results)(&requests[1].body);
        assert_eq!(sent_back, [("a".to_owned(), "met é→".to_owned()), ("b".to_owned(), "met 🦀".to_owned())]);
    }
}

#[tokio::test]
async fn malformed_arguments_come_back_to_the_model() {
    for protocol in [&ANTHROPIC, &CHAT] {
        let calls = [("a", "echo", r#"{"text": oops}"#), ("b", "echo", r#"{"text":"b"}"#)];
        let played = play(
            protocol,
            vec![
                Reply::stream((protocol.answer)("", &calls, protocol.wants_results)),
                Reply::stream((protocol.answer)("sorry", &[], protocol.end)),
            ],
        )
        .await;
        assert_eq!(played.run.end, AgentEnd::Done);
        let outcomes = outcomes(&played.history);
        assert_eq!(outcomes[0].0, "invalid");
        assert_eq!(outcomes[1], ("completed".to_owned(), "said b".to_owned()));
        assert_eq!(played.echoed, 1);
        let sent_back = (protocol.results)(&played.requests[1].body);
        assert_eq!(sent_back[0], ("a".to_owned(), outcomes[0].1.clone()));
    }
}

#[tokio::test]
async fn arguments_cut_by_the_token_limit_never_run() {
    for protocol in [&ANTHROPIC, &CHAT] {
        let calls = [("a", "echo", r#"{"text":"whole"}"#), ("b", "echo", r#"{"text":"cu"#)];
        let played = play(
            protocol,
            vec![
                Reply::stream((protocol.answer)("", &calls, protocol.limit)),
                Reply::stream((protocol.answer)("ok", &[], protocol.end)),
            ],
        )
        .await;
        assert_eq!(played.run.end, AgentEnd::Done);
        let outcomes = outcomes(&played.history);
        assert_eq!(outcomes[0].0, "completed");
        assert_ne!(outcomes[1].0, "completed");
        assert_eq!((outcomes.len(), played.echoed), (2, 1));
    }
}

#[tokio::test]
async fn an_overloaded_endpoint_is_tried_again() {
    for protocol in [&ANTHROPIC, &CHAT] {
        let played = play(
            protocol,
            vec![
                Reply::Status(529, r#"{"error":{"type":"overloaded_error","message":"busy"}}"#),
                Reply::Status(429, "slow down"),
                Reply::stream((protocol.answer)("there", &[], protocol.end)),
            ],
        )
        .await;
        assert_eq!((played.run.end, played.run.text.as_str()), (AgentEnd::Done, "there"));
        assert_eq!((played.run.turns, played.requests.len()), (1, 3));
        assert!(played.requests.iter().all(|request| request.body == played.requests[0].body));
    }
}

#[tokio::test]
async fn a_refused_request_is_not_tried_again() {
    let body = r#"{"error":{"message":"invalid x-api-key"}}"#;
    let played = play(&ANTHROPIC, vec![Reply::Status(401, body)]).await;
    assert_eq!(played.requests.len(), 1);
    match played.run.end {
        AgentEnd::Failed(error) => assert!(error.text.contains("invalid x-api-key"), "{error}"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_connection_dropped_before_any_call_is_sent_again() {
    for protocol in [&ANTHROPIC, &CHAT] {
        let [text_and_half_a_call, _] = (protocol.answer_in_two)("lost", &[("a", "echo", r#"{"text":"#)]);
        let played = play(
            protocol,
            vec![
                Reply::Dropped(text_and_half_a_call),
                Reply::stream((protocol.answer)("kept", &[], protocol.end)),
            ],
        )
        .await;
        assert_eq!((played.run.end, played.run.text.as_str()), (AgentEnd::Done, "kept"));
        assert_eq!((played.requests.len(), played.echoed, played.history.len()), (2, 0, 2));
        assert_eq!(played.requests[0].body, played.requests[1].body);
    }
}

#[tokio::test]
async fn a_connection_dropped_after_a_call_started_is_not_sent_again() {
    for protocol in [&ANTHROPIC, &CHAT] {
        let calls = [("a", "echo", r#"{"text":"ran"}"#), ("b", "echo", r#"{"text":"#)];
        let whole = (protocol.answer)("so", &calls, protocol.wants_results);
        // Cut inside the event after the second call's start: by then the first is whole.
        let second = whole.find("\"id\":\"b\"").unwrap();
        let cut = second + whole[second..].find("data: ").unwrap() + 10;
        let played = play(
            protocol,
            vec![
                Reply::Dropped(whole[..cut].to_owned()),
                Reply::stream((protocol.answer)("done", &[], protocol.end)),
            ],
        )
        .await;
        assert_eq!((played.run.end, played.run.turns), (AgentEnd::Done, 2));
        assert_eq!((played.requests.len(), played.echoed), (2, 1));
        assert_eq!(outcomes(&played.history), [("completed".to_owned(), "said ran".to_owned())]);
        let sent_back = (protocol.results)(&played.requests[1].body);
        assert_eq!(sent_back, [("a".to_owned(), "said ran".to_owned())]);
        let Message::Assistant(assistant) = &played.history[1] else { panic!("{:?}", played.history[1]) };
        assert_eq!((assistant.text.as_str(), assistant.calls.len()), ("so", 1));
        assert!(!played.requests[1].body.to_string().contains("\"b\""));
    }
}

/// Fires once a call has ended.
struct FireAfterFirst(Cancel);

impl AgentObserver for FireAfterFirst {
    fn call_ended(&self, _: &Ended) {
        self.0.fire();
    }
}

#[tokio::test]
async fn an_interrupt_leaves_every_call_with_one_result() {
    let harness = Harness::new();
    harness.register(echo(&Arc::default()));
    harness.register(harmless("hang").run(|_: Nothing, cx| async move {
        cx.cancel.fired().await;
        Err::<String, _>(Failure::cancelled())
    }));
    let cancel = Cancel::new();
    let hang = json!({"tool": "hang"});
    let quick = json!({"tool": "echo", "input": {"text": "x"}});
    let mut agent = agent(&harness, script(&[json!({"text": "three", "calls": [hang, quick, hang]})]))
        .with_observer(Arc::new(FireAfterFirst(cancel.clone())));
    let run = agent.run("go", &cancel).await;
    assert_eq!(run.end, AgentEnd::Interrupted);
    let outcomes = outcomes(agent.history());
    let names: Vec<&str> = outcomes.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["cancelled", "completed", "cancelled"]);
    assert_eq!(agent.run("again", &Cancel::new()).await.end, AgentEnd::Done);
}

#[tokio::test]
async fn a_recorded_history_goes_on_where_it_was() {
    let harness = Harness::new();
    let runs = Arc::new(AtomicUsize::new(0));
    harness.register(echo(&runs));
    let lines = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&lines);
    let turns = [
        json!({"text": "first", "calls": [
            {"tool": "echo", "input": {"text": "a"}}, {"tool": "echo", "input": {"text": "b"}},
        ]}),
        json!({"text": "second"}),
    ];
    let mut first = agent(&harness, script(&turns)).on_message(move |message| {
        kept.lock().unwrap().push(serde_json::to_string(message).unwrap());
    });
    first.run("go", &Cancel::new()).await;
    let lines = lines.lock().unwrap().clone();
    // The user's task, the turn before each call and whole, the results, the second turn.
    assert_eq!(lines.len(), 6);

    // As a crash would leave it: the second call had started, no result was kept, the last line is torn.
    let torn = format!("{}\n{}", lines[..3].join("\n"), &lines[3][..20]);
    let mut second = agent(&harness, script(&turns));
    second.resume(read_lines(&torn).unwrap(), &[]);
    let before: Vec<String> = outcomes(second.history()).into_iter().map(|(name, _)| name).collect();
    assert_eq!(before, ["interrupted", "interrupted"]);
    let run = second.run("go on", &Cancel::new()).await;
    assert_eq!((run.end, run.text.as_str()), (AgentEnd::Done, "second"));
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

#[derive(Default)]
struct Notes {
    loops: AtomicUsize,
    started: Mutex<Vec<CallId>>,
    retries: Mutex<Vec<RetryNotice>>,
}

impl AgentObserver for Notes {
    fn loop_detected(&self, _: &str) {
        self.loops.fetch_add(1, Ordering::SeqCst);
    }

    fn call_started(&self, id: &CallId, _: &str, _: &str) {
        self.started.lock().unwrap().push(id.clone());
    }

    fn retry(&self, notice: &RetryNotice) {
        self.retries.lock().unwrap().push(notice.clone());
    }
}

#[tokio::test]
async fn a_loop_is_warned_about_then_ends_the_step() {
    let harness = Harness::new();
    let runs = Arc::new(AtomicUsize::new(0));
    harness.register(echo(&runs));
    let again = json!({"calls": [{"tool": "echo", "input": {"text": "same"}}]});
    let notes = Arc::new(Notes::default());
    let mut agent = agent(&harness, script(&vec![again; 20])).with_observer(notes.clone());
    let run = agent.run("go", &Cancel::new()).await;
    assert!(matches!(run.end, AgentEnd::Loop { .. }), "{:?}", run.end);
    // The sixth warns; after the seventh nobody is there to be asked.
    assert_eq!((runs.load(Ordering::SeqCst), notes.loops.load(Ordering::SeqCst)), (7, 2));
    assert_eq!(notes.started.lock().unwrap().len(), 7);
    let warned = agent.history().iter().any(|message| match message {
        Message::Results(results) => results.messages.iter().any(|text| text.contains("circles")),
        _ => false,
    });
    assert!(warned);
}

#[tokio::test]
async fn an_unreachable_endpoint_is_tried_as_often_as_allowed() {
    let server = Server::start(Vec::new()).await;
    let harness = Harness::new();
    let model = connect(&CHAT, &server);
    server.stop().await;
    let notes = Arc::new(Notes::default());
    let mut agent = agent(&harness, model).with_observer(notes.clone());
    let run = agent.run("go", &Cancel::new()).await;
    assert!(matches!(run.end, AgentEnd::Failed(_)), "{:?}", run.end);
    assert_eq!(notes.retries.lock().unwrap().len(), 3);
    assert_eq!(agent.history().len(), 1);
}
