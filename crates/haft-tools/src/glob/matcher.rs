//! Whether a path matches, however its accents are spelt.

use globset::{GlobBuilder, GlobMatcher};
use haft_core::Failure;
use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization;

/// A compiled glob over paths beneath the walked folder.
#[derive(Debug)]
pub(super) struct Matcher {
    glob: GlobMatcher,
    text: String,
}

impl Matcher {
    /// Compiles a glob.
    ///
    /// # Errors
    /// Invalid input with the reason.
    pub(super) fn new(glob: &str) -> Result<Self, Failure> {
        let text = nfc(glob).into_owned();
        let glob = GlobBuilder::new(&text)
            .literal_separator(true)
            .backslash_escape(true)
            .empty_alternates(true)
            .build()
            .map_err(|error| {
                Failure::invalid(format!(
                    "/pattern is no usable glob: {}; a literal [ or {{ needs a backslash before it",
                    error.kind()
                ))
            })?
            .compile_matcher();
        Ok(Self { glob, text })
    }

    /// Whether a path matches; a path equal to the pattern always does, whatever its brackets mean.
    pub(super) fn is_match(&self, relative: &str) -> bool {
        let relative = nfc(relative);
        self.glob.is_match(&*relative) || *relative == *self.text
    }
}

/// The composed form of a text.
pub(super) fn nfc(text: &str) -> Cow<'_, str> {
    if text.is_ascii() { Cow::Borrowed(text) } else { Cow::Owned(text.nfc().collect()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(glob: &str, path: &str, expected: bool) {
        assert_eq!(Matcher::new(glob).unwrap().is_match(path), expected, "{glob} on {path}");
    }

    #[test]
    fn stars_stop_at_slashes_and_braces_choose() {
        check("*.js", "a.js", true);
        check("*.js", "a/b.js", false);
        check("**/*.js", "b.js", true);
        check("**/*.js", "x/y/b.js", true);
        check("**/*.{ts,tsx}", "x/b.tsx", true);
        check("a{,b}.rs", "a.rs", true);
        check("**", "x/y", true);
        check("**/.env", "x/.env", true);
    }

    #[test]
    fn composed_and_decomposed_names_are_one() {
        check("Caf\u{e9}/*.txt", "Cafe\u{301}/a.txt", true);
        check("Cafe\u{301}.txt", "Caf\u{e9}.txt", true);
    }

    #[test]
    fn a_path_with_brackets_matches_itself() {
        check("app/[id]/page.tsx", "app/[id]/page.tsx", true);
        check("app/[id]/page.tsx", "app/i/page.tsx", true);
    }

    #[test]
    fn a_bad_glob_says_why() {
        let failure = Matcher::new("a/[b").unwrap_err();
        assert!(failure.text.contains("backslash"), "{failure}");
    }
}
