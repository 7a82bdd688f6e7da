//! Several processes, and several calls of one client, on the same files and the same session.

use crate::place::{Place, ended};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, process::Stdio};

/// How many edit at once.
const EDITORS: usize = 50;

/// Starts all at once, each editing its own line by one of `names`, and returns the file.
fn edit_together(place: &Place, names: &[&str], mode: &[&str]) -> String {
    let children: Vec<_> = (0..EDITORS)
        .map(|line| {
            let path = names[line % names.len()];
            let input = json!({"path": path, "old": format!("line{line}\n"), "new": format!("LINE{line}\n")});
            let input = input.to_string();
            let words = [mode, &["call", "--json", "edit", input.as_str()]].concat();
            place.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in children {
        let ran = ended(child);
        assert_eq!(ran.status, 0, "{ran:?}");
    }
    place.read("f.txt").unwrap()
}

fn lines() -> String {
    (0..EDITORS).map(|line| format!("line{line}\n")).collect()
}

#[test]
fn fifty_processes_edit_one_file_and_all_land() {
    for mode in [&["--yes"][..], &["--mode", "accept-edits"]] {
        let place = Place::new();
        place.write("f.txt", &lines());
        assert_eq!(edit_together(&place, &["f.txt"], mode), lines().to_uppercase(), "{mode:?}");
    }
}

#[test]
fn edits_by_two_names_of_one_file_all_land() {
    let place = Place::new();
    place.write("f.txt", &lines());
    fs::hard_link(place.workspace().join("f.txt"), place.workspace().join("hard.txt")).unwrap();
    std::os::unix::fs::symlink("f.txt", place.workspace().join("soft.txt")).unwrap();
    let edited = edit_together(&place, &["f.txt", "hard.txt", "soft.txt"], &["--yes"]);
    assert_eq!(edited, lines().to_uppercase());
}

#[test]
fn processes_that_share_a_session_give_each_call_one_outcome() {
    let place = Place::new();
    place.write("a.txt", "a\n");
    let children: Vec<_> = (0..40)
        .map(|_| {
            let words = ["call", "read", "{\"path\":\"a.txt\"}"];
            place.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in children {
        assert_eq!(ended(child).status, 0);
    }
    let mut ends: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let logs = walk(&place.home().join("state"));
    for line in logs
        .iter()
        .filter(|path| path.ends_with("log.jsonl"))
        .flat_map(|path| fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect::<Vec<_>>())
    {
        // Where a process opened the log while another was in the middle of a line.
        if line.is_empty() {
            continue;
        }
        let line: Value = serde_json::from_str(&line).unwrap();
        if line["entry"] == "ended" {
            let outcome = line["outcome"].as_str().unwrap().to_owned();
            ends.entry(line["call"].to_string()).or_default().push(outcome);
        }
    }
    assert_eq!(ends.len(), 40);
    assert!(ends.values().all(|outcomes| outcomes == &["completed"]), "{ends:?}");
}

#[test]
fn a_client_that_writes_then_edits_in_one_go_gets_both_though_each_asks() {
    let place = Place::new();
    let call = |id: u64, name: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    let mut messages = vec![
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}
        }}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        call(2, "write", json!({"path": "new.txt", "content": "v0\n"})),
    ];
    for step in 0..19_u64 {
        let input = json!({"path": "new.txt", "old": format!("v{step}"), "new": format!("v{}", step + 1)});
        messages.push(call(3 + step, "edit", input));
    }
    let input: String = messages.iter().map(|message| format!("{message}\n")).collect();
    let ran = place.run_with(&["--yes", "serve", "mcp"], &input).with(0);
    assert_eq!(place.read("new.txt").as_deref(), Some("v19\n"), "{}", ran.out);
    assert_eq!(ran.out.matches("\"isError\":false").count(), 20, "{}", ran.out);
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| if entry.path().is_dir() { walk(&entry.path()) } else { vec![entry.path()] })
        .collect()
}
