//! pytest: the sum, the short summary, and where each failure happened.

use super::{
    Parsed, Said,
    plain::{before, spot},
};
use crate::check::finding::{Counts, Finding, Spot};
use std::collections::HashMap;

pub(super) fn parse(said: &Said<'_>) -> Parsed {
    let mut parsed = Parsed::default();
    let details = details(said.out);
    for line in said.out.lines() {
        if let Some(sum) = sum(line) {
            if let Some(counts) = counts(sum) {
                parsed.count(counts, line);
            } else if sum.starts_with("no tests ran") || before(sum, "deselected").is_some() {
                parsed.nothing(sum);
            }
        } else if let Some(finding) = summary(line, &details) {
            parsed.findings.push(finding);
        }
    }
    parsed
}

/// The text of `=== 1 failed in 0.03s ===`, or the same without signs.
fn sum(line: &str) -> Option<&str> {
    let text = line.trim_matches(['=', ' ']);
    let (_, time) = text.rsplit_once(" in ")?;
    let time = time.split(' ').next().unwrap_or_default();
    let is_time = time.strip_suffix('s').is_some_and(|time| time.parse::<f64>().is_ok());
    let is_sum = text.starts_with(|c: char| c.is_ascii_digit()) || text.starts_with("no tests ran");
    (is_time && is_sum).then_some(text)
}

/// None where no test ran.
fn counts(sum: &str) -> Option<Counts> {
    let number = |word| before(sum, word).unwrap_or_default();
    let counts = Counts {
        passed: number("passed") + number("xfailed") + number("xpassed"),
        failed: number("failed") + number("error") + number("errors"),
        skipped: number("skipped"),
    };
    (counts != Counts::default()).then_some(counts)
}

/// What stands beneath the title of a failure.
#[derive(Debug, Default)]
struct Detail {
    /// The last place in the project.
    spot: Option<Spot>,
    /// The first line of the error.
    message: Option<String>,
}

fn details(out: &str) -> HashMap<String, Detail> {
    let mut details: HashMap<String, Detail> = HashMap::new();
    let mut title: Option<String> = None;
    for line in out.lines() {
        if let Some(name) = line.strip_prefix('_').and_then(|_| line.strip_suffix('_')) {
            // `_ _ _` parts the frames of one failure.
            let name = name.trim_matches(['_', ' ']);
            if !name.is_empty() {
                title = Some(name.to_owned());
            }
            continue;
        }
        if line.starts_with("===") {
            title = None;
        }
        let Some(title) = &title else { continue };
        let detail = details.entry(title.clone()).or_default();
        if let Some(message) = line.strip_prefix("E  ") {
            detail.message.get_or_insert_with(|| message.trim().to_owned());
        } else if let Some((spot, _)) = spot(line).filter(|(spot, _)| is_own(&spot.file)) {
            detail.spot = Some(spot);
        }
    }
    details
}

/// Libraries are shown by their whole paths.
fn is_own(file: &str) -> bool {
    !file.starts_with('/') && !file.contains("site-packages")
}

/// `FAILED test_a.py::T::test_bad - AssertionError: 1 != 2`, `ERROR test_b.py`.
fn summary(line: &str, details: &HashMap<String, Detail>) -> Option<Finding> {
    let (rest, is_error) = match (line.strip_prefix("FAILED "), line.strip_prefix("ERROR ")) {
        (Some(rest), _) => (rest, false),
        (None, Some(rest)) => (rest, true),
        (None, None) => return None,
    };
    let (id, said) = match rest.split_once(" - ") {
        Some((id, said)) => (id, Some(said)),
        None => (rest, None),
    };
    let file = id.split("::").next().unwrap_or(id);
    if file.rsplit_once('.').is_none_or(|(_, kind)| kind != "py") && !id.contains("::") {
        return None;
    }
    let name = id.split("::").skip(1).collect::<Vec<_>>().join(".");
    let titles = if is_error {
        vec![
            format!("ERROR collecting {id}"),
            format!("ERROR at setup of {name}"),
            format!("ERROR at teardown of {name}"),
        ]
    } else {
        vec![name]
    };
    let detail = titles.iter().find_map(|title| details.get(title));
    let message = detail.and_then(|detail| detail.message.as_deref()).or(said).unwrap_or("failed");
    let spot = detail.and_then(|detail| detail.spot.clone());
    let spot = spot.unwrap_or_else(|| Spot { file: file.to_owned(), line: None, column: None });
    Some(Finding::of_test(id, message).at(spot))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{parse::read, runner::Kind};

    #[test]
    fn failures_are_found_with_their_places() {
        let out = "collected 4 items\n\ntest_a.py FF.s                                   [100%]\n\n\
            =================================== FAILURES ===================================\n\
            __________________________________ T.test_bad __________________________________\n\
            test_a.py:4: in test_bad\n    def test_bad(self): self.assertEqual(1, 2)\n\
            /usr/lib/python3.11/unittest/case.py:873: in assertEqual\n    assertion_func(first, second, msg=msg)\n\
            E   AssertionError: 1 != 2\n\
            =========================== short test summary info ============================\n\
            FAILED test_a.py::T::test_bad - AssertionError: 1 != 2\n\
            FAILED test_a.py::T::test_err - ValueError: no\n\
            ==================== 2 failed, 1 passed, 1 skipped in 0.02s ====================\n";
        let parsed = read(parse, Kind::Test, [out, ""]);
        assert_eq!(parsed.counts, Some(Counts { passed: 1, failed: 2, skipped: 1 }));
        let [bad, err] = parsed.findings.as_slice() else { panic!("{:?}", parsed.findings) };
        assert_eq!((bad.file.as_deref(), bad.line), (Some("test_a.py"), Some(4)));
        assert_eq!(
            (bad.test.as_deref(), bad.message.as_str()),
            (Some("test_a.py::T::test_bad"), "AssertionError: 1 != 2")
        );
        assert_eq!((err.line, err.message.as_str()), (None, "ValueError: no"));
    }

    #[test]
    fn files_that_cannot_be_imported_are_failures() {
        let out = "==================================== ERRORS ====================================\n\
            __________________________ ERROR collecting test_b.py __________________________\n\
            ImportError while importing test module '/w/test_b.py'.\ntest_b.py:1: in <module>\n    import nope\n\
            E   ModuleNotFoundError: No module named 'nope'\n\
            =========================== short test summary info ============================\nERROR test_b.py\n\
            !!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!\n\
            =============================== 1 error in 0.09s ===============================\n";
        let parsed = read(parse, Kind::Test, [out, ""]);
        assert_eq!(parsed.counts, Some(Counts { failed: 1, ..Counts::default() }));
        let [only] = parsed.findings.as_slice() else { panic!("{:?}", parsed.findings) };
        assert_eq!(
            (only.line, only.message.as_str()),
            (Some(1), "ModuleNotFoundError: No module named 'nope'")
        );
    }

    #[test]
    fn no_tests_are_no_count() {
        let out = "collected 0 items\n\n============================ no tests ran in 0.00s =============================\n";
        let parsed = read(parse, Kind::Test, [out, ""]);
        assert_eq!((parsed.counts, parsed.nothing.as_deref()), (None, Some("no tests ran in 0.00s")));
        assert_eq!(read(parse, Kind::Test, ["3 files checked in 2 minutes\n", ""]), Parsed::default());
        assert_eq!(
            read(parse, Kind::Test, ["2 passed, 1 deselected in 61.20s (0:01:01)\n", ""]).counts,
            Some(Counts { passed: 2, ..Counts::default() })
        );
    }
}
