//! Every refusal says what to do next; all of them stand in a file of their own, so that a change shows in review.

use crate::{
    kit::{answered_by, call, denying, equipped, read},
    snapshot,
};
use haft_core::{Input, Request};
use haft_policy::Mode;
use haft_test::{Answers, Harness, HarnessSetup};
use regex::Regex;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Words by which a text tells its reader to do something, or what would be right.
#[rustfmt::skip] // a list of words
const NEXT_STEPS: &[&str] = &[
    "add", "call", "check", "correct", "did you mean", "find another way", "find the place", "give", "insert one",
    "its cells are", "join", "leave", "list", "makes one", "missing", "must", "name", "nearest names are",
    "needs a backslash", "needs after", "needs source", "pass", "read", "rename", "required", "send", "set", "try",
    "use", "wait", "write",
];

/// A notebook with one cell.
const NOTEBOOK: &str = "{\n \"cells\": [\n  {\n   \"cell_type\": \"raw\",\n   \"id\": \"q\",\n   \"metadata\": {},\n   \
    \"source\": []\n  }\n ],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n";

async fn zoo() -> Harness {
    let kit = denying("read(secret/**)", Answers::yes());
    kit.write("f", "a\nb\na\n");
    kit.write("bin", b"\x7fELF\0\0");
    kit.write("latin", b"Le caf\xe9 cr\xe8me et la cr\xe8me br\xfbl\xe9e \xe9taient servis\n");
    kit.write("secret/k", "k\n");
    kit.write("seen in part", "1\n2\n3\n");
    kit.write("changed", "1\n");
    kit.sh("mkfifo p; ln -s two one; ln -s one two; mkdir d").await;
    call(&kit, "read", json!({"path": "seen in part", "limit": 1})).await;
    read(&kit, "changed").await;
    kit.write("changed", "2\n");
    kit.write("nai\u{308}ve", "a\n");
    kit.write("n.ipynb", NOTEBOOK);
    kit.register(haft_runtime::undo_tool());
    kit
}

/// Calls that must not succeed in the zoo.
fn refused() -> Vec<(&'static str, Value)> {
    vec![
        ("read", json!({"path": "gone"})),
        ("read", json!({"path": "gone/too"})),
        ("read", json!({"path": "p"})),
        ("read", json!({"path": "one"})),
        ("read", json!({"path": "f/x"})),
        ("read", json!({"path": "gone/../f"})),
        ("read", json!({"path": ""})),
        ("read", json!({"path": "a\0b"})),
        ("read", json!({"path": "file:///f"})),
        ("read", json!({"path": "secret/k"})),
        ("read", json!({"path": "f", "limit": 0})),
        ("read", json!({"path": "f", "columns": "x"})),
        ("read", json!({"path": 3})),
        ("read", json!({})),
        ("write", json!({"path": "f"})),
        ("write", json!({"path": "f", "content": "x"})),
        ("write", json!({"path": "seen in part", "content": "x"})),
        ("write", json!({"path": "changed", "content": "x"})),
        ("write", json!({"path": "bin", "content": "x"})),
        ("write", json!({"path": "latin", "content": "\u{2603}"})),
        ("write", json!({"path": "d", "content": "x"})),
        ("write", json!({"path": ".", "content": "x"})),
        ("write", json!({"path": "p", "content": "x"})),
        ("write", json!({"path": "f/x", "content": "x"})),
        ("edit", json!({"path": "f", "old": "a", "new": "x"})),
        ("edit", json!({"path": "f", "old": "zzz", "new": "x"})),
        ("edit", json!({"path": "f", "old": "b c", "new": "x"})),
        ("edit", json!({"path": "f", "old": "b", "new": "b"})),
        ("edit", json!({"path": "f", "old": "", "new": "b"})),
        ("edit", json!({"path": "f", "old": "b"})),
        ("edit", json!({"path": "f"})),
        ("edit", json!({"path": "f", "edits": [{"old": "a\nb", "new": "x"}, {"old": "b\na", "new": "y"}]})),
        ("edit", json!({"path": "latin", "old": "caf", "new": "\u{2603}"})),
        ("edit", json!({"path": "gone", "old": "a", "new": "b"})),
        ("edit", json!({"path": "na\u{ef}ve", "old": "a", "new": "b"})),
        ("edit", json!({"path": "changed", "old": "1\n", "new": "3\n"})),
        ("edit", json!({"path": "d", "old": "a", "new": "b"})),
        ("grep", json!({"pattern": "a("})),
        ("grep", json!({"pattern": ""})),
        ("grep", json!({"pattern": "a", "type": "nope"})),
        ("grep", json!({"pattern": "a", "glob": "[x"})),
        ("grep", json!({"pattern": "a", "path": "gone"})),
        ("grep", json!({"pattern": "a", "path": "p"})),
        ("glob", json!({"pattern": ""})),
        ("glob", json!({"pattern": "[x"})),
        ("glob", json!({"pattern": ".git/*"})),
        ("glob", json!({"pattern": "*/../x"})),
        ("glob", json!({"pattern": "*", "path": "gone"})),
        ("tree", json!({"path": "f"})),
        ("tree", json!({"path": "gone"})),
        ("tree", json!({"depth": 0})),
        ("bash", json!({"command": ""})),
        ("bash", json!({"command": "a\0b"})),
        ("bash", json!({"command": "x".repeat(1_100_000)})),
        ("bash", json!({"command": "ls", "timeout": 0})),
        ("bash", json!({"command": "ls", "cwd": "gone"})),
        ("bash", json!({"command": "ls", "cwd": "f"})),
        ("bash", json!({"command": "sleep 60", "timeout": 200})),
        ("raed", json!({"path": "f"})),
        ("quite another", json!({})),
    ]
}

/// Calls of the tools that change many files, cells or whole calls; they must not succeed in the zoo either.
fn refused_in_many() -> Vec<(&'static str, Value)> {
    let envelope = |body: &str| json!({"patch": format!("*** Begin Patch\n{body}\n*** End Patch\n")});
    let diff = |body: &str| json!({"patch": format!("--- a/f\n+++ b/f\n{body}")});
    let cell = |more: Value| {
        let mut input = json!({"path": "n.ipynb", "cell": "q"});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    };
    vec![
        ("patch", json!({})),
        ("patch", json!({"patch": ""})),
        ("patch", json!({"patch": "hello"})),
        ("patch", json!({"patch": "*** Begin Patch\n*** Add File: z\n+x"})),
        ("patch", envelope("*** Update File: gone\n-a\n+b")),
        ("patch", envelope("*** Update File: f\n-something else\n+b")),
        ("patch", envelope("*** Update File: f\n-a\n+x")),
        ("patch", envelope("*** Update File: f\n-x\n+b")),
        ("patch", envelope("*** Update File: f\n@@ zzz\n-a\n+x")),
        ("patch", envelope("*** Update File: f\n-b\n+x\n*** Delete File: f")),
        ("patch", envelope("*** Update File: latin\n+\u{2603}")),
        ("patch", envelope("*** Update File: bin\n-a\n+x")),
        ("patch", envelope("*** Update File: d\n-a\n+x")),
        ("patch", envelope("*** Update File: p\n-a\n+x")),
        ("patch", envelope("*** Add File: f\n+x")),
        ("patch", envelope("*** Add File: f/x\n+x")),
        ("patch", envelope("*** Delete File: gone")),
        ("patch", envelope("*** Update File: f\n*** Move to: bin\n-b\n+x")),
        ("patch", diff("@@ -1,0 +2 @@\n+x\n")),
        ("patch", diff("@@ -9 +9 @@\n-zzz\n+x\n")),
        ("patch", json!({"patch": "@@ -1 +1 @@\n-a\n+x\n"})),
        ("patch", json!({"patch": "--- a/f\n+++ b/g\n@@ -1 +1 @@\n-a\n+x\n"})),
        ("patch", json!({"patch": "diff --git a/bin b/bin\nindex 1..2\nGIT binary patch\n"})),
        ("replace", json!({"pattern": "a"})),
        ("replace", json!({"pattern": "", "replacement": "x"})),
        ("replace", json!({"pattern": "a(", "replacement": "x"})),
        ("replace", json!({"pattern": "(a)", "replacement": "$1b"})),
        ("replace", json!({"pattern": "a", "replacement": "x", "glob": "[x"})),
        ("replace", json!({"pattern": "a", "replacement": "x", "paths": ["gone"]})),
        ("replace", json!({"pattern": "servis", "replacement": "\u{2603}", "paths": ["latin"]})),
        ("notebook_edit", json!({"path": "n.ipynb"})),
        ("notebook_edit", json!({"path": "f", "cell": "q", "source": "x"})),
        ("notebook_edit", json!({"path": "gone", "cell": "q", "source": "x"})),
        ("notebook_edit", json!({"path": "d", "cell": "q", "source": "x"})),
        ("notebook_edit", cell(json!({}))),
        ("notebook_edit", cell(json!({"action": "insert"}))),
        ("notebook_edit", cell(json!({"action": "move"}))),
        ("notebook_edit", cell(json!({"action": "delete", "source": "x"}))),
        ("notebook_edit", cell(json!({"action": "turn", "source": "x"}))),
        ("notebook_edit", cell(json!({"type": "poem", "source": "x"}))),
        ("notebook_edit", cell(json!({"cell": "zzz", "source": "x"}))),
        ("diff", json!({})),
        ("diff", json!({"a": "f"})),
        ("diff", json!({"a": "f", "b": "gone"})),
        ("diff", json!({"a": "f", "b": "d"})),
        ("diff", json!({"a": "f", "b": "p"})),
        ("diff", json!({"a": "f", "b": "f", "staged": true})),
        ("undo", json!({})),
        ("undo", json!({"turn": 7})),
        ("undo", json!({"call": "999"})),
        ("undo", json!({"call": "three"})),
        ("undo", json!({"call": "3", "turn": 1})),
    ]
}

/// Whether a text tells to do with the tool what was just done with it.
fn advises_itself(tool: &str, text: &str) -> bool {
    let text = words(text);
    ["use", "with", "by", "try", "call"].iter().any(|verb| text.contains(&format!(" {verb} {tool} ")))
}

/// The words of a text in small letters, each between two blanks.
fn words(text: &str) -> String {
    let text = text.to_lowercase();
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty()).collect();
    format!(" {} ", words.join(" "))
}

fn has_next_step(text: &str) -> bool {
    let text = words(text);
    NEXT_STEPS.iter().any(|step| text.contains(&format!(" {step} ")))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_names_a_next_step() {
    let kit = zoo().await;
    let mut without = Vec::new();
    for (tool, input) in refused().into_iter().chain(refused_in_many()) {
        let ended = call(&kit, tool, input.clone()).await;
        let text = ended.output.joined_text();
        let shown: String = input.to_string().chars().take(60).collect();
        if ended.outcome.is_completed() || !has_next_step(&text) || advises_itself(tool, &text) {
            without.push(format!("{tool} {shown}: {:?}: {text}", ended.outcome));
        }
    }
    assert!(without.is_empty(), "{} without a next step:\n{}", without.len(), without.join("\n"));
}

/// A text without what is another each time: where the workspace lies, and how long something took.
fn lasting(kit: &Harness, text: &str) -> String {
    let workspace = kit.workspace();
    let room = workspace.parent().unwrap().to_str().unwrap();
    let text = text.replace(workspace.to_str().unwrap(), "/WORKSPACE").replace(room, "/ROOM");
    let took = Regex::new(r"took [0-9.,]+ ?(ms|min|s)\b").unwrap();
    took.replace_all(&text, "took TIME").into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_are_as_they_were_reviewed() {
    let kit = zoo().await;
    let mut all = String::new();
    for (tool, input) in refused().into_iter().chain(refused_in_many()) {
        let ended = call(&kit, tool, input.clone()).await;
        let text = lasting(&kit, &ended.output.joined_text());
        let mut input = input.to_string();
        if let Some((at, _)) = input.char_indices().nth(200) {
            input.truncate(at);
            input.push('…');
        }
        let text: String = text.chars().take(4_000).collect();
        let _ = write!(all, "=== {tool} {input}\n{}\n{text}\n\n", ended.outcome.name());
    }
    snapshot::check("refusals.snap.txt", "refusals_are", &all);
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_of_modes_people_and_broken_input_name_one_too() {
    let broken = equipped(HarnessSetup::default());
    for request in [
        Request::new("read", "{\"path\": "),
        Request::new("read", "[1]"),
        Request { input: Input::CutOff("{\"path\": \"f\"}".to_owned()), ..Request::new("read", "") },
    ] {
        let ended = broken.executor().submit(broken.session(), request).await;
        let text = ended.output.joined_text();
        assert!(!ended.outcome.is_completed() && has_next_step(&text), "{text}");
    }
    let bash = json!({"command": "touch made"});
    let plan = equipped(HarnessSetup { mode: Mode::Plan, ..HarnessSetup::default() });
    let text = call(&plan, "bash", bash.clone()).await.output.joined_text();
    assert!(text.contains("leave plan mode"), "{text}");
    let no = answered_by(Answers::no());
    let text = call(&no, "bash", bash).await.output.joined_text();
    assert_eq!(text, "Tool use denied by user: bash");
    assert!(!plan.path("made").exists() && !no.path("made").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_leaves_every_file_as_it_was() {
    let kit = zoo().await;
    let sums = "find . -type f | sort | xargs -d '\\n' cksum; find . | sort";
    let before = kit.sh(sums).await;
    for (tool, input) in refused().into_iter().chain(refused_in_many()) {
        call(&kit, tool, input).await;
    }
    assert_eq!(kit.sh(sums).await, before);
}
