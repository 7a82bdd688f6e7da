//! What a run shows; pure.
//!
//! The exit status alone never makes a test pass, and what is counted as failed never passes whatever the status.

use super::{finding::Severity, parse::Parsed, runner::Kind};
use haft_core::Status;

/// What shells add to a signal's number when they exit for a program that it ended.
const SIGNAL_BASE: i32 = 128;
/// The highest signal that ends programs by itself.
const SIGNAL_MAX: i32 = 31;

/// What one run shows, from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    Passed,
    /// There was nothing to check, or nothing shows that it was.
    Nothing,
    /// The runner, or what it needs, isn't there.
    Missing,
    Failed,
    /// The runner itself failed: it came to no result.
    Broken,
    /// A signal ended the runner, or what it ran.
    Crashed,
    TimedOut,
}

impl Verdict {
    /// What an ended run shows.
    pub(super) fn of(kind: Kind, status: Status, parsed: &Parsed) -> Self {
        let code = match status {
            Status::Code(code) => code,
            Status::Signal(_) => return Self::Crashed,
        };
        let is_counted_failed = parsed.counts.is_some_and(|counts| counts.failed > 0);
        if code == 0 {
            return succeeded(kind, parsed, is_counted_failed);
        }
        let is_signal = (SIGNAL_BASE + 1..=SIGNAL_BASE + SIGNAL_MAX).contains(&code);
        if parsed.crash.is_some() || (is_signal && !is_counted_failed) {
            return Self::Crashed;
        }
        if is_counted_failed || has_finding(kind, parsed) || has_problem(kind, parsed) {
            return Self::Failed;
        }
        if parsed.missing.is_some() {
            return Self::Missing;
        }
        if parsed.nothing.is_some()
            || (kind == Kind::Test && parsed.counts.is_some_and(|counts| counts.ran() == 0))
        {
            return Self::Nothing;
        }
        Self::Broken
    }

    /// For programs.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Nothing => "nothing-checked",
            Self::Missing => "missing-runner",
            Self::Failed => "failed",
            Self::Broken => "runner-failed",
            Self::Crashed => "crashed",
            Self::TimedOut => "timed-out",
        }
    }

    /// For readers.
    pub(super) fn words(self, kind: Kind) -> &'static str {
        match (self, kind) {
            (Self::Passed, _) => "passed",
            (Self::Nothing, Kind::Test) => "NO TESTS WERE RUN",
            (Self::Nothing, _) => "NOTHING WAS CHECKED",
            (Self::Missing, _) => "MISSING: a program that is needed isn't there",
            (Self::Failed, _) => "FAILED",
            (Self::Broken, _) => "THE RUNNER FAILED without a result",
            (Self::Crashed, _) => "CRASHED",
            (Self::TimedOut, _) => "TIMED OUT",
        }
    }

    /// Whether it answers what was asked, for good or ill.
    pub(super) fn is_answer(self) -> bool {
        matches!(self, Self::Passed | Self::Failed)
    }
}

fn succeeded(kind: Kind, parsed: &Parsed, is_counted_failed: bool) -> Verdict {
    let has_error = parsed.findings.iter().any(|finding| finding.severity == Severity::Error);
    // A passing test may print what looks like an error; its runner's own count decides.
    let has_error = has_error || parsed.problems.is_some_and(|problems| problems.errors > 0);
    if is_counted_failed || (kind != Kind::Test && has_error) {
        return Verdict::Failed;
    }
    // A script that swallows the fault of a program that isn't there has checked nothing.
    if kind != Kind::Test && parsed.missing.is_some() {
        return Verdict::Missing;
    }
    let is_shown = match (kind, parsed.counts) {
        (Kind::Test, Some(counts)) => counts.ran() > 0,
        (Kind::Test, None) => !parsed.evidence.is_empty(),
        _ => parsed.nothing.is_none(),
    };
    if is_shown { Verdict::Passed } else { Verdict::Nothing }
}

/// Warnings beside a failure of another cause don't explain it, unless they are all that is looked for.
fn has_finding(kind: Kind, parsed: &Parsed) -> bool {
    let is_enough = |severity| severity == Severity::Error || matches!(kind, Kind::Lint | Kind::Format);
    parsed.findings.iter().any(|finding| is_enough(finding.severity))
}

/// The same by the runner's own sum.
fn has_problem(kind: Kind, parsed: &Parsed) -> bool {
    let is_of_style = matches!(kind, Kind::Lint | Kind::Format);
    parsed.problems.is_some_and(|sum| sum.errors > 0 || is_of_style && sum.warnings > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::finding::{Counts, Finding, Problems};

    fn counted(passed: u64, failed: u64, skipped: u64) -> Parsed {
        Parsed { counts: Some(Counts { passed, failed, skipped }), ..Parsed::default() }
    }

    fn found(finding: Finding) -> Parsed {
        Parsed { findings: vec![finding], ..Parsed::default() }
    }

    fn test(code: i32, parsed: &Parsed) -> Verdict {
        Verdict::of(Kind::Test, Status::Code(code), parsed)
    }

    #[test]
    fn tests_pass_by_evidence_only() {
        assert_eq!(test(0, &counted(1, 0, 0)), Verdict::Passed);
        assert_eq!(test(0, &counted(1, 1, 0)), Verdict::Failed);
        assert_eq!(test(0, &counted(0, 0, 0)), Verdict::Nothing);
        assert_eq!(test(0, &counted(0, 0, 9)), Verdict::Nothing);
        assert_eq!(test(0, &Parsed::default()), Verdict::Nothing);
        let evidence = Parsed { evidence: vec!["> Task :test".to_owned()], ..Parsed::default() };
        assert_eq!(test(0, &evidence), Verdict::Passed);
        assert_eq!(
            test(0, &Parsed { findings: vec![Finding::error("x")], ..counted(1, 0, 0) }),
            Verdict::Passed
        );
    }

    #[test]
    fn a_swallowed_fault_of_a_missing_program_passes_nothing() {
        let missing = Parsed { missing: Some("sh: 1: eslint: not found".to_owned()), ..Parsed::default() };
        for kind in [Kind::Lint, Kind::Typecheck, Kind::Build, Kind::Format] {
            assert_eq!(Verdict::of(kind, Status::Code(0), &missing), Verdict::Missing, "{kind:?}");
        }
        let tested = Parsed { missing: missing.missing, ..counted(2, 0, 0) };
        assert_eq!(test(0, &tested), Verdict::Passed);
    }

    #[test]
    fn what_went_wrong_is_told_apart() {
        let with = |crash: bool, missing: bool, nothing: bool| {
            let line = |is: bool| is.then(|| "line".to_owned());
            Parsed { crash: line(crash), missing: line(missing), nothing: line(nothing), ..Parsed::default() }
        };
        assert_eq!(test(101, &counted(1, 1, 0)), Verdict::Failed);
        assert_eq!(test(101, &found(Finding::error("mismatched types"))), Verdict::Failed);
        assert_eq!(test(1, &Parsed::default()), Verdict::Broken);
        assert_eq!(test(1, &counted(3, 0, 0)), Verdict::Broken);
        assert_eq!(test(5, &with(false, false, true)), Verdict::Nothing);
        assert_eq!(test(5, &counted(0, 0, 0)), Verdict::Nothing);
        assert_eq!(test(127, &with(false, true, false)), Verdict::Missing);
        assert_eq!(test(101, &with(true, false, false)), Verdict::Crashed);
        assert_eq!(test(137, &Parsed::default()), Verdict::Crashed);
        assert_eq!(test(255, &Parsed::default()), Verdict::Broken);
        assert_eq!(Verdict::of(Kind::Test, Status::Signal(6), &counted(1, 0, 0)), Verdict::Crashed);
    }

    #[test]
    fn other_kinds_go_by_status_and_errors() {
        let of = |kind, code, parsed: &Parsed| Verdict::of(kind, Status::Code(code), parsed);
        let warning = || Finding::new(Severity::Warning, "unused");
        assert_eq!(of(Kind::Lint, 0, &found(warning())), Verdict::Passed);
        assert_eq!(of(Kind::Lint, 1, &found(warning())), Verdict::Failed);
        assert_eq!(of(Kind::Build, 1, &found(warning())), Verdict::Broken);
        assert_eq!(of(Kind::Format, 0, &found(Finding::error("not formatted"))), Verdict::Failed);
        assert_eq!(of(Kind::Build, 0, &Parsed::default()), Verdict::Passed);
        let none = Parsed { nothing: Some("no files".to_owned()), ..Parsed::default() };
        assert_eq!(of(Kind::Lint, 0, &none), Verdict::Nothing);
    }

    #[test]
    fn a_sum_decides_where_no_line_is_understood() {
        let of = |kind, code, errors, warnings| {
            let problems = Some(Problems { errors, warnings });
            Verdict::of(kind, Status::Code(code), &Parsed { problems, ..Parsed::default() })
        };
        assert_eq!(of(Kind::Lint, 1, 3, 0), Verdict::Failed);
        assert_eq!(of(Kind::Lint, 0, 3, 0), Verdict::Failed, "a script that swallows it");
        assert_eq!(of(Kind::Lint, 1, 0, 2), Verdict::Failed);
        assert_eq!(of(Kind::Lint, 0, 0, 2), Verdict::Passed);
        assert_eq!(of(Kind::Build, 1, 0, 2), Verdict::Broken);
        assert_eq!(of(Kind::Lint, 1, 0, 0), Verdict::Broken);
    }

    #[test]
    fn the_worst_of_several_is_the_greatest() {
        assert!(Verdict::Passed < Verdict::Nothing && Verdict::Missing < Verdict::Failed);
        assert!(Verdict::Failed < Verdict::Broken && Verdict::Crashed < Verdict::TimedOut);
    }
}
