//! Why a hunk was refused: expected and found lines, and what to do next.

use super::{
    lines::FileLines,
    place::{Miss, outcome_at},
    section::{Hunk, Line},
};
use crate::text::{View, visible};
use std::fmt::Write as _;

/// So many line numbers are listed.
const LINES_MAX: usize = 10;
/// So many differing lines are shown.
const SHOWN_LINES: usize = 6;
/// So many characters of each.
const SHOWN_CHARS: usize = 160;
/// Only so many lines of a file are looked at.
const SEARCHED_LINES: usize = 100_000;
/// Likeness is judged by so many lines of the hunk.
const JUDGED_LINES: usize = 8;
/// Lines that share fewer bytes at their ends, in thousandths, aren't alike.
const LIKENESS_MIN: usize = 500;

/// A hunk without a place.
pub(super) struct Refused<'a> {
    /// The file.
    pub(super) name: &'a str,
    /// Which hunk of the file, from 1.
    pub(super) number: usize,
    /// The hunk.
    pub(super) hunk: &'a Hunk,
    /// The file's lines.
    pub(super) lines: &'a FileLines<'a>,
    /// The line, from 0, from which on it may stand: what earlier hunks change is before it.
    pub(super) from: usize,
}

impl Refused<'_> {
    /// The text for a miss.
    pub(super) fn explain(&self, miss: &Miss) -> String {
        let what = match miss {
            Miss::Nowhere => self.nowhere(),
            Miss::Several(at) => format!(
                "its lines are there {} times, at {}. Give more lines of context, or a `@@` line with the line above \
                 that is there once (a function or class)",
                at.len(),
                numbers(at)
            ),
            Miss::NotAtEnd(at) => format!(
                "its lines are at {}, and not at the end of the file. Leave out `*** End of File`, or give the last \
                 lines as they are",
                numbers(at)
            ),
            Miss::NoAnchor(anchor) => format!(
                "no line after the hunk before it is `{anchor}`. Give the `@@` line as it is in the file, or leave it \
                 out and give more lines of context"
            ),
            Miss::Anchors(anchor, at) => format!(
                "`{anchor}` is there {} times, at {}, so there is no telling where to add. Give lines of context",
                at.len(),
                numbers(at)
            ),
            Miss::NoContext => {
                "it has no lines of context, and a line number alone doesn't prove a place. Give at least one line \
                 before or after what is added (diff -U3)"
                    .to_owned()
            }
            Miss::Repetitive => {
                "its lines repeat themselves too much to be found. Change the place with edit instead".to_owned()
            }
        };
        self.say(&what)
    }

    /// The text for a hunk whose new lines stand there already.
    pub(super) fn applied(&self, at: usize) -> String {
        self.say(&format!(
            "its new text is already there, at line {}: it was applied before. Leave this hunk out; if the lines \
             must be there twice, give the lines after them as context",
            at + 1
        ))
    }

    fn say(&self, what: &str) -> String {
        format!("{}, hunk {}: {what}.", self.name, self.number)
    }

    fn nowhere(&self) -> String {
        if let Some(at) = outcome_at(self.lines, self.hunk) {
            return format!(
                "its old lines aren't there, and its new text is already there, at line {}: it was applied before. \
                 Leave this hunk out",
                at + 1
            );
        }
        let old: Vec<&Line> = self.hunk.old().collect();
        let Some(at) = self.nearest(&old) else {
            let first = old.first().map_or("", |line| line.text.as_str());
            return format!(
                "its lines aren't there, and nothing is like them. Expected, among others:\nexpected │{}\nCheck that \
                 this is the right file, and read it",
                shown(first.as_bytes())
            );
        };
        let mut text = format!(
            "its lines aren't there as it has them. Nearest is what starts at line {} (→ is a tab, · a blank):",
            at + 1
        );
        let mut differing = 0;
        for (index, line) in old.iter().enumerate() {
            let found = (at + index < self.lines.len()).then(|| self.lines.bare(at + index));
            if found == Some(line.text.trim_end_matches('\r').as_bytes()) {
                continue;
            }
            differing += 1;
            if differing > SHOWN_LINES {
                continue;
            }
            let number = at + index + 1;
            let found = found.map_or_else(|| "(past the end of the file)".to_owned(), shown);
            let expected = shown(line.text.as_bytes());
            let _ = write!(text, "\nexpected {number}│{expected}\nfound    {number}│{found}");
        }
        if differing > SHOWN_LINES {
            let _ = write!(text, "\n… {} more lines differ", differing - SHOWN_LINES);
        }
        if differing == 0 {
            self.too_early(&mut text, at, &old);
        } else {
            text.push_str("\nGive the lines exactly as the file has them");
        }
        text
    }

    /// Its lines are there, but before the place from which on they are looked for.
    fn too_early(&self, text: &mut String, at: usize, old: &[&Line]) {
        for (index, line) in old.iter().enumerate().take(SHOWN_LINES) {
            let number = at + index + 1;
            let found = shown(self.lines.bare(at + index));
            let expected = shown(line.text.as_bytes());
            let _ = write!(text, "\nexpected {number}│{expected}\nfound    {number}│{found}");
        }
        let why = match self.hunk.anchors.last() {
            Some(anchor) if at >= self.from => format!(
                "\nThese lines stand before the line of the anchor `{anchor}`: give as `@@` the line above them, or \
                 leave it out"
            ),
            _ => "\nThese lines come before what an earlier hunk changes: put the hunks in the file's order"
                .to_owned(),
        };
        text.push_str(&why);
    }

    /// Where the lines most like the hunk's start; of equals the one nearest to where it should be.
    fn nearest(&self, old: &[&Line]) -> Option<usize> {
        let stated = self.hunk.line.map_or(0, |line| line.saturating_sub(1));
        let judged = old.len().min(JUDGED_LINES);
        let mut best: Option<(usize, usize)> = None;
        for at in 0..self.lines.len().min(SEARCHED_LINES) {
            let alike: usize = (0..judged)
                .filter(|index| at + index < self.lines.len())
                .zip(old)
                .map(|(index, line)| likeness(self.lines.bare(at + index), line.text.as_bytes()))
                .sum();
            let score = alike / judged.max(1);
            let is_better = best.is_none_or(|(other, place)| {
                score > other || score == other && at.abs_diff(stated) < place.abs_diff(stated)
            });
            if score >= LIKENESS_MIN && is_better {
                best = Some((score, at));
            }
        }
        best.map(|(_, at)| at)
    }
}

/// How much of two lines is equal from their ends inwards, in thousandths; blanks around them don't count.
fn likeness(a: &[u8], b: &[u8]) -> usize {
    let (a, b) = (a.trim_ascii(), b.trim_ascii());
    if a == b {
        return 1_000;
    }
    let (a, b) = (a.get(..SHOWN_CHARS).unwrap_or(a), b.get(..SHOWN_CHARS).unwrap_or(b));
    let before = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let rest = a.len().min(b.len()) - before;
    let after = a.iter().rev().zip(b.iter().rev()).take_while(|(x, y)| x == y).count().min(rest);
    2_000 * (before + after) / (a.len() + b.len()).max(1)
}

fn shown(line: &[u8]) -> String {
    let line = View::shown(line);
    let part: String = line.chars().take(SHOWN_CHARS).collect();
    let more = if line.chars().nth(SHOWN_CHARS).is_some() { "…" } else { "" };
    format!("{}{more}", visible::blanks(&part))
}

fn numbers(lines: &[usize]) -> String {
    let listed: Vec<String> = lines.iter().take(LINES_MAX).map(|line| (line + 1).to_string()).collect();
    let more = if lines.len() > LINES_MAX { " and further ones" } else { "" };
    let noun = if lines.len() == 1 { "line" } else { "lines" };
    format!("{noun} {}{more}", listed.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::{parse::parse, place::find};

    fn refused(text: &str, body: &str) -> String {
        refused_from(text, body, 0)
    }

    fn refused_from(text: &str, body: &str, from: usize) -> String {
        let patch = parse(&format!("*** Begin Patch\n*** Update File: f\n{body}\n*** End Patch\n")).unwrap();
        let (lines, hunk) = (FileLines::of(text.as_bytes()), &patch.sections[0].hunks[0]);
        let miss = find(&lines, hunk, from).unwrap_err();
        Refused { name: "f", number: 2, hunk, lines: &lines, from }.explain(&miss)
    }

    #[test]
    fn lines_before_the_anchor_are_told_from_lines_before_an_earlier_hunk() {
        let said = refused("x\ndef f():\n    y\n", "@@ def f():\n-x");
        assert!(said.contains("expected 1│x\nfound    1│x\n"), "{said}");
        assert!(said.contains("before the line of the anchor `def f():`"), "{said}");
        let said = refused_from("x\ny\nz\n", "-x", 2);
        assert!(said.contains("before what an earlier hunk changes"), "{said}");
    }

    #[test]
    fn each_refusal_is_as_it_was_reviewed() {
        for (text, body, said) in [
            (
                "a\n\tgo(1)\nb\n",
                " a\n-    go(1)\n b",
                "f, hunk 2: its lines aren't there as it has them. Nearest is what starts at line 1 (→ is a tab, · a \
                 blank):\nexpected 2│····go(1)\nfound    2│→go(1)\nGive the lines exactly as the file has them.",
            ),
            (
                "a\nb\nc\n",
                " a\n-x\n+b\n c",
                "f, hunk 2: its old lines aren't there, and its new text is already there, at line 1: it was applied \
                 before. Leave this hunk out.",
            ),
            (
                "a\na\n",
                "-a",
                "f, hunk 2: its lines are there 2 times, at lines 1, 2. Give more lines of context, or a `@@` line \
                 with the line above that is there once (a function or class).",
            ),
            (
                "a\nb\n",
                "-a\n*** End of File",
                "f, hunk 2: its lines are at line 1, and not at the end of the file. Leave out `*** End of File`, or \
                 give the last lines as they are.",
            ),
            (
                "a\n",
                "@@ z\n-a",
                "f, hunk 2: no line after the hunk before it is `z`. Give the `@@` line as it is in the file, or leave \
                 it out and give more lines of context.",
            ),
            (
                "b\nb\n",
                "@@ b\n+x",
                "f, hunk 2: `b` is there 2 times, at lines 1, 2, so there is no telling where to add. Give lines of \
                 context.",
            ),
            (
                "b\n",
                "-something else",
                "f, hunk 2: its lines aren't there, and nothing is like them. Expected, among others:\nexpected \
                 │something·else\nCheck that this is the right file, and read it.",
            ),
        ] {
            assert_eq!(refused(text, body), said);
        }
    }
}
