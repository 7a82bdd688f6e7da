//! What an edit of a 10 MiB file costs: the pure path from bytes to bytes, and the whole call on a real file.
//!
//! The rows differ in where the one place is, whether there is one, and how many replacements there are. A whole call
//! reads the file, plans, keeps what undo needs, writes a file beside it, syncs, renames and reads back; it is made in
//! a mode that asks nothing, since a question would add its preview. Each call takes back what the one before did.

#![allow(clippy::expect_used, reason = "a bench fails by panicking")]

use divan::{Bencher, black_box};
use haft_core::Request;
use haft_policy::Mode;
use haft_test::{Harness, HarnessSetup};
use haft_tools::fuzzing::{Edit, edited};
use serde_json::json;
use std::fmt::Write as _;
use tokio::runtime::Runtime;

/// The length of the file.
const FILE_BYTES: usize = 10 * 1024 * 1024;
/// Places in the file, all at about the same distance.
const PLACES: usize = 20;

fn main() {
    divan::main();
}

/// Lines that resemble each other, and a line of its own at each place.
fn content() -> String {
    let mut text = String::with_capacity(FILE_BYTES + 200);
    let (mut line, mut place) = (0_usize, 0_usize);
    while text.len() < FILE_BYTES {
        if text.len() * (PLACES - 1) >= place * (FILE_BYTES - 200) && place < PLACES {
            let _ = writeln!(text, "    let place_{place:02} = old_value(state);");
            place += 1;
        }
        let _ = writeln!(text, "    let value_{line:07} = compute(state, {line}); // as agreed");
        line += 1;
    }
    text
}

/// The old and new text of a place.
fn change(place: usize) -> [String; 2] {
    ["old", "new"].map(|word| format!("let place_{place:02} = {word}_value(state);"))
}

fn pure(bencher: Bencher<'_, '_>, [old, new]: [String; 2], is_there: bool) {
    let content = content().into_bytes();
    let edit = Edit { old, new, all: false };
    bencher.bench_local(|| {
        let edited = edited(black_box(&content), &edit);
        assert_eq!(edited.is_some(), is_there);
        edited
    });
}

#[divan::bench(sample_count = 30, sample_size = 1)]
fn a_pure_unique_at_the_start(bencher: Bencher<'_, '_>) {
    pure(bencher, change(0), true);
}

#[divan::bench(sample_count = 30, sample_size = 1)]
fn b_pure_unique_in_the_middle(bencher: Bencher<'_, '_>) {
    pure(bencher, change(PLACES / 2), true);
}

#[divan::bench(sample_count = 30, sample_size = 1)]
fn c_pure_unique_at_the_end(bencher: Bencher<'_, '_>) {
    pure(bencher, change(PLACES - 1), true);
}

#[divan::bench(sample_count = 30, sample_size = 1)]
fn d_pure_no_match_with_the_nearest_lines(bencher: Bencher<'_, '_>) {
    pure(bencher, change(PLACES), false);
}

/// A harness with the file, and a runtime for it.
struct Bench {
    runtime: Runtime,
    kit: Harness,
}

impl Bench {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let within = runtime.enter();
        let kit = Harness::with(HarnessSetup { mode: Mode::Full, ..HarnessSetup::default() });
        kit.register_core(haft_tools::tools());
        kit.write("big.rs", content());
        drop(within);
        Self { runtime, kit }
    }

    /// Whether the call completed.
    fn call(&self, input: &str) -> bool {
        let _within = self.runtime.enter();
        let running = self.kit.executor().submit(self.kit.session(), Request::new("edit", input));
        self.runtime.block_on(running).outcome.is_completed()
    }

    /// Changes these places and, with the next call, changes them back.
    fn run(&self, bencher: Bencher<'_, '_>, changes: &[[String; 2]], is_there: bool) {
        let input = |from: usize, to: usize| {
            let edits: Vec<_> =
                changes.iter().map(|texts| json!({"old": texts.get(from), "new": texts.get(to)})).collect();
            json!({"path": "big.rs", "edits": edits}).to_string()
        };
        let (there, back) = (input(0, 1), input(1, 0));
        let mut is_back = false;
        bencher.bench_local(|| {
            let input = if is_back { &back } else { &there };
            is_back = !is_back && is_there;
            assert_eq!(self.call(input), is_there);
        });
    }
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn e_call_unique_at_the_start(bencher: Bencher<'_, '_>) {
    Bench::new().run(bencher, &[change(0)], true);
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn f_call_unique_in_the_middle(bencher: Bencher<'_, '_>) {
    Bench::new().run(bencher, &[change(PLACES / 2)], true);
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn g_call_unique_at_the_end(bencher: Bencher<'_, '_>) {
    Bench::new().run(bencher, &[change(PLACES - 1)], true);
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn h_call_no_match_with_the_nearest_lines(bencher: Bencher<'_, '_>) {
    Bench::new().run(bencher, &[change(PLACES)], false);
}

#[divan::bench(sample_count = 20, sample_size = 1)]
fn i_call_twenty_edits_at_once(bencher: Bencher<'_, '_>) {
    let changes: Vec<_> = (0..PLACES).map(change).collect();
    Bench::new().run(bencher, &changes, true);
}
