//! What is wrong with a tool, a folder or a setting, and what would fix it.

use serde::Serialize;
use std::fmt;

/// A fault that took one thing out and left all others usable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// Who brought it: an owner, or a settings scope.
    pub source: String,
    /// The file it is in.
    pub path: Option<String>,
    /// The line, from 1.
    pub line: Option<usize>,
    /// What is wrong.
    pub text: String,
    /// What would fix it.
    pub fix: String,
}

impl Problem {
    /// What is wrong at a line of a file, which somebody brought.
    pub(crate) fn at_line(owner: &str, path: &str, line: usize, text: String, fix: String) -> Self {
        Self { source: owner.to_owned(), path: Some(path.to_owned()), line: Some(line), text, fix }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.path, self.line) {
            (Some(path), Some(line)) => write!(f, "{}:{line}: ", OneLine(path))?,
            (Some(path), None) => write!(f, "{}: ", OneLine(path))?,
            (None, _) => write!(f, "{}: ", OneLine(&self.source))?,
        }
        write!(f, "{}\n  fix: {}", OneLine(&self.text), OneLine(&self.fix))
    }
}

/// A part of a problem, which repeats what stands in files: they begin no line of their own, that could pass for a fix.
struct OneLine<'a>(&'a str);

impl fmt::Display for OneLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ends_line =
            |c: char| matches!(c, '\n' | '\u{b}' | '\u{c}' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
        for (index, part) in self.0.split(ends_line).enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            f.write_str(part)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_says_begins_no_line_of_a_problem() {
        let problem = Problem {
            source: "s".to_owned(),
            path: Some("a\n  fix: b".to_owned()),
            line: Some(1),
            text: "c\r\n  fix: d\u{2028}e".to_owned(),
            fix: "f\ng".to_owned(),
        };
        assert_eq!(problem.to_string(), "a   fix: b:1: c    fix: d e\n  fix: f g");
    }
}
