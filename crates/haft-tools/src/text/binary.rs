//! Whether bytes are text at all, and what they are where they aren't.

use super::{Coding, size};
use haft_core::Failure;
use std::fmt::Write as _;

/// So much of a file's beginning decides.
pub(crate) const HEAD_BYTES: usize = 64 * 1_024;
/// How many bytes are shown of what isn't text.
const SHOWN_BYTES: usize = 64;
/// Contents that are never text, though some could be mistaken for it.
const SIGNATURES: &[&[u8]] =
    &[b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"%PDF-", b"\x7fELF"];

/// Whether the beginning of a file isn't text: a known signature, a NUL byte, or bytes that are neither UTF-8
/// nor printable. UTF-16 is text where its mark says so.
pub(crate) fn is_binary(head: &[u8]) -> bool {
    if SIGNATURES.iter().any(|signature| head.starts_with(signature)) {
        return true;
    }
    if matches!(Coding::by_bom(head), Some(Coding::Utf16Le | Coding::Utf16Be)) {
        return false;
    }
    if memchr::memchr(0, head).is_some() {
        return true;
    }
    let is_utf8 = std::str::from_utf8(head).map_or_else(|error| error.error_len().is_none(), |_| true);
    if is_utf8 {
        return false;
    }
    let odd = head.iter().filter(|byte| matches!(byte, 1..=7 | 0x0E..=0x1A | 0x1C..=0x1F | 0x7F)).count();
    odd * 20 > head.len()
}

/// Text in units of several bytes that nothing here decodes, so that no change of it would be safe: UTF-32, and
/// UTF-16 without its mark. None where the bytes are anything else.
pub(crate) fn wide(head: &[u8]) -> Option<&'static str> {
    match head {
        [0xFF, 0xFE, 0, 0, ..] => return Some("UTF-32LE"),
        [0, 0, 0xFE, 0xFF, ..] => return Some("UTF-32BE"),
        _ if Coding::by_bom(head).is_some() || memchr::memchr(0, head).is_none() => return None,
        _ => {}
    }
    let (quads, _) = head.as_chunks::<4>();
    let (pairs, _) = head.as_chunks::<2>();
    let by_four = |unit: fn([u8; 4]) -> u32| is_plain(quads.iter().map(|quad| char::from_u32(unit(*quad))));
    let by_two = |unit: fn([u8; 2]) -> u16| {
        is_plain(char::decode_utf16(pairs.iter().map(|pair| unit(*pair))).map(Result::ok))
    };
    if by_four(u32::from_le_bytes) {
        Some("UTF-32LE without a byte order mark")
    } else if by_four(u32::from_be_bytes) {
        Some("UTF-32BE without a byte order mark")
    } else if by_two(u16::from_le_bytes) {
        Some("UTF-16LE without a byte order mark")
    } else if by_two(u16::from_be_bytes) {
        Some("UTF-16BE without a byte order mark")
    } else {
        None
    }
}

/// Whether all are characters of a text, and most of them are ASCII: other bytes hardly ever look so. The last one
/// may be cut off.
fn is_plain(characters: impl Iterator<Item = Option<char>>) -> bool {
    let (mut all, mut plain) = (0_usize, 0_usize);
    let mut characters = characters.peekable();
    while let Some(character) = characters.next() {
        let Some(character) = character else {
            if characters.peek().is_none() && all > 0 {
                break;
            }
            return false;
        };
        if character.is_control() && !matches!(character, '\t' | '\n' | '\r' | '\x0C' | '\x1B') {
            return false;
        }
        all += 1;
        plain += usize::from(character.is_ascii());
    }
    all > 1 && plain * 2 > all
}

/// What bytes are that can't be changed as text, and how they can be; none where they are text. The beginning
/// decides, as it does for what is shown.
pub(crate) fn refusal(name: &str, bytes: &[u8]) -> Option<Failure> {
    let head = bytes.get(..HEAD_BYTES).unwrap_or(bytes);
    if let Some(coding) = wide(head) {
        let (from, _) = coding.split_once(' ').unwrap_or((coding, ""));
        return Some(Failure::conflict(format!(
            "{name} is {coding}, which isn't changed as text; nothing was changed. Use a command through bash, or \
             convert it first: iconv -f {from} -t UTF-8."
        )));
    }
    is_binary(head).then(|| {
        Failure::conflict(format!(
            "{name} is binary ({}), so it has no text to change; nothing was changed. Check that this is the right \
             file, or use a command through bash.",
            kind(head)
        ))
    })
}

/// The kind of content by its first bytes.
pub(crate) fn kind(head: &[u8]) -> &'static str {
    infer::get(head).map_or("unknown type", |kind| kind.mime_type())
}

/// Type, size and first bytes, for a file that isn't text.
pub(crate) fn describe(path: &str, head: &[u8], len: u64) -> String {
    let shown = head.get(..SHOWN_BYTES).unwrap_or(head);
    let mut text = format!("{path} is binary: {}, {}. First {} bytes:", kind(head), size(len), shown.len());
    for row in shown.chunks(16) {
        text.push('\n');
        for byte in row {
            let _ = write!(text, "{byte:02x} ");
        }
        text.push(' ');
        text.extend(row.iter().map(|byte| if (0x20..0x7F).contains(byte) { char::from(*byte) } else { '.' }));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_decides_what_is_text() {
        for (bytes, binary) in [
            (b"plain\n".as_slice(), false),
            (b"%PDF-1.4 nope", true),
            (b"\x89PNG\r\n\x1a\n\x01\x02", true),
            (b"a\0b", true),
            (b"\xFF\xFEa\0", false),
            (b"price \xa2 40\n", false),
            (b"\x1b[31mred\x1b[0m", false),
            (b"\x01\x02\x03\x9c\x04\xfe\x05", true),
        ] {
            assert_eq!(is_binary(bytes), binary, "{bytes:?}");
        }
        assert!(is_binary(b"\x89PNG\r\n\x1a\n"));
    }

    #[test]
    fn wide_text_without_its_mark_is_told_from_other_bytes() {
        let text = "a = \u{e9}\r\n\t\u{65e5}bc\n";
        let by_two = |unit: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(unit).collect::<Vec<u8>>();
        let by_four = |unit: fn(u32) -> [u8; 4]| {
            text.chars().flat_map(|character| unit(u32::from(character))).collect::<Vec<u8>>()
        };
        let (le, be) = (by_four(u32::to_le_bytes), by_four(u32::to_be_bytes));
        for (bytes, name) in [
            (by_two(u16::to_le_bytes), Some("UTF-16LE without a byte order mark")),
            (by_two(u16::to_be_bytes), Some("UTF-16BE without a byte order mark")),
            (le.clone(), Some("UTF-32LE without a byte order mark")),
            (be.clone(), Some("UTF-32BE without a byte order mark")),
            ([b"\xFF\xFE\0\0".as_slice(), &le].concat(), Some("UTF-32LE")),
            ([b"\0\0\xFE\xFF".as_slice(), &be].concat(), Some("UTF-32BE")),
            ([b"\xFF\xFE".as_slice(), &by_two(u16::to_le_bytes)].concat(), None),
            (text.as_bytes().to_vec(), None),
            (b"a\0b=1\n".to_vec(), None),
            (b"\x7fELF\x02\x01\x01\0\0\0\0\0".to_vec(), None),
            (Vec::new(), None),
        ] {
            assert_eq!(wide(&bytes), name, "{bytes:?}");
        }
    }

    #[test]
    fn a_refusal_names_what_it_is_and_the_way_out() {
        let text = |bytes: &[u8]| refusal("f", bytes).map(|failure| failure.text).unwrap_or_default();
        let wide = text(b"a\0b\0\n\0");
        assert!(wide.contains("UTF-16LE without a byte") && wide.contains("iconv -f UTF-16LE"), "{wide}");
        assert!(text(b"%PDF-1.7\n").contains("binary (application/pdf)"));
        assert_eq!((text(b"\xFF\xFEa\0"), text(b"price \xa2 40\n")), (String::new(), String::new()));
    }

    #[test]
    fn what_is_not_text_is_described() {
        let text = describe("g.png", b"\x89PNG\r\n\x1a\n", 908);
        assert_eq!(
            text,
            "g.png is binary: image/png, 908 B. First 8 bytes:\n89 50 4e 47 0d 0a 1a 0a  .PNG...."
        );
    }
}
