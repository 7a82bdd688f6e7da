//! What the tests share: a harness with the built-in tools, short calls, and looks at what came of them.

use haft_core::{Ended, Event, FailureKind, Outcome, Progress, Request};
use haft_policy::Action;
use haft_runtime::{EventStream, Running};
use haft_test::{Answers, Harness, HarnessSetup};
use serde_json::{Value, json};
use std::{
    fs, process,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};
use tokio::{task::yield_now, time::timeout};

/// Far more than anything here takes; only a hang reaches it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(90);

/// A harness with the built-in tools.
pub(crate) fn equipped(setup: HarnessSetup) -> Harness {
    let kit = Harness::with(setup);
    kit.register_core(haft_tools::tools());
    kit
}

/// One with a person who says yes.
pub(crate) fn kit() -> Harness {
    equipped(HarnessSetup::default())
}

/// One with a person who waits until told to speak, and then says yes.
pub(crate) fn silent() -> Harness {
    answered_by(Answers::silent())
}

pub(crate) fn answered_by(answers: Answers) -> Harness {
    equipped(HarnessSetup { answers, ..HarnessSetup::default() })
}

/// One with a deny rule.
pub(crate) fn denying(rule: &str, answers: Answers) -> Harness {
    equipped(HarnessSetup {
        rules: vec![(Action::Deny, rule.to_owned())],
        answers,
        ..HarnessSetup::default()
    })
}

/// Makes a call and waits for its end.
pub(crate) async fn call(kit: &Harness, tool: &str, input: Value) -> Ended {
    timeout(PATIENCE, kit.call(tool, input)).await.expect("the call ends")
}

/// Makes a call and doesn't wait.
pub(crate) fn start(kit: &Harness, tool: &str, input: &Value) -> Running {
    kit.executor().submit(kit.session(), Request::new(tool, input.to_string()))
}

pub(crate) async fn end_of(running: Running) -> Ended {
    timeout(PATIENCE, running).await.expect("the call ends")
}

/// The text of a call that must have succeeded.
#[track_caller]
pub(crate) fn done(ended: &Ended) -> String {
    let text = ended.output.joined_text();
    assert!(ended.outcome.is_completed(), "{:?}: {text}", ended.outcome);
    text
}

/// The text of a call that must have failed in this way.
#[track_caller]
pub(crate) fn failed(ended: &Ended, kind: FailureKind) -> String {
    let text = ended.output.joined_text();
    assert_eq!(ended.outcome, Outcome::Failed { kind }, "{text}");
    text
}

/// The text of a call whose input must have been refused.
#[track_caller]
pub(crate) fn invalid(ended: &Ended) -> String {
    let text = ended.output.joined_text();
    assert_eq!(ended.outcome, Outcome::Invalid, "{text}");
    text
}

/// The gate that must have refused the call.
#[track_caller]
pub(crate) fn denied(ended: &Ended) -> String {
    let text = ended.output.joined_text();
    match &ended.outcome {
        Outcome::Denied { why, .. } => why.gate.to_string(),
        other => panic!("{other:?}: {text}"),
    }
}

/// That a text has all parts.
#[track_caller]
pub(crate) fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

pub(crate) async fn read(kit: &Harness, path: &str) -> Ended {
    call(kit, "read", json!({"path": path})).await
}

pub(crate) async fn write(kit: &Harness, path: &str, content: &str) -> Ended {
    call(kit, "write", json!({"path": path, "content": content})).await
}

pub(crate) async fn edit(kit: &Harness, path: &str, old: &str, new: &str) -> Ended {
    call(kit, "edit", json!({"path": path, "edits": [{"old": old, "new": new}]})).await
}

/// What a command gave.
#[derive(Debug)]
pub(crate) struct Ran {
    /// All of the result.
    pub(crate) text: String,
    /// The lines before the last.
    pub(crate) body: String,
    /// The last line, which says how it ended, without the time it took.
    pub(crate) status: String,
}

/// Runs a command that ends by itself.
pub(crate) async fn bash(kit: &Harness, command: &str) -> Ran {
    let ended = call(kit, "bash", json!({"command": command})).await;
    let text = done(&ended);
    let at = text.rfind('\n').map_or(0, |end| end + 1);
    let (body, last) = text.split_at(at);
    let status = last.split(" [took").next().unwrap_or_default().to_owned();
    Ran { body: body.to_owned(), status, text }
}

/// Bytes that can be read.
pub(crate) fn signs(bytes: impl AsRef<[u8]>) -> String {
    bytes.as_ref().escape_ascii().to_string()
}

/// A length of sleep that stands for one test.
pub(crate) fn mark() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("300.{:08}{:03}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The living processes with this mark among their arguments.
pub(crate) fn marked(mark: &str) -> Vec<i32> {
    let entries = fs::read_dir("/proc").expect("/proc");
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    pids.filter(|pid| {
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(mark)
    })
    .collect()
}

/// Waits until no process has this mark.
pub(crate) async fn gone(mark: &str) {
    let began = Instant::now();
    while !marked(mark).is_empty() {
        assert!(began.elapsed() < PATIENCE, "processes live on: {:?}", marked(mark));
        yield_now().await;
    }
}

/// Waits until a running command has printed a word.
pub(crate) async fn said(events: &mut EventStream, word: &str) {
    let mut text = String::new();
    while !text.contains(word) {
        let event = timeout(PATIENCE, events.next()).await.expect("the command prints");
        if let Event::Progress { progress: Progress::PartialOutput(piece), .. } = event {
            text.push_str(&piece);
        }
    }
}

/// How many results the session has spilled.
pub(crate) fn spilled(kit: &Harness) -> usize {
    fs::read_dir(kit.path("../state/spill/test")).map_or(0, Iterator::count)
}
