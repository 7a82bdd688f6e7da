//! Reads lines of bounded length. Leaves their meaning to `frame`.

use std::io;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// The longest line that is read; the SDK's own transports have the same bound.
pub(crate) const LINE_MAX_BYTES: usize = 16 * 1024 * 1024;

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

/// The lines of a stream.
pub(crate) struct Lines<R> {
    input: BufReader<R>,
    partial: Vec<u8>,
    skipping: bool,
    max_bytes: usize,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self { input: BufReader::new(input), partial: Vec::new(), skipping: false, max_bytes: LINE_MAX_BYTES }
    }

    /// The next line; a last one without line end counts. None at the end.
    ///
    /// # Cancellation
    /// Safe: an unfinished line waits in `self`.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let available = self.input.fill_buf().await?;
            if available.is_empty() {
                return Ok(self.take());
            }
            let newline = available.iter().position(|byte| *byte == b'\n');
            let (piece, used) = match newline {
                Some(at) => (available.get(..at).unwrap_or_default(), at + 1),
                None => (available, available.len()),
            };
            if self.skipping || self.partial.len() + piece.len() > self.max_bytes {
                self.partial = Vec::new();
                self.skipping = true;
            } else {
                self.partial.extend_from_slice(piece);
            }
            self.input.consume(used);
            if newline.is_some()
                && let Some(line) = self.take()
            {
                return Ok(Some(line));
            }
        }
    }

    /// What was gathered, unless it is blank.
    fn take(&mut self) -> Option<Line> {
        let bytes = std::mem::take(&mut self.partial);
        if std::mem::take(&mut self.skipping) {
            return Some(Line::TooLong);
        }
        let Ok(text) = String::from_utf8(bytes) else {
            return Some(Line::NotText);
        };
        let trimmed = text.trim_start_matches('\u{feff}').trim();
        match trimmed.len() {
            0 => None,
            length if length == text.len() => Some(Line::Text(text)),
            _ => Some(Line::Text(trimmed.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(bytes: &[u8], max_bytes: usize) -> Vec<Line> {
        let mut lines = Lines { max_bytes, ..Lines::new(bytes) };
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
}
