//! Walks and searches by several threads: the order, the counts and the ends are those of one, and text is found in
//! whatever encoding it is.

// A helper in a test may fail by panicking, as the tests themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use encoding_rs::{EUC_KR, Encoding, GBK, SHIFT_JIS, WINDOWS_1252};
use haft_core::{Files, GrepHit, GrepQuery, RealPath, WalkOptions, WalkReport};
use haft_os::{Beneath, OsFiles};
use std::{
    ffi::OsStr,
    fs,
    ops::ControlFlow,
    os::unix::{ffi::OsStrExt, fs::symlink},
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::Arc,
};
use tempfile::TempDir;

/// More than a walk takes without a thread of its own, and than one worker takes at once.
const MANY: usize = 900;
/// More than is held of a file at once.
const LONG_BYTES: usize = 1024 * 1024 + 4_096;

struct House {
    folder: TempDir,
    files: OsFiles,
}

impl House {
    fn new() -> Self {
        Self::opened_by(Beneath::detect())
    }

    fn opened_by(how: Beneath) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("w")).unwrap();
        let files = OsFiles::new(&folder.path().join("w"), &[], &folder.path().join("state")).unwrap();
        Self { files: files.opened_by(how), folder }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join("w").join(name)
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Files in folders in folders, in the order of paths.
    fn put_many(&self) -> Vec<String> {
        let mut names: Vec<String> = (0..MANY)
            .map(|number| match number % 3 {
                0 => format!("a{}/b{}/f{number}.txt", number % 7, number % 5),
                1 => format!("a{}/f{number}.txt", number % 7),
                _ => format!("a{}.d/f{number}.txt", number % 7),
            })
            .collect();
        for (number, name) in names.iter().enumerate() {
            self.put(name, format!("{}needle {number}\n", "hay\n".repeat(number * 37 % 400)));
        }
        names.sort_by(|one, other| one.split('/').cmp(other.split('/')));
        names
    }

    fn grep_until(&self, query: &GrepQuery, most: usize) -> (Vec<GrepHit>, WalkReport) {
        let mut hits = Vec::new();
        let report = self
            .files
            .grep(&self.files.workspace(), query, &mut |hit| {
                hits.push(hit);
                if hits.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
            .unwrap();
        (hits, report)
    }

    fn grep(&self, query: &GrepQuery) -> (Vec<GrepHit>, WalkReport) {
        self.grep_until(query, usize::MAX)
    }

    /// The lines found, each with its file and number.
    fn lines(&self, pattern: &str) -> Vec<String> {
        let (hits, report) = self.grep(&query(pattern));
        assert!(report.error_count == 0, "{:?}", report.errors);
        let lines = hits.iter().flat_map(|hit| {
            hit.lines.iter().map(|line| format!("{}:{}:{}", hit.path.beneath, line.number, line.text))
        });
        lines.collect()
    }
}

fn query(pattern: &str) -> GrepQuery {
    GrepQuery { pattern: pattern.to_owned(), ..GrepQuery::default() }
}

fn paths(hits: &[GrepHit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.path.beneath.as_ref()).collect()
}

#[test]
fn hits_come_in_the_order_of_paths_and_each_once() {
    for how in [Beneath::Kernel, Beneath::Walk] {
        let house = House::opened_by(how);
        let names = house.put_many();
        for _ in 0..5 {
            let (hits, report) = house.grep(&query(r"needle \d+$"));
            assert_eq!(paths(&hits), names);
            assert!(hits.iter().all(|hit| hit.count == 1 && hit.modified.is_some()));
            let files = u64::try_from(MANY).unwrap();
            assert_eq!(report, WalkReport { files, ..WalkReport::default() });
        }
    }
}

#[test]
fn a_visitor_that_has_enough_ends_the_search_with_the_counts_up_to_there() {
    let house = House::new();
    let names = house.put_many();
    for most in [1, 10, 300, MANY] {
        let (hits, report) = house.grep_until(&query("needle"), most);
        assert_eq!(paths(&hits), names[..most]);
        assert_eq!((report.files, report.stopped), (u64::try_from(most).unwrap(), true));
    }
}

#[test]
fn a_walk_by_two_threads_keeps_order_counts_and_ends() {
    let house = House::new();
    let names = house.put_many();
    for most in [1, 255, 256, 257, 700, usize::MAX] {
        let mut seen = Vec::new();
        let report = house
            .files
            .walk(&house.files.workspace(), &WalkOptions::default(), &mut |entry| {
                seen.push((entry.path.beneath.to_string(), entry.len));
                if seen.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
            .unwrap();
        let files: Vec<_> = seen.iter().map(|(path, _)| path).filter(|path| path.ends_with("txt")).collect();
        assert_eq!(files, names.iter().take(files.len()).collect::<Vec<_>>());
        assert!(seen.is_sorted_by(|(one, _), (other, _)| one.split('/').lt(other.split('/'))));
        assert!(seen.iter().all(|(_, len)| *len > 0));
        assert_eq!(report.files, u64::try_from(files.len()).unwrap());
        assert_eq!(report.stopped, most != usize::MAX);
        assert!(seen.len() == most || files.len() == MANY);
    }
}

#[test]
fn a_cancel_or_a_panic_of_the_visitor_is_an_end_and_no_hang() {
    let house = House::new();
    house.put_many();
    let query = query("needle");
    let cancel = query.walk.cancel.clone();
    let report = house
        .files
        .grep(&house.files.workspace(), &query, &mut |_| {
            cancel.fire();
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(report.stopped);
    let options = WalkOptions::default();
    let mut seen = 0;
    for is_grep in [true, false] {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let tree = house.files.workspace();
            if is_grep {
                let query = GrepQuery { pattern: "needle".to_owned(), ..GrepQuery::default() };
                return house.files.grep(&tree, &query, &mut |_| panic!("on purpose"));
            }
            house.files.walk(&tree, &options, &mut |_| {
                seen += 1;
                assert!(seen < 400, "on purpose");
                ControlFlow::Continue(())
            })
        }));
        assert!(panicked.is_err());
    }
}

#[test]
fn what_is_denied_special_binary_or_a_link_is_counted_by_all_threads_together() {
    let house = House::new();
    let names = house.put_many();
    let fifo = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, house.at("a1/pipe"), fifo).unwrap();
    symlink("a1", house.at("to-a1")).unwrap();
    house.put("b.bin", b"needle\0");
    house.put("later.bin", [b"needle\n".repeat(20_000).as_slice(), b"\0"].concat());
    let skip = |path: &RealPath| {
        path.beneath.starts_with("a2/") || path.beneath.ends_with("5.txt") || *path.beneath == *"a3"
    };
    let walk = WalkOptions { skip: Some(Arc::new(skip)), ..WalkOptions::default() };
    let (hits, report) = house.grep(&GrepQuery { walk: walk.clone(), ..query("needle") });
    let shown: Vec<&String> = names
        .iter()
        .filter(|name| !name.starts_with("a2/") && !name.ends_with("5.txt") && !name.starts_with("a3/"))
        .collect();
    assert_eq!(paths(&hits), shown);
    assert_eq!((report.special, report.binary, report.error_count), (1, 2, 0));
    assert_eq!(report.files, u64::try_from(shown.len()).unwrap() + 2);
    let walked = house.files.walk(&house.files.workspace(), &walk, &mut |_| ControlFlow::Continue(()));
    let walked = walked.unwrap();
    assert_eq!((walked.denied, walked.files, walked.special), (report.denied, report.files, 1));
    assert!(report.denied > 50, "{}", report.denied);
}

#[test]
fn a_name_that_is_not_utf8_is_searched_too() {
    let house = House::new();
    let path = house.at("").join(OsStr::from_bytes(b"caf\xe9.txt"));
    if fs::write(path, "needle\n").is_err() {
        println!("skipped: this file system has names in UTF-8 alone");
        return;
    }
    assert_eq!(house.lines("needle"), ["caf\u{fffd}.txt:1:needle"]);
}

fn utf16(text: &str, mark: &[u8], bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    mark.iter().copied().chain(text.encode_utf16().flat_map(bytes)).collect()
}

fn legacy(encoding: &'static Encoding, text: &str) -> Vec<u8> {
    let (bytes, _, is_replaced) = encoding.encode(text);
    assert!(!is_replaced);
    bytes.into_owned()
}

/// One text that fits an encoding, its last line, and the text's bytes in it.
fn texts() -> [(&'static str, &'static str, Vec<u8>); 8] {
    let western = "Der Zug fährt über die Brücke.\nEr hält, und alle müssen aussteigen.\nSchöne Grüße\n";
    let japanese = "これは日本語の文章です。\n検索できなければなりません。\nさようなら世界\n";
    let chinese = "这是一个用中文写的句子。\n它应该能够被搜索到。\n再见世界\n";
    let korean = "이것은 한국어로 쓴 문장입니다.\n찾을 수 있어야 합니다.\n안녕히 가세요\n";
    [
        ("utf8", "Schöne Grüße", western.as_bytes().to_vec()),
        ("mark", "Schöne Grüße", [b"\xEF\xBB\xBF".as_slice(), western.as_bytes()].concat()),
        ("utf16le", "さようなら世界", utf16(japanese, b"\xFF\xFE", u16::to_le_bytes)),
        ("utf16be", "Schöne Grüße", utf16(western, b"\xFE\xFF", u16::to_be_bytes)),
        ("windows-1252", "Schöne Grüße", legacy(WINDOWS_1252, western)),
        ("shift-jis", "さようなら世界", legacy(SHIFT_JIS, japanese)),
        ("gbk", "再见世界", legacy(GBK, chinese)),
        ("euc-kr", "안녕히 가세요", legacy(EUC_KR, korean)),
    ]
}

#[test]
fn text_is_found_in_whatever_encoding_it_is() {
    for (name, line, bytes) in texts() {
        let house = House::new();
        house.put(name, bytes);
        let found = [format!("{name}:3:{line}")];
        assert_eq!(house.lines(line), found, "{name}");
        assert_eq!(house.lines(&format!("^{line}$")), found, "{name}");
        let (first, rest) = line.split_at(line.chars().next().unwrap().len_utf8());
        assert_eq!(house.lines(&format!("^{first}.{{{}}}$", rest.chars().count())), found, "{name}");
    }
}

#[test]
fn a_long_file_is_found_in_by_what_its_beginning_is() {
    for (name, line, bytes) in texts() {
        let house = House::new();
        // A byte order mark stays at the beginning.
        let (mark, text) = bytes.split_at(match name {
            "mark" => 3,
            "utf16le" | "utf16be" => 2,
            _ => 0,
        });
        let times = LONG_BYTES / text.len() + 1;
        house.put(name, [mark, text.repeat(times).as_slice()].concat());
        let (hits, _) = house.grep(&query(&format!("^{line}$")));
        assert_eq!(hits.len(), 1, "{name}");
        assert_eq!(hits[0].count, u64::try_from(times).unwrap(), "{name}");
        assert_eq!((hits[0].lines[0].number, hits[0].lines[0].text.as_str()), (3, line), "{name}");
    }
}

#[test]
fn an_ascii_pattern_shows_the_decoded_line() {
    let house = House::new();
    house.put("l.txt", legacy(WINDOWS_1252, "Preis: 40 €\nfür Käse, Brötchen, Äpfel und Übriges\n"));
    assert_eq!(house.lines("Preis"), ["l.txt:1:Preis: 40 €"]);
    assert_eq!(house.lines("und"), ["l.txt:2:für Käse, Brötchen, Äpfel und Übriges"]);
    assert_eq!(house.lines("K.se"), ["l.txt:2:für Käse, Brötchen, Äpfel und Übriges"]);
}

#[test]
fn utf8_with_faults_is_searched_as_it_is() {
    let house = House::new();
    house.put("d.txt", [b"\xff needle\n".as_slice(), "äöüßéèà needle\n".as_bytes()].concat());
    assert_eq!(house.lines("needle"), ["d.txt:1:\u{fffd} needle", "d.txt:2:äöüßéèà needle"]);
}

#[test]
fn carriage_returns_part_lines_where_there_is_no_line_feed() {
    let house = House::new();
    house.put("cr.txt", "one\rneedle\rthree\r");
    house.put("crlf.txt", "one\r\nneedle\r\n");
    house.put("mixed.txt", "one\rneedle\nthree\n");
    house.put("w.txt", utf16("one\rneedle\r", b"\xFF\xFE", u16::to_le_bytes));
    assert_eq!(
        house.lines("needle"),
        ["cr.txt:2:needle", "crlf.txt:2:needle", "mixed.txt:1:one\rneedle", "w.txt:2:needle"]
    );
    let whole = house.lines("^needle$");
    for line in ["cr.txt:2:needle", "crlf.txt:2:needle", "w.txt:2:needle"] {
        assert!(whole.iter().any(|found| found == line), "no {line} in {whole:?}");
    }

    let house = House::new();
    let long = format!("{}needle\rend", "hay hay\r".repeat(LONG_BYTES / 8));
    house.put("long.txt", &long);
    house.put("other.txt", format!("{long}\n"));
    let (hits, _) = house.grep(&query("needle"));
    assert_eq!(paths(&hits), ["long.txt", "other.txt"]);
    let number = u64::try_from(LONG_BYTES / 8 + 1).unwrap();
    assert_eq!((hits[0].lines[0].number, hits[0].lines[0].text.as_str()), (number, "needle"));
    assert_eq!(hits[1].lines[0].number, 1, "a line feed anywhere is what parts lines");
}

#[test]
fn more_than_may_wait_comes_through_in_order() {
    let house = House::new();
    let line = format!("needle {}\n", "x".repeat(1_900));
    let content = line.repeat(1_000);
    for number in 0..24 {
        house.put(&format!("{number:02}.txt"), &content);
    }
    let (hits, report) = house.grep(&query("needle"));
    assert_eq!((hits.len(), report.files), (24, 24));
    assert!(hits.iter().all(|hit| hit.lines.len() == 1_000 && hit.left_out == 0));
    assert!(paths(&hits).is_sorted());
}

#[test]
fn what_only_the_larger_engine_knows_is_searched_where_it_is_built_in() {
    let house = House::new();
    house.put("a.txt", "one two\none three\naa\nab\n");
    let lines = |pattern: &str, ignore_case: bool| {
        let query = GrepQuery { ignore_case, ..query(pattern) };
        let mut numbers = Vec::new();
        let searched = house.files.grep(&house.files.workspace(), &query, &mut |hit| {
            numbers.extend(hit.lines.iter().filter(|line| line.matched).map(|line| line.number));
            ControlFlow::Continue(())
        });
        searched.map(|_| numbers)
    };
    if cfg!(feature = "pcre") {
        assert_eq!(lines("one (?!two)", false).unwrap(), [2]);
        assert_eq!(lines("^(A)\\1$", true).unwrap(), [3]);
    } else {
        assert!(lines("one (?!two)", false).unwrap_err().text.contains("the pattern can't be used"));
    }
    assert!(lines("one (?!two", false).is_err());
}
