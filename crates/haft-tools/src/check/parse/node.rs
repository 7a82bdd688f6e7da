//! `node --test` and others that speak TAP, and node's own form for people.

use super::{
    Parsed, Said,
    plain::{number, spot},
};
use crate::check::finding::{Counts, Finding};

pub(super) fn parse(said: &Said<'_>) -> Parsed {
    let mut parsed = Parsed { findings: failures(said.out), ..Parsed::default() };
    if let Some(counts) = sums(said.out, &mut parsed) {
        parsed.counts = Some(counts);
    } else if let Some((counts, plan)) = lines(said.out) {
        parsed.count(counts, plan);
    }
    parsed
}

/// node's sums at the end: `# pass 1`, or `ℹ pass 1`. Several where a script starts it several times.
fn sums(out: &str, parsed: &mut Parsed) -> Option<Counts> {
    let mut counts = Counts::default();
    let mut is_whole = false;
    let mut evidence = Vec::new();
    for line in out.lines() {
        let Some(rest) = line.strip_prefix("# ").or_else(|| line.strip_prefix("ℹ ")) else { continue };
        let Some((word, value)) = rest.split_once(' ') else { continue };
        let Ok(value) = value.parse::<u64>() else { continue };
        match word {
            "pass" => counts.passed += value,
            "fail" | "cancelled" => counts.failed += value,
            "skipped" | "todo" => counts.skipped += value,
            "tests" => evidence.push(line.to_owned()),
            _ => continue,
        }
        is_whole |= word == "fail";
    }
    if is_whole {
        parsed.evidence.extend(evidence);
    }
    is_whole.then_some(counts)
}

/// Of other TAP the lines that aren't indented, where there is a plan.
fn lines(out: &str) -> Option<(Counts, &str)> {
    let is_plan = |line: &&str| {
        line.strip_prefix("1..")
            .and_then(number)
            .is_some_and(|(_, rest)| rest.trim().is_empty() || rest.trim_start().starts_with('#'))
    };
    let plan = out.lines().find(is_plan)?;
    let mut counts = Counts::default();
    for line in out.lines() {
        let (is_ok, rest) = match (line.strip_prefix("ok "), line.strip_prefix("not ok ")) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            (None, None) => continue,
        };
        let directive = rest.rsplit_once(" # ").map_or("", |(_, word)| word).to_ascii_lowercase();
        if directive.starts_with("skip") || directive.starts_with("todo") {
            counts.skipped += 1;
        } else if is_ok {
            counts.passed += 1;
        } else {
            counts.failed += 1;
        }
    }
    Some((counts, plan))
}

/// `not ok 2 - name` with the lines beneath it. One that only holds others that failed is left out.
fn failures(out: &str) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let mut is_error_next = false;
    let mut is_failing = false;
    for line in out.lines() {
        let text = line.trim_start();
        if let Some(rest) = text.strip_prefix("not ok ") {
            let is_waived =
                [" # SKIP", " # TODO", " # skip", " # todo"].iter().any(|word| rest.contains(word));
            is_failing = !is_waived;
            let name = number(rest).map_or(rest, |(_, name)| name).trim_start_matches([' ', '-']);
            if is_failing {
                findings.push(Finding::of_test(name, "failed"));
            }
            is_error_next = false;
            continue;
        }
        if text.starts_with("ok ") {
            is_failing = false;
        }
        let Some(finding) = findings.last_mut().filter(|_| is_failing) else { continue };
        if is_error_next {
            // The first line of a block of text.
            text.trim_end_matches(':').clone_into(&mut finding.message);
            is_error_next = false;
        } else if let Some(place) = text.strip_prefix("location: ") {
            let place = place.trim_matches('\'');
            if let Some((spot, _)) = spot(place.strip_prefix("file://").unwrap_or(place)) {
                *finding = finding.clone().at(spot);
            }
        } else if let Some(error) = text.strip_prefix("error: ") {
            is_error_next = error.starts_with('|') || error.starts_with('>');
            if !is_error_next {
                error.trim_matches(['\'', '"']).clone_into(&mut finding.message);
            }
        }
    }
    findings.retain(|finding| !is_of_subtests(&finding.message));
    findings
}

/// What node says of a test whose parts failed.
fn is_of_subtests(message: &str) -> bool {
    number(message).is_some_and(|(_, rest)| matches!(rest, " subtest failed" | " subtests failed"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{parse::read, runner::Kind};

    const NODE: &str = "TAP version 13\n# Subtest: good\nok 1 - good\n  ---\n  duration_ms: 1.236197\n  ...\n\
        # Subtest: bad\nnot ok 2 - bad\n  ---\n  duration_ms: 1.063884\n  location: '/w/n/a.test.js:2:25'\n\
        \x20 failureType: 'testCodeFailure'\n  error: |-\n    Expected values to be strictly equal:\n    \n    1 !== 2\n\
        \x20   \n  code: 'ERR_ASSERTION'\n  ...\n# Subtest: later\nok 3 - later # SKIP\n  ---\n  duration_ms: 0.1\n  ...\n\
        1..3\n# tests 3\n# suites 0\n# pass 1\n# fail 1\n# cancelled 0\n# skipped 1\n# todo 0\n# duration_ms 91.5\n";

    #[test]
    fn nodes_sums_and_failures_are_read() {
        let parsed = read(parse, Kind::Test, [NODE, ""]);
        assert_eq!(parsed.counts, Some(Counts { passed: 1, failed: 1, skipped: 1 }));
        let [bad] = parsed.findings.as_slice() else { panic!("{:?}", parsed.findings) };
        assert_eq!(
            (bad.test.as_deref(), bad.message.as_str()),
            (Some("bad"), "Expected values to be strictly equal")
        );
        assert_eq!((bad.file.as_deref(), bad.line, bad.column), (Some("/w/n/a.test.js"), Some(2), Some(25)));
        let spec = read(parse, Kind::Test, ["ℹ tests 2\nℹ pass 2\nℹ fail 0\nℹ skipped 0\n", ""]);
        assert_eq!(spec.counts, Some(Counts { passed: 2, ..Counts::default() }));
        let none = "TAP version 13\n1..0\n# tests 0\n# pass 0\n# fail 0\n";
        assert_eq!(read(parse, Kind::Test, [none, ""]).counts, Some(Counts::default()));
    }

    #[test]
    fn a_test_whose_parts_failed_is_no_finding_of_its_own() {
        let out = "    not ok 1 - inner\n      ---\n      error: 'boom'\n      ...\nnot ok 1 - outer\n  ---\n  error: '1 \
                   subtest failed'\n  ...\n1..1\n";
        let parsed = read(parse, Kind::Test, [out, ""]);
        let [only] = parsed.findings.as_slice() else { panic!("{:?}", parsed.findings) };
        assert_eq!((only.test.as_deref(), only.message.as_str()), (Some("inner"), "boom"));
    }

    #[test]
    fn plain_tap_is_counted_line_by_line_where_it_has_a_plan() {
        let out = "1..4\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP no net\nnot ok 4 - d # TODO\n";
        let parsed = read(parse, Kind::Test, [out, ""]);
        assert_eq!(parsed.counts, Some(Counts { passed: 1, failed: 1, skipped: 2 }));
        assert_eq!(parsed.findings.len(), 1);
        assert_eq!(read(parse, Kind::Test, ["ok 1 - a\n", ""]).counts, None);
    }
}
