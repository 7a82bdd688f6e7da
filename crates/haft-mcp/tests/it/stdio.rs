//! The server over two pipes: raw lines as one peer, the SDK's client as the other.

use crate::kit::{
    Mirror, Nothing, OUTCOME, PATIENCE, Peer, append, initialize, modern, serve, server, sum, talk, wait,
};
use haft_core::{Event, tool};
use haft_test::Harness;
use rmcp::{
    ClientLifecycleMode,
    model::{CallToolRequestParams, ProtocolVersion},
    serve_client, serve_client_with_lifecycle,
};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{io::AsyncWriteExt, sync::Notify, time::timeout};

#[tokio::test]
async fn a_legacy_client_shakes_hands() {
    let harness = Harness::new();
    let mut peer = Peer::new(&harness);
    // Neither may end the server, whatever comes first.
    peer.tell("notifications/initialized", json!({})).await;
    assert_eq!(peer.ask(1, "ping", json!({})).await["result"], json!({}));
    let result = peer.ask(2, "initialize", initialize("2025-06-18")).await["result"].take();
    assert_eq!(result["protocolVersion"], "2025-06-18");
    assert_eq!(result["capabilities"], json!({"tools": {"listChanged": true}, "logging": {}}));
    assert_eq!(result["serverInfo"]["name"], "haft");
    assert!(result["instructions"].as_str().is_some_and(|text| !text.is_empty()));
    assert_eq!(peer.ask(3, "ping", json!({})).await["result"], json!({}));
    assert_eq!(peer.ask(4, "prompts/list", json!({})).await["error"]["code"], -32_601);
    peer.leave().await.unwrap();
}

#[tokio::test]
async fn a_modern_client_discovers() {
    let harness = Harness::new();
    harness.register(sum());
    let mut peer = Peer::new(&harness);
    assert_eq!(peer.ask(1, "server/discover", json!({})).await["error"]["code"], -32_602);
    let result = peer.ask(2, "server/discover", modern(json!({}))).await["result"].take();
    assert_eq!(result["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["capabilities"], json!({"tools": {"listChanged": true}, "logging": {}}));
    let params = modern(json!({"name": "sum", "arguments": {"n": 1}}));
    let result = peer.ask(3, "tools/call", params).await["result"].take();
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["structuredContent"], json!({"sum": 2}));
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "haft");
    assert_eq!(peer.ask(4, "tools/list", json!({})).await["error"]["code"], -32_602);
    peer.leave().await.unwrap();
}

#[tokio::test]
async fn both_eras_list_all_tools_as_declared() {
    let harness = Harness::new();
    harness.register(sum());
    harness.register(Mirror::tool());
    let mut peer = Peer::legacy(&harness).await;
    let legacy = peer.ask(1, "tools/list", json!({})).await["result"].take();
    assert_eq!(legacy.get("resultType"), None);
    let tools = legacy["tools"].as_array().unwrap();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.is_sorted() && names.contains(&"sum"), "{names:?}");
    let mirror = tools.iter().find(|tool| tool["name"] == "mirror").unwrap();
    assert_eq!(mirror["inputSchema"].to_string(), Mirror::schema().to_string());
    let hints = json!({
        "title": "Mirror", "readOnlyHint": true, "destructiveHint": false,
        "idempotentHint": false, "openWorldHint": false,
    });
    assert_eq!(mirror["annotations"], hints);
    let modern = peer.ask(2, "tools/list", modern(json!({}))).await["result"].take();
    assert_eq!((&modern["resultType"], &modern["ttlMs"]), (&json!("complete"), &json!(0)));
    assert_eq!(modern["cacheScope"], "private");
    assert_eq!(modern["tools"], legacy["tools"]);
    let refused = peer.ask(3, "tools/list", json!({"cursor": "x"})).await;
    assert_eq!(refused["error"]["code"], -32_602);
}

#[tokio::test]
async fn a_call_comes_back_whatever_its_outcome() {
    let harness = Harness::new();
    harness.register(sum());
    let mut peer = Peer::legacy(&harness).await;
    let done = peer.call(1, "sum", json!({"n": 4})).await;
    assert_eq!(done["content"], json!([{"type": "text", "text": "{\"sum\":5}"}]));
    assert_eq!((&done["structuredContent"], &done["isError"]), (&json!({"sum": 5}), &json!(false)));
    assert_eq!(done["_meta"][OUTCOME], "completed");
    // A model can mend its input, but nobody can mend a name that leads nowhere.
    let invalid = peer.call(2, "sum", json!({"n": "many"})).await;
    assert_eq!((&invalid["isError"], &invalid["_meta"][OUTCOME]), (&json!(true), &json!("invalid")));
    let unknown = peer.ask(3, "tools/call", json!({"name": "sun"})).await;
    assert_eq!(unknown["error"]["code"], -32_602);
    let message = unknown["error"]["message"].as_str().unwrap();
    assert!(message.contains("Unknown tool: sun") && message.contains("sum"), "{message}");
    for params in [json!({"arguments": {}}), json!({"name": 4}), json!({"name": "x".repeat(1 << 20)})] {
        let error = peer.ask(4, "tools/call", params).await["error"].take();
        assert_eq!(error["code"], -32_602);
        assert!(error["message"].as_str().unwrap().len() < 200, "it isn't said back");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn pipelined_writes_of_one_file_keep_their_order() {
    let harness = Harness::new();
    let list = Arc::new(Mutex::new(Vec::new()));
    harness.register(append(&list));
    let mut peer = Peer::legacy(&harness).await;
    let call = |n: u64| {
        let params = json!({"name": "append", "arguments": {"n": n}});
        json!({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params}).to_string()
    };
    peer.say(&(1..=20).map(call).collect::<Vec<_>>().join("\n")).await;
    for _ in 1..=20 {
        let reply = peer.hear().await;
        assert_eq!(reply["result"]["_meta"][OUTCOME], "completed", "{reply}");
        assert_eq!(reply["result"]["content"][0]["text"], reply["id"].to_string());
    }
    assert_eq!(*list.lock().unwrap(), (1..=20).collect::<Vec<u64>>());
}

#[tokio::test]
async fn arguments_reach_the_executor_as_they_were_written() {
    let harness = Harness::new();
    harness.register(Mirror::tool());
    let mut events = harness.session().events();
    let mut peer = Peer::legacy(&harness).await;
    let arguments = r#"{ "n" : 18446744073709551615, "f": 1.50 }"#;
    let params = format!(r#"{{"name":"mirror","arguments":{arguments}}}"#);
    peer.say(&format!(r#"{{"jsonrpc":"2.0","id":"é","method":"tools/call","params":{params}}}"#)).await;
    let reply = peer.hear().await;
    assert_eq!(reply["id"], "é");
    assert_eq!(reply["result"]["content"][0]["text"], r#"{"n":18446744073709551615,"f":1.5}"#);
    let requested = std::iter::from_fn(|| events.try_next()).find_map(|event| match event {
        Event::Requested { input, .. } => Some(input),
        _ => None,
    });
    assert_eq!(requested.as_deref(), Some(arguments));
}

#[tokio::test]
async fn what_is_no_message_is_answered_and_ends_nothing() {
    let harness = Harness::new();
    harness.register(sum());
    let mut peer = Peer::legacy(&harness).await;
    let cases = [
        ("{\"jsonrpc\":", -32_700, Value::Null),
        ("nonsense", -32_700, Value::Null),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32_600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32_600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":5}"#, -32_600, json!(5)),
        (r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":[]}"#, -32_602, json!(6)),
        (r#"{"jsonrpc":"2.0","id":7,"method":"no/such"}"#, -32_601, json!(7)),
    ];
    for (line, code, id) in cases {
        peer.say("").await;
        peer.say(line).await;
        let reply = peer.hear().await;
        assert_eq!((&reply["error"]["code"], &reply["id"]), (&json!(code), &id), "{line}");
    }
    assert_eq!(peer.call(8, "sum", json!({"n": 1})).await["isError"], false);
}

/// A client of the one revision in which several messages may come at once.
async fn batching(harness: &Harness) -> Peer {
    let mut peer = Peer::new(harness);
    let reply = peer.ask(0, "initialize", initialize("2025-03-26")).await;
    assert_eq!(reply["result"]["protocolVersion"], "2025-03-26");
    peer
}

fn append_call(n: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": "append", "arguments": {"n": n}}})
}

#[tokio::test]
async fn several_messages_at_once_are_answered_by_one_array_in_their_order() {
    let harness = Harness::new();
    let list = Arc::new(Mutex::new(Vec::new()));
    harness.register(append(&list));
    let mut peer = batching(&harness).await;
    let batch = json!([
        append_call(1),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "a", "method": "no/such"},
        append_call(2),
        7,
        {"jsonrpc": "2.0", "id": 3, "method": "initialize", "params": initialize("2025-06-18")},
        {"jsonrpc": "2.0", "id": 4, "method": "ping", "params": modern(json!({}))},
        {"jsonrpc": "2.0", "id": 5, "method": "ping"},
    ]);
    peer.say(&batch.to_string()).await;
    let replies = peer.hear().await;
    let told: Value = replies
        .as_array()
        .unwrap()
        .iter()
        .map(|reply| json!([reply["id"], reply["error"]["code"]]))
        .collect();
    let expected =
        json!([[1, null], ["a", -32_601], [2, null], [null, -32_600], [3, -32_600], [4, -32_600], [5, null]]);
    assert_eq!(told, expected, "{replies}");
    assert_eq!(*list.lock().unwrap(), [1, 2]);
}

#[tokio::test]
async fn a_batch_that_is_none_is_refused_whole_and_one_that_asks_nothing_is_not_answered() {
    let harness = Harness::new();
    let list = Arc::new(Mutex::new(Vec::new()));
    harness.register(append(&list));
    let mut peer = batching(&harness).await;
    let too_many = json!((1..=257).map(append_call).collect::<Vec<_>>()).to_string();
    for (line, code) in [("[]", -32_600), ("[1,", -32_700), (too_many.as_str(), -32_600)] {
        peer.say(line).await;
        assert_eq!(peer.hear().await["error"]["code"], code);
    }
    assert!(list.lock().unwrap().is_empty());
    let quiet = json!([
        {"jsonrpc": "2.0", "method": "notifications/initialized"}, {"jsonrpc": "2.0", "id": 9, "result": {}}
    ]);
    peer.say(&quiet.to_string()).await;
    // The next line is the reply to what follows.
    assert_eq!(peer.ask(1, "ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn an_array_within_a_batch_is_told_as_what_it_is() {
    let harness = Harness::new();
    let mut peer = batching(&harness).await;
    let ping = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    peer.say(&json!([[ping(1)], ping(2)]).to_string()).await;
    let replies = peer.hear().await;
    let message = replies[0]["error"]["message"].as_str().unwrap();
    assert!(message.contains("an array within an array"), "{message}");
    assert_eq!((&replies[0]["id"], &replies[0]["error"]["code"]), (&Value::Null, &json!(-32_600)));
    assert_eq!((&replies[1]["id"], &replies[1]["result"]), (&json!(2), &json!({})));
}

/// A client of the older era whose call 1 runs until it is cancelled, and what tells of that.
async fn waiting(harness: &Harness) -> (Peer, Arc<Notify>) {
    let (running, cancelled) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    harness.register(wait(&running, &cancelled));
    let mut peer = Peer::legacy(harness).await;
    peer.send(1, "tools/call", json!({"name": "wait"})).await;
    timeout(PATIENCE, running.notified()).await.unwrap();
    (peer, cancelled)
}

#[tokio::test]
async fn an_id_in_use_is_refused() {
    let harness = Harness::new();
    let (mut peer, _cancelled) = waiting(&harness).await;
    assert_eq!(peer.ask(1, "ping", json!({})).await["error"]["code"], -32_600);
}

#[tokio::test]
async fn a_cancelled_call_ends_without_a_reply() {
    let harness = Harness::new();
    harness.register(sum());
    let (mut peer, cancelled) = waiting(&harness).await;
    peer.tell("notifications/cancelled", json!({"requestId": 1, "reason": "enough"})).await;
    timeout(PATIENCE, cancelled.notified()).await.unwrap();
    // The next lines are the replies to what follows.
    peer.call(2, "sum", json!({"n": 1})).await;
    assert_eq!(peer.ask(3, "ping", json!({})).await["result"], json!({}));
}

#[tokio::test]
async fn a_cancel_of_nothing_ends_nothing() {
    let harness = Harness::new();
    let (mut peer, cancelled) = waiting(&harness).await;
    for params in [json!({"requestId": "1"}), json!({"requestId": 9}), json!({"requestId": {}}), json!({})] {
        peer.tell("notifications/cancelled", params).await;
    }
    // Its id is in use still.
    assert_eq!(peer.ask(1, "ping", json!({})).await["error"]["code"], -32_600);
    peer.tell("notifications/cancelled", json!({"requestId": 1.0})).await;
    timeout(PATIENCE, cancelled.notified()).await.unwrap();
}

#[tokio::test]
async fn progress_comes_before_the_reply() {
    let harness = Harness::new();
    harness.register(talk());
    let mut peer = Peer::legacy(&harness).await;
    peer.send(1, "tools/call", json!({"name": "talk", "_meta": {"progressToken": "p"}})).await;
    let (mut last, mut said) = (0, String::new());
    let reply = loop {
        let message = peer.hear().await;
        if message["method"] != "notifications/progress" {
            break message;
        }
        assert_eq!(message["params"]["progressToken"], "p");
        let count = message["params"]["progress"].as_u64().unwrap();
        assert!(count > last, "progress must rise");
        last = count;
        said.push_str(message["params"]["message"].as_str().unwrap());
    };
    assert_eq!(reply["id"], 1);
    assert!(said.contains("first") && said.contains("second"), "{said}");
    // Without a token nobody asked for it.
    assert_eq!(peer.call(2, "talk", json!({})).await["isError"], false);
}

#[tokio::test]
async fn what_was_piped_in_is_answered_after_the_end_of_input() {
    let harness = Harness::new();
    let (running, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (told, waited) = (Arc::clone(&running), Arc::clone(&go_on));
    harness.register(tool("slow", "Waits a while.").read_only().run(move |_: Nothing, _| {
        let (told, waited) = (Arc::clone(&told), Arc::clone(&waited));
        async move {
            told.notify_one();
            waited.notified().await;
            Ok("done")
        }
    }));
    let mut peer = Peer::legacy(&harness).await;
    peer.send(1, "tools/call", json!({"name": "slow"})).await;
    timeout(PATIENCE, running.notified()).await.unwrap();
    let Peer { output, mut input, server } = peer;
    drop(output);
    go_on.notify_one();
    let reply: Value = serde_json::from_str(&input.next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!(reply["result"]["content"][0]["text"], "done");
    timeout(PATIENCE, server).await.unwrap().unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_end_of_input_cancels_what_runs_on() {
    let harness = Harness::new();
    let (peer, cancelled) = waiting(&harness).await;
    let Peer { output, mut input, server } = peer;
    drop(output);
    timeout(Duration::from_secs(60), cancelled.notified()).await.unwrap();
    timeout(Duration::from_secs(60), server).await.unwrap().unwrap().unwrap();
    let reply: Value = serde_json::from_str(&input.next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!((&reply["id"], &reply["result"]["_meta"][OUTCOME]), (&json!(1), &json!("cancelled")));
    assert_eq!(input.next_line().await.unwrap(), None);
}

#[tokio::test]
async fn a_client_that_leaves_at_once_is_no_fault() {
    let harness = Harness::new();
    Peer::new(&harness).leave().await.unwrap();
    let peer = Peer::legacy(&harness).await;
    let Peer { mut output, input, server } = peer;
    // Only its reading end: there is nobody to answer any more.
    drop(input);
    output.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").await.unwrap();
    timeout(PATIENCE, server).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn a_new_tool_is_told_of() {
    let harness = Harness::new();
    let mut legacy = Peer::legacy(&harness).await;
    // A reply shows that what came before it was taken in.
    legacy.ask(1, "ping", json!({})).await;
    let mut subscriber = Peer::new(&harness);
    let filter = modern(json!({"notifications": {"toolsListChanged": true, "promptsListChanged": true}}));
    subscriber.send(9, "subscriptions/listen", filter).await;
    let acknowledged = subscriber.hear().await;
    assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["params"]["notifications"], json!({"toolsListChanged": true}));
    harness.register(sum());
    let (told, note) = (legacy.hear().await, subscriber.hear().await);
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert_eq!(note["method"], "notifications/tools/list_changed");
    assert_eq!(note["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 9);
    assert_eq!(legacy.call(2, "sum", json!({"n": 1})).await["isError"], false);
    subscriber.leave().await.unwrap();
}

#[tokio::test]
async fn the_sdks_client_is_served_in_both_life_cycles() {
    let harness = Harness::new();
    let list = Arc::new(Mutex::new(Vec::new()));
    harness.register(append(&list));
    let arguments = json!({"n": 7}).as_object().cloned().unwrap();
    let params = CallToolRequestParams::new("append").with_arguments(arguments);
    for mode in [
        ClientLifecycleMode::Initialize,
        ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
    ] {
        let (to_server, from_server, server) = serve(server(&harness));
        let client = serve_client_with_lifecycle((), (from_server, to_server), mode).await.unwrap();
        assert!(client.list_all_tools().await.unwrap().iter().any(|tool| tool.name == "append"));
        let result = client.call_tool(params.clone()).await.unwrap();
        assert_eq!(result.content[0].as_text().unwrap().text, "7");
        client.cancel().await.unwrap();
        timeout(PATIENCE, server).await.unwrap().unwrap().unwrap();
    }
    let (to_server, from_server, _server) = serve(server(&harness));
    let client = serve_client((), (from_server, to_server)).await.unwrap();
    assert_eq!(client.peer_info().unwrap().server_info.as_ref().unwrap().name, "haft");
    assert_eq!(*list.lock().unwrap(), [7, 7]);
}
