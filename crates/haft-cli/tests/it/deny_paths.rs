//! A deny rule on a folder holds whichever tool asks for it, under whatever name, by whatever way a call comes in.

use crate::place::{Place, Ran, has_program, left_out};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Write},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// What must never be seen. No call writes it itself.
const MARKER: &str = "7f3a-omega";
/// The same as `base64` prints it of the denied file.
const ENCODED: &str = "dmM2Etb21lZ2E";
const RULES: &str = "[permissions]\ndeny = [\"read(secret/**)\", \"edit(secret/**)\"]\n";

/// A trusted workspace with a denied folder, and links to it from outside of it.
fn stage() -> Place {
    let place = Place::new();
    place.write("secret/k", &format!("alpha needle\n{MARKER}\n"));
    place.write("secret/inner/x", &format!("{MARKER}\n"));
    place.write("open.txt", "a needle\n");
    place.write("a/b.txt", "nothing\n");
    place.write(".haft/config.toml", RULES);
    for (link, target) in [("ok", "secret/k"), ("s2", "secret"), ("deep", "secret/inner")] {
        symlink(target, place.workspace().join(link)).unwrap();
    }
    place.run(&["trust"]).with(0);
    place
}

/// All that stands in the workspace: of files the bytes, of links the targets.
fn all(place: &Place) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![place.workspace()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_dir() {
                found.insert(path.clone(), Vec::new());
                folders.push(path);
            } else if kind.is_symlink() {
                let target = fs::read_link(&path).unwrap();
                found.insert(path, target.into_os_string().into_encoded_bytes());
            } else {
                let bytes = fs::read(&path).unwrap();
                found.insert(path, bytes);
            }
        }
    }
    found
}

/// Names of the denied file.
fn names(place: &Place) -> Vec<String> {
    let whole = place.workspace().display().to_string();
    let mut names: Vec<String> = [
        "secret/k",
        "./secret/k",
        "./secret//k",
        "secret/./k",
        "./a/../secret/k",
        "secret/inner/../k",
        "ok",
        "s2/k",
        "./s2//k",
        "deep/../k",
        "~/workspace/secret/k",
        "~/workspace/ok",
    ]
    .map(str::to_owned)
    .into();
    names.extend([format!("{whole}/secret/k"), format!("/{whole}/secret/k"), format!("{whole}/a/../s2/k")]);
    names
}

#[track_caller]
fn hides(ran: &Ran, what: &str) {
    for text in [MARKER, ENCODED] {
        assert!(!ran.out.contains(text) && !ran.err.contains(text), "{what} shows it: {ran:?}");
    }
}

/// A call that must be denied, whatever the person at the terminal would say.
#[track_caller]
fn denied(place: &Place, mode: &str, tool: &str, input: &Value) {
    let what = format!("{tool} {input} in {mode}");
    let ran = place.run(&["--mode", mode, "--yes", "call", tool, &input.to_string()]);
    hides(&ran, &what);
    assert_eq!(ran.status, 3, "{what}: {ran:?}");
}

/// A call that may be refused for its odd name as well, as long as it does nothing.
#[track_caller]
fn refused(place: &Place, mode: &str, tool: &str, input: &Value) {
    let what = format!("{tool} {input} in {mode}");
    let ran = place.run(&["--mode", mode, "--yes", "call", tool, &input.to_string()]);
    hides(&ran, &what);
    assert_ne!(ran.status, 0, "{what}: {ran:?}");
}

#[test]
fn case_f29_a_denied_file_is_read_by_no_tool_under_no_name() {
    let place = stage();
    let before = all(&place);
    for mode in ["default", "full"] {
        for name in names(&place) {
            denied(&place, mode, "read", &json!({"path": name}));
            denied(&place, mode, "grep", &json!({"pattern": "alpha", "path": name}));
            denied(&place, mode, "diff", &json!({"a": name, "b": "open.txt"}));
            denied(&place, mode, "diff", &json!({"a": "open.txt", "b": name}));
        }
        for folder in ["secret", "./secret/", "a/../secret", "s2", "deep", "secret/inner", "~/workspace/s2"] {
            denied(&place, mode, "grep", &json!({"pattern": "alpha", "path": folder}));
            denied(&place, mode, "glob", &json!({"pattern": "*", "path": folder}));
            denied(&place, mode, "tree", &json!({"path": folder}));
        }
    }
    assert_eq!(all(&place), before);
}

#[test]
fn case_f29_a_denied_file_is_written_by_no_tool_under_no_name() {
    let place = stage();
    let before = all(&place);
    for mode in ["default", "accept-edits", "full"] {
        for name in names(&place) {
            denied(&place, mode, "write", &json!({"path": name, "content": "x"}));
            denied(&place, mode, "edit", &json!({"path": name, "edits": [{"old": "alpha", "new": "x"}]}));
            let update =
                format!("*** Begin Patch\n*** Update File: {name}\n@@\n-alpha needle\n+x\n*** End Patch\n");
            let delete = format!("*** Begin Patch\n*** Delete File: {name}\n*** End Patch\n");
            for patch in [update, delete] {
                refused(&place, mode, "patch", &json!({"patch": patch}));
            }
        }
        denied(&place, mode, "write", &json!({"path": "secret/new", "content": "x"}));
        denied(&place, mode, "write", &json!({"path": "s2/new", "content": "x"}));
        let patches = [
            "*** Begin Patch\n*** Update File: secret/k\n@@\n-alpha needle\n+x\n*** End Patch\n",
            "*** Begin Patch\n*** Add File: secret/new\n+x\n*** End Patch\n",
            "*** Begin Patch\n*** Update File: open.txt\n*** Move to: secret/new\n@@\n-a needle\n+x\n*** End Patch\n",
            "--- a/open.txt\n+++ b/open.txt\n@@ -1 +1 @@\n-a needle\n+x\n--- a/secret/k\n+++ b/secret/k\n@@ -1 +1 @@\n\
             -alpha needle\n+x\n",
        ];
        for patch in patches {
            denied(&place, mode, "patch", &json!({"patch": patch}));
        }
        for tree in ["secret", "secret/k", "s2", "ok"] {
            let input = json!({"pattern": "alpha", "replacement": "x", "paths": [tree]});
            denied(&place, mode, "replace", &input);
        }
    }
    assert_eq!(all(&place), before);
}

/// Lines that name the file by words that can be read: refused in every mode.
const PLAIN: [&str; 20] = [
    "cat secret/k",
    "cat ./a/../secret/k",
    "cat < secret/k",
    "cd secret && cat k",
    "cd a && cat ../secret/k",
    "head -c 100 ./a/../secret/k",
    "cat ok",
    "cat s2/k",
    "cat deep/../k",
    "cat 'secret'/k",
    "cat sec\"ret\"/k",
    "cat secret//k | base64",
    "echo \"$(cat secret/k)\"",
    "while read -r line; do echo \"$line\"; done < secret/k",
    "sh -c 'cat secret/k'",
    "env A=1 timeout 5 cat secret/k",
    "cp secret/k copy.txt",
    "tee secret/new < open.txt",
    "echo x > secret/k",
    "rm secret/k",
];
/// Lines that only the shell can read, or that read it among others: nobody runs them unasked in default mode.
const DISGUISED: [&str; 14] = [
    "cat 0<secret/k",
    "echo $(< secret/k)",
    "cat $(echo secret)/k",
    "cat \"$PWD/secret/k\"",
    "D=secret; cat $D/k",
    "cat sec*/k",
    "cat {secret,a}/k",
    "cat secret\\/k",
    "cat $'secret/k'",
    "cd s* && cat k",
    "grep -r alpha .",
    "tar cf - . | base64",
    "python3 -c \"print(open('secret/k').read())\"",
    "echo secret/k | xargs cat",
];

#[test]
fn case_f29_a_shell_line_reads_and_writes_no_denied_file() {
    let place = stage();
    let before = all(&place);
    for mode in ["default", "full"] {
        for line in PLAIN {
            denied(&place, mode, "bash", &json!({"command": line}));
        }
        let whole = format!("cat {}/secret/k", place.workspace().display());
        denied(&place, mode, "bash", &json!({"command": whole}));
        denied(&place, mode, "bash", &json!({"command": "cat k", "cwd": "secret"}));
    }
    for line in DISGUISED {
        let ran = place.run(&["call", "bash", &json!({"command": line}).to_string()]);
        hides(&ran, line);
        assert_eq!(ran.status, 3, "{line}: {ran:?}");
    }
    assert_eq!(all(&place), before);
}

#[test]
fn case_f29_a_broad_search_runs_and_counts_what_it_left_out() {
    let place = stage();
    let before = all(&place);
    for mode in ["default", "full"] {
        let call = |tool: &str, input: Value| {
            let ran = place.run(&["--mode", mode, "call", tool, &input.to_string()]).with(0);
            hides(&ran, tool);
            ran.out
        };
        let found = call("grep", json!({"pattern": "needle", "path": "."}));
        assert!(found.contains("open.txt") && !found.contains("alpha"), "{found}");
        assert!(found.contains("left out") && found.contains("denied path"), "{found}");
        let found = call("glob", json!({"pattern": "**/*"}));
        assert!(found.contains("open.txt") && !found.contains("secret/k"), "{found}");
        assert!(found.contains("denied path"), "{found}");
        let shown = call("tree", json!({}));
        assert!(shown.contains("open.txt") && shown.contains("that rules deny"), "{shown}");
    }
    assert_eq!(all(&place), before);
}

#[test]
fn a_broad_replacement_leaves_denied_files_as_they_are() {
    let place = stage();
    let secret = place.read("secret/k");
    let input = json!({"pattern": "needle", "replacement": "pin", "literal": true}).to_string();
    let ran = place.run(&["--mode", "full", "call", "replace", &input]).with(0);
    hides(&ran, "replace");
    assert_eq!(place.read("open.txt").as_deref(), Some("a pin\n"));
    assert_eq!(place.read("secret/k"), secret);
}

#[test]
fn the_diff_of_a_repository_leaves_denied_files_out() {
    if !has_program("git") {
        return left_out("the diff of a repository", "git");
    }
    let place = stage();
    let git = |words: &[&str]| {
        let who = ["-c", "user.name=t", "-c", "user.email=t@t.example", "-c", "commit.gpgsign=false"];
        let status = Command::new("git")
            .args(who)
            .args(words)
            .current_dir(place.workspace())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(status.unwrap().success(), "git {words:?}");
    };
    git(&["init", "-q"]);
    place.write("secret/k", "old\n");
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "all"]);
    place.write("secret/k", &format!("{MARKER}\n"));
    place.write("open.txt", "another needle\n");
    for mode in ["default", "full"] {
        let ran = place.run(&["--mode", mode, "call", "diff", "{}"]).with(0);
        hides(&ran, "diff");
        assert!(ran.out.contains("another needle") && ran.out.contains("left out"), "{ran:?}");
    }
    for line in ["git diff secret/k", "git show HEAD:secret/k", "git grep omega"] {
        let ran = place.run(&["call", "bash", &json!({"command": line}).to_string()]);
        hides(&ran, line);
        assert_eq!(ran.status, 3, "{line}: {ran:?}");
    }
}

#[test]
fn case_f29_a_models_calls_see_none_of_it_and_the_log_neither() {
    let place = stage();
    let calls = [
        json!({"tool": "read", "input": {"path": "ok"}}),
        json!({"tool": "grep", "input": {"pattern": "needle"}}),
        json!({"tool": "bash", "input": {"command": "cat s2/k"}}),
        json!({"tool": "write", "input": {"path": "secret/k", "content": "x"}}),
    ];
    let before = place.read("secret/k");
    let turns: String =
        calls.iter().map(|call| format!("{}\n", json!({"text": "", "calls": [call]}))).collect();
    place.write("turns.jsonl", &format!("{turns}{}\n", json!({"text": "done"})));
    for mode in ["default", "full"] {
        let ran = place.run(&["--mode", mode, "--yes", "run", "--model", "scripted:turns.jsonl", "go"]);
        hides(&ran, mode);
    }
    assert_eq!(place.read("secret/k"), before);
    let logs = files(&place.home()).into_iter().filter(|path| path.ends_with("log.jsonl"));
    let ends: usize =
        logs.map(|path| fs::read_to_string(path).unwrap().matches("\"entry\":\"ended\"").count()).sum();
    assert_eq!(ends, 2 * calls.len(), "each call has an end");
    for path in files(&place.home()) {
        let kept = fs::read(&path).unwrap();
        assert!(!String::from_utf8_lossy(&kept).contains(MARKER), "{} keeps it", path.display());
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| if entry.path().is_dir() { files(&entry.path()) } else { vec![entry.path()] })
        .collect()
}

#[test]
fn case_f29_calls_that_come_in_over_mcp_are_held_to_it() {
    let place = stage();
    let before = all(&place);
    for mode in ["default", "full"] {
        let calls = [
            ("read", json!({"path": "ok"}), true),
            ("read", json!({"path": "./a/../secret/k"}), true),
            ("grep", json!({"pattern": "needle", "path": "."}), false),
            ("grep", json!({"pattern": "needle", "path": "s2"}), true),
            ("glob", json!({"pattern": "*", "path": "secret"}), true),
            ("edit", json!({"path": "s2/k", "edits": [{"old": "alpha", "new": "x"}]}), true),
            ("write", json!({"path": "secret/k", "content": "x"}), true),
            ("bash", json!({"command": "cat secret/k"}), true),
            ("bash", json!({"command": "cd secret && cat k"}), true),
        ];
        let messages: Vec<Value> = calls
            .iter()
            .enumerate()
            .map(|(at, (name, arguments, _))| {
                let params = json!({"name": name, "arguments": arguments});
                json!({"jsonrpc": "2.0", "id": at + 10, "method": "tools/call", "params": params})
            })
            .collect();
        let replies = serve(&place, mode, &messages);
        for (at, (name, arguments, is_error)) in calls.iter().enumerate() {
            let reply = replies.iter().find(|reply| reply["id"] == at + 10).unwrap();
            let text = reply.to_string();
            assert!(!text.contains(MARKER), "{name} {arguments} in {mode} shows it: {text}");
            assert_eq!(reply["result"]["isError"], *is_error, "{name} {arguments} in {mode}: {text}");
        }
        let found = replies.iter().find(|reply| reply["id"] == 12).unwrap().to_string();
        assert!(found.contains("open.txt") && found.contains("denied path"), "{found}");
    }
    assert_eq!(all(&place), before);
}

/// The replies to requests of a client that waits for all of them.
fn serve(place: &Place, mode: &str, requests: &[Value]) -> Vec<Value> {
    let mut messages = vec![
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}
        }}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ];
    messages.extend(requests.iter().cloned());
    let mut command = place.command(&["--mode", mode, "--yes", "serve", "mcp"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for message in &messages {
        writeln!(stdin, "{message}").unwrap();
    }
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut replies: Vec<Value> = Vec::new();
    // Leaving cancels what still runs, so all replies are waited for first.
    while !requests.iter().all(|request| replies.iter().any(|reply| reply["id"] == request["id"])) {
        let line = lines.next().expect("a reply to each request").unwrap();
        replies.push(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")));
    }
    drop(stdin);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    replies
}

#[test]
fn a_pattern_is_judged_by_what_it_finds() {
    let place = stage();
    place.write(".env", "KEY=1\n");
    place.write("README.md", "hello\n");
    let verdict = |line: &str| {
        let input = json!({"command": line}).to_string();
        place.run(&["explain", "--json", "bash", &input]).with(0).json()["verdict"].clone()
    };
    let cases = [
        ("cat *.md", "allow"),
        ("cat a/*.txt", "allow"),
        ("cat *.none", "allow"),
        ("cat .e*", "ask"),
        ("cat o*", "deny"),
        ("cat s2/*", "deny"),
        ("cat sec*/k", "deny"),
        ("head -1 */k", "deny"),
    ];
    for (line, expected) in cases {
        assert_eq!(verdict(line), expected, "{line}");
    }
}

#[test]
fn git_in_a_line_that_does_more_is_asked_where_its_settings_start_a_program() {
    if !has_program("git") {
        return left_out("git in a line that does more", "git");
    }
    let place = Place::new();
    let git = |words: &[&str]| {
        let status = Command::new("git").args(words).current_dir(place.workspace()).status();
        assert!(status.unwrap().success(), "git {words:?}");
    };
    git(&["init", "-q"]);
    place.write_home("config.toml", "[permissions]\nallow = [\"bash(mkdir *)\"]\n");
    let verdict = |line: &str| {
        let input = json!({"command": line}).to_string();
        place.run(&["explain", "--json", "bash", &input]).with(0).json()["verdict"].clone()
    };
    let mixed = "mkdir -p q && git status -s";
    assert_eq!((verdict("git status -s"), verdict(mixed)), (json!("allow"), json!("allow")));
    git(&["config", "core.fsmonitor", ".git/evil"]);
    assert_eq!((verdict("git status -s"), verdict(mixed)), (json!("allow"), json!("ask")));
}
