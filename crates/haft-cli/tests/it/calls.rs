//! `haft call` and `haft explain`: flags, the one object, exit statuses, sessions.

use crate::place::{Place, ended};
use serde_json::json;
use std::{
    process::{Command, Stdio},
    sync::mpsc,
    time::Duration,
};

/// Only a fault takes that long.
const STARTED_WITHIN: Duration = Duration::from_secs(60);

fn with_file() -> Place {
    let place = Place::new();
    place.write("a.txt", "hello there\n");
    place
}

#[test]
fn a_call_prints_its_result() {
    let place = with_file();
    for words in [
        &["call", "read", "--path", "a.txt"][..],
        &["call", "read", "--path=a.txt"],
        &["call", "read", r#"{"path":"a.txt"}"#],
    ] {
        let ran = place.run(words).with(0);
        assert!(ran.out.contains("hello there"), "{ran:?}");
    }
    for mark in ["", "\u{feff}"] {
        let ran = place.run_with(&["call", "read", "-"], &format!(r#"{mark}{{"path":"a.txt"}}"#)).with(0);
        assert!(ran.out.contains("hello there"));
    }
}

#[test]
fn the_object_has_exactly_the_fields_of_the_contract() {
    let place = with_file();
    let before = place.run(&["call", "--json", "read", r#"{"path":"a.txt"}"#]).with(0).json();
    let after = place.run(&["call", "read", r#"{"path":"a.txt"}"#, "--json"]).with(0).json();
    for object in [&before, &after] {
        let mut keys: Vec<&str> = object.as_object().unwrap().keys().map(String::as_str).collect();
        keys.sort_unstable();
        let expected = [
            "call",
            "content",
            "denied",
            "durationMs",
            "error",
            "metadata",
            "outcome",
            "owner",
            "structured",
            "tool",
            "trace",
            "truncation",
        ];
        assert_eq!(keys, expected);
        assert_eq!(
            (&object["tool"], &object["owner"], &object["outcome"]),
            (&json!("read"), &json!("core"), &json!("completed"))
        );
        assert!(object["denied"].is_null() && object["error"].is_null());
        let steps = object["trace"].as_array().unwrap();
        assert_eq!(steps[0]["step"], "resolve");
        for step in steps {
            assert_eq!(step.as_object().unwrap().len(), 5, "{step}");
        }
    }
    assert_ne!(before["call"], after["call"], "one session, so that numbers go on");
}

#[test]
fn each_way_to_end_has_its_status() {
    let place = with_file();
    let inner = r#"{"tool":"write","input":{"path":"b.txt","content":"x"}}"#;
    let cases: [(&[&str], i32, &str); 7] = [
        (&["call", "--json", "read", r#"{"path":"a.txt"}"#], 0, "completed"),
        (&["call", "--json", "read", r#"{"path":"missing.txt"}"#], 1, "failed"),
        (&["call", "--json", "read", r#"{"path":"#], 2, "invalid"),
        (&["call", "--json", "read", "{}"], 2, "invalid"),
        (&["call", "--json", "raed", "{}"], 2, "unknown"),
        (&["call", "--json", "write", r#"{"path":"b.txt","content":"x"}"#], 3, "denied"),
        (&["call", "--json", "tool_use", inner], 3, "denied"),
    ];
    for (words, status, outcome) in cases {
        let object = place.run(words).with(status).json();
        assert_eq!(object["outcome"], outcome, "{words:?}");
        assert_eq!(object["error"].is_null(), matches!(outcome, "completed" | "denied"), "{words:?}");
    }
    assert_eq!(place.read("b.txt"), None);
}

#[test]
fn problems_go_to_standard_error() {
    let ran = with_file().run(&["call", "read", "--path", "missing.txt"]).with(1);
    assert!(ran.out.is_empty() && ran.err.contains("missing.txt"), "{ran:?}");
}

#[test]
fn wrong_usage_is_status_2() {
    let place = with_file();
    let wrong: [&[&str]; 7] = [
        &["call"],
        &["call", "--jsno", "read"],
        &["call", "read", "{}", "--jsno"],
        &["call", "read", "--path", "a.txt", "b.txt"],
        &["tools", "--bogus"],
        &["--mode", "slow", "tools"],
        &["--workspace", "/does/not/exist", "tools"],
    ];
    for words in wrong {
        let ran = place.run(words).with(2);
        assert!(ran.out.is_empty() && !ran.err.is_empty(), "{ran:?}");
    }
}

#[test]
fn a_question_without_anybody_is_a_denial_and_yes_answers_once() {
    let place = with_file();
    let write = r#"{"path":"b.txt","content":"x\n"}"#;
    let denied = place.run(&["call", "--json", "write", write]).with(3).json();
    assert_eq!(denied["denied"]["gate"], "approval");
    place.run(&["call", "--yes", "write", write]).with(0);
    assert_eq!(place.read("b.txt").as_deref(), Some("x\n"));
    place.run(&["call", "--json", "write", r#"{"path":"c.txt","content":"x"}"#]).with(3);
}

#[test]
fn plan_mode_refuses_what_mutates_whatever_the_answer() {
    let place = with_file();
    let words = ["call", "write", r#"{"path":"b.txt","content":"x"}"#, "--mode", "plan", "--yes", "--json"];
    assert_eq!(place.run(&words).with(3).json()["denied"]["gate"], "plan");
    assert_eq!(place.read("b.txt"), None);
}

#[test]
fn a_read_counts_for_the_write_of_the_next_command() {
    let place = with_file();
    let write = r#"{"path":"a.txt","content":"new\n"}"#;
    place.run(&["call", "--yes", "--session", "other", "write", write]).with(1);
    place.run(&["call", "read", "--path", "a.txt"]).with(0);
    place.run(&["call", "--yes", "--session", "other", "write", write]).with(1);
    place.run(&["call", "--yes", "write", write]).with(0);
    assert_eq!(place.read("a.txt").as_deref(), Some("new\n"));
}

#[test]
fn a_signal_cancels_and_the_end_is_waited_for() {
    for signal in ["-INT", "-TERM", "-HUP"] {
        // Under nohup a hang-up is meant to pass by.
        if signal != "-HUP" || !haft_os::host::ignores_hangup() {
            cancelled_by(signal);
        }
    }
}

fn cancelled_by(signal: &str) {
    let place = Place::new();
    assert!(Command::new("mkfifo").arg(place.workspace().join("started")).status().unwrap().success());
    let input = r#"{"command":"echo yes > started; sleep 300"}"#;
    let mut command = place.command(&["call", "--yes", "--json", "bash", input]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Opening blocks until the command writes, so it is done apart, with an end to the waiting.
    let (sender, said) = mpsc::channel();
    let fifo = place.workspace().join("started");
    std::thread::spawn(move || sender.send(std::fs::read_to_string(fifo).unwrap()));
    assert_eq!(said.recv_timeout(STARTED_WITHIN).expect("the command starts"), "yes\n");
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    let object = ended(child).with(5).json();
    assert_eq!(object["outcome"], "cancelled");
    assert_eq!(object["error"]["kind"], "cancelled");
    let log = place.run(&["log", "--json"]).with(0).json();
    assert_eq!(log["calls"][0]["outcome"], "cancelled", "{log}");
}

#[test]
fn the_console_takes_json_and_has_a_new_tool_at_once() {
    let place = Place::new();
    let manifest = json!({"name": "late", "description": "Says so.", "command": "echo late but here"});
    let make = "mkdir -p .haft/tools/late; cat > .haft/tools/late/tool.json";
    // In the sandbox no folder of tools can be made.
    let line = format!("{make} <<'END'\n{manifest}\nEND");
    let bash = json!({"tool": "bash", "input": {"command": line, "outside": true}});
    let ran = place.run_with(&["--yes"], &format!("{bash}\nlate\n")).with(0);
    assert!(ran.out.contains("\nlate but here\n"), "{ran:?}");
}

#[test]
fn a_timeout_has_its_own_status() {
    let place = Place::new();
    place.write(
        ".haft/tools/slow/tool.json",
        r#"{"name": "slow", "description": "Sleeps.", "command": "echo begun; sleep 300", "timeoutMs": 300}"#,
    );
    let ran = place.run(&["call", "--yes", "--json", "slow"]).with(4).json();
    assert_eq!(ran["outcome"], "timed-out");
    assert!(ran["content"].to_string().contains("begun"), "{ran}");
}

#[test]
fn output_that_is_lost_is_a_failure() {
    let place = with_file();
    for words in [&["tools"][..], &["tools", "--json"], &["--help"], &["call", "read", "--path", "a.txt"]] {
        // A device of Linux that takes nothing.
        let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else { return };
        let mut command = place.command(words);
        let ran = ended(command.stdout(full).stderr(Stdio::piped()).spawn().unwrap()).with(1);
        assert!(ran.err.contains("could not be written"), "{words:?}: {ran:?}");
    }
}

#[test]
fn hafts_flags_among_a_tools_keys_get_a_hint() {
    let place = Place::new();
    let ran = place.run(&["call", "bash", "--command", "true", "--yes"]);
    assert!(ran.status != 0 && ran.err.contains("haft call --yes"), "{ran:?}");
}

#[test]
fn a_home_that_cannot_be_made_says_what_to_set() {
    let place = with_file();
    let mut command = place.command(&["call", "read", "--path", "a.txt"]);
    command.env("HAFT_HOME", "/dev/null/haft").stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = ended(command.spawn().unwrap()).with(1);
    assert!(ran.err.contains("set HAFT_HOME to a folder that can be written"), "{ran:?}");
}
