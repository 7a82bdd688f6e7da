//! Questions to the client that made the call, in both eras.

use crate::{
    kit::{Entry, Nothing, OUTCOME, PATIENCE, Peer},
    web::Web,
};
use haft_core::{AnyTool, CallId, Cx, Event, Form, Permission, Risk, tool};
use haft_mcp::{ClientApprover, Fronts, McpServer, ServerInfo};
use haft_runtime::{EventStream, Session};
use haft_test::Harness;
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::timeout;

/// Whose calls need a word.
fn note(list: &Arc<Mutex<Vec<u64>>>) -> Arc<dyn AnyTool> {
    let list = Arc::clone(list);
    tool("note", "Notes a number.").permission(Permission::Confirm).risk(Risk::Safe).run(
        move |entry: Entry, _cx| {
            list.lock().unwrap().push(entry.n);
            async move { Ok(entry.n.to_string()) }
        },
    )
}

/// Has a form filled in, as a tool of a server behind haft does, and says what became of it.
fn fills() -> Arc<dyn AnyTool> {
    tool("fills", "Has a form filled in.").risk(Risk::Safe).read_only().run(|_: Nothing, cx: Cx| async move {
        let form = Form {
            call: CallId::outer(0),
            source: "the server s".into(),
            message: "Which?".to_owned(),
            schema: json!({"type": "object", "properties": {"a": {"type": "string"}}}),
            url: None,
        };
        Ok(format!("{:?}", cx.nested.fill(form).await))
    })
}

struct Stage {
    harness: Harness,
    session: Arc<Session>,
    fronts: Fronts,
    noted: Arc<Mutex<Vec<u64>>>,
}

impl Stage {
    fn new() -> Self {
        let (harness, fronts, noted) = (Harness::new(), Fronts::new(), Arc::default());
        let approver = Arc::new(ClientApprover::new(fronts.clone()));
        let session = harness.open_session_asking("asked", approver).unwrap();
        harness.register(note(&noted));
        Self { harness, session, fronts, noted }
    }

    fn server(&self) -> McpServer {
        let executor = self.harness.executor().clone();
        McpServer::new(executor, Arc::clone(&self.session), ServerInfo::default())
            .with_fronts(self.fronts.clone())
    }

    fn noted(&self) -> Vec<u64> {
        self.noted.lock().unwrap().clone()
    }
}

fn accept(answer: &str) -> Value {
    json!({"action": "accept", "content": {"answer": answer}})
}

fn params(n: u64) -> Value {
    json!({"name": "note", "arguments": {"n": n}})
}

#[tokio::test]
async fn a_legacy_client_is_asked_while_its_call_waits() {
    let stage = Stage::new();
    let mut peer = Peer::greeted(stage.server(), json!({"elicitation": {}})).await;
    peer.send(1, "tools/call", params(1)).await;
    let question = peer.hear().await;
    assert_eq!(question["method"], "elicitation/create");
    let message = question["params"]["message"].as_str().unwrap();
    assert!(message.contains("note") && message.contains("{\"n\":1}"), "{message}");
    assert_eq!(question["params"]["requestedSchema"]["required"], json!(["answer"]));
    assert!(stage.noted().is_empty());
    peer.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": accept("allow once")}).to_string())
        .await;
    assert_eq!(peer.hear().await["result"]["content"][0]["text"], "1");

    for (result, outcome, says) in [
        (json!({"action": "decline"}), "denied", "denied by user"),
        (json!({"action": "accept", "content": {"answer": "deny", "feedback": "use 3"}}), "denied", "use 3"),
        (json!({"action": "accept", "content": {"answer": "sure"}}), "cancelled", ""),
        (json!({"action": "cancel"}), "cancelled", ""),
    ] {
        peer.send(2, "tools/call", params(2)).await;
        let question = peer.hear().await;
        peer.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}).to_string()).await;
        let reply = peer.hear().await;
        assert_eq!(reply["result"]["_meta"][OUTCOME], outcome, "{result} {reply}");
        assert!(reply["result"]["content"][0]["text"].as_str().unwrap().contains(says), "{reply}");
    }
    assert_eq!(stage.noted(), [1]);
}

#[tokio::test]
async fn an_answer_that_is_saved_holds_for_the_next_call() {
    let stage = Stage::new();
    let mut peer = Peer::greeted(stage.server(), json!({"elicitation": {"form": {}}})).await;
    peer.send(1, "tools/call", params(1)).await;
    let question = peer.hear().await;
    let choices =
        question["params"]["requestedSchema"]["properties"]["answer"]["enum"].as_array().unwrap().clone();
    let always =
        choices.iter().find_map(|choice| choice.as_str().filter(|choice| choice.starts_with("always allow")));
    let answer = accept(always.unwrap());
    peer.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}).to_string()).await;
    assert_eq!(peer.hear().await["id"], 1);
    assert_eq!(peer.ask(2, "tools/call", params(2)).await["result"]["isError"], false);
    assert_eq!(stage.noted(), [1, 2]);
}

#[tokio::test]
async fn a_client_that_shows_no_forms_is_told_how_the_operator_allows_it() {
    let stage = Stage::new();
    for capabilities in [json!({}), json!({"elicitation": {"url": {}}})] {
        let mut peer = Peer::greeted(stage.server(), capabilities.clone()).await;
        let reply = peer.ask(1, "tools/call", params(1)).await;
        let text = reply["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("permissions.allow"), "{capabilities} {text}");
    }
    let web = Web::open(stage.server()).await;
    let reply = web.modern("tools/call", params(1)).await.json().await;
    assert!(reply["result"]["content"][0]["text"].as_str().unwrap().contains("permissions.allow"), "{reply}");
    assert!(stage.noted().is_empty());
}

#[tokio::test]
async fn a_withdrawn_question_is_told_to_a_legacy_client() {
    let stage = Stage::new();
    let mut peer = Peer::greeted(stage.server(), json!({"elicitation": {}})).await;
    peer.send(1, "tools/call", params(1)).await;
    let question = peer.hear().await;
    peer.tell("notifications/cancelled", json!({"requestId": 1})).await;
    let note = peer.hear().await;
    assert_eq!(
        (&note["method"], &note["params"]["requestId"]),
        (&json!("notifications/cancelled"), &question["id"])
    );
    // What comes too late settles nothing.
    peer.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": accept("allow once")}).to_string())
        .await;
    assert_eq!(peer.ask(2, "ping", json!({})).await["result"], json!({}));
    assert!(stage.noted().is_empty());
}

#[tokio::test]
async fn a_client_that_says_nothing_more_is_waited_for_by_no_question() {
    let stage = Stage::new();
    let mut peer = Peer::greeted(stage.server(), json!({"elicitation": {}})).await;
    peer.send(1, "tools/call", params(1)).await;
    assert_eq!(peer.hear().await["method"], "elicitation/create");
    let Peer { output, mut input, server } = peer;
    drop(output);
    // Half of what calls have to finish.
    timeout(Duration::from_secs(5), server).await.unwrap().unwrap().unwrap();
    let reply: Value = serde_json::from_str(&input.next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!((&reply["id"], &reply["result"]["_meta"][OUTCOME]), (&json!(1), &json!("cancelled")));
    let text = reply["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("closed without an answer"), "{text}");
    assert_eq!(input.next_line().await.unwrap(), None);
    assert!(stage.noted().is_empty());
}

#[tokio::test]
async fn a_form_goes_to_whoever_made_the_call_and_is_declined_where_it_cant_be_shown() {
    let stage = Stage::new();
    stage.harness.register(fills());
    let mut peer = Peer::greeted(stage.server(), json!({"elicitation": {}})).await;
    peer.send(1, "tools/call", json!({"name": "fills"})).await;
    let put = peer.hear().await;
    assert_eq!(put["params"]["message"], "the server s asks: Which?");
    assert_eq!(put["params"]["requestedSchema"]["properties"], json!({"a": {"type": "string"}}));
    let result = json!({"action": "accept", "content": {"a": "b"}});
    peer.say(&json!({"jsonrpc": "2.0", "id": put["id"], "result": result}).to_string()).await;
    let text = peer.hear().await["result"]["content"][0]["text"].take();
    assert_eq!(text, r#"Accepted(Object {"a": String("b")})"#);

    let mut other = Peer::greeted(stage.server(), json!({"elicitation": {"url": {}}})).await;
    assert_eq!(other.call(1, "fills", json!({})).await["content"][0]["text"], "Declined");
}

#[tokio::test]
async fn a_legacy_client_over_http_is_asked_on_the_stream_of_its_call() {
    let stage = Stage::new();
    let web = Web::open(stage.server()).await;
    let id = web.greet(json!({"elicitation": {}})).await;
    let mut called = web.call(&id, 1, params(7)).await;
    let question = called.hear().await;
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": accept("allow once")});
    assert_eq!(web.in_session(&id, &answer).await.status, 202);
    assert_eq!(called.hear().await["result"]["content"][0]["text"], "7");
    assert_eq!(called.event().await, None);
    // One that takes no streams can't be asked.
    let message = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params(8)});
    let headers = [("mcp-session-id", id.as_str()), ("accept", "application/json")];
    let reply = web.post(&headers, &message).await.json().await;
    assert_eq!(reply["result"]["_meta"][OUTCOME], "denied");
    assert_eq!(stage.noted(), [7]);
}

/// A modern client that shows forms.
async fn modern(web: &Web, params: Value) -> Value {
    web.modern_as("tools/call", params, json!({"elicitation": {}})).await.json().await
}

fn with(mut params: Value, state: &Value, answers: Value) -> Value {
    params["requestState"] = state.clone();
    params["inputResponses"] = answers;
    params
}

#[tokio::test]
async fn a_modern_client_comes_back_with_the_answer_to_the_same_call() {
    let stage = Stage::new();
    let web = Web::open(stage.server()).await;
    let asked = modern(&web, params(1)).await["result"].take();
    assert_eq!(asked["resultType"], "input_required");
    let requests = asked["inputRequests"].as_object().unwrap();
    let (key, request) = requests.iter().next().unwrap();
    assert_eq!((requests.len(), &request["method"]), (1, &json!("elicitation/create")));
    let state = &asked["requestState"];

    // A state that was changed, or is for another call, opens nothing; nor does one without its answer.
    let changed = json!(format!("{}x", state.as_str().unwrap()));
    let yes = json!({key.as_str(): accept("allow once")});
    for wrong in [with(params(1), &changed, yes.clone()), with(params(2), state, yes.clone())] {
        assert_eq!(modern(&web, wrong).await["error"]["code"], -32_602);
    }
    assert_eq!(
        modern(&web, with(params(1), state, json!({key.as_str(): 5}))).await["error"]["code"],
        -32_602
    );
    let again =
        modern(&web, with(params(1), state, json!({"other": accept("allow once")}))).await["result"].take();
    assert_eq!(again["resultType"], "input_required");
    assert_ne!(again["requestState"], *state);
    assert!(stage.noted().is_empty());

    let done = modern(&web, with(params(1), &again["requestState"], yes.clone())).await["result"].take();
    assert_eq!((&done["resultType"], &done["content"][0]["text"]), (&json!("complete"), &json!("1")));
    // It is over, and a state opens once.
    for used in [state, &again["requestState"]] {
        assert_eq!(modern(&web, with(params(1), used, yes.clone())).await["error"]["code"], -32_602);
    }
    assert_eq!(stage.noted(), [1]);
}

#[tokio::test]
async fn an_answer_to_a_question_that_was_never_put_allows_nothing() {
    let stage = Stage::new();
    let web = Web::open(stage.server()).await;
    let asked = modern(&web, params(1)).await["result"].take();
    let key = asked["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let mut early = params(2);
    early["inputResponses"] = json!({key: accept("allow once")});
    assert_eq!(modern(&web, early).await["result"]["resultType"], "input_required");
    assert!(stage.noted().is_empty());
}

#[tokio::test]
async fn both_eras_are_asked_over_stdio() {
    let stage = Stage::new();
    let mut peer = Peer::of(stage.server());
    let call = |answers: Option<(&Value, Value)>| {
        let mut params = params(5);
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        });
        if let Some((state, answers)) = answers {
            params = with(params, state, answers);
        }
        params
    };
    let asked = peer.ask(1, "tools/call", call(None)).await["result"].take();
    let key = asked["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let answers = json!({key: {"action": "decline"}});
    let denied =
        peer.ask(2, "tools/call", call(Some((&asked["requestState"], answers)))).await["result"].take();
    assert_eq!(denied["_meta"][OUTCOME], "denied");
    peer.leave().await.unwrap();
}

/// Says that it runs, once it was allowed.
fn tells() -> Arc<dyn AnyTool> {
    tool("tells", "Says that it runs.").permission(Permission::Confirm).risk(Risk::Safe).run(
        |_: Nothing, cx: Cx| async move {
            cx.log("half");
            Ok("done")
        },
    )
}

#[tokio::test]
async fn a_client_that_wants_progress_only_when_it_comes_back_hears_it() {
    let stage = Stage::new();
    stage.harness.register(tells());
    let web = Web::open(stage.server()).await;
    let params = || json!({"name": "tells", "arguments": {}});
    let asked = modern(&web, params()).await["result"].take();
    let key = asked["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let mut back = with(params(), &asked["requestState"], json!({key: accept("allow once")}));
    back["_meta"] = json!({"progressToken": "p"});
    let got = web.modern_as("tools/call", back, json!({"elicitation": {}})).await;
    let events = got.events().await;
    let (last, before) = events.split_last().unwrap();
    assert_eq!(last["result"]["content"][0]["text"], "done");
    let said: Vec<_> = before.iter().map(|step| &step["params"]).collect();
    assert_eq!(said, [&json!({"progressToken": "p", "progress": 1, "message": "half"})]);
}

async fn ended(events: &mut EventStream) -> &'static str {
    loop {
        if let Event::Ended { outcome, .. } = events.next().await {
            return outcome.name();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_client_never_comes_back_ends() {
    let stage = Stage::new();
    let mut events = stage.session.events();
    let mut peer = Peer::of(stage.server());
    let mut params = params(5);
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    });
    let asked = peer.ask(1, "tools/call", params.clone()).await["result"].take();
    assert_eq!(asked["resultType"], "input_required");
    let outcome = timeout(Duration::from_secs(900), ended(&mut events)).await.unwrap();
    assert!(["denied", "cancelled"].contains(&outcome), "{outcome}");
    assert!(stage.noted().is_empty());
    drop(timeout(PATIENCE, peer.leave()).await);
}
