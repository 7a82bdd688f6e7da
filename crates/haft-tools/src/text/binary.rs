//! Whether bytes are text at all, and what they are where they aren't.

use super::{Coding, size};
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
    fn what_is_not_text_is_described() {
        let text = describe("g.png", b"\x89PNG\r\n\x1a\n", 908);
        assert_eq!(
            text,
            "g.png is binary: image/png, 908 B. First 8 bytes:\n89 50 4e 47 0d 0a 1a 0a  .PNG...."
        );
    }
}
