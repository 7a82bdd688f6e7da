//! Text that is made line by line and stays within the bounds of a result.

use super::page::LINE_MAX_CHARS;
use crate::text::{grouped, visible};
use haft_core::{OUTPUT_MAX_BYTES, OUTPUT_MAX_LINES};
use std::fmt::Write as _;

/// So much is kept for what is said at the end.
const NOTES_BYTES: usize = 1_024;
/// So many lines are kept for it.
const NOTES_LINES: usize = 8;

/// Lines so far.
#[derive(Debug, Default)]
pub(crate) struct Roll {
    text: String,
    lines: usize,
}

impl Roll {
    /// Whether a further line may be too much. One line always fits after this said no.
    pub(crate) fn is_full(&self) -> bool {
        self.lines >= OUTPUT_MAX_LINES - NOTES_LINES
            || self.text.len() >= OUTPUT_MAX_BYTES - NOTES_BYTES - LINE_MAX_CHARS * 4
    }

    /// Adds a line of our own words.
    pub(crate) fn line(&mut self, text: &str) {
        self.cut_line(text, LINE_MAX_CHARS);
    }

    /// Adds a line of a file, at most `max` characters of it and no more than there is room for.
    pub(crate) fn cut_line(&mut self, text: &str, max: usize) {
        // One that can't be seen becomes an escape of eight bytes.
        let room = (OUTPUT_MAX_BYTES - NOTES_BYTES).saturating_sub(self.text.len()) / 8;
        let most = max.min(room).max(1);
        match text.char_indices().nth(most) {
            None => self.text.push_str(&visible::line(text)),
            Some((end, _)) => {
                let (shown, rest) = text.split_at(end);
                let more = u64::try_from(rest.chars().count()).unwrap_or(u64::MAX);
                let _ = write!(self.text, "{}… [{} more characters]", visible::line(shown), grouped(more));
            }
        }
        self.text.push('\n');
        self.lines += 1;
    }

    /// Adds a note, for which there is always room.
    pub(crate) fn note(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// All lines, without the last line end.
    pub(crate) fn finish(mut self) -> String {
        self.text.truncate(self.text.trim_end_matches('\n').len());
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_full_before_it_is_too_much() {
        for line in ["x".repeat(9_000), "\u{7}é".repeat(700), "x".to_owned()] {
            let mut roll = Roll::default();
            while !roll.is_full() {
                roll.cut_line(&line, 10_000);
            }
            roll.note(&"n".repeat(NOTES_BYTES / 2));
            let text = roll.finish();
            assert!(text.len() <= OUTPUT_MAX_BYTES && text.lines().count() <= OUTPUT_MAX_LINES);
        }
    }
}
