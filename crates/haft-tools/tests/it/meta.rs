//! Calls through `tool_use` and `batch`.

use crate::kit::{answered_by, call, denied, denying, equipped, failed, has, kit};
use haft_core::{Answer, FailureKind, Outcome};
use haft_policy::Mode;
use haft_test::{Answers, HarnessSetup};
use serde_json::{Value, json};

#[tokio::test]
async fn tool_use_gives_what_the_call_itself_gives() {
    let kit = kit();
    kit.write("a.txt", "one\n");
    let inner = call(&kit, "read", json!({"path": "a.txt"})).await;
    let ended = call(&kit, "tool_use", json!({"tool": "read", "input": {"path": "a.txt"}})).await;
    assert_eq!(ended.output.joined_text(), inner.output.joined_text());
    let edit = json!({"tool": "edit", "input": {"path": "a.txt", "old": "one", "new": "two"}});
    assert_eq!(call(&kit, "tool_use", edit).await.outcome, Outcome::Completed);
    assert_eq!(kit.read("a.txt"), b"two\n");
}

#[tokio::test]
async fn tool_use_ends_as_the_call_itself_ends() {
    let kit = denying("read(secret/**)", Answers::yes());
    kit.write("secret/k", "x");
    for (tool, input, name, says) in [
        ("read", json!({"path": "none"}), "failed", "none"),
        ("read", json!({"path": "secret/k"}), "denied", "secret/**"),
        ("read", json!({"path": 7}), "invalid", "/path"),
        ("raed", json!({}), "unknown", "nearest names are: read"),
    ] {
        let itself = call(&kit, tool, input.clone()).await;
        let ended = call(&kit, "tool_use", json!({"tool": tool, "input": input})).await;
        assert_eq!((ended.outcome.name(), &ended.outcome), (name, &itself.outcome));
        assert_eq!(ended.failure.is_some(), itself.failure.is_some(), "{name}");
        let text = ended.output.joined_text();
        assert!(text.contains(says) && text == itself.output.joined_text(), "{text}");
    }
    let twice = call(&kit, "tool_use", json!({"tool": "batch", "input": {"calls": []}})).await;
    assert!(failed(&twice, FailureKind::InvalidInput).contains("directly"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_person_or_the_clock_ends_inside_ends_tool_use_as_well() {
    let no = Answer::Deny { feedback: Some("not now".to_owned()) };
    let kit = answered_by(Answers::script([no, Answer::Dismissed, Answer::Once]));
    let write = json!({"tool": "write", "input": {"path": "a.txt", "content": "x"}});
    let refused = call(&kit, "tool_use", write.clone()).await;
    assert_eq!(denied(&refused), "user");
    assert!(matches!(&refused.outcome, Outcome::Denied { feedback: Some(said), .. } if said == "not now"));
    assert_eq!(call(&kit, "tool_use", write).await.outcome, Outcome::Cancelled);
    let sleep = json!({"tool": "bash", "input": {"command": "sleep 60", "timeout": 50}});
    assert_eq!(call(&kit, "tool_use", sleep).await.outcome, Outcome::TimedOut);
    assert!(!kit.path("a.txt").exists());
}

#[tokio::test]
async fn batch_says_of_each_call_how_it_ended() {
    let kit = denying("read(secret/**)", Answers::no());
    kit.write("secret/k", "x");
    let read = |path: Value| json!({"tool": "read", "input": {"path": path}});
    let write = json!({"tool": "write", "input": {"path": "a.txt", "content": "x"}});
    let calls = json!([read(json!("secret/k")), read(json!(7)), {"tool": "raed"}, write]);
    let ended = call(&kit, "batch", json!({"calls": calls})).await;
    assert_eq!(ended.outcome, Outcome::Completed);
    let text = ended.output.joined_text();
    has(&text, &["[1.1 read: denied]", "[1.2 read: invalid]", "[1.3 raed: unknown]", "[1.4 write: denied]"]);
    assert!(text.ends_with("4 of 4 calls gave no result."), "{text}");
}

#[tokio::test]
async fn batch_answers_each_call_and_keeps_the_order_of_those_that_touch_the_same() {
    // Nothing is asked: what a person was shown of a file would no longer be what happens after the earlier calls.
    let kit = equipped(HarnessSetup { mode: Mode::AcceptEdits, ..HarnessSetup::default() });
    let write = |text: &str| json!({"tool": "write", "input": {"path": "a.txt", "content": text}});
    let read = json!({"tool": "read", "input": {"path": "a.txt"}});
    let none = json!({"tool": "read", "input": {"path": "none"}});
    let ended =
        call(&kit, "batch", json!({"calls": [write("one\n"), read, none, write("two\n"), read]})).await;
    assert_eq!(ended.outcome, Outcome::Completed);
    let text = ended.output.joined_text();
    let heads: Vec<&str> = text.lines().filter(|line| line.starts_with("[1.")).collect();
    assert_eq!(
        heads,
        [
            "[1.1 write: completed]",
            "[1.2 read: completed]",
            "[1.3 read: failed]",
            "[1.4 write: completed]",
            "[1.5 read: completed]",
        ],
        "{text}"
    );
    let (first, rest) = text.split_once("[1.3").unwrap();
    assert!(first.contains("one") && !first.contains("two") && rest.contains("two"), "{text}");
    assert!(text.ends_with("1 of 5 calls gave no result."), "{text}");
}

#[tokio::test]
async fn a_batch_with_a_fault_in_it_does_nothing() {
    let kit = kit();
    let write = json!({"tool": "write", "input": {"path": "a.txt", "content": "x"}});
    let many: Vec<_> = (0..17).map(|_| write.clone()).collect();
    for calls in [json!([]), json!(many), json!([write, {"tool": "batch"}]), json!([write, {"tol": "read"}])]
    {
        let ended = call(&kit, "batch", json!({"calls": calls})).await;
        assert!(!ended.outcome.is_completed(), "{:?}", ended.output.joined_text());
        assert!(!kit.path("a.txt").exists());
    }
}
