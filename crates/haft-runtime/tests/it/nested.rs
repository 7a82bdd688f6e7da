//! Calls made inside a call.

use crate::kit::{Gate, Listener, getter, logged_ends, path_in, probe, put_input, putter, request, soon};
use haft_core::{CallId, Effects, Event, Failure, Outcome, Request};
use haft_test::{Answers, Harness};
use serde_json::{Value, json};
use std::sync::Arc;

/// `batch`: makes the calls in its input, one after the other, and says how they ended.
fn batch(kit: &Harness) {
    kit.register(probe("batch").touches(|_| Effects::Delegated).run(|input, cx| async move {
        let mut said = Vec::new();
        for call in input["calls"].as_array().into_iter().flatten() {
            let tool = call["tool"].as_str().unwrap_or_default();
            let ended = cx.nested.call(request(tool, &call["input"])).await;
            said.push(format!("{} {} {}", ended.call, ended.outcome.name(), ended.output.joined_text()));
        }
        Ok(said.join("\n"))
    }));
}

fn calls(calls: &[(&str, Value)]) -> Value {
    let calls: Vec<Value> = calls.iter().map(|(tool, input)| json!({"tool": tool, "input": input})).collect();
    json!({"calls": calls})
}

#[tokio::test]
async fn inner_calls_are_numbered_inside_the_outer_one_and_end_once_each() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    batch(&kit);
    kit.register(getter());
    kit.write("a.txt", "one");
    let read = json!({"path": "a.txt"});
    let ended =
        kit.call("batch", calls(&[("get", read.clone()), ("nothing", json!({})), ("get", read)])).await;
    let text = ended.output.joined_text();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines[0], lines[2]), ("1.1 completed one", "1.3 completed one"));
    assert!(lines[1].starts_with("1.2 unknown Unknown tool: nothing"), "{}", lines[1]);
    listener.assert_ended_once(&ended);
    for (number, outcome) in [(1, Outcome::Completed), (2, Outcome::Unknown), (3, Outcome::Completed)] {
        let inner = ended.call.inner(number);
        assert_eq!(logged_ends(&kit, "test", &inner), [outcome]);
        let events = listener.events_of(&inner);
        assert_eq!(events.iter().filter(|event| matches!(event, Event::Ended { .. })).count(), 1);
    }
}

#[tokio::test]
async fn what_an_outer_call_will_still_do_comes_before_later_calls() {
    let kit = Harness::new();
    let gate = Gate::closed();
    let inside = gate.clone();
    kit.write("a.txt", "old");
    kit.register(getter());
    kit.register(putter().run(put_input));
    kit.register(probe("later").touches(|_| Effects::Delegated).run(move |_, cx| {
        let gate = inside.clone();
        async move {
            gate.pass().await;
            let write = request("put", &json!({"path": "a.txt", "text": "new"}));
            Ok(cx.nested.call(write).await.outcome.name())
        }
    }));
    let outer = kit.executor().submit(kit.session(), Request::new("later", "{}"));
    let reading = kit.executor().submit(kit.session(), request("get", &json!({"path": "a.txt"})));
    gate.reached(1).await;
    gate.open(1);
    assert_eq!(soon(reading).await.output.joined_text(), "new");
    assert_eq!(soon(outer).await.output.joined_text(), "completed");
}

#[tokio::test]
async fn only_a_dispatcher_may_make_calls() {
    let kit = Harness::new();
    kit.register(getter());
    kit.register(probe("sneaky").run(|_, cx| async move {
        let inner = cx.nested.call(Request::new("get", "{\"path\":\"a.txt\"}")).await;
        Ok(format!("{} {}", inner.outcome.name(), inner.output.joined_text()))
    }));
    kit.write("a.txt", "secret");
    let text = kit.call("sneaky", json!({})).await.output.joined_text();
    assert!(text.starts_with("denied ") && !text.contains("secret"), "{text}");
}

#[tokio::test]
async fn a_call_that_may_not_be_made_leaves_a_record_too() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    kit.register(
        probe("sneaky").run(|_, cx| async move {
            Ok(cx.nested.call(Request::new("sneaky", "{}")).await.outcome.name())
        }),
    );
    let ended = kit.call("sneaky", json!({})).await;
    let inner = ended.call.inner(1);
    assert_eq!(logged_ends(&kit, "test", &inner).len(), 1);
    let events = listener.events_of(&inner);
    assert_eq!(events.iter().filter(|event| matches!(event, Event::Ended { .. })).count(), 1, "{events:?}");
}

#[tokio::test]
async fn a_dispatcher_itself_can_touch_nothing() {
    let kit = Harness::new();
    kit.write("a.txt", "secret");
    kit.register(probe("grabby").touches(|_| Effects::Delegated).run(|input, cx| async move {
        let at = cx.world.files.resolve(&path_in(&input))?;
        if let Ok(short) = cx.world.files.read_short(&at, 100) {
            return Ok(format!("{short:?}"));
        }
        let bytes = cx.world.files.read(&at, 0, 100)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }));
    let ended = kit.call("grabby", json!({"path": "a.txt"})).await;
    assert!(matches!(ended.outcome, Outcome::Failed { .. }), "{:?}", ended.outcome);
    assert!(!ended.output.joined_text().contains("secret"));
}

#[tokio::test]
async fn an_inner_call_is_judged_alone() {
    let kit = Harness::answering(Answers::no());
    batch(&kit);
    kit.register(probe("note").asks().run(|_, _| async { Ok("noted") }));
    let ended = kit.call("batch", calls(&[("note", json!({}))])).await;
    assert!(ended.outcome.is_completed());
    assert_eq!(ended.output.joined_text(), "1.1 denied Tool use denied by user: note");
    let asked = kit.answers().asked();
    assert_eq!(
        asked.iter().map(|question| question.call.clone()).collect::<Vec<_>>(),
        [CallId::outer(1).inner(1)]
    );
}

#[tokio::test]
async fn a_cancel_of_the_outer_call_cancels_the_inner_ones() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    let gate = Gate::closed();
    let inside = gate.clone();
    batch(&kit);
    kit.register(probe("long").run(move |_, cx| {
        let gate = inside.clone();
        async move {
            tokio::select! {
                () = gate.pass() => Ok("let go"),
                () = cx.cancel.fired() => Err(Failure::cancelled()),
            }
        }
    }));
    let outer = kit.executor().submit(kit.session(), request("batch", &calls(&[("long", json!({}))])));
    gate.reached(1).await;
    outer.cancel.fire();
    let ended = soon(outer).await;
    assert_eq!(ended.outcome, Outcome::Cancelled);
    listener.assert_ended_once(&ended);
    let inner = ended.call.inner(1);
    assert_eq!(logged_ends(&kit, "test", &inner), [Outcome::Cancelled]);
    let events = listener.events_of(&inner);
    assert_eq!(events.iter().filter(|event| matches!(event, Event::Ended { .. })).count(), 1);
}

#[tokio::test]
async fn inner_calls_made_at_once_run_together() {
    let kit = Harness::new();
    let barrier = Arc::new(tokio::sync::Barrier::new(2));
    kit.register(probe("meet").run(move |_, _| {
        let barrier = Arc::clone(&barrier);
        async move {
            barrier.wait().await;
            Ok("met")
        }
    }));
    kit.register(probe("pair").touches(|_| Effects::Delegated).run(|_, cx| async move {
        let (one, two) =
            (cx.nested.call(Request::new("meet", "{}")), cx.nested.call(Request::new("meet", "{}")));
        let (one, two) = tokio::join!(one, two);
        Ok(format!("{} {}", one.call, two.call))
    }));
    assert_eq!(soon(kit.call("pair", json!({}))).await.output.joined_text(), "1.1 1.2");
}
