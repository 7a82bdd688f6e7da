//! What listeners hear: progress in few pieces, nothing after the end, and every end.

use crate::kit::{Listener, probe, request, soon};
use haft_core::{Event, Outcome, Progress, Request};
use haft_runtime::Running;
use haft_test::Harness;
use serde_json::json;
use std::{future::pending, sync::Arc, time::Duration};
use tokio::{
    sync::{Notify, mpsc::unbounded_channel},
    time::Instant,
};

fn partials(events: &[Event]) -> Vec<&str> {
    let texts = events.iter().filter_map(|event| match event {
        Event::Progress { progress: Progress::PartialOutput(text), .. } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[tokio::test(start_paused = true)]
async fn partial_output_comes_in_few_pieces_and_whole() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    kit.register(probe("talk").run(|_, cx| async move {
        for number in 0..5_000 {
            cx.partial(format!("{number:09}\n"));
        }
        Ok("")
    }));
    let ended = kit.call("talk", json!({})).await;
    let events = listener.assert_ended_once(&ended);
    let texts = partials(&events);
    let whole: String = (0..5_000).map(|number| format!("{number:09}\n")).collect();
    assert_eq!(texts.concat(), whole);
    // 50,000 bytes in pieces of at least 16 KiB.
    assert!(texts.len() <= 4, "{} pieces", texts.len());
}

#[tokio::test(start_paused = true)]
async fn partial_output_of_a_tool_that_falls_silent_is_passed_on_in_time() {
    let kit = Harness::new();
    let mut events = kit.session().events();
    kit.register(probe("talk").run(|_, cx| async move {
        cx.partial("so far");
        pending::<Result<String, haft_core::Failure>>().await
    }));
    let began = Instant::now();
    let _running = kit.executor().submit(kit.session(), Request::new("talk", "{}"));
    loop {
        if let Event::Progress { progress: Progress::PartialOutput(text), .. } = events.next().await {
            assert_eq!(text, "so far");
            break;
        }
    }
    assert!(began.elapsed() <= Duration::from_millis(200), "{:?}", began.elapsed());
}

#[tokio::test]
async fn nothing_is_heard_of_a_call_after_its_end() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    let ended_by_now = Arc::new(Notify::new());
    let (said, mut heard) = unbounded_channel();
    let go = Arc::clone(&ended_by_now);
    kit.register(probe("chatty").run(move |_, cx| {
        let (go, said) = (Arc::clone(&go), said.clone());
        async move {
            cx.log("in time");
            tokio::spawn(async move {
                go.notified().await;
                cx.log("late");
                cx.partial("late");
                cx.warn("late");
                let _ = said.send(());
            });
            Ok("done")
        }
    }));
    let ended = soon(kit.call("chatty", json!({}))).await;
    ended_by_now.notify_one();
    soon(heard.recv()).await.unwrap();
    let events = listener.assert_ended_once(&ended);
    let logs = events.iter().filter(|event| matches!(event, Event::Progress { .. })).count();
    assert_eq!(logs, 1, "{events:?}");
}

#[tokio::test]
async fn a_slow_listener_misses_progress_but_no_end() {
    let kit = Harness::new();
    let mut slow = kit.session().events();
    kit.register(probe("chatty").run(|_, cx| async move {
        for _ in 0..300 {
            cx.log("x");
        }
        Ok("done")
    }));
    let running: Vec<Running> =
        (0..40).map(|_| kit.executor().submit(kit.session(), request("chatty", &json!({})))).collect();
    for call in running {
        assert!(soon(call).await.outcome.is_completed());
    }
    let (mut ends, mut progress) = (0, 0);
    while let Some(event) = slow.try_next() {
        match event {
            Event::Ended { outcome, .. } => {
                assert_eq!(outcome, Outcome::Completed);
                ends += 1;
            }
            Event::Progress { .. } => progress += 1,
            _ => {}
        }
    }
    assert_eq!(ends, 40);
    assert!(progress < 40 * 300, "{progress}");
}

#[tokio::test]
async fn a_changed_file_is_an_event_of_its_own() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    kit.register(probe("touch").run(|_, cx| async move {
        cx.file_changed(&cx.world.files.workspace().join("a.txt"));
        Ok("")
    }));
    let ended = kit.call("touch", json!({})).await;
    let events = listener.assert_ended_once(&ended);
    let path = kit.path("a.txt").to_string_lossy().into_owned();
    assert!(
        events
            .iter()
            .any(|event| matches!(event, Event::FileChanged { path: at, .. } if at.absolute() == path))
    );
    let order: Vec<bool> = events
        .iter()
        .filter_map(|event| match event {
            Event::Started { .. } => Some(false),
            Event::FileChanged { .. } => Some(true),
            _ => None,
        })
        .collect();
    assert_eq!(order, [false, true]);
}
