//! What the model and programs are told; pure.

use super::{
    finding::{Finding, Severity},
    run::Report,
    runner::Kind,
    verdict::Verdict,
};
use crate::glob::counted;
use haft_core::Status;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// So many findings are told; the rest is counted.
const FINDINGS_MAX: usize = 50;
/// So many lines of output are told where findings don't say enough.
const TAIL_MAX_LINES: usize = 40;
/// Longest line that is told, in characters.
const LINE_MAX_CHARS: usize = 400;

/// The worst of all.
pub(super) fn worst(reports: &[Report]) -> Verdict {
    reports.iter().map(|report| report.verdict).max().unwrap_or(Verdict::Nothing)
}

/// The verdict, then findings, then output where it is needed; each runner in its turn.
pub(super) fn text(kind: Kind, reports: &[Report]) -> String {
    let mut text = String::new();
    if reports.len() > 1 {
        let runners = counted(number(reports.len()), "runner");
        let _ = writeln!(text, "{} {}: the worst of {runners}", kind.name(), worst(reports).words(kind));
    }
    let mut room = FINDINGS_MAX;
    for report in reports {
        one(&mut text, kind, report, &mut room);
    }
    text.truncate(text.trim_end().len());
    text
}

fn one(text: &mut String, kind: Kind, report: &Report, room: &mut usize) {
    let _ = writeln!(
        text,
        "{} {}: {} ({}, {})",
        report.runner.name(),
        kind.name(),
        report.verdict.words(kind),
        counts(kind, report),
        ending(report.status)
    );
    let place = report.place.as_ref().map_or_else(String::new, |place| format!(" (in {place})"));
    let _ = writeln!(text, "ran: {}{place}", report.line);
    for line in report.why.iter().chain(&report.hint) {
        let _ = writeln!(text, "{line}");
    }
    if report.is_wider {
        let _ =
            writeln!(text, "({} can't be narrowed to paths, so all of it was checked)", report.runner.name());
    }
    let told = report.findings.len().min(*room);
    for finding in report.findings.iter().take(told) {
        let _ = writeln!(text, "{}", line(finding));
    }
    *room -= told;
    if report.findings.len() > told {
        let more = counted(number(report.findings.len() - told), "more finding");
        let _ = writeln!(text, "… and {more}");
    }
    if needs_output(report) {
        tail(text, report);
    }
}

/// Findings say enough of failures; everything else that isn't a pass needs the runner's own words.
fn needs_output(report: &Report) -> bool {
    match report.verdict {
        Verdict::Passed => false,
        Verdict::Failed => {
            let told = report.findings.iter().filter(|finding| finding.severity == Severity::Error).count();
            let stated = report.counts.map(|counts| counts.failed);
            let stated = stated.or(report.problems.map(|problems| problems.errors));
            number(told) < stated.map_or(1, |stated| stated.max(1))
        }
        Verdict::Nothing | Verdict::Missing | Verdict::Broken | Verdict::Crashed | Verdict::TimedOut => true,
    }
}

fn tail(text: &mut String, report: &Report) {
    let output = report.output.trim_end();
    if output.is_empty() {
        if report.status.is_some() {
            text.push_str("(it printed nothing)\n");
        }
        return;
    }
    let lines: Vec<&str> = output.lines().collect();
    let skipped = lines.len().saturating_sub(TAIL_MAX_LINES);
    match (&report.spill, skipped) {
        (Some(path), _) => {
            let _ = writeln!(text, "--- last lines of its output, all of which is in {path}");
        }
        (None, 0) => text.push_str("--- its output\n"),
        (None, _) => {
            let _ = writeln!(text, "--- last {TAIL_MAX_LINES} of {} lines of its output", lines.len());
        }
    }
    for line in lines.into_iter().skip(skipped) {
        let _ = writeln!(text, "{}", short(line));
    }
}

fn counts(kind: Kind, report: &Report) -> String {
    if kind == Kind::Test {
        return match report.counts {
            Some(counts) => {
                format!("{} passed, {} failed, {} skipped", counts.passed, counts.failed, counts.skipped)
            }
            None => "counts unknown".to_owned(),
        };
    }
    if report.status.is_none() {
        return "counts unknown".to_owned();
    }
    let told = |errors, warnings| format!("{}, {}", counted(errors, "error"), counted(warnings, "warning"));
    if let Some(problems) = report.problems {
        return told(problems.errors, problems.warnings);
    }
    // Of what others start, silence may mean anything.
    if report.findings.is_empty() && !report.runner.is_understood(kind) {
        return "not counted".to_owned();
    }
    let of = |severity| number(report.findings.iter().filter(|finding| finding.severity == severity).count());
    told(of(Severity::Error), of(Severity::Warning))
}

fn ending(status: Option<Status>) -> String {
    match status {
        Some(Status::Code(code)) => format!("exit {code}"),
        Some(Status::Signal(signal)) => format!("killed by signal {signal}"),
        None => "not started".to_owned(),
    }
}

/// `file:line:col: severity: message [code] (test)`.
fn line(finding: &Finding) -> String {
    let mut text = String::new();
    if let Some(file) = &finding.file {
        text.push_str(file);
        for part in [finding.line, finding.column].into_iter().flatten() {
            let _ = write!(text, ":{part}");
        }
        text.push_str(": ");
    }
    let _ = write!(text, "{}: {}", finding.severity.name(), finding.message);
    if let Some(code) = &finding.code {
        let _ = write!(text, " [{code}]");
    }
    if let Some(test) = &finding.test {
        let _ = write!(text, " (test {test})");
    }
    short(&text)
}

/// One line, not too long.
fn short(text: &str) -> String {
    let text = text.replace(['\n', '\r'], " ");
    match text.char_indices().nth(LINE_MAX_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// The same for people and programs.
pub(super) fn metadata(kind: Kind, reports: &[Report]) -> Value {
    let runs: Vec<Value> = reports.iter().map(run).collect();
    json!({"kind": kind, "status": worst(reports).name(), "runs": runs})
}

fn run(report: &Report) -> Value {
    let (exit, signal) = match report.status {
        Some(Status::Code(code)) => (Some(code), None),
        Some(Status::Signal(signal)) => (None, Some(signal)),
        None => (None, None),
    };
    json!({
        "runner": report.runner,
        "status": report.verdict.name(),
        "argv": report.argv,
        "exit": exit,
        "signal": signal,
        "counts": report.counts,
        "problems": report.problems,
        "findings": report.findings.iter().take(FINDINGS_MAX).collect::<Vec<_>>(),
        "findingCount": report.findings.len(),
        "evidence": report.evidence,
        "durationMs": u64::try_from(report.took.as_millis()).unwrap_or(u64::MAX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{
        finding::{Counts, Problems, Spot},
        runner::Runner,
    };
    use std::time::Duration;

    fn report(verdict: Verdict) -> Report {
        Report {
            runner: Runner::Cargo,
            line: "cargo test".to_owned(),
            argv: vec!["cargo".to_owned(), "test".to_owned()],
            verdict,
            status: Some(Status::Code(i32::from(verdict != Verdict::Passed))),
            counts: Some(Counts { passed: 2, failed: 0, skipped: 1 }),
            findings: Vec::new(),
            evidence: Vec::new(),
            problems: None,
            why: None,
            hint: None,
            place: None,
            is_wider: false,
            output: "some output\n".to_owned(),
            spill: None,
            took: Duration::ZERO,
        }
    }

    fn found(count: usize) -> Vec<Finding> {
        let spot = || Spot { file: "src/lib.rs".to_owned(), line: Some(3), column: Some(9) };
        (0..count).map(|number| Finding::of_test(format!("t{number}"), "left: 1").at(spot())).collect()
    }

    #[test]
    fn the_verdict_with_its_counts_is_the_first_line() {
        assert_eq!(
            text(Kind::Test, &[report(Verdict::Passed)]),
            "cargo test: passed (2 passed, 0 failed, 1 skipped, exit 0)\nran: cargo test"
        );
        let unknown = Report { counts: None, ..report(Verdict::Nothing) };
        let said = text(Kind::Test, &[unknown]);
        assert!(said.starts_with("cargo test: NO TESTS WERE RUN (counts unknown, exit 1)\n"), "{said}");
        assert!(said.ends_with("--- its output\nsome output"), "{said}");
    }

    #[test]
    fn findings_are_bounded_and_the_rest_is_counted() {
        let counts = Some(Counts { passed: 0, failed: 53, skipped: 0 });
        let said = text(Kind::Test, &[Report { findings: found(53), counts, ..report(Verdict::Failed) }]);
        assert!(said.contains("\nsrc/lib.rs:3:9: error: left: 1 (test t0)\n"), "{said}");
        assert!(said.ends_with("(test t49)\n… and 3 more findings"), "{said}");
    }

    #[test]
    fn output_is_told_where_findings_say_too_little() {
        let counts = Some(Counts { passed: 0, failed: 2, skipped: 0 });
        let said = text(Kind::Test, &[Report { findings: found(1), counts, ..report(Verdict::Failed) }]);
        assert!(said.ends_with("--- its output\nsome output"), "{said}");
        let long: String = (0..100).map(|line| format!("line {line}\n")).collect();
        let said = text(Kind::Test, &[Report { output: long, ..report(Verdict::Broken) }]);
        assert!(said.contains("--- last 40 of 100 lines of its output\nline 60\n"), "{said}");
        let spilled = Report { spill: Some("/s/1".to_owned()), ..report(Verdict::Crashed) };
        assert!(text(Kind::Test, &[spilled]).contains("all of which is in /s/1"));
    }

    #[test]
    fn what_nobody_counted_is_not_called_zero() {
        let built = |runner, findings, problems| {
            let report = Report { runner, problems, findings, ..report(Verdict::Passed) };
            text(Kind::Build, &[report]).lines().next().unwrap_or_default().to_owned()
        };
        assert_eq!(built(Runner::Make, Vec::new(), None), "make build: passed (not counted, exit 0)");
        assert_eq!(
            built(Runner::Cargo, Vec::new(), None),
            "cargo build: passed (0 errors, 0 warnings, exit 0)"
        );
        let clean = Some(Problems::default());
        assert_eq!(built(Runner::Npm, Vec::new(), clean), "npm build: passed (0 errors, 0 warnings, exit 0)");
        assert_eq!(built(Runner::Npm, found(2), None), "npm build: passed (2 errors, 0 warnings, exit 0)");
    }

    #[test]
    fn a_sum_that_says_more_than_the_findings_brings_the_output() {
        let problems = Some(Problems { errors: 3, warnings: 1 });
        let said = text(Kind::Lint, &[Report { findings: found(2), problems, ..report(Verdict::Failed) }]);
        assert!(said.starts_with("cargo lint: FAILED (3 errors, 1 warning, exit 1)\n"), "{said}");
        // Tests' counts aren't asked of a linter.
        let counted = Report { counts: None, findings: found(2), problems, ..report(Verdict::Failed) };
        assert!(text(Kind::Lint, &[counted]).ends_with("--- its output\nsome output"));
        let told = Report { counts: None, findings: found(3), problems, ..report(Verdict::Failed) };
        assert!(!text(Kind::Lint, &[told]).contains("---"));
    }

    #[test]
    fn several_runners_have_the_worst_verdict_first() {
        let reports = [report(Verdict::Passed), report(Verdict::Broken)];
        let said = text(Kind::Build, &reports);
        assert!(
            said.starts_with("build THE RUNNER FAILED without a result: the worst of 2 runners\n"),
            "{said}"
        );
        assert!(said.contains("cargo build: passed (0 errors, 0 warnings, exit 0)"), "{said}");
        let data = metadata(Kind::Build, &reports);
        assert_eq!(
            (&data["status"], &data["runs"][0]["status"]),
            (&json!("runner-failed"), &json!("passed"))
        );
        assert_eq!(data["runs"][0]["counts"]["skipped"], 1);
    }
}
