//! What a model gets is bounded; the whole is on disk.

use crate::kit::{Listener, getter, probe};
use haft_core::{Block, Ended, Event, FailureKind, Outcome, Output, Progress, Shape, Truncation};
use haft_runtime::{SPILL_FOLDER, TURN_MAX_CHARS, fit_turn};
use haft_test::{Harness, HarnessSetup};
use serde_json::json;
use std::{os::unix::fs::PermissionsExt, path::PathBuf};

/// `lines`: so many lines of so many bytes each, line end included.
fn lines(kit: &Harness, quota: Option<usize>) {
    kit.register(
        probe("lines")
            .with(|mut spec| {
                spec.persistence_quota = quota;
                spec
            })
            .run(|input, _| async move {
                let (count, size) =
                    (input["count"].as_u64().unwrap_or(0), input["size"].as_u64().unwrap_or(0));
                Ok(text(usize::try_from(count).unwrap_or(0), usize::try_from(size).unwrap_or(0)))
            }),
    );
}

fn text(count: usize, size: usize) -> String {
    (0..count).map(|number| format!("{number:0width$}\n", width = size - 1)).collect()
}

async fn call_lines(kit: &Harness, count: usize, size: usize) -> Ended {
    let ended = kit.call("lines", json!({"count": count, "size": size})).await;
    assert!(ended.outcome.is_completed());
    ended
}

fn truncation(ended: &Ended) -> Truncation {
    ended.output.truncation.clone().expect("it is cut")
}

fn spilled(kit: &Harness) -> Vec<PathBuf> {
    let folder = kit.state().root.join(SPILL_FOLDER).join("test");
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

#[tokio::test]
async fn a_result_that_fits_is_left_as_it_is() {
    let kit = Harness::new();
    lines(&kit, None);
    let ended = call_lines(&kit, 1_024, 50).await;
    assert_eq!(ended.output, Output::text(text(1_024, 50)));
    assert!(spilled(&kit).is_empty());
}

#[tokio::test]
async fn a_long_result_is_cut_with_a_count_and_is_whole_on_disk() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    lines(&kit, None);
    let ended = call_lines(&kit, 1_200, 50).await;
    let (shown, cut) = (ended.output.joined_text(), truncation(&ended));
    assert!(cut.shown_bytes <= 51_200 && shown.len() < 51_200 + 1_024, "{cut:?}");
    assert_eq!((cut.total_bytes, cut.total_lines, cut.shown_lines), (60_000, 1_200, 1_024));
    let path = cut.path.expect("the whole is kept");
    assert!(
        shown.contains("[… 176 lines (8800 bytes) left out; all of this output is in ")
            && shown.contains(&path),
        "{path}"
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text(1_200, 50));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let events = listener.events_of(&ended.call);
    let told = events.iter().any(|event| {
        matches!(event, Event::Progress { progress: Progress::Warning(text), .. } if text.contains("176 lines"))
    });
    assert!(told, "a person is told: {events:?}");
}

#[tokio::test]
async fn many_short_lines_are_cut_by_their_number() {
    let kit = Harness::new();
    lines(&kit, None);
    let cut = truncation(&call_lines(&kit, 5_000, 5).await);
    assert_eq!((cut.shown_lines, cut.total_lines), (2_000, 5_000));
}

#[tokio::test]
async fn a_spilled_result_can_be_read_and_doesnt_spill_again() {
    let kit = Harness::new();
    lines(&kit, None);
    kit.register(getter());
    let path = truncation(&call_lines(&kit, 1_200, 50).await).path.unwrap();
    let read = kit.call("get", json!({"path": path})).await;
    assert!(read.outcome.is_completed(), "{}", read.output.joined_text());
    assert!(kit.answers().asked().is_empty(), "the spill folder is no place outside");
    let cut = truncation(&read);
    assert_eq!((cut.total_bytes, cut.path), (60_000, None));
    assert_eq!(spilled(&kit), [PathBuf::from(path)]);
}

#[tokio::test]
async fn over_its_quota_a_result_is_a_preview_and_a_path() {
    let kit = Harness::new();
    lines(&kit, Some(10_000));
    assert!(call_lines(&kit, 200, 50).await.output.truncation.is_none());
    let ended = call_lines(&kit, 201, 50).await;
    let cut = truncation(&ended);
    assert!(cut.shown_bytes <= 2_048 && ended.output.joined_text().len() < 2_048 + 1_024, "{cut:?}");
    assert_eq!(std::fs::read_to_string(cut.path.unwrap()).unwrap(), text(201, 50));
}

#[tokio::test]
async fn without_a_place_on_disk_the_cut_is_still_counted() {
    let kit = Harness::with(HarnessSetup { recorded: false, ..HarnessSetup::default() });
    lines(&kit, None);
    let ended = call_lines(&kit, 1_200, 50).await;
    let cut = truncation(&ended);
    assert_eq!((cut.total_bytes, cut.path), (60_000, None));
    assert!(ended.output.joined_text().contains("[… 176 lines (8800 bytes) left out …]"));
}

#[tokio::test]
async fn structured_output_that_breaks_its_schema_is_a_failure_that_keeps_the_result() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
    kit.register(
        probe("count")
            .with(|mut spec| {
                spec.output_schema = Some(schema);
                spec
            })
            .run(|input, _| async move {
                Ok(Output { structured: Some(input), ..Output::text("what it counted") })
            }),
    );
    let ended = kit.call("count", json!({"n": "three"})).await;
    assert_eq!(ended.outcome, Outcome::Failed { kind: FailureKind::Internal });
    let text = ended.output.joined_text();
    assert!(text.contains("outputSchema: /n must be integer") && text.ends_with("what it counted"), "{text}");
    listener.assert_ended_once(&ended);
    let ended = kit.call("count", json!({"n": 3})).await;
    assert!(ended.outcome.is_completed());
    assert_eq!(ended.output.structured, Some(json!({"n": 3})));
}

#[tokio::test]
async fn a_turn_that_is_too_long_spills_its_largest_result_first_and_once() {
    let kit = Harness::new();
    lines(&kit, None);
    let mut turn = Vec::new();
    for count in [800, 1_000, 800, 800, 800] {
        turn.push(call_lines(&kit, count, 50).await);
    }
    let before: Vec<Output> = turn.iter().map(|ended| ended.output.clone()).collect();
    fit_turn(kit.session(), &mut turn);
    let cut: Vec<bool> = turn.iter().map(|ended| ended.output.truncation.is_some()).collect();
    assert_eq!(cut, [false, true, false, false, false]);
    assert_eq!(turn[0].output, before[0]);
    let total: usize =
        turn.iter().flat_map(|ended| &ended.output.content).filter_map(Block::as_text).map(str::len).sum();
    assert!(total <= TURN_MAX_CHARS, "{total}");
    let path = truncation(&turn[1]).path.unwrap();
    assert_eq!(std::fs::read_to_string(path).unwrap(), text(1_000, 50));
    // What was decided stays: prompts cache.
    let after: Vec<Output> = turn.iter().map(|ended| ended.output.clone()).collect();
    fit_turn(kit.session(), &mut turn);
    assert_eq!(turn.iter().map(|ended| ended.output.clone()).collect::<Vec<_>>(), after);
}

#[tokio::test]
async fn a_captured_stream_shows_both_ends_and_is_whole_on_disk() {
    let kit = Harness::new();
    kit.register(probe("build").run(|_, cx| async move {
        let mut capture = cx.sink.capture(Shape::HeadTail);
        for piece in text(10_000, 20).as_bytes().chunks(777) {
            capture.push(piece);
        }
        capture.push(b"FAILED: z\n");
        let captured = capture.finish();
        Ok(Output { truncation: captured.truncation, ..Output::text(captured.text) })
    }));
    let ended = kit.call("build", json!({})).await;
    let (shown, cut) = (ended.output.joined_text(), truncation(&ended));
    assert!(shown.starts_with(&text(1, 20)) && shown.ends_with("9999\nFAILED: z\n"), "{cut:?}");
    assert!(cut.shown_lines <= 2_000 && cut.total_lines == 10_001, "{cut:?}");
    assert_eq!(std::fs::read_to_string(cut.path.unwrap()).unwrap(), text(10_000, 20) + "FAILED: z\n");
}
