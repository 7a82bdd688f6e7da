//! Python's unittest, which speaks on standard error.

use super::{
    Parsed, Said,
    plain::{after, number},
};
use crate::check::finding::{Counts, Finding, Spot};

pub(super) fn parse(said: &Said<'_>) -> Parsed {
    let mut parsed = Parsed::default();
    let mut ran: Option<u64> = None;
    let mut failure: Option<Finding> = None;
    let mut is_traced = false;
    let lines = said.err.lines().chain(said.out.lines());
    for line in lines {
        if line.starts_with("-----") && failure.is_some() && !is_traced {
            // Between a title, with what its test says of itself, and the trace.
            is_traced = true;
        } else if line.starts_with("=====") || line.starts_with("-----") {
            parsed.findings.extend(failure.take());
        } else if let Some(name) = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: ")) {
            parsed.findings.extend(failure.take());
            failure = Some(Finding::of_test(name, String::new()));
            is_traced = false;
        } else if let Some((number, rest)) = line.strip_prefix("Ran ").and_then(number)
            && rest.starts_with(" test")
        {
            parsed.findings.extend(failure.take());
            ran = Some(number);
        } else if let Some(number) = ran
            && let Some(counts) = sum(line, number)
        {
            parsed.count(counts, &format!("Ran {number}: {line}"));
            ran = None;
        } else if let Some(failure) = failure.as_mut().filter(|_| is_traced) {
            trace(line, failure);
        }
    }
    parsed.findings.extend(failure);
    for finding in parsed.findings.iter_mut().filter(|finding| finding.message.is_empty()) {
        "failed".clone_into(&mut finding.message);
    }
    parsed
}

/// `OK (skipped=1)`, `FAILED (failures=1, errors=1)`, `NO TESTS RAN`.
fn sum(line: &str, ran: u64) -> Option<Counts> {
    let is_sum = ["OK", "FAILED (", "NO TESTS RAN"].iter().any(|word| line.starts_with(word));
    if !is_sum {
        return None;
    }
    let number = |label: &str| {
        let parts = line.split(['(', ',', ')']).map(str::trim);
        parts.filter(|part| part.starts_with(label)).find_map(|part| after(part, label)).unwrap_or_default()
    };
    let failed = number("failures=") + number("errors=") + number("unexpected successes=");
    let skipped = number("skipped=");
    Some(Counts { passed: ran.saturating_sub(failed).saturating_sub(skipped), failed, skipped })
}

/// The innermost place that isn't unittest's, and the last line that isn't indented.
fn trace(line: &str, failure: &mut Finding) {
    if let Some(rest) = line.strip_prefix("  File \"") {
        let Some((file, rest)) = rest.split_once("\", line ") else { return };
        let is_own = !file.contains("/unittest/") && !file.starts_with('<');
        if let Some((line, _)) = number(rest).filter(|_| is_own) {
            let spot = Spot { file: file.to_owned(), line: Some(line), column: None };
            *failure = failure.clone().at(spot);
        }
    } else if !line.is_empty()
        && !line.starts_with([' ', '\t'])
        && !line.starts_with("Traceback ")
        && failure.message.is_empty()
    {
        line.clone_into(&mut failure.message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{parse::read, runner::Kind};

    #[test]
    fn failures_and_errors_are_told_with_their_places() {
        let err = "FE.s\n======================================================================\n\
            ERROR: test_err (test_a.T.test_err)\n\
            ----------------------------------------------------------------------\n\
            Traceback (most recent call last):\n  File \"/w/py/test_a.py\", line 5, in test_err\n\
            \x20   def test_err(self): raise ValueError(\"no\")\n                        ^^^^^^^\nValueError: no\n\n\
            ======================================================================\n\
            FAIL: test_bad (test_a.T.test_bad)\n\
            ----------------------------------------------------------------------\n\
            Traceback (most recent call last):\n  File \"/w/py/test_a.py\", line 4, in test_bad\n\
            \x20   def test_bad(self): self.assertEqual(1, 2)\nAssertionError: 1 != 2\n\n\
            ----------------------------------------------------------------------\nRan 4 tests in 0.001s\n\n\
            FAILED (failures=1, errors=1, skipped=1)\n";
        let parsed = read(parse, Kind::Test, ["", err]);
        assert_eq!(parsed.counts, Some(Counts { passed: 1, failed: 2, skipped: 1 }));
        let [error, fail] = parsed.findings.as_slice() else { panic!("{:?}", parsed.findings) };
        assert_eq!((error.line, error.message.as_str()), (Some(5), "ValueError: no"));
        assert_eq!((fail.line, fail.message.as_str()), (Some(4), "AssertionError: 1 != 2"));
        assert_eq!(fail.test.as_deref(), Some("test_bad (test_a.T.test_bad)"));
        assert_eq!(fail.file.as_deref(), Some("/w/py/test_a.py"));
    }

    #[test]
    fn sums_of_all_kinds_are_read() {
        let counts = |sum: &str| read(parse, Kind::Test, ["", sum]).counts;
        assert_eq!(counts("Ran 0 tests in 0.000s\n\nOK\n"), Some(Counts::default()));
        assert_eq!(counts("Ran 0 tests in 0.000s\n\nNO TESTS RAN\n"), Some(Counts::default()));
        assert_eq!(
            counts("Ran 3 tests in 0.1s\n\nOK (skipped=1, expected failures=1)\n"),
            Some(Counts { passed: 2, failed: 0, skipped: 1 })
        );
        assert_eq!(counts("OK\n"), None);
    }
}
