//! Calls through `tool_use` and `batch`.

use crate::kit::{call, denying, equipped, kit};
use haft_core::{FailureKind, Outcome};
use haft_policy::Mode;
use haft_test::{Answers, HarnessSetup};
use serde_json::json;

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
async fn tool_use_fails_as_the_call_itself_fails() {
    let kit = denying("read(secret/**)", Answers::yes());
    kit.write("secret/k", "x");
    for (input, kind, says) in [
        (json!({"tool": "read", "input": {"path": "none"}}), FailureKind::NotFound, "none"),
        (json!({"tool": "read", "input": {"path": "secret/k"}}), FailureKind::Permission, "secret/**"),
        (json!({"tool": "read", "input": {"path": 7}}), FailureKind::InvalidInput, "/path"),
        (json!({"tool": "raed"}), FailureKind::NotFound, "nearest names are: read"),
        (json!({"tool": "batch", "input": {"calls": []}}), FailureKind::InvalidInput, "directly"),
    ] {
        let ended = call(&kit, "tool_use", input).await;
        assert_eq!(ended.outcome, Outcome::Failed { kind });
        assert!(ended.output.joined_text().contains(says), "{}", ended.output.joined_text());
    }
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
