//! The lines found in one file.

use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};
use haft_core::{Cancel, GrepLine};
use std::io;

const LINES_MAX: usize = 1_000;
const LINE_MAX_BYTES: usize = 2_000;
/// Room for the note on how much of a line was left out.
const CUT_NOTE_BYTES: usize = 40;

/// What came of the search of one file.
pub(super) enum Outcome {
    /// No line matched.
    Nothing,
    /// It isn't text.
    Binary,
    /// Some lines matched.
    Lines {
        /// How many.
        count: u64,
        /// The first of them, with their context.
        lines: Vec<GrepLine>,
        /// How many matching lines aren't among those.
        left_out: u64,
    },
}

/// Collects the lines of one search.
pub(super) struct Found<'a> {
    lines: Vec<GrepLine>,
    /// How many lines matched, and how many of those are in `lines`.
    count: u64,
    kept: u64,
    is_binary: bool,
    cancel: &'a Cancel,
}

impl<'a> Found<'a> {
    pub(super) fn new(cancel: &'a Cancel) -> Self {
        Self { lines: Vec::new(), count: 0, kept: 0, is_binary: false, cancel }
    }

    /// What there is at the end.
    pub(super) fn outcome(self) -> Outcome {
        match self.count {
            _ if self.is_binary => Outcome::Binary,
            0 => Outcome::Nothing,
            count => Outcome::Lines { count, lines: self.lines, left_out: count.saturating_sub(self.kept) },
        }
    }

    fn add(&mut self, number: u64, line: &[u8], matched: bool) {
        self.count += u64::from(matched);
        if self.lines.len() >= LINES_MAX {
            return;
        }
        self.kept += u64::from(matched);
        let after_gap = self.lines.last().is_some_and(|last| last.number.saturating_add(1) < number);
        self.lines.push(GrepLine { number, text: text(line), matched, after_gap });
    }
}

impl Sink for Found<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let first = found.line_number().unwrap_or_default();
        for (number, line) in (first..).zip(found.lines()) {
            self.add(number, line, true);
        }
        Ok(!self.cancel.is_fired())
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, io::Error> {
        self.add(found.line_number().unwrap_or_default(), found.bytes(), false);
        Ok(!self.cancel.is_fired())
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.is_binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> Result<(), io::Error> {
        self.is_binary |= end.binary_byte_offset().is_some();
        Ok(())
    }
}

/// A line without its end, cut where it is too long.
fn text(line: &[u8]) -> String {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // Bytes that aren't UTF-8 grow when they are replaced: decode no more than can be shown.
    let shown = String::from_utf8_lossy(line.get(..LINE_MAX_BYTES + 4).unwrap_or(line));
    if line.len() <= LINE_MAX_BYTES && shown.len() <= LINE_MAX_BYTES {
        return shown.into_owned();
    }
    let end = shown.floor_char_boundary(LINE_MAX_BYTES - CUT_NOTE_BYTES);
    let shown = shown.get(..end).unwrap_or_default();
    format!("{shown}… [{} bytes more]", line.len().saturating_sub(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_between_characters_and_say_so() {
        assert_eq!(text(b"a\r\n"), "a");
        assert_eq!(text("ü".repeat(1_000).as_bytes()).len(), LINE_MAX_BYTES);
        let cut = text("ü".repeat(1_001).as_bytes());
        assert!(cut.len() <= LINE_MAX_BYTES && cut.ends_with("bytes more]") && !cut.contains('\u{fffd}'));
    }
}
