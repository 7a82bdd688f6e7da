//! Pipes, sockets and devices: refused at once by every tool, counted by searches, never waited for.

use crate::kit::{call, done, edit, failed, has, kit, read, write};
use haft_core::FailureKind;
use haft_test::Harness;
use serde_json::json;
use std::os::unix::net::UnixListener;

/// A workspace with one file, a pipe, a socket, and links to a device and to the pipe.
async fn zoo() -> (Harness, UnixListener) {
    let kit = kit();
    kit.write("a.txt", "needle\n");
    kit.sh("mkfifo p; ln -s /dev/zero z; ln -s p lp").await;
    let socket = UnixListener::bind(kit.path("s")).expect("a socket");
    (kit, socket)
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f16_a_read_names_the_type_and_the_way_out() {
    let (kit, _socket) = zoo().await;
    for (path, kind) in [
        ("p", "named pipe"),
        ("lp", "named pipe"),
        ("s", "socket"),
        ("z", "character device"),
        ("/dev/zero", "character device"),
    ] {
        let text = failed(&read(&kit, path).await, FailureKind::InvalidInput);
        has(&text, &[kind, "block for ever", "name a regular file"]);
    }
    has(&done(&read(&kit, ".").await), &["p  (named pipe (FIFO))", "s  (socket)", "z  (link)"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f16_a_write_and_an_edit_refuse_them() {
    let (kit, _socket) = zoo().await;
    for (path, kind) in
        [("p", "named pipe"), ("lp", "named pipe"), ("s", "socket"), ("z", "character device")]
    {
        has(&failed(&write(&kit, path, "x").await, FailureKind::InvalidInput), &[kind]);
        has(&failed(&edit(&kit, path, "a", "b").await, FailureKind::InvalidInput), &[kind]);
    }
    let listed = kit.sh("[ -p p ] && [ -S s ] && [ -L z ] && echo kept").await;
    assert_eq!(listed, "kept\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f16_grep_skips_them_and_says_so() {
    let (kit, _socket) = zoo().await;
    let text = done(&call(&kit, "grep", json!({"pattern": "needle"})).await);
    has(&text, &["a.txt:1:needle", "2 special files"]);
    for path in ["p", "lp", "s", "z"] {
        failed(&call(&kit, "grep", json!({"pattern": "x", "path": path})).await, FailureKind::InvalidInput);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_that_cannot_be_searched_brings_no_advice_on_patterns() {
    let (kit, _socket) = zoo().await;
    let ended = call(&kit, "grep", json!({"pattern": "x", "path": "p"})).await;
    let text = failed(&ended, FailureKind::InvalidInput);
    assert!(!text.contains("fixed"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f16_glob_counts_them() {
    let (kit, _socket) = zoo().await;
    let text = done(&call(&kit, "glob", json!({"pattern": "*"})).await);
    has(&text, &["a.txt", "2 links", "2 special files"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f16_glob_does_not_deny_a_pipe_that_it_is_asked_for_by_name() {
    let (kit, _socket) = zoo().await;
    has(&done(&call(&kit, "glob", json!({"pattern": "p"})).await), &["1 special file"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f16_tree_shows_or_counts_them() {
    let (kit, _socket) = zoo().await;
    let text = done(&call(&kit, "tree", json!({})).await);
    has(&text, &["a.txt", "z  (link)"]);
    assert!(text.contains("named pipe") || text.contains("special file"), "{text}");
    let refused = call(&kit, "tree", json!({"path": "p"})).await;
    has(&failed(&refused, FailureKind::InvalidInput), &["not a folder"]);
}
