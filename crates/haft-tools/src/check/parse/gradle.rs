//! Gradle, which counts tests only where one failed: else the task itself is the evidence.

use super::{
    Parsed, Said, compiler,
    plain::{before, spot},
};
use crate::check::{
    finding::{Counts, Finding},
    runner::Kind,
};

pub(super) fn parse(said: &Said<'_>) -> Parsed {
    let mut parsed = if said.kind == Kind::Test { tests(said) } else { Parsed::default() };
    parsed.findings.extend(compiler::places(said.lines()));
    parsed
}

pub(super) fn tests(said: &Said<'_>) -> Parsed {
    let mut parsed = Parsed::default();
    let mut open: Option<Finding> = None;
    for line in said.lines() {
        if let Some(task) = line.strip_prefix("> Task :") {
            let (name, outcome) = task.split_once(' ').unwrap_or((task, ""));
            let is_test =
                name.rsplit(':').next().is_some_and(|name| name.to_ascii_lowercase().ends_with("test"));
            match outcome {
                "" | "UP-TO-DATE" | "FROM-CACHE" if is_test => parsed.evidence.push(line.trim().to_owned()),
                "NO-SOURCE" if is_test => parsed.nothing(line),
                _ => {}
            }
        } else if line.contains(" tests completed") || line.contains(" test completed") {
            let number = |word| before(line, word).unwrap_or_default();
            let total = before(line, "tests").or_else(|| before(line, "test")).unwrap_or_default();
            let (failed, skipped) = (number("failed"), number("skipped"));
            let passed = total.saturating_sub(failed).saturating_sub(skipped);
            parsed.count(Counts { passed, failed, skipped }, line);
        } else if let Some(name) = failure(line) {
            parsed.findings.extend(open.replace(Finding::of_test(name, String::new())));
        } else if let Some(mut finding) = open.take() {
            // `    org.junit.ComparisonFailure at ATest.java:5`.
            let text = line.trim();
            let (message, place) = text.rsplit_once(" at ").unwrap_or((text, ""));
            message.clone_into(&mut finding.message);
            parsed.findings.push(finding.at_some(spot(place).map(|(spot, _)| spot)));
        }
    }
    parsed.findings.extend(open);
    if !parsed.evidence.is_empty() {
        parsed.nothing = None;
    }
    for finding in parsed.findings.iter_mut().filter(|finding| finding.message.is_empty()) {
        "failed".clone_into(&mut finding.message);
    }
    parsed
}

/// `ATest > bad FAILED`; tasks end with the same word.
fn failure(line: &str) -> Option<&str> {
    line.strip_suffix(" FAILED").filter(|name| name.contains(" > ") && !name.starts_with('>'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::parse::read;

    // As Gradle 8 writes it with --console=plain.
    #[test]
    fn failures_are_counted() {
        let out = "> Task :compileJava\n> Task :test FAILED\n\nATest > bad FAILED\n    org.junit.ComparisonFailure at \
                   ATest.java:5\n\n3 tests completed, 1 failed, 1 skipped\n";
        let parsed = read(parse, Kind::Test, [out, ""]);
        assert_eq!(parsed.counts, Some(Counts { passed: 1, failed: 1, skipped: 1 }));
        let [bad] = parsed.findings.as_slice() else { panic!("{:?}", parsed.findings) };
        assert_eq!((bad.test.as_deref(), bad.line), (Some("ATest > bad"), Some(5)));
    }

    #[test]
    fn a_task_that_ran_is_evidence_without_a_count() {
        let parsed = read(parse, Kind::Test, ["> Task :app:test\nBUILD SUCCESSFUL in 3s\n", ""]);
        assert_eq!((parsed.counts, parsed.evidence.len()), (None, 1));
        let parsed = read(parse, Kind::Test, ["> Task :test NO-SOURCE\nBUILD SUCCESSFUL in 3s\n", ""]);
        assert!(parsed.evidence.is_empty() && parsed.nothing.is_some());
    }
}
