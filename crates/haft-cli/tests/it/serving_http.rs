//! `haft serve mcp --http`: an address, a token, and who may come in.

use crate::place::Place;
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Lines, Read, Write},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
    process::{Child, ChildStdout, Command, Stdio},
    time::Duration,
};

/// Only a fault takes that long.
const ANSWERED_WITHIN: Duration = Duration::from_secs(60);

/// A server at work.
struct Served {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    address: String,
    /// The token that was shown, where one was.
    shown: Option<String>,
}

/// What came back.
struct Got {
    status: u16,
    body: String,
}

impl Got {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

impl Served {
    #[expect(clippy::zombie_processes, reason = "it is waited for when this goes")]
    fn start(place: &Place, words: &[&str]) -> Self {
        let all: Vec<&str> = ["serve", "mcp", "--http", "127.0.0.1:0"].iter().chain(words).copied().collect();
        let mut child = place.command(&all).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut shown = None;
        loop {
            let line = lines.next().expect("it says where it listens").unwrap();
            if let Some(token) = line.strip_prefix("token, shown only now: ") {
                shown = Some(token.to_owned());
            } else if let Some(rest) = line.strip_prefix("listening at http://") {
                let address = rest.strip_suffix("/mcp").unwrap().to_owned();
                return Self { child, lines, address, shown };
            } else {
                let _ = child.kill();
                let _ = child.wait();
                panic!("it also said {line:?}");
            }
        }
    }

    fn post(&self, headers: &[(&str, &str)], message: &Value) -> Got {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(ANSWERED_WITHIN)).unwrap();
        let body = message.to_string();
        let has_host = headers.iter().any(|(name, _)| *name == "Host");
        let host = if has_host { String::new() } else { format!("Host: {}\r\n", self.address) };
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let request = format!(
            "POST /mcp HTTP/1.1\r\n{host}{headers}Content-Type: application/json\r\nAccept: application/json\r\n\
             Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Got { status, body: body.to_owned() }
    }

    /// A request of the era in which each stands alone, from a client that shows forms.
    fn request(&self, token: Option<&str>, method: &str, mut params: Value) -> Got {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        });
        let name = params["name"].as_str().map(str::to_owned);
        let bearer = token.map(|token| format!("Bearer {token}"));
        let mut headers = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        headers.extend(name.as_deref().map(|name| ("Mcp-Name", name)));
        headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
        self.post(&headers, &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    }

    /// A signal ends it; what it said on standard error.
    fn end(mut self) -> String {
        assert!(
            Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap().success()
        );
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        assert!(self.lines.next().is_none(), "it says nothing more");
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        said
    }
}

#[test]
fn a_token_is_made_once_kept_for_the_user_alone_and_wanted_of_every_client() {
    let place = Place::new();
    place.write("a.txt", "hello there\n");
    let served = Served::start(&place, &[]);
    let token = served.shown.clone().expect("a new token is shown");
    let read = || json!({"name": "read", "arguments": {"path": "a.txt"}});
    for wrong in [None, Some("other")] {
        assert_eq!(served.request(wrong, "tools/call", read()).status, 401, "{wrong:?}");
    }
    let got = served.request(Some(&token), "tools/call", read());
    assert_eq!(got.status, 200);
    assert!(got.json()["result"]["content"].to_string().contains("hello there"), "{}", got.body);
    let said = served.end();
    let path = said.lines().find_map(|line| line.strip_prefix("the token is in ")).expect("where it is kept");
    assert_eq!(fs::read_to_string(path).unwrap().trim(), token);
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!said.contains(&token), "{said}");

    // The next server takes the same one and shows it no more; a new one ends its time.
    let served = Served::start(&place, &[]);
    assert_eq!(served.shown, None);
    assert_eq!(served.request(Some(&token), "tools/list", json!({})).status, 200);
    served.end();
    let served = Served::start(&place, &["--new-token"]);
    assert_eq!(served.request(Some(&token), "tools/list", json!({})).status, 401);
    assert_eq!(served.request(served.shown.as_deref(), "tools/list", json!({})).status, 200);
    served.end();
}

#[test]
fn without_a_token_only_this_machine_by_its_own_names_comes_in() {
    let place = Place::new();
    let served = Served::start(
        &place,
        &["--no-token", "--allow-host", "box.lan", "--allow-origin", "https://app.example"],
    );
    assert_eq!((&served.shown, served.request(None, "tools/list", json!({})).status), (&None, 200));
    let version = ("MCP-Protocol-Version", "2026-07-28");
    let note = json!({"jsonrpc": "2.0", "method": "notifications/cancelled"});
    for (header, status) in [
        (("Host", "evil.example.com"), 403),
        (("Host", "box.lan"), 202),
        (("Origin", "http://evil.example.com"), 403),
        (("Origin", "https://app.example"), 202),
    ] {
        assert_eq!(served.post(&[version, header], &note).status, status, "{header:?}");
    }
    let said = served.end();
    assert!(said.contains("warning: without a token"), "{said}");

    let ran = place.run(&["serve", "mcp", "--http", "0.0.0.0:0", "--no-token"]).with(2);
    assert!(ran.err.contains("leave --no-token out"), "{ran:?}");
}

#[test]
fn an_address_in_use_is_said() {
    let place = Place::new();
    let served = Served::start(&place, &["--no-token"]);
    let ran = place.run(&["serve", "mcp", "--http", &served.address, "--no-token"]).with(1);
    assert!(ran.err.contains("somebody listens at"), "{ran:?}");
    served.end();
}

#[test]
fn a_question_goes_to_the_client_and_its_answer_lets_the_call_run() {
    let place = Place::new();
    let served = Served::start(&place, &["--no-token"]);
    let write = || json!({"name": "write", "arguments": {"path": "b.txt", "content": "x"}});
    let asked = served.request(None, "tools/call", write()).json()["result"].take();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let (key, question) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert!(question["params"]["message"].as_str().unwrap().contains("b.txt"), "{question}");
    assert_eq!(place.read("b.txt"), None);
    let mut back = write();
    back["requestState"] = asked["requestState"].clone();
    let answer = json!({"action": "accept", "content": {"answer": "allow once"}});
    back["inputResponses"] = json!({key.as_str(): answer});
    let done = served.request(None, "tools/call", back).json()["result"].take();
    assert_eq!(done["isError"], false, "{done}");
    assert_eq!(place.read("b.txt").as_deref(), Some("x"));
    served.end();
}
