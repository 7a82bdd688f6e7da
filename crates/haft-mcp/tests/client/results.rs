//! Results of every kind, and how they go on to a client of haft's own.

use crate::kit::{Bench, PATIENCE};
use haft_core::{Block, FailureKind};
use haft_mcp::{McpServer, ServerInfo, client::ServerConfig};
use haft_test::Harness;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex},
    time::timeout,
};

fn returning(result: Value) -> Value {
    json!({"on": {"tool echo": [{"result": result}]}})
}

#[tokio::test]
async fn nothing_of_a_result_is_lost() {
    let bench = Bench::new(&returning(json!({
        "content": [
            {"type": "text", "text": "words"},
            {"type": "image", "data": "AA==", "mimeType": "image/png"},
            {"type": "audio", "data": "AA==", "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "file:///a", "name": "a"},
            {"type": "resource", "resource": {"uri": "file:///b", "text": "bb"}},
            {"type": "hologram", "depth": 3},
        ],
        "structuredContent": {"n": 1},
    })))
    .ready()
    .await;
    let ended = bench.call("echo", json!({})).await;
    assert!(ended.outcome.is_completed(), "{ended:?}");
    let text = ended.output.joined_text();
    for part in ["words", "[file:///b]\nbb", r#"{"type":"hologram","depth":3}"#, r#"{"n":1}"#] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(
        text.starts_with("[from the MCP server s, tool echo") && text.contains("[end of what s returned]"),
        "{text}"
    );
    let content = &ended.output.content;
    assert!(content.iter().any(|block| matches!(block, Block::Image { .. })), "{content:?}");
    assert!(content.iter().any(|block| matches!(block, Block::Audio { .. })), "{content:?}");
    assert!(content.iter().any(|block| matches!(block, Block::ResourceLink { .. })), "{content:?}");
    assert_eq!(ended.output.structured, Some(json!({"n": 1})));
    bench.finish().await;
}

#[tokio::test]
async fn structured_content_alone_reaches_the_model() {
    let bench = Bench::new(&returning(json!({"structuredContent": [1, {"a": null}]}))).ready().await;
    assert!(bench.text("echo", json!({})).await.contains(r#"[1,{"a":null}]"#));
    bench.finish().await;
}

#[tokio::test]
async fn a_result_that_breaks_the_tools_own_schema_is_a_failure_that_keeps_it() {
    let mut script = returning(json!({"structuredContent": {"n": "one"}}));
    script["tools"] = json!([{"name": "echo", "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}]);
    let bench = Bench::new(&script).ready().await;
    let ended = bench.call("echo", json!({})).await;
    assert!(!ended.outcome.is_completed(), "{ended:?}");
    assert!(ended.output.joined_text().contains(r#"{"n":"one"}"#), "{ended:?}");
    bench.finish().await;
}

#[tokio::test]
async fn what_a_server_calls_a_failure_is_one() {
    for (result, says) in [
        (json!({"content": [{"type": "text", "text": "no such issue"}], "isError": true}), "no such issue"),
        (json!({"isError": true}), "without saying why"),
    ] {
        let bench = Bench::new(&returning(result)).ready().await;
        let ended = bench.call("echo", json!({})).await;
        assert!(!ended.outcome.is_completed() && ended.output.joined_text().contains(says), "{ended:?}");
        bench.finish().await;
    }
    for (error, kind, says) in [
        (json!({"code": -32602, "message": "n is missing"}), FailureKind::InvalidInput, "n is missing"),
        (json!("odd"), FailureKind::Internal, "isn't one of the protocol"),
    ] {
        let bench = Bench::new(&json!({"on": {"tool echo": [{"error": error}]}})).ready().await;
        let failure = bench.failure("echo", json!({})).await;
        assert!(failure.kind == kind && failure.text.contains(says), "{failure:?}");
        bench.finish().await;
    }
}

#[tokio::test]
async fn odd_results_are_results() {
    for (result, says) in
        [(json!("plain"), "plain"), (json!(3), "3"), (json!({"toolResult": {"a": 1}}), r#"{"a":1}"#)]
    {
        let bench = Bench::new(&returning(result)).ready().await;
        assert!(bench.text("echo", json!({})).await.contains(says));
        bench.finish().await;
    }
}

#[tokio::test]
async fn a_result_of_50_mb_fails_its_own_call_and_no_other() {
    let giant = json!({"fill": {
        "before": "{\"jsonrpc\":\"2.0\",\"id\":\"$ID\",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"",
        "with": "x".repeat(1_024), "count": 50 * 1_024, "after": "\"}]}}\n",
    }});
    let script = json!({"tools": [{"name": "giant", "inputSchema": {"type": "object"}}, {"name": "echo", "inputSchema": {"type": "object"}}],
        "on": {"tool giant": [giant]}});
    let bench = Bench::new(&script).ready().await;
    let failure = bench.failure("giant", json!({})).await;
    assert!(failure.text.contains("longer than the 16 MiB"), "{}", failure.text);
    assert!(bench.text("echo", json!({"text": "hi"})).await.contains("hi"));
    assert_eq!(bench.oddities().overlong, 1);
    bench.finish().await;
}

#[tokio::test]
async fn a_long_result_is_bounded_and_all_of_it_kept() {
    let long = json!({"fill": {
        "before": "{\"jsonrpc\":\"2.0\",\"id\":\"$ID\",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"",
        "with": "line\\n", "count": 400_000, "after": "\"}]}}\n",
    }});
    let bench = Bench::new(&json!({"on": {"tool echo": [long]}})).ready().await;
    let ended = bench.call("echo", json!({})).await;
    assert!(ended.outcome.is_completed() && ended.output.joined_text().len() < 1_000_000);
    assert!(ended.output.foreign.is_none(), "as it came it would be as long as before");
    bench.finish().await;
}

#[tokio::test]
async fn definitions_and_results_go_on_through_haft_as_they_came() {
    let definition = r#"{"title":"T","name":"echo","description":"Says it\nagain.","x-own":[1.5],"inputSchema":{"$comment":"c","type":"object","x":1,"properties":{"b":{"enum":["z","a"],"default":1.0},"a":{}}},"annotations":{"title":"H","readOnlyHint":true,"y":2},"icons":[{"src":"a"}],"_meta":{"k/v":{"b":1,"a":2}}}"#;
    let result = r#"{"x":1,"content":[{"type":"text","text":"a","annotations":{"audience":["user"]},"_meta":{"k":1}}],"_meta":{"own/k":[1.50]}}"#;
    let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"$ID\",\"result\":{{\"tools\":[{definition}]}}}}\n");
    let called = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"$ID\",\"result\":{result}}}\n");
    let script = json!({"on": {"tools/list": [{"write": line}], "tools/call": [{"write": called}]}});
    // Where nothing hides, looking at it changes nothing.
    for is_screened in [false, true] {
        let set = |config: &mut ServerConfig| {
            config.screen = is_screened;
            config.untrusted = false;
        };
        let bench = Bench::with(Harness::new(), &script, set).ready().await;
        go_on_as_they_came(&bench, definition, result).await;
        bench.finish().await;
    }
}

/// Asks haft, as a client of its own, for the tool and for what it returns.
async fn go_on_as_they_came(bench: &Bench, definition: &str, result: &str) {
    bench.harness.session().refresh();
    let (executor, session) = (bench.harness.executor().clone(), bench.harness.session().clone());
    let (mut to_server, input) = duplex(1 << 20);
    let (output, from_server) = duplex(1 << 20);
    let serving = tokio::spawn(McpServer::new(executor, session, ServerInfo::default()).serve(input, output));
    let mut replies = BufReader::new(from_server).lines();
    for (message, is_asked) in [
        (
            json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25",
                "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}}),
            true,
        ),
        (json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), false),
        (json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}), true),
        (
            json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "mcp__s__echo", "arguments": {}}}),
            true,
        ),
    ] {
        to_server.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        if !is_asked {
            continue;
        }
        let reply = loop {
            let line = timeout(PATIENCE, replies.next_line()).await.unwrap().unwrap().unwrap();
            let reply: Value = serde_json::from_str(&line).unwrap();
            if reply["id"] == message["id"] {
                break reply;
            }
        };
        match message["id"].as_i64() {
            Some(2) => {
                let tools = reply["result"]["tools"].as_array().unwrap();
                let tool = tools.iter().find(|tool| tool["name"] == "mcp__s__echo").unwrap();
                assert_eq!(tool.to_string(), definition.replace("\"echo\"", "\"mcp__s__echo\""));
            }
            Some(3) => {
                let expected: Value = serde_json::from_str(result).unwrap();
                assert_eq!(reply["result"].to_string(), expected.to_string());
            }
            _ => {}
        }
    }
    drop(to_server);
    timeout(PATIENCE, serving).await.unwrap().unwrap().unwrap();
}
