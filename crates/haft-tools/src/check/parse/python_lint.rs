//! ruff and mypy.

use super::{Parsed, Said, compiler, plain::spot};
use crate::check::{
    finding::{Finding, Spot},
    runner::Kind,
};

pub(super) fn parse(said: &Said<'_>) -> Parsed {
    let mut parsed = formats(said);
    for line in said.lines() {
        if said.kind != Kind::Format
            && let Some(finding) = found(line)
        {
            parsed.findings.push(finding);
        } else if line.contains("No Python files found") || line.starts_with("There are no .py[i] files") {
            parsed.nothing(line);
        }
    }
    parsed
}

/// `m.py:1:8: F401 [*] message` of ruff, `m.py:2:10: error: message  [code]` of mypy.
fn found(line: &str) -> Option<Finding> {
    let (spot, rest) = spot(line)?;
    let rest = rest.trim_start();
    if let Some(graded) = compiler::graded(rest) {
        return Some(graded.at(spot));
    }
    let (code, message) = rest.split_once(' ')?;
    let code = code.trim_end_matches(':');
    let is_code =
        code.starts_with(|c: char| c.is_ascii_uppercase()) && code.ends_with(|c: char| c.is_ascii_digit());
    let is_syntax = matches!(code, "invalid-syntax" | "SyntaxError");
    let message = message.strip_prefix("[*] ").unwrap_or(message);
    (is_code || is_syntax).then(|| Finding::error(message).at(spot).with_code(Some(code.to_owned())))
}

/// `Would reformat: m.py`, or the two lines `unformatted: …` and ` --> m.py:2:1`.
pub(super) fn formats(said: &Said<'_>) -> Parsed {
    let mut parsed = Parsed::default();
    let mut message: Option<&str> = None;
    for line in said.lines() {
        if let Some(file) = line.strip_prefix("Would reformat: ") {
            let spot = Spot { file: file.trim().to_owned(), line: None, column: None };
            parsed.findings.push(Finding::error("not formatted").at(spot));
        } else if let Some((place, message)) =
            line.trim_start().strip_prefix("--> ").and_then(spot).zip(message.take())
        {
            parsed.findings.push(Finding::error(message).at(place.0));
        } else {
            let syntax = || line.strip_prefix("invalid-syntax: ");
            message = line.strip_prefix("unformatted: ").map(|_| "not formatted").or_else(syntax);
        }
    }
    parsed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::parse::read;

    #[test]
    fn rules_and_types_are_found() {
        let out = "m.py:1:8: F401 [*] `os` imported but unused\nFound 1 error.\n[*] 1 fixable with `--fix`.\n\
            m.py:2:10: error: Incompatible types in assignment (variable has type \"int\")  [assignment]\n\
            m.py:2:10: note: see the docs\n";
        let parsed = read(parse, Kind::Lint, [out, ""]);
        let [rule, kind] = parsed.findings.as_slice() else { panic!("{:?}", parsed.findings) };
        assert_eq!((rule.code.as_deref(), rule.message.as_str()), (Some("F401"), "`os` imported but unused"));
        assert_eq!((kind.code.as_deref(), kind.column), (Some("assignment"), Some(10)));
        assert!(kind.message.starts_with("Incompatible types"), "{kind:?}");
    }

    #[test]
    fn both_forms_of_unformatted_files_are_found() {
        let out = "unformatted: File would be reformatted\n --> m.py:2:1\n  |\n1 | import os\n\n\
            invalid-syntax: unexpected EOF while parsing\n --> n.py:1:7\n  |\nWould reformat: o.py\n\
            2 files would be reformatted\n";
        let parsed = read(parse, Kind::Format, [out, ""]);
        let files: Vec<_> = parsed.findings.iter().filter_map(|finding| finding.file.as_deref()).collect();
        assert_eq!(files, ["m.py", "n.py", "o.py"]);
        assert_eq!(parsed.findings[1].message, "unexpected EOF while parsing");
    }

    #[test]
    fn nothing_to_check_is_said() {
        let err = "warning: No Python files found under the given path(s)\n";
        assert!(read(parse, Kind::Lint, ["All checks passed!\n", err]).nothing.is_some());
        let out = "There are no .py[i] files in directory '.'\n";
        assert!(read(parse, Kind::Typecheck, [out, ""]).nothing.is_some());
    }
}
