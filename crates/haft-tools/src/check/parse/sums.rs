//! The sums that linters, type checkers and formatters print at their end.
//!
//! What none of them says is no sum, so that nobody takes silence for "0 errors".

use super::{
    Said,
    plain::{before, number},
};
use crate::check::finding::Problems;

/// All sums together: a script may start several programs.
pub(super) fn read(said: &Said<'_>) -> Option<Problems> {
    said.lines().filter_map(|line| sum(line.trim())).fold(None, |all, one| Problems::sum(all, Some(one)))
}

fn sum(text: &str) -> Option<Problems> {
    if is_clean(text) { Some(Problems::default()) } else { found(text).or_else(|| listed(text)) }
}

/// That there is nothing to find fault with.
fn is_clean(text: &str) -> bool {
    let begins = [
        // ruff, mypy, Prettier, golangci-lint, next, PHPStan.
        "All checks passed!",
        "Success: no issues found in ",
        "All matched files use Prettier code style!",
        "0 issues.",
        "✔ No ESLint warnings or errors",
        "[OK] No errors",
    ];
    // ruff, Black, RuboCop.
    let ends = [" already formatted", " would be left unchanged.", " no offenses detected"];
    // Biome; what it found stands in lines of its own.
    let is_biomes =
        text.starts_with("Checked ") && text.contains(" file") && text.contains(" fixes applied.");
    let has_number = number(text).is_some();
    is_biomes
        || begins.iter().any(|begin| text.starts_with(begin))
        || has_number && !text.contains("reformatted") && ends.iter().any(|end| text.ends_with(end))
}

/// `Found 2 errors in 1 file.` of tsc, mypy, ruff, Biome, `PHPStan` and others.
fn found(text: &str) -> Option<Problems> {
    let text = text.strip_prefix("[ERROR] ").or_else(|| text.strip_prefix("svelte-check ")).unwrap_or(text);
    let rest = text.strip_prefix("Found ").or_else(|| text.strip_prefix("found "))?;
    number(rest)?;
    let problems = counted(rest)?;
    // What ruff has mended is none any more.
    let left = before(&words(rest), "remaining");
    Some(Problems { errors: left.unwrap_or(problems.errors), ..problems })
}

/// The other forms, each with its number at the beginning.
fn listed(text: &str) -> Option<Problems> {
    // ESLint, Stylelint.
    if let Some(rest) = text.strip_prefix('✖').or_else(|| text.strip_prefix('×')) {
        let (_, rest) = number(rest.trim_start())?;
        return counted(rest).filter(|_| rest.starts_with(" problem"));
    }
    // Prettier.
    if let Some(rest) = text.strip_prefix("[warn] Code style issues found in ") {
        return Some(errors(number(rest).map_or(1, |(count, _)| count)));
    }
    let (count, rest) = number(text)?;
    match rest {
        // golangci-lint.
        " issues:" | " issue:" => Some(errors(count)),
        // ruff, Black.
        _ if rest.contains(" would be reformatted") => Some(errors(count)),
        // Pyright.
        _ if rest.starts_with(" error") && rest.contains(" information") => counted(text),
        // RuboCop.
        _ if rest.contains(" inspected, ") => {
            let words = words(rest);
            before(&words, "offenses").or_else(|| before(&words, "offense")).map(errors)
        }
        _ => None,
    }
}

fn errors(errors: u64) -> Problems {
    Problems { errors, warnings: 0 }
}

/// Without the stops that stand behind words.
fn words(text: &str) -> String {
    text.replace('.', " ")
}

/// The numbers before `errors` and `warnings`; none where neither is there.
fn counted(text: &str) -> Option<Problems> {
    let words = words(text);
    let count = |many: &str, one: &str| before(&words, many).or_else(|| before(&words, one));
    let (errors, warnings) = (count("errors", "error"), count("warnings", "warning"));
    (errors.is_some() || warnings.is_some())
        .then(|| Problems { errors: errors.unwrap_or_default(), warnings: warnings.unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::runner::Kind;

    fn of(out: &str) -> Option<(u64, u64)> {
        let said = Said { kind: Kind::Lint, fix: false, out, err: "" };
        read(&said).map(|problems| (problems.errors, problems.warnings))
    }

    #[test]
    fn each_tools_sum_is_read() {
        for (line, expected) in [
            ("✖ 2 problems (1 error, 1 warning)", (1, 1)),
            ("✖ 1 problem (0 errors, 1 warning)", (0, 1)),
            ("Found 2 errors in the same file, starting at: t.ts:1", (2, 0)),
            ("Found 1 error in a.ts:1", (1, 0)),
            ("[10:11:12] Found 0 errors. Watching for file changes.", (0, 0)),
            ("Found 2 errors in 1 file (checked 2 source files)", (2, 0)),
            ("Success: no issues found in 2 source files", (0, 0)),
            ("Found 2 errors.", (2, 0)),
            ("Found 3 errors (1 fixed, 2 remaining).", (2, 0)),
            ("All checks passed!", (0, 0)),
            ("Found 0 warnings and 2 errors.", (2, 0)),
            ("3 issues:", (3, 0)),
            ("0 issues.", (0, 0)),
            ("2 errors, 1 warning, 0 informations", (2, 1)),
            ("svelte-check found 2 errors and 1 warning in 1 file", (2, 1)),
            ("12 files inspected, 3 offenses detected", (3, 0)),
            ("12 files inspected, no offenses detected", (0, 0)),
            ("[ERROR] Found 3 errors", (3, 0)),
            ("[warn] Code style issues found in 2 files. Run Prettier with --write to fix.", (2, 0)),
            ("[warn] Code style issues found in the above file. Run Prettier with --write to fix.", (1, 0)),
            ("All matched files use Prettier code style!", (0, 0)),
            ("2 files would be reformatted, 1 file would be left unchanged.", (2, 0)),
            ("2 files already formatted", (0, 0)),
            ("Checked 1 file in 2ms. No fixes applied.", (0, 0)),
        ] {
            let line = line.strip_prefix("[10:11:12] ").unwrap_or(line);
            assert_eq!(of(line), Some(expected), "{line}");
        }
    }

    #[test]
    fn what_is_no_sum_counts_nothing() {
        for line in [
            "",
            "vite v5 building for production...",
            "  1 error and 0 warnings potentially fixable with the `--fix` option.",
            "Found nothing",
            "Found 3 files",
            "1:5  error  'x' is never used",
            "All done",
            "Checked everything",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }

    #[test]
    fn sums_of_several_programs_add_up() {
        assert_eq!(
            of("Checked 3 files in 4ms. No fixes applied.\nFound 2 errors.\nFound 1 warning.\n"),
            Some((2, 1))
        );
        assert_eq!(of("✖ 2 problems (1 error, 1 warning)\n\nFound 2 errors in 1 file.\n"), Some((3, 1)));
    }
}
