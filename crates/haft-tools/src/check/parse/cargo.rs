//! cargo: messages as JSON, libtest's text, rustfmt's differences.

use super::{
    Parsed, Said,
    plain::{before, number, spot},
};
use crate::check::{
    finding::{Counts, Finding, Severity, Spot},
    runner::Kind,
};
use crate::glob::counted;
use serde::Deserialize;

/// Lines of a failed test's message that are kept.
const MESSAGE_MAX_LINES: usize = 4;

pub(super) fn parse(said: &Said<'_>) -> Parsed {
    let mut parsed = if said.kind == Kind::Test { tests(said) } else { Parsed::default() };
    if said.kind == Kind::Test {
        targets(said, &mut parsed);
    }
    for line in said.out.lines() {
        if let Some(message) = line.strip_prefix('{').and_then(|_| serde_json::from_str::<Message>(line).ok())
        {
            message.tell(said.kind, &mut parsed);
        } else if let Some(spot) = difference(line) {
            parsed.findings.push(Finding::error("not formatted").at(spot));
        }
    }
    parsed
}

/// One line of `--message-format=json`, as far as it matters.
#[derive(Deserialize)]
#[allow(clippy::struct_field_names, reason = "the names on the wire")]
struct Message {
    reason: String,
    success: Option<bool>,
    message: Option<Diagnostic>,
}

#[derive(Deserialize)]
struct Diagnostic {
    level: String,
    message: String,
    code: Option<Code>,
    #[serde(default)]
    spans: Vec<Span>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    line_start: u64,
    column_start: u64,
    is_primary: bool,
}

impl Message {
    fn tell(self, kind: Kind, parsed: &mut Parsed) {
        // Of tests it shows nothing that they were built.
        if kind != Kind::Test && self.reason == "build-finished" && self.success == Some(true) {
            parsed.evidence.push("build finished".to_owned());
        }
        let Some(diagnostic) = self.message.filter(|_| self.reason == "compiler-message") else { return };
        let severity = match diagnostic.level.as_str() {
            "error" | "error: internal compiler error" => Severity::Error,
            "warning" => Severity::Warning,
            _ => return,
        };
        // Sums of what was said before have no place.
        let is_sum = diagnostic.spans.is_empty()
            && (diagnostic.message.starts_with("aborting due to")
                || diagnostic.message.ends_with(" emitted"));
        if is_sum {
            return;
        }
        let span = diagnostic.spans.into_iter().find(|span| span.is_primary);
        let spot = span.map(|span| Spot {
            file: span.file_name,
            line: Some(span.line_start),
            column: Some(span.column_start),
        });
        let finding = Finding::new(severity, diagnostic.message).at_some(spot);
        parsed.findings.push(finding.with_code(diagnostic.code.map(|code| code.code)));
    }
}

/// What cargo itself says of test targets, beside what libtest prints in them.
///
/// A target without libtest's harness prints what it likes: that it ran, and whether it failed, is cargo's word.
fn targets(said: &Said<'_>, parsed: &mut Parsed) {
    let ran = said.err.lines().filter_map(target).collect::<Vec<&str>>();
    let mut failed = said.err.lines().filter_map(failed_target).collect::<Vec<&str>>();
    failed.dedup();
    let lines_that = |is: fn(&str) -> bool| said.out.lines().filter(|line| is(line)).count();
    let begun = lines_that(begins);
    let ended = lines_that(|line| line.starts_with("test result: "));
    let told_failed = lines_that(|line| line.starts_with("test result: FAILED"));
    let cut = begun.saturating_sub(ended);
    if cut > 0 {
        // `exit` in a test ends its process with a status of its own.
        parsed.findings.push(Finding::of_test(
            "a test binary",
            "it began its tests and never said how they went: its process ended before",
        ));
        let failed = u64::try_from(cut).unwrap_or(u64::MAX);
        parsed.counts = Counts::sum(parsed.counts, Some(Counts { failed, ..Counts::default() }));
    }
    let bare = ran.len().saturating_sub(begun);
    let bare_failed = failed.len().saturating_sub(told_failed).saturating_sub(cut).min(bare);
    if bare_failed > 0 {
        let names = failed.join(", ");
        let message = if told_failed + cut == 0 {
            "its process failed; it doesn't say which of its tests did".to_owned()
        } else {
            format!("{bare_failed} of these failed without saying which of its tests did")
        };
        parsed.findings.push(Finding::of_test(names, message));
    }
    if bare > bare_failed {
        let count = u64::try_from(bare - bare_failed).unwrap_or(u64::MAX);
        let names = if begun == 0 { ran.join(", ") } else { counted(count, "test target") };
        parsed.evidence.push(format!("without a count of their own, these ended well: {names}"));
    }
    if bare > 0 && parsed.counts.is_some_and(|counts| counts.ran() == 0) {
        // Nothing that could be counted isn't nothing that ran.
        parsed.counts = None;
    }
}

/// `     Running tests/more.rs (target/debug/deps/more-1a2b)`, `   Doc-tests name`.
fn target(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let running = line.strip_prefix("Running ").filter(|rest| rest.ends_with(')'));
    let running = running.and_then(|rest| rest.rsplit_once(" (")).map(|(path, _)| path);
    running.or_else(|| line.strip_prefix("Doc-tests "))
}

/// The target of "error: test failed, to rerun pass --test more", in the quotes of any version.
fn failed_target(line: &str) -> Option<&str> {
    let rest = line
        .strip_prefix("error: test failed, to rerun pass ")
        .or_else(|| line.strip_prefix("error: doctest failed, to rerun pass "))?;
    let rest = rest.trim_start_matches(['`', '\'']);
    Some(rest.split(['`', '\'']).next().unwrap_or(rest))
}

/// `running 3 tests`, before the tests of one binary.
fn begins(line: &str) -> bool {
    let rest = line.strip_prefix("running ").and_then(number);
    rest.is_some_and(|(_, rest)| matches!(rest, " test" | " tests"))
}

/// `Diff in src/lib.rs:3:`, of older versions `Diff in src/lib.rs at line 3:`.
fn difference(line: &str) -> Option<Spot> {
    let rest = line.strip_prefix("Diff in ")?.trim_end_matches(':');
    let (file, number) = rest.rsplit_once(" at line ").or_else(|| rest.rsplit_once(':'))?;
    Some(Spot { file: file.to_owned(), line: Some(number.parse().ok()?), column: None })
}

/// libtest's text: of each binary its failures and its sum.
pub(super) fn tests(said: &Said<'_>) -> Parsed {
    let mut parsed = Parsed::default();
    let mut failed: Vec<&str> = Vec::new();
    let mut reports: Vec<Report<'_>> = Vec::new();
    let mut is_in_report = false;
    for line in said.out.lines() {
        if let Some(sum) = line.strip_prefix("test result: ") {
            let number = |word| before(sum, word).unwrap_or_default();
            if before(sum, "passed").is_some() {
                let counts =
                    Counts { passed: number("passed"), failed: number("failed"), skipped: number("ignored") };
                parsed.count(counts, line);
            }
            for name in failed.drain(..) {
                let report = reports.iter().find(|report| report.name == name);
                parsed
                    .findings
                    .push(report.map_or_else(|| Finding::of_test(name, "failed"), Report::finding));
            }
            reports.clear();
            is_in_report = false;
        } else if let Some(name) =
            line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED"))
        {
            failed.push(name.strip_suffix(" - should panic").unwrap_or(name));
        } else if let Some(name) =
            line.strip_prefix("---- ").and_then(|rest| rest.strip_suffix(" stdout ----"))
        {
            let name = name.strip_suffix(" - should panic").unwrap_or(name);
            reports.push(Report { name, lines: Vec::new() });
            is_in_report = true;
        } else if line == "failures:" {
            is_in_report = false;
        } else if let Some(report) = reports.last_mut().filter(|_| is_in_report) {
            report.lines.push(line);
        }
    }
    // A binary that was ended in the middle of its tests gives no sum.
    parsed.findings.extend(failed.into_iter().map(|name| Finding::of_test(name, "failed")));
    parsed
}

/// What a failed test printed.
struct Report<'a> {
    name: &'a str,
    lines: Vec<&'a str>,
}

impl Report<'_> {
    fn finding(&self) -> Finding {
        let panicked = self.lines.iter().position(|line| line.contains(" panicked at "));
        if let Some(at) = panicked {
            let line = self.lines.get(at).copied().unwrap_or_default();
            let place = line.split_once(" panicked at ").map_or("", |(_, place)| place);
            let spot = spot(place).map(|(spot, _)| spot);
            let rest = self.lines.iter().skip(at + 1);
            let is_over = |line: &&&str| {
                line.is_empty() || line.starts_with("stack backtrace:") || line.starts_with("note: ")
            };
            let message: Vec<&str> = rest
                .take_while(|line| !is_over(line))
                .take(MESSAGE_MAX_LINES)
                .map(|line| line.trim())
                .collect();
            let message = if message.is_empty() { place.to_owned() } else { message.join("; ") };
            return Finding::of_test(self.name, message).at_some(spot);
        }
        // A doc test that doesn't compile, a test that returned an error or didn't panic.
        let first = |prefix: &str| self.lines.iter().find(|line| line.trim_start().starts_with(prefix));
        let message = first("error").or_else(|| first("Error: ")).or_else(|| first("note: "));
        let message = message.or_else(|| self.lines.iter().find(|line| !line.trim().is_empty()));
        let arrow = first("--> ").and_then(|line| line.trim_start().strip_prefix("--> "));
        Finding::of_test(self.name, message.map_or("failed", |line| line.trim()))
            .at_some(arrow.and_then(spot).map(|(spot, _)| spot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::parse::read;

    const TESTS: &str = "{\"reason\":\"build-finished\",\"success\":true}\n\
        \nrunning 3 tests\ntest tests::good ... ok\ntest tests::later ... ignored\ntest tests::bad ... FAILED\n\
        \nfailures:\n\n---- tests::bad stdout ----\n\n\
        thread 'tests::bad' (32091) panicked at src/lib.rs:13:16:\n\
        assertion `left == right` failed: doubling\n  left: 4\n right: 5\nstack backtrace:\n   0: c1::tests::bad\n\n\
        \nfailures:\n    tests::bad\n\n\
        test result: FAILED. 1 passed; 1 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.07s\n\n\
        \nrunning 1 test\ntest outer ... ok\n\n\
        test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n\
        \nrunning 1 test\ntest src/lib.rs - double (line 3) ... FAILED\n\nfailures:\n\n\
        ---- src/lib.rs - double (line 3) stdout ----\nTest executable failed (exit status: 101).\n\nstderr:\n\n\
        thread 'main' (32111) panicked at src/lib.rs:5:1:\nassertion `left == right` failed\n  left: 2\n right: 3\n\n\
        \nfailures:\n    src/lib.rs - double (line 3)\n\n\
        test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.14s\n";

    #[test]
    fn several_binaries_and_doc_tests_add_up() {
        let parsed = read(parse, Kind::Test, [TESTS, ""]);
        assert_eq!(parsed.counts, Some(Counts { passed: 2, failed: 2, skipped: 1 }));
        // That it was built is none.
        assert_eq!(parsed.evidence.len(), 3);
        let [bad, doc] = parsed.findings.as_slice() else { panic!("{:?}", parsed.findings) };
        assert_eq!(bad.test.as_deref(), Some("tests::bad"));
        assert_eq!((bad.file.as_deref(), bad.line, bad.column), (Some("src/lib.rs"), Some(13), Some(16)));
        assert_eq!(bad.message, "assertion `left == right` failed: doubling; left: 4; right: 5");
        assert_eq!(doc.test.as_deref(), Some("src/lib.rs - double (line 3)"));
        assert_eq!(
            (doc.line, doc.message.as_str()),
            (Some(5), "assertion `left == right` failed; left: 2; right: 3")
        );
    }

    #[test]
    fn no_test_at_all_is_counted_as_none() {
        let out = "\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; \
                   finished in 0.00s\n";
        assert_eq!(read(parse, Kind::Test, [out, ""]).counts, Some(Counts::default()));
        assert_eq!(read(parse, Kind::Test, ["", "error: could not compile"]).counts, None);
    }

    const NONE: &str = "\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; \
        finished in 0.00s\n";
    const RAN: &str = "     Running unittests src/lib.rs (target/debug/deps/fixture-1a2b)\n     \
        Running tests/own.rs (target/debug/deps/own-3c4d)\n";

    #[test]
    fn a_target_without_a_harness_is_known_by_cargos_word() {
        let failed = format!(
            "{RAN}error: test failed, to rerun pass `--test own`\n   Doc-tests fixture\nerror: 1 target failed:\n    \
             `--test own`\n"
        );
        let out = format!("{NONE}own output\n{NONE}");
        let parsed = read(parse, Kind::Test, [&out, &failed]);
        assert_eq!(parsed.counts, None);
        let [only] = parsed.findings.as_slice() else { panic!("{:?}", parsed.findings) };
        assert_eq!(only.test.as_deref(), Some("--test own"));
        let well = format!("{RAN}   Doc-tests fixture\n");
        let parsed = read(parse, Kind::Test, [&out, &well]);
        assert!(parsed.findings.is_empty() && parsed.counts.is_none(), "{parsed:?}");
        assert!(parsed.evidence.iter().any(|line| line.contains("ended well")), "{parsed:?}");
        // With a harness in all of them there is nothing to add.
        let all = format!("{NONE}{NONE}{NONE}");
        assert_eq!(read(parse, Kind::Test, [&all, &well]).counts, Some(Counts::default()));
    }

    #[test]
    fn a_binary_that_ends_within_its_tests_has_failed() {
        let out = "\nrunning 2 tests\ntest a ... ok\n";
        let err = "     Running unittests src/lib.rs (target/debug/deps/fixture-1a2b)\n";
        let parsed = read(parse, Kind::Test, [out, err]);
        assert_eq!(parsed.counts, Some(Counts { failed: 1, ..Counts::default() }));
        assert!(parsed.findings[0].message.contains("never said"), "{:?}", parsed.findings);
    }

    #[test]
    fn messages_say_where_what_and_which_rule() {
        let out = concat!(
            r#"{"reason":"compiler-message","message":{"level":"error","message":"mismatched types","#,
            r#""spans":[{"file_name":"src/x.rs","line_start":9,"column_start":1,"is_primary":false},"#,
            r#"{"file_name":"src/lib.rs","line_start":1,"column_start":21,"is_primary":true}],"#,
            r#""code":{"code":"E0308","explanation":"long"}}}"#,
            "\n",
            r#"{"reason":"compiler-message","message":{"level":"failure-note","message":"For more","spans":[],"#,
            r#""code":null}}"#,
            "\n",
            r#"{"reason":"compiler-message","message":{"level":"warning","message":"1 warning emitted","spans":[],"#,
            r#""code":null}}"#,
            "\n",
            r#"{"reason":"build-finished","success":false}"#,
            "\n"
        );
        let parsed = read(parse, Kind::Build, [out, ""]);
        let [only] = parsed.findings.as_slice() else { panic!("{:?}", parsed.findings) };
        assert_eq!((only.file.as_deref(), only.line, only.column), (Some("src/lib.rs"), Some(1), Some(21)));
        assert_eq!((only.severity, only.code.as_deref()), (Severity::Error, Some("E0308")));
        assert!(parsed.evidence.is_empty() && parsed.counts.is_none());
    }

    #[test]
    fn differences_of_rustfmt_are_findings() {
        let out = "Diff in /w/c1/src/lib.rs:3:\n /// ```\n-pub fn f() { }\nDiff in /w/b.rs at line 10:\n";
        let parsed = read(parse, Kind::Format, [out, ""]);
        let lines: Vec<_> =
            parsed.findings.iter().map(|finding| (finding.file.as_deref(), finding.line)).collect();
        assert_eq!(lines, [(Some("/w/c1/src/lib.rs"), Some(3)), (Some("/w/b.rs"), Some(10))]);
    }
}
