//! The server over HTTP, by real sockets.

use crate::{
    kit::{Mirror, OUTCOME, PATIENCE, initialize, server, sum, talk, wait},
    web::Web,
};
use haft_core::{Block, Cx, Effects, Failure, Output, Risk, SessionView, Spec, Tool};
use haft_mcp::HttpSetup;
use haft_test::Harness;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{sync::Notify, time::timeout};

fn ask(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

#[tokio::test]
async fn a_legacy_client_has_a_session_until_it_ends_it() {
    let harness = Harness::new();
    harness.register(sum());
    let web = Web::open(server(&harness)).await;
    let id = web.greet(json!({})).await;
    assert!(id.bytes().all(|byte| (0x21..=0x7e).contains(&byte)), "visible ASCII: {id}");
    let listed = web.in_session(&id, &ask(1, "tools/list", json!({}))).await.json().await;
    assert!(listed["result"]["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "sum"));
    let called = web.call(&id, 2, json!({"name": "sum", "arguments": {"n": 1}})).await.json().await;
    assert_eq!(called["result"]["structuredContent"], json!({"sum": 2}));
    assert_eq!(web.in_session(&id, &ask(3, "ping", json!({}))).await.json().await["result"], json!({}));
    // In this era an error is an answer like any other.
    let unknown = web.in_session(&id, &ask(4, "no/such", json!({}))).await;
    assert_eq!(unknown.status, 200);
    assert_eq!(unknown.json().await["error"]["code"], -32_601);

    let delete = web.send("DELETE", &[("mcp-session-id", &id)], "").await;
    assert_eq!(delete.status, 204);
    for gone in [id.as_str(), "never-was"] {
        assert_eq!(web.in_session(gone, &ask(5, "tools/list", json!({}))).await.status, 404);
        assert_eq!(web.listen(gone, None).await.status, 404);
        assert_eq!(web.send("DELETE", &[("mcp-session-id", gone)], "").await.status, 404);
    }
    assert_eq!(web.post(&[], &ask(6, "tools/list", json!({}))).await.status, 400, "it names no session");
}

#[tokio::test]
async fn a_session_of_2025_03_26_may_post_several_messages_at_once() {
    let harness = Harness::new();
    harness.register(sum());
    let web = Web::open(server(&harness)).await;
    let greeted = web.post(&[], &ask(0, "initialize", initialize("2025-03-26"))).await;
    let id = greeted.headers["mcp-session-id"].to_str().unwrap().to_owned();
    let session = ("mcp-session-id", id.as_str());
    let note = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let call = ask(1, "tools/call", json!({"name": "sum", "arguments": {"n": 1}}));
    let batch = json!([call, note, ask(2, "ping", json!({}))]);
    for accepted in ["application/json, text/event-stream", "text/event-stream"] {
        let got = web.post(&[session, ("accept", accepted)], &batch).await;
        assert_eq!(got.status, 200);
        let replies = got.json().await;
        assert_eq!(replies.as_array().map(Vec::len), Some(2), "{replies}");
        assert_eq!(replies[0]["result"]["structuredContent"], json!({"sum": 2}));
        assert_eq!((&replies[1]["id"], &replies[1]["result"]), (&json!(2), &json!({})));
    }
    assert_eq!(web.post(&[session], &json!([note])).await.status, 202, "nothing in it wants an answer");
    assert_eq!(web.post(&[session], &json!([])).await.status, 400);
    assert_eq!(web.post(&[("mcp-session-id", "never-was")], &batch).await.status, 404);
    let other = web.greet(json!({})).await;
    let refused = web.in_session(&other, &batch).await;
    assert_eq!((refused.status, refused.json().await["error"]["code"].as_i64()), (400, Some(-32_600)));
}

#[tokio::test]
async fn a_modern_client_needs_no_session() {
    let harness = Harness::new();
    harness.register(sum());
    let web = Web::open(server(&harness)).await;
    let found = web.modern("server/discover", json!({})).await;
    assert!(!found.headers.contains_key("mcp-session-id"));
    let found = found.json().await["result"].take();
    assert_eq!((&found["supportedVersions"], &found["ttlMs"]), (&json!(["2026-07-28"]), &json!(0)));
    let called = web.modern("tools/call", json!({"name": "sum", "arguments": {"n": 1}})).await.json().await;
    assert_eq!(called["result"]["structuredContent"], json!({"sum": 2}));
    assert_eq!(called["result"]["resultType"], "complete");
    for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "unknown/method"] {
        let got = web.modern(method, json!({})).await;
        assert_eq!(got.status, 404, "{method}");
        let reply = got.json().await;
        assert_eq!((&reply["error"]["code"], &reply["id"]), (&json!(-32_601), &json!(1)), "{method}");
    }
}

#[tokio::test]
async fn headers_that_disagree_with_the_body_are_refused() {
    let harness = Harness::new();
    harness.register(sum());
    let web = Web::open(server(&harness)).await;
    let meta = |version: &str| {
        json!({"_meta": {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
        }})
    };
    let (modern, list) = (("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list"));
    let cases = [
        (vec![modern, list], meta("v999"), -32_020),
        (vec![("mcp-protocol-version", "v999"), list], meta("v999"), -32_022),
        (vec![list], meta("2026-07-28"), -32_020),
        (vec![modern], meta("2026-07-28"), -32_020),
        (vec![modern, ("mcp-method", "tools/call")], meta("2026-07-28"), -32_020),
        (vec![modern, list], json!({}), -32_602),
        (vec![("mcp-protocol-version", "1999-01-01")], json!({}), -32_022),
    ];
    for (headers, params, code) in cases {
        let got = web.post(&headers, &ask(7, "tools/list", params.clone())).await;
        assert_eq!(got.status, 400, "{headers:?} {params}");
        let reply = got.json().await;
        assert_eq!(
            (&reply["error"]["code"], &reply["id"]),
            (&json!(code), &json!(7)),
            "{headers:?} {params}"
        );
    }
    let mut params = meta("2026-07-28");
    params["name"] = json!("sum");
    let headers = [modern, ("mcp-method", "tools/call"), ("mcp-name", "other")];
    let got = web.post(&headers, &ask(8, "tools/call", params)).await;
    assert_eq!((got.status, got.json().await["error"]["code"].as_i64()), (400, Some(-32_020)));
}

#[tokio::test]
async fn headers_are_checked_by_the_tool_that_the_call_runs() {
    let harness = Harness::new();
    let web = Web::open(server(&harness)).await;
    let schema = json!({
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    });
    // Nobody has looked at the catalogue since.
    harness.catalogue().register(Mirror::of(schema, &["reflect"]), "test:mirror").unwrap().keep();
    for name in ["reflect", "mirror", "Mirror"] {
        let params = || json!({"name": name, "arguments": {"region": "eu"}});
        let got = web.modern("tools/call", params()).await;
        assert_eq!((got.status, got.json().await["error"]["code"].as_i64()), (400, Some(-32_020)), "{name}");
        let mut params = params();
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let headers = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", name),
            ("mcp-param-region", "eu"),
        ];
        let called = web.post(&headers, &ask(1, "tools/call", params)).await.json().await;
        assert_eq!(called["result"]["content"][0]["text"], r#"{"region":"eu"}"#, "{name}");
    }
}

#[tokio::test]
async fn nobody_comes_in_by_another_name_from_another_page_or_without_the_token() {
    let harness = Harness::new();
    let setup = HttpSetup::with_token("secret").allow_origin("https://app.example");
    let web = Web::start(server(&harness), setup).await;
    let ping = json!({"jsonrpc": "2.0", "method": "notifications/cancelled"});
    let own = web.address.to_string();
    let token = ("authorization", "Bearer secret");
    let modern = ("mcp-protocol-version", "2026-07-28");
    let same = format!("http://{own}");
    let cases: [(&[(&str, &str)], u16); 7] = [
        (&[modern, token], 202),
        (&[modern, token, ("origin", same.as_str())], 202),
        (&[modern, token, ("origin", "https://app.example")], 202),
        (&[modern, token, ("host", "evil.example.com")], 403),
        (&[modern, token, ("origin", "http://evil.example.com")], 403),
        (&[modern], 401),
        (&[modern, ("authorization", "Bearer other")], 401),
    ];
    for (headers, status) in cases {
        assert_eq!(web.post(headers, &ping).await.status, status, "{headers:?}");
    }
    let asked = web.send("OPTIONS", &[("origin", "https://app.example")], "").await;
    assert_eq!(
        (asked.status, &asked.headers["access-control-allow-origin"]),
        (204, &"https://app.example".parse().unwrap())
    );
    assert_eq!(web.send("OPTIONS", &[("origin", "https://other.example")], "").await.status, 403);
    assert_eq!(web.send("PUT", &[token], "").await.status, 405);
}

#[tokio::test]
async fn what_is_no_message_is_refused_and_ends_nothing() {
    let harness = Harness::new();
    harness.register(sum());
    let web = Web::open(server(&harness)).await;
    let json = ("content-type", "application/json");
    for (body, code) in [("{\"jsonrpc\":", -32_700), ("[]", -32_600), ("\u{feff}7", -32_600)] {
        let got = web.send("POST", &[json], body).await;
        assert_eq!(got.status, 400, "{body}");
        assert_eq!(got.json().await["error"]["code"], code, "{body}");
    }
    assert_eq!(web.send("POST", &[json], b"\xff".as_slice()).await.status, 400);
    assert_eq!(web.send("POST", &[("content-type", "text/plain")], "{}").await.status, 415);
    assert_eq!(web.send("POST", &[json, ("accept", "text/html")], "{}").await.status, 406);
    let long = vec![b' '; 16 * 1024 * 1024 + 1];
    assert_eq!(web.send("POST", &[json], long).await.status, 413);
    let called = web.modern("tools/call", json!({"name": "sum", "arguments": {"n": 1}})).await.json().await;
    assert_eq!(called["result"]["isError"], false);
}

#[tokio::test]
async fn progress_makes_a_stream_of_the_response() {
    let harness = Harness::new();
    harness.register(talk());
    let web = Web::open(server(&harness)).await;
    let id = web.greet(json!({})).await;
    let params = json!({"name": "talk", "_meta": {"progressToken": "p"}});
    for got in [web.call(&id, 1, params.clone()).await, web.modern("tools/call", params).await] {
        let events = got.events().await;
        let (last, before) = events.split_last().unwrap();
        assert_eq!(last["result"]["isError"], false);
        assert!(!before.is_empty() && before.iter().all(|event| event["method"] == "notifications/progress"));
    }
    // A client that takes no streams gets the reply alone.
    let headers = [("mcp-session-id", id.as_str()), ("accept", "application/json")];
    let params = json!({"name": "talk", "_meta": {"progressToken": "p"}});
    let alone = web.post(&headers, &ask(2, "tools/call", params)).await.json().await;
    assert_eq!(alone["result"]["isError"], false);
}

#[tokio::test]
async fn calls_of_one_session_run_beside_each_other() {
    let harness = Harness::new();
    let (running, cancelled) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    harness.register(wait(&running, &cancelled));
    harness.register(sum());
    let web = Web::open(server(&harness)).await;
    let id = web.greet(json!({})).await;
    let waiting = web.call(&id, 1, json!({"name": "wait"}));
    let others = async {
        timeout(PATIENCE, running.notified()).await.unwrap();
        for number in 2..10 {
            let called = web.call(&id, number, json!({"name": "sum", "arguments": {"n": number}})).await;
            assert_eq!(called.json().await["result"]["structuredContent"], json!({"sum": number + 1}));
        }
        let stop = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
        assert_eq!(web.in_session(&id, &stop).await.status, 202);
        timeout(PATIENCE, cancelled.notified()).await.unwrap();
    };
    let (waited, ()) = tokio::join!(waiting, others);
    // Its response ends without a reply, and its id is free again.
    if waited.is_stream() {
        assert_eq!(waited.events().await, Vec::<Value>::new());
    } else {
        assert_eq!(waited.text().await, "");
    }
    let called = web.call(&id, 1, json!({"name": "sum", "arguments": {"n": 1}})).await;
    assert_eq!(called.json().await["result"]["structuredContent"], json!({"sum": 2}));
}

#[tokio::test]
async fn a_modern_client_that_goes_away_cancels_its_call() {
    let harness = Harness::new();
    let (running, cancelled) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    harness.register(wait(&running, &cancelled));
    let web = Web::open(server(&harness)).await;
    let params = json!({"name": "wait"});
    // Before the response has begun, and after.
    let call = web.modern("tools/call", params.clone());
    tokio::select! {
        got = call => {
            running.notified().await;
            drop(got);
        }
        () = running.notified() => {}
    }
    timeout(PATIENCE, cancelled.notified()).await.unwrap();
    let begun = web.modern("tools/call", params).await;
    assert!(begun.is_stream());
    drop(begun);
    timeout(PATIENCE, cancelled.notified()).await.unwrap();
}

#[tokio::test]
async fn a_legacy_client_that_comes_back_gets_what_it_missed() {
    let harness = Harness::new();
    let (running, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (told, waited) = (Arc::clone(&running), Arc::clone(&go_on));
    harness.register(haft_core::tool("slow", "Waits a while.").risk(Risk::Safe).read_only().run(
        move |_: crate::kit::Nothing, cx: Cx| {
            let (told, waited) = (Arc::clone(&told), Arc::clone(&waited));
            async move {
                cx.log("half");
                told.notify_one();
                waited.notified().await;
                Ok("done")
            }
        },
    ));
    let web = Web::open(server(&harness)).await;
    let id = web.greet(json!({})).await;
    let mut got = web.call(&id, 1, json!({"name": "slow", "_meta": {"progressToken": 1}})).await;
    let first = got.event().await.unwrap();
    assert_eq!(first.data, "", "it says first from where to come back");
    let progress = got.event().await.unwrap();
    assert_eq!(progress.json()["method"], "notifications/progress");
    timeout(PATIENCE, running.notified()).await.unwrap();
    drop(got);
    go_on.notify_one();
    // From after the progress only the reply is missing, from the beginning both.
    let after = web.listen(&id, progress.id.as_deref()).await.events().await;
    assert_eq!((after.len(), after[0]["result"]["content"][0]["text"].as_str()), (1, Some("done")));
    let all = web.listen(&id, first.id.as_deref()).await.events().await;
    assert_eq!((all.len(), &all[0]["method"], &all[1]), (2, &json!("notifications/progress"), &after[0]));
    assert_eq!(web.listen(&id, Some("77-1")).await.status, 400);
    assert_eq!(web.listen(&id, Some("nonsense")).await.status, 400);
}

#[tokio::test]
async fn a_call_that_says_nothing_can_soon_be_come_back_to() {
    let harness = Harness::new();
    let go_on = Arc::new(Notify::new());
    let waited = Arc::clone(&go_on);
    harness.register(haft_core::tool("slow", "Waits a while.").risk(Risk::Safe).read_only().run(
        move |_: crate::kit::Nothing, _: Cx| {
            let waited = Arc::clone(&waited);
            async move {
                waited.notified().await;
                Ok("done")
            }
        },
    ));
    let web = Web::open(server(&harness)).await;
    let id = web.greet(json!({})).await;
    let began = Instant::now();
    let mut got = web.call(&id, 1, json!({"name": "slow"})).await;
    let first = got.event().await.unwrap();
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(first.data, "", "it says from where to come back, and nothing else");
    drop(got);
    go_on.notify_one();
    let after = web.listen(&id, first.id.as_deref()).await.events().await;
    assert_eq!((after.len(), after[0]["result"]["content"][0]["text"].as_str()), (1, Some("done")));
}

#[tokio::test]
async fn who_listens_is_told_of_a_new_tool() {
    let harness = Harness::new();
    let web = Web::open(server(&harness)).await;
    let id = web.greet(json!({})).await;
    let mut legacy = web.listen(&id, None).await;
    let wanted = json!({"notifications": {"toolsListChanged": true, "promptsListChanged": true}});
    let mut modern = web.modern("subscriptions/listen", wanted).await;
    let acknowledged = modern.hear().await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["notifications"], json!({"toolsListChanged": true}));
    harness.register(sum());
    assert_eq!(legacy.hear().await["method"], "notifications/tools/list_changed");
    let told = modern.hear().await;
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert_eq!(told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    // A second reader takes the stream over.
    let mut second = web.listen(&id, None).await;
    assert_eq!(legacy.event().await, None);
    harness.register(talk());
    assert_eq!(second.hear().await["method"], "notifications/tools/list_changed");
}

#[tokio::test]
async fn the_end_of_the_server_ends_streams_and_calls_in_good_order() {
    let harness = Harness::new();
    let (running, cancelled) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    harness.register(wait(&running, &cancelled));
    let mut web = Web::open(server(&harness)).await;
    let id = web.greet(json!({})).await;
    let aside = web.listen(&id, None).await;
    let mut listening =
        web.modern("subscriptions/listen", json!({"notifications": {"toolsListChanged": true}})).await;
    listening.hear().await;
    let called = web.call(&id, 1, json!({"name": "wait", "_meta": {"progressToken": 1}})).await;
    timeout(PATIENCE, running.notified()).await.unwrap();
    web.stop().await;
    assert_eq!(aside.events().await, Vec::<Value>::new());
    let ended = listening.events().await;
    assert_eq!(ended[0]["result"]["resultType"], "complete");
    assert_eq!(ended[0]["result"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
    let result = called.events().await.pop().unwrap();
    assert_eq!(result["result"]["_meta"][OUTCOME], "cancelled");
}

/// Says much.
struct Loud;

#[derive(Deserialize, JsonSchema)]
struct Much {
    /// How many bytes
    bytes: usize,
}

impl Tool for Loud {
    type Input = Much;
    type Output = Output;

    fn spec(&self) -> Spec {
        Spec::new("loud", "Makes a long sound.").read_only()
    }

    fn effects(&self, _: &Much, _: &dyn SessionView) -> Effects {
        Effects::none()
    }

    async fn run(&self, input: Much, _: &Cx) -> Result<Output, Failure> {
        let sound = Block::Audio { data: "A".repeat(input.bytes), media_type: "audio/wav".to_owned() };
        Ok(Output { content: vec![sound], ..Output::default() })
    }
}

#[tokio::test]
async fn a_big_result_arrives_whole() {
    let harness = Harness::new();
    harness.register(haft_core::erase(Loud));
    let web = Web::open(server(&harness)).await;
    let bytes = 8 * 1024 * 1024;
    let called =
        web.modern("tools/call", json!({"name": "loud", "arguments": {"bytes": bytes}})).await.json().await;
    assert_eq!(called["result"]["content"][0]["data"].as_str().map(str::len), Some(bytes));
}
