//! What `replace` promises: every match in every file or none, other bytes untouched, what is left out counted.

use crate::kit::{call, denied, denying, done, failed, has, invalid, kit, signs};
use haft_core::FailureKind;
use haft_test::Answers;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn an_expression_is_replaced_in_all_files_and_groups_count() {
    let kit = kit();
    kit.write("a.rs", "let old_a = 1;\r\nlet old_b = 2;\r\n");
    kit.write("d/b.rs", "old_c");
    kit.write("c.txt", "old_d\n");
    let input = json!({"pattern": r"old_(\w)", "replacement": "new_$1", "glob": "*.rs"});
    let ended = call(&kit, "replace", input).await;
    has(&done(&ended), &["Replaced 3 places in 2 files", "a.rs: 2", "d/b.rs: 1"]);
    assert_eq!(signs(kit.read("a.rs")), signs("let new_a = 1;\r\nlet new_b = 2;\r\n"));
    assert_eq!((kit.read("d/b.rs"), kit.read("c.txt")), (b"new_c".to_vec(), b"old_d\n".to_vec()));
    assert_eq!(ended.output.files.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn plain_text_is_taken_as_it_is() {
    let kit = kit();
    kit.write("f", "a.b axb\n");
    let input = json!({"pattern": "a.b", "replacement": "$1 ${x}", "literal": true, "paths": ["f"]});
    has(&done(&call(&kit, "replace", input).await), &["1 place in 1 file"]);
    assert_eq!(kit.read("f"), b"$1 ${x} axb\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_shows_and_changes_nothing_and_asks_nobody() {
    let kit = kit();
    kit.write("f", "one\ntwo\n");
    let input = json!({"pattern": "two", "replacement": "2", "dryRun": true});
    has(
        &done(&call(&kit, "replace", input).await),
        &["Would replace 1 place in 1 file", "f: 1", "-two\n", "+2\n"],
    );
    assert_eq!(kit.read("f"), b"one\ntwo\n");
    assert!(kit.answers().asked().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_out_is_counted_and_stays() {
    let kit = denying("read(secret/**)", Answers::yes());
    kit.write("f", "x\n");
    kit.write("bin", b"\x7fELF x\0");
    kit.write("secret/k", "x\n");
    kit.write("ignored", "x\n");
    kit.write(".gitignore", "ignored\n");
    kit.write("latin", b"x Le caf\xe9 cr\xe8me et la cr\xe8me br\xfbl\xe9e \xe9taient servis\n");
    kit.sh("ln -s f link; mkfifo pipe").await;
    let input = json!({"pattern": "x", "replacement": "\u{2603}", "literal": true});
    let text = done(&call(&kit, "replace", input).await);
    has(
        &text,
        &["1 place in 1 file", "1 binary", "1 in an encoding that can't hold", "1 links", "1 special"],
    );
    assert_eq!(kit.read("f"), "\u{2603}\n".as_bytes());
    assert_eq!((kit.read("secret/k"), kit.read("ignored")), (b"x\n".to_vec(), b"x\n".to_vec()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_rule_keeps_from_being_changed_is_left_out_though_a_person_says_yes() {
    let kit = denying("edit(secret/**)", Answers::yes());
    kit.write("f", "x\n");
    kit.write("secret/k", "x\n");
    kit.write("d/secret/k", "x\n");
    for (dry, verb) in [(true, "Would replace"), (false, "Replaced")] {
        let input = json!({"pattern": "x", "replacement": "y", "dryRun": dry});
        let text = done(&call(&kit, "replace", input).await);
        has(&text, &[verb, "2 places in 2 files", "Left out: 1 denied by rules."]);
        assert!(!text.contains("\nsecret/k"), "{text}");
    }
    let asked = kit.answers().asked();
    assert_eq!(asked.len(), 1);
    has(&asked[0].preview.text, &["2 places in 2 files", "1 denied by rules"]);
    assert_eq!((kit.read("f"), kit.read("d/secret/k")), (b"y\n".to_vec(), b"y\n".to_vec()));
    assert_eq!(kit.read("secret/k"), b"x\n");
    let input = json!({"pattern": "x", "replacement": "y", "paths": ["secret"]});
    assert_eq!(denied(&call(&kit, "replace", input).await), "deny");
    assert_eq!(kit.read("secret/k"), b"x\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_with_two_names_is_changed_once() {
    let kit = kit();
    kit.write("a", "x\n");
    kit.sh("ln a b").await;
    let text = done(&call(&kit, "replace", json!({"pattern": "x", "replacement": "y"})).await);
    has(&text, &["a: 1", "b: 1"]);
    assert_eq!((kit.read("a"), kit.read("b")), (b"y\n".to_vec(), b"y\n".to_vec()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_is_refused() {
    let kit = kit();
    kit.write("f", "a\n");
    for (input, part) in [
        (json!({"pattern": "", "replacement": "x"}), "empty"),
        (json!({"pattern": "a(", "replacement": "x"}), "literal"),
        (json!({"pattern": "(a)", "replacement": "$1b"}), "${1}"),
        (json!({"pattern": "a"}), "/replacement"),
    ] {
        has(&invalid(&call(&kit, "replace", input).await), &[part]);
    }
    let gone = json!({"pattern": "a", "replacement": "b", "paths": ["gone"]});
    failed(&call(&kit, "replace", gone).await, FailureKind::NotFound);
    has(
        &done(&call(&kit, "replace", json!({"pattern": "zzz", "replacement": "b"})).await),
        &["Nothing matches", "nothing was changed"],
    );
    assert_eq!(kit.read("f"), b"a\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_hidden_is_counted_where_nothing_matches() {
    let kit = kit();
    kit.write(".gitignore", "ignored\n");
    kit.write("ignored", "x\n");
    kit.write("seen", "y\n");
    let input = json!({"pattern": "x", "replacement": "z"});
    has(
        &done(&call(&kit, "replace", input).await),
        &["Nothing matches in 1 file", "2 files hidden by ignore"],
    );
    let input = json!({"pattern": "x", "replacement": "z", "glob": "*.none"});
    has(&done(&call(&kit, "replace", input).await), &["Nothing was searched: no text file"]);
    assert_eq!(kit.read("ignored"), b"x\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_file_that_is_named_is_left_out_as_such() {
    let kit = kit();
    kit.write("long", "x".repeat(17 * 1_024 * 1_024));
    let input = json!({"pattern": "y", "replacement": "z", "paths": ["long"]});
    has(&done(&call(&kit, "replace", input).await), &["1 longer than 16 MiB"]);
}
