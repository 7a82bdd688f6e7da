//! What somebody else changed in a file is shown in a few lines, by every tool that says so.

use crate::kit::{answered_by, bash, call, denied, done, edit, failed, has, kit, read, write};
use haft_core::{Answer, FailureKind};
use haft_test::Answers;
use serde_json::json;

fn numbered(lines: usize) -> String {
    (1..=lines).map(|number| format!("line {number}\n")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f14_an_edit_shows_what_was_changed_elsewhere() {
    let kit = kit();
    kit.write("m.rs", numbered(60));
    done(&read(&kit, "m.rs").await);
    bash(&kit, "sed -i '40s/^/    /' m.rs").await;
    let text = done(&edit(&kit, "m.rs", "line 5\n", "line five\n").await);
    has(&text, &["changed elsewhere", "What changed (+1 −1 lines):", "\n-line 40\n+    line 40\n"]);
    // Told once; what the session did itself is never told as somebody else's.
    let text = done(&edit(&kit, "m.rs", "line 7\n", "line seven\n").await);
    assert!(!text.contains("elsewhere"), "{text}");
    bash(&kit, "sed -i '50s/^/    /' m.rs").await;
    has(&done(&edit(&kit, "m.rs", "line 9\n", "line nine\n").await), &["elsewhere", "+    line 50"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f14_patch_and_replace_show_it_too() {
    let patch = "*** Begin Patch\n*** Update File: m.rs\n-one\n+1\n*** End Patch\n";
    for (tool, input) in [
        ("patch", json!({"patch": patch})),
        ("replace", json!({"pattern": "one", "replacement": "1", "paths": ["m.rs"]})),
    ] {
        let kit = kit();
        kit.write("m.rs", "one\ntwo\nthree\n");
        done(&read(&kit, "m.rs").await);
        kit.write("m.rs", "one\ntwo\n    three\n");
        let text = done(&call(&kit, tool, input).await);
        has(&text, &["m.rs was changed elsewhere", "\n-three\n+    three"]);
        assert_eq!(kit.read("m.rs"), b"1\ntwo\n    three\n", "{tool}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f14_a_notebook_edit_shows_it_too() {
    let kit = kit();
    let cell =
        |id: &str, source: &str| json!({"cell_type": "raw", "id": id, "metadata": {}, "source": [source]});
    let notebook = |first: &str| {
        let cells = [cell("p", first), cell("q", "old")];
        let all = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
        serde_json::to_string_pretty(&all).unwrap() + "\n"
    };
    kit.write("n.ipynb", notebook("one"));
    // As text, since by cells not every line is shown.
    done(&call(&kit, "read", json!({"path": "n.ipynb", "columns": "1-2000"})).await);
    kit.write("n.ipynb", notebook("two"));
    let input = json!({"path": "n.ipynb", "cell": "q", "source": "new"});
    let text = done(&call(&kit, "notebook_edit", input).await);
    has(&text, &["The notebook was changed elsewhere", "\"one\"", "\"two\""]);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f14_a_refused_overwrite_shows_it_and_stays_short() {
    let kit = kit();
    kit.write("f", "a\nb\n");
    done(&read(&kit, "f").await);
    kit.write("f", "a\nB\x1b[31m\n");
    let text = failed(&write(&kit, "f", "x\n").await, FailureKind::Conflict);
    has(&text, &["Read it again", "(+1 −1 lines)", "\n-b\n+B␛[31m"]);
    kit.write("f", numbered(500));
    let text = failed(&write(&kit, "f", "x\n").await, FailureKind::Conflict);
    has(&text, &["(+500 −2 lines)", "more lines of this change"]);
    assert!(text.lines().count() < 30, "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f14_a_place_that_somebody_changed_is_refused_with_the_change() {
    let kit = kit();
    kit.write("g", "one\ntwo\n");
    done(&read(&kit, "g").await);
    kit.write("g", "one\nzwei\n");
    let text = failed(&edit(&kit, "g", "two\n", "2\n").await, FailureKind::Conflict);
    has(&text, &["Nothing was changed", "changed elsewhere", "\n-two\n+zwei"]);
    assert_eq!(kit.read("g"), b"one\nzwei\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_what_holds_secrets_a_write_shows_nothing_before_a_person_says_so() {
    let no = Answer::Deny { feedback: None };
    let kit = answered_by(Answers::script([Answer::Once, no]));
    kit.write(".env", "A=1\n");
    done(&read(&kit, ".env").await);
    kit.write(".env", "A=hunter2\n");
    let ended = write(&kit, ".env", "A=3\n").await;
    assert_eq!(denied(&ended), "user");
    let text = ended.output.joined_text();
    assert!(!text.contains("hunter2"), "{text}");
    // The person sees why it would fail.
    has(&kit.answers().asked()[1].preview.text, &["would fail", "+A=hunter2"]);
    assert_eq!(kit.read(".env"), b"A=hunter2\n");
}
