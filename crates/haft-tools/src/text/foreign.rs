//! What somebody else changed in a file since the model saw it, told in a few lines.
//!
//! Leaves to the tools when to tell it. What calls of the session changed themselves, the model knows: it is never
//! told as somebody else's. Keeps the bound "so many lines for one call", whatever changed.

use super::{
    Coding, View, binary,
    diff::{Diff, diff},
};
use haft_core::{CallId, Cx, RealPath, Seen, SessionView};
use std::{cell::Cell, fmt::Write as _, sync::Arc};

/// Lines of all diffs of one call together.
const LINES_MAX: usize = 20;
/// A longer line of a diff is cut.
const LINE_MAX_CHARS: usize = 200;
/// A diff begins with the names of both sides, which are known here.
const HEAD_LINES: usize = 2;

/// Tells of changes by others, file by file, within the bound of one call.
pub(crate) struct Foreign {
    session: Arc<dyn SessionView>,
    call: CallId,
    /// Lines that may still be shown.
    left: Cell<usize>,
}

impl Foreign {
    /// For one call.
    pub(crate) fn of(cx: &Cx) -> Self {
        Self { session: Arc::clone(&cx.session), call: cx.call.clone(), left: Cell::new(LINES_MAX) }
    }

    /// Whether somebody else wrote the file, which has this content now, since the session saw or changed it last.
    pub(crate) fn is_stale(&self, at: &RealPath, seen: Option<&Seen>, hash: &str) -> bool {
        seen.is_some_and(|seen| *seen.hash != *hash) && self.own(at).as_deref() != Some(hash)
    }

    /// The change to what is there now, to be put behind a sentence: from what was seen, or what the session itself
    /// left there later, whichever is nearer. Empty where neither content is kept.
    pub(crate) fn change(&self, at: &RealPath, seen: &Seen, now: &[u8]) -> String {
        let left = self.left.get();
        if left == 0 {
            return String::new();
        }
        let known = std::iter::once(Arc::clone(&seen.hash)).chain(self.own(at));
        let contents = known.filter_map(|hash| self.session.content(&hash)).filter(|before| *before != now);
        let changes = contents.map(|before| Short::of(&before, now, left));
        let Some(short) = changes.min_by_key(|short| short.changed) else { return String::new() };
        self.left.set(left.saturating_sub(short.lines));
        short.text
    }

    /// The content that an earlier call of the session left there.
    fn own(&self, at: &RealPath) -> Option<Arc<str>> {
        let changes = self.session.changes();
        let earlier = changes.iter().rev().filter(|change| change.call != self.call);
        let last = earlier.flat_map(|change| change.files.iter().rev()).find(|step| step.path == *at)?;
        last.after.as_ref().map(|after| Arc::clone(&after.hash))
    }
}

/// A change in a few lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Short {
    text: String,
    /// How many lines of the diff are shown.
    lines: usize,
    /// How many lines came or went.
    changed: usize,
}

impl Short {
    fn of(before: &[u8], now: &[u8], most: usize) -> Self {
        if binary::is_binary(head(before)) || binary::is_binary(head(now)) {
            return Self::default();
        }
        let (old, new) = (Coding::of(before), Coding::of(now));
        let diff = diff("f", View::of(before, old).text(), View::of(now, new).text());
        let mut short = Self::default();
        if old != new {
            let _ = write!(short.text, " Its encoding was {} and is {}.", old.name(), new.name());
        }
        short.add(&diff, most);
        short
    }

    fn add(&mut self, diff: &Diff, most: usize) {
        self.changed = diff.added + diff.removed;
        let lines: Vec<&str> = diff.text.lines().skip(HEAD_LINES).collect();
        if lines.is_empty() {
            return;
        }
        let _ = write!(self.text, " What changed (+{} −{} lines):", diff.added, diff.removed);
        for line in lines.iter().take(most) {
            self.text.push('\n');
            self.text.extend(line.chars().take(LINE_MAX_CHARS));
            if line.chars().nth(LINE_MAX_CHARS).is_some() {
                self.text.push('…');
            }
        }
        self.lines = lines.len().min(most);
        if lines.len() > most {
            let _ = write!(self.text, "\n… {} more lines of this change", lines.len() - most);
        }
    }
}

fn head(bytes: &[u8]) -> &[u8] {
    bytes.get(..binary::HEAD_BYTES).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_change_is_shown_whole() {
        let short = Short::of(b"a\nb\nc\n", b"a\nB\x1b[0m\nc\n", 20);
        assert_eq!(short.text, " What changed (+1 −1 lines):\n@@ -1,3 +1,3 @@\n a\n-b\n+B␛[0m\n c");
        assert_eq!(short.lines, 5);
    }

    #[test]
    fn a_long_one_is_cut_and_the_rest_counted() {
        let before: String = (0..50).map(|n| format!("{n}\n")).collect();
        let now = format!("{}\n{}", "x".repeat(500), before.replace('\n', "!\n"));
        let short = Short::of(before.as_bytes(), now.as_bytes(), 4);
        assert_eq!((short.lines, short.text.lines().count()), (4, 6));
        assert!(short.text.starts_with(" What changed (+51 −50 lines):\n"), "{}", short.text);
        assert!(short.text.ends_with("… 98 more lines of this change"), "{}", short.text);
        let long = Short::of(b"", "y".repeat(500).as_bytes(), 9).text;
        assert!(long.contains(&format!("+{}…\n", "y".repeat(LINE_MAX_CHARS - 1))), "{long}");
    }

    #[test]
    fn another_encoding_is_named_and_what_is_no_text_not_shown() {
        let wide: Vec<u8> =
            [0xFF, 0xFE].into_iter().chain("é\n".encode_utf16().flat_map(u16::to_le_bytes)).collect();
        assert_eq!(Short::of("é\n".as_bytes(), &wide, 9).text, " Its encoding was UTF-8 and is UTF-16LE.");
        assert_eq!(Short::of(b"a\n", b"\x7fELF\0", 9), Short::default());
    }
}
