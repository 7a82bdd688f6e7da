//! `haft serve mcp`: nothing but the protocol on standard output.

use crate::place::Place;
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
    sync::mpsc,
    time::Duration,
};

/// Only a fault takes that long.
const STARTED_WITHIN: Duration = Duration::from_secs(60);

#[test]
fn a_client_lists_and_calls_until_it_leaves() {
    let place = Place::new();
    place.write("a.txt", "hello there\n");
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}
        }}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "read", "arguments": {"path": "a.txt"}}}),
        json!({"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {
            "name": "write", "arguments": {"path": "b.txt", "content": "x"}
        }}),
    ];
    let input: String = messages.iter().map(|message| format!("{message}\n")).collect();
    let mut command = place.command(&["serve", "mcp"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut replies: Vec<Value> = Vec::new();
    // Leaving cancels what still runs, so all replies are waited for first.
    while !(1..=4_u64).all(|id| replies.iter().any(|reply| reply["id"] == id)) {
        let line = lines.next().expect("a reply to each request").unwrap();
        replies.push(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")));
    }
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let reply = |id: u64| replies.iter().find(|reply| reply["id"] == id).unwrap();
    assert!(reply(2)["result"]["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == "read"));
    assert!(reply(3)["result"]["content"].to_string().contains("hello there"));
    assert_eq!(reply(4)["result"]["isError"], true, "nobody is there to be asked");
    assert_eq!(place.read("b.txt"), None);
}

#[test]
fn a_signal_ends_the_calls_and_the_log_says_how() {
    let place = Place::new();
    assert!(Command::new("mkfifo").arg(place.workspace().join("started")).status().unwrap().success());
    let messages = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}
        }}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "bash", "arguments": {"command": "echo yes > started; sleep 300"}
        }}),
    ];
    let input: String = messages.iter().map(|message| format!("{message}\n")).collect();
    let mut command = place.command(&["--yes", "serve", "mcp"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    // Opening blocks until the command writes, so it is done apart, with an end to the waiting.
    let (sender, said) = mpsc::channel();
    let fifo = place.workspace().join("started");
    std::thread::spawn(move || sender.send(std::fs::read_to_string(fifo).unwrap()));
    assert_eq!(said.recv_timeout(STARTED_WITHIN).expect("the command starts"), "yes\n");
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    drop(stdin);
    let log = place.run(&["log", "mcp", "--json"]).with(0).json();
    assert_eq!(log["calls"][0]["outcome"], "cancelled", "{log}");
}
