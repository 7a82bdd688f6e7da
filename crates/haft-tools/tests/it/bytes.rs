//! Edits change the bytes of their span and no others, and put new text there as it was given.

use crate::kit::{bash, call, done, edit, failed, has, invalid, kit, signs, write};
use haft_core::FailureKind;
use haft_test::Harness;
use serde_json::json;

/// Before, old text, new text, after.
type Case<'a> = (&'a [u8], &'a str, &'a str, &'a [u8]);

async fn check(kit: &Harness, cases: &[Case<'_>]) {
    for &(before, old, new, after) in cases {
        kit.write("f", before);
        done(&edit(kit, "f", old, new).await);
        assert_eq!(signs(kit.read("f")), signs(after), "{old:?} for {new:?} in {}", signs(before));
    }
}

/// Text in windows-1252, long enough to be told from its relatives.
const FRENCH: &[u8] =
    b"Le caf\xe9 cr\xe8me et la cr\xe8me br\xfbl\xe9e \xe9taient servis \xe0 la fran\xe7aise\n";

fn wide(text: &str) -> Vec<u8> {
    let mark = [0xFF, 0xFE];
    mark.into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f01_an_edit_leaves_every_other_line_end() {
    let kit = kit();
    check(
        &kit,
        &[
            (b"k=1\r\nm=2\nz=3", "m=2", "m=20", b"k=1\r\nm=20\nz=3"),
            (b"k=1\r\nm=2\nz=3", "k=1", "k=10", b"k=10\r\nm=2\nz=3"),
            (b"k=1\r\nm=2\nz=3", "z=3", "z=30", b"k=1\r\nm=2\nz=30"),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f01_line_feeds_typed_match_crlf_and_inserted_lines_take_it() {
    let kit = kit();
    check(
        &kit,
        &[
            (b"a\r\nb\r\nc", "a\nb", "a\nx\nb", b"a\r\nx\r\nb\r\nc"),
            // A span without a line end takes that of its line.
            (b"a\r\nb\r\n", "b", "b\nc", b"a\r\nb\r\nc\r\n"),
            // Each line end of the span is that of the line it stands for, the last one goes on.
            (b"a\r\nb\nc\n", "a\nb\nc", "a\nb\nX\nc", b"a\r\nb\nX\nc\n"),
            // A whole line goes with its whole line end.
            (b"a\r\nb\r\nc\r\n", "b\n", "", b"a\r\nc\r\n"),
            // Line ends that were typed are meant.
            (b"a\r\nb\r\n", "a\r\nb", "a\nb", b"a\nb\r\n"),
            (b"a\nb\n", "a\nb", "a\r\nb", b"a\r\nb\n"),
            // Where nothing but carriage returns ends lines, line feeds stand for those.
            (b"a\rb\rc", "a\nb", "a\nx\nb", b"a\rx\rb\rc"),
            (b"a\rb\r", "b\n", "b\nc\n", b"a\rb\rc\r"),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f01_no_form_of_a_file_is_tidied_up() {
    let kit = kit();
    check(
        &kit,
        &[
            // Carriage returns alone, at the end too.
            (b"a\rb\rc", "b", "B", b"a\rB\rc"),
            (b"a\rb\r", "a", "A", b"A\rb\r"),
            (b"a\r\r\nb\r\n", "b", "B", b"a\r\r\nB\r\n"),
            // No final line end, with any line end before.
            (b"x\r\ny", "y", "z", b"x\r\nz"),
            (b"a\nz=3", "z=3\n", "z=4\n", b"a\nz=4"),
            (b"only", "only", "still", b"still"),
            (b"a\n\n\n", "a", "b", b"b\n\n\n"),
            // Marks, control characters, bytes that are no characters.
            (b"\xEF\xBB\xBFa\r\nb", "a", "c", b"\xEF\xBB\xBFc\r\nb"),
            (b"a\x01\x7fb=1\n", "b=1", "b=2", b"a\x01\x7fb=2\n"),
            (b"x = 1\nprice \xa2 40\n", "x = 1", "x = 2", b"x = 2\nprice \xa2 40\n"),
            // Blanks at line ends, tabs, form feeds.
            (b"a  \n\tb\t\n \n", "b", "c", b"a  \n\tc\t\n \n"),
            (b"\ta\t=\t1\n\x0c\n", "=\t1", "=\t2", b"\ta\t=\t2\n\x0c\n"),
        ],
    )
    .await;
    let family = "👩‍👩‍👧 ok e\u{301} \u{feff}\u{200b}\n";
    kit.write("f", family);
    done(&edit(&kit, "f", "ok", "👍🏽").await);
    assert_eq!(kit.read("f"), family.replace("ok", "👍🏽").into_bytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_line_of_ten_megabytes_is_edited_in_its_middle() {
    let kit = kit();
    let half = "x".repeat(5_000_000);
    kit.write("long", format!("{half}needle{half}"));
    done(&edit(&kit, "long", "needle", "pin").await);
    assert!(kit.read("long") == format!("{half}pin{half}").into_bytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn encodings_stay_and_what_they_cannot_hold_is_refused_by_name() {
    let kit = kit();
    check(&kit, &[(&wide("a\r\nb\r\n"), "a\nb", "é\nc", &wide("é\r\nc\r\n"))]).await;
    let before = [FRENCH, b"x = 1\n"].concat();
    kit.write("f", &before);
    let text = failed(&edit(&kit, "f", "x = 1", "x = \u{2603}").await, FailureKind::InvalidInput);
    has(&text, &["windows-1252", "U+2603", "UTF-8"]);
    assert_eq!(signs(kit.read("f")), signs(&before));
    done(&edit(&kit, "f", "x = 1", "été").await);
    assert_eq!(signs(kit.read("f")), signs([FRENCH, b"\xe9t\xe9\n"].concat()));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_text_or_has_units_that_are_not_known_is_refused_by_name() {
    let kit = kit();
    let by_two = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let by_four = |text: &str| text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect::<Vec<u8>>();
    for (before, what) in [
        (by_two("key = 1\n"), "UTF-16LE without a byte order mark"),
        (by_four("key = 1\n"), "UTF-32LE without a byte order mark"),
        (by_four("\u{feff}key = 1\n"), "UTF-32LE"),
        (b"\x7fELF\x02key\0".to_vec(), "binary"),
        (b"%PDF-1.7\nkey\n".to_vec(), "application/pdf"),
        (b"\x89PNG\r\n\x1a\nkey".to_vec(), "image/png"),
        (b"a\0key=1\n".to_vec(), "binary"),
    ] {
        for (tool, input) in [
            ("edit", json!({"path": "f.ipynb", "old": "k", "new": "K"})),
            ("write", json!({"path": "f.ipynb", "content": "x\n"})),
            ("notebook_edit", json!({"path": "f.ipynb", "cell": "q", "source": "x"})),
        ] {
            kit.write("f.ipynb", &before);
            let text = failed(&call(&kit, tool, input).await, FailureKind::Conflict);
            has(&text, &[what]);
            assert_eq!(signs(kit.read("f.ipynb")), signs(&before), "{tool}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn accents_match_however_they_are_written_and_new_text_is_as_given() {
    let kit = kit();
    kit.write("f", "cafe\u{301} 1\n");
    let text = done(&edit(&kit, "f", "caf\u{e9} 1", "caf\u{e9} 2").await);
    has(&text, &["Line 1: old differed in whether accents are characters of their own; new is as given."]);
    assert_eq!(signs(kit.read("f")), signs("caf\u{e9} 2\n"));
    kit.write("f", "let cafe\u{301} = 1;\n");
    let text = failed(&edit(&kit, "f", "let caf\u{e9} = 2;", "x").await, FailureKind::Conflict);
    has(&text, &["cafe\\u{301}·=·1"]);
}

/// New texts that some template, shell, regular expression or typographer would change.
const VERBATIM: [&str; 8] = [
    r"a$&b $$ $1 “q” ’ \n \\ %s {0}",
    "\\u0041 \\x41 &amp; <![CDATA[ ]]>",
    "$(id) `id` ${HOME} !! ~ *",
    "'single' \"double\" ‘curly’ …—–",
    "\\\\\\\\ \\r\\n \\0 \\t",
    "\u{a0}\u{202f}\u{200b}\u{feff}",
    "{{x}} {% y %} #{z} %(w)s",
    "\0 NUL",
];

#[tokio::test(flavor = "multi_thread")]
async fn case_f05_new_text_is_verbatim_in_an_edit() {
    let kit = kit();
    for new in VERBATIM {
        kit.write("f", "v=@@");
        done(&edit(&kit, "f", "@@", new).await);
        assert_eq!(kit.read("f"), format!("v={new}").into_bytes(), "{new}");
        // Also where old differs from the file by its quotes; the file is told from what was given.
        kit.write("f", "v=‘x’;");
        let text = done(&edit(&kit, "f", "'x'", new).await);
        has(&text, &["quotes or blanks that look alike"]);
        assert_eq!(kit.read("f"), format!("v={new};").into_bytes(), "{new}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f05_new_text_is_verbatim_in_a_write_and_in_a_heredoc() {
    let kit = kit();
    for (number, new) in VERBATIM.iter().enumerate() {
        let name = format!("f{number}");
        done(&write(&kit, &name, new).await);
        assert_eq!(kit.read(&name), new.as_bytes(), "{new}");
        if !new.contains('\0') {
            let ran = bash(&kit, &format!("cat > here <<'END'\n{new}\nEND")).await;
            assert_eq!((ran.body.as_str(), ran.status.as_str()), ("", "[exit 0]"), "{new}");
            assert_eq!(kit.read("here"), format!("{new}\n").into_bytes(), "{new}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f06_a_tolerant_match_changes_its_span_only() {
    let kit = kit();
    let before = "def f():\n    a  =  1\n    b = 2\n";
    kit.write("e.py", before);
    let text = failed(&edit(&kit, "e.py", "    a = 1", "    a = 9").await, FailureKind::Conflict);
    has(&text, &["Nearest is line 2", "····a··=··1", "····a·=·1"]);
    assert_eq!(signs(kit.read("e.py")), signs(before));
    check(
        &kit,
        &[
            (b"a  \n\tb \nc\t\n", "b\nc", "X\nY", b"a  \n\tX\nY\t\n"),
            (b"  f(\n    x,\n  )\n  g  \n", "f(\n  x,\n)\n", "f(\n  y,\n)\n", b"  f(\n    y,\n  )\n  g  \n"),
            (
                "p “q”  \nsay ‘x’\nr ’s\u{a0}\n".as_bytes(),
                "say 'x'",
                "say 'y'",
                "p “q”  \nsay 'y'\nr ’s\u{a0}\n".as_bytes(),
            ),
        ],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f04_blanks_typed_for_tabs_land_as_tabs_or_show_the_real_bytes() {
    let kit = kit();
    let before = "if a:\n\tif b:\n\t\tgo()\n";
    kit.write("d.py", before);
    let shown = done(&crate::kit::read(&kit, "d.py").await);
    assert_eq!(shown, "1│if a:\n2│\tif b:\n3│\t\tgo()");
    // Half a tab can't be written without mixing.
    let text = failed(&edit(&kit, "d.py", "        go()", "      stop()").await, FailureKind::Conflict);
    has(&text, &["→→go()", "line 3"]);
    assert_eq!(signs(kit.read("d.py")), signs(before));
    let text = done(&edit(&kit, "d.py", "        go()", "        stop()").await);
    has(&text, &["indentation", "Line 3"]);
    assert_eq!(signs(kit.read("d.py")), signs("if a:\n\tif b:\n\t\tstop()\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn text_without_the_line_numbers_of_read_is_asked_for() {
    let kit = kit();
    kit.write("f", "one\ntwo\n");
    let text = failed(&edit(&kit, "f", "1│one\n2│two", "x").await, FailureKind::Conflict);
    has(&text, &["line numbers", "Leave out"]);
    let text = invalid(&edit(&kit, "f", "", "x").await);
    has(&text, &["/edits/0/old is empty", "write"]);
}
