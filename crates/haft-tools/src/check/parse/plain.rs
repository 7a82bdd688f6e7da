//! Text and the places that it names.

use crate::check::finding::Spot;

/// Decoded, without terminal sequences and carriage returns.
pub(super) fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => match characters.next() {
                // A control sequence ends with its first letter or sign from `@` on.
                Some('[') => while characters.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
                // A choice of characters has one more.
                Some('(' | ')') => drop(characters.next()),
                _ => {}
            },
            '\r' if characters.peek() == Some(&'\n') => {}
            _ => out.push(character),
        }
    }
    out
}

/// A number at the beginning, and what follows it.
pub(super) fn number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    digits.parse().ok().map(|number| (number, rest))
}

/// `file:line`, `file:line:column` at the beginning, and what follows it without a colon.
pub(super) fn spot(text: &str) -> Option<(Spot, &str)> {
    for (at, _) in text.match_indices(':') {
        let (file, rest) = text.split_at(at);
        if file.is_empty() || file.contains(char::is_whitespace) || file.contains("://") {
            return None;
        }
        let Some((line, rest)) = rest.strip_prefix(':').and_then(number) else { continue };
        let column = rest.strip_prefix(':').and_then(number);
        let (column, rest) = match column {
            Some((column, rest)) => (Some(column), rest),
            None => (None, rest),
        };
        let is_end = rest.is_empty() || rest.starts_with([':', ' ', ',', ')']);
        // A time of day has no file's name before it.
        if !is_end || file.chars().all(|c| c.is_ascii_digit()) {
            return None;
        }
        let spot = Spot { file: file.to_owned(), line: Some(line), column };
        return Some((spot, rest.strip_prefix(':').unwrap_or(rest)));
    }
    None
}

/// The number before each of these words: `2 failed, 1 passed` asked for `passed` gives 1.
pub(super) fn before(text: &str, word: &str) -> Option<u64> {
    let mut last = "";
    for part in text.split(|c: char| c.is_whitespace() || matches!(c, ',' | '|' | ';' | '=' | '(' | ')')) {
        if part == word {
            return last.parse().ok();
        }
        if !part.is_empty() {
            last = part;
        }
    }
    None
}

/// The number after such a label: `Failures: 1` asked for `Failures:` gives 1.
pub(super) fn after(text: &str, label: &str) -> Option<u64> {
    let (_, rest) = text.split_once(label)?;
    number(rest.trim_start()).map(|(number, _)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_go_and_text_stays() {
        assert_eq!(plain(b"\x1b[31m-x\x1b(B\x1b[m\r\n\xffy\x1b[1;96mz"), "-x\n\u{fffd}yz");
        assert_eq!(plain("é\u{1b}".as_bytes()), "é");
    }

    #[test]
    fn places_are_told_from_other_colons() {
        let found =
            |text| spot(text).map(|(spot, rest)| (spot.file, spot.line, spot.column, rest.trim().to_owned()));
        assert_eq!(
            found("a/b.c:3:14: error: x"),
            Some(("a/b.c".into(), Some(3), Some(14), "error: x".into()))
        );
        assert_eq!(found("B.java:7: error: x"), Some(("B.java".into(), Some(7), None, "error: x".into())));
        assert_eq!(found("x.rs:1:2"), Some(("x.rs".into(), Some(1), Some(2), String::new())));
        for text in ["12:30:45 began", "see http://x:80/a", "no place: here", "two words.c:3: x", "a:1x", ""]
        {
            assert_eq!(found(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_stand_beside_their_words() {
        let line = "2 failed, 1 passed | 3 skipped (6)";
        assert_eq!((before(line, "passed"), before(line, "skipped")), (Some(1), Some(3)));
        assert_eq!((before(line, "error"), before("x passed", "passed")), (None, None));
        assert_eq!(after("Tests run: 3, Failures: 1", "Failures:"), Some(1));
    }
}
