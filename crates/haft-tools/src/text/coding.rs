//! Which encoding a file is in, and text turned into it without loss.

use super::LineEnd;
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use std::fmt;

/// A guess is made on so much, from a multiple of [`SAMPLE_STEP_BYTES`] before the first odd byte.
pub(crate) const SAMPLE_BYTES: usize = 1_024 * 1_024;
/// Where samples start.
pub(crate) const SAMPLE_STEP_BYTES: usize = 64 * 1_024;
/// A file with so many good multi-byte characters for each bad byte is UTF-8 with faults, nothing else.
const GOOD_FOR_EACH_BAD: usize = 4;

/// How a file's bytes stand for text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    /// UTF-8, or plain ASCII.
    Utf8,
    /// UTF-8 after a byte order mark.
    Utf8Bom,
    /// UTF-8 in which some bytes are no characters.
    Damaged,
    /// UTF-16, little end first, after a byte order mark.
    Utf16Le,
    /// UTF-16, big end first, after a byte order mark.
    Utf16Be,
    /// An encoding from before Unicode, guessed from the bytes.
    Legacy(&'static Encoding),
}

/// Characters that an encoding has no bytes for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unencodable {
    /// The encoding's name.
    pub(crate) coding: &'static str,
    /// The first few of them.
    pub(crate) characters: Vec<char>,
}

impl fmt::Display for Unencodable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} can't hold ", self.coding)?;
        for (index, character) in self.characters.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{character} (U+{:04X})", u32::from(*character))?;
        }
        Ok(())
    }
}

impl Coding {
    /// The coding of a whole content.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        if let Some(coding) = Self::by_bom(bytes) {
            return coding;
        }
        match std::str::from_utf8(bytes) {
            Ok(_) => Self::Utf8,
            Err(error) => {
                let start = sample_start(error.valid_up_to());
                let rest = bytes.get(start..).unwrap_or_default();
                let sample = rest.get(..SAMPLE_BYTES).unwrap_or(rest);
                Self::guess(sample, sample.len() == rest.len())
            }
        }
    }

    /// The coding that a byte order mark names. UTF-32 isn't known and looks binary.
    pub(crate) fn by_bom(head: &[u8]) -> Option<Self> {
        match head {
            [0xEF, 0xBB, 0xBF, ..] => Some(Self::Utf8Bom),
            [0xFF, 0xFE, 0, 0, ..] => None,
            [0xFF, 0xFE, ..] => Some(Self::Utf16Le),
            [0xFE, 0xFF, ..] => Some(Self::Utf16Be),
            _ => None,
        }
    }

    /// The likeliest coding of a sample that isn't UTF-8; `to_end` where the file ends with the sample.
    pub(crate) fn guess(sample: &[u8], to_end: bool) -> Self {
        let (mut good, mut bad) = (0_usize, 0_usize);
        for chunk in sample.utf8_chunks() {
            good += chunk.valid().chars().filter(|character| !character.is_ascii()).count();
            bad += usize::from(!chunk.invalid().is_empty());
        }
        if good > bad * GOOD_FOR_EACH_BAD {
            return Self::Damaged;
        }
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
        detector.feed(sample, to_end);
        match detector.guess(None, Utf8Detection::Deny) {
            utf8 if utf8 == UTF_8 => Self::Damaged,
            legacy => Self::Legacy(legacy),
        }
    }

    /// The name for readers.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf8Bom => "UTF-8 with BOM",
            Self::Damaged => "UTF-8 with invalid bytes",
            Self::Utf16Le => "UTF-16LE",
            Self::Utf16Be => "UTF-16BE",
            Self::Legacy(encoding) => encoding.name(),
        }
    }

    /// The bytes before the text.
    pub(crate) fn bom(self) -> &'static [u8] {
        match self {
            Self::Utf8Bom => &[0xEF, 0xBB, 0xBF],
            Self::Utf16Le => &[0xFF, 0xFE],
            Self::Utf16Be => &[0xFE, 0xFF],
            Self::Utf8 | Self::Damaged | Self::Legacy(_) => &[],
        }
    }

    /// The encoding that decodes it.
    pub(crate) fn encoding(self) -> &'static Encoding {
        match self {
            Self::Utf8 | Self::Utf8Bom | Self::Damaged => UTF_8,
            Self::Utf16Le => UTF_16LE,
            Self::Utf16Be => UTF_16BE,
            Self::Legacy(encoding) => encoding,
        }
    }

    /// The bytes of a line end.
    pub(crate) fn line_end(self, end: LineEnd) -> &'static [u8] {
        match (self, end) {
            (Self::Utf16Le, LineEnd::Feed) => &[b'\n', 0],
            (Self::Utf16Le, LineEnd::Return) => &[b'\r', 0],
            (Self::Utf16Be, LineEnd::Feed) => &[0, b'\n'],
            (Self::Utf16Be, LineEnd::Return) => &[0, b'\r'],
            (Self::Utf8 | Self::Utf8Bom | Self::Damaged | Self::Legacy(_), LineEnd::Feed) => b"\n",
            (Self::Utf8 | Self::Utf8Bom | Self::Damaged | Self::Legacy(_), LineEnd::Return) => b"\r",
        }
    }

    /// Where the next line end is in bytes that start at a whole character. No legacy encoding that is ever
    /// guessed has that byte inside a longer character.
    pub(crate) fn find_line_end(self, end: LineEnd, bytes: &[u8]) -> Option<usize> {
        match self.line_end(end) {
            [byte] => memchr::memchr(*byte, bytes),
            wide => bytes.chunks(wide.len()).position(|unit| unit == wide).map(|index| index * wide.len()),
        }
    }

    /// Text in this coding, without a byte order mark.
    ///
    /// # Errors
    /// The characters that would be lost.
    pub(crate) fn encode(self, text: &str) -> Result<Vec<u8>, Unencodable> {
        match self {
            Self::Utf8 | Self::Utf8Bom | Self::Damaged => Ok(text.as_bytes().to_vec()),
            Self::Utf16Le => Ok(text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
            Self::Utf16Be => Ok(text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
            Self::Legacy(encoding) => encode_legacy(encoding, text).ok_or_else(|| {
                let mut characters: Vec<char> = Vec::new();
                let mut buffer = [0; 4];
                for character in text.chars() {
                    let one: &str = character.encode_utf8(&mut buffer);
                    let is_new = !characters.contains(&character);
                    if is_new && characters.len() < 5 && encode_legacy(encoding, one).is_none() {
                        characters.push(character);
                    }
                }
                Unencodable { coding: encoding.name(), characters }
            }),
        }
    }
}

/// Where the sample around an odd byte starts.
pub(crate) fn sample_start(odd: usize) -> usize {
    odd - odd % SAMPLE_STEP_BYTES
}

/// Some encoders map two characters to one byte (yen and backslash): only what comes back the same counts.
fn encode_legacy(encoding: &'static Encoding, text: &str) -> Option<Vec<u8>> {
    let (bytes, _, replaced) = encoding.encode(text);
    if replaced {
        return None;
    }
    let bytes = bytes.into_owned();
    let comes_back = encoding
        .decode_without_bom_handling_and_without_replacement(&bytes)
        .is_some_and(|back| back.as_ref() == text);
    comes_back.then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use encoding_rs::{SHIFT_JIS, WINDOWS_1252};

    #[test]
    fn codings_are_told_apart() {
        assert_eq!(Coding::of(b"plain"), Coding::Utf8);
        assert_eq!(Coding::of("é".as_bytes()), Coding::Utf8);
        assert_eq!(Coding::of(b"\xEF\xBB\xBFx"), Coding::Utf8Bom);
        assert_eq!(Coding::of(b"\xFF\xFEx\0"), Coding::Utf16Le);
        assert_eq!(Coding::of(b"\xFE\xFF\0x"), Coding::Utf16Be);
        assert!(matches!(Coding::of(b"price \xa2 40\n"), Coding::Legacy(_)));
        assert_eq!(Coding::of(&[b"\xff".as_slice(), "äöüßéè".as_bytes()].concat()), Coding::Damaged);
    }

    #[test]
    fn what_an_encoding_cannot_hold_is_named() {
        let error = Coding::Legacy(WINDOWS_1252).encode("a→b€").unwrap_err();
        assert_eq!(error.to_string(), "windows-1252 can't hold → (U+2192)");
        assert_eq!(Coding::Legacy(WINDOWS_1252).encode("é€").unwrap(), [0xE9, 0x80]);
        assert!(Coding::Legacy(SHIFT_JIS).encode("¥").is_err());
        assert_eq!(Coding::Utf16Le.encode("é").unwrap(), [0xE9, 0]);
    }

    #[test]
    fn a_wide_line_feed_is_found_at_whole_units_only() {
        // U+0A0A holds the byte twice and is no line feed.
        assert_eq!(Coding::Utf16Le.find_line_end(LineEnd::Feed, &[0x0A, 0x0A, 0x0A, 0x00]), Some(2));
        assert_eq!(Coding::Utf16Be.find_line_end(LineEnd::Feed, &[0x0A, 0x00, 0x00, 0x0A]), Some(2));
        assert_eq!(Coding::Utf16Le.find_line_end(LineEnd::Return, &[0x0D, 0x0D, 0x0D, 0x00]), Some(2));
    }
}
