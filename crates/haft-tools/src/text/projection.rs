//! Bytes derived from other bytes, with the way back.

use std::ops::Range;

/// Derived bytes, each of which knows the span of source bytes it stands for.
///
/// Spans are kept as runs of equal width, so that text which maps one to one costs nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Projection {
    bytes: Vec<u8>,
    runs: Vec<Run>,
    next: usize,
}

#[derive(Debug, Clone, Copy)]
struct Run {
    at: usize,
    source: usize,
    width: usize,
}

impl Projection {
    /// The derived bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Adds a byte that stands for `width` source bytes from `source`.
    pub(crate) fn push(&mut self, byte: u8, source: usize, width: usize) {
        let runs_on = self.runs.last().is_some_and(|run| run.width == width) && source == self.next;
        if !runs_on {
            self.runs.push(Run { at: self.bytes.len(), source, width });
        }
        self.bytes.push(byte);
        self.next = source + width;
    }

    /// Adds a character; its first byte stands for the source bytes, the others for nothing more.
    pub(crate) fn push_char(&mut self, character: char, source: usize, width: usize) {
        let mut buffer = [0; 4];
        for (index, byte) in character.encode_utf8(&mut buffer).bytes().enumerate() {
            if index == 0 {
                self.push(byte, source, width);
            } else {
                self.push(byte, source + width, 0);
            }
        }
    }

    /// Adds source bytes that stand for themselves.
    pub(crate) fn push_same(&mut self, bytes: &[u8], source: usize) {
        let Some((first, rest)) = bytes.split_first() else {
            return;
        };
        self.push(*first, source, 1);
        self.bytes.extend_from_slice(rest);
        self.next = source + bytes.len();
    }

    /// The source bytes that a span of the derived bytes stands for.
    pub(crate) fn source(&self, span: &Range<usize>) -> Range<usize> {
        let start = self.unit(span.start).start;
        if span.is_empty() {
            return start..start;
        }
        start..self.unit(span.end - 1).end
    }

    fn unit(&self, index: usize) -> Range<usize> {
        if index >= self.bytes.len() {
            return self.next..self.next;
        }
        let position = self.runs.partition_point(|run| run.at <= index);
        let Some(run) = position.checked_sub(1).and_then(|position| self.runs.get(position)) else {
            return index..index + 1;
        };
        let start = run.source + (index - run.at) * run.width;
        start..start + run.width
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_leads_back_over_what_was_dropped_and_joined() {
        // Source: "a  \r\n“b" — two blanks dropped, CRLF joined, a three-byte quote folded.
        let mut projection = Projection::default();
        projection.push_same(b"a", 0);
        projection.push(b'\n', 3, 2);
        projection.push(b'"', 5, 3);
        projection.push(b'b', 8, 1);
        assert_eq!(projection.bytes(), b"a\n\"b");
        assert_eq!(projection.source(&(0..1)), 0..1);
        assert_eq!(projection.source(&(0..2)), 0..5);
        assert_eq!(projection.source(&(1..3)), 3..8);
        assert_eq!(projection.source(&(2..4)), 5..9);
        assert_eq!(projection.source(&(4..4)), 9..9);
    }

    #[test]
    fn a_character_of_several_bytes_is_one_unit() {
        let mut projection = Projection::default();
        projection.push_char('a', 2, 2);
        projection.push_char('é', 4, 2);
        projection.push_char('b', 6, 2);
        assert_eq!(projection.bytes(), "aéb".as_bytes());
        assert_eq!(projection.source(&(1..3)), 4..6);
        assert_eq!(projection.source(&(3..4)), 6..8);
    }
}
