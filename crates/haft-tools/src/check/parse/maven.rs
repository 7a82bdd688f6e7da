//! Maven: surefire's sums and failures, the compiler's errors.

use super::{Parsed, Said, plain::after};
use crate::check::{
    finding::{Counts, Finding, Severity, Spot},
    runner::Kind,
};

pub(super) fn parse(said: &Said<'_>) -> Parsed {
    let mut parsed = if said.kind == Kind::Test { tests(said) } else { Parsed::default() };
    parsed.findings.extend(said.lines().filter_map(compiled));
    parsed
}

/// `[ERROR] /w/B.java:[1,21] incompatible types`.
fn compiled(line: &str) -> Option<Finding> {
    let (severity, rest) = match (line.strip_prefix("[ERROR] "), line.strip_prefix("[WARNING] ")) {
        (Some(rest), _) => (Severity::Error, rest),
        (None, Some(rest)) => (Severity::Warning, rest),
        (None, None) => return None,
    };
    let (file, rest) = rest.split_once(":[")?;
    let (place, message) = rest.split_once("] ")?;
    let (line, column) = place.split_once(',')?;
    let spot = Spot { file: file.to_owned(), line: Some(line.parse().ok()?), column: column.parse().ok() };
    Some(Finding::new(severity, message.trim()).at(spot))
}

/// What surefire says beneath `Results`: its sum has no time, unlike that of each class.
pub(super) fn tests(said: &Said<'_>) -> Parsed {
    let mut parsed = Parsed::default();
    let mut is_list = false;
    for line in said.lines() {
        let text = unlabelled(line);
        if text.starts_with("Tests run: ") && !text.contains("Time elapsed") && !text.contains("- in ") {
            is_list = false;
            if let Some(counts) = sum(text) {
                parsed.count(counts, text);
            }
        } else if matches!(text, "Failures:" | "Errors:" | "Failed tests:") {
            is_list = true;
        } else if text == "No tests to run." {
            parsed.nothing(text);
        } else if is_list {
            parsed.findings.extend(listed(text));
        }
    }
    if parsed.counts.is_some() {
        parsed.nothing = None;
    }
    parsed
}

fn unlabelled(line: &str) -> &str {
    let labels = ["[ERROR] ", "[WARNING] ", "[INFO] "];
    labels.iter().find_map(|label| line.strip_prefix(label)).unwrap_or(line).trim()
}

fn sum(text: &str) -> Option<Counts> {
    let run = after(text, "Tests run: ")?;
    let failed = after(text, "Failures: ")?.saturating_add(after(text, "Errors: ")?);
    let skipped = after(text, "Skipped: ").unwrap_or_default();
    Some(Counts { passed: run.saturating_sub(failed).saturating_sub(skipped), failed, skipped })
}

/// `ATest.bad:5 expected:<1> but was:<2>`; later lines of a message have no such place.
fn listed(text: &str) -> Option<Finding> {
    let (place, message) = text.split_once(' ').unwrap_or((text, "failed"));
    // A call that went through helpers is written `ATest.bad:5->helper:9`.
    let (name, line) = place.rsplit("->").next()?.rsplit_once(':')?;
    let line = line.parse().ok()?;
    let test = place.split([':', '-']).next().unwrap_or(name);
    if !test.contains('.') {
        return None;
    }
    let class = test.split('.').next().unwrap_or(test);
    let spot = Spot { file: format!("{class}.java"), line: Some(line), column: None };
    Some(Finding::of_test(test, message.trim()).at(spot))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::parse::read;

    // As surefire 3 writes it.
    const FAILED: &str = "[INFO]  T E S T S\n[INFO] Running ATest\n\
        [ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1, Time elapsed: 0.05 s <<< FAILURE! - in ATest\n\
        [INFO] Results:\n[INFO] \n[ERROR] Failures: \n[ERROR]   ATest.bad:3 expected:<1> but was:<2>\n[INFO] \n\
        [ERROR] Tests run: 3, Failures: 1, Errors: 0, Skipped: 1\n[INFO] BUILD FAILURE\n";

    #[test]
    fn surefires_sum_is_counted_once() {
        let parsed = read(parse, Kind::Test, [FAILED, ""]);
        assert_eq!(parsed.counts, Some(Counts { passed: 1, failed: 1, skipped: 1 }));
        let [bad] = parsed.findings.as_slice() else { panic!("{:?}", parsed.findings) };
        assert_eq!((bad.test.as_deref(), bad.line), (Some("ATest.bad"), Some(3)));
        assert_eq!(bad.message, "expected:<1> but was:<2>");
    }

    #[test]
    fn a_build_that_never_came_to_tests_has_none() {
        let out = "[INFO] BUILD FAILURE\n[ERROR] Plugin org.apache.maven.plugins:maven-resources-plugin:2.6 or one of \
                   its dependencies could not be resolved: Unknown host repo.maven.apache.org\n";
        assert_eq!(read(parse, Kind::Test, [out, ""]), Parsed::default());
        assert!(read(parse, Kind::Test, ["[INFO] No tests to run.\n", ""]).nothing.is_some());
    }

    #[test]
    fn the_compilers_errors_have_places() {
        let out =
            "[ERROR] /w/src/main/java/B.java:[1,21] incompatible types: String cannot be converted to int\n";
        let parsed = read(parse, Kind::Typecheck, [out, ""]);
        assert_eq!((parsed.findings[0].line, parsed.findings[0].column), (Some(1), Some(21)));
    }
}
