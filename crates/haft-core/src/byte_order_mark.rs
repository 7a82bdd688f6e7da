//! The mark that some editors put before a text.

const MARK: char = '\u{feff}';

/// A text as a person wrote it: without the byte order mark that some editors put before it, which is no part of JSON.
/// Whoever reads JSON that people write reads it through this; readers of TOML skip the mark by themselves.
pub fn without_bom(text: &str) -> &str {
    text.strip_prefix(MARK).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_mark_is_taken_from_the_beginning_and_none_from_elsewhere() {
        for (text, expected) in [("\u{feff}{}", "{}"), ("{}\u{feff}", "{}\u{feff}"), ("", "")] {
            assert_eq!(without_bom(text), expected);
        }
    }
}
