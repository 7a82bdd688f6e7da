//! Text with differences taken out that don't show when it is read, and the way back to the text itself.

use crate::text::Projection;

/// Which differences are taken out, each with those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fold {
    /// CRLF counts as a line feed.
    LineEnds,
    /// Blanks before a line end don't count.
    TrailingBlanks,
    /// Quotes and blanks of all kinds count as the plain ones.
    LookAlikes,
}

/// How the end of the text is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// As it is.
    Open,
    /// A last line without a line end gets one, which stands for nothing.
    Closed,
}

/// Folds a text.
pub(crate) fn fold(text: &[u8], fold: Fold, end: End) -> Projection {
    let mut out = Projection::default();
    let mut start = 0;
    while let Some(rest) = text.get(start..).filter(|rest| !rest.is_empty()) {
        let newline = memchr::memchr(b'\n', rest);
        let line = rest.get(..newline.unwrap_or(rest.len())).unwrap_or_default();
        let content = if newline.is_some() { line.strip_suffix(b"\r").unwrap_or(line) } else { line };
        let kept = if fold >= Fold::TrailingBlanks { trim_end(content) } else { content };
        if fold >= Fold::LookAlikes {
            push_folded(&mut out, kept, start);
        } else {
            out.push_same(kept, start);
        }
        let end_start = start + content.len();
        if let Some(newline) = newline {
            let next = start + newline + 1;
            out.push(b'\n', end_start, next - end_start);
            start = next;
        } else {
            if end == End::Closed {
                out.push(b'\n', text.len(), 0);
            }
            start = text.len();
        }
    }
    out
}

/// Without the blanks and tabs at its end.
pub(crate) fn trim_end(line: &[u8]) -> &[u8] {
    let kept = line.iter().rposition(|byte| !is_blank(*byte)).map_or(0, |last| last + 1);
    line.get(..kept).unwrap_or_default()
}

/// A blank or a tab.
pub(crate) fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

fn push_folded(out: &mut Projection, text: &[u8], source: usize) {
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let plain = rest.iter().position(|byte| !byte.is_ascii()).unwrap_or(rest.len());
        out.push_same(rest.get(..plain).unwrap_or_default(), source + at);
        at += plain;
        let Some(odd) = text.get(at..).filter(|odd| !odd.is_empty()) else {
            return;
        };
        if let Some((byte, width)) = look_alike(odd) {
            out.push(byte, source + at, width);
            at += width;
        } else {
            out.push_same(odd.get(..1).unwrap_or_default(), source + at);
            at += 1;
        }
    }
}

/// The plain character that the first one looks like, and how many bytes that one has.
fn look_alike(text: &[u8]) -> Option<(u8, usize)> {
    Some(match text {
        // No-break space.
        [0xC2, 0xA0, ..] => (b' ', 2),
        // U+2000 to U+200A and U+202F: blanks of other widths.
        [0xE2, 0x80, 0x80..=0x8A | 0xAF, ..] => (b' ', 3),
        // U+2018 to U+201B and the prime.
        [0xE2, 0x80, 0x98..=0x9B | 0xB2, ..] => (b'\'', 3),
        // U+201C to U+201F and the double prime.
        [0xE2, 0x80, 0x9C..=0x9F | 0xB3, ..] => (b'"', 3),
        // U+205F and U+3000: the mathematical and the ideographic blank.
        [0xE2, 0x81, 0x9F, ..] | [0xE3, 0x80, 0x80, ..] => (b' ', 3),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_takes_out_one_kind_of_difference() {
        let text = "a \t\r\n“b”\u{a0}’c".as_bytes();
        for (step, folded) in [
            (Fold::LineEnds, "a \t\n“b”\u{a0}’c"),
            (Fold::TrailingBlanks, "a\n“b”\u{a0}’c"),
            (Fold::LookAlikes, "a\n\"b\" 'c"),
        ] {
            assert_eq!(String::from_utf8_lossy(fold(text, step, End::Open).bytes()), folded);
        }
    }

    #[test]
    fn a_span_leads_back_to_the_text() {
        let text = "x \r\n“y”\n".as_bytes();
        let folded = fold(text, Fold::LookAlikes, End::Open);
        assert_eq!(folded.bytes(), b"x\n\"y\"\n");
        // From the line end on, which is CRLF in the text, to the closing quote.
        assert_eq!(folded.source(&(1..5)), 2..11);
        assert_eq!(folded.source(&(0..1)), 0..1);
    }

    #[test]
    fn an_open_last_line_may_be_closed() {
        let folded = fold(b"a\nb", Fold::LineEnds, End::Closed);
        assert_eq!(folded.bytes(), b"a\nb\n");
        assert_eq!(folded.source(&(2..4)), 2..3);
        assert_eq!(fold(b"", Fold::LineEnds, End::Closed).bytes(), b"");
    }
}
