//! A pattern replaced in the bytes of one file.

use super::pattern::Pattern;
use crate::text::{Coding, Ends, View, binary, coding::Unencodable, splice::splice};
use sha2::{Digest, Sha256};
use std::ops::Range;

/// What came of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It isn't text.
    Binary,
    /// Its encoding can't hold the new text.
    Unencodable(Unencodable),
    /// Its text can't be changed without touching more.
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
    let ends = Ends::of(text);
    // After the last line end no further line begins.
    let ends_a_line = matches!(text.last(), Some(b'\n' | b'\r'));
    let is_past_the_end = |span: &Range<usize>| ends_a_line && span.is_empty() && span.start == text.len();
    let mut spans: Vec<(Range<usize>, Vec<u8>)> = Vec::new();
    for captures in pattern.regex.captures_iter(text) {
        let Some(whole) = captures.get(0).filter(|whole| !is_past_the_end(&whole.range())) else { continue };
        // Where all lines end alike, there is nothing to look for.
        let is_mixed = ends.crlf > 0 && !ends.is_crlf();
        let is_crlf = if is_mixed { is_crlf_at(text, &whole.range()) } else { ends.is_crlf() };
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
                let Ok(new) = std::str::from_utf8(new) else { return Outcome::Unfit };
                match coding.encode(new) {
                    Ok(bytes) => bytes,
                    Err(error) => return Outcome::Unencodable(error),
                }
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

/// How the line ends that a match is in: by the first line end in it, else the nearest one, after it or before it.
fn is_crlf_at(text: &[u8], span: &Range<usize>) -> bool {
    let inside = text.get(span.clone()).unwrap_or_default();
    let before = text.get(..span.start).unwrap_or_default();
    let end = memchr::memchr(b'\n', inside)
        .map(|at| span.start + at)
        .or_else(|| {
            let rest = text.get(span.end..).unwrap_or_default();
            memchr::memchr(b'\n', rest).map(|at| span.end + at)
        })
        .or_else(|| memchr::memrchr(b'\n', before));
    let before_end = end.and_then(|end| end.checked_sub(1)).and_then(|at| text.get(at));
    before_end == Some(&b'\r')
}

fn spliced(text: &[u8], changes: &[(Range<usize>, Vec<u8>)]) -> Vec<u8> {
    splice(text, changes.iter().map(|(span, new)| (span, new.as_slice())))
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
        let Outcome::Unencodable(error) = change(b"x price \xa2 40\n", &snow) else {
            panic!("it can't be held")
        };
        assert_eq!(error.characters, ['\u{2603}']);
        assert_eq!(change(b"\x7fELF x\0", &snow), Outcome::Binary);
        assert_eq!(change(b"y\n", &snow), Outcome::Same);
        assert_eq!(change(b"x\n", &Pattern::literal("x", "x").unwrap()), Outcome::Same);
    }

    #[test]
    fn no_line_begins_after_the_last_line_end() {
        let start = Pattern::expression("^", "// ").unwrap();
        let end = Pattern::expression("$", ";").unwrap();
        assert_eq!(changed(b"a\nb\n", &start), b"// a\n// b\n");
        assert_eq!(changed(b"a\nb", &start), b"// a\n// b");
        assert_eq!(changed(b"a\r\n", &start), b"// a\r\n");
        assert_eq!(changed(b"a\nb\n", &end), b"a;\nb;\n");
        assert_eq!(changed(b"a\nb", &end), b"a;\nb;");
        assert_eq!(changed(b"\n", &start), b"// \n");
    }

    #[test]
    fn new_lines_end_as_the_line_that_matched() {
        let pattern = Pattern::literal("x", "1\n2").unwrap();
        assert_eq!(changed(b"x\r\ny\nx\nx", &pattern), b"1\r\n2\r\ny\n1\n2\n1\n2");
        let pattern = Pattern::literal("a\nb", "c\nd").unwrap();
        assert_eq!(changed(b"a\r\nb\nz\n", &pattern), b"c\r\nd\nz\n");
        let pattern = Pattern::literal("last", "1\n2").unwrap();
        assert_eq!(changed(b"a\nb\r\nlast", &pattern), b"a\nb\r\n1\r\n2");
    }

    #[test]
    fn places_are_counted() {
        let Outcome::Changed(changed) = change(b"a\na\nb\n", &Pattern::expression("^a", "c").unwrap()) else {
            panic!("nothing changed")
        };
        assert_eq!((changed.count, changed.after.as_slice()), (2, &b"c\nc\nb\n"[..]));
    }
}
