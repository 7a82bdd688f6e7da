//! Text with differences taken out that don't show when it is read, and the way back to the text itself.

use crate::text::Projection;
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// Which differences are taken out, each with those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fold {
    /// CRLF counts as a line feed.
    LineEnds,
    /// Blanks before a line end don't count.
    TrailingBlanks,
    /// Quotes and blanks of all kinds count as the plain ones.
    LookAlikes,
    /// A letter and its accents count as the one character that they make together.
    Accents,
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
        match fold {
            Fold::LineEnds | Fold::TrailingBlanks => out.push_same(kept, start),
            Fold::LookAlikes => push_folded(&mut out, kept, start),
            Fold::Accents => push_composed(&mut out, kept, start),
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

/// With composed letters. What a letter and its marks become stands for all of their bytes.
fn push_composed(out: &mut Projection, text: &[u8], source: usize) {
    let mut at = source;
    for chunk in text.utf8_chunks() {
        let mut rest = chunk.valid();
        while !rest.is_empty() {
            let width = cluster_width(rest);
            let (cluster, after) = rest.split_at_checked(width).unwrap_or((rest, ""));
            push_cluster(out, cluster, at);
            at += cluster.len();
            rest = after;
        }
        out.push_same(chunk.invalid(), at);
        at += chunk.invalid().len();
    }
}

/// The bytes of the plain characters before the next letter that could have marks, or else of that letter with its
/// marks. Never 0 where there is text.
fn cluster_width(text: &str) -> usize {
    let plain = text.bytes().position(|byte| !byte.is_ascii()).unwrap_or(text.len());
    if plain == text.len() {
        return plain;
    }
    // The last one may be the letter that marks follow.
    if plain > 1 {
        return plain - 1;
    }
    let mut characters = text.char_indices().skip(1);
    characters.find(|(_, character)| !joins(*character)).map_or(text.len(), |(at, _)| at)
}

fn push_cluster(out: &mut Projection, cluster: &str, source: usize) {
    if cluster.is_ascii() {
        out.push_same(cluster.as_bytes(), source);
        return;
    }
    if let Some((byte, width)) = look_alike(cluster.as_bytes()).filter(|(_, width)| *width == cluster.len()) {
        out.push(byte, source, width);
        return;
    }
    let composed: String = cluster.nfc().collect();
    if composed == cluster {
        out.push_same(cluster.as_bytes(), source);
        return;
    }
    for (index, character) in composed.chars().enumerate() {
        if index == 0 {
            out.push_char(character, source, cluster.len());
        } else {
            out.push_char(character, source + cluster.len(), 0);
        }
    }
}

/// Whether a character belongs to the letter before it: a mark, or the later part of a Korean syllable.
fn joins(character: char) -> bool {
    is_combining_mark(character) || matches!(character, '\u{1160}'..='\u{11FF}')
}

/// Whether a text begins in the middle of a letter.
pub(crate) fn starts_inside(text: &[u8]) -> bool {
    let head = text.get(..4).unwrap_or(text);
    let first = head.utf8_chunks().next().and_then(|chunk| chunk.valid().chars().next());
    first.is_some_and(joins)
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
    fn a_letter_and_its_accents_become_one() {
        for (text, folded) in [
            ("cafe\u{301} “x”\n", "caf\u{e9} \"x\"\n"),
            ("caf\u{e9}", "caf\u{e9}"),
            // Two marks, in either order, and marks that make no new character.
            ("a\u{302}\u{323}", "\u{1ead}"),
            ("a\u{323}\u{302}", "\u{1ead}"),
            ("q\u{307}r", "q\u{307}r"),
            ("\u{1112}\u{1161}\u{11ab}", "\u{d55c}"),
            ("\u{212b}", "\u{c5}"),
        ] {
            let out = fold(text.as_bytes(), Fold::Accents, End::Open);
            assert_eq!(String::from_utf8_lossy(out.bytes()), folded, "{text:?}");
        }
        let odd = fold(b"e\xCC\x81\xFFe\n", Fold::Accents, End::Open);
        assert_eq!(odd.bytes(), b"\xC3\xA9\xFFe\n");
        assert_eq!((odd.source(&(0..2)), odd.source(&(2..4))), (0..3, 3..5));
        assert!(starts_inside("\u{301}x".as_bytes()) && !starts_inside(b"x") && !starts_inside(b"\xCC"));
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
