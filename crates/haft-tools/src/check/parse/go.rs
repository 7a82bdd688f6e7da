//! Go: events of `go test -json`, and what build, vet and gofmt print.

use super::{Parsed, Said, compiler};
use crate::check::{
    finding::{Counts, Finding, Spot},
    runner::Kind,
};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Most lines of a failed test that become its message.
const MESSAGE_MAX_LINES: usize = 3;

pub(super) fn parse(said: &Said<'_>) -> Parsed {
    match said.kind {
        Kind::Test => events(said),
        Kind::Format if said.fix => Parsed::default(),
        Kind::Format => {
            let mut parsed = Parsed { findings: compiler::bare(said.err.lines()), ..Parsed::default() };
            for file in said.out.lines().filter(|line| !line.is_empty()) {
                let spot = Spot { file: file.to_owned(), line: None, column: None };
                parsed.findings.push(Finding::error("not formatted").at(spot));
            }
            parsed
        }
        _ => Parsed { findings: compiler::bare(said.lines()), ..Parsed::default() },
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    #[serde(default)]
    package: String,
    #[serde(default)]
    test: String,
    #[serde(default)]
    output: String,
}

/// How a test went so far.
#[derive(Default)]
struct Course {
    end: Option<String>,
    lines: Vec<String>,
}

fn events(said: &Said<'_>) -> Parsed {
    let mut parsed = Parsed::default();
    let mut tests: BTreeMap<(String, String), Course> = BTreeMap::new();
    let mut built = said.err.to_owned();
    for line in said.out.lines() {
        let event = line.strip_prefix('{').and_then(|_| serde_json::from_str::<Event>(line).ok());
        let Some(event) = event else {
            built.push('\n');
            built.push_str(line);
            continue;
        };
        if event.test.is_empty() {
            if event.action == "build-output" {
                built.push_str(&event.output);
            } else if event.action == "output" && event.output.starts_with("ok  ") {
                parsed.evidence.push(event.output.trim().to_owned());
            } else if event.output.starts_with("signal: ") {
                // Older versions say it of the package, not of the test.
                parsed.crash.get_or_insert_with(|| event.output.trim().to_owned());
            } else if event.output.contains("[no test files]") {
                parsed.nothing(&event.output);
            }
            continue;
        }
        let course = tests.entry((event.package, event.test)).or_default();
        match event.action.as_str() {
            "output" => course.lines.push(event.output),
            "pass" | "fail" | "skip" => course.end = Some(event.action),
            _ => {}
        }
    }
    parsed.findings = compiler::bare(built.lines());
    if !tests.is_empty() {
        parsed.nothing = None;
        tally(&tests, &mut parsed);
    }
    parsed
}

/// Counts the tests that hold no others, and those that failed by themselves.
fn tally(tests: &BTreeMap<(String, String), Course>, parsed: &mut Parsed) {
    let mut counts = Counts::default();
    for ((package, name), course) in tests {
        let within = format!("{name}/");
        let mut parts =
            tests.iter().filter(|((of, part), _)| of == package && part.starts_with(&within)).peekable();
        let has_parts = parts.peek().is_some();
        let is_failed = course.end.as_deref().is_none_or(|end| end == "fail");
        if has_parts
            && !(is_failed && parts.all(|(_, part)| part.end.as_deref().is_some_and(|end| end != "fail")))
        {
            continue;
        }
        match course.end.as_deref() {
            Some("pass") => counts.passed += 1,
            Some("skip") => counts.skipped += 1,
            end => {
                counts.failed += 1;
                // What it was in the middle of when its process ended.
                let signal = course.lines.iter().find(|line| line.starts_with("signal: "));
                if let Some(line) = signal.filter(|_| end.is_none()) {
                    parsed.crash.get_or_insert_with(|| line.trim().to_owned());
                }
                parsed.findings.push(finding(name, course));
            }
        }
    }
    parsed.counts = Some(counts);
}

fn finding(name: &str, course: &Course) -> Finding {
    let lines: Vec<&str> = course.lines.iter().map(|line| line.trim()).filter(|line| is_said(line)).collect();
    let placed = lines.iter().find_map(|line| compiler::bare(std::iter::once(*line)).into_iter().next());
    if let Some(placed) = placed {
        return Finding { test: Some(name.to_owned()), ..placed };
    }
    let message = if !lines.is_empty() {
        lines.into_iter().take(MESSAGE_MAX_LINES).collect::<Vec<_>>().join("; ")
    } else if course.end.is_none() {
        "began and never ended: its process did".to_owned()
    } else {
        "failed".to_owned()
    };
    Finding::of_test(name, message)
}

fn is_said(line: &str) -> bool {
    !line.is_empty() && !["=== ", "--- "].iter().any(|prefix| line.starts_with(prefix))
}

/// `go test` without events, which counts packages, not tests: they are evidence, not a number.
pub(super) fn texts(said: &Said<'_>) -> Parsed {
    let mut parsed = Parsed::default();
    let mut failed: Option<&str> = None;
    for line in said.out.lines() {
        if line.starts_with("ok  \t") && !line.contains("[no test") {
            parsed.evidence.push(line.trim().to_owned());
        } else if let Some(name) = line.trim_start().strip_prefix("--- FAIL: ") {
            parsed.findings.extend(failed.take().map(|name| Finding::of_test(name, "failed")));
            failed = Some(name.split(" (").next().unwrap_or(name));
        } else if let Some(name) = failed {
            let placed = compiler::bare(std::iter::once(line.trim_start())).into_iter().next();
            if let Some(placed) = placed {
                parsed.findings.push(Finding { test: Some(name.to_owned()), ..placed });
                failed = None;
            } else if !line.starts_with(' ') {
                failed = None;
                parsed.findings.push(Finding::of_test(name, "failed"));
            }
        }
    }
    parsed.findings.extend(failed.map(|name| Finding::of_test(name, "failed")));
    parsed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::parse::read;

    fn event(action: &str, test: &str, output: &str) -> String {
        let event = serde_json::json!({
            "Time": "2026-11-30T03:46:38.7Z", "Action": action, "Package": "x", "Test": test, "Output": output,
        });
        format!("{event}\n")
    }

    #[test]
    fn events_are_counted_by_their_innermost_tests() {
        let out: String = [
            event("run", "TestGood", ""),
            event("pass", "TestGood", ""),
            event("output", "TestBad/sub", "=== RUN   TestBad/sub\n"),
            event("output", "TestBad/sub", "    x_test.go:4: got 1\n"),
            event("output", "TestBad", "--- FAIL: TestBad (0.00s)\n"),
            event("fail", "TestBad/sub", ""),
            event("fail", "TestBad", ""),
            event("skip", "TestSkip", ""),
            "{\"Action\":\"output\",\"Package\":\"x/e\",\"Output\":\"?   \\tx/e\\t[no test files]\\n\"}\n"
                .to_owned(),
        ]
        .concat();
        let parsed = read(parse, Kind::Test, [&out, ""]);
        assert_eq!(parsed.counts, Some(Counts { passed: 1, failed: 1, skipped: 1 }));
        assert_eq!(parsed.nothing, None);
        let [bad] = parsed.findings.as_slice() else { panic!("{:?}", parsed.findings) };
        assert_eq!((bad.test.as_deref(), bad.message.as_str()), (Some("TestBad/sub"), "got 1"));
        assert_eq!((bad.file.as_deref(), bad.line), (Some("x_test.go"), Some(4)));
    }

    #[test]
    fn a_test_that_never_ended_failed() {
        let out = [event("run", "TestA", ""), event("pass", "TestA", ""), event("run", "TestB", "")].concat();
        let parsed = read(parse, Kind::Test, [&out, ""]);
        assert_eq!(parsed.counts, Some(Counts { passed: 1, failed: 1, skipped: 0 }));
        assert!(parsed.findings[0].message.contains("never ended"), "{:?}", parsed.findings);
    }

    #[test]
    fn a_signal_that_ended_a_tests_process_is_told() {
        let out = [event("run", "TestA", ""), event("output", "TestA", "signal: killed\n")].concat();
        assert_eq!(read(parse, Kind::Test, [&out, ""]).crash.as_deref(), Some("signal: killed"));
        let said = [&out, event("fail", "TestA", "").as_str()].concat();
        assert_eq!(read(parse, Kind::Test, [&said, ""]).crash, None, "it only printed it");
    }

    #[test]
    fn builds_vet_and_gofmt_are_read() {
        let err =
            "# x\n./x.go:2:23: cannot use \"a\" (untyped string constant) as int value in return statement\n";
        for (kind, out) in [(Kind::Build, ""), (Kind::Lint, ""), (Kind::Test, "FAIL\tx [build failed]\n")] {
            let parsed = read(parse, kind, [out, err]);
            assert_eq!((parsed.findings.len(), parsed.counts), (1, None), "{kind:?}");
            assert_eq!(parsed.findings[0].file.as_deref(), Some("./x.go"));
        }
        let parsed = read(parse, Kind::Format, ["x.go\nx_test.go\n", ""]);
        assert_eq!(parsed.findings.len(), 2);
        let none = "{\"Action\":\"output\",\"Package\":\"x\",\"Output\":\"?   \\tx\\t[no test files]\\n\"}\n";
        assert!(read(parse, Kind::Test, [none, ""]).nothing.is_some());
    }

    #[test]
    fn plain_text_is_evidence_without_a_count() {
        let out =
            "--- FAIL: TestBad (0.00s)\n    x_test.go:4: got 1\nFAIL\nFAIL\tx\t0.002s\nok  \tx/e\t0.001s\n";
        let parsed = read(texts, Kind::Test, [out, ""]);
        assert_eq!((parsed.counts, parsed.evidence.len(), parsed.findings.len()), (None, 1, 1));
        assert_eq!(parsed.findings[0].test.as_deref(), Some("TestBad"));
    }
}
