//! Two corpora: lines with a secret, of which hardly any may be missed, and everyday lines, of which hardly any
//! may be masked. And the law of streams: wherever a text is cut, its pieces are masked as the whole.
//!
//! In `tokens.txt` the values are split by `⁞`, so that no scanner takes that file for a leak. They are dead: a
//! random generator made them. `corpus/README.md` says how.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use haft_policy::secrets::{Detector, Masker, StreamMasker, kind_names};
use std::{collections::BTreeSet, sync::Arc};

const TOKENS: &str = include_str!("../corpus/tokens.txt");
const HARMLESS: &str = include_str!("../corpus/harmless.txt");

/// Each kind with a line in which a secret of it stands.
fn tokens() -> Vec<(&'static str, String)> {
    TOKENS
        .lines()
        .filter_map(|row| row.split_once('\t'))
        .map(|(kind, line)| (kind, line.replace('⁞', "")))
        .collect()
}

fn masker() -> Arc<Masker> {
    Arc::new(Masker::new(Arc::new(Detector::new([]).unwrap()), [7; 32]))
}

fn streamed(masker: &Arc<Masker>, pieces: &[&[u8]]) -> Vec<u8> {
    let mut stream = StreamMasker::new(Arc::clone(masker));
    let mut masked: Vec<u8> = pieces.iter().flat_map(|piece| stream.push(piece)).collect();
    masked.extend(stream.finish());
    masked
}

#[test]
fn at_least_95_in_100_secrets_are_found() {
    let detector = Detector::new([]).unwrap();
    let rows = tokens();
    let missed: Vec<String> = rows
        .iter()
        .filter(|(kind, line)| detector.find(line.as_bytes()).iter().all(|found| &*found.kind != *kind))
        .map(|(kind, line)| format!("{kind}: {line}"))
        .collect();
    assert!(rows.len() >= 190, "{}", rows.len());
    assert!(
        missed.len() * 100 <= rows.len() * 5,
        "{} of {}:\n{}",
        missed.len(),
        rows.len(),
        missed.join("\n")
    );
}

#[test]
fn at_most_1_in_100_harmless_lines_is_masked() {
    let detector = Detector::new([]).unwrap();
    let masked: Vec<&str> =
        HARMLESS.lines().filter(|line| !detector.find(line.as_bytes()).is_empty()).collect();
    let count = HARMLESS.lines().count();
    assert!(count >= 2_100, "{count}");
    assert!(masked.len() * 100 <= count, "{} of {count}:\n{}", masked.len(), masked.join("\n"));
}

#[test]
fn the_corpus_is_of_kinds_there_are() {
    let names: BTreeSet<&str> = kind_names().collect();
    let kinds: BTreeSet<&str> = tokens().iter().map(|(kind, _)| *kind).collect();
    assert!(kinds.len() >= 60, "{}", kinds.len());
    assert!(kinds.is_subset(&names), "{:?}", kinds.difference(&names).collect::<Vec<_>>());
}

#[test]
fn a_line_cut_anywhere_is_masked_as_the_whole() {
    let masker = masker();
    for (kind, line) in tokens() {
        let line = line.as_bytes();
        let whole = masker.mask(line).text.into_owned();
        for border in 0..=line.len() {
            let (one, two) = line.split_at(border);
            assert_eq!(streamed(&masker, &[one, two]), whole, "{kind} cut at {border}");
        }
    }
}

#[test]
fn both_corpora_in_pieces_are_masked_as_the_whole() {
    let masker = masker();
    let lines: Vec<String> = tokens().into_iter().map(|(_, line)| line).collect();
    for text in [lines.join("\n"), lines.join(" "), HARMLESS.to_owned()] {
        let whole = masker.mask(text.as_bytes()).text.into_owned();
        for size in [61, 1_024, 8_191, 65_536] {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            assert!(streamed(&masker, &pieces) == whole, "pieces of {size}");
        }
    }
}

#[test]
fn a_masked_text_is_left_alone() {
    let masker = masker();
    for (kind, line) in tokens() {
        let once = masker.mask(line.as_bytes()).text.into_owned();
        assert_eq!(masker.mask(&once).text, once, "{kind}");
    }
}

/// Rows of base64 as a key has them, out of a generator: the same for a seed.
fn rows(seed: u64, width: usize, count: usize) -> Vec<String> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut letter = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(alphabet.get(usize::try_from(state >> 58).unwrap()).copied().unwrap())
    };
    (0..count).map(|_| (0..width).map(|_| letter()).collect()).collect()
}

/// A key's lines, its header and footer among them.
fn key_lines(label: &str, width: usize) -> Vec<String> {
    let mut lines = vec![format!("-----BEGIN {label}-----")];
    lines.extend(rows(7, width, 12));
    lines.push("q8Zt3nV7cX1mK4w=".to_owned());
    lines.push(format!("-----END {label}-----"));
    lines
}

/// What a listing puts before a line of that number.
type Mark = fn(usize) -> String;

/// Each with what it puts before a line.
fn listings() -> [(&'static str, Mark); 17] {
    [
        ("plain", |_| String::new()),
        ("read", |at| format!("{at}│")),
        ("cat -n", |at| format!("{at:>6}\t")),
        ("grep -n", |at| format!("{at}:")),
        ("grep -rn", |at| format!("deploy/keys/a.pem:{at}:")),
        ("grep -C", |at| format!("deploy/keys/a.pem-{at}-")),
        ("grep without numbers", |_| "deploy/a.pem:".to_owned()),
        ("blame", |at| format!("a1b2c3d4 (Some One 2031-01-02 03:04:05 +0000 {at:>3}) ")),
        ("diff", |_| "+".to_owned()),
        ("diff, numbered", |at| format!("{at}│-")),
        ("merge", |_| "++".to_owned()),
        ("comment", |_| "# ".to_owned()),
        ("comment of C", |_| "// ".to_owned()),
        ("comment without blank", |_| "//".to_owned()),
        ("block comment", |_| " * ".to_owned()),
        ("YAML", |_| "      ".to_owned()),
        ("log", |_| "2031-01-02T03:04:05Z web-1  | ".to_owned()),
    ]
}

fn masked(text: &str) -> String {
    String::from_utf8(masker().mask(text.as_bytes()).text.into_owned()).unwrap()
}

#[test]
fn no_row_of_a_key_is_shown_whatever_stands_before_it() {
    for (label, width) in [("RSA PRIVATE KEY", 64), ("OPENSSH PRIVATE KEY", 70)] {
        let key = key_lines(label, width);
        for (what, before) in listings() {
            let lines: Vec<String> =
                key.iter().enumerate().map(|(at, line)| format!("{}{line}", before(at + 1))).collect();
            // The whole key, its beginning, its end, its middle.
            for shown in [&lines[..], &lines[..6], &lines[3..], &lines[12..], &lines[4..10]] {
                let text = masked(&format!("some words\n{}\nmore words\n", shown.join("\n")));
                let left: Vec<&String> =
                    key[1..key.len() - 1].iter().filter(|row| text.contains(*row)).collect();
                assert!(left.is_empty(), "{what}: {left:?} in\n{text}");
                assert!(
                    text.starts_with("some words\n") && text.ends_with("\nmore words\n"),
                    "{what}:\n{text}"
                );
            }
        }
    }
}

#[test]
fn a_key_in_the_texts_of_code_is_masked() {
    let key = key_lines("PRIVATE KEY", 64);
    let json = format!("{{\"key\": \"{}\\n\", \"b\": 1}}", key.join("\\n"));
    let nested = json.replace('\\', "\\\\").replace('"', "\\\"");
    let java: String = key.iter().map(|line| format!("    \"{line}\\n\" +\n")).collect();
    let python: String = key.iter().map(|line| format!("    '{line}\\n'\n")).collect();
    for text in [json, nested, java, python] {
        let text = masked(&text);
        assert!(key[1..key.len() - 1].iter().all(|row| !text.contains(row)), "{text}");
    }
}

#[test]
fn blocks_that_are_no_secret_stay() {
    let rows = |seed| rows(seed, 64, 9).join("\n");
    for label in ["CERTIFICATE", "PUBLIC KEY", "PGP SIGNATURE", "CERTIFICATE REQUEST"] {
        for (what, before) in listings() {
            let block = format!("-----BEGIN {label}-----\n{}\nab3=\n-----END {label}-----", rows(3));
            let text: String =
                block.lines().enumerate().map(|(at, line)| format!("{}{line}\n", before(at + 1))).collect();
            assert_eq!(masked(&text), text, "{label}, {what}");
            // Without its beginning: the footer tells.
            let end: Vec<&str> = text.lines().skip(3).collect();
            assert_eq!(masked(&end.join("\n")), end.join("\n"), "{label}, {what}");
        }
    }
    for text in [
        format!("-----BEGIN PGP PUBLIC KEY BLOCK-----\nVersion: 2\n\n{}\n=a1B2\n", rows(4)),
        format!("Content-Type: image/png\nContent-Transfer-Encoding: base64\n\n{}\n", rows(5)),
        format!("<img src=\"data:image/png;base64,\n{}\n\">\n", rows(6)),
        format!("iVBORw0KGgo{}\n{}\n", &rows(7)[..53], rows(8)),
        rows(9).lines().map(|row| format!("sha384-{row}\n")).collect(),
    ] {
        assert_eq!(masked(&text), text);
    }
}

#[test]
fn values_of_lists_over_several_lines_are_masked() {
    for text in [
        "tokens:\n  - q8Zt3nV7cX1mK4wP\n  - z7Yt2mV6bW0lJ3vO\nname: x\n",
        "\"apiKeys\": [\n  \"q8Zt3nV7cX1mK4wP\",\n  \"z7Yt2mV6bW0lJ3vO\"\n]\n",
        "3│passwords = [\n4│    'Zq8!k3tT9vb2',\n5│    'q8Zt3nV7cX1mK4wP',\n6│    'z7Yt2mV6bW0lJ3vO',\n7│]\n",
    ] {
        let shown = masked(text);
        assert!(shown.matches("[secret:").count() >= 2, "{shown}");
        assert!(!["q8Zt", "z7Yt", "Zq8!"].iter().any(|piece| shown.contains(piece)), "{shown}");
        assert_eq!(shown.lines().count(), text.lines().count());
        assert_eq!(masked(&shown), shown);
    }
}

#[test]
fn keys_and_lists_cut_anywhere_are_masked_as_the_whole() {
    let masker = masker();
    let key = key_lines("PRIVATE KEY", 64);
    let numbered: Vec<String> =
        key.iter().enumerate().map(|(at, line)| format!("k.pem:{at}:{line}")).collect();
    for text in [
        format!("words\n{}\nwords\n", numbered[4..].join("\n")),
        format!("words\n{}\nwords\n", key[5..11].join("\n")),
        format!("-----BEGIN CERTIFICATE-----\n{}\nwords\n", key[5..11].join("\n")),
        "a:\n  tokens:\n  - q8Zt3nV7cX1mK4wP\n  - z7Yt2mV6bW0lJ3vO\nsecrets: [\n 'q8Zt3nV7cX1mK4wP',\n"
            .to_owned(),
    ] {
        let text = text.as_bytes();
        let whole = masker.mask(text).text.into_owned();
        for border in 0..=text.len() {
            let (one, two) = text.split_at(border);
            assert_eq!(streamed(&masker, &[one, two]), whole, "cut at {border} of {}", text.escape_ascii());
        }
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(streamed(&masker, &bytes), whole, "byte by byte: {}", text.escape_ascii());
    }
}

#[test]
fn configured_values_are_found_in_every_form() {
    let value = "kettle \"blue\" stone/42";
    let detector = Detector::new([("app.secret".to_owned(), value.as_bytes().to_vec())]).unwrap();
    for line in [
        "is kettle \"blue\" stone/42 there",
        "{\"a\":\"kettle \\\"blue\\\" stone/42\"}",
        "?q=kettle%20%22blue%22%20stone%2F42",
        "Y: a2V0dGxlICJibHVlIiBzdG9uZS80Mg==",
        "q=kettle+%22blue%22+stone%2f42&x=1",
        "{\"a\":\"kettle \\u0022blue\\u0022 stone\\/42\"}",
        "<a title='kettle &quot;blue&quot; stone/42'>",
    ] {
        let found = detector.find(line.as_bytes());
        assert!(found.iter().any(|found| &*found.kind == "app.secret"), "{line}");
    }
}
