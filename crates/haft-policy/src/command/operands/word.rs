//! What one word means as a path: whole, with an expansion in it, a pattern over names, or part of a word.

use super::Paths;
use crate::command::{
    Access, Word,
    glob::{matches_name, unquoted},
    grammar::is_process,
    place::of_word,
};

/// Longer words are no paths.
const PATH_MAX: usize = 4096;

impl Paths<'_> {
    /// A word that is a path.
    pub(super) fn word(&mut self, access: Access, word: &Word) {
        match word {
            Word::Exact(text) if text.is_empty() || text == "-" => {}
            Word::Exact(text) if text == "/dev/null" && access < Access::Write => {}
            _ if is_process(word) => {}
            // No system opens it, but what it is short of being normal nobody tells here.
            Word::Exact(text) if text.len() > PATH_MAX => {
                self.unknown(access, &text.chars().take(80).collect::<String>());
            }
            Word::Exact(text) if text.contains("://") => {
                if let Some(path) = text.strip_prefix("file://") {
                    self.add(access, path);
                }
            }
            Word::Glob { text, .. } => match unquoted(text).filter(|plain| plain.len() <= PATH_MAX) {
                // No home: a tilde that expands makes a word of the other kind.
                Some(plain) if plain.starts_with('~') => self.pattern(access, format!("./{plain}")),
                Some(plain) => self.pattern(access, plain),
                None => self.unknown(access, text),
            },
            Word::Exact(_) => self.add(access, of_word(word)),
            Word::Unknown { text: raw, .. } => self.expansion(access, raw, of_word(word)),
        }
    }

    /// A word with an expansion in it, and its text with the well-known folders put in.
    fn expansion(&mut self, access: Access, raw: &str, text: String) {
        let is_home = text == "~" || text.starts_with("~/");
        let expands_first = raw.starts_with(['~', '$']) || raw.starts_with("\"$");
        let is_wild = |c: char| "*?[]!^".contains(c);
        if self.is_moved || text.len() > PATH_MAX || (text.starts_with('~') && !(is_home && expands_first)) {
            self.unknown(access, &text);
        } else if text.chars().all(is_literal) {
            self.add(access, text);
        } else if unquoted(raw).is_some() && text.chars().all(|c| is_literal(c) || is_wild(c)) {
            self.pattern(access, text);
        } else {
            self.unknown(access, &text);
        }
    }

    /// A pattern over names.
    fn pattern(&mut self, access: Access, text: String) {
        let is_above = |part: &str| part.contains(['*', '?', '[']) && matches_name(part, "..");
        // Some shells take the folder above for a name like others.
        if matches!(access, Access::ReadTree | Access::WriteTree) && text.split('/').any(is_above) {
            let parts: Vec<&str> =
                text.split('/').map(|part| if is_above(part) { ".." } else { part }).collect();
            self.push(access, parts.join("/"), false);
        }
        if access >= Access::Write || access == Access::Named {
            self.push(access, text.clone(), false);
        }
        self.push(access, text, true);
    }

    /// A word of a program that isn't known: itself, and what could be a path in it.
    pub(super) fn named(&mut self, word: &Word) {
        let Some(text) = word.exact() else {
            return self.word(Access::Named, word);
        };
        let mut parts = Vec::new();
        match text.strip_prefix('-') {
            None => {
                parts.push(text);
                parts.extend(text.split_once('=').map(|(_, value)| value));
                parts
                    .extend(text.split_once(':').map(|(before, _)| before).filter(|part| part.contains('/')));
            }
            Some(option) => match option.split_once('=') {
                Some((_, value)) => parts.push(value),
                None if option.starts_with('-') => {}
                None => {
                    let mut letters = option.chars();
                    letters.next();
                    parts.push(letters.as_str());
                    parts.extend(option.find('/').and_then(|at| option.get(at..)));
                }
            },
        }
        for part in parts {
            self.word(Access::Named, &Word::known(part));
            if let Some((_, file)) = part.split_once('@') {
                self.word(Access::Named, &Word::known(file));
            }
        }
    }
}

/// Whether a shell leaves the character as it is wherever it stands.
fn is_literal(c: char) -> bool {
    c.is_alphanumeric() || "_-./~+:,@%=".contains(c)
}
