//! What a runner printed, turned into findings and counts; pure, one file for each family of runners.
//!
//! Only what a runner says is counted: a number that no line states is none. Keeps the invariant that output that
//! isn't understood gives neither counts nor evidence.

mod any;
mod cargo;
mod compiler;
mod ctest;
mod go;
mod gradle;
mod javascript;
mod maven;
mod node;
mod plain;
mod pytest;
mod python_lint;
mod sums;
mod unittest;

use super::{
    finding::{Counts, Finding, Problems},
    runner::{Kind, Runner},
};

/// Most lines of evidence that are kept.
const EVIDENCE_MAX: usize = 20;

/// What a runner said.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said<'a> {
    pub(super) kind: Kind,
    /// Whether it was asked to rewrite files.
    pub(super) fix: bool,
    pub(super) out: &'a str,
    pub(super) err: &'a str,
}

impl Said<'_> {
    fn lines(&self) -> impl Iterator<Item = &str> {
        self.out.lines().chain(self.err.lines())
    }
}

/// What that means.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Parsed {
    pub(super) findings: Vec<Finding>,
    /// None where nothing states them.
    pub(super) counts: Option<Counts>,
    /// Of anything but tests, what its own sum says. None where it has none.
    pub(super) problems: Option<Problems>,
    /// Lines that show that what was asked for was done.
    pub(super) evidence: Vec<String>,
    /// The line that says that something was ended by a signal.
    pub(super) crash: Option<String>,
    /// The line that says that a program isn't there.
    pub(super) missing: Option<String>,
    /// The line that says that there was nothing to check.
    pub(super) nothing: Option<String>,
}

impl Parsed {
    fn count(&mut self, counts: Counts, line: &str) {
        self.counts = Counts::sum(self.counts, Some(counts));
        self.evidence.push(line.trim().to_owned());
    }

    fn nothing(&mut self, line: &str) {
        self.nothing.get_or_insert_with(|| line.trim().to_owned());
    }

    /// All of both.
    fn and(mut self, other: Self) -> Self {
        self.findings.extend(other.findings);
        self.counts = Counts::sum(self.counts, other.counts);
        self.problems = Problems::sum(self.problems, other.problems);
        self.evidence.extend(other.evidence);
        self.crash = self.crash.or(other.crash);
        self.missing = self.missing.or(other.missing);
        self.nothing = self.nothing.or(other.nothing);
        self
    }

    /// Each finding once, since libraries and their tests are compiled apart.
    fn tidy(mut self) -> Self {
        let mut kept: Vec<Finding> = Vec::with_capacity(self.findings.len());
        let mut seen = std::collections::HashSet::new();
        for finding in self.findings {
            let key = (
                finding.file.clone(),
                finding.line,
                finding.column,
                finding.message.clone(),
                finding.test.clone(),
            );
            if seen.insert(key) {
                kept.push(finding);
            }
        }
        self.findings = kept;
        self.evidence.truncate(EVIDENCE_MAX);
        self
    }
}

/// Reads what a runner printed.
pub(super) fn parse(runner: Runner, said: &Said<'_>) -> Parsed {
    let parsed = match runner {
        Runner::Cargo => cargo::parse(said),
        Runner::Npm | Runner::Make | Runner::Just => any::parse(said),
        Runner::Pytest => pytest::parse(said),
        Runner::Unittest => unittest::parse(said),
        Runner::Ruff | Runner::Mypy => python_lint::parse(said),
        Runner::Go => go::parse(said),
        Runner::Ctest => ctest::parse(said),
        Runner::Maven => maven::parse(said),
        Runner::Gradle => gradle::parse(said),
    };
    // What shells and make say of programs holds whoever runs them.
    let mut parsed = parsed.and(compiler::ends(said)).tidy();
    if said.kind != Kind::Test {
        parsed.problems = sums::read(said);
    }
    parsed
}

/// Output as text without colours, whatever the runner thinks of `NO_COLOR`.
pub(super) fn plain(bytes: &[u8]) -> String {
    plain::plain(bytes)
}

/// Runs one parser on recorded output.
#[cfg(test)]
fn read(parser: fn(&Said<'_>) -> Parsed, kind: Kind, output: [&str; 2]) -> Parsed {
    let [out, err] = output;
    parser(&Said { kind, fix: false, out, err })
}
