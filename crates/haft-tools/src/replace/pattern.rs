//! What is looked for, and what comes instead.

use haft_core::Failure;
use regex::bytes::{Captures, Regex, RegexBuilder};

/// A compiled expression isn't larger.
const PATTERN_MAX_BYTES: usize = 16 * 1_024 * 1_024;

/// A pattern with its replacement.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    pub(super) regex: Regex,
    replacement: String,
    is_literal: bool,
}

impl Pattern {
    /// A plain text, taken as it is: but where it has no carriage return, its line feeds stand for CRLF too.
    ///
    /// # Errors
    /// Invalid input where it is empty.
    pub(super) fn literal(text: &str, replacement: &str) -> Result<Self, Failure> {
        require_some(text)?;
        let escaped = regex::escape(text);
        let escaped = if text.contains('\r') { escaped } else { escaped.replace('\n', "\r?\n") };
        let regex = compiled(&escaped)?;
        Ok(Self { regex, replacement: replacement.to_owned(), is_literal: true })
    }

    /// A regular expression.
    ///
    /// # Errors
    /// Invalid input where it is none, or the replacement names a group that it hasn't.
    pub(super) fn expression(text: &str, replacement: &str) -> Result<Self, Failure> {
        require_some(text)?;
        let regex = compiled(text)?;
        for name in references(replacement) {
            let is_group = match name.parse::<usize>() {
                Ok(number) => number < regex.captures_len(),
                Err(_) => regex.capture_names().flatten().any(|known| known == name),
            };
            if !is_group {
                return Err(Failure::invalid(format!(
                    "/replacement names the group {name}, which the pattern hasn't. Write ${{1}} where text follows a \
                     number, $$ for a dollar sign, or set literal"
                )));
            }
        }
        Ok(Self { regex, replacement: replacement.to_owned(), is_literal: false })
    }

    /// What comes for a match. In a text whose lines end with CRLF, new lines do so too.
    pub(super) fn new_text(&self, captures: &Captures<'_>, is_crlf: bool) -> Vec<u8> {
        let mut new = Vec::new();
        if self.is_literal {
            new.extend_from_slice(self.replacement.as_bytes());
        } else {
            captures.expand(self.replacement.as_bytes(), &mut new);
        }
        if is_crlf { with_crlf(new) } else { new }
    }
}

fn require_some(text: &str) -> Result<(), Failure> {
    if text.is_empty() {
        return Err(Failure::invalid("/pattern is empty; give the text or expression to look for"));
    }
    Ok(())
}

fn compiled(expression: &str) -> Result<Regex, Failure> {
    RegexBuilder::new(expression)
        .multi_line(true)
        .crlf(true)
        .size_limit(PATTERN_MAX_BYTES)
        .build()
        .map_err(|error| {
            Failure::invalid(format!(
                "/pattern is no regular expression: {error}\nCorrect it, or set literal for plain text. There is no \
                 look-around and no back-reference"
            ))
        })
}

/// The groups that a replacement names, as the expansion will read it.
fn references(replacement: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = replacement;
    while let Some((_, after)) = rest.split_once('$') {
        if let Some(after) = after.strip_prefix('$') {
            rest = after;
        } else if let Some((name, after)) = after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            names.push(name);
            rest = after;
        } else {
            let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
            let end = after.find(|character| !is_part(character)).unwrap_or(after.len());
            let (name, after) = after.split_at_checked(end).unwrap_or((after, ""));
            if !name.is_empty() {
                names.push(name);
            }
            rest = after;
        }
    }
    names
}

/// Line feeds alone turned into CRLF.
fn with_crlf(text: Vec<u8>) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        if byte == b'\n' && out.last() != Some(&b'\r') {
            out.push(b'\r');
        }
        out.push(byte);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(pattern: &Pattern, text: &str) -> String {
        let new = pattern.regex.replace_all(text.as_bytes(), |captures: &Captures<'_>| {
            pattern.new_text(captures, text.contains("\r\n"))
        });
        String::from_utf8(new.into_owned()).unwrap()
    }

    #[test]
    fn groups_count_in_expressions_only() {
        let expression = Pattern::expression(r"(\w+)=(?<v>\w+)", "${v}=$1 $$").unwrap();
        assert_eq!(replaced(&expression, "a=b"), "b=a $");
        let literal = Pattern::literal("a.b(", "$1 ${x} $$").unwrap();
        assert_eq!(replaced(&literal, "a.b( axb("), "$1 ${x} $$ axb(");
    }

    #[test]
    fn lines_are_those_of_the_text() {
        assert_eq!(replaced(&Pattern::expression("^b$", "c").unwrap(), "a\r\nb\r\n"), "a\r\nc\r\n");
        assert_eq!(replaced(&Pattern::literal("a\nb", "x\ny").unwrap(), "a\r\nb\r\n"), "x\r\ny\r\n");
        assert_eq!(replaced(&Pattern::expression("a.*", "z").unwrap(), "ab\r\nc"), "z\r\nc");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (pattern, replacement, part) in [
            ("", "x", "empty"),
            ("a(", "x", "no regular expression"),
            ("a", "$1", "names the group 1"),
            ("(a)", "$1b", "names the group 1b"),
            ("(a)", "${n}", "names the group n"),
        ] {
            let error = Pattern::expression(pattern, replacement).unwrap_err().text;
            assert!(error.contains(part), "{error}");
        }
        assert!(Pattern::expression("(a)", "$0 ${1}b $ $$x").is_ok());
    }
}
