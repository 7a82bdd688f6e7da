//! File names that look alike.

use super::{paths, visible};
use haft_core::{FailureKind, Files, PathArg, RealPath};
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

/// Where nothing has a name as it was written: the path that looks the same, as a reader can tell it apart. None
/// where there is none; without a path where there are several.
pub(crate) fn alike(files: &dyn Files, written: &PathArg, at: &RealPath) -> Option<Alike> {
    match files.resolve_existing(written) {
        Ok(real) if real != *at => Some(Alike::One(escaped(&paths::plain(&real, &files.workspace())))),
        Err(failure) if failure.kind == FailureKind::Conflict => Some(Alike::Several(failure.text)),
        Ok(_) | Err(_) => None,
    }
}

/// What looks the same as a name that nothing has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Alike {
    /// One path.
    One(String),
    /// Several, listed in a text that says to name one of them.
    Several(String),
}

impl Alike {
    /// Why nothing was found, where the name was to stand for something.
    pub(crate) fn missing(&self, name: &str) -> String {
        match self {
            Self::One(real) => format!(
                "{name} doesn't exist; \"{real}\" looks the same and is another name. If that is meant, give it \
                 exactly; in JSON, \\u{{202f}} is written \\u202f"
            ),
            Self::Several(text) => text.clone(),
        }
    }

    /// What to say of a new file that stands beside it.
    pub(crate) fn beside(&self) -> String {
        match self {
            Self::One(real) => format!("though \"{real}\" looks the same and is another name"),
            Self::Several(_) => "though several names there look the same".to_owned(),
        }
    }
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
    fn a_name_that_is_missing_is_met_with_the_one_that_looks_the_same() {
        let said = Alike::One(escaped("cafe\u{301}.txt")).missing("caf\u{e9}.txt");
        assert_eq!(
            said,
            "caf\u{e9}.txt doesn't exist; \"cafe\\u{301}.txt\" looks the same and is another name. If that is meant, \
             give it exactly; in JSON, \\u{202f} is written \\u202f"
        );
    }

    #[test]
    fn names_keep_their_letters() {
        assert_eq!(escaped("naïve 1.txt"), "naïve 1.txt");
        assert_eq!(escaped("nai\u{308}ve\n"), "nai\\u{308}ve\\u{a}");
    }
}
