//! A stream of bytes made fit for a model: no escape sequences, progress bars reduced to their last state,
//! runs of identical lines counted.

use std::io::Write;

/// A longer line is passed on in pieces.
const LINE_MAX_BYTES: usize = 64 * 1024;
/// From so many identical lines on, only the first is kept.
const REPEATS_MAX: u64 = 3;

/// Cleans a stream piece by piece, in flat memory.
#[derive(Default)]
pub(crate) struct Scrub {
    line: Vec<u8>,
    /// Where a carriage return put the cursor: the next printed byte overwrites the line.
    rewind: bool,
    escape: Escape,
    last: Vec<u8>,
    repeats: u64,
    /// The line in hand was passed on in part and isn't compared.
    partial: bool,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Escape {
    #[default]
    None,
    /// After ESC.
    Start,
    /// In `ESC [ …`, until a final byte.
    Control,
    /// In `ESC ] …`, until BEL or `ESC \`.
    Text,
    /// An ESC inside `ESC ] …`.
    TextEnd,
    /// After `ESC (` and its kin: one more byte.
    Charset,
}

impl Scrub {
    /// Takes bytes and gives the clean ones to `out`.
    pub(crate) fn push(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        while !bytes.is_empty() {
            if self.escape == Escape::None && !self.rewind {
                let plain = bytes.iter().position(|byte| is_special(*byte)).unwrap_or(bytes.len());
                let (head, rest) = bytes.split_at(plain);
                self.add(head, out);
                bytes = rest;
            }
            let Some((first, rest)) = bytes.split_first() else { break };
            self.step(*first, out);
            bytes = rest;
        }
    }

    /// Gives what is left: the last line without its end, and a count of repeats.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        if self.line.is_empty() {
            self.end_repeats(out);
        } else {
            self.emit_line(out, false);
        }
    }

    fn step(&mut self, byte: u8, out: &mut Vec<u8>) {
        self.escape = match (self.escape, byte) {
            (Escape::None, 0x1b) => Escape::Start,
            (Escape::None, b'\n') => {
                self.emit_line(out, true);
                Escape::None
            }
            (Escape::None, b'\r') => {
                self.rewind = true;
                Escape::None
            }
            (Escape::None, 0x08) => {
                self.line.pop();
                Escape::None
            }
            (Escape::None, 0x07 | 0x00) => Escape::None,
            (Escape::None, byte) => {
                if self.rewind {
                    self.rewind = false;
                    self.line.clear();
                }
                self.add(&[byte], out);
                Escape::None
            }
            (Escape::Start, b'[') => Escape::Control,
            (Escape::Start, b']' | b'P' | b'_' | b'^') => Escape::Text,
            (Escape::Start, b'(' | b')' | b'#') => Escape::Charset,
            (Escape::Control, 0x20..=0x3f) => Escape::Control,
            (Escape::Text, 0x1b) => Escape::TextEnd,
            (Escape::Text | Escape::TextEnd, b'\n') => {
                self.emit_line(out, true);
                Escape::None
            }
            (Escape::Text, 0x07)
            | (Escape::TextEnd | Escape::Start | Escape::Control | Escape::Charset, _) => Escape::None,
            (Escape::Text, _) => Escape::Text,
        };
    }

    fn add(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.line.extend_from_slice(bytes);
        if self.line.len() > LINE_MAX_BYTES {
            self.end_repeats(out);
            out.append(&mut self.line);
            self.last.clear();
            self.partial = true;
        }
    }

    fn emit_line(&mut self, out: &mut Vec<u8>, ended: bool) {
        self.rewind = false;
        if !self.partial && ended && !self.line.is_empty() && self.line == self.last {
            self.repeats += 1;
            self.line.clear();
            return;
        }
        self.end_repeats(out);
        out.extend_from_slice(&self.line);
        if ended {
            out.push(b'\n');
        }
        self.last.clear();
        if !self.partial {
            std::mem::swap(&mut self.last, &mut self.line);
        }
        self.line.clear();
        self.partial = false;
    }

    fn end_repeats(&mut self, out: &mut Vec<u8>) {
        if self.repeats > REPEATS_MAX {
            let _ = writeln!(out, "[the line above came {} more times]", self.repeats);
        } else {
            for _ in 0..self.repeats {
                out.extend_from_slice(&self.last);
                out.push(b'\n');
            }
        }
        self.repeats = 0;
    }
}

fn is_special(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r' | 0x1b | 0x08 | 0x07 | 0x00)
}

/// A whole text without escape sequences; lines stay as they are.
pub(crate) fn strip_escapes(text: String) -> String {
    if !text.contains('\x1b') {
        return text;
    }
    let mut clean = String::with_capacity(text.len());
    let mut scrub = Scrub::default();
    for line in text.split_inclusive('\n') {
        let mut out = Vec::new();
        // Line by line with a fresh memory of repeats: a listing's identical lines are data.
        scrub.last.clear();
        scrub.push(line.as_bytes(), &mut out);
        scrub.finish(&mut out);
        clean.push_str(&String::from_utf8_lossy(&out));
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scrubbed(text: &[u8]) -> String {
        let whole = in_pieces(text, text.len().max(1));
        for size in 1..4 {
            assert_eq!(in_pieces(text, size), whole, "pieces of {size}");
        }
        whole
    }

    fn in_pieces(text: &[u8], size: usize) -> String {
        let (mut scrub, mut out) = (Scrub::default(), Vec::new());
        text.chunks(size).for_each(|piece| scrub.push(piece, &mut out));
        scrub.finish(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn progress_keeps_its_last_state() {
        assert_eq!(scrubbed(b"10%\r20%\r100%\ndone"), "100%\ndone");
        assert_eq!(scrubbed(b"a\r\nb\r\n"), "a\nb\n");
        assert_eq!(scrubbed(b"abc\x08\x08\n"), "a\n");
    }

    #[test]
    fn escape_sequences_go() {
        assert_eq!(
            scrubbed(b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07x \x1b]8;;u\x1b\\link\x1b(B\n"),
            "red x link\n"
        );
        assert_eq!(scrubbed(b"a\x1b[31"), "a");
        assert_eq!(scrubbed(b"\x1b]never ended\nnext\n"), "\nnext\n");
    }

    #[test]
    fn identical_lines_are_counted() {
        assert_eq!(scrubbed(b"x\nx\nx\nx\ny\n"), "x\nx\nx\nx\ny\n");
        assert_eq!(scrubbed(&b"x\n".repeat(100)), "x\n[the line above came 99 more times]\n");
        assert_eq!(scrubbed(b"\n\n\n\n\n\n"), "\n\n\n\n\n\n");
    }

    #[test]
    fn a_line_without_end_stays_flat_and_whole() {
        let long = vec![b'a'; 300_000];
        assert_eq!(in_pieces(&long, 1000).len(), 300_000);
    }

    #[test]
    fn a_text_loses_only_its_escapes() {
        assert_eq!(strip_escapes("a\nb\n".repeat(5)), "a\nb\n".repeat(5));
        assert_eq!(strip_escapes("\x1b[1mx\x1b[0m\nx\nx\nx\nx\nx\n".into()), "x\n".repeat(6));
    }
}
