//! A file's text by lines, each with its own line end.

use crate::text::LineEnd;
use std::ops::Range;

/// The lines of a text.
#[derive(Debug)]
pub(super) struct FileLines<'a> {
    text: &'a [u8],
    end: LineEnd,
    /// Where each line starts, and where the last one ends.
    bounds: Vec<usize>,
}

impl<'a> FileLines<'a> {
    /// Takes a text apart.
    pub(super) fn of(text: &'a [u8]) -> Self {
        let end = LineEnd::of(text);
        let mut bounds = vec![0];
        bounds.extend(memchr::memchr_iter(end.byte(), text).map(|at| at + 1));
        if bounds.last() != Some(&text.len()) {
            bounds.push(text.len());
        }
        Self { text, end, bounds }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Where the line with this index starts; past the last one, where the text ends.
    pub(super) fn start(&self, index: usize) -> usize {
        self.bounds.get(index).copied().unwrap_or(self.text.len())
    }

    /// The bytes of some lines.
    pub(super) fn span(&self, lines: Range<usize>) -> Range<usize> {
        self.start(lines.start)..self.start(lines.end)
    }

    fn whole(&self, index: usize) -> &'a [u8] {
        self.text.get(self.span(index..index + 1)).unwrap_or_default()
    }

    /// A line without its line feed; a carriage return before that stands in it.
    pub(super) fn raw(&self, index: usize) -> &'a [u8] {
        let line = self.whole(index);
        line.strip_suffix(&[self.end.byte()]).unwrap_or(line)
    }

    /// A line without its line end.
    pub(super) fn bare(&self, index: usize) -> &'a [u8] {
        let raw = self.raw(index);
        raw.strip_suffix(b"\r").unwrap_or(raw)
    }

    /// A line's end, empty where the last line has none.
    pub(super) fn end_of(&self, index: usize) -> &'static str {
        let line = self.whole(index);
        match self.end {
            LineEnd::Feed if line.ends_with(b"\r\n") => "\r\n",
            LineEnd::Feed if line.ends_with(b"\n") => "\n",
            LineEnd::Return if line.ends_with(b"\r") => "\r",
            LineEnd::Feed | LineEnd::Return => "",
        }
    }

    /// The plain line end of the text.
    pub(super) fn plain_end(&self) -> &'static str {
        match self.end {
            LineEnd::Feed => "\n",
            LineEnd::Return => "\r",
        }
    }

    /// Whether the last line has no line end.
    pub(super) fn is_open(&self) -> bool {
        self.len().checked_sub(1).is_some_and(|last| self.end_of(last).is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_has_its_own_end() {
        let lines = FileLines::of(b"a\r\nb\n\nc");
        assert_eq!((0..4).map(|line| lines.end_of(line)).collect::<Vec<_>>(), ["\r\n", "\n", "\n", ""]);
        assert_eq!((lines.raw(0), lines.bare(0), lines.bare(3)), (&b"a\r"[..], &b"a"[..], &b"c"[..]));
        assert!(lines.is_open() && lines.len() == 4);
        assert_eq!(lines.span(1..3), 3..6);
        let lines = FileLines::of(b"a\rb\r");
        assert_eq!((lines.len(), lines.end_of(1), lines.is_open()), (2, "\r", false));
        assert_eq!(FileLines::of(b"").len(), 0);
    }
}
