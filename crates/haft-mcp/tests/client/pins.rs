//! What the user let run of a server: each change of a definition, or of how the server is reached, is another tool, and
//! says what changed.

use crate::kit::Bench;
use haft_core::{Cancel, Clock, StateFolder};
use haft_runtime::{
    Pins,
    settings::{TrustFile, TrustPins},
};
use serde_json::{Value, json};
use std::{fs, sync::Arc};

fn base() -> Value {
    json!({"name": "echo", "description": "Says it again.", "inputSchema": {"type": "object"}})
}

/// A server whose tool has another part.
fn with(part: &str, value: Value) -> Value {
    let mut definition = base();
    definition[part] = value;
    json!({"tools": [definition]})
}

fn trust(bench: &Bench) -> TrustFile {
    let state: Arc<dyn StateFolder> = bench.harness.state().clone();
    TrustFile::new(state, "/w")
}

fn pins(bench: &Bench) -> TrustPins {
    let clock: Arc<dyn Clock> = bench.harness.clock().clone();
    TrustPins::new(trust(bench), clock)
}

/// What is known of a tool of the server's.
fn standing(bench: &Bench, tool: &str) -> String {
    let snapshot = bench.harness.catalogue().snapshot();
    let offer = snapshot.get(&format!("mcp__s__{tool}")).unwrap();
    format!("{:?}", pins(bench).look(offer))
}

/// A server whose tool `echo` was let run.
async fn pinned() -> Bench {
    let bench = Bench::new(&json!({"tools": [base()]})).ready().await;
    assert_eq!(standing(&bench, "echo"), "New");
    let snapshot = bench.harness.catalogue().snapshot();
    pins(&bench).keep(snapshot.get("mcp__s__echo").unwrap()).unwrap();
    assert_eq!(standing(&bench, "echo"), "Known");
    bench
}

#[tokio::test]
async fn a_change_of_any_part_is_told_apart_and_said() {
    let mut instructed = json!({"tools": [base()]});
    instructed["on"] = json!({"initialize": [{"result": {"protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}}, "serverInfo": {"name": "fixture"}, "instructions": "Call echo first."}}]});
    let mut bench = pinned().await;
    for (script, launch, tool, says) in [
        (with("title", json!("T")), None, "echo", "title: not stated"),
        (with("description", json!("Says it again. ")), None, "echo", "description: "),
        (with("inputSchema", json!({"type": "object", "x": 1})), None, "echo", "inputSchema: "),
        (with("outputSchema", json!({"type": "object"})), None, "echo", "outputSchema: not stated"),
        (with("annotations", json!({"readOnlyHint": true})), None, "echo", "annotations: not stated"),
        (with("icons", json!([{"src": "a"}])), None, "echo", "icons: not stated"),
        (with("_meta", json!({"k": 1})), None, "echo", "_meta: not stated"),
        (with("x-own", json!(1)), None, "echo", "x-own: not stated"),
        (with("name", json!("say")), None, "say", "name: "),
        (instructed, None, "echo", "instructions: not stated"),
        (json!({"tools": [base()]}), Some("./other"), "echo", "command: not stated"),
    ] {
        bench = bench
            .anew_as(&script, |config| {
                config.parts.extend(launch.map(|line| ("command".to_owned(), line.to_owned())));
            })
            .await;
        bench.clients.look("s", &Cancel::new()).await.unwrap();
        let said = standing(&bench, tool);
        assert!(said.starts_with("Changed(") && said.contains(says), "{says}: {said}");
    }
    bench = bench.anew(&json!({"tools": [base()]})).await;
    bench.clients.look("s", &Cancel::new()).await.unwrap();
    assert_eq!(standing(&bench, "echo"), "Known", "it says again what it said");
    bench.finish().await;
}

#[tokio::test]
async fn a_new_tool_is_unknown_and_a_damaged_file_knows_none() {
    let other = json!({"name": "other", "description": "Does more.", "inputSchema": {"type": "object"}});
    let bench = pinned().await.anew(&json!({"tools": [other, base()]})).await;
    bench.clients.look("s", &Cancel::new()).await.unwrap();
    assert_eq!((standing(&bench, "other").as_str(), standing(&bench, "echo").as_str()), ("New", "Known"));
    fs::write(trust(&bench).path(), "{").unwrap();
    assert_eq!(standing(&bench, "echo"), "New");
    bench.finish().await;
}
