//! The way of a tool's author: new, check, test, call.

use crate::place::{Place, ended, has_program, left_out};
use serde_json::{Value, json};
use std::{fs, path::PathBuf, process::Stdio};

fn new_test_call(lang: &str) {
    let place = Place::new();
    let made = place.run(&["new", "tool", "word-stats", "--lang", lang]).with(0);
    assert!(made.out.contains("haft test word-stats"), "{made:?}");
    place.run(&["check", "word-stats"]).with(0);
    let tested = place.run(&["test", "word-stats"]).with(0);
    assert!(tested.out.ends_with("2 passed, 0 failed\n"), "{tested:?}");
    let called = place.run(&["call", "word-stats", r#"{"text":"a b"}"#]).with(0);
    assert_eq!(called.out, "2 words, 1 line, 3 characters\n");
    let again = place.run(&["new", "tool", "word-stats", "--lang", lang]).with(2);
    assert!(again.err.contains("already"), "{again:?}");
}

#[test]
fn a_new_bash_tool_works() {
    new_test_call("bash");
}

#[test]
fn a_new_python_tool_works() {
    if has_program("python3") {
        new_test_call("python");
    } else {
        left_out("a new tool in Python", "python3");
    }
}

#[test]
fn a_new_node_tool_works() {
    if has_program("node") {
        new_test_call("node");
    } else {
        left_out("a new tool for Node", "node");
    }
}

#[test]
fn a_new_typescript_tool_works_without_node() {
    new_test_call("typescript");
}

#[test]
fn a_name_that_breaks_the_rule_is_told_the_rule() {
    let place = Place::new();
    let ran = place.run(&["new", "tool", "x.y", "--lang", "bash"]).with(2);
    assert!(
        ran.err.contains("Invalid tool name \"x.y\" — use only letters, numbers, underscores, hyphens"),
        "{ran:?}"
    );
    place.run(&["new", "tool", "Word", "--lang", "bash"]).with(2);
    place.run(&["new", "tool", "read", "--lang", "bash"]).with(2);
    assert!(place.run(&["tools", "--json"]).with(0).json().to_string().contains("\"read\""));
}

#[test]
fn a_tool_for_all_workspaces_lands_in_the_users_folder() {
    let place = Place::new();
    place.run(&["new", "tool", "word-stats", "--lang", "bash", "--user"]).with(0);
    assert!(place.home().join("tools/word-stats/tool.json").is_file());
    place.run(&["call", "word-stats", "--text", "a"]).with(0);
}

#[test]
fn each_bad_folder_is_named_with_its_line_and_the_others_work() {
    let place = Place::new();
    let manifest =
        |name: &str, rest: &str| format!("{{\n\"name\": \"{name}\",\n\"description\": \"d\",\n{rest}\n}}");
    let command = "\"command\": \"echo fine\", \"readOnly\": true";
    place.write(".haft/tools/good/tool.json", &manifest("good", command));
    place.write(".haft/tools/broken/tool.json", "{\n,");
    place.write(".haft/tools/folder/tool.json", &manifest("other", command));
    place.write(".haft/tools/dotted/tool.json", &manifest("a.b", command));
    place.write(".haft/tools/read/tool.json", &manifest("read", command));
    place.write(".haft/tools/plain/tool.json", &manifest("plain", "\"command\": [\"./run.sh\"]"));
    place.write(".haft/tools/plain/run.sh", "#!/bin/sh\n");
    let checked = place.run(&["check", "--json"]).with(1).json();
    assert_eq!(
        (&checked["usable"], &checked["setAside"]),
        (&serde_json::json!(["good"]), &serde_json::json!(5))
    );
    for problem in checked["problems"].as_array().unwrap() {
        assert!(problem["line"].is_u64() && !problem["fix"].as_str().unwrap().is_empty(), "{problem}");
    }
    let listed = place.run(&["tools", "--problems"]).with(0).out;
    for name in [
        "broken/tool.json:2",
        "folder/tool.json:2",
        "dotted/tool.json:2",
        "read/tool.json:2",
        "plain/tool.json:4",
    ] {
        assert!(listed.contains(name), "{name} is missing in {listed}");
    }
    place.run(&["check", "good"]).with(0);
    place.run(&["check", ".haft/tools/broken"]).with(1);
    place.run(&["check", "nothing"]).with(2);
    let called = place.run(&["call", "--yes", "good"]).with(0);
    assert_eq!(called.out, "fine\n");
}

#[test]
fn a_failing_example_shows_what_came_instead() {
    let place = Place::new();
    place.write(
        ".haft/tools/says/tool.json",
        r#"{"name": "says", "description": "d", "command": "echo no", "examples": [{"input": {}, "expect": "yes"}]}"#,
    );
    let ran = place.run(&["test", "says"]).with(1);
    assert!(
        ran.out.contains("\"yes\"") && ran.out.contains("no") && ran.out.ends_with("0 passed, 1 failed\n"),
        "{ran:?}"
    );
    place.write(".haft/tools/mute/tool.json", r#"{"name": "mute", "description": "d", "command": "true"}"#);
    let ran = place.run(&["test", "mute"]).with(0);
    assert!(ran.out.contains("no examples"), "{ran:?}");
    place.run(&["test", "nothing"]).with(2);
}

/// A tool that runs `says.sh` of its folder; its manifest's fields as given, over those it has anyway.
fn says(place: &Place, more: &Value) {
    let mut manifest = json!({
        "name": "says", "description": "Says a word.", "command": "sh says.sh", "readOnly": true, "effects": {},
    });
    manifest.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    place.write(".haft/tools/says/tool.json", &manifest.to_string());
}

/// The workspace's trust file, which is there once something was saved.
fn trust_file(place: &Place) -> PathBuf {
    let entries = fs::read_dir(place.home().join("state/trust")).unwrap();
    let mut paths = entries.map(|entry| entry.unwrap().path());
    paths.find(|path| path.extension().is_some_and(|end| end == "json")).expect("a trust file")
}

#[test]
fn the_first_use_asks_once_for_all_processes_and_every_change_asks_again() {
    let place = Place::new();
    place.write(".haft/tools/says/says.sh", "echo one\n");
    says(&place, &json!({}));
    let denied = place.run(&["call", "says"]).with(3);
    assert!(denied.err.contains("was never used in this workspace"), "{denied:?}");
    assert!(denied.err.contains("haft permissions pin says"), "{denied:?}");
    place.run(&["call", "--yes", "says"]).with(0);
    assert_eq!(place.run(&["call", "says"]).with(0).out, "one\n");

    let (told, schema) = ("Says another word.", json!({"properties": {"n": {"type": "integer"}}}));
    let changes = [
        (json!({"description": told}), "one", "description: \"Says a word.\" → \"Says another word.\""),
        (json!({"description": told, "parameters": schema}), "one", "parameters: not stated → "),
        (json!({"command": "sh ./says.sh"}), "one", "command: \"sh says.sh\" → \"sh ./says.sh\""),
        (json!({"command": "sh ./says.sh"}), "two", "file says.sh changed"),
        (json!({"command": "sh ./says.sh", "riskTier": "safe"}), "two", "risk: not stated → \"safe\""),
    ];
    for (manifest, word, shown) in changes {
        says(&place, &manifest);
        place.write(".haft/tools/says/says.sh", &format!("echo {word}\n"));
        let denied = place.run(&["call", "says"]).with(3);
        assert!(denied.err.contains(shown), "no {shown:?} in {denied:?}");
        let explained = place.run(&["explain", "--json", "says"]).with(0).json();
        assert_eq!(explained["verdict"], "ask");
        assert!(explained["trace"].to_string().contains("guard:first-use"), "{explained}");
        place.run(&["call", "--yes", "says"]).with(0);
        assert_eq!(place.run(&["call", "says"]).with(0).out, format!("{word}\n"));
    }
}

#[test]
fn no_mode_spares_the_first_use_in_a_workspace_that_is_not_trusted() {
    let place = Place::new();
    place.write(".haft/tools/says/says.sh", "echo one\n");
    says(&place, &json!({}));
    for mode in ["default", "auto", "yolo", "full", "headless"] {
        let denied = place.run(&["--mode", mode, "call", "says"]).with(3);
        assert!(denied.err.contains("haft permissions pin says"), "{mode}: {denied:?}");
    }
    place.run(&["trust"]).with(0);
    place.run(&["call", "says"]).with(3);
    assert_eq!(place.run(&["--mode", "yolo", "call", "says"]).with(0).out, "one\n");
    assert_eq!(place.run(&["call", "says"]).with(0).out, "one\n");
}

#[test]
fn a_damaged_trust_file_knows_no_tool_and_says_so() {
    let place = Place::new();
    place.write(".haft/tools/says/says.sh", "echo one\n");
    says(&place, &json!({}));
    place.run(&["call", "--yes", "says"]).with(0);
    fs::write(trust_file(&place), "{").unwrap();
    let denied = place.run(&["call", "says"]).with(3);
    assert!(denied.err.contains("the trust file is damaged"), "{denied:?}");
    let ran = place.run(&["call", "--yes", "says"]).with(0);
    assert!(ran.err.contains("this tool will ask again"), "{ran:?}");
    place.run(&["call", "says"]).with(3);
    place.run(&["permissions", "pin", "says", "--yes"]).with(1);
    assert_eq!(fs::read_to_string(trust_file(&place)).unwrap(), "{");
}

#[test]
fn a_tool_is_pinned_without_a_call_once_somebody_has_seen_it() {
    let place = Place::new();
    place.write(".haft/tools/says/says.sh", "echo one\n");
    says(&place, &json!({}));
    let alone = place.run(&["permissions", "pin", "says"]).with(2);
    assert!(alone.err.contains("command: sh says.sh") && alone.err.contains("--yes"), "{alone:?}");
    place.run(&["call", "says"]).with(3);
    let pinned = place.run(&["permissions", "pin", "says", "--yes"]).with(0);
    assert!(pinned.out.contains("says is pinned") && pinned.err.contains("file says.sh: "), "{pinned:?}");
    place.run(&["call", "says"]).with(0);
    assert!(place.run(&["permissions", "pin", "says"]).with(0).out.contains("already"));
    place.run(&["permissions", "pin", "nothing"]).with(2);
    place.run(&["permissions", "pin", "read"]).with(2);
}

#[test]
fn processes_that_pin_at_once_lose_nothing() {
    let place = Place::new();
    let names = ["a", "b", "c", "d", "e", "f"];
    for name in names {
        let manifest = json!({
            "name": name, "description": "d", "command": "echo fine", "readOnly": true, "effects": {},
        });
        place.write(&format!(".haft/tools/{name}/tool.json"), &manifest.to_string());
    }
    let piped = |name: &str| {
        let mut command = place.command(&["permissions", "pin", name, "--yes"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    for child in names.map(piped) {
        ended(child).with(0);
    }
    for name in names {
        assert_eq!(place.run(&["call", name]).with(0).out, "fine\n");
    }
}

#[test]
fn a_new_tool_is_known_until_it_is_changed_and_its_test_asks_nobody() {
    let place = Place::new();
    place.run(&["new", "tool", "word-stats", "--lang", "bash"]).with(0);
    place.run(&["call", "word-stats", r#"{"text":"a b"}"#]).with(0);
    let script = ".haft/tools/word-stats/count.sh";
    place.write(script, &format!("{}# changed\n", place.read(script).unwrap()));
    let denied = place.run(&["call", "word-stats", r#"{"text":"a b"}"#]).with(3);
    assert!(denied.err.contains("file count.sh changed"), "{denied:?}");
    place.run(&["test", "word-stats"]).with(0);
    place.run(&["call", "word-stats", r#"{"text":"a b"}"#]).with(0);
}

#[test]
fn a_manifest_that_cannot_be_read_is_a_finding_and_a_place_is_checked_with_all_it_holds() {
    let place = Place::new();
    let manifest = r#"{"name": "good", "description": "d", "command": "true"}"#;
    place.write(".haft/tools/good/tool.json", manifest);
    for what in [".", ".haft/tools", ".haft/tools/good", ".haft/tools/good/tool.json"] {
        let checked = place.run(&["check", "--json", what]).with(0).json();
        assert_eq!(checked["usable"], serde_json::json!(["good"]), "{what}");
    }
    place.write("src/main.rs", "");
    let ran = place.run(&["check", "src"]).with(2);
    assert!(ran.err.contains("is no tool's folder"), "{ran:?}");
    place.write(".haft/tools/pipe/run.sh", "");
    let pipe = place.workspace().join(".haft/tools/pipe/tool.json");
    assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    for words in
        [&["check", "--json"][..], &["check", "--json", "."], &["check", "--json", ".haft/tools/pipe"]]
    {
        let checked = place.run(words).with(1).json();
        assert!(checked["problems"].to_string().contains("pipe/tool.json"), "{checked}");
    }
}
