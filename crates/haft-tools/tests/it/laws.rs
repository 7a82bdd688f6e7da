//! Laws of a changed file, on random content in every encoding: what isn't named keeps every byte, and what is put
//! there is what was given.

use crate::kit::{call, kit};
use encoding_rs::Encoding;
use haft_test::Harness;
use proptest::{prelude::*, sample::select, test_runner::TestRunner};
use serde_json::{Value, json};
use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
};

/// How many files are made and changed.
const CASES: u32 = 320;
/// The places of a file that may be changed.
const MARKS: usize = 4;
const ENDS: [&str; 5] = ["", "\n", "\r\n", "\r", "\n\n"];

/// Encodings from before Unicode, with words that they are told by.
const LEGACY: [(&str, &[&str]); 5] = [
    (
        "windows-1252",
        &["café ", "crème ", "brûlée ", "été ", "à la française ", "déjà vu ", "garçon ", "prêt "],
    ),
    (
        "Shift_JIS",
        &["これは", "日本語の", "文章です", "表示する", "能力", "ソフト", "東京", "カタカナ", "十二月"],
    ),
    ("GBK", &["这是", "中文", "文本", "编码", "测试", "我们的", "北京", "程序"]),
    ("EUC-KR", &["한국어", "문자열", "테스트", "입니다", "안녕하세요", "서울", "프로그램"]),
    ("KOI8-R", &["привет ", "мир ", "это ", "русский ", "текст ", "программа ", "строка "]),
];

/// Each of these must have come up.
const CODINGS: [&str; 8] =
    ["UTF-8", "UTF-8 with BOM", "UTF-16LE", "UTF-16BE", "windows-1252", "Shift_JIS", "GBK", "EUC-KR"];

/// How ASCII stands in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Byte,
    Little,
    Big,
}

impl Unit {
    fn bytes(self, text: &str) -> Vec<u8> {
        match self {
            Self::Byte => text.as_bytes().to_vec(),
            Self::Little => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Self::Big => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        }
    }
}

/// A file: a byte order mark, and pieces with a mark between each two.
#[derive(Debug, Clone)]
struct Document {
    unit: Unit,
    head: &'static [u8],
    pieces: Vec<Vec<u8>>,
}

fn mark(number: usize) -> String {
    format!("<k{number}>")
}

impl Document {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.head.to_vec();
        for (number, piece) in self.pieces.iter().enumerate() {
            if number > 0 {
                bytes.extend(self.unit.bytes(&mark(number - 1)));
            }
            bytes.extend(piece);
        }
        bytes
    }

    /// That a content is this one with new texts for some marks, each in the coding or in none that is known.
    fn assert_changed(&self, after: &[u8], edits: &BTreeMap<usize, String>, coding: Option<&str>) {
        let mut rest = after.strip_prefix(self.head).expect("the byte order mark stays");
        for (number, piece) in self.pieces.iter().enumerate() {
            if let Some(number) = number.checked_sub(1) {
                let forms = match edits.get(&number) {
                    None => vec![self.unit.bytes(&mark(number))],
                    Some(new) => match forms(coding, new) {
                        Some(forms) => forms,
                        None if coding.is_none() => return,
                        None => panic!("{new:?} can't be written in {coding:?}, and was"),
                    },
                };
                let after_new = forms.iter().find_map(|form| rest.strip_prefix(form.as_slice()));
                rest = after_new
                    .unwrap_or_else(|| panic!("mark {number} isn't as given: {}", rest.escape_ascii()));
            }
            rest = rest.strip_prefix(piece.as_slice()).unwrap_or_else(|| {
                panic!("piece {number} changed: {} to {}", piece.escape_ascii(), rest.escape_ascii())
            });
        }
        assert_eq!(rest, b"", "nothing is added");
    }
}

/// A text in a coding, with each of the line ends that it may have been given.
fn forms(coding: Option<&str>, text: &str) -> Option<Vec<Vec<u8>>> {
    ["\r\n", "\n", "\r"].iter().map(|end| encoded(coding, &text.replace('\n', end))).collect()
}

fn encoded(coding: Option<&str>, text: &str) -> Option<Vec<u8>> {
    match coding {
        None => text.is_ascii().then(|| text.as_bytes().to_vec()),
        Some("UTF-16LE") => Some(Unit::Little.bytes(text)),
        Some("UTF-16BE") => Some(Unit::Big.bytes(text)),
        Some(name) if name.starts_with("UTF-8") => Some(text.as_bytes().to_vec()),
        Some(name) => {
            let (bytes, _, has_errors) = Encoding::for_label(name.as_bytes())?.encode(text);
            (!has_errors).then(|| bytes.into_owned())
        }
    }
}

fn pieces(
    unit: Unit,
    head: &'static [u8],
    piece: impl Strategy<Value = Vec<u8>>,
) -> impl Strategy<Value = Document> {
    prop::collection::vec(piece, MARKS + 1).prop_map(move |pieces| Document { unit, head, pieces })
}

/// Any characters but those that a mark begins with.
fn unicode(unit: Unit) -> impl Strategy<Value = Vec<u8>> {
    let part = ("[^<\\x00]{0,12}", select(ENDS.to_vec()));
    prop::collection::vec(part, 0..4).prop_map(move |parts| {
        let text: String = parts.iter().map(|(text, end)| format!("{text}{end}")).collect();
        unit.bytes(&text)
    })
}

/// Words of an encoding, enough to tell it by.
fn words(label: &'static str, words: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let part = (select(words.to_vec()), select(words.to_vec()), select(ENDS.to_vec()));
    prop::collection::vec(part, 3..8).prop_map(move |parts| {
        let text: String = parts.iter().map(|(one, two, end)| format!("{one}{two}{end}")).collect();
        Encoding::for_label(label.as_bytes()).unwrap().encode(&text).0.into_owned()
    })
}

/// Units that needn't be characters: halves of pairs among them.
fn units() -> impl Strategy<Value = Vec<u8>> {
    let unit = any::<u16>().prop_map(|unit| if matches!(unit, 0 | 0x3C) { 0x3E } else { unit });
    prop::collection::vec(unit, 0..30)
        .prop_map(|units| units.into_iter().flat_map(u16::to_le_bytes).collect::<Vec<u8>>())
}

/// Bytes that needn't be characters.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = (1..=u8::MAX).prop_map(|byte| if byte == b'<' { b'>' } else { byte });
    prop::collection::vec(byte, 0..50)
}

fn document() -> impl Strategy<Value = Document> {
    prop_oneof![
        2 => pieces(Unit::Byte, b"", unicode(Unit::Byte)),
        1 => pieces(Unit::Byte, b"\xEF\xBB\xBF", unicode(Unit::Byte)),
        1 => pieces(Unit::Little, b"\xFF\xFE", unicode(Unit::Little)),
        1 => pieces(Unit::Big, b"\xFE\xFF", unicode(Unit::Big)),
        1 => pieces(Unit::Little, b"\xFF\xFE", units()),
        2 => pieces(Unit::Byte, b"", bytes()),
        6 => select(LEGACY.to_vec()).prop_flat_map(|(label, list)| pieces(Unit::Byte, b"", words(label, list))),
    ]
}

/// New texts for some of the marks.
fn edits() -> impl Strategy<Value = BTreeMap<usize, String>> {
    let new = prop_oneof![
        4 => "[ -;=-~]{1,20}",
        2 => select(vec!["é", "日本", "привет", "한국", "文本", "\u{2603}", "𝄞", "a é\u{a0}"]).prop_map(str::to_owned),
        1 => Just(String::new()),
        1 => Just("a\nb".to_owned()),
    ];
    prop::collection::btree_map(0..MARKS, new, 1..=MARKS)
}

/// The call that makes the edits: several by `edit`, one alone also by `replace`.
fn input(edits: &BTreeMap<usize, String>, by_replace: bool) -> (&'static str, Value) {
    if let (true, 1, Some((number, new))) = (by_replace, edits.len(), edits.first_key_value()) {
        let pattern = mark(*number);
        return ("replace", json!({"pattern": pattern, "replacement": new, "literal": true, "paths": ["f"]}));
    }
    // Not in the order of the file.
    let list = edits.iter().rev().map(|(number, new)| json!({"old": mark(*number), "new": new}));
    ("edit", json!({"path": "f", "edits": list.collect::<Vec<_>>()}))
}

/// Makes the edits; gives the file's encoding where they were made.
async fn check(
    kit: &Harness,
    document: &Document,
    edits: &BTreeMap<usize, String>,
    by_replace: bool,
) -> Option<String> {
    let before = document.bytes();
    kit.write("f", &before);
    let looked = call(kit, "read", json!({"path": "f"})).await.output.metadata;
    let coding = looked.and_then(|looked| looked["encoding"].as_str().map(str::to_owned));
    let (tool, input) = input(edits, by_replace);
    let ended = call(kit, tool, input).await;
    let after = kit.read("f");
    if after == before {
        return None;
    }
    assert!(ended.outcome.is_completed(), "refused, and yet changed: {}", ended.output.joined_text());
    document.assert_changed(&after, edits, coding.as_deref());
    Some(coding.unwrap_or_default())
}

#[test]
fn edits_keep_every_byte_outside_their_spans_in_every_encoding() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let kit = runtime.block_on(async { kit() });
    let (made, codings) = (Cell::new(0), RefCell::new(BTreeSet::new()));
    let config = ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
    let result = TestRunner::new(config).run(
        &(document(), edits(), any::<bool>()),
        |(document, edits, by_replace)| {
            if let Some(coding) = runtime.block_on(check(&kit, &document, &edits, by_replace)) {
                made.set(made.get() + 1);
                codings.borrow_mut().insert(coding);
            }
            Ok(())
        },
    );
    result.unwrap();
    assert!(made.get() > CASES / 2, "only {} of {CASES} were made", made.get());
    let codings = codings.into_inner();
    let missing: Vec<&str> = CODINGS.into_iter().filter(|name| !codings.contains(*name)).collect();
    assert!(missing.is_empty(), "never edited: {missing:?}, only {codings:?}");
}
