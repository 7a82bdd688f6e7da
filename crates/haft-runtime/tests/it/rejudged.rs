//! What was judged is what runs, also where names or files change while a call waits.

use crate::kit::{Gate, Listener, path_in, person, probe, put_input, putter, request, session_of, soon};
use haft_core::{Answer, AnyTool, Approver, Effects, FailureKind, Outcome, Preview, Touch};
use haft_runtime::SessionSetup;
use haft_test::{Answers, Harness};
use serde_json::json;
use std::{
    os::unix::fs::symlink,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Makes `d` a link once it is let go.
fn linker(target: PathBuf, link: PathBuf, gate: &Gate) -> Arc<dyn AnyTool> {
    let gate = gate.clone();
    probe("link").touches(|_| Effects::Only(vec![Touch::WriteTree("d".into())])).run(move |_, _| {
        let (gate, target, link) = (gate.clone(), target.clone(), link.clone());
        async move {
            gate.pass().await;
            symlink(target, link).unwrap();
            Ok("linked")
        }
    })
}

/// A call writes `d/x.txt` while another is about to make `d` a link to `target`.
async fn write_behind_a_link(kit: &Harness, target: PathBuf) -> haft_core::Ended {
    let gate = Gate::closed();
    kit.register(linker(target, kit.path("d"), &gate));
    kit.register(putter().run(put_input));
    let link = kit.executor().submit(kit.session(), request("link", &json!({})));
    let write = request("put", &json!({"path": "d/x.txt", "text": "x"}));
    let write = kit.executor().submit(kit.session(), write);
    gate.reached(1).await;
    gate.open(1);
    assert!(soon(link).await.outcome.is_completed());
    soon(write).await
}

#[tokio::test]
async fn a_link_made_while_a_call_waits_makes_it_ask_for_outside() {
    let kit = Harness::answering(Answers::no());
    let mut listener = Listener::on(&kit);
    let outside = kit.workspace().parent().unwrap().join("elsewhere");
    std::fs::create_dir(&outside).unwrap();
    let ended = write_behind_a_link(&kit, outside.clone()).await;
    assert!(matches!(ended.outcome, Outcome::Denied { .. }), "{:?}", ended.outcome);
    let asked = kit.answers().asked();
    assert!(asked.len() == 1 && asked[0].why.iter().any(|why| why.gate == "outside"), "{asked:?}");
    assert!(!outside.join("x.txt").exists());
    listener.assert_ended_once(&ended);
}

#[tokio::test]
async fn a_link_made_while_a_call_waits_is_followed_where_that_is_allowed() {
    let kit = Harness::new();
    std::fs::create_dir(kit.path("real")).unwrap();
    let ended = write_behind_a_link(&kit, kit.path("real")).await;
    assert!(ended.outcome.is_completed(), "{}", ended.output.joined_text());
    assert_eq!(kit.read("real/x.txt"), b"x");
    assert!(
        ended.trace.iter().any(|step| step.step == "admit" && step.verdict == "changed"),
        "{:?}",
        ended.trace
    );
}

#[tokio::test]
async fn a_link_made_while_a_person_thinks_is_judged_anew() {
    let kit = Harness::new();
    let (person, mut questions) = person();
    let session = session_of(&kit, "asked", |setup| SessionSetup {
        approver: Arc::clone(&person) as Arc<dyn Approver>,
        ..setup
    });
    kit.register(putter().asks().run(put_input));
    session.refresh();
    let outside = kit.workspace().parent().unwrap().join("elsewhere");
    std::fs::create_dir(&outside).unwrap();
    let write = request("put", &json!({"path": "d/x.txt", "text": "x"}));
    let write = kit.executor().submit(&session, write);
    let first = soon(questions.recv()).await.unwrap();
    assert!(first.question.why.iter().all(|why| why.gate != "outside"));
    symlink(&outside, kit.path("d")).unwrap();
    first.answer.send(Answer::Once).unwrap();
    let second = soon(questions.recv()).await.unwrap();
    assert!(second.question.why.iter().any(|why| why.gate == "outside"), "{:?}", second.question.why);
    second.answer.send(Answer::Deny { feedback: None }).unwrap();
    assert!(matches!(soon(write).await.outcome, Outcome::Denied { .. }));
    assert!(!outside.join("x.txt").exists());
}

#[tokio::test]
async fn a_change_that_isnt_the_approved_one_is_a_conflict_and_nothing_runs() {
    let kit = Harness::new();
    kit.write("a.txt", "as shown");
    let (person, mut questions) = person();
    let session = session_of(&kit, "asked", |setup| SessionSetup {
        approver: Arc::clone(&person) as Arc<dyn Approver>,
        ..setup
    });
    let runs = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&runs);
    let tool = putter()
        .asks()
        .preview(|input, cx| async move {
            let shown = cx.world.files.read(&cx.path(&path_in(&input))?, 0, 1 << 20)?;
            Ok(Preview { text: String::from_utf8_lossy(&shown).into_owned(), digest: shown })
        })
        .run(move |input, cx| {
            counted.fetch_add(1, Ordering::SeqCst);
            put_input(input, cx)
        });
    kit.register(tool);
    session.refresh();
    for (now, outcome, ran) in [
        ("as shown", Outcome::Completed, 1),
        ("changed behind", Outcome::Failed { kind: FailureKind::Conflict }, 1),
    ] {
        kit.write("a.txt", "as shown");
        let write = request("put", &json!({"path": "a.txt", "text": "new"}));
        let write = kit.executor().submit(&session, write);
        let asked = soon(questions.recv()).await.unwrap();
        assert_eq!(asked.question.preview.text, "as shown");
        kit.write("a.txt", now);
        asked.answer.send(Answer::Once).unwrap();
        let ended = soon(write).await;
        assert_eq!((ended.outcome, runs.load(Ordering::SeqCst)), (outcome, ran));
    }
    assert_eq!(kit.read("a.txt"), b"changed behind");
}

#[tokio::test]
async fn a_preview_can_write_nothing() {
    let kit = Harness::new();
    kit.register(
        putter()
            .asks()
            .preview(|input, cx| async move {
                let written =
                    crate::kit::put(cx.world.files.as_ref(), &cx.path(&path_in(&input))?, "previewed");
                Ok(Preview {
                    text: format!("{:?}", written.map_err(|failure| failure.kind)),
                    digest: Vec::new(),
                })
            })
            .run(put_input),
    );
    let ended = kit.call("put", json!({"path": "a.txt", "text": "ran"})).await;
    assert!(ended.outcome.is_completed());
    assert_eq!(kit.answers().asked()[0].preview.text, "Err(Internal)");
    assert_eq!(kit.read("a.txt"), b"ran");
}
