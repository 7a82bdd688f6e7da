//! Whatever a command starts, its call returns, and nothing of it is left.

use crate::kit::{bash, call, done, end_of, gone, has, kit, mark, marked, said, start};
use haft_core::{Ended, Event, Outcome};
use haft_test::Harness;
use serde_json::json;
use std::time::{Duration, Instant};

/// How long a call may take at most whose shell ends at once.
const SOON: Duration = Duration::from_secs(5);

async fn leaves(kit: &Harness, script: &str) {
    let mark = mark();
    let began = Instant::now();
    let ran = bash(kit, &script.replace("MARK", &mark)).await;
    let took = began.elapsed();
    assert!(took < SOON, "{script}: {took:?}");
    assert!(ran.body.lines().any(|line| line == "ready"), "{script}: {}", ran.text);
    assert_eq!(ran.status, "[exit 0]", "{script}");
    has(&ran.text, &["left running in the background", "stopped: ", "(pid "]);
    assert!(marked(&mark).is_empty(), "{script}");
    assert_eq!(bash(kit, "echo next").await.body, "next\n", "{script}");
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f22_a_call_returns_though_a_child_keeps_the_pipe() {
    leaves(&kit(), "sleep MARK & echo ready").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f22_a_call_returns_though_a_child_left_the_session() {
    leaves(&kit(), "setsid sleep MARK & echo ready").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f22_a_call_returns_though_a_child_never_stops_writing() {
    leaves(&kit(), "sh -c 'while :; do echo chat; done; : MARK' & echo ready").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f22_no_way_of_leaving_a_child_behind_holds_the_call() {
    let kit = kit();
    for script in [
        "nohup sleep MARK >/dev/null 2>&1 & echo ready",
        "sleep MARK >&- 2>&- & echo ready",
        "(trap '' HUP TERM INT; exec sleep MARK) & echo ready",
        "(setsid sh -c 'trap \"\" TERM HUP; sleep MARK' &); echo ready",
        "(setsid sh -c '(setsid sleep MARK &)' &); sleep MARK & echo ready",
        "sleep MARK & disown; echo ready",
        "sleep MARK | cat & echo ready",
        "coproc sleep MARK; echo ready",
        "sleep MARK & kill -STOP $!; echo ready",
    ] {
        leaves(&kit, script).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ends_with_its_shell_is_not_told_of() {
    let kit = kit();
    for command in ["seq 1 1000 | tail -1", "echo 1000 & wait", "(sleep 0.01; echo 1000) & wait"] {
        assert_eq!(bash(&kit, command).await.body, "1000\n", "{command}");
    }
}

async fn timed_out(kit: &Harness, command: &str) -> (Ended, Duration) {
    let began = Instant::now();
    let ended = call(kit, "bash", json!({"command": command, "timeout": 2_000})).await;
    assert_eq!(ended.outcome, Outcome::TimedOut, "{command}: {}", ended.output.joined_text());
    (ended, began.elapsed())
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f23_a_timeout_ends_the_whole_tree_before_it_can_write() {
    let (kit, mark) = (kit(), mark());
    let mut events = kit.session().events();
    let command = format!("echo begun; (sleep 6; echo late > mark) & trap '' TERM; sleep {mark}");
    let (ended, took) = timed_out(&kit, &command).await;
    has(&ended.output.joined_text(), &["timed out after 2 s", "begun"]);
    assert!(took < Duration::from_secs(15), "{took:?}");
    // Its arguments are those of the shell that made it: nobody is left who could write the file.
    assert!(marked(&mark).is_empty(), "{:?}", marked(&mark));
    assert!(!kit.path("mark").exists());
    let ends = std::iter::from_fn(|| events.try_next());
    let ends: Vec<Event> = ends.filter(|event| matches!(event, Event::Ended { .. })).collect();
    assert_eq!(ends.len(), 1, "{ends:?}");
    assert_eq!(bash(&kit, "echo unharmed").await.body, "unharmed\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f23_no_escape_outlives_the_timeout_and_partial_output_is_kept() {
    let scripts = [
        "echo half; setsid sleep MARK & wait",
        "echo half; (setsid sh -c 'trap \"\" TERM; setsid sleep MARK' &); sleep MARK",
        "echo half; trap '' TERM HUP INT; while :; do sleep 1; : MARK; done",
        "echo half; exec sleep MARK",
        "echo half; sleep MARK | cat",
        "printf half; kill -STOP $$; : MARK",
    ];
    let runs = scripts.map(|script| async move {
        let (kit, mark) = (kit(), mark());
        let (ended, took) = timed_out(&kit, &script.replace("MARK", &mark)).await;
        has(&ended.output.joined_text(), &["half", "timed out after 2 s", "larger timeout"]);
        assert!(took < Duration::from_secs(20), "{script}: {took:?}");
        assert!(marked(&mark).is_empty(), "{script}");
    });
    futures::future::join_all(runs).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_command_leaves_no_process_and_keeps_what_it_printed() {
    for script in [
        "echo begun; sleep MARK",
        "echo begun; setsid sleep MARK & sleep MARK",
        "echo begun; (setsid sh -c 'trap \"\" TERM HUP; sleep MARK' &); wait; sleep MARK",
    ] {
        let (kit, mark) = (kit(), mark());
        let mut events = kit.session().events();
        let running = start(&kit, "bash", &json!({"command": script.replace("MARK", &mark)}));
        said(&mut events, "begun").await;
        running.cancel.fire();
        let ended = end_of(running).await;
        assert_eq!(ended.outcome, Outcome::Cancelled, "{script}");
        has(&ended.output.joined_text(), &["cancelled", "begun"]);
        gone(&mark).await;
        assert_eq!(bash(&kit, "echo next").await.body, "next\n");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_dropped_and_a_run_that_ends_leave_no_process() {
    for by_drop in [true, false] {
        let (kit, mark) = (kit(), mark());
        let mut events = kit.session().events();
        let command = format!("echo begun; (trap '' TERM; sleep {mark}) & sleep {mark}");
        let running = start(&kit, "bash", &json!({"command": command}));
        said(&mut events, "begun").await;
        if by_drop {
            drop(running);
        } else {
            kit.session().end_run();
            assert_eq!(end_of(running).await.outcome, Outcome::Cancelled);
        }
        gone(&mark).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_of_many_processes_goes_as_one() {
    let (kit, mark) = (kit(), mark());
    let command = format!("for i in $(seq 1 40); do sleep {mark} & done; echo ready");
    let ended = call(&kit, "bash", json!({"command": command})).await;
    has(&done(&ended), &["ready\n", "40 processes left running in the background were stopped", "24 more"]);
    assert!(marked(&mark).is_empty());
}
