//! The read–edit contract: nothing that the session hasn't seen is overwritten, judged by content, and `write`
//! keeps the form of what it replaces.

use crate::kit::{bash, call, done, edit, failed, has, invalid, kit, read, signs, write};
use haft_core::FailureKind;
use serde_json::json;
use std::{fs, os::unix::fs::PermissionsExt};

fn numbered(lines: usize) -> String {
    (1..=lines).map(|number| format!("line {number}\n")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overwrite_needs_a_read_of_the_present_content() {
    let kit = kit();
    kit.write("f", "old\n");
    let text = failed(&write(&kit, "f", "new\n").await, FailureKind::Conflict);
    has(&text, &["hasn't been read", "Read it", "edit"]);
    assert_eq!(kit.read("f"), b"old\n");
    done(&read(&kit, "f").await);
    has(&done(&write(&kit, "f", "new\n").await), &["Overwrote f"]);
    assert_eq!(kit.read("f"), b"new\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_of_a_part_is_not_enough_but_the_parts_add_up() {
    let kit = kit();
    kit.write("f", numbered(5));
    done(&call(&kit, "read", json!({"path": "f", "limit": 2})).await);
    let text = failed(&write(&kit, "f", "new\n").await, FailureKind::Conflict);
    has(&text, &["Only a part", "offset=3"]);
    assert_eq!(kit.read("f"), numbered(5).into_bytes());
    done(&call(&kit, "read", json!({"path": "f", "offset": 3})).await);
    done(&write(&kit, "f", "new\n").await);
    assert_eq!(kit.read("f"), b"new\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_shown_in_part_was_not_seen() {
    let kit = kit();
    for (name, look) in [
        ("later columns", json!({"path": "later columns", "columns": "3-"})),
        ("first columns", json!({"path": "first columns", "columns": "1-5"})),
        ("cut", json!({"path": "cut"})),
    ] {
        let before = format!("{}\n", "x".repeat(3_000));
        kit.write(name, &before);
        done(&call(&kit, "read", look).await);
        let ended = write(&kit, name, "new\n").await;
        failed(&ended, FailureKind::Conflict);
        assert_eq!(signs(kit.read(name)), signs(&before), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_session_wrote_itself_it_has_seen() {
    let kit = kit();
    done(&write(&kit, "new/f", "1\n").await);
    done(&write(&kit, "new/f", "2\n").await);
    done(&edit(&kit, "new/f", "2", "3\n4").await);
    done(&write(&kit, "new/f", "5\n").await);
    assert_eq!(kit.read("new/f"), b"5\n");
    // An edit adds nothing to what was seen before it.
    kit.write("g", "a\nb\n");
    done(&edit(&kit, "g", "a", "A").await);
    has(&failed(&write(&kit, "g", "x\n").await, FailureKind::Conflict), &["hasn't been read"]);
    kit.write("h", numbered(9));
    done(&call(&kit, "read", json!({"path": "h", "limit": 3})).await);
    done(&edit(&kit, "h", "line 2\n", "").await);
    has(&failed(&write(&kit, "h", "x\n").await, FailureKind::Conflict), &["Only a part", "offset=3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn content_changed_elsewhere_is_never_overwritten() {
    let kit = kit();
    kit.write("f", "old\n");
    done(&read(&kit, "f").await);
    kit.write("f", "theirs\n");
    let text = failed(&write(&kit, "f", "mine\n").await, FailureKind::Conflict);
    has(&text, &["other content now", "Read it again"]);
    assert_eq!(kit.read("f"), b"theirs\n");
    // Also where the shell of this very session changed it.
    done(&read(&kit, "f").await);
    bash(&kit, "echo more >> f").await;
    failed(&write(&kit, "f", "mine\n").await, FailureKind::Conflict);
    assert_eq!(kit.read("f"), b"theirs\nmore\n");
    done(&read(&kit, "f").await);
    done(&write(&kit, "f", "mine\n").await);
    assert_eq!(kit.read("f"), b"mine\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f14_an_edit_of_an_unchanged_span_lands_though_the_file_changed() {
    let kit = kit();
    kit.write("m.rs", numbered(60));
    done(&read(&kit, "m.rs").await);
    bash(&kit, "sed -i '40s/^/    /' m.rs").await;
    let text = done(&edit(&kit, "m.rs", "line 5\n", "line five\n").await);
    has(&text, &["changed elsewhere"]);
    let after = numbered(60).replace("line 40\n", "    line 40\n").replace("line 5\n", "line five\n");
    assert_eq!(signs(kit.read("m.rs")), signs(after));
    has(&failed(&write(&kit, "m.rs", "x\n").await, FailureKind::Conflict), &["Read it again"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f14_a_changed_span_refuses_and_a_changed_time_never_does() {
    let kit = kit();
    kit.write("m.rs", numbered(60));
    done(&read(&kit, "m.rs").await);
    kit.sh("touch -d 2035-01-01 m.rs").await;
    let text = done(&edit(&kit, "m.rs", "line 7\n", "line seven\n").await);
    assert!(!text.contains("elsewhere"), "{text}");
    kit.sh("touch -d 2036-01-01 m.rs").await;
    done(&write(&kit, "m.rs", &numbered(60)).await);
    kit.sh("sed -i '5s/$/ and more/' m.rs").await;
    failed(&edit(&kit, "m.rs", "line 5\nline 6\n", "x\n").await, FailureKind::Conflict);
    kit.sh("sed -i '6d' m.rs").await;
    failed(&edit(&kit, "m.rs", "line 6\n", "x\n").await, FailureKind::Conflict);
    let after = numbered(60).replace("line 5\nline 6\n", "line 5 and more\n");
    assert_eq!(signs(kit.read("m.rs")), signs(after));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_keeps_line_ends_mark_and_encoding() {
    let kit = kit();
    let wide = |text: &str| -> Vec<u8> {
        [0xFF, 0xFE].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
    };
    let cases: [(&[u8], &str, &[u8]); 7] = [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\r\nb\r\n", "x\r\ny", b"x\r\ny"),
        (b"a\r\nb\n", "x\ny\n", b"x\ny\n"),
        (b"a\nb", "x\ny", b"x\ny"),
        (b"\xEF\xBB\xBFa\n", "x\n", b"\xEF\xBB\xBFx\n"),
        (b"\xEF\xBB\xBFa\r\n", "\u{feff}x\n", b"\xEF\xBB\xBFx\r\n"),
        (&wide("a\r\n"), "é\n", &wide("é\r\n")),
    ];
    for (before, content, after) in cases {
        kit.write("f", before);
        done(&read(&kit, "f").await);
        done(&write(&kit, "f", content).await);
        assert_eq!(signs(kit.read("f")), signs(after), "{content:?} over {}", signs(before));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_and_an_edit_keep_the_mode() {
    let kit = kit();
    for mode in [0o600, 0o640, 0o750, 0o755] {
        kit.write("f", "a\n");
        fs::set_permissions(kit.path("f"), fs::Permissions::from_mode(mode)).unwrap();
        done(&read(&kit, "f").await);
        done(&write(&kit, "f", "b\n").await);
        done(&edit(&kit, "f", "b", "c").await);
        let now = fs::metadata(kit.path("f")).unwrap().permissions().mode() & 0o7777;
        assert_eq!(format!("{now:o}"), format!("{mode:o}"));
        assert_eq!(kit.read("f"), b"c\n");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_content_is_refused_and_an_empty_one_is_not() {
    let kit = kit();
    for input in [json!({"path": "f"}), json!({"path": "f", "content": null})] {
        has(&invalid(&call(&kit, "write", input).await), &["/content"]);
        assert!(!kit.path("f").exists());
    }
    has(&invalid(&call(&kit, "write", json!({"content": "x"})).await), &["/path is required"]);
    done(&write(&kit, "f", "").await);
    assert_eq!(kit.read("f"), b"");
    has(&done(&write(&kit, "f", "").await), &["Nothing changed"]);
    done(&call(&kit, "write", json!({"file_path": "deep/er/g", "contents": "x"})).await);
    assert_eq!(kit.read("deep/er/g"), b"x");
}
