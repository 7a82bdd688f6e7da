//! jest, vitest, mocha, bun; `ESLint`, tsc, Prettier, Biome.

use super::{
    Parsed, Said, compiler,
    plain::{before, number, spot},
};
use crate::check::finding::{Counts, Finding, Severity, Spot};

pub(super) fn parse(said: &Said<'_>) -> Parsed {
    let mut parsed = Parsed::default();
    let mut mocha: Option<(Counts, String)> = None;
    let mut bun: Option<Counts> = None;
    for line in said.lines() {
        let text = line.trim();
        if let Some(rest) = text.strip_prefix("Tests:").filter(|rest| rest.ends_with(" total")) {
            parsed.count(jests(rest), line);
        } else if let Some(rest) = text.strip_prefix("Tests  ").filter(|rest| rest.ends_with(')')) {
            parsed.count(jests(rest), line);
        } else if text.starts_with("No tests found")
            || text.starts_with("No test files found")
            || text.starts_with("Error: No test files found")
        {
            parsed.nothing(line);
        } else if let Some((value, word)) = number(text) {
            match word.split(" (").next().unwrap_or_default() {
                // mocha's come in this order, the first one always.
                " passing" => mocha = Some((Counts { passed: value, ..Counts::default() }, line.to_owned())),
                " pending" => mocha.iter_mut().for_each(|(counts, _)| counts.skipped = value),
                " failing" => mocha.iter_mut().for_each(|(counts, _)| counts.failed = value),
                // bun's stand before the line that says how many ran, in an order of its own.
                " pass" => bun.get_or_insert_default().passed += value,
                " fail" => bun.get_or_insert_default().failed += value,
                " skip" | " todo" => bun.get_or_insert_default().skipped += value,
                _ => {}
            }
        } else if text.starts_with("Ran ")
            && text.contains(" across ")
            && let Some(counts) = bun.take()
        {
            parsed.count(counts, line);
        }
    }
    if let Some((counts, line)) = mocha {
        parsed.count(counts, &line);
    }
    parsed.findings = failures(said);
    parsed
}

/// `1 failed, 1 skipped, 1 passed, 3 total`; vitest has bars for commas.
fn jests(rest: &str) -> Counts {
    let number = |word| before(rest, word).unwrap_or_default();
    Counts { passed: number("passed"), failed: number("failed"), skipped: number("skipped") + number("todo") }
}

/// Each failure's title, the first line beneath it, and the first place that is named then.
fn failures(said: &Said<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let mut is_open = false;
    let mut is_mocha = false;
    let mut title: Option<String> = None;
    for line in said.lines() {
        let text = line.trim();
        if is_mocha_sum(text) {
            is_mocha = true;
            continue;
        }
        if let Some(name) = heading(line, is_mocha) {
            // mocha's titles go on over lines until one ends with a colon.
            title = (is_mocha && !name.ends_with(':')).then(|| name.to_owned());
            if title.is_none() {
                findings.push(Finding::of_test(name.trim_end_matches(':'), String::new()));
                is_open = true;
            }
            continue;
        }
        if let Some(outer) = title.take() {
            if text.is_empty() {
                continue;
            }
            let name = format!("{outer} {}", text.trim_end_matches(':'));
            if text.ends_with(':') {
                findings.push(Finding::of_test(name, String::new()));
                is_open = true;
            } else {
                title = Some(name);
            }
            continue;
        }
        let Some(finding) = findings.last_mut().filter(|_| is_open) else { continue };
        if finding.message.is_empty() {
            text.clone_into(&mut finding.message);
        }
        if let Some(spot) = frame(text) {
            *finding = finding.clone().at(spot);
            is_open = false;
        }
    }
    for finding in findings.iter_mut().filter(|finding| finding.message.is_empty()) {
        "failed".clone_into(&mut finding.message);
    }
    findings
}

fn is_mocha_sum(text: &str) -> bool {
    number(text).is_some_and(|(_, word)| word == " failing")
}

/// `  ● g › bad` of jest, ` FAIL  a.test.js > g > bad` of vitest, `  1) g` of mocha after its sums.
fn heading(line: &str, is_mocha: bool) -> Option<&str> {
    if let Some(name) = line.strip_prefix("  ● ") {
        return Some(name.trim());
    }
    if let Some(name) = line.strip_prefix(" FAIL  ") {
        return Some(name.trim());
    }
    if !is_mocha {
        return None;
    }
    let (_, rest) = number(line.strip_prefix("  ")?)?;
    rest.strip_prefix(") ").map(str::trim)
}

/// `at Object.toBe (a.test.js:1:73)`, `at a.js:1:2`, `❯ a.test.js:2:74`; places in libraries are left out.
fn frame(text: &str) -> Option<Spot> {
    let rest = text.strip_prefix("at ").or_else(|| text.strip_prefix("❯ "))?;
    let place = match rest.rsplit_once('(') {
        Some((_, place)) => place.trim_end_matches(')'),
        None => rest.rsplit(' ').next().unwrap_or(rest),
    };
    let place = place.strip_prefix("file://").unwrap_or(place);
    let is_own = !place.contains("node_modules/") && !place.starts_with("node:");
    spot(place).filter(|_| is_own).map(|(spot, _)| spot)
}

/// `ESLint`'s list by file, tsc's messages, the files that Prettier would write, Biome's headings.
pub(super) fn lints(said: &Said<'_>) -> Parsed {
    let mut parsed = Parsed::default();
    let mut file: Option<&str> = None;
    let mut heading: Option<(Spot, &str)> = None;
    for line in said.lines() {
        if let Some((spot, rule)) = biomes(line) {
            heading = Some((spot, rule)).filter(|(_, rule)| *rule != "format");
            if heading.is_none() {
                parsed.findings.push(Finding::error("not formatted").at(biomes_file(line)));
            }
        } else if let Some((severity, message)) = biome_says(line)
            && let Some((spot, rule)) = heading.take()
        {
            parsed.findings.push(Finding::new(severity, message).at(spot).with_code(Some(rule.to_owned())));
        } else if let Some(finding) = compiler::typescript(line) {
            parsed.findings.push(finding);
        } else if line.starts_with("No files matching the pattern ")
            || line.starts_with("No files were processed")
        {
            parsed.nothing(line);
        } else if let Some(name) = line.strip_prefix("[warn] ") {
            // The last of these lines is about all.
            if !name.contains(' ') || (name.contains('.') && !name.ends_with('.')) {
                let spot = Spot { file: name.to_owned(), line: None, column: None };
                parsed.findings.push(Finding::error("not formatted").at(spot));
            }
        } else if let Some(finding) = file.and_then(|file| stylish(file, line)) {
            parsed.findings.push(finding);
        } else {
            let is_name = !line.is_empty() && !line.starts_with(char::is_whitespace) && line.contains('.');
            file = is_name.then_some(line);
        }
    }
    parsed
}

/// `a.js:2:7 lint/suspicious/noDoubleEquals  FIXABLE  ━━━`, and `a.js format ━━━`, with the rule.
fn biomes(line: &str) -> Option<(Spot, &str)> {
    let heading = line.strip_suffix('━')?;
    let (spot, rest) = match spot(heading) {
        Some(found) => found,
        None => (biomes_file(heading), heading.split_once(' ')?.1),
    };
    let rule = rest.split_whitespace().next()?;
    let is_rule = rule.contains('/') || matches!(rule, "format" | "parse" | "organizeImports");
    (is_rule && spot.file.contains('.')).then_some((spot, rule))
}

/// A heading's file alone.
fn biomes_file(heading: &str) -> Spot {
    let file = heading.split(' ').next().unwrap_or_default();
    Spot { file: file.to_owned(), line: None, column: None }
}

/// `  × message` of an error and `  ! message` of a warning, beneath a heading.
fn biome_says(line: &str) -> Option<(Severity, &str)> {
    let text = line.strip_prefix("  ")?;
    let error = text.strip_prefix("× ").map(|message| (Severity::Error, message));
    error.or_else(|| text.strip_prefix("! ").map(|message| (Severity::Warning, message)))
}

/// `  1:16  error    'y' is not defined  no-undef` beneath a file's name.
fn stylish(file: &str, line: &str) -> Option<Finding> {
    let text = line.strip_prefix("  ")?.trim_start();
    let (at, rest) = number(text)?;
    let (column, rest) = number(rest.strip_prefix(':')?)?;
    let rest = rest.strip_prefix(' ')?.trim_start();
    let (severity, rest) = match (rest.strip_prefix("error "), rest.strip_prefix("warning ")) {
        (Some(rest), _) => (Severity::Error, rest),
        (None, Some(rest)) => (Severity::Warning, rest),
        (None, None) => return None,
    };
    let (message, code) = match rest.trim().rsplit_once("  ") {
        Some((message, code)) if !code.contains(' ') => (message.trim(), Some(code.to_owned())),
        _ => (rest.trim(), None),
    };
    let spot = Spot { file: file.to_owned(), line: Some(at), column: Some(column) };
    Some(Finding::new(severity, message).at(spot).with_code(code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{parse::read, runner::Kind};

    #[track_caller]
    fn check(out: &str, message: &str, line: u64) {
        let parsed = read(parse, Kind::Test, [out, ""]);
        assert_eq!(parsed.counts, Some(Counts { passed: 1, failed: 1, skipped: 1 }));
        assert_eq!(parsed.evidence.len(), 1);
        let [only] = parsed.findings.as_slice() else { panic!("{:?}", parsed.findings) };
        assert!(only.test.as_deref().unwrap().ends_with("bad"), "{only:?}");
        assert_eq!((only.message.as_str(), only.line), (message, Some(line)), "{only:?}");
    }

    #[test]
    fn jest_is_read() {
        check(
            "FAIL ./a.test.js\n  ✓ good (2 ms)\n  ○ skipped later\n  g\n    ✕ bad (2 ms)\n\n  ● g › bad\n\n\
             \x20   expect(received).toBe(expected) // Object.is equality\n\n    Expected: 2\n    Received: 1\n\n\
             \x20     at Object.toBe (a.test.js:1:73)\n\nTest Suites: 1 failed, 1 total\n\
             Tests:       1 failed, 1 skipped, 1 passed, 3 total\nSnapshots:   0 total\n",
            "expect(received).toBe(expected) // Object.is equality",
            1,
        );
        let none = "No tests found, exiting with code 1\nRun with `--passWithNoTests` to exit with code 0\n";
        let parsed = read(parse, Kind::Test, ["", none]);
        assert_eq!(
            (parsed.nothing.as_deref(), parsed.counts),
            (Some("No tests found, exiting with code 1"), None)
        );
    }

    #[test]
    fn vitest_is_read() {
        check(
            " ❯ a.test.js (3 tests | 1 failed | 1 skipped) 8ms\n   ✓ good 1ms\n     × bad 6ms\n   ↓ later\n\n\
             \x20FAIL  a.test.js > g > bad\nAssertionError: expected 1 to be 2 // Object.is equality\n\n- Expected\n\
             + Received\n\n ❯ a.test.js:2:74\n      1| import\n\n Test Files  1 failed (1)\n\
             \x20     Tests  1 failed | 1 passed | 1 skipped (3)\n   Start at  03:46:34\n",
            "AssertionError: expected 1 to be 2 // Object.is equality",
            2,
        );
    }

    #[test]
    fn mocha_is_read() {
        check(
            "  ✔ good\n  - later\n  g\n    1) bad\n\n\n  1 passing (4ms)\n  1 pending\n  1 failing\n\n  1) g\n\
             \x20      bad:\n\n      AssertionError [ERR_ASSERTION]: 1 == 2\n      + expected - actual\n\n      -1\n\
             \x20     at Context.<anonymous> (test/a.js:1:98)\n      at process.processImmediate (node:internal/timers:483:21)\n",
            "AssertionError [ERR_ASSERTION]: 1 == 2",
            1,
        );
    }

    #[test]
    fn biome_is_read() {
        let out = "a.js:1:5 lint/correctness/noUnusedVariables  FIXABLE  ━━━━━━━━━━\n\n  ! This variable x is unused.\n\n\
            \x20 > 1 │ var x = 1;\n\n  i Unused variables are often the result of typos.\n\n\
            a.js:2:7 lint/suspicious/noDoubleEquals  FIXABLE  ━━━━━━━━━━━\n\n  × Using == may be unsafe.\n\n\
            b.js format ━━━━━━━━━━━━━━\n\n  × File content differs from formatting output\n\n\
            Checked 3 files in 4ms. No fixes applied.\nFound 2 errors.\nFound 1 warning.\n\
            lint ━━━━━━━━━━━━━━━\n\n  × Some errors were emitted while running checks.\n";
        let found = read(lints, Kind::Lint, [out, ""]).findings;
        let told: Vec<_> = found
            .iter()
            .map(|finding| (finding.file.as_deref().unwrap_or("-"), finding.line, finding.message.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                ("a.js", Some(1), "This variable x is unused."),
                ("a.js", Some(2), "Using == may be unsafe."),
                ("b.js", None, "not formatted")
            ]
        );
        assert_eq!(found[0].severity, Severity::Warning);
        assert_eq!(found[1].code.as_deref(), Some("lint/suspicious/noDoubleEquals"));
    }

    #[test]
    fn that_nothing_was_there_to_test_is_said_in_several_ways() {
        for line in
            ["No tests found!", "Error: No test files found: \"none.js\"", "No test files found, exiting"]
        {
            assert!(read(parse, Kind::Test, ["", line]).nothing.is_some(), "{line}");
        }
        let line = "No files matching the pattern \"nope\" were found.";
        assert!(read(lints, Kind::Lint, ["", line]).nothing.is_some());
    }

    #[test]
    fn linters_and_formatters_are_read() {
        let out = "\n/w/e/a.js\n  1:5   error    'x' is assigned a value but never used  no-unused-vars\n\
            \x20 1:18  warning  Expected '===' and instead saw '=='     eqeqeq\n\n✖ 2 problems (1 error, 1 warning)\n\n\
            a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.\n";
        let err = "[warn] b.ts\n[warn] Code style issues found in the above file. Run Prettier with --write to fix.\n";
        let found = read(lints, Kind::Lint, [out, err]).findings;
        let codes: Vec<_> = found.iter().map(|finding| finding.code.as_deref().unwrap_or("-")).collect();
        assert_eq!(codes, ["no-unused-vars", "eqeqeq", "TS2322", "-"]);
        assert_eq!((found[0].file.as_deref(), found[0].column), (Some("/w/e/a.js"), Some(5)));
        assert_eq!(found[0].message, "'x' is assigned a value but never used");
        assert_eq!((found[1].severity, found[3].file.as_deref()), (Severity::Warning, Some("b.ts")));
    }
}
