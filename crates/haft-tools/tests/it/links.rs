//! Links: what is written goes through them and leaves them, their modes and their other names alone.

use crate::kit::{call, denied, done, edit, failed, has, kit, read, signs, write};
use haft_core::{FailureKind, Outcome};
use haft_test::{Answers, Harness};
use serde_json::json;
use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt},
};

fn target(kit: &Harness, link: &str) -> String {
    fs::read_link(kit.path(link)).expect("still a link").to_string_lossy().into_owned()
}

fn inode(kit: &Harness, name: &str) -> u64 {
    fs::metadata(kit.path(name)).unwrap().ino()
}

fn mode(kit: &Harness, name: &str) -> String {
    format!("{:o}", fs::metadata(kit.path(name)).unwrap().permissions().mode() & 0o7777)
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f09_an_edit_through_a_link_keeps_link_hard_link_and_mode() {
    let kit = kit();
    kit.sh("printf 'v1\\n' >t; chmod 750 t; ln -s t s; ln t h").await;
    let before = inode(&kit, "t");
    let text = done(&edit(&kit, "s", "v1", "v2").await);
    has(&text, &["Edited t:"]);
    assert_eq!(target(&kit, "s"), "t");
    assert_eq!((signs(kit.read("t")), signs(kit.read("h"))), (signs("v2\n"), signs("v2\n")));
    assert_eq!((inode(&kit, "t"), inode(&kit, "h")), (before, before));
    assert_eq!(mode(&kit, "t"), "750");
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f09_an_overwrite_keeps_them_too() {
    let kit = kit();
    kit.sh("printf 'v1\\n' >t; chmod 751 t; ln -s t s; ln t h").await;
    // Another hard link is another file to the contract, whatever was read of the first.
    done(&read(&kit, "s").await);
    failed(&write(&kit, "h", "v2\n").await, FailureKind::Conflict);
    done(&read(&kit, "h").await);
    has(&done(&write(&kit, "h", "v2\n").await), &["Overwrote h"]);
    assert_eq!(target(&kit, "s"), "t");
    assert_eq!(signs(kit.read("s")), signs("v2\n"));
    assert_eq!(inode(&kit, "t"), inode(&kit, "h"));
    assert_eq!(mode(&kit, "t"), "751");
}

#[tokio::test(flavor = "multi_thread")]
async fn links_to_links_all_stay() {
    let kit = kit();
    kit.sh("mkdir deep; echo v1 >deep/c; ln -s deep/c b; ln -s \"$PWD/b\" a; ln -s deep d").await;
    done(&edit(&kit, "a", "v1", "v2").await);
    assert_eq!((target(&kit, "b"), target(&kit, "d")), ("deep/c".to_owned(), "deep".to_owned()));
    assert!(target(&kit, "a").ends_with("/b"));
    assert_eq!(kit.read("deep/c"), b"v2\n");
    // What was read by one name was seen by all.
    done(&read(&kit, "d/c").await);
    done(&write(&kit, "a", "v3\n").await);
    assert_eq!(kit.read("deep/c"), b"v3\n");
    done(&write(&kit, "d/new", "x").await);
    assert_eq!((kit.read("deep/new"), target(&kit, "d")), (b"x".to_vec(), "deep".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dangling_link_gets_its_target_and_a_circle_is_refused() {
    let kit = kit();
    kit.sh("ln -s later/x dangling; ln -s one two; ln -s two one").await;
    failed(&read(&kit, "dangling").await, FailureKind::NotFound);
    done(&write(&kit, "dangling", "v1").await);
    assert_eq!((kit.read("later/x"), target(&kit, "dangling")), (b"v1".to_vec(), "later/x".to_owned()));
    for ended in [read(&kit, "one").await, write(&kit, "two", "x").await, edit(&kit, "one/f", "a", "b").await]
    {
        assert_eq!(ended.outcome, Outcome::Invalid);
        has(&ended.output.joined_text(), &["circle", "name the real file"]);
    }
    assert_eq!((target(&kit, "one"), target(&kit, "two")), ("two".to_owned(), "one".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_out_of_the_workspace_is_judged_by_where_it_leads() {
    let kit = crate::kit::answered_by(Answers::no());
    let theirs = kit.outside().join("theirs");
    fs::write(&theirs, "v1\n").unwrap();
    kit.sh("ln -s ../theirs out; ln -s .. up").await;
    for (tool, input) in [
        ("read", json!({"path": "out"})),
        ("edit", json!({"path": "out", "edits": [{"old": "v1", "new": "v2"}]})),
        ("edit", json!({"path": "up/theirs", "old": "v1", "new": "v2"})),
        ("write", json!({"path": "up/other", "content": "v2\n"})),
    ] {
        let ended = call(&kit, tool, input.clone()).await;
        assert_eq!(denied(&ended), "user", "{tool} {input}");
    }
    assert_eq!(fs::read(&theirs).unwrap(), b"v1\n");
    assert!(!kit.outside().join("other").exists());
    let asked = kit.answers().asked();
    assert_eq!(asked.len(), 4);
    for question in asked {
        let outside = question.why.iter().any(|why| why.reason.contains("outside the workspace"));
        assert!(outside, "{:?}", question.why);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_only_file_stays_read_only() {
    let kit = kit();
    kit.sh("echo v1 >f; chmod 444 f").await;
    let ended = edit(&kit, "f", "v1", "v2").await;
    // Root may write it, and the mode stays; nobody else may, and the way out is named.
    if kit.sh("id -u").await.trim() == "0" {
        done(&ended);
        assert_eq!(kit.read("f"), b"v2\n");
    } else {
        has(&failed(&ended, FailureKind::Permission), &["read-only", "chmod u+w"]);
        assert_eq!(kit.read("f"), b"v1\n");
    }
    assert_eq!(mode(&kit, "f"), "444");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_beside_a_written_file() {
    let kit = kit();
    kit.sh("echo v1 >f; ln f h").await;
    done(&edit(&kit, "f", "v1", "v2").await);
    done(&write(&kit, "g", "x").await);
    failed(&edit(&kit, "g", "nowhere", "y").await, FailureKind::Conflict);
    assert_eq!(kit.sh("ls -A").await, "f\ng\nh\n");
}
