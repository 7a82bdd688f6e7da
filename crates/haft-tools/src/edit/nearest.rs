//! The lines of a text most like some that aren't in it, and how they differ.

use crate::text::{View, visible};
use std::{borrow::Cow, fmt::Write as _};
use unicode_normalization::{char::is_combining_mark, is_nfc};

/// Only so many lines of a text are looked at.
const TEXT_LINES_MAX: usize = 100_000;
/// Likeness is judged by so many lines of the old text.
const JUDGED_LINES: usize = 8;
/// So many bytes of a line are compared.
const COMPARED_BYTES: usize = 200;
/// Lines less alike than this, in thousandths, aren't shown.
const LIKENESS_MIN: usize = 500;
/// So many differing lines are shown.
const SHOWN_LINES: usize = 6;
/// So many characters of each.
const SHOWN_CHARS: usize = 160;

/// Lists the nearest lines with blanks made visible; none where nothing is alike.
pub(crate) fn nearest(text: &[u8], old: &str) -> Option<String> {
    let lines: Vec<&[u8]> = lines(text).take(TEXT_LINES_MAX).collect();
    let old: Vec<&[u8]> = lines_of_old(old);
    let first = best(&lines, &old)?;
    let window: Vec<&[u8]> = lines.iter().skip(first).take(old.len()).copied().collect();
    let (from, to) = (first + 1, first + window.len());
    let mut out = if from == to {
        format!("Nearest is line {from}")
    } else {
        format!("Nearest are lines {from} to {to}")
    };
    out.push_str(" (→ is a tab, · a blank):");
    let mut shown = 0;
    for (index, typed) in old.iter().enumerate() {
        let real = window.get(index).copied();
        if real == Some(*typed) {
            continue;
        }
        shown += 1;
        if shown > SHOWN_LINES {
            continue;
        }
        let number = (from + index).to_string();
        let (real, typed) = (real.map(marked), marked(typed));
        let start = real.as_deref().map_or(0, |real| excerpt_start(real, &typed));
        let real = real
            .as_deref()
            .map_or_else(|| "(past the end of the file)".to_owned(), |real| excerpt(real, start));
        let _ = write!(
            out,
            "\nfile {number}│{real}\nold  {:width$}│{}",
            "",
            excerpt(&typed, start),
            width = number.len()
        );
    }
    if shown > SHOWN_LINES {
        let _ = write!(out, "\n… {} more lines differ", shown - SHOWN_LINES);
    }
    Some(out)
}

/// A line for readers; where its accents are characters of their own, which can't be seen, they are escaped.
fn marked(line: &[u8]) -> Cow<'_, str> {
    let shown = View::shown(line);
    if shown.is_ascii() || is_nfc(&shown) {
        return shown;
    }
    let mut out = String::with_capacity(shown.len());
    for character in shown.chars() {
        if is_combining_mark(character) {
            out.extend(character.escape_unicode());
        } else {
            out.push(character);
        }
    }
    Cow::Owned(out)
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').map(|line| {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        line.strip_suffix(b"\r").unwrap_or(line)
    })
}

/// The old lines without blank ones before and after: nothing can be said of those.
fn lines_of_old(old: &str) -> Vec<&[u8]> {
    let mut all: Vec<&[u8]> = lines(old.as_bytes()).skip_while(|line| line.trim_ascii().is_empty()).collect();
    while all.last().is_some_and(|line| line.trim_ascii().is_empty()) {
        all.pop();
    }
    all
}

/// The index of the line where the most alike run starts.
fn best(lines: &[&[u8]], old: &[&[u8]]) -> Option<usize> {
    let first = old.first()?;
    let judged = old.len().min(JUDGED_LINES);
    let mut best: Option<(usize, usize)> = None;
    for (index, line) in lines.iter().enumerate() {
        let alike = likeness(line, first);
        if alike < LIKENESS_MIN / 2 {
            continue;
        }
        let rest = lines.iter().skip(index + 1).zip(old.iter().take(judged).skip(1));
        let total = alike + rest.map(|(line, old)| likeness(line, old)).sum::<usize>();
        let score = total / judged;
        if score >= LIKENESS_MIN && best.is_none_or(|(_, other)| score > other) {
            best = Some((index, score));
        }
    }
    best.map(|(index, _)| index)
}

/// How much of two lines is equal from their ends inwards, in thousandths; indentation doesn't count.
fn likeness(a: &[u8], b: &[u8]) -> usize {
    let (a, b) = (a.trim_ascii(), b.trim_ascii());
    if a == b {
        return 1_000;
    }
    let (a, b) = (a.get(..COMPARED_BYTES).unwrap_or(a), b.get(..COMPARED_BYTES).unwrap_or(b));
    let shorter = a.len().min(b.len());
    let before = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let after = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count().min(shorter - before);
    2_000 * (before + after) / (a.len() + b.len()).max(1)
}

/// Where to start showing two long lines so that their first difference is seen, in characters.
fn excerpt_start(real: &str, typed: &str) -> usize {
    if real.chars().nth(SHOWN_CHARS).is_none() && typed.chars().nth(SHOWN_CHARS).is_none() {
        return 0;
    }
    let equal = real.chars().zip(typed.chars()).take_while(|(x, y)| x == y).count();
    equal.saturating_sub(SHOWN_CHARS / 4)
}

/// A part of a line with its blanks made visible.
pub(crate) fn excerpt(line: &str, start: usize) -> String {
    let part: String = line.chars().skip(start).take(SHOWN_CHARS).collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if line.chars().nth(start + SHOWN_CHARS).is_some() { "…" } else { "" };
    format!("{before}{}{after}", visible::blanks(&part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_f06_the_nearest_line_shows_its_blanks() {
        let text = b"def f():\n    a  =  1\n    b = 2\n";
        assert_eq!(
            nearest(text, "    a = 1").unwrap(),
            "Nearest is line 2 (→ is a tab, · a blank):\nfile 2│····a··=··1\nold   │····a·=·1"
        );
    }

    #[test]
    fn accents_that_are_characters_of_their_own_are_shown() {
        let shown = nearest("let cafe\u{301} = 1;\n".as_bytes(), "let caf\u{e9} = 2;").unwrap();
        assert!(shown.ends_with("│let·cafe\\u{301}·=·1;\nold   │let·caf\u{e9}·=·2;"), "{shown}");
    }

    #[test]
    fn only_differing_lines_are_shown() {
        let text = b"fn a() {\n\tone();\n\ttwo();\n}\n";
        assert_eq!(
            nearest(text, "fn a() {\n\tone();\n\ttoo();\n}").unwrap(),
            "Nearest are lines 1 to 4 (→ is a tab, · a blank):\nfile 3│→two();\nold   │→too();"
        );
        assert!(nearest(text, "}\nend").is_some_and(|shown| shown.contains("(past the end of the file)")));
        assert_eq!(nearest(text, "something else entirely"), None);
        assert_eq!(nearest(b"", "x"), None);
    }

    #[test]
    fn long_lines_are_shown_where_they_differ() {
        let line = "x".repeat(300);
        let shown = nearest(format!("{line}a tail\n").as_bytes(), &format!("{line}b tail")).unwrap();
        assert!(shown.contains("xa·tail\n") && shown.contains("│…xxx"), "{shown}");
    }
}
