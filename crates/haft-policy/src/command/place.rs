//! Where a word points, told from its letters alone: no link is followed, no disk is looked at.

use super::{Cwd, Word};

/// The well-known folders that words start from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places<'a> {
    /// Where the line starts.
    pub(crate) start: Option<&'a str>,
    /// The user's home.
    pub(crate) home: Option<&'a str>,
}

impl Places<'_> {
    /// The absolute, normalised path that a text stands for in a folder; none where that isn't known.
    pub(crate) fn absolute(&self, text: &str, cwd: &Cwd) -> Option<String> {
        let text = self.expanded(text)?;
        if text.starts_with('/') {
            return Some(normal(&text));
        }
        Some(normal(&format!("{}/{text}", self.folder(cwd)?)))
    }

    /// The folder that a command runs in.
    pub(crate) fn folder(&self, cwd: &Cwd) -> Option<String> {
        let start = self.start.map(str::to_owned);
        match cwd {
            Cwd::Start => start,
            Cwd::Unknown => None,
            Cwd::Moved(steps) => {
                let mut folder = start;
                for step in steps {
                    let step = self.expanded(step)?;
                    folder = if step.starts_with('/') {
                        Some(normal(&step))
                    } else {
                        folder.map(|folder| normal(&format!("{folder}/{step}")))
                    };
                }
                folder
            }
        }
    }

    /// The text with home and the present folder put in; none where another expansion stands in it. A cut or default
    /// value counts as the whole, since what is refused here is refused by best effort.
    fn expanded(&self, text: &str) -> Option<String> {
        let text = well_known(text, Forms::Loose);
        let full = match text.strip_prefix('~') {
            None => text,
            Some("root") => "/root".to_owned(),
            // The present folder; a tilde with another number, or `~-`, is one that nobody follows.
            Some(rest) if matches!(rest.split('/').next(), Some("+" | "0" | "+0")) => {
                format!("./{}", rest.split_once('/').map_or("", |(_, rest)| rest))
            }
            Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-')) => {
                return None;
            }
            Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{}{rest}", self.home?),
            Some(rest) => {
                let home = rest.strip_prefix("root/").map(|rest| format!("/root/{rest}"));
                home.unwrap_or_else(|| format!("/home/{rest}"))
            }
        };
        (!full.contains(['$', '`'])).then_some(full)
    }
}

/// The word's text with `$HOME` as `~` and `$PWD` as `.`, without the quotes around them.
pub(crate) fn of_word(word: &Word) -> String {
    match word {
        // A tilde in quotes is a letter like any other.
        Word::Exact(text) if text.starts_with('~') => format!("./{text}"),
        Word::Exact(text) => text.clone(),
        Word::Glob { text, .. } | Word::Unknown { text, .. } => {
            well_known(&text.replace(['"', '\''], ""), Forms::Plain)
        }
    }
}

/// Which ways of writing a variable count as its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Forms {
    /// Only those that are nothing but it.
    Plain,
    /// Those that cut it, or stand in for it, too.
    Loose,
}

/// `$HOME/x` as `~/x`, `$PWD/x` as `./x`.
fn well_known(text: &str, forms: Forms) -> String {
    // `${HOME:?}` is the same where it is set; `${HOME%/*}` and `${HOME:+/etc}` are something else.
    let is_whole = |how: &str| how.is_empty() || how.starts_with(":?") || how.starts_with('?');
    let is_cut = |how: &str| forms == Forms::Loose && how.starts_with([':', '%', '-']);
    for (name, short) in [("HOME", "~"), ("PWD", ".")] {
        let braced = text.strip_prefix("${").and_then(|text| text.strip_prefix(name));
        let rest = match braced.and_then(|text| text.split_once('}')) {
            Some((how, rest)) if is_whole(how) || is_cut(how) => Some(rest),
            _ => text.strip_prefix('$').and_then(|text| text.strip_prefix(name)),
        };
        if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            return format!("{short}{rest}");
        }
    }
    text.to_owned()
}

/// An absolute path without `.`, `..` and double slashes.
pub fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Whether a folder is the path or holds it, by their names alone; both absolute and normalised.
pub fn covers(folder: &str, path: &str) -> bool {
    let rest = path.strip_prefix(folder.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_point_somewhere() {
        let places = Places { start: Some("/w"), home: Some("/home/u") };
        let moved = Cwd::Moved(vec!["a".to_owned(), "..".to_owned(), "b".to_owned()]);
        let cases = [
            ("x", &Cwd::Start, Some("/w/x")),
            ("../x/./y//", &Cwd::Start, Some("/x/y")),
            ("/a/../..", &Cwd::Start, Some("/")),
            ("~", &Cwd::Unknown, Some("/home/u")),
            ("~/x", &Cwd::Start, Some("/home/u/x")),
            ("~root", &Cwd::Start, Some("/root")),
            ("$HOME", &Cwd::Start, Some("/home/u")),
            ("${HOME}/x", &Cwd::Start, Some("/home/u/x")),
            ("${HOME:?}/x", &Cwd::Start, Some("/home/u/x")),
            ("$PWD/x", &Cwd::Start, Some("/w/x")),
            ("${HOME%/}", &Cwd::Start, Some("/home/u")),
            ("~+", &Cwd::Start, Some("/w")),
            ("~+/x", &moved, Some("/w/b/x")),
            ("~0/x", &Cwd::Start, Some("/w/x")),
            ("~-/x", &Cwd::Start, None),
            ("~1/x", &Cwd::Start, None),
            ("$HOMER/x", &Cwd::Start, None),
            ("$X/x", &Cwd::Start, None),
            ("x", &Cwd::Unknown, None),
            ("x", &moved, Some("/w/b/x")),
            (".", &moved, Some("/w/b")),
        ];
        for (text, cwd, expected) in cases {
            assert_eq!(places.absolute(text, cwd).as_deref(), expected, "{text}");
        }
        let away = Cwd::Moved(vec!["/tmp".to_owned(), "..".to_owned()]);
        assert_eq!(Places { start: None, ..places }.absolute("*", &away).as_deref(), Some("/*"));
    }

    #[test]
    fn quotes_go_and_a_quoted_tilde_stays() {
        let unknown =
            |text: &str| Word::Unknown { text: text.to_owned(), prefix: String::new(), splits: false };
        assert_eq!(of_word(&unknown("\"$HOME\"/x")), "~/x");
        assert_eq!(of_word(&unknown("\"$PWD\"")), ".");
        assert_eq!(of_word(&unknown("$(x)/y")), "$(x)/y");
        assert_eq!(of_word(&unknown("${PWD}/x")), "./x");
        assert_eq!(of_word(&unknown("${HOME:?}/x")), "~/x");
        for cut in ["${PWD%%/*}/etc/shadow", "${PWD:+/etc/x}", "${PWD%/*}/ws/secret/k", "${HOME:-/etc}/x"] {
            assert_eq!(of_word(&unknown(cut)), cut);
        }
        assert_eq!(of_word(&Word::known("~")), "./~");
    }

    #[test]
    fn a_folder_covers_what_is_beneath() {
        assert!(covers("/", "/a") && covers("/a", "/a/b") && covers("/a", "/a"));
        assert!(!covers("/a", "/ab") && !covers("/a/b", "/a"));
    }
}
