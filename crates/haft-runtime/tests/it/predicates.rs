//! A declaration that panics counts as the most careful answer.

use crate::kit::{Listener, only, path_in, probe};
use haft_core::{Effects, Outcome, Spec, Touch};
use haft_policy::Mode;
use haft_test::{Answers, Harness};
use serde_json::json;

#[tokio::test]
async fn effects_that_panic_count_as_unstated() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    kit.register(
        probe("note")
            .asks()
            .touches(|input| {
                assert!(input["fine"] == true, "boom");
                only(Touch::Read(path_in(input)))
            })
            .run(|_, _| async { Ok("ran") }),
    );
    let ended = kit.call("note", json!({})).await;
    assert!(ended.outcome.is_completed());
    assert_eq!(kit.answers().asked()[0].effects, Effects::Everything);
    listener.assert_ended_once(&ended);
}

#[tokio::test]
async fn flags_that_panic_make_a_free_reader_ask() {
    let kit = Harness::answering(Answers::no());
    let mut listener = Listener::on(&kit);
    let panics =
        || probe("look").with(Spec::read_only).flags(|_| panic!("boom")).run(|_, _| async { Ok("ran") });
    kit.register(panics());
    let ended = kit.call("look", json!({})).await;
    assert!(matches!(ended.outcome, Outcome::Denied { .. }), "{:?}", ended.outcome);
    let asked = kit.answers().asked();
    assert!(asked.len() == 1 && asked[0].mutates, "{asked:?}");
    listener.assert_ended_once(&ended);

    let plan = Harness::in_mode(Mode::Plan);
    plan.register(panics());
    let ended = plan.call("look", json!({})).await;
    assert!(
        matches!(&ended.outcome, Outcome::Denied { why, .. } if why.gate == "plan"),
        "{:?}",
        ended.outcome
    );
}

#[tokio::test]
async fn a_check_of_its_own_that_panics_denies() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    kit.register(probe("note").check(|_| panic!("boom")).run(|_, _| async { Ok("ran") }));
    let ended = kit.call("note", json!({})).await;
    assert!(
        matches!(&ended.outcome, Outcome::Denied { why, .. } if why.gate == "own"),
        "{:?}",
        ended.outcome
    );
    assert!(kit.answers().asked().is_empty());
    listener.assert_ended_once(&ended);
}

#[tokio::test]
async fn a_preview_that_panics_is_a_question_without_one() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    kit.register(
        probe("note")
            .asks()
            .preview(|input, _| async move {
                assert!(input["fine"] == true, "boom");
                Ok(haft_core::Preview::default())
            })
            .run(|_, _| async { Ok("ran") }),
    );
    let ended = kit.call("note", json!({})).await;
    assert!(ended.outcome.is_completed());
    assert!(kit.answers().asked()[0].preview.text.contains("failed"));
    listener.assert_ended_once(&ended);
}

#[tokio::test]
async fn a_preview_that_panics_before_its_future_is_made_is_a_question_without_one() {
    let kit = Harness::new();
    let mut listener = Listener::on(&kit);
    kit.register(
        probe("note")
            .asks()
            .preview(|input, _| {
                assert!(input["fine"] == true, "boom");
                async { Ok(haft_core::Preview::default()) }
            })
            .run(|_, _| async { Ok("ran") }),
    );
    let ended = kit.call("note", json!({})).await;
    assert!(ended.outcome.is_completed(), "{:?}", ended.outcome);
    listener.assert_ended_once(&ended);
}
