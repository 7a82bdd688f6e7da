//! What it costs to read and judge one command line, under a typical rule file of sixty rules.
//!
//! Rows for reading alone, judging what is read already, and both, each for everyday lines and for a long one. Paths
//! and programs are looked up by text, so the file system's share isn't in the figures.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a bench fails by panicking")]

#[path = "../tests/lexical/mod.rs"]
mod lexical;

use haft_policy::{Action, Dialect, Mode, Policy, judge, read_line};
use std::{fmt, sync::Arc};

/// Rules in a typical file.
const RULES: usize = 60;
/// The length of the long line.
const LONG_BYTES: usize = 4 * 1024;

fn main() {
    divan::main();
}

/// A line and its name in the table.
struct Line {
    name: &'static str,
    text: String,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

fn lines() -> Vec<Line> {
    let line = |name, text: &str| Line { name, text: text.to_owned() };
    let mut long = "cargo test -p core".to_owned();
    while long.len() < LONG_BYTES {
        long.push_str(
            " && cargo test -p 'core api' --test it -- --nocapture 2>&1 | grep -E \"a|b\" | tail -50",
        );
    }
    vec![
        line("git status", "git status"),
        line("a test and its tail", "cargo test -p x 2>&1 | tail -50"),
        line("a change of folder, a search, its head", "cd src && rg -n foo . | head"),
        line("a line of 4 KiB", &long),
    ]
}

/// The typical rules, with more of their kind.
fn policy() -> Arc<Policy> {
    let mut policy = lexical::policy(Mode::Default);
    let further = RULES.saturating_sub(policy.rules.len());
    policy
        .rules
        .extend((0..further).map(|at| lexical::rule(Action::Allow, &format!("bash(tool{at} run *)"))));
    Arc::new(policy)
}

#[divan::bench(args = lines())]
fn a_read(bencher: divan::Bencher<'_, '_>, line: &Line) {
    bencher.bench(|| read_line(divan::black_box(&line.text), Dialect::Bash));
}

#[divan::bench(args = lines())]
fn b_judge(bencher: divan::Bencher<'_, '_>, line: &Line) {
    let (subject, policies) = (lexical::bash(&line.text), [policy()]);
    bencher.bench(|| judge(divan::black_box(&subject), &policies));
}

#[divan::bench(args = lines())]
fn c_read_and_judge(bencher: divan::Bencher<'_, '_>, line: &Line) {
    let policies = [policy()];
    bencher.bench(|| judge(&lexical::bash(divan::black_box(&line.text)), &policies));
}
