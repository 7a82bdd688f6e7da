//! What servers have besides tools, for hosts that pass it on.

use crate::kit::{Bench, PATIENCE, lines, trace, until};
use haft_core::Cancel;
use haft_mcp::client::{Upstream, UpstreamError, UpstreamList, UpstreamNote, UpstreamRequest};
use haft_test::Harness;
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tokio::time::timeout;

fn script(era: &str) -> Value {
    let note =
        |method: &str, params: Value| json!({"line": {"jsonrpc": "2.0", "method": method, "params": params}});
    json!({"era": era, "capabilities": {"tools": {}, "prompts": {"listChanged": true}, "resources": {"subscribe": true}}, "on": {
        "prompts/list": [{"result": {"prompts": [{"name": "p", "x": 1}]}}],
        "prompts/get": [{"result": {"messages": [], "got": "$PARAMS"}}],
        "resources/list": [{"result": {"resources": [{"uri": "file:///a", "name": "a"}, {"uri": "file:///b", "name": "b"}]}}],
        "resources/read": [{"error": {"code": -32002, "message": "not there", "data": {"uri": "x"}}}],
        "resources/subscribe": [{"result": {}}, note("notifications/resources/updated", json!({"uri": "file:///a"}))],
        "subscriptions/listen": [note("notifications/resources/updated", json!({"uri": "file:///a"}))],
        "tool echo": [note("notifications/prompts/list_changed", json!({})), {"usual": 1}],
    }})
}

fn upstream(bench: &Bench) -> Arc<dyn Upstream> {
    bench.clients.upstreams().into_iter().find(|upstream| &*upstream.name() == "s").unwrap()
}

fn request(method: &'static str, params: Value) -> UpstreamRequest {
    let params = params.as_object().cloned().unwrap_or_default();
    UpstreamRequest { method, params, front: None, cancel: Cancel::new() }
}

#[tokio::test]
async fn prompts_and_resources_come_as_they_are_in_both_eras() {
    for era in ["legacy", "modern"] {
        let bench = Bench::new(&script(era)).ready().await;
        let upstream = upstream(&bench);
        assert!(upstream.capabilities()["resources"]["subscribe"].as_bool().unwrap());
        let prompts = upstream.list(UpstreamList::Prompts, Cancel::new()).await.unwrap();
        assert_eq!(prompts, [json!({"name": "p", "x": 1})]);
        assert_eq!(upstream.list(UpstreamList::Resources, Cancel::new()).await.unwrap().len(), 2);
        let templates = upstream.list(UpstreamList::ResourceTemplates, Cancel::new()).await.unwrap();
        assert!(templates.is_empty(), "it knows none");
        let got = upstream
            .ask(request("prompts/get", json!({"name": "p", "arguments": {"a": "b"}})))
            .await
            .unwrap();
        assert_eq!(got["got"]["arguments"], json!({"a": "b"}));
        let refused = upstream.ask(request("resources/read", json!({"uri": "x"}))).await.unwrap_err();
        let UpstreamError::Rpc(error) = refused else { panic!("an error of the server") };
        assert_eq!((error.code, error.message.as_str()), (-32_002, "not there"));
        assert_eq!(error.data, Some(json!({"uri": "x"})));
        bench.finish().await;
    }
}

#[tokio::test]
async fn changes_are_heard_in_both_eras() {
    for era in ["legacy", "modern"] {
        let bench = Bench::new(&script(era)).ready().await;
        let upstream = upstream(&bench);
        let mut notes = upstream.notes();
        let subscription = upstream.subscribe("file:///a".to_owned()).await.unwrap();
        let note = timeout(PATIENCE, notes.recv()).await.unwrap().unwrap();
        assert_eq!(note, UpstreamNote::ResourceUpdated(json!({"uri": "file:///a"})), "{era}");
        drop(subscription);
        bench.text("echo", json!({})).await;
        loop {
            if timeout(PATIENCE, notes.recv()).await.unwrap().unwrap() == UpstreamNote::PromptsChanged {
                break;
            }
        }
        bench.finish().await;
    }
}

#[tokio::test]
async fn a_subscription_outlives_the_start_of_the_server_that_it_was_made_in() {
    for era in ["legacy", "modern"] {
        let harness = Harness::new();
        let told = trace(&harness, "told");
        let note = json!({"append": {"file": told, "text": "told"}});
        let script = json!({"era": era, "capabilities": {"tools": {}, "resources": {"subscribe": true}},
        "tools": [{"name": "echo", "inputSchema": {"type": "object"}, "annotations": {"idempotentHint": true}}],
        "on": {
            "resources/subscribe": [note, {"result": {}}],
            "subscriptions/listen": [note],
            "tool echo": [{"once": {"file": trace(&harness, "once"), "first": [{"usual": 1}, {"exit": 0}],
                "then": [{"usual": 1}]}}],
        }});
        let bench = Bench::with(harness, &script, |_| {}).ready().await;
        let upstream = upstream(&bench);
        let mut notes = upstream.notes();
        let _kept = upstream.subscribe("file:///a".to_owned()).await.unwrap();
        until("it isn't asked to tell", || lines(&told) == 1).await;
        for _ in 0..2 {
            bench.text("echo", json!({})).await;
        }
        let note = timeout(PATIENCE, notes.recv()).await.unwrap().unwrap();
        assert_eq!(note, UpstreamNote::ResourceUpdated(json!({"uri": "file:///a"})), "{era}");
        until("the next start isn't asked to tell", || lines(&told) == 2).await;
        bench.finish().await;
    }
}

#[tokio::test]
async fn who_leaves_a_resource_leaves_others_that_hear_of_it() {
    let harness = Harness::new();
    let left = trace(&harness, "left");
    let updated = json!({"line": {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "file:///a"}}});
    let script = json!({"capabilities": {"tools": {}, "resources": {"subscribe": true}}, "on": {
        "resources/subscribe": [{"result": {}}],
        "resources/unsubscribe": [{"append": {"file": left, "text": "left"}}, {"result": {}}],
        "tool echo": [updated, {"usual": 1}],
    }});
    let bench = Bench::with(harness, &script, |_| {}).ready().await;
    let upstream = upstream(&bench);
    let mut notes = upstream.notes();
    let one = upstream.subscribe("file:///a".to_owned()).await.unwrap();
    let other = upstream.subscribe("file:///a".to_owned()).await.unwrap();
    drop(one);
    for _ in 0..2 {
        bench.text("echo", json!({})).await;
        let note = timeout(PATIENCE, notes.recv()).await.unwrap().unwrap();
        assert_eq!(note, UpstreamNote::ResourceUpdated(json!({"uri": "file:///a"})));
    }
    assert_eq!(lines(&left), 0, "somebody hears of it still");
    drop(other);
    until("the last one doesn't leave", || lines(&left) == 1).await;
    bench.finish().await;
}

#[tokio::test]
async fn a_server_that_wants_more_first_is_asked_again_with_it() {
    let harness = Harness::new();
    let wants = json!({"result": {"resultType": "input_required", "requestState": "s", "inputRequests": {"who":
        {"method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": {"type": "object"}}}}}});
    let script = json!({"era": "modern", "capabilities": {"prompts": {}}, "on": {"prompts/get": [{"once": {
        "file": trace(&harness, "once"), "first": [wants], "then": [{"result": {"messages": [], "got": "$PARAMS"}}],
    }}]}});
    let bench = Bench::with(harness, &script, |_| {}).ready().await;
    let got = upstream(&bench).ask(request("prompts/get", json!({"name": "p"}))).await.unwrap();
    assert_eq!((&got["got"]["name"], &got["got"]["requestState"]), (&json!("p"), &json!("s")));
    assert_eq!(
        got["got"]["inputResponses"],
        json!({"who": {"action": "decline"}}),
        "nobody is there to be asked"
    );
    bench.finish().await;
}

#[tokio::test]
async fn a_server_without_such_things_has_none() {
    let bench = Bench::new(&json!({})).ready().await;
    let upstream = upstream(&bench);
    for what in [UpstreamList::Prompts, UpstreamList::Resources, UpstreamList::ResourceTemplates] {
        assert!(upstream.list(what, Cancel::new()).await.unwrap().is_empty(), "{what:?}");
    }
    let refused =
        upstream.ask(UpstreamRequest { params: Map::new(), ..request("prompts/get", json!({})) }).await;
    assert!(matches!(refused, Err(UpstreamError::Rpc(error)) if error.code == -32_601));
    bench.finish().await;
}
