//! What `grep` says: honest counts, errors told from no matches, denied files left out and counted.

use crate::kit::{call, denied, denying, done, failed, has, kit, read};
use haft_core::{Ended, FailureKind};
use haft_test::{Answers, Harness};
use serde_json::{Value, json};

async fn grep(kit: &Harness, input: Value) -> Ended {
    call(kit, "grep", input).await
}

fn fruit() -> Harness {
    let kit = kit();
    kit.write("a.txt", "apple\nberry\napple pie\n");
    kit.write("src/b.rs", "let apple = 1;\r\n");
    kit.write("src/c.rs", "nothing\n");
    kit
}

#[tokio::test(flavor = "multi_thread")]
async fn each_mode_counts_what_there_is() {
    let kit = fruit();
    for (input, text) in [
        (
            json!({"pattern": "apple"}),
            "a.txt:1:apple\na.txt:3:apple pie\nsrc/b.rs:1:let apple = 1;\n[3 matches in 2 files shown]",
        ),
        (json!({"pattern": "apple", "mode": "count"}), "a.txt:2\nsrc/b.rs:1\n[3 matches in 2 files shown]"),
        (
            json!({"pattern": "apple", "output_mode": "files_with_matches"}),
            "a.txt\nsrc/b.rs\n[2 files shown]",
        ),
        (
            json!({"pattern": "apple", "limit": 1}),
            "a.txt:1:apple\n[1 match in 1 file shown; 2 more, go on with offset=1]",
        ),
        (
            json!({"pattern": "apple", "offset": 1, "limit": 9}),
            "a.txt:3:apple pie\nsrc/b.rs:1:let apple = 1;\n[2 matches in 2 files shown]",
        ),
        (json!({"pattern": "apple", "offset": 7}), "[nothing past offset=7; there are 3 matches in 2 files]"),
        (
            json!({"pattern": "berry", "context": 1}),
            "a.txt-1-apple\na.txt:2:berry\na.txt-3-apple pie\n[1 match in 1 file shown]",
        ),
        (
            json!({"pattern": "APPLE", "ignoreCase": true, "mode": "count", "path": "src"}),
            "src/b.rs:1\n[1 match in 1 file shown]",
        ),
        (json!({"pattern": "1;$", "type": "rust"}), "src/b.rs:1:let apple = 1;\n[1 match in 1 file shown]"),
        (
            json!({"pattern": "= 1;", "fixed": true, "glob": "*.rs"}),
            "src/b.rs:1:let apple = 1;\n[1 match in 1 file shown]",
        ),
        (json!({"pattern": "apple", "path": "src/c.rs"}), "No matches in 1 file searched."),
        (json!({"pattern": "apple", "glob": "!*.txt", "mode": "files"}), "src/b.rs\n[1 file shown]"),
    ] {
        assert_eq!(done(&grep(&kit, input.clone()).await), text, "{input}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_match_over_several_lines_has_them_all() {
    let kit = fruit();
    let text = done(&grep(&kit, json!({"pattern": "berry\\napple", "multiline": true})).await);
    has(&text, &["a.txt:2:berry", "a.txt:3:apple pie"]);
    let text = failed(&grep(&kit, json!({"pattern": "berry\\napple"})).await, FailureKind::InvalidInput);
    has(&text, &["multiline"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_matches_than_any_page_can_show_are_counted() {
    let kit = kit();
    kit.write("big.txt", "hit\n".repeat(1_500));
    let text = done(&grep(&kit, json!({"pattern": "hit"})).await);
    has(
        &text,
        &["250 matches in 1 file shown; 750 more", "500 further matches not listed", "narrow the pattern"],
    );
    assert_eq!(
        done(&grep(&kit, json!({"pattern": "hit", "mode": "count"})).await),
        "big.txt:1500\n[1,500 matches in 1 file shown]"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_matches_is_never_said_of_a_search_that_failed() {
    let kit = fruit();
    assert_eq!(done(&grep(&kit, json!({"pattern": "zebra"})).await), "No matches in 3 files searched.");
    has(&done(&grep(&kit, json!({"pattern": "apple", "glob": "*.zig"})).await), &["Nothing was searched"]);
    for (input, kind, part) in [
        (json!({"pattern": "a("}), FailureKind::InvalidInput, "fixed"),
        (json!({"pattern": "[z-a]"}), FailureKind::InvalidInput, "fixed"),
        (json!({"pattern": "a", "type": "nope"}), FailureKind::InvalidInput, "ripgrep's names"),
        (json!({"pattern": "a", "glob": "a/[b"}), FailureKind::InvalidInput, "gitignore syntax"),
        (json!({"pattern": "a", "path": "gone"}), FailureKind::NotFound, "doesn't exist"),
    ] {
        let text = failed(&grep(&kit, input.clone()).await, kind);
        has(&text, &[part]);
        assert!(!text.contains("No matches"), "{input}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_binary_file_is_left_out_and_not_counted_as_searched() {
    let kit = kit();
    kit.write("a.txt", "text\n");
    kit.write("b.bin", b"needle\0\n");
    let text = done(&grep(&kit, json!({"pattern": "needle"})).await);
    assert_eq!(text, "No matches in 1 file searched.\n[left out: 1 binary file]");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_read_shows_is_what_grep_finds_in_every_encoding() {
    let kit = kit();
    let text = "Der Zug fährt über die Brücke.\nAlle müssen aussteigen, größer wird die Welt.\n";
    let wide = |bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
    let windows = encoding_rs::WINDOWS_1252.encode(text).0.into_owned();
    kit.write("a-utf8.txt", text);
    kit.write("b-mark.txt", format!("\u{feff}{text}"));
    kit.write("c-le.txt", [b"\xff\xfe".as_slice(), wide(u16::to_le_bytes).as_slice()].concat());
    kit.write("d-be.txt", [b"\xfe\xff".as_slice(), wide(u16::to_be_bytes).as_slice()].concat());
    kit.write("e-windows.txt", &windows);
    kit.write("f-cr.txt", text.replace('\n', "\r"));
    let names = ["a-utf8", "b-mark", "c-le", "d-be", "e-windows", "f-cr"];
    for pattern in ["größer", "gr..er", "aussteigen", "^Alle m.ssen"] {
        let expected: String = names
            .iter()
            .map(|name| format!("{name}.txt:2:Alle müssen aussteigen, größer wird die Welt.\n"))
            .collect();
        let found = done(&grep(&kit, json!({"pattern": pattern})).await);
        assert_eq!(found, format!("{expected}[6 matches in 6 files shown]"), "{pattern}");
    }
    for name in names {
        let shown = done(&read(&kit, &format!("{name}.txt")).await);
        has(&shown, &["Alle müssen aussteigen, größer wird die Welt."]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_tree_is_searched_in_order_with_all_its_counts() {
    let kit = kit();
    let mut names = Vec::new();
    for number in 0..400 {
        let name = format!("d{}/f{number:03}.txt", number % 9);
        kit.write(&name, format!("hay\nneedle {number}\nhay\n"));
        names.push(name);
        if number % 8 == 0 {
            kit.write(&format!("d{}/f{number:03}.bin", number % 9), b"needle\0");
        }
    }
    names.sort();
    let text = done(&grep(&kit, json!({"pattern": "needle", "mode": "files", "limit": 1000})).await);
    let expected = format!("{}\n[400 files shown]\n[left out: 50 binary files]", names.join("\n"));
    assert_eq!(text, expected);
    let page = json!({"pattern": "needle", "mode": "files", "offset": 150, "limit": 2});
    let text = done(&grep(&kit, page).await);
    has(&text, &[&names[150], &names[151], "[2 files shown; 248 more, go on with offset=152]"]);
    let ended = grep(&kit, json!({"pattern": "nowhere"})).await;
    has(&done(&ended), &["No matches in 400 files searched.", "50 binary files"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn ignored_and_hidden_files_are_searched_only_where_named() {
    let kit = kit();
    kit.write(".gitignore", "dist/\n");
    for name in ["dist/a.js", ".env", ".git/config", "src/a.js"] {
        kit.write(name, "needle\n");
    }
    let text = done(&grep(&kit, json!({"pattern": "needle", "mode": "files"})).await);
    assert_eq!(text, "src/a.js\n[1 file shown]");
    has(&done(&grep(&kit, json!({"pattern": "needle", "path": "dist"})).await), &["dist/a.js:1:needle"]);
    has(&done(&grep(&kit, json!({"pattern": "needle", "path": ".env"})).await), &[".env:1:needle"]);
    let text = done(&grep(&kit, json!({"pattern": "zebra"})).await);
    has(&text, &["No matches in 1 file searched.", "[3 files hidden by ignore rules", "ignored=true"]);
    let text = done(&grep(&kit, json!({"pattern": "zebra", "glob": "*.env"})).await);
    has(&text, &["Nothing was searched", "[1 file hidden"]);
}

/// What rules deny, reached by every way in.
fn secretive() -> Harness {
    let kit = denying("read(secret/**)", Answers::yes());
    kit.write("secret/k.txt", "needle k\n");
    kit.write("secret/deep/l.txt", "needle l\n");
    kit.write("open.txt", "needle o\n");
    kit.write("a/x", "");
    kit
}

#[tokio::test(flavor = "multi_thread")]
async fn denied_files_are_left_out_of_searches_with_a_count() {
    let kit = secretive();
    // The file, and the folder with all that is in it.
    let text = done(&grep(&kit, json!({"pattern": "needle"})).await);
    assert_eq!(text, "open.txt:1:needle o\n[1 match in 1 file shown]\n[left out: 2 denied paths]");
    let text = done(&call(&kit, "glob", json!({"pattern": "**/*.txt"})).await);
    has(&text, &["open.txt", "2 denied paths"]);
    assert!(!text.contains("k.txt") && !text.contains("l.txt"), "{text}");
    let text = done(&call(&kit, "tree", json!({})).await);
    has(&text, &["open.txt", "2 paths that rules deny are left out"]);
    assert!(!text.contains("k.txt") && !text.contains("l.txt"), "{text}");
    assert!(kit.answers().asked().is_empty(), "no storm of questions");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_denied_file_is_denied_by_every_name() {
    let kit = secretive();
    kit.sh("ln -s secret/k.txt ok; ln -s secret sec").await;
    let absolute = kit.path("secret/k.txt").to_string_lossy().into_owned();
    for path in
        ["secret/k.txt", "./a/../secret/k.txt", "ok", "sec/k.txt", "secret/deep/l.txt", absolute.as_str()]
    {
        let ended = read(&kit, path).await;
        assert_eq!(denied(&ended), "deny", "{path}");
        has(&ended.output.joined_text(), &["read(secret/**)", "test:1", "find another way"]);
        let ended = grep(&kit, json!({"pattern": "needle", "path": path})).await;
        assert_eq!(denied(&ended), "deny", "{path}");
    }
    for (tool, input) in [
        ("read", json!({"path": "secret"})),
        ("grep", json!({"pattern": "needle", "path": "secret"})),
        ("glob", json!({"pattern": "secret/*"})),
        ("tree", json!({"path": "sec"})),
    ] {
        assert_eq!(denied(&call(&kit, tool, input.clone()).await), "deny", "{tool} {input}");
    }
}
