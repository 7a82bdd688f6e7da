//! `haft serve mcp`: nothing but the protocol on standard output.

use crate::place::Place;
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::{Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    time::{Duration, Instant},
};

/// Only a fault takes that long.
const STARTED_WITHIN: Duration = Duration::from_secs(60);
/// Less than calls have to finish where a client only says that it has no more to ask.
const LEFT_WITHIN: Duration = Duration::from_secs(6);

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

#[test]
fn a_client_that_is_gone_ends_its_calls_and_the_server_at_once() {
    let place = Place::new();
    assert!(Command::new("mkfifo").arg(place.workspace().join("held")).status().unwrap().success());
    let mut client = Client::greeted(place.command(&["--yes", "serve", "mcp"]));
    client.begin("bash", &json!({"command": "exec 3> held; echo yes >&3; sleep 300"}));
    // Opening and reading block, so they are done apart. The end of the pipe is the end of all that held it.
    let (sender, said) = mpsc::channel();
    let fifo = place.workspace().join("held");
    std::thread::spawn(move || {
        for line in BufReader::new(std::fs::File::open(fifo).unwrap()).lines() {
            sender.send(line.unwrap()).unwrap();
        }
    });
    assert_eq!(said.recv_timeout(STARTED_WITHIN).expect("the command starts"), "yes");
    let Client { mut child, lines, .. } = client;
    drop((child.stdin.take(), lines));
    let left = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(left.elapsed() < LEFT_WITHIN, "{:?}", left.elapsed());
    assert_eq!(said.recv_timeout(STARTED_WITHIN), Err(RecvTimeoutError::Disconnected), "the command ends");
    let log = place.run(&["log", "mcp", "--json"]).with(0).json();
    assert_eq!(log["calls"][0]["outcome"], "cancelled", "{log}");
}

#[test]
fn a_client_by_sockets_that_reads_no_more_is_gone() {
    let place = Place::new();
    let (mut asks, asked) = UnixStream::pair().unwrap();
    let (reads, told) = UnixStream::pair().unwrap();
    let mut command = place.command(&["serve", "mcp"]);
    command.stdin(OwnedFd::from(asked)).stdout(OwnedFd::from(told)).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    // With it go this process's copies of the server's ends.
    drop(command);
    writeln!(asks, "{}", json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).unwrap();
    let mut reads = BufReader::new(reads);
    assert!(reads.read_line(&mut String::new()).unwrap() > 0, "it answers");
    drop(reads);
    assert_eq!(child.wait().unwrap().code(), Some(0), "though it could still be asked");
    drop(asks);
}

/// A client that waits for each answer before it goes on.
pub struct Client {
    /// The server.
    pub child: std::process::Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
    last: u64,
    /// Replies that came while another one was waited for.
    others: Vec<Value>,
}

impl Client {
    fn start(place: &Place) -> Self {
        Self::of(place.command(&["serve", "mcp"]))
    }

    /// A client of this server, which it has greeted.
    pub fn greeted(command: Command) -> Self {
        let mut client = Self::of(command);
        client.initialize();
        client
    }

    fn of(mut command: Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines, last: 0, others: Vec::new() }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.ask(method, params);
        self.reply_to(id)
    }

    fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Makes a call without waiting for its end.
    pub fn begin(&mut self, tool: &str, input: &Value) -> u64 {
        self.ask("tools/call", &json!({"name": tool, "arguments": input}))
    }

    /// The tools that there are, as they are listed.
    pub fn tools(&mut self) -> String {
        self.request("tools/list", &json!({})).to_string()
    }

    /// Waits for the reply to what was begun.
    pub fn reply_to(&mut self, id: u64) -> Value {
        if let Some(at) = self.others.iter().position(|reply| reply["id"] == id) {
            return self.others.swap_remove(at);
        }
        loop {
            let line = self.lines.next().expect("an answer").unwrap();
            let reply: Value = serde_json::from_str(&line).unwrap();
            if reply["id"] == id {
                return reply;
            }
            self.others.push(reply);
        }
    }

    fn initialize(&mut self) -> Value {
        let reply = self.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}
            }),
        );
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        reply
    }

    fn runs(&mut self, tool: &str, input: &Value) -> bool {
        let reply = self.request("tools/call", &json!({"name": tool, "arguments": input}));
        reply["result"]["isError"] != true
    }

    /// Makes a call and gives the text of its result.
    pub fn call(&mut self, tool: &str, input: &Value) -> String {
        let reply = self.request("tools/call", &json!({"name": tool, "arguments": input}));
        let blocks = reply["result"]["content"].as_array().unwrap_or_else(|| panic!("{reply}"));
        blocks.iter().filter_map(|block| block["text"].as_str()).collect()
    }

    /// Leaves, and waits until the server has ended.
    pub fn leave(mut self) {
        drop(self.child.stdin.take());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

#[test]
fn what_is_saved_refused_revoked_and_trusted_elsewhere_holds_from_the_next_call_on() {
    let place = Place::new();
    place.write(".haft/config.toml", "[permissions]\nallow = [\"bash(touch b.txt)\"]\n");
    let mut client = Client::start(&place);
    client.initialize();
    let touch = |name: &str| json!({"command": format!("touch {name}")});
    assert!(!client.runs("bash", &touch("a.txt")), "nobody is there to be asked");
    place.run(&["permissions", "allow", "bash(touch a.txt)"]).with(0);
    assert!(client.runs("bash", &touch("a.txt")), "saved");
    place.run(&["permissions", "deny", "bash(touch a.txt)"]).with(0);
    assert!(!client.runs("bash", &touch("a.txt")), "refused");
    place.run(&["permissions", "revoke", "--all"]).with(0);
    place.run(&["permissions", "allow", "bash(touch a.txt)"]).with(0);
    assert!(client.runs("bash", &touch("a.txt")), "saved anew");
    place.run(&["permissions", "revoke", "bash(touch a.txt)"]).with(0);
    assert!(!client.runs("bash", &touch("a.txt")), "revoked");

    assert!(!client.runs("bash", &touch("b.txt")));
    place.run(&["trust"]).with(0);
    assert!(client.runs("bash", &touch("b.txt")), "the workspace's own rule counts");
    place.run(&["trust", "--revoke"]).with(0);
    assert!(!client.runs("bash", &touch("b.txt")), "and no longer");
    client.leave();
}

#[test]
fn hooks_hear_of_the_session_and_what_they_say_stands_in_the_instructions() {
    let place = Place::new();
    place.write_home(
        "config.toml",
        "[[hooks.SessionStart]]\ncommand = \"echo started >> heard; echo mind the gap\"\n\
         [[hooks.SessionEnd]]\ncommand = \"echo ended >> heard\"\n",
    );
    let mut client = Client::start(&place);
    let reply = client.initialize();
    assert!(reply["result"]["instructions"].as_str().unwrap().contains("mind the gap"), "{reply}");
    assert_eq!(place.read("heard").as_deref(), Some("started\n"));
    client.leave();
    assert_eq!(place.read("heard").as_deref(), Some("started\nended\n"));
}

#[test]
fn a_name_that_leads_nowhere_inside_a_call_is_the_models_to_mend() {
    let place = Place::new();
    let mut client = Client::start(&place);
    client.initialize();
    let params = json!({"name": "tool_use", "arguments": {"tool": "raed"}});
    let reply = client.request("tools/call", &params);
    assert_eq!(reply["result"]["_meta"]["dev.haft/outcome"], "unknown", "{reply}");
    assert_eq!(reply["result"]["isError"], true, "{reply}");
    client.leave();
}
