//! Compilers' and shells' own words: what `make`, scripts and Go's tools pass on.

use super::{
    Parsed, Said,
    plain::{number, spot},
};
use crate::check::finding::{Finding, Severity, Spot};

/// `file:line:column: error: message`, as most compilers write it, and the two lines of rustc.
pub(super) fn places<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut rust: Option<Finding> = None;
    for line in lines {
        if let Some(finding) = rust.take()
            && let Some((spot, _)) = line.trim_start().strip_prefix("--> ").and_then(spot)
        {
            findings.push(finding.at(spot));
            continue;
        }
        rust = rustc(line);
        let Some((spot, rest)) = spot(line) else { continue };
        findings.extend(graded(rest.trim_start()).map(|finding| finding.at(spot)));
    }
    findings
}

/// The first line of a message of rustc.
fn rustc(line: &str) -> Option<Finding> {
    let (severity, rest) = grade(line)?;
    let (code, rest) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((code, rest)) => (Some(code.to_owned()), rest),
        None => (None, rest),
    };
    let message = rest.strip_prefix(": ")?;
    Some(Finding::new(severity, message).with_code(code))
}

/// `error: message`, `fatal error: message`, `warning: message [-Wcode]`.
pub(super) fn graded(text: &str) -> Option<Finding> {
    let text = text.strip_prefix("fatal ").unwrap_or(text);
    let (severity, rest) = grade(text)?;
    let message = rest.strip_prefix(':')?.trim();
    let (message, code) = match message.strip_suffix(']').and_then(|text| text.rsplit_once(" [")) {
        Some((message, code)) => (message.trim_end(), Some(code.to_owned())),
        None => (message, None),
    };
    Some(Finding::new(severity, message).with_code(code))
}

fn grade(text: &str) -> Option<(Severity, &str)> {
    let error = text.strip_prefix("error").map(|rest| (Severity::Error, rest));
    error.or_else(|| text.strip_prefix("warning").map(|rest| (Severity::Warning, rest)))
}

/// What tools of Go say: `file:line:column: message`, all of it errors.
pub(super) fn bare<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<Finding> {
    let found = |line: &str| {
        let (spot, message) = spot(line.strip_prefix("vet: ").unwrap_or(line))?;
        (!message.trim().is_empty()).then(|| Finding::error(message.trim()).at(spot))
    };
    lines.filter_map(found).collect()
}

/// The words of make and just for a recipe that a signal ended, as the C library names signals.
const SIGNALS: [&str; 9] = [
    "Killed",
    "Aborted",
    "Segmentation fault",
    "Bus error",
    "Illegal instruction",
    "Floating point exception",
    "Terminated",
    "Trace/breakpoint trap",
    "Quit",
];

/// Programs that a signal ended, and programs that aren't there.
pub(super) fn ends(said: &Said<'_>) -> Parsed {
    let mut parsed = Parsed::default();
    for line in said.err.lines().chain(said.out.lines()) {
        if is_crash(line) {
            parsed.crash.get_or_insert_with(|| line.trim().to_owned());
        }
        if is_missing(line) {
            parsed.missing.get_or_insert_with(|| line.trim().to_owned());
        }
    }
    parsed
}

fn is_crash(line: &str) -> bool {
    let made = line.split_once(": *** [").and_then(|(_, rest)| rest.rsplit_once("] "));
    let is_made =
        made.is_some_and(|(_, word)| SIGNALS.contains(&word.strip_suffix(" (core dumped)").unwrap_or(word)));
    is_made
        || (line.starts_with("error: recipe `") && line.contains(" by signal "))
        || (line.contains("process didn't exit successfully") && line.contains("(signal: "))
        // yarn and pnpm, which don't all pass it on as their status.
        || line.contains("Command failed with signal ")
}

/// As shells, make and Python's own say it.
fn is_missing(line: &str) -> bool {
    let line = line.trim_end();
    let name = line.split(": ").next().unwrap_or_default();
    let shell = ["sh", "bash", "dash", "zsh"].contains(&name.rsplit('/').next().unwrap_or(name));
    let is_gone = line.ends_with(": not found") || line.ends_with(": command not found");
    let make = line
        .strip_prefix("make: ")
        .is_some_and(|rest| rest.ends_with(": No such file or directory") && !rest.starts_with("***"));
    (shell && is_gone) || make || line.contains(": No module named pytest") || rust_part(line)
}

/// A part of Rust's toolchain that isn't installed.
fn rust_part(line: &str) -> bool {
    line.starts_with("error: no such command: `")
        || (line.starts_with("error: 'cargo-") && line.contains("is not installed for the toolchain"))
}

/// What tsc says: `a.ts(1,7): error TS2322: message`, or `a.ts:1:7 - error TS2322: message`.
pub(super) fn typescript(line: &str) -> Option<Finding> {
    let (place, rest) = if let Some((place, rest)) = line.split_once("): error TS") {
        let (file, at) = place.rsplit_once('(')?;
        let (line, column) = at.split_once(',')?;
        let spot = Spot { file: file.to_owned(), line: line.parse().ok(), column: column.parse().ok() };
        (spot, rest)
    } else {
        let (place, rest) = line.split_once(" - error TS")?;
        (spot(place)?.0, rest)
    };
    let (code, message) = number(rest)?;
    let message = message.strip_prefix(':')?.trim();
    Some(Finding::error(message).at(place).with_code(Some(format!("TS{code}"))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{parse::read, runner::Kind};

    fn told(findings: &[Finding]) -> Vec<String> {
        let told = |finding: &Finding| {
            let at = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
            format!(
                "{}:{}:{} {} {} {}",
                finding.file.as_deref().unwrap_or("-"),
                at(finding.line),
                at(finding.column),
                finding.severity.name(),
                finding.code.as_deref().unwrap_or("-"),
                finding.message
            )
        };
        findings.iter().map(told).collect()
    }

    #[test]
    fn compilers_say_where_and_how_bad() {
        let text = "a.c: In function ‘main’:\n\
            a.c:1:21: warning: initialization makes integer from pointer without a cast [-Wint-conversion]\n\
            \x20   1 | int main(){ int x = \"a\"; return y; }\n\
            a.c:1:33: error: ‘y’ undeclared (first use in this function)\n\
            a.c:1:33: note: each undeclared identifier is reported only once\n\
            error[E0308]: mismatched types\n --> src/lib.rs:1:21\n\
            error: could not compile `c1` (lib) due to 1 previous error\n";
        assert_eq!(
            told(&places(text.lines())),
            [
                "a.c:1:21 warning -Wint-conversion initialization makes integer from pointer without a cast",
                "a.c:1:33 error - ‘y’ undeclared (first use in this function)",
                "src/lib.rs:1:21 error E0308 mismatched types",
            ]
        );
    }

    #[test]
    fn typescript_has_two_forms() {
        let told = |line| told(&typescript(line).into_iter().collect::<Vec<_>>());
        let expected = ["a.ts:1:7 error TS2322 Type 'string' is not assignable to type 'number'."];
        assert_eq!(
            told("a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'."),
            expected
        );
        assert_eq!(
            told("a.ts:1:7 - error TS2322: Type 'string' is not assignable to type 'number'."),
            expected
        );
        assert!(told("Found 1 error in a.ts:1").is_empty());
    }

    #[test]
    fn signals_and_missing_programs_are_seen() {
        let ends = |err: &str| read(ends, Kind::Test, ["", err]);
        for line in [
            "make: *** [Makefile:2: test] Killed",
            "make: *** [Makefile:6: seg] Segmentation fault",
            "make[1]: *** [Makefile:6: seg] Aborted (core dumped)",
            "error: recipe `test` was terminated on line 2 by signal 9",
            "  process didn't exit successfully: `/t/t-ba0` (signal: 6, SIGABRT: process abort signal)",
            "error Command failed with signal \"SIGKILL\".",
        ] {
            assert_eq!(ends(line).crash.as_deref(), Some(line.trim()));
        }
        assert_eq!(ends("make: *** [Makefile:4: lint] Error 3").crash, None);
        for line in [
            "sh: 1: jest: not found",
            "/bin/sh: line 1: jest: command not found",
            "/usr/bin/bash: line 1: jest: command not found",
            "make: gcc: No such file or directory",
            "/usr/bin/python3: No module named pytest",
            "error: no such command: `clippy`",
        ] {
            assert_eq!(ends(line).missing.as_deref(), Some(line), "{line}");
        }
        assert_eq!(ends("make: *** No rule to make target 'x'.  Stop.").missing, None);
    }
}
