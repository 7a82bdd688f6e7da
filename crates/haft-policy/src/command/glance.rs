//! What a text that can't be read exactly may run, by a naive split. For what denies and asks, never for what
//! allows.

use super::{COMMANDS_MAX, Cwd, Dialect, Line, Simple, Word, wrappers};

/// Grammar that may stand before a command.
const LEADERS: [&str; 9] = ["if", "then", "else", "elif", "while", "until", "do", "!", "coproc"];

/// Characters that expand to something else.
const EXPANDING: [char; 7] = ['$', '*', '?', '[', '~', '{', '`'];

/// Adds every command that can be made out in a text: quotes and backslashes are dropped, so that they hide
/// nothing.
pub(super) fn add(line: &mut Line, text: &str, dialect: Dialect, depth: usize) {
    let joined = text.replace("\\\n", "");
    let text: String = joined.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    for segment in text.split([';', '&', '|', '\n', '\r', '`', '(', ')', '{', '}']) {
        let words = command_words(segment);
        if words.is_empty() {
            continue;
        }
        let at = line.commands.len();
        if at >= COMMANDS_MAX {
            return;
        }
        line.commands.push(Simple { words, cwd: Cwd::Unknown, ..Simple::default() });
        wrappers::see_through(line, at, depth, dialect);
    }
}

/// A written word without quotes and backslashes, where nothing in it expands.
pub(crate) fn plainly(word: &Word) -> Option<String> {
    match word {
        Word::Exact(text) => Some(text.clone()),
        Word::Glob { .. } => None,
        Word::Unknown { text, .. } => {
            let expands = text.contains(EXPANDING);
            (!expands).then(|| text.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect())
        }
    }
}

fn command_words(segment: &str) -> Vec<Word> {
    let spaced = segment.replace('<', " < ").replace('>', " > ");
    let mut words: Vec<Word> = Vec::new();
    let mut is_target = false;
    for word in spaced.split_whitespace() {
        if matches!(word, "<" | ">") {
            is_target = true;
        } else if is_target {
            is_target = false;
        } else if !(words.is_empty() && is_before_command(word)) {
            words.push(seen(word));
        }
    }
    words
}

fn seen(word: &str) -> Word {
    match word.split_once(EXPANDING) {
        Some((prefix, _)) => Word::Unknown { text: word.to_owned(), prefix: prefix.to_owned(), splits: true },
        None => Word::known(word),
    }
}

fn is_before_command(word: &str) -> bool {
    wrappers::assignment(word).is_some()
        || LEADERS.contains(&word)
        || word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_made_out_in_what_cannot_be_read() {
        let lines = [
            "rm x 'a",
            "((x)); rm x",
            "A=(1 2) rm x",
            "if true; then rm x",
            "ls $( rm x",
            "2>f rm x; 'a",
            "coproc rm x",
            "sudo rm x 'a",
            "r\\\nm x 'a",
        ];
        for text in lines {
            let mut line = Line::default();
            add(&mut line, text, Dialect::Bash, 0);
            assert!(line.commands.iter().any(|simple| simple.program() == Some("rm")), "{text}: {line:?}");
        }
    }

    #[test]
    fn an_escaped_word_is_guessed() {
        let unknown =
            |text: &str| Word::Unknown { text: text.to_owned(), prefix: String::new(), splits: false };
        assert_eq!(plainly(&unknown("\\r'm'")).as_deref(), Some("rm"));
        assert_eq!(plainly(&unknown("r$X")), None);
        assert_eq!(plainly(&Word::known("a\\b")).as_deref(), Some("a\\b"));
    }
}
