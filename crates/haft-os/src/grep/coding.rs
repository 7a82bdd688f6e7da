//! Which encoding the bytes of a file are in, as `read` tells it, and their text.
//!
//! Guesses as the file tools do, on a sample around the first byte that isn't UTF-8, so that what `grep` finds is what
//! `read` shows. A file that is UTF-8 with faults, or full of control characters, is searched as it is.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use std::borrow::Cow;

/// A guess is made on so much, from a multiple of [`SAMPLE_STEP_BYTES`] before the first odd byte.
const SAMPLE_BYTES: usize = 1_024 * 1_024;
/// Where samples start.
const SAMPLE_STEP_BYTES: usize = 64 * 1_024;
/// A file with so many good multi-byte characters for each bad byte is UTF-8 with faults, nothing else.
const GOOD_FOR_EACH_BAD: usize = 4;
/// Where more than one byte in so many is an odd control character, it is no text.
const ODD_SHARE: usize = 20;

/// The encoding that a byte order mark names, and the mark's length. UTF-32 isn't known and looks binary.
pub(super) fn by_mark(head: &[u8]) -> Option<(&'static Encoding, usize)> {
    match head {
        [0xEF, 0xBB, 0xBF, ..] => Some((UTF_8, 3)),
        [0xFF, 0xFE, 0, 0, ..] => None,
        [0xFF, 0xFE, ..] => Some((UTF_16LE, 2)),
        [0xFE, 0xFF, ..] => Some((UTF_16BE, 2)),
        _ => None,
    }
}

/// The encoding from before Unicode that bytes without a mark are likely in; none for UTF-8, with faults or without.
/// `is_whole` where nothing comes after them.
pub(super) fn legacy(bytes: &[u8], is_whole: bool) -> Option<&'static Encoding> {
    let Err(error) = std::str::from_utf8(bytes) else {
        return None;
    };
    if error.error_len().is_none() && !is_whole {
        // A character that was cut off.
        return None;
    }
    let odd = error.valid_up_to();
    let rest = bytes.get(odd - odd % SAMPLE_STEP_BYTES..).unwrap_or_default();
    let sample = rest.get(..SAMPLE_BYTES).unwrap_or(rest);
    let (mut good, mut bad) = (0_usize, 0_usize);
    for chunk in sample.utf8_chunks() {
        good += chunk.valid().chars().filter(|character| !character.is_ascii()).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    let controls =
        sample.iter().filter(|byte| matches!(byte, 1..=7 | 0x0E..=0x1A | 0x1C..=0x1F | 0x7F)).count();
    if good > bad * GOOD_FOR_EACH_BAD || controls * ODD_SHARE > sample.len() {
        return None;
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(sample, is_whole && sample.len() == rest.len());
    let guess = detector.guess(None, Utf8Detection::Deny);
    (guess != UTF_8).then_some(guess)
}

/// The text of bytes without a mark.
pub(super) fn text<'a>(encoding: &'static Encoding, bytes: &'a [u8]) -> Cow<'a, [u8]> {
    match encoding.decode_without_bom_handling(bytes).0 {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// Whether the lines of a text end with carriage returns: it has those and no line feed.
pub(super) fn has_returns_alone(text: &[u8]) -> bool {
    memchr::memchr(b'\n', text).is_none() && memchr::memchr(b'\r', text).is_some()
}

/// Puts line feeds in the place of carriage returns.
pub(super) fn put_feeds(text: &mut [u8]) {
    for byte in text {
        if *byte == b'\r' {
            *byte = b'\n';
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encoding_rs::{EUC_KR, GBK, SHIFT_JIS};

    #[test]
    fn legacy_text_is_told_from_utf8_and_from_no_text() {
        for text in ["plain", "naïve façade", "日本語"] {
            assert_eq!(legacy(text.as_bytes(), true), None, "{text}");
        }
        let cut = &"日本語".as_bytes()[..8];
        assert_eq!(legacy(cut, false), None);
        assert!(legacy(b"price \xa2 40\n", true).is_some());
        assert_eq!(legacy(&[b"\xff".as_slice(), "äöüßéè".as_bytes()].concat(), true), None);
        assert_eq!(legacy(b"\x01\x02\x03\x9c\x04\xfe\x05", true), None);
    }

    #[test]
    fn texts_of_each_kind_come_back() {
        let japanese = "これは日本語の文章です。検索できなければなりません。";
        let korean = "이것은 한국어로 쓴 문장입니다. 찾을 수 있어야 합니다.";
        let chinese = "这是一个用中文写的句子，应该能够被搜索到。";
        for (encoding, written) in [(SHIFT_JIS, japanese), (EUC_KR, korean), (GBK, chinese)] {
            let bytes = encoding.encode(written).0;
            let guess = legacy(&bytes, true).unwrap();
            assert_eq!(text(guess, &bytes), written.as_bytes(), "{}", guess.name());
        }
    }

    #[test]
    fn marks_are_known() {
        assert_eq!(by_mark(b"\xEF\xBB\xBFx"), Some((UTF_8, 3)));
        assert_eq!(by_mark(b"\xFF\xFEx\0"), Some((UTF_16LE, 2)));
        assert_eq!(by_mark(b"\xFE\xFF\0x"), Some((UTF_16BE, 2)));
        assert_eq!(by_mark(b"\xFF\xFE\0\0x\0\0\0"), None);
        assert_eq!(by_mark(b"x"), None);
    }
}
