//! A file's bytes as UTF-8, with the way back to the bytes.

use super::{Coding, Projection};
use encoding_rs::Encoding;
use std::{borrow::Cow, ops::Range};

/// Stands for a byte that is no character; never part of UTF-8, so that no text matches it.
const NO_CHARACTER: u8 = 0xFF;
/// The longest character of any legacy encoding, in bytes (GB18030).
const CHARACTER_MAX_BYTES: usize = 4;

/// The text of a file without its byte order mark. A file in UTF-8 is viewed in place.
#[derive(Debug)]
pub(crate) enum View<'a> {
    /// The text is the file's own bytes from this offset.
    Same(&'a [u8], usize),
    /// The text was decoded.
    Decoded(Projection),
}

impl<'a> View<'a> {
    /// Views the bytes in a coding.
    pub(crate) fn of(bytes: &'a [u8], coding: Coding) -> Self {
        let base = coding.bom().len();
        let text = bytes.get(base..).unwrap_or_default();
        match coding {
            Coding::Utf8 | Coding::Utf8Bom | Coding::Damaged => Self::Same(text, base),
            Coding::Utf16Le => Self::Decoded(wide(text, base, u16::from_le_bytes)),
            Coding::Utf16Be => Self::Decoded(wide(text, base, u16::from_be_bytes)),
            Coding::Legacy(encoding) => Self::Decoded(legacy(text, encoding)),
        }
    }

    /// The text; bytes that are no characters stand in it as they are, or as a byte that is no UTF-8.
    pub(crate) fn text(&self) -> &[u8] {
        match self {
            Self::Same(text, _) => text,
            Self::Decoded(projection) => projection.bytes(),
        }
    }

    /// The bytes of the file that a span of the text stands for.
    pub(crate) fn span(&self, span: &Range<usize>) -> Range<usize> {
        match self {
            Self::Same(_, base) => span.start + base..span.end + base,
            Self::Decoded(projection) => projection.source(span),
        }
    }

    /// A part of the text for readers.
    pub(crate) fn shown(bytes: &[u8]) -> Cow<'_, str> {
        String::from_utf8_lossy(bytes)
    }
}

fn wide(bytes: &[u8], base: usize, unit: fn([u8; 2]) -> u16) -> Projection {
    let mut projection = Projection::default();
    let (pairs, odd) = bytes.as_chunks::<2>();
    let mut source = base;
    for decoded in char::decode_utf16(pairs.iter().map(|pair| unit(*pair))) {
        if let Ok(character) = decoded {
            let width = character.len_utf16() * 2;
            projection.push_char(character, source, width);
            source += width;
        } else {
            projection.push(NO_CHARACTER, source, 2);
            source += 2;
        }
    }
    if !odd.is_empty() {
        projection.push(NO_CHARACTER, source, 1);
    }
    projection
}

fn legacy(bytes: &[u8], encoding: &'static Encoding) -> Projection {
    let mut projection = Projection::default();
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let plain = Encoding::ascii_valid_up_to(rest);
        if plain > 0 {
            projection.push_same(rest.get(..plain).unwrap_or_default(), at);
            at += plain;
            continue;
        }
        at += character(&mut projection, rest, at, encoding);
    }
    projection
}

/// Adds the character that `rest` starts with; gives its width in bytes.
fn character(projection: &mut Projection, rest: &[u8], at: usize, encoding: &'static Encoding) -> usize {
    for width in 1..=CHARACTER_MAX_BYTES {
        let decoded = rest
            .get(..width)
            .and_then(|bytes| encoding.decode_without_bom_handling_and_without_replacement(bytes))
            .filter(|text| !text.is_empty());
        if let Some(text) = decoded {
            for (index, character) in text.chars().enumerate() {
                if index == 0 {
                    projection.push_char(character, at, width);
                } else {
                    projection.push_char(character, at + width, 0);
                }
            }
            return width;
        }
    }
    projection.push(NO_CHARACTER, at, 1);
    1
}

#[cfg(test)]
mod tests {
    use super::*;
    use encoding_rs::{GB18030, SHIFT_JIS, WINDOWS_1252};

    fn find(view: &View<'_>, text: &str) -> Option<Range<usize>> {
        let start = memchr::memmem::find(view.text(), text.as_bytes())?;
        Some(view.span(&(start..start + text.len())))
    }

    #[test]
    fn utf8_is_viewed_in_place_after_its_mark() {
        let view = View::of(b"\xEF\xBB\xBFab", Coding::Utf8Bom);
        assert_eq!(view.text(), b"ab");
        assert_eq!(find(&view, "b"), Some(4..5));
    }

    #[test]
    fn wide_text_is_found_at_whole_units() {
        let bytes: Vec<u8> =
            [0xFF, 0xFE].into_iter().chain("x=é𝄞\n1".encode_utf16().flat_map(u16::to_le_bytes)).collect();
        let view = View::of(&bytes, Coding::Utf16Le);
        assert_eq!(view.text(), "x=é𝄞\n1".as_bytes());
        assert_eq!(find(&view, "é"), Some(6..8));
        assert_eq!(find(&view, "𝄞\n"), Some(8..14));
    }

    #[test]
    fn legacy_text_is_found_at_whole_characters() {
        let view = View::of(b"price \xa2 40", Coding::Legacy(WINDOWS_1252));
        assert_eq!(find(&view, "¢ 4"), Some(6..9));
        // The second byte of 表 is that of a backslash.
        let view = View::of(b"\x95\x5c \x5c", Coding::Legacy(SHIFT_JIS));
        assert_eq!(find(&view, "\\"), Some(3..4));
        let view = View::of(b"\x81\x30\x81\x30x", Coding::Legacy(GB18030));
        assert_eq!(find(&view, "x"), Some(4..5));
        let view = View::of(b"a\xffb", Coding::Legacy(SHIFT_JIS));
        assert_eq!(view.text(), b"a\xffb");
    }
}
