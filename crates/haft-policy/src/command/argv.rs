//! The exact words of one plain simple command.

/// Words that a shell reads as grammar where a command begins.
const RESERVED: [&str; 21] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "in",
    "select", "function", "time", "coproc", "[[", "{", "}", "!",
];

/// The exact words of a line that is one plain simple command, else `None`.
///
/// Plain are words of `[A-Za-z0-9_@%+=:,./-]`, `'…'`, and `"…"` without `$`, backtick, backslash and `!`, on
/// one line, the first neither an assignment nor a reserved word. Every POSIX shell reads such a line as just
/// these words, so that nothing can hide in it.
///
/// ```
/// use haft_policy::plain_argv;
/// assert_eq!(plain_argv("ls \"a;b\""), Some(vec!["ls".to_owned(), "a;b".to_owned()]));
/// assert_eq!(plain_argv("ls; rm x"), None);
/// ```
pub fn plain_argv(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.trim_end_matches('\n').chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' => word.get_or_insert_default().push_str(&quotation(&mut chars, c)?),
            _ if is_plain(c) => word.get_or_insert_default().push(c),
            _ => return None,
        }
    }
    words.extend(word);
    let first = words.first()?;
    let is_program = !first.is_empty() && !first.contains('=') && !RESERVED.contains(&first.as_str());
    is_program.then_some(words)
}

/// The text up to the closing quote, where it stands for itself.
fn quotation(chars: &mut std::str::Chars<'_>, quote: char) -> Option<String> {
    let mut text = String::new();
    for c in chars {
        match c {
            _ if c == quote => return Some(text),
            '$' | '`' | '\\' | '!' if quote == '"' => return None,
            _ if c.is_control() => return None,
            _ => text.push(c),
        }
    }
    None
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c)
}

/// A word as a command line or a rule writes it, quoted where it isn't plain.
pub(crate) fn quoted(word: &str) -> String {
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_lines_give_their_words() {
        let cases: [(&str, &[&str]); 9] = [
            ("ls -la", &["ls", "-la"]),
            ("  ls\t-la  ", &["ls", "-la"]),
            ("ls \"a;b\"", &["ls", "a;b"]),
            ("\"rm\" x", &["rm", "x"]),
            ("echo 'a \"b\" $c' ''", &["echo", "a \"b\" $c", ""]),
            ("git log --format=\"%h %s\"", &["git", "log", "--format=%h %s"]),
            ("env A=1 rm x", &["env", "A=1", "rm", "x"]),
            ("cat 'ä ö'", &["cat", "ä ö"]),
            ("ls\n", &["ls"]),
        ];
        for (line, words) in cases {
            assert_eq!(plain_argv(line).unwrap(), words, "{line}");
        }
    }

    #[test]
    fn whatever_a_shell_could_read_otherwise_is_not_plain() {
        let lines = [
            "",
            " ",
            "\n",
            "ls; rm x",
            "ls && rm x",
            "ls\nrm x",
            "ls $(rm x)",
            "ls > ~/.bashrc",
            "/bin/r? x",
            "\\rm x",
            "xargs rm < f",
            "ls `x`",
            "ls ~",
            "ls ~/x",
            "ls $X",
            "ls \"$X\"",
            "ls \"a`b`\"",
            "echo \"hi!\"",
            "ls 'a",
            "ls \"a",
            "ls {a,b}",
            "ls *",
            "ls [a]",
            "A=1 ls",
            "A=\"x y\" ls",
            "if true",
            "time ls",
            "! ls",
            "{ ls",
            "\"\" x",
            "ls #x",
            "ls &",
            "ls |cat",
            "ls ä",
            "ls a\u{a0}b",
            "ls 'a\u{7}b'",
            "ls \r",
            "ls\0",
            "$'ls'",
            "ls \"a\\b\"",
            "(ls)",
            "ls 'a\nb'",
            "function f",
            "[[ x",
        ];
        for line in lines {
            assert_eq!(plain_argv(line), None, "{line:?}");
        }
    }

    #[test]
    fn a_quoted_word_reads_as_itself_in_a_shell() {
        assert_eq!(quoted("a.rs"), "a.rs");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
