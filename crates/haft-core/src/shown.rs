//! Text of strangers as a person is shown it before they approve: nothing hidden, nothing endless. Pure.

use crate::is_hidden;
use std::fmt::Write;

/// Shows what has no looks of its own or acts on a terminal as `\u{…}`; line breaks and tabs stay. For what a person
/// approves: a command with a hidden character isn't the command without it.
pub fn exact(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => shown.push(c),
            '\r' => shown.push_str("\\r"),
            c if c.is_control() || is_hidden(c) || matches!(c, '\u{2028}' | '\u{2029}') => {
                // Writing to a string can't fail.
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
            }
            c => shown.push(c),
        }
    }
    shown
}

/// At most `max_lines` lines of at most `max_chars` characters; what is left out is counted.
pub(crate) fn bounded_lines(text: &str, max_lines: usize, max_chars: usize) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().take(max_lines).map(|line| cut(line, max_chars)).collect();
    match text.lines().skip(max_lines).count() {
        0 => {}
        1 => lines.push("… 1 more line".to_owned()),
        left_out => lines.push(format!("… {left_out} more lines (of {})", left_out + max_lines)),
    }
    if lines.is_empty() {
        lines.push(String::new());
    }
    lines
}

fn cut(line: &str, max_chars: usize) -> String {
    let left_out = line.chars().count().saturating_sub(max_chars);
    if left_out == 0 {
        return line.to_owned();
    }
    let shown: String = line.chars().take(max_chars).collect();
    format!("{shown}… {left_out} more characters")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_shows() {
        let text = "rm a\u{202e}txt.sh\u{200b} \u{e0041}\u{fe0f}x\u{2028}y";
        assert_eq!(exact(text), "rm a\\u{202e}txt.sh\\u{200b} \\u{e0041}\\u{fe0f}x\\u{2028}y");
        assert_eq!(exact("a\r\n\u{1b}[2K"), "a\\r\n\\u{1b}[2K");
    }

    #[test]
    fn what_is_left_out_is_counted() {
        assert_eq!(bounded_lines("a\nb\nc", 1, 9), ["a", "… 2 more lines (of 3)"]);
        assert_eq!(bounded_lines("a\nbcd", 2, 1), ["a", "b… 2 more characters"]);
        assert_eq!(bounded_lines("", 2, 1), [""]);
    }
}
