//! What it costs to look for secrets: in a small result, as most calls give one, and in a mebibyte of build output, both
//! without any. Beside it an automaton that only finds words, as many as there are kinds of secrets.

#![allow(clippy::unwrap_used, reason = "a bench fails by panicking")]

use aho_corasick::AhoCorasick;
use divan::counter::BytesCount;
use haft_policy::secrets::{Detector, kind_names};
use std::fmt::Write;

/// The length of the long text.
const LONG_BYTES: usize = 1024 * 1024;
/// That of a result.
const RESULT_BYTES: usize = 1024;

fn main() {
    divan::main();
}

/// Lines that all differ.
fn output(bytes: usize) -> Vec<u8> {
    let mut text = String::new();
    let mut number = 0_usize;
    while text.len() < bytes {
        let (unit, took) = (number * 7919 % 1_000, number * 31 % 97);
        writeln!(
            text,
            "[{number}/90000] Compiling src/parser/unit_{unit}.rs: 3 functions, 0 warnings, took {took} ms"
        )
        .unwrap();
        number += 1;
    }
    text.truncate(bytes);
    text.into_bytes()
}

#[divan::bench(args = [RESULT_BYTES, LONG_BYTES])]
fn secrets(bencher: divan::Bencher, bytes: usize) {
    let (detector, text) = (Detector::new([]).unwrap(), output(bytes));
    bencher.counter(BytesCount::new(bytes)).bench(|| detector.find(divan::black_box(&text)));
}

fn words() -> AhoCorasick {
    AhoCorasick::builder().ascii_case_insensitive(true).build(kind_names()).unwrap()
}

#[divan::bench(args = [RESULT_BYTES, LONG_BYTES])]
fn automaton(bencher: divan::Bencher, bytes: usize) {
    let (words, text) = (words(), output(bytes));
    bencher
        .counter(BytesCount::new(bytes))
        .bench(|| words.find_overlapping_iter(divan::black_box(&text)).count());
}

/// Making the detector, at each start.
#[divan::bench]
fn detector() -> Detector {
    Detector::new([]).unwrap()
}

/// The same of the automaton.
#[divan::bench]
fn automaton_made() -> AhoCorasick {
    words()
}
