//! Characters that a line must not hold, because people or shells would see something else in them.

use super::syntax::Fallible;

/// The longest text that is read exactly.
pub(super) const TEXT_MAX_BYTES: usize = 64 * 1024;

/// Operators that a line continuation behind them could make longer.
const OPERATORS: &str = ";&|<>()";

/// Refuses what can't be read the same way by everybody.
pub(super) fn check(text: &str) -> Fallible<()> {
    if text.len() > TEXT_MAX_BYTES {
        return Err(format!("it is longer than {TEXT_MAX_BYTES} bytes"));
    }
    if let Some(c) = text.chars().find(|c| (c.is_control() && !matches!(c, '\t' | '\n')) || is_hidden(*c)) {
        return Err(format!("it holds the hidden character U+{:04X}", u32::from(c)));
    }
    for (at, _) in text.match_indices("\\\n") {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + 2..).and_then(|after| after.chars().next());
        let lengthens = before.is_some_and(|c| OPERATORS.contains(c))
            && after.is_some_and(|c| OPERATORS.contains(c) || matches!(c, '-' | '\\'));
        if lengthens || before == Some('$') {
            return Err("a line continuation stands within an operator".to_owned());
        }
    }
    Ok(())
}

/// Characters without a width of their own, and those that turn the direction of writing.
fn is_hidden(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Characters that look like a blank or like nothing, but don't part words.
pub(super) fn looks_blank(c: char) -> bool {
    (c.is_whitespace() && !c.is_ascii())
        || matches!(
            c,
            '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{ffa0}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_refused_even_in_quotes() {
        let hidden =
            ["ls\0", "ls\r", "ls '\u{7}'", "ls \"\u{202e}\"", "r\u{200b}m", "ls \u{feff}", "ls \u{85}"];
        for text in hidden {
            assert!(check(text).is_err(), "{text:?}");
        }
        for text in ["ls 'ä ö'", "a\tb\nc", "ls \\\n -l", "a |\\\nb", "日本"] {
            assert!(check(text).is_ok(), "{text:?}");
        }
        assert!(looks_blank('\u{a0}') && looks_blank('\u{3000}') && !looks_blank(' '));
    }

    #[test]
    fn a_continuation_makes_no_operator_longer() {
        for text in ["a &\\\n& b", "a >\\\n> b", "a <<\\\n-E", "$\\\nx"] {
            assert!(check(text).is_err(), "{text:?}");
        }
        assert!(check(&"a".repeat(TEXT_MAX_BYTES + 1)).is_err());
    }
}
