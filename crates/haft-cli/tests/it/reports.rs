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
fn tokens_are_counted_by_tool_and_in_sum() {
    let counted = Place::new().run(&["tools", "--tokens", "--json"]).with(0).json();
    let tools = counted["tools"].as_array().unwrap();
    let sum: u64 = tools.iter().map(|tool| tool["tokens"].as_u64().unwrap()).sum();
    assert_eq!(counted["all"], sum);
    let sent = tools.iter().filter(|tool| tool["sent"] == true);
    assert_eq!(counted["direct"], sent.map(|tool| tool["tokens"].as_u64().unwrap()).sum::<u64>());
    assert_eq!(counted["limits"]["direct"], 1_500);
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
