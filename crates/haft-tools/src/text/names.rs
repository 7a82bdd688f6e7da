//! File names that look alike.

use super::visible;
use haft_core::RealPath;
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

/// The form that names which look alike share: compatibility forms and all kinds of blanks folded.
pub(crate) fn fold(name: &str) -> String {
    name.nfkc().map(|character| if character.is_whitespace() { ' ' } else { character }).collect()
}

/// A name with what can't be told apart by eye as escapes.
pub(crate) fn escaped(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for character in name.chars() {
        let folds = fold(&character.to_string()) != character.to_string();
        if character != ' ' && (folds || character.is_whitespace() || is_combining_mark(character)) {
            out.extend(character.escape_unicode());
        } else {
            visible::push(&mut out, character);
        }
    }
    out
}

/// What to say where a file was found by a name that only looks like its own.
pub(crate) fn real_name(written: &str, at: &RealPath) -> Option<String> {
    let (written, real) = (written.rsplit('/').next().unwrap_or_default(), at.file_name());
    (written != real && fold(written) == fold(real))
        .then(|| format!("the file's real name is \"{}\"", escaped(real)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_f19_a_name_that_only_looks_the_same_is_told() {
        let at = RealPath::new("/w", "Shot 2026\u{202f}AM.txt");
        let said = real_name("./Shot 2026 AM.txt", &at).unwrap();
        assert_eq!(said, "the file's real name is \"Shot 2026\\u{202f}AM.txt\"");
        assert_eq!(real_name("Shot 2026\u{202f}AM.txt", &at), None);
        // A link may have any other name.
        assert_eq!(real_name("link", &at), None);
    }

    #[test]
    fn names_keep_their_letters() {
        assert_eq!(escaped("naïve 1.txt"), "naïve 1.txt");
        assert_eq!(escaped("nai\u{308}ve\n"), "nai\\u{308}ve\\u{a}");
    }
}
