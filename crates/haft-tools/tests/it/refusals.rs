//! Every refusal says what to do next.

use crate::kit::{answered_by, call, denying, equipped, read};
use haft_core::{Input, Request};
use haft_policy::Mode;
use haft_test::{Answers, Harness, HarnessSetup};
use serde_json::{Value, json};

/// Words by which a text tells its reader to do something, or what would be right.
#[rustfmt::skip] // a list of words
const NEXT_STEPS: &[&str] = &[
    "add", "call", "check", "correct", "did you mean", "find another way", "find the place", "give", "join",
    "leave", "list", "makes one", "missing", "must", "name", "nearest names are", "needs a backslash", "pass",
    "read", "rename", "required", "send", "set", "try", "use", "wait", "write",
];

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
        ("bash", json!({"command": "sleep 60", "timeout": 1})),
        ("raed", json!({"path": "f"})),
        ("quite another", json!({})),
    ]
}

fn has_next_step(text: &str) -> bool {
    let text = text.to_lowercase();
    let words: Vec<&str> =
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let text = format!(" {} ", words.join(" "));
    NEXT_STEPS.iter().any(|step| text.contains(&format!(" {step} ")))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_refusal_names_a_next_step() {
    let kit = zoo().await;
    let mut without = Vec::new();
    for (tool, input) in refused() {
        let ended = call(&kit, tool, input.clone()).await;
        let text = ended.output.joined_text();
        let shown: String = input.to_string().chars().take(60).collect();
        if ended.outcome.is_completed() || !has_next_step(&text) {
            without.push(format!("{tool} {shown}: {:?}: {text}", ended.outcome));
        }
    }
    assert!(without.is_empty(), "{} without a next step:\n{}", without.len(), without.join("\n"));
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
    for (tool, input) in refused() {
        call(&kit, tool, input).await;
    }
    assert_eq!(kit.sh(sums).await, before);
}
