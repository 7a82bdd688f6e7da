//! A pattern taken apart into the folder that it names literally and the rest.
//!
//! The folder is what the call states as its effect, so it must be the very tree that is walked.

use haft_core::Failure;

/// A pattern in two parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Split {
    /// The folder that is walked, as a path argument.
    pub(super) base: String,
    /// The glob that paths beneath `base` must match.
    pub(super) rest: String,
    /// The path beneath `base`, where the pattern has no wildcard at all.
    pub(super) literal: Option<String>,
    /// Whether the pattern itself named a folder.
    pub(super) named: bool,
}

impl Split {
    /// Takes a pattern apart. An absolute one replaces `path`.
    ///
    /// # Errors
    /// Invalid input for an empty pattern and for `..` after a wildcard.
    pub(super) fn new(path: Option<&str>, pattern: &str) -> Result<Self, Failure> {
        let mut parts: Vec<&str> = pattern.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
        if pattern.ends_with('/') && !parts.is_empty() {
            parts.push("**");
        }
        if parts.is_empty() {
            return Err(Failure::invalid(
                "/pattern names no file; for everything beneath a folder pass \"**\"",
            ));
        }
        let lead = parts
            .iter()
            .take(parts.len().saturating_sub(1))
            .take_while(|part| is_literal(part) && part.is_ascii())
            .count();
        let (lead, rest) = parts.split_at(lead);
        if rest.contains(&"..") {
            return Err(Failure::invalid(
                "/pattern may have .. only at its beginning, before a file name; pass the folder as path",
            ));
        }
        let rest_text = rest.join("/");
        let literal = rest.iter().all(|part| is_literal(part)).then(|| rest_text.clone());
        let at_any_depth = !pattern.contains('/') && rest_text != "**";
        // One that isn't ASCII is named as well, though its spelling is left to the pattern.
        let named = !lead.is_empty() || matches!(rest, [first, _, ..] if is_literal(first));
        Ok(Self {
            base: join(path, pattern.starts_with('/'), lead),
            rest: if at_any_depth { format!("**/{rest_text}") } else { rest_text },
            literal,
            named,
        })
    }

    /// How deep a match can lie, where that is bounded.
    pub(super) fn depth(&self) -> Option<usize> {
        let bounded = !self.rest.contains("**") && !self.rest.contains('{');
        bounded.then(|| self.rest.split('/').count())
    }
}

fn is_literal(part: &str) -> bool {
    !part.contains(['*', '?', '[', ']', '{', '}', '\\'])
}

fn join(path: Option<&str>, absolute: bool, lead: &[&str]) -> String {
    let lead = lead.join("/");
    if absolute {
        return format!("/{lead}");
    }
    match path.filter(|path| !matches!(*path, "" | "." | "./")) {
        None if lead.is_empty() => ".".to_owned(),
        None => lead,
        Some(path) if lead.is_empty() => path.to_owned(),
        Some(path) => format!("{}/{lead}", path.trim_end_matches('/')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: Option<&str>, pattern: &str, base: &str, rest: &str) {
        let split = Split::new(path, pattern).unwrap();
        assert_eq!((split.base.as_str(), split.rest.as_str()), (base, rest), "{pattern}");
    }

    #[test]
    fn a_literal_beginning_is_the_folder() {
        check(None, "dist/*.js", "dist", "*.js");
        check(None, ".github/workflows/ci.yml", ".github/workflows", "ci.yml");
        check(None, "src/**/a/*.rs", "src", "**/a/*.rs");
        check(Some("app"), "src/*.rs", "app/src", "*.rs");
        check(Some("app/"), "*.rs", "app/", "**/*.rs");
        check(Some("/"), "etc/*.conf", "/etc", "*.conf");
        check(None, "{src,tests/a}/*.rs", ".", "{src,tests/a}/*.rs");
    }

    #[test]
    fn absolute_and_parent_beginnings_name_another_tree() {
        check(Some("app"), "/usr/include/*.h", "/usr/include", "*.h");
        check(None, "/*.h", "/", "*.h");
        check(None, "../lib/*.rs", "../lib", "*.rs");
        check(Some("a"), "../*.rs", "a/..", "*.rs");
    }

    #[test]
    fn a_name_alone_matches_at_any_depth_and_a_dot_slash_anchors_it() {
        check(None, "*.rs", ".", "**/*.rs");
        check(None, "./*.rs", ".", "*.rs");
        check(None, "**", ".", "**");
        check(None, "src/", "src", "**");
    }

    #[test]
    fn letters_beyond_ascii_stay_in_the_pattern_since_their_spelling_may_differ_on_disk() {
        check(None, "a/Café/*.txt", "a", "Café/*.txt");
    }

    #[test]
    fn wildcards_are_told_from_literal_names() {
        assert_eq!(Split::new(None, ".env").unwrap().literal.as_deref(), Some(".env"));
        assert_eq!(Split::new(None, "a/b.rs").unwrap().literal.as_deref(), Some("b.rs"));
        assert_eq!(Split::new(None, "a/b?.rs").unwrap().literal, None);
        for (pattern, named) in
            [("a/b.rs", true), ("b.rs", false), ("Café/*.rs", true), ("*/b.rs", false), ("Café.rs", false)]
        {
            assert_eq!(Split::new(None, pattern).unwrap().named, named, "{pattern}");
        }
    }

    #[test]
    fn what_cannot_match_is_refused() {
        for pattern in ["", "/", "./", "..", "*/../a"] {
            assert!(Split::new(None, pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn the_depth_is_bounded_where_the_pattern_is() {
        assert_eq!(Split::new(None, "src/*/*.rs").unwrap().depth(), Some(2));
        assert_eq!(Split::new(None, "*.rs").unwrap().depth(), None);
        assert_eq!(Split::new(None, "a/{b/c,d}.rs").unwrap().depth(), None);
    }
}
