//! How words are written as a line that every shell reads as just these words.

/// Words that mean something to a shell where a command begins.
const RESERVED: &str =
    "if then else elif fi do done case esac while until for in function select time coproc";

/// A program and its arguments as one line.
pub fn shell_line<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    let mut line = String::new();
    for (at, word) in words.into_iter().enumerate() {
        if at > 0 {
            line.push(' ');
        }
        let is_reserved = RESERVED.split(' ').any(|reserved| reserved == word);
        if at == 0 && (word.contains('=') || is_reserved) {
            // Unquoted it would set a variable, or begin a loop.
            line.push_str(&in_quotes(word));
        } else {
            line.push_str(&shell_word(word));
        }
    }
    line
}

/// A word as a command line or a rule writes it, quoted where it isn't plain.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { in_quotes(word) }
}

fn in_quotes(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_reads_as_its_words() {
        let cases: [(&[&str], &str); 7] = [
            (&["make", "-j4", "all"], "make -j4 all"),
            (&["echo", "a b", "", "it's"], "echo 'a b' '' 'it'\\''s'"),
            (&["A=b", "c=d"], "'A=b' c=d"),
            (&["time", "time"], "'time' time"),
            (&["x", "$HOME", "~", "{a,b}", "!", "#"], "x '$HOME' '~' '{a,b}' '!' '#'"),
            (&["x", "stash@{0}"], "x 'stash@{0}'"),
            (&["x", "a\nb"], "x 'a\nb'"),
        ];
        for (words, expected) in cases {
            assert_eq!(shell_line(words.iter().copied()), expected);
        }
    }
}
