//! Calls that end early: by time, by a cancel, or not at all by themselves.

use crate::kit::{Gate, Listener, only, probe, request, soon};
use haft_core::{Cx, Effects, Failure, FailureKind, Outcome, Output, Request, Shape, Touch, WriteMode};
use haft_runtime::{LogEntry, Running, read_log};
use haft_test::Harness;
use serde_json::json;
use std::{
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::{Notify, mpsc::unbounded_channel};

type Never = Result<String, Failure>;

fn submit(kit: &Harness, tool: &str) -> Running {
    kit.executor().submit(kit.session(), Request::new(tool, "{}"))
}

#[tokio::test(start_paused = true)]
async fn a_call_that_runs_out_of_time_keeps_what_it_captured() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    let five = Duration::from_secs(5);
    kit.register(probe("slow").with(|spec| spec.with_timeout(five)).run(|_, cx| async move {
        let mut capture = cx.sink.capture(Shape::HeadTail);
        capture.push(b"so far\n");
        pending::<Never>().await
    }));
    let ended = kit.call("slow", json!({})).await;
    assert_eq!(ended.outcome, Outcome::TimedOut);
    let text = ended.output.joined_text();
    assert!(text.starts_with("timed out after 5 s") && text.ends_with("so far\n"), "{text}");
    listener.assert_ended_once(&ended);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_runs_out_of_time_keeps_its_last_word() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    kit.register(probe("slow").with(|spec| spec.with_timeout(Duration::from_secs(5))).run(
        |_, cx| async move {
            cx.cancel.fired().await;
            Err::<String, _>(Failure::cancelled().with_partial(Output::text("half of it")))
        },
    ));
    let ended = kit.call("slow", json!({})).await;
    assert_eq!(ended.outcome, Outcome::TimedOut);
    assert!(ended.output.joined_text().ends_with("half of it"), "{}", ended.output.joined_text());
    listener.assert_ended_once(&ended);
}

#[tokio::test]
async fn a_call_cancelled_before_it_starts_never_runs() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    kit.register(probe("note").run(move |_, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        async { Ok("ran") }
    }));
    let running = submit(&kit, "note");
    running.cancel.fire();
    let ended = soon(running).await;
    assert_eq!((&ended.outcome, runs.load(Ordering::SeqCst)), (&Outcome::Cancelled, 0));
    listener.assert_ended_once(&ended);
}

#[tokio::test]
async fn a_call_cancelled_while_it_waits_its_turn_never_runs() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    let gate = Gate::closed();
    let inside = gate.clone();
    kit.register(probe("alone").touches(|_| Effects::Everything).run(move |_, _| {
        let gate = inside.clone();
        async move {
            gate.pass().await;
            Ok("ran")
        }
    }));
    let (first, second, third) = (submit(&kit, "alone"), submit(&kit, "alone"), submit(&kit, "alone"));
    gate.reached(1).await;
    second.cancel.fire();
    let cancelled = soon(second).await;
    assert_eq!(cancelled.outcome, Outcome::Cancelled);
    assert!(cancelled.output.joined_text().contains("nothing was changed"));
    gate.open(2);
    let (first, third) = (soon(first).await, soon(third).await);
    assert!(first.outcome.is_completed() && third.outcome.is_completed());
    for ended in [&first, &cancelled, &third] {
        listener.assert_ended_once(ended);
    }
}

#[tokio::test]
async fn a_call_cancelled_while_it_runs_keeps_what_it_says_in_time() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    let started = Arc::new(Notify::new());
    let here = Arc::clone(&started);
    kit.register(probe("long").run(move |_, cx| {
        let here = Arc::clone(&here);
        async move {
            here.notify_one();
            cx.cancel.fired().await;
            Err::<String, _>(Failure::cancelled().with_partial(Output::text("half of it")))
        }
    }));
    let running = submit(&kit, "long");
    soon(started.notified()).await;
    running.cancel.fire();
    let ended = soon(running).await;
    assert_eq!(ended.outcome, Outcome::Cancelled);
    assert!(ended.output.joined_text().ends_with("half of it"), "{}", ended.output.joined_text());
    listener.assert_ended_once(&ended);
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_any_more_is_cancelled() {
    let kit = Harness::new();
    let started = Arc::new(Notify::new());
    let here = Arc::clone(&started);
    kit.register(probe("long").run(move |_, cx| {
        let here = Arc::clone(&here);
        async move {
            here.notify_one();
            cx.cancel.fired().await;
            here.notify_one();
            Err::<String, _>(Failure::cancelled())
        }
    }));
    let running = submit(&kit, "long");
    soon(started.notified()).await;
    drop(running);
    soon(started.notified()).await;
}

#[tokio::test(start_paused = true)]
async fn what_a_tool_does_after_its_call_is_refused() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    let (lend, mut lent) = unbounded_channel::<Cx>();
    kit.register(probe("deaf").touches(|_| only(Touch::Write("late.txt".into()))).run(move |_, cx| {
        drop(lend.send(cx));
        pending::<Never>()
    }));
    let running = submit(&kit, "deaf");
    let cx = lent.recv().await.unwrap();
    running.cancel.fire();
    let ended = running.await;
    assert_eq!(ended.outcome, Outcome::Cancelled);
    let at = cx.path(&"late.txt".into()).unwrap();
    let late = cx.world.files.write(&at, b"late", &WriteMode::New);
    assert_eq!(late.unwrap_err().kind, FailureKind::Cancelled);
    assert!(!kit.path("late.txt").exists());
    // Whoever heard of jobs here would hear of them in the place of a call that can tell.
    assert_eq!(cx.jobs.list().unwrap_err().kind, FailureKind::Cancelled);
    assert_eq!(cx.jobs.ended_unseen().unwrap_err().kind, FailureKind::Cancelled);
    listener.assert_ended_once(&ended);
}

#[tokio::test(start_paused = true)]
async fn a_cleanup_has_handles_of_its_own_and_the_old_ones_are_dead() {
    let kit = Harness::new();
    let (say, mut said) = unbounded_channel();
    let old: Arc<Mutex<Option<Cx>>> = Arc::default();
    let kept = Arc::clone(&old);
    let touches = || Effects::Only(vec![Touch::Write("old.txt".into()), Touch::Write("new.txt".into())]);
    kit.register(
        probe("deaf")
            .touches(move |_| touches())
            .cleanup(move |_, cx| {
                let (old, say) = (old.lock().unwrap().take(), say.clone());
                async move {
                    let write = |cx: &Cx, name: &str| {
                        let at = cx.path(&name.into())?;
                        cx.world.files.write(&at, b"x", &WriteMode::New)
                    };
                    let late = old.map(|old| write(&old, "old.txt").map_err(|failure| failure.kind).err());
                    let _ = say.send((late, write(&cx, "new.txt").is_ok()));
                }
            })
            .run(move |_, cx| {
                *kept.lock().unwrap() = Some(cx);
                pending::<Never>()
            }),
    );
    let ended = kit.call("deaf", json!({})).await;
    assert_eq!(ended.outcome, Outcome::TimedOut);
    assert_eq!(said.recv().await, Some((Some(Some(FailureKind::Cancelled)), true)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_tool_that_blocks_its_thread_cant_hold_the_session() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    let (free, freed) = std::sync::mpsc::channel::<()>();
    let freed = Arc::new(Mutex::new(freed));
    let started = Arc::new(Notify::new());
    let here = Arc::clone(&started);
    kit.register(probe("stuck").run(move |_, _| {
        let (freed, here) = (Arc::clone(&freed), Arc::clone(&here));
        async move {
            here.notify_one();
            let _ = freed.lock().unwrap().recv();
            Ok("too late")
        }
    }));
    let running = submit(&kit, "stuck");
    soon(started.notified()).await;
    running.cancel.fire();
    let ended = soon(running).await;
    assert_eq!(ended.outcome, Outcome::Cancelled);
    drop(free);
    assert!(!ended.output.joined_text().contains("too late"));
    listener.assert_ended_once(&ended);
}

#[tokio::test(start_paused = true)]
async fn a_cleanup_that_hangs_or_panics_is_told_and_hides_nothing() {
    for (panics, word) in [(false, "took too long"), (true, "failed")] {
        let kit = Harness::new();
        let mut listener = Listener::on(&kit);
        kit.register(
            probe("deaf")
                .cleanup(move |_, _| async move {
                    assert!(!panics, "boom");
                    pending::<()>().await;
                })
                .run(|_, _| pending::<Never>()),
        );
        let ended = kit.call("deaf", json!({})).await;
        assert_eq!(ended.outcome, Outcome::TimedOut);
        assert!(ended.output.joined_text().starts_with("timed out"));
        listener.assert_ended_once(&ended);
        let (lines, _) = read_log(kit.state().as_ref(), "test").unwrap();
        let notes = lines.into_iter().filter_map(|line| match line.entry {
            LogEntry::Note { text, .. } => Some(text),
            _ => None,
        });
        let told: Vec<String> = notes.collect();
        assert!(told.iter().any(|text| text.contains("cleanup") && text.contains(word)), "{told:?}");
    }
}

/// Field case F39: an interrupt during parallel calls leaves none without a result.
#[tokio::test]
async fn case_f39_each_call_of_an_interrupted_turn_has_one_result_in_order() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    let gate = Gate::closed();
    let inside = gate.clone();
    kit.register(probe("step").run(move |input, cx| {
        let gate = inside.clone();
        async move {
            if input["n"] == 1 {
                return Ok("done");
            }
            tokio::select! {
                () = gate.pass() => Ok("let go"),
                () = cx.cancel.fired() => Err(Failure::cancelled()),
            }
        }
    }));
    let submit = |n: u64| kit.executor().submit(kit.session(), request("step", &json!({"n": n})).in_turn(1));
    let (first, second, third) = (submit(1), submit(2), submit(3));
    let first = soon(first).await;
    gate.reached(2).await;
    kit.session().end_run();
    let all = [first, soon(second).await, soon(third).await];
    let outcomes = all.each_ref().map(|ended| (ended.call.to_string(), ended.outcome.name()));
    let expected = [("1", "completed"), ("2", "cancelled"), ("3", "cancelled")];
    assert_eq!(outcomes, expected.map(|(call, name)| (call.to_owned(), name)));
    for ended in &all {
        listener.assert_ended_once(ended);
    }
    let again = kit.open_session("test").unwrap();
    assert!(again.interrupted().is_empty(), "{:?}", again.interrupted());
    let next = soon(kit.executor().submit(&again, request("step", &json!({"n": 1})))).await;
    assert_eq!((next.call.to_string().as_str(), next.outcome.name()), ("4", "completed"));
}
