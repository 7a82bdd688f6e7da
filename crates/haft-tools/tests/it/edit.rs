//! What `edit` promises of places and forms: all replacements or none, unique places, every name for its fields.

use crate::kit::{call, done, edit, failed, has, invalid, kit, signs};
use haft_core::FailureKind;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn several_replacements_land_together_whatever_their_order() {
    let kit = kit();
    kit.write("f", "one\ntwo\nthree\n");
    let edits =
        json!([{"old": "three", "new": "3"}, {"old": "one", "new": "1\n1b"}, {"old": "two", "new": ""}]);
    let text = done(&call(&kit, "edit", json!({"path": "f", "edits": edits})).await);
    has(&text, &["3 replacements"]);
    assert_eq!(signs(kit.read("f")), signs("1\n1b\n\n3\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_replacement_that_fails_keeps_all_from_happening() {
    let kit = kit();
    let before = "a\nb\nc\nc\n";
    for bad in [
        json!({"old": "not there at all", "new": "x"}),
        json!({"old": "c", "new": "x"}),
        json!({"old": "a\nb", "new": "x"}),
    ] {
        kit.write("f", before);
        let input = json!({"path": "f", "edits": [{"old": "a", "new": "A"}, bad]});
        let text = failed(&call(&kit, "edit", input).await, FailureKind::Conflict);
        assert!(text.contains("Edit 2") || text.contains("Edits 1 and 2"), "{text}");
        has(&text, &["Nothing was changed"]);
        assert_eq!(signs(kit.read("f")), signs(before));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn replacements_that_overlap_or_build_on_each_other_are_refused() {
    let kit = kit();
    kit.write("f", "abc\n");
    let input = json!({"path": "f", "edits": [{"old": "ab", "new": "x"}, {"old": "bc", "new": "y"}]});
    has(
        &failed(&call(&kit, "edit", input).await, FailureKind::Conflict),
        &["overlap at line 1", "Join them"],
    );
    let input =
        json!({"path": "f", "edits": [{"old": "abc", "new": "new word"}, {"old": "new word", "new": "z"}]});
    has(&failed(&call(&kit, "edit", input).await, FailureKind::Conflict), &["as it is now", "Join the two"]);
    assert_eq!(kit.read("f"), b"abc\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ambiguous_place_is_refused_with_its_lines_and_all_takes_each() {
    let kit = kit();
    kit.write("f", "x\nhit\ny\nhit\nhit\n");
    let text = failed(&edit(&kit, "f", "hit", "HIT").await, FailureKind::Conflict);
    has(&text, &["3 times", "lines 2, 4, 5", "set all"]);
    assert_eq!(signs(kit.read("f")), signs("x\nhit\ny\nhit\nhit\n"));
    let input = json!({"path": "f", "edits": [{"old": "hit", "new": "HIT", "all": true}]});
    has(&done(&call(&kit, "edit", input).await), &["3 replacements", "lines 2, 4, 5"]);
    assert_eq!(signs(kit.read("f")), signs("x\nHIT\ny\nHIT\nHIT\n"));
    // Places that differ from old alike are no better than places that are equal to it.
    kit.write("f", "“a” “a”\n");
    has(&failed(&edit(&kit, "f", "\"a\"", "b").await, FailureKind::Conflict), &["2 places", "look alike"]);
    // A text that overlaps itself isn't unique either.
    kit.write("f", "aaa\n");
    failed(&edit(&kit, "f", "aa", "b").await, FailureKind::Conflict);
    assert_eq!(kit.read("f"), b"aaa\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_is_not_there_shows_the_nearest_lines() {
    let kit = kit();
    kit.write("f.rs", "fn a() {\n\tone();\n\ttwo(1);\n}\n");
    let text = failed(&edit(&kit, "f.rs", "\tone();\n\ttwo(2);\n", "x").await, FailureKind::Conflict);
    has(&text, &["Nearest are lines 2 to 3", "file 3│→two(1);", "→two(2);"]);
    let text = failed(&edit(&kit, "f.rs", "nothing of that kind", "x").await, FailureKind::Conflict);
    has(&text, &["nothing there is like it", "grep"]);
    let text = failed(&edit(&kit, "g.rs", "a", "b").await, FailureKind::NotFound);
    has(&text, &["doesn't exist", "write"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_name_that_models_know_is_taken() {
    let kit = kit();
    for input in [
        json!({"path": "f", "edits": [{"old": "a", "new": "b"}]}),
        json!({"path": "f", "old": "a", "new": "b"}),
        json!({"file_path": "f", "old_string": "a", "new_string": "b"}),
        json!({"file_path": "f", "old_string": "a", "new_string": "b", "replace_all": true}),
        json!({"filePath": "f", "oldString": "a", "newString": "b"}),
        json!({"path": "f", "old_text": "a", "new_text": "b"}),
        json!({"path": "f", "old_str": "a", "new_str": "b"}),
        json!({"file_path": "f", "edits": [{"old_string": "a", "new_string": "b", "replace_all": false}]}),
        json!({"path": "f", "edits": [{"oldText": "a", "newText": "b"}]}),
        json!({"path": "f", "edits": "[{\"old\": \"a\", \"new\": \"b\"}]"}),
    ] {
        kit.write("f", "a\n");
        done(&call(&kit, "edit", input.clone()).await);
        assert_eq!(kit.read("f"), b"b\n", "{input}");
    }
    kit.write("f", "a\n");
    done(&call(&kit, "Edit", json!({"file_path": "f", "old_string": "a", "new_string": "b"})).await);
    assert_eq!(kit.read("f"), b"b\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn input_that_makes_no_sense_is_refused_by_field() {
    let kit = kit();
    kit.write("f", "a\n");
    for (input, part) in [
        (json!({"path": "f"}), "/edits must have at least one"),
        (json!({"path": "f", "edits": []}), "/edits must have at least one"),
        (json!({"path": "f", "old": "a"}), "/new is missing"),
        (json!({"path": "f", "edits": [{"new": "a"}]}), "/edits/0/old is missing"),
        (json!({"path": "f", "edits": [{"old": "a", "new": "a"}]}), "are the same"),
        (json!({"path": "f", "edits": [{"old": "a", "new": "b", "count": 2}]}), "/edits/0/count"),
        (json!({"path": "f", "old": "a", "new": "b", "mode": 1}), "/mode"),
        (json!({"edits": [{"old": "a", "new": "b"}]}), "/path is required"),
    ] {
        has(&invalid(&call(&kit, "edit", input).await), &[part]);
    }
    assert_eq!(kit.read("f"), b"a\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn text_is_deleted_and_put_at_both_ends() {
    let kit = kit();
    for (before, old, new, after) in [
        ("a\nb\nc\n", "b\n", "", "a\nc\n"),
        ("a\nb\nc", "\nc", "", "a\nb"),
        ("only", "only", "", ""),
        ("first\nx\n", "first", "zero\nfirst", "zero\nfirst\nx\n"),
        ("x\nlast", "last", "last\nend", "x\nlast\nend"),
        ("x\nlast\n", "last\n", "last\nend\n", "x\nlast\nend\n"),
    ] {
        kit.write("f", before);
        done(&edit(&kit, "f", old, new).await);
        assert_eq!(signs(kit.read("f")), signs(after), "{old:?} in {before:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_question_shows_the_change_and_the_result_names_the_line() {
    let kit = kit();
    kit.write("src/f.rs", "one\ntwo\n");
    let ended = edit(&kit, "src/f.rs", "two", "three").await;
    assert_eq!(done(&ended), "Edited src/f.rs: 1 replacement, line 2.");
    let asked = kit.answers().asked();
    assert_eq!(asked.len(), 1);
    has(&asked[0].preview.text, &["-two\n", "+three\n"]);
    assert_eq!(ended.output.files.len(), 1);
    assert_eq!(ended.output.files[0].path.beneath.as_ref(), "src/f.rs");
}

#[tokio::test(flavor = "multi_thread")]
async fn flags_under_any_name_are_coerced_or_refused_with_their_place() {
    let kit = kit();
    for input in [
        json!({"path": "f", "old": "x", "new": "y", "all": "true"}),
        json!({"file_path": "f", "old_string": "x", "new_string": "y", "replace_all": "true"}),
        json!({"path": "f", "edits": [{"old": "x", "new": "y", "replaceAll": "true"}]}),
    ] {
        kit.write("f", "x x\n");
        done(&call(&kit, "edit", input).await);
        assert_eq!(signs(kit.read("f")), signs("y y\n"));
    }
    let text = invalid(&call(&kit, "edit", json!({"path": "f", "old": "x", "new": "y", "all": "yes"})).await);
    has(&text, &["/all must be boolean, got \"yes\""]);
    let text = invalid(&call(&kit, "grep", json!({"pattern": "x", "mode": "zzz"})).await);
    has(&text, &["/mode must be one of files, content, count, got \"zzz\""]);
}
