//! Text of strangers made fit for a terminal. Pure.

use haft_core::is_hidden;

/// Takes out terminal escapes, control characters and characters that hide or reorder others; line breaks and
/// tabs stay. For results and prose, where their looks are all that counts.
pub(crate) fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\n' | '\t' => cleaned.push(c),
            '\u{2028}' | '\u{2029}' => cleaned.push(' '),
            '\u{1b}' => rest = after_escape(rest),
            '\u{9b}' => rest = after_csi(rest),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => rest = after_string(rest),
            c if c.is_control() || is_hidden(c) => {}
            c => cleaned.push(c),
        }
    }
    cleaned
}

/// All on one line, blanks run together, at most `max` characters, of which the last is then `…`.
pub(crate) fn one_line(text: &str, max: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= max {
        return line;
    }
    let mut cut: String = line.chars().take(max.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// What comes after an ESC and the sequence it starts.
fn after_escape(mut rest: std::str::Chars<'_>) -> std::str::Chars<'_> {
    let start = rest.clone();
    match rest.next() {
        Some('[') => after_csi(rest),
        Some(']' | 'P' | 'X' | '^' | '_') => after_string(rest),
        Some(' '..='/') => {
            // Intermediates, then one final character.
            let mut last = rest.clone();
            while let Some(c) = rest.next() {
                match c {
                    ' '..='/' => last = rest.clone(),
                    '0'..='~' => return rest,
                    _ => return last,
                }
            }
            rest
        }
        Some('0'..='~') => rest,
        _ => start,
    }
}

/// Parameters, intermediates and the final character; a broken sequence ends where it breaks.
fn after_csi(mut rest: std::str::Chars<'_>) -> std::str::Chars<'_> {
    loop {
        let here = rest.clone();
        match rest.next() {
            Some(' '..='?') => {}
            Some('@'..='~') | None => return rest,
            Some(_) => return here,
        }
    }
}

/// Up to BEL or ST; one that isn't ended on its line is no reason to lose the line.
fn after_string(rest: std::str::Chars<'_>) -> std::str::Chars<'_> {
    let start = rest.clone();
    let mut ahead = rest;
    while let Some(c) = ahead.next() {
        match c {
            '\u{7}' | '\u{9c}' => return ahead,
            '\u{1b}' => {
                let mut next = ahead.clone();
                if next.next() == Some('\\') {
                    return next;
                }
                return start;
            }
            '\n' => return start,
            _ => {}
        }
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_acts_on_a_terminal_is_left() {
        let cases = [
            ("plain ä\n\tx", "plain ä\n\tx"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}x", "x"),
            ("\u{1b}]8;;http://e\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}]52;c;aGk=", "52;c;aGk="),
            ("\u{1b}]x\nrm", "x\nrm"),
            ("\u{9b}2Jx", "x"),
            ("a\u{1b}(Bb\u{1b}cd", "abd"),
            ("a\rb\u{8}c\u{0}", "abc"),
            ("\u{1b}", ""),
            ("\u{1b}[12", ""),
            ("\u{1b}[1\nx", "\nx"),
            ("\u{1b}ä", "ä"),
        ];
        for (text, cleaned) in cases {
            assert_eq!(clean(text), cleaned, "{text:?}");
        }
    }

    #[test]
    fn hidden_characters_go() {
        let text = "rm a\u{202e}txt.sh\u{200b} \u{e0041}\u{fe0f}x\u{2028}y";
        assert_eq!(clean(text), "rm atxt.sh x y");
    }

    #[test]
    fn cleaning_twice_changes_nothing() {
        for text in ["\u{1b}\u{1b}[[31m", "\u{1b}]a\u{1b}[31m\u{7}", "\u{9b}\u{9b}1m", "\u{1b}[\u{200b}31m"] {
            let once = clean(text);
            assert!(!once.contains(char::is_control), "{text:?}");
            assert_eq!(clean(&once), once, "{text:?}");
        }
    }

    #[test]
    fn one_line_says_where_it_is_cut() {
        assert_eq!(one_line(" a\n  b\tc ", 9), "a b c");
        assert_eq!(one_line("abcdef", 4), "abc…");
    }
}
