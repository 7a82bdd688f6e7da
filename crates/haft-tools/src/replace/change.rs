//! A pattern replaced in the bytes of one file.

use super::pattern::Pattern;
use crate::text::{Coding, Ends, View, binary};
use sha2::{Digest, Sha256};
use std::ops::Range;

/// What came of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It isn't text.
    Binary,
    /// Its encoding can't hold the new text, or its text can't be changed without touching more.
    Unfit,
    /// Nothing there matches, or what matches is already as wanted.
    Same,
    /// It changes.
    Changed(Changed),
}

/// The new content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Changed {
    /// Its bytes.
    pub(super) after: Vec<u8>,
    /// How many places change.
    pub(super) count: u64,
    /// Stands for the old and new text of these places.
    pub(super) digest: Vec<u8>,
}

/// Replaces every match.
pub(super) fn change(before: &[u8], pattern: &Pattern) -> Outcome {
    if binary::is_binary(before.get(..binary::HEAD_BYTES).unwrap_or(before)) {
        return Outcome::Binary;
    }
    let coding = Coding::of(before);
    let view = View::of(before, coding);
    let text = view.text();
    let is_crlf = Ends::of(text).is_crlf();
    let mut spans: Vec<(Range<usize>, Vec<u8>)> = Vec::new();
    for captures in pattern.regex.captures_iter(text) {
        let Some(whole) = captures.get(0) else { continue };
        let new = pattern.new_text(&captures, is_crlf);
        if new != whole.as_bytes() {
            spans.push((whole.range(), new));
        }
    }
    if spans.is_empty() {
        return Outcome::Same;
    }
    let mut hasher = Sha256::new();
    let mut encoded = Vec::with_capacity(spans.len());
    for (span, new) in &spans {
        let old = text.get(span.clone()).unwrap_or_default();
        for part in [old, new.as_slice()] {
            hasher.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
            hasher.update(part);
        }
        let bytes = match view {
            View::Same(..) => new.clone(),
            View::Decoded(_) => {
                let Some(bytes) = std::str::from_utf8(new).ok().and_then(|new| coding.encode(new).ok())
                else {
                    return Outcome::Unfit;
                };
                bytes
            }
        };
        encoded.push((view.span(span), bytes));
    }
    let after = spliced(before, &encoded);
    // What was decoded must read as it was meant to.
    if matches!(view, View::Decoded(_)) && View::of(&after, coding).text() != spliced(text, &spans) {
        return Outcome::Unfit;
    }
    let count = u64::try_from(spans.len()).unwrap_or(u64::MAX);
    Outcome::Changed(Changed { after, count, digest: hasher.finalize().to_vec() })
}

fn spliced(text: &[u8], changes: &[(Range<usize>, Vec<u8>)]) -> Vec<u8> {
    let mut after = Vec::with_capacity(text.len());
    let mut at = 0;
    for (span, new) in changes {
        after.extend_from_slice(text.get(at..span.start).unwrap_or_default());
        after.extend_from_slice(new);
        at = span.end;
    }
    after.extend_from_slice(text.get(at..).unwrap_or_default());
    after
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(before: &[u8], pattern: &Pattern) -> Vec<u8> {
        match change(before, pattern) {
            Outcome::Changed(changed) => changed.after,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn case_f03_other_bytes_and_encodings_stay() {
        let pattern = Pattern::literal("x = 1", "x = 2").unwrap();
        assert_eq!(changed(b"x = 1\nprice \xa2 40\n", &pattern), b"x = 2\nprice \xa2 40\n");
        assert_eq!(changed(b"\xEF\xBB\xBFx = 1", &pattern), b"\xEF\xBB\xBFx = 2");
        let wide = |text: &str| -> Vec<u8> {
            [0xFF, 0xFE].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
        };
        let pattern = Pattern::expression("^x$", "é\ny").unwrap();
        assert_eq!(changed(&wide("x\r\nz\r\n"), &pattern), wide("é\r\ny\r\nz\r\n"));
    }

    #[test]
    fn what_cannot_be_changed_is_told_apart() {
        let snow = Pattern::literal("x", "\u{2603}").unwrap();
        assert_eq!(change(b"x price \xa2 40\n", &snow), Outcome::Unfit);
        assert_eq!(change(b"\x7fELF x\0", &snow), Outcome::Binary);
        assert_eq!(change(b"y\n", &snow), Outcome::Same);
        assert_eq!(change(b"x\n", &Pattern::literal("x", "x").unwrap()), Outcome::Same);
    }

    #[test]
    fn places_are_counted() {
        let Outcome::Changed(changed) = change(b"a\na\nb\n", &Pattern::expression("^a", "c").unwrap()) else {
            panic!("nothing changed")
        };
        assert_eq!((changed.count, changed.after.as_slice()), (2, &b"c\nc\nb\n"[..]));
    }
}
