//! What is refused or asked before a tool runs: plan mode, paths outside, a person who says no.

use crate::kit::{answered_by, call, denied, denying, done, equipped, has, kit, mark, marked};
use haft_core::{Answer, Outcome};
use haft_policy::Mode;
use haft_test::{Answers, HarnessSetup};
use serde_json::json;
use std::fs;

#[tokio::test(flavor = "multi_thread")]
async fn plan_mode_refuses_what_changes_something_and_lets_reads_run() {
    let kit = equipped(HarnessSetup { mode: Mode::Plan, ..HarnessSetup::default() });
    let mark = mark();
    kit.write("f", "a\n");
    for (tool, input) in [
        ("write", json!({"path": "new", "content": "x"})),
        ("edit", json!({"path": "f", "old": "a", "new": "b"})),
        ("bash", json!({"command": format!("touch new; sleep {mark}")})),
        ("bash", json!({"command": "sh ./unknown"})),
    ] {
        let ended = call(&kit, tool, input.clone()).await;
        assert_eq!(denied(&ended), "plan", "{tool} {input}");
        has(&ended.output.joined_text(), &[tool, "plan mode"]);
    }
    for (tool, input, part) in [
        ("read", json!({"path": "f"}), "1│a"),
        ("read", json!({"path": "."}), "f  2 B"),
        ("grep", json!({"pattern": "a"}), "f:1:a"),
        ("glob", json!({"pattern": "*"}), "f"),
        ("tree", json!({}), "f"),
        ("bash", json!({"command": "ls | head -3"}), "f"),
    ] {
        has(&done(&call(&kit, tool, input).await), &[part]);
    }
    assert_eq!(kit.read("f"), b"a\n");
    assert_eq!(kit.sh("ls").await, "f\n");
    assert!(marked(&mark).is_empty() && kit.answers().asked().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_outside_the_workspace_are_asked_by_every_tool() {
    let kit = answered_by(Answers::no());
    let beside = kit.outside().join("beside");
    fs::create_dir(&beside).unwrap();
    fs::write(beside.join("f"), "needle\n").unwrap();
    let (file, folder) = (beside.join("f"), beside.clone());
    let (file, folder) = (file.to_string_lossy(), folder.to_string_lossy());
    let calls = [
        ("read", json!({"path": file})),
        ("read", json!({"path": "../beside"})),
        ("edit", json!({"path": "../beside/f", "old": "needle", "new": "x"})),
        ("write", json!({"path": format!("{folder}/new"), "content": "x"})),
        ("grep", json!({"pattern": "needle", "path": "../beside"})),
        ("glob", json!({"pattern": format!("{folder}/*")})),
        ("glob", json!({"pattern": "../beside/*"})),
        ("tree", json!({"path": folder})),
        ("bash", json!({"command": "cat f", "cwd": "../beside"})),
    ];
    for (index, (tool, input)) in calls.iter().enumerate() {
        let ended = call(&kit, tool, input.clone()).await;
        assert_eq!(denied(&ended), "user", "{tool} {input}");
        assert!(!ended.output.joined_text().contains("needle"), "{tool}");
        let asked = kit.answers().asked();
        assert_eq!(asked.len(), index + 1, "{tool} {input}");
        let why: String = asked[index].why.iter().map(|why| why.reason.clone()).collect();
        has(&why, &["/beside", "outside the workspace"]);
    }
    assert_eq!(fs::read(beside.join("f")).unwrap(), b"needle\n");
    assert!(!beside.join("new").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_allows_outside_is_done_there() {
    let kit = kit();
    let beside = kit.outside().join("beside");
    fs::create_dir(&beside).unwrap();
    fs::write(beside.join("f"), "needle\n").unwrap();
    let folder = beside.to_string_lossy();
    has(
        &done(&call(&kit, "grep", json!({"pattern": "needle", "path": folder})).await),
        &["/beside/f:1:needle"],
    );
    has(&done(&call(&kit, "glob", json!({"pattern": "../beside/*"})).await), &["/beside/f"]);
    has(
        &done(&call(&kit, "edit", json!({"path": "../beside/f", "old": "needle", "new": "x"})).await),
        &["/beside/f"],
    );
    assert_eq!(fs::read(beside.join("f")).unwrap(), b"x\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_changes_nothing_and_feedback_reaches_the_model() {
    let feedback = Some("use the other file".to_owned());
    let kit = answered_by(Answers::script([Answer::Deny { feedback }, Answer::Dismissed, Answer::Once]));
    kit.write("f", "a\n");
    let input = json!({"path": "f", "old": "a", "new": "b"});
    let ended = call(&kit, "edit", input.clone()).await;
    assert_eq!(denied(&ended), "user");
    has(&ended.output.joined_text(), &["Tool use denied by user: edit", "use the other file"]);
    assert_eq!(call(&kit, "edit", input.clone()).await.outcome, Outcome::Cancelled);
    assert_eq!(kit.read("f"), b"a\n");
    done(&call(&kit, "edit", input).await);
    assert_eq!(kit.read("f"), b"b\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_tells_nothing_of_what_must_not_be_read() {
    let kit = denying("read(secret/**)", Answers::yes());
    kit.write("secret/k", "guess\n");
    let texts = ["guess\n", "another\n"].map(|content| json!({"path": "secret/k", "content": content}));
    let mut said = Vec::new();
    for input in texts {
        let ended = call(&kit, "write", input).await;
        assert_eq!(denied(&ended), "deny");
        said.push(ended.output.joined_text());
    }
    assert_eq!(said[0], said[1]);
    assert_eq!(kit.read("secret/k"), b"guess\n");
    assert!(kit.answers().asked().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_shows_what_will_happen() {
    let kit = kit();
    kit.write("f", "a\n");
    done(&call(&kit, "write", json!({"path": "new", "content": "one\ntwo\n"})).await);
    done(&call(&kit, "edit", json!({"path": "f", "old": "a", "new": "b"})).await);
    done(&call(&kit, "bash", json!({"command": "touch 'as it is' $((1 + 1))"})).await);
    let shown: Vec<String> = kit.answers().asked().into_iter().map(|asked| asked.preview.text).collect();
    assert_eq!(shown.len(), 3);
    has(&shown[0], &["+one\n+two\n"]);
    has(&shown[1], &["-a\n+b\n"]);
    assert_eq!(shown[2], "touch 'as it is' $((1 + 1))");
}

#[tokio::test(flavor = "multi_thread")]
async fn accept_edits_lets_writes_inside_run_and_asks_for_the_rest() {
    let kit =
        equipped(HarnessSetup { mode: Mode::AcceptEdits, answers: Answers::no(), ..HarnessSetup::default() });
    kit.write("f", "a\n");
    done(&call(&kit, "edit", json!({"path": "f", "old": "a", "new": "b"})).await);
    done(&call(&kit, "write", json!({"path": "g/h", "content": "x"})).await);
    assert!(kit.answers().asked().is_empty());
    let outside = call(&kit, "write", json!({"path": "../out", "content": "x"})).await;
    assert_eq!(denied(&outside), "user");
    assert_eq!(denied(&call(&kit, "bash", json!({"command": "touch k"})).await), "user");
    assert!(!kit.outside().join("out").exists());
}
