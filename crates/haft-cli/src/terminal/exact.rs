//! What a person lets run, on one line. Pure.

/// A text on one line, with what hides in it: line breaks, control characters and what has no looks of its own are
/// written out.
pub(crate) fn exact_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\'' | '\\' => shown.push(c),
            c => shown.extend(c.escape_debug()),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::exact_line;

    #[test]
    fn what_hides_in_a_part_is_shown() {
        assert_eq!(exact_line("echo \"é\"\n\u{202e}x\u{1b}[2K"), "echo \"é\"\\n\\u{202e}x\\u{1b}[2K");
    }
}
