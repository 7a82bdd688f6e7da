//! Changes of files taken back: by call, by turn, whole; and never over what somebody else wrote since.

use crate::kit::{Again, given_folder, only, path_in, probe, put_input, putter, request, session_of, soon};
use haft_core::{
    AnyTool, CallId, ChangedBy, Cx, Ended, Failure, FailureKind, FileOp, Outcome, Output, Seen, SessionView,
    StateFolder, Touch, WriteMode,
};
use haft_os::{Environment, OsFiles, OsProcesses, OsState};
use haft_policy::{Mode, Policy};
use haft_runtime::{Catalogue, Executor, Session, SessionSetup, undo_tool, undoable};
use haft_test::{Answers, Harness, HarnessSetup};
use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    future::pending,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    sync::Arc,
};

const READY: &str = "the-file-is-written";

fn hash(bytes: &[u8]) -> String {
    haft_core::content_hash(bytes).to_string()
}

/// `drop`: removes a file.
fn dropper() -> Arc<dyn AnyTool> {
    probe("drop").touches(|input| only(Touch::Write(path_in(input)))).run(|input: Value, cx: Cx| async move {
        let at = cx.path(&path_in(&input))?;
        let files = Arc::clone(&cx.world.files);
        cx.blocking(move || {
            let before = hash(&files.read(&at, 0, 1 << 20)?).into();
            files.apply(&[FileOp::Remove { at, before }]).map(drop)
        })
        .await?;
        Ok("dropped")
    })
}

/// `mark`: makes a file a program, or none.
fn marker() -> Arc<dyn AnyTool> {
    probe("mark").touches(|input| only(Touch::Write(path_in(input)))).run(|input: Value, cx: Cx| async move {
        let at = cx.path(&path_in(&input))?;
        let runs = input["runs"] == true;
        let files = Arc::clone(&cx.world.files);
        cx.blocking(move || {
            let content = files.read(&at, 0, 1 << 20)?;
            let mode = WriteMode::Over { before: hash(&content).into() };
            files.apply(&[FileOp::Write { at, content, mode, executable: Some(runs) }]).map(drop)
        })
        .await?;
        Ok("marked")
    })
}

fn equipped(answers: Answers) -> Harness {
    let kit = Harness::with(HarnessSetup { answers, ..HarnessSetup::default() });
    for tool in [putter().run(put_input), dropper(), marker(), undo_tool()] {
        kit.register(tool);
    }
    kit
}

fn kit() -> Harness {
    equipped(Answers::yes())
}

async fn put(kit: &Harness, path: &str, text: &str) -> Ended {
    let ended = kit.call("put", json!({"path": path, "text": text})).await;
    assert_eq!(ended.outcome, Outcome::Completed, "{}", ended.output.joined_text());
    ended
}

/// An undo that works, and what it says.
async fn undo(kit: &Harness, input: Value) -> String {
    let ended = kit.call("undo", input).await;
    let text = ended.output.joined_text();
    assert_eq!(ended.outcome, Outcome::Completed, "{text}");
    text
}

/// An undo that is refused, and why.
async fn refused(kit: &Harness, input: Value, kind: FailureKind) -> String {
    let ended = kit.call("undo", input).await;
    let text = ended.output.joined_text();
    assert_eq!(ended.outcome, Outcome::Failed { kind }, "{text}");
    text
}

/// Lets whoever may read a file run it.
fn make_program(kit: &Harness, name: &str) -> u32 {
    let mode = mode_of(kit, name);
    let mode = mode | ((mode & 0o444) >> 2);
    fs::set_permissions(kit.path(name), fs::Permissions::from_mode(mode)).unwrap();
    mode
}

fn mode_of(kit: &Harness, name: &str) -> u32 {
    fs::metadata(kit.path(name)).unwrap().permissions().mode() & 0o7777
}

#[tokio::test]
async fn the_last_call_is_taken_back_then_the_one_before() {
    let kit = kit();
    kit.write("a", "one\n");
    put(&kit, "a", "two\n").await;
    put(&kit, "a", "three\n").await;
    let text = undo(&kit, json!({})).await;
    assert!(text.starts_with("Undid call 2 (put).\na: as before (+1 −1 lines)"), "{text}");
    assert_eq!(kit.read("a"), b"two\n");
    undo(&kit, json!({})).await;
    assert_eq!(kit.read("a"), b"one\n");
    let text = refused(&kit, json!({}), FailureKind::NotFound).await;
    assert!(text.starts_with("There is nothing to undo"), "{text}");
}

#[tokio::test]
async fn an_undo_is_undone_by_its_own_id() {
    let kit = kit();
    kit.write("a", "one\n");
    put(&kit, "a", "two\n").await;
    let ended = kit.call("undo", json!({})).await;
    undo(&kit, json!({"call": ended.call.to_string()})).await;
    assert_eq!(kit.read("a"), b"two\n");
    // What counts again can be undone again.
    undo(&kit, json!({})).await;
    assert_eq!(kit.read("a"), b"one\n");
}

#[tokio::test]
async fn made_files_go_and_removed_ones_come_back_with_the_right_to_run() {
    let kit = kit();
    kit.write("tool", "#!/bin/sh\n");
    let mode = make_program(&kit, "tool");
    let made = put(&kit, "new/file", "x").await;
    let dropped = kit.call("drop", json!({"path": "tool"})).await;
    assert_eq!(dropped.outcome, Outcome::Completed, "{}", dropped.output.joined_text());
    assert!(!kit.path("tool").exists());
    undo(&kit, json!({"call": dropped.call.to_string()})).await;
    assert_eq!((kit.read("tool"), mode_of(&kit, "tool")), (b"#!/bin/sh\n".to_vec(), mode));
    undo(&kit, json!({"call": made.call.to_string()})).await;
    assert!(!kit.path("new/file").exists());
}

#[tokio::test]
async fn a_file_that_was_removed_and_made_anew_gets_its_mode_back() {
    for text in ["", "#!/bin/sh\n", "other\n"] {
        let kit = kit();
        kit.write("tool", "#!/bin/sh\n");
        let mode = make_program(&kit, "tool");
        kit.call("drop", json!({"path": "tool"})).await;
        put(&kit, "tool", text).await;
        let new = mode_of(&kit, "tool");
        assert_ne!(new, mode);
        let ended = kit.call("undo", json!({"session": true})).await;
        assert!(ended.outcome.is_completed(), "{}", ended.output.joined_text());
        assert_eq!((kit.read("tool"), mode_of(&kit, "tool")), (b"#!/bin/sh\n".to_vec(), mode), "{text:?}");
        undo(&kit, json!({"call": ended.call.to_string()})).await;
        assert_eq!((kit.read("tool"), mode_of(&kit, "tool")), (text.as_bytes().to_vec(), new), "{text:?}");
    }
}

#[tokio::test]
async fn a_private_file_that_was_made_anew_is_private_again() {
    let kit = kit();
    kit.write("token", "secret");
    fs::set_permissions(kit.path("token"), fs::Permissions::from_mode(0o600)).unwrap();
    kit.call("drop", json!({"path": "token"})).await;
    put(&kit, "token", "new").await;
    let new = mode_of(&kit, "token");
    let ended = kit.call("undo", json!({"session": true})).await;
    assert!(ended.outcome.is_completed(), "{}", ended.output.joined_text());
    assert_eq!((kit.read("token"), mode_of(&kit, "token")), (b"secret".to_vec(), 0o600));
    undo(&kit, json!({"call": ended.call.to_string()})).await;
    assert_eq!((kit.read("token"), mode_of(&kit, "token")), (b"new".to_vec(), new));
}

#[tokio::test]
async fn a_private_file_comes_back_private() {
    let kit = kit();
    kit.write("token", "secret");
    fs::set_permissions(kit.path("token"), fs::Permissions::from_mode(0o600)).unwrap();
    kit.call("drop", json!({"path": "token"})).await;
    undo(&kit, json!({})).await;
    assert_eq!((kit.read("token"), mode_of(&kit, "token")), (b"secret".to_vec(), 0o600));
}

#[tokio::test]
async fn a_turn_goes_back_whole_and_alone() {
    let kit = kit();
    kit.write("a", "a1");
    kit.write("b", "b1");
    for (turn, path, text) in [(1, "a", "a2"), (1, "b", "b2"), (2, "c", "c2"), (1, "a", "a3")] {
        let request = request("put", &json!({"path": path, "text": text})).in_turn(turn);
        assert!(kit.executor().submit(kit.session(), request).await.outcome.is_completed());
    }
    undo(&kit, json!({"turn": 1})).await;
    assert_eq!(
        (kit.read("a"), kit.read("b"), kit.read("c")),
        (b"a1".to_vec(), b"b1".to_vec(), b"c2".to_vec())
    );
}

#[tokio::test]
async fn a_later_call_is_named_and_nothing_is_lost() {
    let kit = kit();
    kit.write("a", "one\n");
    put(&kit, "a", "two\n").await;
    put(&kit, "a", "two\nthree\n").await;
    let text = refused(&kit, json!({"call": "1"}), FailureKind::Conflict).await;
    assert!(text.contains("a: its content changed (+1 −0 lines), by call 2 (put)"), "{text}");
    assert!(text.ends_with("call=\"2\"."), "{text}");
    assert_eq!(kit.read("a"), b"two\nthree\n");
    undo(&kit, json!({"session": true})).await;
    assert_eq!(kit.read("a"), b"one\n");
}

#[tokio::test]
async fn where_one_file_changed_outside_none_is_undone() {
    let kit = kit();
    kit.write("a", "a1\n");
    put(&kit, "a", "a2\n").await;
    put(&kit, "b", "b2\n").await;
    kit.write("b", "b2\nmore\n");
    let text = refused(&kit, json!({"session": true}), FailureKind::Conflict).await;
    assert!(
        text.contains("b: its content changed (+1 −0 lines), by something that is no file tool"),
        "{text}"
    );
    assert_eq!((kit.read("a"), kit.read("b")), (b"a2\n".to_vec(), b"b2\nmore\n".to_vec()));
    fs::remove_file(kit.path("b")).unwrap();
    fs::create_dir(kit.path("b")).unwrap();
    let text = refused(&kit, json!({"session": true}), FailureKind::Conflict).await;
    assert!(text.contains("b: it is a folder now"), "{text}");
}

#[tokio::test]
async fn a_path_that_became_a_link_is_not_followed() {
    let kit = kit();
    kit.write("a", "a1\n");
    kit.write("other", "a2\n");
    put(&kit, "a", "a2\n").await;
    fs::remove_file(kit.path("a")).unwrap();
    std::os::unix::fs::symlink("other", kit.path("a")).unwrap();
    let text = refused(&kit, json!({}), FailureKind::Conflict).await;
    assert!(text.contains("through a link"), "{text}");
    assert_eq!(kit.read("other"), b"a2\n");
}

#[tokio::test]
async fn a_file_written_through_a_link_goes_back_and_the_link_stays() {
    let kit = kit();
    kit.write("real", "one\n");
    std::os::unix::fs::symlink("real", kit.path("link")).unwrap();
    put(&kit, "link", "two\n").await;
    undo(&kit, json!({})).await;
    assert_eq!(kit.read("real"), b"one\n");
    assert!(fs::symlink_metadata(kit.path("link")).unwrap().is_symlink());
}

#[tokio::test]
async fn a_dry_run_asks_nobody_and_changes_nothing() {
    let kit = equipped(Answers::no());
    kit.write("a", "one\n");
    put(&kit, "a", "two\n").await;
    let text = undo(&kit, json!({"dryRun": true})).await;
    assert!(text.contains("-two\n+one\n"), "{text}");
    assert_eq!(kit.read("a"), b"two\n");
    assert!(kit.answers().asked().is_empty());
    let denied = kit.call("undo", json!({})).await;
    assert!(matches!(denied.outcome, Outcome::Denied { .. }), "{:?}", denied.outcome);
    assert!(kit.answers().asked()[0].preview.text.contains("-two\n+one\n"));
}

#[tokio::test]
async fn an_undo_right_behind_a_write_takes_that_write_back() {
    let kit = kit();
    kit.write("a", "one\n");
    let write = kit.executor().submit(kit.session(), request("put", &json!({"path": "a", "text": "two\n"})));
    let back = kit.executor().submit(kit.session(), request("undo", &json!({})));
    assert!(soon(write).await.outcome.is_completed());
    let back = soon(back).await;
    assert!(back.outcome.is_completed(), "{}", back.output.joined_text());
    assert_eq!(kit.read("a"), b"one\n");
}

#[tokio::test]
async fn a_refused_write_leaves_nothing_to_undo() {
    let kit = kit();
    kit.write("a", "one\n");
    kit.register(probe("stale").touches(|input| only(Touch::Write(path_in(input)))).run(
        |input: Value, cx: Cx| async move {
            let at = cx.path(&path_in(&input))?;
            let files = Arc::clone(&cx.world.files);
            let mode = WriteMode::Over { before: hash(b"another").into() };
            cx.blocking(move || files.write(&at, b"one\n", &mode).map(drop)).await
        },
    ));
    let stale = kit.call("stale", json!({"path": "a"})).await;
    assert_eq!(stale.outcome, Outcome::Failed { kind: FailureKind::Conflict });
    refused(&kit, json!({}), FailureKind::NotFound).await;
    assert!(undoable(&**kit.state(), "test").unwrap().is_empty());
}

#[tokio::test]
async fn another_process_of_the_session_can_undo() {
    let kit = kit();
    kit.write("a", "one\n");
    put(&kit, "a", "two\n").await;
    let listed = undoable(&**kit.state(), "test").unwrap();
    let calls: Vec<(String, usize)> =
        listed.iter().map(|by: &ChangedBy| (by.call.to_string(), by.files.len())).collect();
    assert_eq!(calls, [("1".to_owned(), 1)]);
    let again = kit.open_session("test").unwrap();
    let ended = kit.executor().submit(&again, request("undo", &json!({}))).await;
    assert!(ended.outcome.is_completed(), "{}", ended.output.joined_text());
    assert_eq!(kit.read("a"), b"one\n");
    assert!(undoable(&**kit.state(), "test").unwrap().is_empty());
    let other = session_of(&kit, "other", |setup| setup);
    assert!(other.changes().is_empty(), "each session has its own");
}

#[tokio::test]
async fn what_the_model_saw_of_a_content_counts_again_and_nothing_more() {
    let kit = kit();
    for (name, shown) in [("seen", true), ("unseen", false)] {
        kit.write(name, "1\n2\n");
        let at = kit.world().files.resolve(&name.into()).unwrap();
        let look = at.clone();
        let before = if shown { hash(b"1\n2\n") } else { hash(b"other") };
        let seen = Seen::whole(&before, 2);
        kit.register(probe(&format!("look-{name}")).run(move |_, _| {
            let output = Output { seen: vec![(look.clone(), seen.clone())], ..Output::text("looked") };
            async move { Ok(output) }
        }));
        kit.call(&format!("look-{name}"), json!({})).await;
        put(&kit, name, "3\n").await;
        undo(&kit, json!({})).await;
        let now = kit.session().seen_of(&at).unwrap();
        assert_eq!((&*now.hash, now.is_whole()), (hash(b"1\n2\n").as_str(), shown), "{name}");
    }
}

#[tokio::test]
async fn contents_before_and_after_are_kept_by_hash() {
    let kit = kit();
    kit.write("a", "one\n");
    put(&kit, "a", "two\n").await;
    for text in ["one\n", "two\n"] {
        assert_eq!(kit.session().content(&hash(text.as_bytes())).as_deref(), Some(text.as_bytes()));
    }
    assert_eq!(kit.session().content(&hash(b"three\n")), None);
    fs::remove_dir_all(kit.state().root.join("sessions/test/content")).unwrap();
    let text = refused(&kit, json!({}), FailureKind::Conflict).await;
    assert!(text.contains("the content before isn't kept of a."), "{text}");
    assert_eq!(kit.read("a"), b"two\n");
}

#[tokio::test]
async fn as_a_child_it_writes_and_never_ends() {
    let Some(root) = given_folder() else { return };
    let state = Arc::new(OsState::new(root.join("state")));
    let files = OsFiles::new(&root.join("workspace"), &[], &root.join("state")).unwrap();
    let world = haft_os::world(files, OsProcesses::new(Environment::of_process()));
    let catalogue = Catalogue::new();
    let hang = putter().run(|input: Value, cx: Cx| async move {
        put_input(input, cx).await?;
        println!("{READY}");
        pending::<Result<&'static str, Failure>>().await
    });
    catalogue.register(hang, "test").unwrap().keep();
    let policy = Policy::new(Mode::Default, world.files.workspace());
    let clock = Arc::clone(&world.clock);
    let session = Session::open(SessionSetup {
        state: Some(state as Arc<dyn StateFolder>),
        ..SessionSetup::new("test", catalogue, policy, clock)
    })
    .unwrap();
    let input = json!({"path": "a", "text": "half done\n"});
    let _ = Executor::new(world, None).submit(&session, request("put", &input)).await;
}

#[tokio::test]
async fn a_write_of_a_call_that_was_killed_is_undone() {
    let kit = kit();
    kit.write("a", "one\n");
    let root = kit.workspace().parent().unwrap().to_owned();
    let mut child = Again::run("undo::as_a_child_it_writes_and_never_ends", &root);
    let out = BufReader::new(child.0.stdout.take().unwrap());
    assert!(out.lines().map_while(Result::ok).any(|line| line.contains(READY)), "it ended too early");
    drop(child);
    assert_eq!(kit.read("a"), b"half done\n");
    let again = kit.open_session("test").unwrap();
    let ended = kit.executor().submit(&again, request("undo", &json!({"call": "1"}))).await;
    assert!(ended.outcome.is_completed(), "{}", ended.output.joined_text());
    assert_eq!(kit.read("a"), b"one\n");
    assert_eq!(again.changes()[0].call, CallId::outer(1));
}

/// One thing to do to one of a few files.
#[derive(Debug, Clone)]
enum Act {
    Put(usize, String),
    Drop(usize),
    Mark(usize, bool),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        4 => (0..4_usize, "(?s).{0,40}").prop_map(|(file, text)| Act::Put(file, text)),
        1 => (0..4_usize).prop_map(Act::Drop),
        1 => (0..4_usize, any::<bool>()).prop_map(|(file, runs)| Act::Mark(file, runs)),
    ];
    proptest::collection::vec(act, 1..12)
}

/// Bytes and mode of each file.
fn tree(kit: &Harness) -> BTreeMap<String, (Vec<u8>, u32)> {
    let names = (0..4).map(|n| format!("f{n}")).filter(|name| kit.path(name).exists());
    names.map(|name| (name.clone(), (kit.read(&name), mode_of(kit, &name)))).collect()
}

#[test]
fn whatever_was_done_undoing_all_is_the_identity() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config = ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new(config);
    let done = runner.run(&acts(), |acts| {
        runtime.block_on(async {
            let kit = kit();
            kit.write("f0", b"\xff\x00\r\nmixed\n");
            kit.write("f1", "#!/bin/sh\n");
            make_program(&kit, "f1");
            let before = tree(&kit);
            for act in acts {
                let (tool, input) = match act {
                    Act::Put(file, text) => ("put", json!({"path": format!("f{file}"), "text": text})),
                    Act::Drop(file) => ("drop", json!({"path": format!("f{file}")})),
                    Act::Mark(file, runs) => ("mark", json!({"path": format!("f{file}"), "runs": runs})),
                };
                // What isn't there can't be removed or marked; that is no change.
                kit.call(tool, input).await;
            }
            let after = tree(&kit);
            let ended = kit.call("undo", json!({"session": true})).await;
            if after == before && !ended.outcome.is_completed() {
                return Ok(());
            }
            prop_assert!(ended.outcome.is_completed(), "{}", ended.output.joined_text());
            prop_assert_eq!(tree(&kit), before);
            let again = kit.call("undo", json!({"call": ended.call.to_string()})).await;
            let text = again.output.joined_text();
            prop_assert!(again.outcome.is_completed() || text.starts_with("No change of a file"), "{}", text);
            prop_assert_eq!(tree(&kit), after);
            Ok(())
        })
    });
    done.unwrap();
}

#[tokio::test]
async fn folders_that_a_call_made_go_again_where_they_are_empty() {
    let kit = kit();
    put(&kit, "n1/n2/f", "x").await;
    put(&kit, "m1/f", "x").await;
    kit.write("m1/other", "y");
    let ended = kit.call("undo", json!({"session": true})).await;
    let text = ended.output.joined_text();
    assert!(ended.outcome.is_completed(), "{text}");
    assert!(text.contains("Folders removed: n1, n1/n2"), "{text}");
    assert!(!kit.path("n1").exists() && kit.path("m1/other").exists());
    undo(&kit, json!({"call": ended.call.to_string()})).await;
    assert_eq!(kit.read("n1/n2/f"), b"x");
}

#[tokio::test]
async fn a_file_that_had_two_names_comes_back_and_the_loss_is_named() {
    let kit = kit();
    kit.write("a", "one\n");
    fs::hard_link(kit.path("a"), kit.path("b")).unwrap();
    kit.call("drop", json!({"path": "a"})).await;
    let dry = undo(&kit, json!({"dryRun": true})).await;
    assert!(dry.contains("it had 2 names (hard links)"), "{dry}");
    let text = undo(&kit, json!({})).await;
    assert!(text.contains("it had 2 names (hard links)"), "{text}");
    assert_eq!(kit.read("a"), b"one\n");
}

#[tokio::test]
async fn what_was_taken_back_already_is_not_taken_back_again() {
    let kit = kit();
    kit.write("a", "one\n");
    put(&kit, "a", "two\n").await;
    let stale = kit.open_session("test").unwrap();
    undo(&kit, json!({"call": "1"})).await;
    let text = refused(&kit, json!({"call": "1"}), FailureKind::Conflict).await;
    assert!(text.contains("call 1 (put) was taken back already, by the undo 2"), "{text}");
    // Another process, which was started before, knows of it too.
    let ended = kit.executor().submit(&stale, request("undo", &json!({}))).await;
    assert!(!ended.outcome.is_completed(), "{}", ended.output.joined_text());
    assert_eq!(kit.read("a"), b"one\n");
}

#[tokio::test]
async fn what_is_so_already_is_said_and_counts_as_undone() {
    let kit = kit();
    kit.write("a", "one\n");
    put(&kit, "a", "two\n").await;
    kit.write("a", "one\n");
    let text = undo(&kit, json!({})).await;
    assert!(text.starts_with("Nothing had to be changed to undo call 1 (put)."), "{text}");
    refused(&kit, json!({}), FailureKind::NotFound).await;
}

#[tokio::test]
async fn a_content_that_cannot_be_kept_is_told_at_once_and_at_the_undo() {
    let kit = kit();
    kit.write("a", "one\n");
    fs::create_dir_all(kit.state().root.join("sessions/test")).unwrap();
    // A file where the folder of the contents should be.
    fs::write(kit.state().root.join("sessions/test/content"), "").unwrap();
    let ended = put(&kit, "a", "two\n").await;
    let text = ended.output.joined_text();
    assert!(text.contains("This change can't be undone: a: the content before isn't kept ("), "{text}");
    let text = refused(&kit, json!({}), FailureKind::Conflict).await;
    assert!(text.contains("the content before isn't kept of a ("), "{text}");
}
