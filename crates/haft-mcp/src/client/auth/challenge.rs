//! What a server says when it wants a login, or a wider one.

/// The parts of `WWW-Authenticate: Bearer …` that count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Challenge {
    /// Where it says who gives tokens for it.
    pub(super) metadata: Option<String>,
    /// What a token has to allow.
    pub(super) scope: Option<String>,
    /// What is wrong with the token.
    pub(super) error: Option<String>,
}

impl Challenge {
    /// Reads the header; what isn't understood of it is passed over.
    pub(super) fn parse(header: &str) -> Self {
        let mut challenge = Self::default();
        let mut rest = header;
        while let Some((name, value, behind)) = next(rest) {
            match name.rsplit([' ', ',']).next().unwrap_or_default().to_ascii_lowercase().as_str() {
                "resource_metadata" => challenge.metadata = Some(value),
                "scope" => challenge.scope = Some(value),
                "error" => challenge.error = Some(value),
                _ => {}
            }
            rest = behind;
        }
        challenge
    }

    /// Whether the token is good, and doesn't allow enough.
    pub(super) fn wants_more(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }
}

/// The next `name=value` or `name="value"`, and what follows it.
fn next(text: &str) -> Option<(&str, String, &str)> {
    let (name, after) = text.split_once('=')?;
    if let Some(quoted) = after.strip_prefix('"') {
        let mut value = String::new();
        let mut letters = quoted.char_indices();
        while let Some((at, c)) = letters.next() {
            match c {
                '"' => return Some((name, value, quoted.get(at + 1..).unwrap_or_default())),
                '\\' => value.extend(letters.next().map(|(_, c)| c)),
                c => value.push(c),
            }
        }
        return Some((name, value, ""));
    }
    let end = after.find([',', ' ']).unwrap_or(after.len());
    Some((name, after.get(..end).unwrap_or_default().to_owned(), after.get(end..).unwrap_or_default()))
}

/// Scopes put together, each once, in their order; none where there is none.
pub(super) fn united<'s>(scopes: impl IntoIterator<Item = &'s str>) -> Option<String> {
    let mut all: Vec<&str> = Vec::new();
    for scope in scopes.into_iter().flat_map(str::split_ascii_whitespace) {
        if !all.contains(&scope) {
            all.push(scope);
        }
    }
    (!all.is_empty()).then(|| all.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_read_in_each_of_its_forms() {
        for (header, metadata, scope, error) in [
            ("Bearer", None, None, None),
            (
                "Bearer resource_metadata=\"https://x.example/a?b=c\"",
                Some("https://x.example/a?b=c"),
                None,
                None,
            ),
            (
                "Bearer realm=\"a, b=c\", error=\"insufficient_scope\", scope=\"r w\",resource_metadata=https://x.example/",
                Some("https://x.example/"),
                Some("r w"),
                Some("insufficient_scope"),
            ),
            ("bearer Scope=\"a \\\"b\\\"\"", None, Some("a \"b\""), None),
            ("Bearer scope=\"open", None, Some("open"), None),
        ] {
            let read = Challenge::parse(header);
            assert_eq!(
                (read.metadata.as_deref(), read.scope.as_deref(), read.error.as_deref()),
                (metadata, scope, error),
                "{header}"
            );
        }
        assert!(Challenge::parse("Bearer error=\"insufficient_scope\"").wants_more());
    }

    #[test]
    fn scopes_are_put_together_once_each() {
        assert_eq!(united(["a b", "b  c", ""]).as_deref(), Some("a b c"));
        assert_eq!(united(["", " "]), None);
    }
}
