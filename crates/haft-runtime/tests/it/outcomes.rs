//! Each way a call can end: the outcome, the words for the model, one terminal event, one end in the log.

use crate::kit::{Listener, log_of, probe};
use haft_core::{Effects, Failure, FailureKind, Outcome, OwnCheck, PathArg, Touch, Why};
use haft_runtime::LogEntry;
use haft_test::Harness;
use serde_json::json;

#[tokio::test]
async fn a_tool_that_returns_completes() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    kit.register(probe("greet").run(|_, _| async { Ok("hello") }));
    let ended = kit.call("greet", json!({})).await;
    assert_eq!(ended.outcome, Outcome::Completed);
    assert_eq!(ended.output.joined_text(), "hello");
    assert_eq!(ended.owner.as_deref(), Some("test:greet"));
    listener.assert_ended_once(&ended);
}

#[tokio::test]
async fn a_failure_keeps_its_kind_and_its_diagnostic_is_for_the_log_alone() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    kit.register(probe("seek").run(|_, _| async {
        Err::<String, _>(
            Failure::not_found("no such page; list the pages first").diagnose("shelf 3 is empty"),
        )
    }));
    let ended = kit.call("seek", json!({})).await;
    assert_eq!(ended.outcome, Outcome::Failed { kind: FailureKind::NotFound });
    assert_eq!(ended.output.joined_text(), "no such page; list the pages first");
    listener.assert_ended_once(&ended);
    let diagnostics: Vec<Option<String>> = log_of(&kit, "test")
        .into_iter()
        .filter_map(|entry| match entry {
            LogEntry::Ended { diagnostic, .. } => Some(diagnostic),
            _ => None,
        })
        .collect();
    assert_eq!(diagnostics, [Some("shelf 3 is empty".to_owned())]);
}

#[tokio::test]
async fn a_failed_call_is_over_when_its_session_is_opened_again() {
    let kit = Harness::new();
    kit.register(probe("seek").run(|_, _| async { Err::<String, _>(Failure::conflict("it changed")) }));
    let ended = kit.call("seek", json!({})).await;
    assert_eq!(ended.outcome, Outcome::Failed { kind: FailureKind::Conflict });
    let (_, unreadable) = haft_runtime::read_log(&**kit.state(), "test").unwrap();
    assert_eq!(unreadable, 0, "every line that haft writes it can read");
}

#[tokio::test]
async fn input_that_breaks_the_schema_is_invalid_and_never_runs() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    kit.register(
        probe("count")
            .with(|spec| spec.with_input_schema(schema))
            .run(|_, _| async { Err::<String, _>(Failure::internal("it ran")) }),
    );
    let ended = kit.call("count", json!({"n": "x"})).await;
    assert_eq!(ended.outcome, Outcome::Invalid);
    assert_eq!(ended.output.joined_text(), "Invalid input for \"count\": /n must be integer, got \"x\"");
    listener.assert_ended_once(&ended);
}

#[tokio::test]
async fn an_unknown_name_is_answered_with_the_three_nearest() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    for name in ["word_count", "word_counts", "word_counter", "word_stats", "zip"] {
        kit.register(probe(name).run(|_, _| async { Ok("") }));
    }
    let ended = kit.call("word_cuont", json!({})).await;
    assert_eq!(ended.outcome, Outcome::Unknown);
    let text = ended.output.joined_text();
    assert!(text.starts_with("Unknown tool: word_cuont"), "{text}");
    let (_, names) = text.split_once("nearest names are: ").expect("it names some");
    let names: Vec<&str> = names.split(", ").collect();
    assert!(names.len() == 3 && names.contains(&"word_count") && !names.contains(&"zip"), "{names:?}");
    assert!(ended.trace.iter().any(|step| step.step == "resolve" && step.verdict == "unknown"));
    listener.assert_ended_once(&ended);
}

#[tokio::test]
async fn whatever_a_call_that_never_ran_repeats_is_bounded_and_counted() {
    const MOST: usize = 20 * 1024;
    let long = "x".repeat(5_000_000);
    let kit = Harness::new();
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    kit.register(
        probe("look")
            .with(|spec| spec.with_input_schema(schema))
            .touches(|input| {
                let path = input["path"].as_str().unwrap_or_default().to_owned();
                Effects::Only(vec![Touch::Read(PathArg(path))])
            })
            .run(|_, _| async { Ok("") }),
    );
    kit.register(
        probe("refuse")
            .check(|input| Some(OwnCheck::Deny(Why::new("refuse", input.to_string()))))
            .run(|_, _| async { Ok("") }),
    );
    kit.register(
        probe("fail").run(|input, _| async move { Err::<String, _>(Failure::conflict(input.to_string())) }),
    );
    let calls = [
        (long.as_str(), json!({}), "unknown"),
        ("look", json!({ "path": long }), "invalid"),
        ("look", json!({ "path": [long] }), "invalid"),
        ("refuse", json!({ "a": long }), "denied"),
    ];
    for (tool, input, outcome) in calls {
        let ended = kit.call(tool, input).await;
        assert_eq!(ended.outcome.name(), outcome);
        let text = ended.output.joined_text();
        assert!(text.len() < MOST, "{outcome}: {} bytes", text.len());
        let reasons = ended.trace.iter().filter_map(|step| step.reason.as_deref());
        assert!(reasons.map(str::len).all(|len| len < MOST), "{outcome}");
        if let Outcome::Denied { why, .. } = &ended.outcome {
            assert!(why.reason.len() < MOST && text.contains("bytes left out"), "{text}");
        }
    }
    let unknown = kit.call(&long, json!({})).await.output.joined_text();
    assert!(unknown.len() < 1_000 && unknown.contains("bytes left out"), "{unknown}");
    let failed = kit.call("fail", json!({ "a": long })).await;
    assert!(failed.failure.is_some_and(|failure| failure.text.len() < MOST));
    assert!(failed.output.joined_text().len() < 64 * 1024);
}

#[tokio::test]
async fn a_tool_whose_source_is_gone_is_no_longer_offered() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    let mut handle = kit.catalogue().register(probe("note").run(|_, _| async { Ok("ran") }), "ext").unwrap();
    kit.session().refresh();
    handle.dispose();
    // The snapshot still has it, and so does a later one know of it.
    for _ in 0..2 {
        let ended = kit.call("note", json!({})).await;
        assert_eq!(ended.outcome, Outcome::Unknown);
        let text = ended.output.joined_text();
        assert!(text.contains("no longer offered") && text.contains("ext"), "{text}");
        listener.assert_ended_once(&ended);
        kit.session().refresh();
    }
}

#[tokio::test]
async fn a_tool_replaced_after_the_snapshot_runs_as_the_snapshot_has_it() {
    let kit = Harness::new();
    let catalogue = kit.catalogue();
    let old = catalogue.register(probe("note").run(|_, _| async { Ok("old") }), "ext").unwrap();
    kit.session().refresh();
    catalogue.register(probe("note").run(|_, _| async { Ok("new") }), "ext").unwrap().keep();
    assert_eq!(kit.call("note", json!({})).await.output.joined_text(), "old");
    drop(old);
    assert_eq!(kit.call("note", json!({})).await.output.joined_text(), "old");
    kit.session().refresh();
    assert_eq!(kit.call("note", json!({})).await.output.joined_text(), "new");
}

#[tokio::test]
async fn a_tool_replaced_and_then_taken_away_is_no_longer_offered() {
    let kit = Harness::new();
    let catalogue = kit.catalogue();
    catalogue.register(probe("note").run(|_, _| async { Ok("old") }), "ext").unwrap().keep();
    kit.session().refresh();
    let mut new = catalogue.register(probe("note").run(|_, _| async { Ok("new") }), "ext").unwrap();
    new.dispose();
    let ended = kit.call("note", json!({})).await;
    assert_eq!(ended.outcome, Outcome::Unknown, "{}", ended.output.joined_text());
}

#[tokio::test]
async fn a_tool_that_panics_fails_alone() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    kit.register(probe("bad").run(|input, _| async move {
        assert!(input["fine"] == true, "boom");
        Ok("fine")
    }));
    let ended = kit.call("bad", json!({})).await;
    assert_eq!(ended.outcome, Outcome::Failed { kind: FailureKind::Internal });
    assert!(!ended.output.joined_text().contains("boom"), "{}", ended.output.joined_text());
    assert_eq!(ended.failure.as_ref().and_then(|failure| failure.diagnostic.as_deref()), Some("boom"));
    listener.assert_ended_once(&ended);
    assert!(kit.call("bad", json!({"fine": true})).await.outcome.is_completed());
}

#[tokio::test]
async fn a_tool_that_panics_before_its_future_is_made_fails_alone() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    kit.register(probe("bad").run(|input, _| {
        assert!(input["fine"] == true, "boom");
        async { Ok("fine") }
    }));
    let ended = kit.call("bad", json!({})).await;
    assert_eq!(ended.outcome, Outcome::Failed { kind: FailureKind::Internal });
    listener.assert_ended_once(&ended);
}

#[tokio::test]
async fn each_refusal_leaves_one_end_too() {
    let kit = Harness::answering(haft_test::Answers::no());
    let mut listener = Listener::on(&kit);
    kit.register(probe("note").asks().run(|_, _| async { Ok("ran") }));
    let ended = kit.call("note", json!({})).await;
    assert!(matches!(ended.outcome, Outcome::Denied { .. }));
    listener.assert_ended_once(&ended);
}
