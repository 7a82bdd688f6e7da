//! What it costs to look for secrets: a mebibyte of build output without any, beside a search for one rare word by the
//! same crate that most programs search with, and a small result, as a call gives one.

#![allow(clippy::unwrap_used, reason = "a bench fails by panicking")]

use divan::counter::BytesCount;
use haft_policy::secrets::Detector;
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

#[divan::bench(args = [RESULT_BYTES, LONG_BYTES])]
fn one_word(bencher: divan::Bencher, bytes: usize) {
    let (finder, text) = (memchr::memmem::Finder::new("-----BEGIN "), output(bytes));
    bencher.counter(BytesCount::new(bytes)).bench(|| finder.find(divan::black_box(&text)));
}

#[divan::bench]
fn detector() -> Detector {
    Detector::new([]).unwrap()
}
