//! Reads lines of bounded length. Leaves their meaning to `frame` and to the client's `message`.

use std::{collections::VecDeque, io};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// The longest line that is read; the SDK's own transports have the same bound.
pub(crate) const LINE_MAX_BYTES: usize = 16 * 1024 * 1024;
/// How much of the beginning and of the end of a line that is too long is kept, to see what it was about.
const KEPT_BYTES: usize = 1_024;

/// One line that isn't blank.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Without line end, byte order mark and space around it.
    Text(String),
    /// Longer than allowed; its bytes were dropped as they came.
    TooLong,
    /// Not UTF-8.
    NotText,
}

/// What is known of a line that was too long.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Overlong {
    /// How many bytes it had.
    pub(crate) bytes: usize,
    /// How it began.
    pub(crate) head: Vec<u8>,
    /// How it ended.
    pub(crate) tail: Vec<u8>,
}

/// Gathers bytes into lines.
pub(crate) struct LineBuffer {
    partial: Vec<u8>,
    /// The line in hand, once it is too long.
    skipped: Option<(Overlong, VecDeque<u8>)>,
    last_skipped: Overlong,
    max_bytes: usize,
}

impl LineBuffer {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { partial: Vec::new(), skipped: None, last_skipped: Overlong::default(), max_bytes }
    }

    /// Takes bytes up to the first line end; gives how many, and the line where one ended that isn't blank.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> (usize, Option<Line>) {
        let newline = bytes.iter().position(|byte| *byte == b'\n');
        let piece = bytes.get(..newline.unwrap_or(bytes.len())).unwrap_or_default();
        self.add(piece);
        match newline {
            Some(at) => (at + 1, self.end()),
            None => (bytes.len(), None),
        }
    }

    fn add(&mut self, piece: &[u8]) {
        if self.skipped.is_none() && self.partial.len() + piece.len() > self.max_bytes {
            let all = std::mem::take(&mut self.partial);
            let head = all.iter().chain(piece).take(KEPT_BYTES).copied().collect();
            let skipped = Overlong { bytes: all.len(), head, tail: Vec::new() };
            let start = all.len().saturating_sub(KEPT_BYTES);
            self.skipped = Some((skipped, all.get(start..).unwrap_or_default().iter().copied().collect()));
        }
        match &mut self.skipped {
            Some((skipped, tail)) => {
                skipped.bytes += piece.len();
                let start = piece.len().saturating_sub(KEPT_BYTES);
                tail.extend(piece.get(start..).unwrap_or_default());
                let further = tail.len().saturating_sub(KEPT_BYTES);
                tail.drain(..further);
            }
            None => self.partial.extend_from_slice(piece),
        }
    }

    /// Ends the line in hand; none where it is blank.
    pub(crate) fn end(&mut self) -> Option<Line> {
        if let Some((mut skipped, tail)) = self.skipped.take() {
            skipped.tail = tail.into();
            self.last_skipped = skipped;
            return Some(Line::TooLong);
        }
        let Ok(text) = String::from_utf8(std::mem::take(&mut self.partial)) else {
            return Some(Line::NotText);
        };
        let trimmed = text.trim_start_matches('\u{feff}').trim();
        match trimmed.len() {
            0 => None,
            length if length == text.len() => Some(Line::Text(text)),
            _ => Some(Line::Text(trimmed.to_owned())),
        }
    }

    /// The last line that was too long.
    pub(crate) fn overlong(&self) -> &Overlong {
        &self.last_skipped
    }
}

/// The lines of a stream.
pub(crate) struct Lines<R> {
    input: BufReader<R>,
    buffer: LineBuffer,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self::bounded(input, LINE_MAX_BYTES)
    }

    fn bounded(input: R, max_bytes: usize) -> Self {
        Self { input: BufReader::new(input), buffer: LineBuffer::new(max_bytes) }
    }

    /// The next line; a last one without line end counts. None at the end.
    ///
    /// # Cancellation
    /// Safe: an unfinished line waits in `self`.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                return Ok(self.buffer.end());
            }
            let (used, line) = self.buffer.take(available);
            self.input.consume(used);
            if line.is_some() {
                return Ok(line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(bytes: &[u8], max_bytes: usize) -> Vec<Line> {
        let mut lines = Lines::bounded(bytes, max_bytes);
        let mut seen = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            seen.push(line);
        }
        seen
    }

    #[tokio::test]
    async fn blank_lines_marks_and_carriage_returns_are_no_content() {
        let seen = all("\u{feff}{}\r\n\r\n  \n[1]".as_bytes(), 100).await;
        assert_eq!(seen, [Line::Text("{}".into()), Line::Text("[1]".into())]);
    }

    #[tokio::test]
    async fn a_line_beyond_the_bound_is_told_and_the_next_is_read() {
        let seen = all(b"123456789\n12345678\n\xff\n", 8).await;
        assert_eq!(seen, [Line::TooLong, Line::Text("12345678".into()), Line::NotText]);
    }

    #[test]
    fn of_a_line_beyond_the_bound_the_ends_are_known_whatever_the_pieces() {
        let mut line = b"{\"id\":1,".to_vec();
        line.extend(std::iter::repeat_n(b'x', 10_000));
        line.extend(b",\"z\":2}\n");
        for size in [1, 7, 3_000, line.len()] {
            let mut buffer = LineBuffer::new(100);
            let mut ended = 0;
            for piece in line.chunks(size) {
                let (used, line) = buffer.take(piece);
                assert_eq!(used, piece.len());
                ended += usize::from(line == Some(Line::TooLong));
            }
            let overlong = buffer.overlong();
            assert_eq!((ended, overlong.bytes), (1, line.len() - 1), "{size}");
            assert!(
                overlong.head.starts_with(b"{\"id\":1,") && overlong.tail.ends_with(b",\"z\":2}"),
                "{size}"
            );
            assert!(overlong.head.len() <= KEPT_BYTES && overlong.tail.len() == KEPT_BYTES);
        }
    }
}
