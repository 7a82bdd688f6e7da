//! `CTest`'s list and sum; of a build what compilers say.

use super::{
    Parsed, Said, compiler,
    plain::{after, number},
};
use crate::check::{
    finding::{Counts, Finding},
    runner::Kind,
};

pub(super) fn parse(said: &Said<'_>) -> Parsed {
    if said.kind == Kind::Build {
        return Parsed { findings: compiler::places(said.lines()), ..Parsed::default() };
    }
    let mut parsed = Parsed::default();
    let mut skipped = 0;
    let mut is_list = false;
    for line in said.lines() {
        if line.contains("***Skipped") || line.contains("***Not Run (Disabled)") {
            skipped += 1;
        } else if line.contains("% tests passed") {
            let (Some(failed), Some(total)) = (failed(line), after(line, "out of ")) else {
                continue;
            };
            let passed = total.saturating_sub(failed).saturating_sub(skipped);
            parsed.count(Counts { passed, failed, skipped }, line);
        } else if line.starts_with("The following tests FAILED") {
            is_list = true;
        } else if line.starts_with("No tests were found") {
            parsed.nothing(line);
        } else if is_list {
            match listed(line) {
                Some(finding) => parsed.findings.push(finding),
                None => is_list = line.is_empty(),
            }
        }
    }
    parsed
}

/// The 2 of `50% tests passed, 2 tests failed out of 4`; newer versions leave out that none failed.
fn failed(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once(" passed")?;
    let Some(rest) = rest.strip_prefix(", ") else { return Some(0) };
    number(rest).map(|(number, _)| number)
}

/// `  2 - bad (Failed)`.
fn listed(line: &str) -> Option<Finding> {
    let (_, rest) = number(line.trim_start())?;
    let (name, how) = rest.strip_prefix(" - ")?.rsplit_once(" (")?;
    let how = how.split(')').next().unwrap_or(how);
    let message = if how == "Failed" { "failed".to_owned() } else { format!("ended with {how}") };
    Some(Finding::of_test(name, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::parse::read;

    #[test]
    fn a_sum_without_failures_is_read_in_both_forms() {
        for sum in ["100% tests passed, 0 tests failed out of 3", "100% tests passed out of 3"] {
            let parsed = read(parse, Kind::Test, [sum, ""]);
            assert_eq!(parsed.counts, Some(Counts { passed: 3, failed: 0, skipped: 0 }), "{sum}");
        }
    }

    #[test]
    fn failures_crashes_and_skips_are_told_apart() {
        let out = "1/4 Test #1: good .............................   Passed    0.00 sec\n\
            2/4 Test #2: bad ..............................***Failed    0.00 sec\nwrong\n\n\
            3/4 Test #3: dead .............................***Exception: SegFault  0.00 sec\n\n\
            4/4 Test #4: skip .............................***Skipped   0.00 sec\n\n\
            50% tests passed, 2 tests failed out of 4\n\nTotal Test time (real) =   0.01 sec\n\n\
            The following tests did not run:\n\t  4 - skip (Skipped)\n\n\
            The following tests FAILED:\n\t  2 - bad (Failed)\n\t  3 - dead (SEGFAULT)\n";
        let parsed = read(parse, Kind::Test, [out, "Errors while running CTest\n"]);
        assert_eq!(parsed.counts, Some(Counts { passed: 1, failed: 2, skipped: 1 }));
        let said: Vec<_> = parsed.findings.iter().map(|finding| finding.message.as_str()).collect();
        assert_eq!(said, ["failed", "ended with SEGFAULT"]);
    }

    #[test]
    fn no_tests_are_said() {
        let parsed = read(parse, Kind::Test, ["Test project /w/build\n", "No tests were found!!!\n"]);
        assert_eq!((parsed.counts, parsed.nothing.as_deref()), (None, Some("No tests were found!!!")));
    }
}
