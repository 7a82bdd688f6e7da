//! Who waits for whom: conflicting calls in order, the others together, never more than ten.

use crate::kit::{
    Gate, getter, only, path_in, probe, put, put_input, putter, request, session_of, settle, soon,
};
use haft_core::{AnyTool, Cx, Failure, Permission, Touch};
use haft_runtime::Running;
use haft_test::Harness;
use serde_json::{Value, json};
use std::{
    os::unix::fs::symlink,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::sync::Barrier;

/// How many calls are inside at once, and the most there ever were.
#[derive(Default)]
struct Crowd {
    inside: AtomicUsize,
    most: AtomicUsize,
}

impl Crowd {
    fn enter(&self) {
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(inside, Ordering::SeqCst);
    }

    fn leave(&self) {
        self.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

/// `add`: adds a text to a file and says how many lines it has then.
fn adder(crowd: &Arc<Crowd>) -> Arc<dyn AnyTool> {
    let crowd = Arc::clone(crowd);
    probe("add").touches(|input| only(Touch::Write(path_in(input)))).run(move |input, cx| {
        let crowd = Arc::clone(&crowd);
        async move {
            crowd.enter();
            let added = add(&input, &cx).await;
            crowd.leave();
            added
        }
    })
}

async fn add(input: &Value, cx: &Cx) -> Result<String, Failure> {
    let at = cx.path(&path_in(input))?;
    let added = input["text"].as_str().unwrap_or_default().to_owned();
    let files = Arc::clone(&cx.world.files);
    cx.blocking(move || {
        let before = files.read(&at, 0, 1 << 20).unwrap_or_default();
        let text = String::from_utf8_lossy(&before).into_owned() + &added;
        put(files.as_ref(), &at, &text)?;
        Ok(format!("{} lines", text.lines().count()))
    })
    .await
}

#[tokio::test]
async fn twenty_conflicting_calls_take_effect_and_answer_in_order() {
    let kit = Harness::new();
    let crowd = Arc::default();
    kit.register(adder(&crowd));
    kit.write("list.txt", "");
    symlink(kit.path("list.txt"), kit.path("link.txt")).unwrap();
    let submit = |n: usize| {
        let path = ["list.txt", "link.txt", "./sub/../list.txt"][n % 3];
        std::fs::create_dir_all(kit.path("sub")).unwrap();
        kit.executor().submit(kit.session(), request("add", &json!({"path": path, "text": format!("{n}\n")})))
    };
    let running: Vec<Running> = (1..=20).map(submit).collect();
    let mut answers = Vec::new();
    for call in running {
        answers.push(soon(call).await.output.joined_text());
    }
    let expected: Vec<String> = (1..=20).map(|n| format!("{n} lines")).collect();
    assert_eq!(answers, expected);
    let lines: String = (1..=20).map(|n| format!("{n}\n")).collect();
    assert_eq!(String::from_utf8(kit.read("list.txt")).unwrap(), lines);
    assert_eq!(crowd.most.load(Ordering::SeqCst), 1);
}

/// A writer that waits inside, a reader right behind it.
async fn read_behind_a_write(written: &str, read: &str) -> String {
    let kit = Harness::new();
    let gate = Gate::closed();
    let inside = gate.clone();
    kit.write("a.txt", "old");
    symlink("a.txt", kit.path("link.txt")).unwrap();
    kit.register(getter());
    kit.register(putter().run(move |input, cx| {
        let gate = inside.clone();
        async move {
            gate.pass().await;
            put_input(input, cx).await
        }
    }));
    let write = request("put", &json!({"path": written, "text": "new"}));
    let write = kit.executor().submit(kit.session(), write);
    let mut reading = kit.executor().submit(kit.session(), request("get", &json!({"path": read})));
    gate.reached(1).await;
    settle().await;
    assert!(futures::poll!(&mut reading).is_pending(), "the read passed the write");
    gate.open(1);
    assert!(soon(write).await.outcome.is_completed());
    soon(reading).await.output.joined_text()
}

#[tokio::test]
async fn a_read_after_a_write_of_the_same_file_sees_it() {
    assert_eq!(read_behind_a_write("a.txt", "a.txt").await, "new");
}

#[tokio::test]
async fn a_read_through_a_link_after_a_write_sees_it() {
    assert_eq!(read_behind_a_write("a.txt", "link.txt").await, "new");
    assert_eq!(read_behind_a_write("link.txt", "a.txt").await, "new");
}

#[tokio::test]
async fn calls_that_dont_conflict_overlap() {
    let kit = Harness::new();
    let barrier = Arc::new(Barrier::new(3));
    kit.register(probe("meet").touches(|input| only(Touch::Write(path_in(input)))).run(move |_, _| {
        let barrier = Arc::clone(&barrier);
        async move {
            barrier.wait().await;
            Ok("met")
        }
    }));
    let submit = |path: &str| kit.executor().submit(kit.session(), request("meet", &json!({"path": path})));
    let running = ["a.txt", "b.txt", "c.txt"].map(submit);
    for call in running {
        assert!(soon(call).await.outcome.is_completed());
    }
}

#[tokio::test]
async fn a_tool_that_isnt_concurrency_safe_runs_alone() {
    let kit = Harness::new();
    let crowd = Arc::new(Crowd::default());
    let counted = Arc::clone(&crowd);
    let alone = probe("alone")
        .with(|_| haft_core::Spec::new("alone", "Runs alone.").with_permission(Permission::Auto));
    kit.register(alone.run(move |_, _| {
        let crowd = Arc::clone(&counted);
        async move {
            crowd.enter();
            settle().await;
            crowd.leave();
            Ok("done")
        }
    }));
    let running: Vec<Running> =
        (0..5).map(|_| kit.executor().submit(kit.session(), request("alone", &json!({})))).collect();
    for call in running {
        assert!(soon(call).await.outcome.is_completed());
    }
    assert_eq!(crowd.most.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn ten_calls_run_at_once_and_no_more() {
    let kit = Harness::new();
    let gate = Gate::closed();
    let crowd = Arc::new(Crowd::default());
    let (inside, counted) = (gate.clone(), Arc::clone(&crowd));
    kit.register(probe("wait").run(move |_, _| {
        let (gate, crowd) = (inside.clone(), Arc::clone(&counted));
        async move {
            crowd.enter();
            gate.pass().await;
            crowd.leave();
            Ok("done")
        }
    }));
    let running: Vec<Running> =
        (0..25).map(|_| kit.executor().submit(kit.session(), request("wait", &json!({})))).collect();
    gate.reached(10).await;
    settle().await;
    assert_eq!(gate.more(), 0, "an eleventh runs");
    gate.open(25);
    for call in running {
        assert!(soon(call).await.outcome.is_completed());
    }
    assert_eq!(crowd.most.load(Ordering::SeqCst), 10);
}

#[tokio::test]
async fn two_sessions_never_write_one_file_at_once() {
    let kit = Harness::new();
    let crowd = Arc::default();
    kit.register(adder(&crowd));
    let other = session_of(&kit, "other", |setup| setup);
    let submit = |n: usize| {
        let session = if n.is_multiple_of(2) { kit.session() } else { &other };
        kit.executor().submit(session, request("add", &json!({"path": "list.txt", "text": format!("{n}\n")})))
    };
    let running: Vec<Running> = (0..12).map(submit).collect();
    for call in running {
        assert!(soon(call).await.outcome.is_completed());
    }
    let text = String::from_utf8(kit.read("list.txt")).unwrap();
    let mut lines: Vec<usize> = text.lines().map(|line| line.parse().unwrap()).collect();
    lines.sort_unstable();
    assert_eq!(lines, (0..12).collect::<Vec<_>>());
    assert_eq!(crowd.most.load(Ordering::SeqCst), 1);
}
