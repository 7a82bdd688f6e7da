//! Why an edit was refused, and what to do next.

use super::{
    matching::{Kind, Miss},
    nearest::{excerpt, nearest},
};
use crate::text::{View, whole::line_at};
use haft_core::Failure;

/// So many line numbers are listed.
const LINES_MAX: usize = 10;

/// The edit that found no place.
pub(crate) struct Refused<'a> {
    /// The file.
    pub(crate) path: &'a str,
    /// Its text.
    pub(crate) text: &'a [u8],
    /// What was to be found.
    pub(crate) old: &'a str,
    /// Which edit of several, from 1; none where there is one.
    pub(crate) number: Option<usize>,
    /// Whether another edit of the same call would have put the old text there.
    pub(crate) from_other: bool,
}

impl Refused<'_> {
    /// The failure for a miss. Nothing has been changed.
    pub(crate) fn explain(&self, miss: &Miss) -> Failure {
        let which = self.number.map_or_else(String::new, |number| format!("Edit {number}: "));
        let path = self.path;
        let what = match miss {
            Miss::Several(Kind::Exact, starts) => format!(
                "old is in {path} {} times, {}. Add lines around it until it is there once, or set all \
                 to replace each.",
                starts.len(),
                self.lines(starts)
            ),
            Miss::Several(kind, starts) => format!(
                "old isn't in {path} exactly, and {} places differ from it only in {}, {}. Give it \
                 exactly as it is at one of them, with lines around it.",
                starts.len(),
                kind.words(),
                self.lines(starts)
            ),
            Miss::Indentation(start) => self.indentation(*start),
            Miss::Nowhere => self.nowhere(),
        };
        Failure::conflict(format!("{which}{what} Nothing was changed."))
    }

    fn lines(&self, starts: &[usize]) -> String {
        let mut numbers: Vec<String> = Vec::new();
        for start in starts.iter().take(LINES_MAX) {
            let number = line_at(self.text, *start).to_string();
            if numbers.last() != Some(&number) {
                numbers.push(number);
            }
        }
        let more = if starts.len() > LINES_MAX { " and further ones" } else { "" };
        let noun = if numbers.len() == 1 && more.is_empty() { "line" } else { "lines" };
        format!("at {noun} {}{more}", numbers.join(", "))
    }

    fn indentation(&self, start: usize) -> String {
        let line = self
            .text
            .get(start..)
            .unwrap_or_default()
            .split(|byte| *byte == b'\n')
            .next()
            .unwrap_or_default();
        format!(
            "old is in {} at line {} with another indentation, and new can't be carried over to it \
             without mixing blanks and tabs. The line is (→ is a tab, · a blank):\n{}\nGive old and new \
             with the file's own indentation.",
            self.path,
            line_at(self.text, start),
            excerpt(&View::shown(line), 0)
        )
    }

    fn nowhere(&self) -> String {
        let path = self.path;
        if self.from_other {
            return format!(
                "old isn't in {path} yet: another edit of this call would put it there, but all edits \
                 are matched against the file as it is now. Join the two into one edit."
            );
        }
        if has_line_numbers(self.old) {
            return format!(
                "old isn't in {path}: it has the line numbers of read in it. Leave out all up to each │."
            );
        }
        match nearest(self.text, self.old) {
            Some(lines) => format!("old isn't in {path}. {lines}\nGive old exactly as the file has it."),
            None => format!(
                "old isn't in {path}, and nothing there is like it. Check that this is the right file, \
                 or find the place with grep."
            ),
        }
    }
}

fn has_line_numbers(old: &str) -> bool {
    old.lines().all(|line| {
        line.split_once('│')
            .is_some_and(|(number, _)| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused<'a>(text: &'a [u8], old: &'a str) -> Refused<'a> {
        Refused { path: "f", text, old, number: None, from_other: false }
    }

    #[test]
    fn several_places_are_named_by_line() {
        let text = refused(b"a\na\n", "a").explain(&Miss::Several(Kind::Exact, vec![0, 2])).text;
        assert!(text.starts_with("old is in f 2 times, at lines 1, 2. Add lines"), "{text}");
        let text = refused(b"aa", "a").explain(&Miss::Several(Kind::Exact, vec![0, 1])).text;
        assert!(text.contains("at line 1."), "{text}");
    }

    #[test]
    fn the_real_indentation_is_shown() {
        let text = refused(b"if a:\n\t\tgo()\n", "    go()").explain(&Miss::Indentation(6)).text;
        assert!(text.contains("at line 2") && text.contains("\n→→go()\n"), "{text}");
    }

    #[test]
    fn line_numbers_typed_along_are_noticed() {
        let text = refused(b"x\n", "1│y\n2│z").explain(&Miss::Nowhere).text;
        assert!(text.contains("line numbers"), "{text}");
    }
}
