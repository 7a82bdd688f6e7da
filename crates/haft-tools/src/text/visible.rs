//! What a terminal or a model can't see, made visible.

/// Adds a character; one that can't be seen, or that reorders what stands beside it, as a sign. Says whether
/// it was replaced. Tabs stay tabs: they are copied into edits.
pub(crate) fn push(out: &mut String, character: char) -> bool {
    let code = u32::from(character);
    match code {
        0x09 => out.push(character),
        0..=0x1F => out.push(char::from_u32(0x2400 + code).unwrap_or('?')),
        0x7F => out.push('\u{2421}'),
        0x80..=0x9F | 0x200B | 0x200E | 0x200F | 0x2028..=0x202E | 0x2060..=0x2069 | 0xFEFF => {
            out.extend(character.escape_unicode());
        }
        _ => {
            out.push(character);
            return false;
        }
    }
    code != 0x09
}

/// Whether a text is all ASCII that [`push`] adds as it is, and not as a sign.
pub(crate) fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'))
}

/// A line with what can't be seen made visible.
pub(crate) fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        push(&mut out, character);
    }
    out
}

/// A line with its blanks visible too: `→` for a tab, `·` for a blank, escapes for the other kinds.
pub(crate) fn blanks(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => out.push('→'),
            ' ' => out.push('·'),
            other if other.is_whitespace() && !other.is_ascii() => out.extend(other.escape_unicode()),
            other => {
                push(&mut out, other);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_plain_is_added_as_it_is() {
        for code in 0..=0x2FF {
            let character = char::from_u32(code).unwrap();
            let mut out = String::new();
            let is_sign = push(&mut out, character);
            let is_as_it_is = !is_sign && out == character.to_string();
            assert_eq!(is_plain(&character.to_string()), is_as_it_is && character.is_ascii(), "{code:#x}");
        }
    }

    #[test]
    fn what_cannot_be_seen_is_shown() {
        assert_eq!(line("a\tb\u{1b}[0m\r"), "a\tb␛[0m␍");
        assert_eq!(line("x\u{202e}y"), "x\\u{202e}y");
        assert_eq!(blanks("\t\tgo( )\u{a0}"), "→→go(·)\\u{a0}");
    }
}
