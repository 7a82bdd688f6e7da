//! What a server wrote beside the protocol, bounded: standard error, messages of its log, lines that were no messages.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// How many lines are kept; the oldest go first.
const LINES_MAX: usize = 200;
/// How long a kept line is.
const LINE_MAX_BYTES: usize = 2 * 1024;

/// How often a server did what it shouldn't.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Oddities {
    /// Lines on standard output that were no messages.
    pub noise: usize,
    /// Lines that weren't UTF-8.
    pub not_text: usize,
    /// Lines that were longer than is read.
    pub overlong: usize,
    /// Replies to nothing that was asked: late, doubled, or with an id of somebody else's.
    pub unasked: usize,
    /// Messages of the server that came faster than they could be looked at, or too many at once, and were left out.
    pub left_out: usize,
}

impl Oddities {
    /// What there was, in words.
    pub fn words(&self) -> Vec<String> {
        let named = [
            (self.noise, "lines on standard output that are no messages"),
            (self.not_text, "lines that aren't UTF-8"),
            (self.overlong, "lines longer than 16 MiB"),
            (self.unasked, "replies to nothing that was asked"),
            (self.left_out, "messages left out, since they came too fast or too many at once"),
        ];
        named.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect()
    }
}

/// The log of one server, over all its starts.
#[derive(Debug, Default)]
pub(crate) struct ServerLog {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    lines: VecDeque<String>,
    /// How many went.
    gone: usize,
    /// The beginning of a line of standard error.
    partial: Vec<u8>,
    oddities: Oddities,
}

impl ServerLog {
    /// Takes what came on standard error.
    pub(crate) fn stderr(&self, bytes: &[u8]) {
        let mut inner = self.lock();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let room = LINE_MAX_BYTES.saturating_sub(inner.partial.len());
            inner.partial.extend_from_slice(piece.get(..piece.len().min(room)).unwrap_or_default());
            if piece.ends_with(b"\n") {
                inner.end_partial();
            }
        }
    }

    /// Adds a line.
    pub(crate) fn line(&self, text: &str) {
        self.lock().push(text);
    }

    /// Counts a line that was no message, and keeps it: a server that prints its faults there says so.
    pub(crate) fn noise(&self, text: &str) {
        let mut inner = self.lock();
        inner.oddities.noise += 1;
        inner.push(text);
    }

    /// Counts something odd.
    pub(crate) fn count(&self, which: impl FnOnce(&mut Oddities) -> &mut usize) {
        *which(&mut self.lock().oddities) += 1;
    }

    /// Counts messages that were left out.
    pub(crate) fn leave_out(&self, count: usize) {
        let mut inner = self.lock();
        inner.oddities.left_out = inner.oddities.left_out.saturating_add(count);
    }

    /// What was odd so far.
    pub(crate) fn oddities(&self) -> Oddities {
        self.lock().oddities
    }

    /// The last lines, at most `max`, and how many more there were.
    pub(crate) fn last(&self, max: usize) -> (Vec<String>, usize) {
        let mut inner = self.lock();
        inner.end_partial();
        let skipped = inner.lines.len().saturating_sub(max);
        (inner.lines.iter().skip(skipped).cloned().collect(), inner.gone + skipped)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn push(&mut self, text: &str) {
        let end = text.floor_char_boundary(LINE_MAX_BYTES);
        let line = text.get(..end).unwrap_or_default().trim_end();
        if line.is_empty() {
            return;
        }
        if self.lines.len() >= LINES_MAX {
            self.lines.pop_front();
            self.gone += 1;
        }
        self.lines.push_back(line.to_owned());
    }

    fn end_partial(&mut self) {
        let bytes = std::mem::take(&mut self.partial);
        if !bytes.is_empty() {
            self.push(&String::from_utf8_lossy(&bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_and_the_others_counted() {
        let log = ServerLog::default();
        for number in 0..LINES_MAX + 5 {
            log.stderr(format!("{number}\n").as_bytes());
        }
        let (lines, gone) = log.last(3);
        assert_eq!((lines.as_slice(), gone), (&["202", "203", "204"].map(str::to_owned)[..], 202));
    }

    #[test]
    fn a_line_without_end_is_bounded_and_shown() {
        let log = ServerLog::default();
        for _ in 0..1_000 {
            log.stderr(&[b'x'; 1_000]);
        }
        log.stderr(b"\nnext");
        let (lines, _) = log.last(10);
        assert_eq!((lines[0].len(), lines[1].as_str()), (LINE_MAX_BYTES, "next"));
    }

    #[test]
    fn what_is_odd_is_counted_in_words() {
        let log = ServerLog::default();
        log.noise("Server started");
        log.count(|odd| &mut odd.unasked);
        assert_eq!(
            log.oddities().words(),
            ["1 lines on standard output that are no messages", "1 replies to nothing that was asked"]
        );
    }
}
