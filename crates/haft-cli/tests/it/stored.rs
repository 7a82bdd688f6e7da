//! Stored credentials: they go in unseen, arrive where settings name them, and are seen nowhere else.

use crate::place::{Place, Ran, ended};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{ChildStdin, ChildStdout, Stdio},
    sync::mpsc::{self, Receiver},
    time::Duration,
};

const VALUE: &str = "k3y-of-the-house";
/// Only a fault takes that long.
const ASKED_WITHIN: Duration = Duration::from_secs(60);

fn set(place: &Place, name: &str, value: &str) {
    let ran = place.run_with(&["secret", "set", name], &format!("{value}\n")).with(0);
    assert!(!ran.out.contains(value) && !ran.err.contains(value), "{ran:?}");
}

fn call(place: &Place, tool: &str, input: &Value) -> Ran {
    place.run(&["call", "--yes", "--json", tool, &input.to_string()])
}

/// Runs it with bytes on its standard input, and these variables.
fn run_with(place: &Place, words: &[&str], input: &[u8], variables: &[(&str, &str)]) -> Ran {
    let mut command = place.command(words);
    command.envs(variables.iter().copied());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // One that takes no more has gone.
    drop(stdin.write_all(input));
    drop(stdin);
    ended(child)
}

fn vault(place: &Place) -> PathBuf {
    place.home().join("state/vault")
}

/// Whether a text stands in any file of haft's own.
fn is_anywhere(folder: &Path, text: &str) -> bool {
    fs::read_dir(folder).unwrap().flatten().any(|entry| {
        let path = entry.path();
        if path.is_dir() {
            is_anywhere(&path, text)
        } else {
            String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).contains(text)
        }
    })
}

/// The names that are stored.
fn names(place: &Place) -> Vec<String> {
    let list = place.run(&["secret", "list", "--json"]).with(0).json();
    let all = list["secrets"].as_array().unwrap();
    all.iter().map(|secret| secret["name"].as_str().unwrap().to_owned()).collect()
}

/// A server that answers each request with this body and hands on what it was sent.
struct Server {
    authority: String,
    requests: Receiver<String>,
}

impl Server {
    fn new(answer: impl Fn(&str) -> String + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let authority = listener.local_addr().unwrap().to_string();
        let (sender, requests) = mpsc::channel();
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                let Ok(mut socket) = socket else { break };
                let request = request(&socket);
                let body = answer(&request);
                let head =
                    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
                // A client that had enough may be gone.
                drop(socket.write_all((head + &body).as_bytes()));
                if sender.send(request).is_err() {
                    break;
                }
            }
        });
        Self { authority, requests }
    }

    #[track_caller]
    fn request(&self) -> String {
        self.requests.recv_timeout(ASKED_WITHIN).expect("a request")
    }
}

/// Head and body of a request, the head in small letters.
fn request(socket: &TcpStream) -> String {
    let mut reader = BufReader::new(socket);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or_default() == 0 || line.trim().is_empty() {
            break;
        }
        let line = line.to_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    head + &String::from_utf8_lossy(&body)
}

/// A model that says one thing.
fn model() -> Server {
    Server::new(|_| {
        let events = [
            json!({"choices": [{"index": 0, "delta": {"role": "assistant", "content": "done"}, "finish_reason": null}]}),
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
        ];
        events.iter().map(|event| format!("data: {event}\n\n")).collect::<String>() + "data: [DONE]\n\n"
    })
}

#[test]
fn a_value_goes_in_by_standard_input_and_its_name_alone_comes_out() {
    let place = Place::new();
    let ran = place.run_with(&["secret", "set", "work"], &format!("{VALUE}\n")).with(0);
    assert!(ran.out.contains("stored work (16 bytes)") && ran.out.contains("\"secret:work\""), "{ran:?}");
    set(&place, "mcp:https://id.example.org/a", "t0ken-of-the-server");
    assert_eq!(names(&place), ["mcp:https://id.example.org/a", "work"]);
    for words in
        [&["secret", "list"][..], &["secret", "list", "--json"], &["doctor"], &["permissions", "--json"]]
    {
        let ran = place.run(words);
        assert!(!ran.out.contains(VALUE) && !ran.err.contains(VALUE), "{words:?} {ran:?}");
    }
    let list = place.run(&["secret", "list"]).with(0).out;
    assert!(list.starts_with("2 in ") && list.contains("named by no setting"), "{list}");
    assert!(!is_anywhere(&place.home(), VALUE) && !is_anywhere(&place.home(), "id.example.org"));
    place.run(&["secret", "remove", "work"]).with(0);
    place.run(&["secret", "remove", "work"]).with(2);
    assert_eq!(names(&place), ["mcp:https://id.example.org/a"]);
}

#[test]
fn odd_values_and_names_are_refused_and_change_nothing() {
    let place = Place::new();
    set(&place, "work", VALUE);
    let before = fs::read(vault(&place).join("secrets.vault")).unwrap();
    let mebibyte = vec![b'x'; 1024 * 1024];
    let values: [(&[u8], &str); 6] = [
        (b"", "the value is empty"),
        (b"\n", "the value is empty"),
        (&mebibyte, "longer than 65536 bytes"),
        (b"\x7fELF\x02\x01\x01\0\0", "control characters"),
        (b"caf\xe9", "no text"),
        (b"typed\x1b[D", "control characters"),
    ];
    for (value, says) in values {
        let ran = run_with(&place, &["secret", "set", "work"], value, &[]).with(2);
        assert!(ran.err.contains(says), "{ran:?}");
    }
    for name in ["a/b", "../work", "", "a b", "é", ".hidden", "secret:work", "A:b"] {
        for command in ["set", "remove"] {
            let ran = place.run_with(&["secret", command, name], VALUE).with(2);
            assert!(ran.err.contains("name"), "{name:?} {ran:?}");
        }
    }
    let ran = place.run(&["secret", "set", "work", "hunter2"]).with(2);
    assert!(ran.err.contains("other programs see it there") && !ran.err.contains("hunter2"), "{ran:?}");
    place.run(&["secret", "rekey"]).with(2);
    assert_eq!(fs::read(vault(&place).join("secrets.vault")).unwrap(), before);
    // Several lines are a value, and odd ones are doubted aloud.
    let ran = place.run_with(&["secret", "set", "pem"], " one\ntwo\n").with(0);
    assert!(ran.err.contains("begins or ends with a blank"), "{ran:?}");
}

#[test]
fn a_models_key_arrives_in_its_header_and_is_seen_nowhere_else() {
    let place = Place::new();
    let server = model();
    let base = format!("http://{}/v1", server.authority);
    place.write_home(
        "config.toml",
        &format!(
            "[models.m]\nprovider = 'openai'\nmodel = 'q'\nbaseUrl = '{base}'\napiKey = 'secret:work'\n"
        ),
    );
    let ran = place.run(&["run", "--model", "m", "hello"]).with(2);
    assert!(ran.err.contains("haft secret set work"), "{ran:?}");
    let tools = place.run(&["tools", "--problems"]);
    assert!(tools.out.contains("model m names secret:work, which isn't stored"), "{tools:?}");
    set(&place, "work", VALUE);
    let ran = place.run(&["run", "--model", "m", "hello"]).with(0);
    assert!(ran.out.contains("done") && !ran.out.contains(VALUE) && !ran.err.contains(VALUE), "{ran:?}");
    let sent = server.request();
    assert!(sent.contains(&format!("authorization: bearer {VALUE}")), "{sent}");
    assert_eq!(sent.matches(VALUE).count(), 1, "{sent}");
    let list = place.run(&["secret", "list"]).out;
    assert!(list.contains("model m"), "{list}");
    let doctor = place.run(&["doctor", "--json"]).json().to_string();
    assert!(doctor.contains("secret:work") && !doctor.contains(VALUE), "{doctor}");
    assert!(!is_anywhere(&place.home(), VALUE));
    let removed = place.run(&["secret", "remove", "work"]).with(0);
    assert!(removed.out.contains("missing now for: model m"), "{removed:?}");
    place.run(&["run", "--model", "m", "hello"]).with(2);
}

#[test]
fn a_providers_usual_key_may_be_stored_without_any_setting() {
    let place = Place::new();
    set(&place, "model:openai", VALUE);
    let server = model();
    let url = format!("http://{}", server.authority);
    place.run(&["run", "--model", "openai:q", "--base-url", &url, "hello"]).with(0);
    assert!(server.request().contains(&format!("authorization: bearer {VALUE}")));
}

#[test]
fn headers_of_fetch_and_hooks_are_filled_and_what_comes_back_is_masked() {
    let place = Place::new();
    set(&place, "work", VALUE);
    let server =
        Server::new(
            |request| {
                if request.starts_with("get") { format!("you sent {VALUE}\n") } else { String::new() }
            },
        );
    let at = &server.authority;
    place.write_home(
        "config.toml",
        &format!(
            "[tools.fetch]\nallowPrivate = ['{at}']\nheaders = [{{ host = '{at}', name = 'X-Key', value = 'secret:work' }}]\n\
             [[hooks.PreToolUse]]\nurl = 'http://{at}/hook'\nheaders = {{ X-Guard = 'secret:work' }}\n"
        ),
    );
    let ran = call(&place, "fetch", &json!({"url": format!("http://{at}/x")})).with(0);
    let requests = [server.request(), server.request()];
    let sent = |start: &str, header: &str| {
        requests
            .iter()
            .any(|request| request.starts_with(start) && request.contains(&format!("{header}: {VALUE}")))
    };
    assert!(sent("post /hook", "x-guard") && sent("get /x", "x-key"), "{requests:?}");
    assert!(ran.out.contains("you sent [secret:work:") && !ran.out.contains(VALUE), "{ran:?}");
    assert!(!is_anywhere(&place.home(), VALUE));
    // One that can't stand in a header isn't sent, and the guard that needs it doesn't agree.
    set(&place, "work", "first-line\nsecond-line");
    let ran = call(&place, "fetch", &json!({"url": format!("http://{at}/x")})).with(3);
    assert!(ran.out.contains("several lines") && !ran.out.contains("first-line"), "{ran:?}");
}

#[test]
fn a_command_gets_it_only_where_a_setting_says_so_and_its_echo_is_masked() {
    let place = Place::new();
    set(&place, "work", VALUE);
    let bash = |command: &str| call(&place, "bash", &json!({"command": command})).with(0).out;
    assert!(bash("echo \"<${WORK_KEY:-none}>\"; env").contains("<none>"));
    place.write_home(
        "config.toml",
        "[environment]\nset = { WORK_KEY = 'secret:work', LOST = 'secret:lost' }\n",
    );
    assert!(bash("echo \"length=${#WORK_KEY}\"").contains("length=16"));
    for echo in
        ["echo \"$WORK_KEY\"", "printf %s \"$WORK_KEY\" | base64", "env | grep WORK", "echo $WORK_KEY >&2"]
    {
        let out = bash(echo);
        assert!(out.contains("[secret:") && !out.contains(VALUE), "{echo}: {out}");
    }
    assert!(bash("echo \"<${LOST:-none}>\"").contains("<none>"));
    assert!(!is_anywhere(&place.home(), VALUE));
    // A file that holds it, too, whoever wrote it. (Its own bytes are kept for undo, as they are.)
    place.write("notes", &format!("see {VALUE}\n"));
    let read = call(&place, "read", &json!({"path": "notes"})).with(0).out;
    assert!(read.contains("see [secret:work:") && !read.contains(VALUE), "{read}");
}

#[test]
fn one_tool_alone_gets_it_where_a_setting_says_so() {
    let place = Place::new();
    let manifest = json!({"name": "deploy", "description": "Deploys.", "command": ["sh", "deploy.sh"]});
    place.write(".haft/tools/deploy/tool.json", &manifest.to_string());
    place.write(".haft/tools/deploy/deploy.sh", "echo \"length=${#DEPLOY_KEY}\"; echo \"$DEPLOY_KEY\"\n");
    place.write_home("config.toml", "[tools.deploy]\nenv = { DEPLOY_KEY = 'secret:work' }\n");
    let ran = call(&place, "deploy", &json!({}));
    assert!(ran.status == 1 && ran.out.contains("haft secret set work"), "nothing ran without it: {ran:?}");
    set(&place, "work", VALUE);
    let out = call(&place, "deploy", &json!({})).with(0).out;
    assert!(out.contains("length=16") && out.contains("[secret:work:") && !out.contains(VALUE), "{out}");
    let other = call(&place, "bash", &json!({"command": "echo \"<${DEPLOY_KEY:-none}>\""})).with(0).out;
    assert!(other.contains("<none>"), "{other}");
    let list = place.run(&["secret", "list"]).out;
    assert!(list.contains("variable DEPLOY_KEY of deploy"), "{list}");
    place.write_home("config.toml", "");
    place.write(".haft/config.toml", "[tools.deploy]\nenv = { DEPLOY_KEY = 'secret:work' }\n");
    let untrusted = call(&place, "deploy", &json!({})).with(0).out;
    assert!(untrusted.contains("length=0"), "a workspace can't ask for it: {untrusted}");
}

#[test]
fn bash_gets_what_a_setting_names_for_it_and_no_other_tool_does() {
    let place = Place::new();
    let manifest = json!({"name": "peek", "description": "Looks.", "command": ["sh", "peek.sh"]});
    place.write(".haft/tools/peek/tool.json", &manifest.to_string());
    place.write(".haft/tools/peek/peek.sh", "echo \"<${DEPLOY_KEY:-none}>\"\n");
    place.write_home("config.toml", "[tools.bash]\nenv = { DEPLOY_KEY = 'secret:work' }\n");
    let line = json!({"command": "echo \"length=${#DEPLOY_KEY}\"; echo \"$DEPLOY_KEY\"; touch ran"});
    let ran = call(&place, "bash", &line);
    assert!(ran.status == 1 && ran.out.contains("haft secret set work"), "{ran:?}");
    assert!(place.read("ran").is_none(), "nothing ran without it");
    set(&place, "work", VALUE);
    let out = call(&place, "bash", &line).with(0).out;
    assert!(out.contains("length=16") && out.contains("[secret:work:") && !out.contains(VALUE), "{out}");
    let other = call(&place, "peek", &json!({})).with(0).out;
    assert!(other.contains("<none>"), "{other}");
}

#[test]
fn no_tool_reads_what_is_stored_and_no_command_sees_it() {
    let place = Place::new();
    set(&place, "work", VALUE);
    let file = vault(&place).join("secrets.vault");
    let file = file.to_str().unwrap();
    let denied = [
        ("read", json!({"path": file})),
        ("bash", json!({"command": format!("cat {file}")})),
        ("bash", json!({"command": format!("cp -r {} here", vault(&place).display())})),
        ("bash", json!({"command": "haft secret remove work"})),
        ("write", json!({"path": file, "content": "x"})),
    ];
    for (tool, input) in denied {
        let ran = place.run(&["call", "--yes", "--json", "--mode", "full", tool, &input.to_string()]).with(3);
        assert!(ran.out.contains("never allowed"), "{tool} {input}: {ran:?}");
    }
    let grep = json!({"pattern": "haft vault", "path": place.home().to_str().unwrap()});
    let ran = call(&place, "grep", &grep);
    assert!(!ran.out.contains("secrets.vault"), "{ran:?}");
    let doctor = place.run(&["doctor", "--json"]).json();
    let sandbox =
        doctor["checks"].as_array().unwrap().iter().find(|check| check["name"] == "sandbox").unwrap();
    if sandbox["health"] != "ok" {
        println!("left out: {}", sandbox["detail"]);
        return;
    }
    // A name that nobody reads off the line.
    let line = format!("p=vau; ls -a {}/state/${{p}}lt; echo looked", place.home().display());
    let ran = call(&place, "bash", &json!({"command": line}));
    assert!(ran.out.contains("looked") && !ran.out.contains("secrets.vault"), "{ran:?}");
}

#[test]
fn a_damaged_file_is_told_stays_as_it_is_and_stops_nothing_else() {
    let place = Place::new();
    set(&place, "work", VALUE);
    let file = vault(&place).join("secrets.vault");
    let whole = fs::read(&file).unwrap();
    let mut bent = whole.clone();
    *bent.last_mut().unwrap() ^= 1;
    fs::write(&file, &bent).unwrap();
    place.write("a", "hello\n");
    for words in [&["secret", "list"][..], &["secret", "remove", "work"], &["secret", "rekey", "--key-file"]]
    {
        let ran = place.run(words).with(1);
        assert!(ran.err.contains("can't be opened") && ran.err.contains("secrets.vault"), "{ran:?}");
    }
    place.run_with(&["secret", "set", "other"], VALUE).with(1);
    assert_eq!(fs::read(&file).unwrap(), bent);
    let ran = call(&place, "read", &json!({"path": "a"})).with(0);
    assert!(ran.out.contains("hello") && ran.err.contains("none of them is masked"), "{ran:?}");
    let doctor = place.run(&["doctor", "--json"]).with(1).json();
    let checks = doctor["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["name"] == "stored secrets").unwrap();
    assert_eq!(found["health"], "fault");
    fs::write(&file, whole).unwrap();
    assert_eq!(names(&place), ["work"]);
}

#[test]
fn the_doctor_tells_of_a_mode_that_lets_others_in() {
    let place = Place::new();
    set(&place, "work", VALUE);
    let checks = || {
        let doctor = place.run(&["doctor", "--json"]).json();
        let checks = doctor["checks"].as_array().unwrap().clone();
        checks.into_iter().filter(|check| check["name"] == "stored secrets").collect::<Vec<Value>>()
    };
    let before = checks();
    assert_eq!((before.len(), &before[0]["health"]), (1, &json!("ok")));
    assert!(before[0]["detail"].as_str().unwrap().contains("sealed with the key beside it"), "{before:?}");
    let file = vault(&place).join("secrets.vault");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    let after = checks();
    let told = after.iter().find(|check| check["health"] == "fault").unwrap();
    assert_eq!(told["fix"], format!("chmod go= {}", file.display()));
}

#[test]
fn a_passphrase_from_a_variable_or_a_program_opens_and_nothing_else_does() {
    let place = Place::new();
    let with = |passphrase: &'static str| [("HAFT_VAULT_PASSPHRASE", passphrase)];
    run_with(&place, &["secret", "set", "work"], VALUE.as_bytes(), &with("correct horse")).with(0);
    assert!(
        !fs::read_dir(vault(&place))
            .unwrap()
            .flatten()
            .any(|entry| entry.path().extension() == Some("key".as_ref()))
    );
    let ran = place.run(&["secret", "list"]).with(1);
    assert!(ran.err.contains("HAFT_VAULT_PASSPHRASE"), "{ran:?}");
    let ran = run_with(&place, &["secret", "list"], b"", &with("wrong horse")).with(1);
    assert!(ran.err.contains("the passphrase doesn't open"), "{ran:?}");
    place.write_home("config.toml", "[secrets]\npassphraseCommand = ['echo', 'correct horse']\n");
    assert_eq!(names(&place), ["work"]);
    place.write("notes", VALUE);
    let read = call(&place, "read", &json!({"path": "notes"})).with(0).out;
    assert!(read.contains("[secret:work:"), "masked as well: {read}");
    let ran = run_with(&place, &["secret", "rekey", "--passphrase"], b"short\n", &[]).with(2);
    assert!(ran.err.contains("found by trying"), "{ran:?}");
    place.run(&["secret", "rekey", "--key-file"]).with(0);
    place.write_home("config.toml", "");
    assert_eq!(names(&place), ["work"]);
}

/// A server of haft's that a client speaks to line by line.
struct Client {
    stdin: ChildStdin,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Client {
    fn call(&mut self, id: u64, method: &str, params: &Value) -> String {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(self.stdin, "{message}").unwrap();
        loop {
            let line = self.lines.next().expect("a reply").unwrap();
            let reply: Value = serde_json::from_str(&line).unwrap();
            if reply["id"] == id {
                return reply.to_string();
            }
        }
    }
}

#[test]
fn what_is_stored_while_a_session_runs_is_masked_from_the_next_call_on() {
    let place = Place::new();
    place.write("notes", &format!("see {VALUE}\n"));
    let mut command = place.command(&["serve", "mcp"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut client = Client { stdin: child.stdin.take().unwrap(), lines };
    let about = json!({"name": "t", "version": "1"});
    client.call(
        1,
        "initialize",
        &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about}),
    );
    writeln!(client.stdin, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).unwrap();
    let read = json!({"name": "read", "arguments": {"path": "notes"}});
    assert!(client.call(2, "tools/call", &read).contains(VALUE), "nobody has said that it is one");
    set(&place, "work", VALUE);
    let after = client.call(3, "tools/call", &read);
    assert!(after.contains("[secret:work:") && !after.contains(VALUE), "{after}");
    place.run(&["secret", "remove", "work"]).with(0);
    let removed = client.call(4, "tools/call", &read);
    assert!(!removed.contains(VALUE), "what was one stays masked: {removed}");
    let Client { stdin, lines } = client;
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    drop(lines);
}
