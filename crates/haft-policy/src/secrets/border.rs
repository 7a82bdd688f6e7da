//! Whether a token may begin at a place.

/// So many bytes before a place are looked at.
pub(super) const LOOK_BACK_BYTES: usize = 6;

/// Whether what stands before `at` ends a word, so that a token may begin there.
///
/// An escape is an end too, though it is written with letters: `\n`, `%3D` and `\u0026` stand directly before
/// tokens in JSON and in addresses. A hyphen ends a word only at the start of a line, where a diff puts it.
pub(super) fn opens(text: &[u8], at: usize) -> bool {
    match text.get(..at).unwrap_or_default() {
        [] | [b'-'] | [.., b'\n', b'-'] => true,
        [.., b'-'] => false,
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', high, low] if is_hex_pair(*high, *low) => true,
        [.., b'\\', b'u', b'0', b'0', high, low] if is_hex_pair(*high, *low) => true,
        [.., last] => !is_word(*last),
    }
}

/// A letter, a digit or `_`.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_hex_pair(high: u8, low: u8) -> bool {
    high.is_ascii_hexdigit() && low.is_ascii_hexdigit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_begins_after_a_word_and_after_an_escape() {
        let cases: [(&[u8], bool); 12] = [
            (b"", true),
            (b"key=", true),
            (b"a/", true),
            (b"\"", true),
            (b"line\\n", true),
            (b"q%3D", true),
            (b"a\\u0026", true),
            (b"+\n-", true),
            (b"-", true),
            (b"cache-", false),
            (b"plan", false),
            (b"MY_", false),
        ];
        for (before, expected) in cases {
            assert_eq!(opens(before, before.len()), expected, "{}", before.escape_ascii());
            assert!(before.len() <= LOOK_BACK_BYTES + 1);
        }
    }
}
