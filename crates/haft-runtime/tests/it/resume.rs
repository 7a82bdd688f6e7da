//! A process that dies leaves calls without an end; whoever opens the session next ends them, once.

use crate::kit::{Again, given_folder, logged_ends, probe};
use haft_core::{CallId, Failure, Outcome, Request, StateFolder};
use haft_os::{Environment, OsFiles, OsProcesses, OsState};
use haft_policy::{Mode, Policy};
use haft_runtime::{Catalogue, Executor, Interrupted, Session, SessionSetup};
use haft_test::Harness;
use serde_json::json;
use std::{
    future::pending,
    io::{BufRead, BufReader},
    sync::Arc,
};

const READY: &str = "the-call-runs";

#[tokio::test]
async fn as_a_child_it_starts_a_call_that_never_ends() {
    let Some(root) = given_folder() else { return };
    let state = Arc::new(OsState::new(root.join("state")));
    let files = OsFiles::new(&root.join("workspace"), &[], &root.join("state")).unwrap();
    let world = haft_os::world(files, OsProcesses::new(Environment::of_process()));
    let catalogue = Catalogue::new();
    let hang = probe("hang").run(|_, _| {
        println!("{READY}");
        pending::<Result<String, Failure>>()
    });
    catalogue.register(hang, "test").unwrap().keep();
    let policy = Policy::new(Mode::Default, world.files.workspace());
    let clock = Arc::clone(&world.clock);
    let session = Session::open(SessionSetup {
        state: Some(state as Arc<dyn StateFolder>),
        ..SessionSetup::new("test", catalogue, policy, clock)
    })
    .unwrap();
    let request = Request { foreign_id: Some("toolu_1".to_owned()), ..Request::new("hang", "{}") };
    let _ = Executor::new(world, None).submit(&session, request).await;
}

/// Another process of the harness's session, in the middle of its first call.
fn in_the_middle_of_a_call(kit: &Harness) -> Again {
    let root = kit.workspace().parent().unwrap().to_owned();
    let mut again = Again::run("resume::as_a_child_it_starts_a_call_that_never_ends", &root);
    let out = BufReader::new(again.0.stdout.take().unwrap());
    let ready = out.lines().map_while(Result::ok).any(|line| line.contains(READY));
    assert!(ready, "the child ended before its call ran");
    again
}

fn kill(mut again: Again) {
    again.0.kill().unwrap();
    again.0.wait().unwrap();
}

#[tokio::test]
async fn a_call_whose_process_was_killed_is_interrupted_exactly_once() {
    let kit = Harness::new();
    kill(in_the_middle_of_a_call(&kit));
    let first = CallId::outer(1);
    assert!(logged_ends(&kit, "test", &first).is_empty());
    let again = kit.open_session("test").unwrap();
    let lost =
        Interrupted { call: first.clone(), tool: "hang".to_owned(), foreign_id: Some("toolu_1".to_owned()) };
    assert_eq!(again.interrupted(), [lost]);
    assert_eq!(logged_ends(&kit, "test", &first), [Outcome::Interrupted]);
    let third = kit.open_session("test").unwrap();
    assert!(third.interrupted().is_empty());
    assert_eq!(logged_ends(&kit, "test", &first), [Outcome::Interrupted]);
}

#[tokio::test]
async fn numbers_go_on_after_a_kill() {
    let kit = Harness::new();
    kit.register(probe("note").run(|_, _| async { Ok("noted") }));
    kill(in_the_middle_of_a_call(&kit));
    let again = kit.open_session("test").unwrap();
    let next = kit.executor().submit(&again, Request::new("note", "{}")).await;
    assert_eq!((next.call, next.outcome), (CallId::outer(2), Outcome::Completed));
}

#[tokio::test]
async fn a_call_of_a_process_that_lives_is_left_alone() {
    let kit = Harness::new();
    let living = in_the_middle_of_a_call(&kit);
    let again = kit.open_session("test").unwrap();
    assert!(again.interrupted().is_empty());
    assert!(logged_ends(&kit, "test", &CallId::outer(1)).is_empty());
    kill(living);
    assert_eq!(kit.open_session("test").unwrap().interrupted().len(), 1);
}

#[tokio::test]
async fn a_call_of_another_session_of_this_process_is_left_alone() {
    let kit = Harness::new();
    let gate = crate::kit::Gate::closed();
    let inside = gate.clone();
    kit.register(probe("long").run(move |_, _| {
        let gate = inside.clone();
        async move {
            gate.pass().await;
            Ok("done")
        }
    }));
    let running = kit.executor().submit(kit.session(), crate::kit::request("long", &json!({})));
    gate.reached(1).await;
    assert!(kit.open_session("test").unwrap().interrupted().is_empty());
    gate.open(1);
    let ended = crate::kit::soon(running).await;
    assert_eq!(logged_ends(&kit, "test", &ended.call), [Outcome::Completed]);
}
