//! What a runner prints, kept while it runs.

use haft_core::{Capture, Captured, Cx, Shape, Stdio};

/// So much of each end of each stream is read for findings and counts.
const END_MAX_BYTES: usize = 8 << 20;

/// One stream, whose middle is dropped where it is very long.
#[derive(Debug, Default)]
struct Stream {
    head: Vec<u8>,
    tail: Vec<u8>,
    is_cut: bool,
}

impl Stream {
    fn push(&mut self, bytes: &[u8]) {
        let room = END_MAX_BYTES.saturating_sub(self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(rest);
        // Twice as much before it is cut, so that bytes move seldom.
        if self.tail.len() > END_MAX_BYTES.saturating_mul(2) {
            let over = self.tail.len() - END_MAX_BYTES;
            self.tail.drain(..over);
            self.is_cut = true;
        }
    }

    fn whole(self) -> Vec<u8> {
        let mut bytes = self.head;
        if self.is_cut {
            bytes.push(b'\n');
        }
        bytes.extend(self.tail);
        bytes
    }
}

/// Takes output: for parsers each stream by itself, for readers both as they come.
pub(super) struct Ear<'a> {
    cx: &'a Cx,
    out: Stream,
    err: Stream,
    shown: Box<dyn Capture>,
    /// Whether lines of JSON are left out of what is shown.
    hides_json: bool,
    /// The beginning of a line of standard output that isn't whole yet.
    pending: Vec<u8>,
}

/// What was heard.
#[derive(Debug)]
pub(super) struct Heard {
    pub(super) out: Vec<u8>,
    pub(super) err: Vec<u8>,
    /// Whether something in the middle is missing, so that no sum can be trusted.
    pub(super) is_cut: bool,
    pub(super) shown: Captured,
}

impl<'a> Ear<'a> {
    pub(super) fn new(cx: &'a Cx, hides_json: bool) -> Self {
        Self {
            cx,
            out: Stream::default(),
            err: Stream::default(),
            shown: cx.sink.capture(Shape::HeadTail),
            hides_json,
            pending: Vec::new(),
        }
    }

    pub(super) fn hear(&mut self, stream: Stdio, bytes: &[u8]) {
        match stream {
            Stdio::Out => self.out.push(bytes),
            Stdio::Err => self.err.push(bytes),
        }
        if !self.hides_json || stream == Stdio::Err {
            self.show(bytes);
            return;
        }
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.pending.extend_from_slice(line);
            if line.ends_with(b"\n") {
                self.show_pending();
            }
        }
    }

    fn show_pending(&mut self) {
        let line = std::mem::take(&mut self.pending);
        if !line.starts_with(b"{\"") {
            self.show(&line);
        }
    }

    fn show(&mut self, bytes: &[u8]) {
        self.shown.push(bytes);
        self.cx.partial(String::from_utf8_lossy(bytes));
    }

    pub(super) fn finish(mut self) -> Heard {
        if !self.pending.is_empty() {
            self.show_pending();
        }
        let is_cut = self.out.is_cut || self.err.is_cut;
        Heard { out: self.out.whole(), err: self.err.whole(), is_cut, shown: self.shown.finish() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_long_stream_are_kept() {
        let mut stream = Stream::default();
        stream.push(b"first\n");
        for _ in 0..40 {
            stream.push(&vec![b'x'; 1 << 20]);
        }
        stream.push(b"last");
        assert!(stream.is_cut);
        let whole = stream.whole();
        assert!(whole.starts_with(b"first\n") && whole.ends_with(b"last") && whole.len() < 26 << 20);
        let mut short = Stream::default();
        short.push(b"a");
        short.push(b"b");
        assert!(!short.is_cut && short.whole() == b"ab");
    }
}
