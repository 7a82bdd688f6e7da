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
    assert!(rows.len() >= 120, "{}", rows.len());
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
    assert_eq!(count, 2_000);
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

#[test]
fn configured_values_are_found_in_every_form() {
    let value = "kettle \"blue\" stone/42";
    let detector = Detector::new([("app.secret".to_owned(), value.as_bytes().to_vec())]).unwrap();
    for line in [
        "is kettle \"blue\" stone/42 there",
        "{\"a\":\"kettle \\\"blue\\\" stone/42\"}",
        "?q=kettle%20%22blue%22%20stone%2F42",
        "Y: a2V0dGxlICJibHVlIiBzdG9uZS80Mg==",
    ] {
        let found = detector.find(line.as_bytes());
        assert!(found.iter().any(|found| &*found.kind == "app.secret"), "{line}");
    }
}
