//! What `read` shows: windows of lines and columns, folders, binary files, encodings, names that look alike.

use crate::kit::{call, done, failed, has, invalid, kit, read};
use haft_core::{Ended, FailureKind};
use haft_test::Harness;
use serde_json::{Value, json};

async fn look(kit: &Harness, input: Value) -> Ended {
    call(kit, "read", input).await
}

fn numbered(lines: usize) -> String {
    (1..=lines).map(|number| format!("l{number}\n")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_has_the_numbers_of_the_file_and_says_how_to_go_on() {
    let kit = kit();
    kit.write("f", numbered(9));
    for (input, text) in [
        (json!({"path": "f", "offset": 3, "limit": 2}), "3│l3\n4│l4\n… 5 more lines; read on with offset=5"),
        (json!({"path": "f", "offset": 8}), "8│l8\n9│l9"),
        (json!({"path": "f", "offset": -2}), "8│l8\n9│l9"),
        (json!({"path": "f", "offset": -3, "limit": 1}), "7│l7\n… 2 more lines; read on with offset=8"),
        (json!({"path": "f", "offset": -100, "limit": 1}), "1│l1\n… 8 more lines; read on with offset=2"),
        (json!({"file_path": "f", "offset": "9", "limit": "5"}), "9│l9"),
    ] {
        assert_eq!(done(&look(&kit, input.clone()).await), text, "{input}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_tools_own_bounds_count_as_a_cut() {
    let kit = kit();
    let content = numbered(4_500);
    kit.write("f", content.clone());
    let asked = look(&kit, json!({"path": "f", "offset": 3, "limit": 2})).await;
    has(&done(&asked), &["more lines; read on with offset=5"]);
    assert_eq!(asked.output.truncation, None);
    let cut = read(&kit, "f").await.output.truncation.expect("it is cut");
    let shown: usize = content.split_inclusive('\n').take(2_000).map(str::len).sum();
    assert_eq!((cut.shown_lines, cut.total_lines), (2_000, 4_500));
    assert_eq!(cut.shown_bytes, u64::try_from(shown).unwrap());
    assert_eq!(cut.total_bytes, u64::try_from(content.len()).unwrap());
    // Numbers in front of short lines make the text longer than the file.
    kit.write("short", "\n".repeat(2_001));
    let cut = read(&kit, "short").await.output.truncation.expect("it is cut");
    assert_eq!((cut.shown_bytes, cut.total_bytes), (2_000, 2_001));
}

#[tokio::test(flavor = "multi_thread")]
async fn past_the_end_and_an_empty_file_say_so() {
    let kit = kit();
    kit.write("f", numbered(9));
    kit.write("empty", "");
    let text = done(&look(&kit, json!({"path": "f", "offset": 10})).await);
    has(&text, &["f has 9 lines", "none at offset=10", "offset=9 at most"]);
    assert_eq!(done(&read(&kit, "empty").await), "empty is empty.");
    for (input, part) in [
        (json!({"path": "f", "limit": 0}), "/limit must be at least 1"),
        (json!({"path": "f", "limit": -3}), "/limit must be at least 1"),
        (json!({"path": "f", "columns": "9-3"}), "/columns must be two numbers"),
        (json!({"path": "f", "offset": "x"}), "/offset must be"),
        (json!({}), "/path is required"),
    ] {
        has(&invalid(&look(&kit, input).await), &[part]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_file_is_read_on_to_its_end_without_gap_or_overlap() {
    let kit = kit();
    kit.write("f", numbered(4_500));
    let mut shown = String::new();
    for offset in [1, 2_001, 4_001] {
        let text = done(&look(&kit, json!({"path": "f", "offset": offset})).await);
        if offset < 4_001 {
            has(&text, &[&format!("read on with offset={}", offset + 2_000)]);
        }
        let lines = text.lines().filter_map(|line| line.split_once('│'));
        shown.extend(lines.map(|(_, line)| format!("{line}\n")));
    }
    assert!(shown == numbered(4_500));
}

#[tokio::test(flavor = "multi_thread")]
async fn long_lines_are_read_by_columns() {
    let kit = kit();
    kit.write("f", format!("{}END\nshort\n", "é".repeat(2_500)));
    let text = done(&read(&kit, "f").await);
    has(&text, &["[503 more characters; columns=\"2001-2503\" shows them]", "2│short"]);
    let text = done(&look(&kit, json!({"path": "f", "columns": "2499-"})).await);
    assert_eq!(text, "1│…ééEND\n2│… [only 5 characters]");
    kit.write("huge", "x".repeat(10_000_000));
    let text = done(&read(&kit, "huge").await);
    assert!(text.len() < 3_000, "{} bytes", text.len());
    has(&text, &["9,998,000 more characters"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_is_bounded_by_bytes_too() {
    let kit = kit();
    kit.write("f", format!("{}\n", "w".repeat(1_000)).repeat(200));
    let text = done(&read(&kit, "f").await);
    assert!(text.len() <= 51_200, "{} bytes", text.len());
    let shown = text.lines().filter(|line| line.contains('│')).count();
    has(&text, &[&format!("… {} more lines; read on with offset={}", 200 - shown, shown + 1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_seen_is_told() {
    let kit = kit();
    for (content, parts) in [
        (b"a\r\nb\r\n".as_slice(), ["1│a\n2│b", "CRLF line ends"]),
        (b"k=1\r\nm=2\nz=3", ["3│z=3", "mixed line ends: 1 LF, 1 CRLF"]),
        (b"a\rb\r", ["1│a\n2│b", "CR line ends"]),
        (b"a\rb\r\n", ["1│a␍b", "1 CR alone"]),
        (b"\xEF\xBB\xBFa\n", ["1│a", "UTF-8 with BOM"]),
        (b"\xFF\xFEa\0\n\0b\0", ["1│a\n2│b", "UTF-16LE"]),
        (b"\xFE\xFF\0a\0\n\0b", ["1│a\n2│b", "UTF-16BE"]),
        (
            b"Le caf\xe9 cr\xe8me et la cr\xe8me br\xfbl\xe9e \xe9taient servis \xe0 la fran\xe7aise\n",
            ["café crème", "windows-1252"],
        ),
        (b"a\x1b[31mb\x07\n", ["1│a␛[31mb␇", "control characters"]),
        ("x\u{202e}y\n".as_bytes(), ["x\\u{202e}y", "control characters"]),
    ] {
        kit.write("f", content);
        has(&done(&read(&kit, "f").await), &parts);
    }
    kit.write("f", "\tindented  \n");
    assert_eq!(done(&read(&kit, "f").await), "1│\tindented  ");
}

#[tokio::test(flavor = "multi_thread")]
async fn binary_files_show_type_size_and_first_bytes() {
    let kit = kit();
    kit.write("g.png", [b"\x89PNG\r\n\x1a\n".as_slice(), &[7; 992]].concat());
    kit.write("f.pdf", "%PDF-1.4 nope");
    kit.write("nul.txt", b"text\0text");
    kit.write("text.png", "only text\n");
    has(&done(&read(&kit, "g.png").await), &["image/png", "1000 B", "89 50 4e 47 0d 0a 1a 0a"]);
    has(&done(&read(&kit, "f.pdf").await), &["application/pdf", "13 B"]);
    has(&done(&read(&kit, "nul.txt").await), &["is binary", "9 B", "text.text"]);
    assert_eq!(done(&read(&kit, "text.png").await), "1│only text");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_is_listed_with_kinds_and_sizes() {
    let kit = kit();
    kit.write("d/b.txt", "x".repeat(2_048));
    kit.sh("mkdir d/sub; ln -s b.txt d/l; touch d/.hidden").await;
    let text = done(&read(&kit, "d").await);
    assert_eq!(text, "d is a folder with 4 entries:\n.hidden  0 B\nb.txt  2.0 KiB\nl  (link)\nsub/");
    has(&done(&read(&kit, "d/sub").await), &["d/sub is a folder without entries"]);
    kit.sh("mkdir many; cd many; seq 1 1203 | xargs touch").await;
    has(&done(&read(&kit, "many").await), &["1,203 entries", "703 more entries"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_is_not_there_is_met_with_those_that_are() {
    let kit = kit();
    kit.write("src/main.rs", "");
    has(&failed(&read(&kit, "src/man.rs").await, FailureKind::NotFound), &["did you mean src/main.rs?"]);
    has(&failed(&read(&kit, "scr/main.rs").await, FailureKind::NotFound), &["neither does its folder"]);
    has(&failed(&read(&kit, "src/zzz.toml").await, FailureKind::NotFound), &["list its folder"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f19_the_exact_name_wins_and_a_look_alike_is_named() {
    let kit = kit();
    kit.write("Shot 2026\u{202f}AM.txt", "narrow\n");
    let ended = read(&kit, "Shot 2026 AM.txt").await;
    let text = ended.output.joined_text();
    // Opened with a note on its real name, or at the least named.
    has(&text, &["Shot 2026"]);
    assert!(text.contains("AM.txt") && text.contains("202f") || text.contains("did you mean"), "{text}");
    kit.write("Shot 2026 AM.txt", "plain\n");
    assert_eq!(done(&read(&kit, "Shot 2026 AM.txt").await), "1│plain");
    assert_eq!(done(&read(&kit, "Shot 2026\u{202f}AM.txt").await), "1│narrow");
}
