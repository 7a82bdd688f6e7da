//! Commands that only tell: tools, log, doctor.

use crate::place::Place;
use serde_json::Value;

#[test]
fn tools_are_listed_shown_and_found() {
    let place = Place::new();
    let listed = place.run(&["tools", "--json"]).with(0).json();
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    for name in ["bash", "edit", "glob", "grep", "read", "tree", "write", "tool_help"] {
        assert!(names.contains(&name), "{name} is missing in {names:?}");
    }
    assert!(names.is_sorted());
    let table = place.run(&["tools"]).with(0).out;
    assert!(table.lines().next().unwrap().starts_with("NAME"));
    let shown = place.run(&["tools", "show", "Read", "--json"]).with(0).json();
    assert_eq!(shown["name"], "read");
    assert_eq!(shown["owner"], "core");
    assert!(shown["inputSchema"]["properties"]["path"].is_object());
    let page = place.run(&["tools", "show", "read"]).with(0).out;
    assert!(page.contains("--path"));
    assert_eq!(place.run(&["call", "read", "--help"]).with(0).out, page);
    let near = place.run(&["tools", "show", "raed"]).with(2);
    assert!(near.err.contains("read"), "{near:?}");
    let found = place.run(&["tools", "search", "grep", "--json"]).with(0).json();
    assert_eq!((&found["tools"][0]["name"], &found["tools"][0]["named"]), (&"grep".into(), &true.into()));
    let few = place.run(&["tools", "search", "files", "--limit", "2"]).with(0);
    assert_eq!(few.out.lines().count(), 3, "{few:?}");
    assert!(few.err.contains("more fit less well"), "{few:?}");
    assert!(place.run(&["tools", "search", "…"]).with(2).err.contains("nothing to look for"));
}

#[test]
fn a_search_takes_names_required_words_and_sources() {
    let place = Place::new();
    let found = |words: &[&str]| {
        let all: Vec<&str> = ["tools", "search", "--json"].iter().chain(words).copied().collect();
        place.run(&all).with(0).json()
    };
    let names = |found: &Value| -> Vec<String> {
        let tools = found["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let selected = found(&["select:grep,nosuch,glob"]);
    assert_eq!(
        (names(&selected), &selected["unknown"][0]),
        (vec!["grep".into(), "glob".into()], &"nosuch".into())
    );
    let several = found(&["edit", "read"]);
    assert!(several["tools"].as_array().unwrap()[..2].iter().all(|tool| tool["named"] == true), "{several}");
    assert!(names(&found(&["source:core", "+notebook"])).contains(&"notebook_edit".to_owned()));
    assert_eq!(names(&found(&["source:nobody", "files"])), Vec::<String>::new());
}

#[test]
fn tokens_are_counted_by_tool_and_in_sum() {
    let counted = Place::new().run(&["tools", "--tokens", "--json"]).with(0).json();
    let tools = counted["tools"].as_array().unwrap();
    let sum: u64 = tools.iter().map(|tool| tool["tokens"].as_u64().unwrap()).sum();
    assert_eq!(counted["all"], sum);
    let sent = tools.iter().filter(|tool| tool["sent"] == true);
    assert_eq!(counted["direct"], sent.map(|tool| tool["tokens"].as_u64().unwrap()).sum::<u64>());
    assert_eq!(counted["limits"]["direct"], 1_500);
    let listed = counted["listed"].as_u64().unwrap();
    assert!((1..=2_000).contains(&listed), "what lists the others is counted by itself: {counted}");
}

#[test]
fn definitions_cost_a_model_no_more_than_was_promised() {
    let counted = Place::new().run(&["tools", "--tokens", "--json"]).with(0).json();
    let sent = counted["direct"].as_u64().unwrap();
    assert!(sent <= 1_500, "{sent} tokens with each request: {counted}");
    let (mut tools, mut together) = (0, 0);
    for tool in counted["tools"].as_array().unwrap().iter().filter(|tool| tool["owner"] == "core") {
        let tokens = tool["tokens"].as_u64().unwrap();
        assert!((1..=250).contains(&tokens), "{tokens} tokens: {tool}");
        tools += 1;
        together += tokens;
    }
    assert!(tools >= 8, "{counted}");
    assert!(together <= 5_000, "{together} tokens: {counted}");
    assert_eq!(counted["builtIn"], together);
}

#[test]
fn the_log_tells_each_call_and_what_it_changed() {
    let place = Place::new();
    let none = place.run(&["log"]).with(2);
    assert!(none.err.contains("haft call"), "{none:?}");
    place.run(&["call", "--yes", "write", r#"{"path":"b.txt","content":"x"}"#]).with(0);
    place.run(&["call", "write", r#"{"path":"c.txt","content":"x"}"#]).with(3);
    let log = place.run(&["log", "--json"]).with(0).json();
    let calls = log["calls"].as_array().unwrap();
    let outcomes: Vec<&Value> = calls.iter().map(|call| &call["outcome"]).collect();
    assert_eq!(outcomes, ["completed", "denied"]);
    assert_eq!(calls[0]["files"].as_array().unwrap().len(), 1);
    assert_eq!(log["unreadable"], 0);
    assert_eq!(log["session"], "cli");
    let last = place.run(&["log", "cli", "--calls", "1"]).with(0).out;
    assert!(last.contains("denied") && !last.contains("completed"), "{last}");
    place.run(&["log", "nothing"]).with(2);
}

#[test]
fn the_doctor_names_keys_and_never_shows_them() {
    let place = Place::new();
    let mut command = place.command(&["doctor", "--json"]);
    let output = command.env("ANTHROPIC_API_KEY", "never-shown-value").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("ANTHROPIC_API_KEY") && !text.contains("never-shown-value"), "{text}");
    let report: Value = serde_json::from_str(&text).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let of = |name: &str| checks.iter().find(|check| check["name"] == name).unwrap();
    assert_eq!(of("processes")["health"], "ok", "{text}");
    assert_eq!(of("state folder")["health"], "ok");
    assert!(of("sandbox")["detail"].as_str().unwrap().contains("commands run in"));
    for check in checks.iter().filter(|check| check["health"] != "ok") {
        assert!(check["fix"].is_string(), "{check}");
    }
}

#[test]
fn the_doctor_tells_each_layer_the_shells_and_what_nobody_here_can_check() {
    let place = Place::new();
    place.write("go.mod", "module m\n");
    let mut command = place.command(&["doctor", "--json"]);
    // Just what the checks themselves need.
    let bin = place.workspace().join("bin");
    std::fs::create_dir(&bin).unwrap();
    for program in ["sh", "true", "git"] {
        let path = std::env::var("PATH").unwrap();
        let found =
            path.split(':').map(|folder| std::path::Path::new(folder).join(program)).find(|at| at.exists());
        std::os::unix::fs::symlink(found.unwrap(), bin.join(program)).unwrap();
    }
    let output = command.env("PATH", &bin).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let all = |name: &str| checks.iter().filter(|check| check["name"] == name).cloned().collect::<Vec<_>>();
    for layer in ["namespaces", "bubblewrap", "landlock", "seccomp"] {
        assert_eq!(all(&format!("sandbox: {layer}")).len(), 1, "{layer}");
    }
    assert_eq!(all("control groups").len(), 1);
    assert_eq!(
        (all("sh")[0]["health"].as_str(), all("bash")[0]["health"].as_str()),
        (Some("ok"), Some("warning"))
    );
    assert!(
        all("git")[0]["detail"].as_str().unwrap().starts_with(|c: char| c.is_ascii_digit()),
        "{checks:?}"
    );
    let missing = all("runners").into_iter().find(|check| check["health"] == "warning").unwrap();
    assert!(
        missing["detail"].as_str().unwrap().contains("go.mod") && missing["fix"] == "install Go",
        "{missing}"
    );
    assert!(all("mcp servers")[0]["detail"].as_str().unwrap().contains("no .mcp.json"));
}

#[test]
fn the_doctor_starts_servers_only_when_told_and_where_they_are_approved() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let servers = serde_json::json!({"mcpServers": {
        "here": {"command": "./serve.sh"},
        "gone": {"command": "no-such-program"},
        "keyed": {"command": "sh", "env": {"KEY": "${HAFT_TEST_UNSET}"}},
        "far": {"url": "https://example.org/mcp?key=s3cr3t"},
    }});
    place.write(".mcp.json", &servers.to_string());
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"capabilities":{},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"little","version":"1"}}}}"#;
    place.write("serve.sh", &format!("#!/bin/sh\nread line\ntouch started\necho '{answer}'\nread line\n"));
    let program = place.workspace().join("serve.sh");
    std::fs::set_permissions(program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let looked = |words: &[&str]| {
        let report = place.run(words).json();
        let checks = report["checks"].as_array().unwrap().clone();
        move |name: &str| {
            let check = checks.iter().find(|check| check["name"] == format!("mcp: {name}")).unwrap();
            format!("{} {} {}", check["health"], check["detail"], check["fix"])
        }
    };
    let of = looked(&["doctor", "--json"]);
    assert!(of("here").contains("haft mcp approve here"), "{}", of("here"));
    assert!(of("gone").contains("no-such-program isn't there"), "{}", of("gone"));
    assert!(of("keyed").contains("HAFT_TEST_UNSET"), "{}", of("keyed"));
    assert!(
        of("far").contains("at https://example.org/mcp;") && !of("far").contains("s3cr3t"),
        "{}",
        of("far")
    );
    let of = looked(&["doctor", "--json", "--mcp"]);
    assert!(of("here").contains("haft mcp approve here"), "{}", of("here"));
    assert!(place.read("started").is_none());
    place.run(&["--yes", "mcp", "approve", "here"]).with(0);
    let of = looked(&["doctor", "--json"]);
    assert!(of("here").contains("ok") && of("here").contains("--mcp"), "{}", of("here"));
    assert!(place.read("started").is_none());
    let of = looked(&["doctor", "--json", "--mcp"]);
    assert!(of("here").contains("answers as little 1"), "{}", of("here"));
    assert!(place.read("started").is_some());
}
