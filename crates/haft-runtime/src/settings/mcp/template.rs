//! A text with `${NAME}` in it, filled in when it is used: so that settings name secrets and never hold them.

use serde::Serialize;
use std::fmt;

/// A text of settings in which `${NAME}` stands for an environment variable, `${NAME:-text}` for one that may be
/// missing, and `${workspaceFolder}` for the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Template(String);

/// One piece of a template.
enum Piece<'a> {
    Text(&'a str),
    Name { name: &'a str, default: Option<&'a str> },
}

impl Template {
    /// A template as it is written.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// A template that is one variable.
    pub fn variable(name: &str) -> Self {
        Self(format!("${{{name}}}"))
    }

    /// As it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The names in it, in their order.
    pub fn names(&self) -> Vec<&str> {
        let names = self.pieces().into_iter().filter_map(|piece| match piece {
            Piece::Name { name, .. } => Some(name),
            Piece::Text(_) => None,
        });
        names.collect()
    }

    /// Whether all of it is written out.
    pub fn is_plain(&self) -> bool {
        self.names().is_empty()
    }

    /// The whole text, each name replaced by its value.
    ///
    /// # Errors
    /// The names that have none.
    pub fn fill(&self, value: &dyn Fn(&str) -> Option<String>) -> Result<String, Vec<String>> {
        let (mut text, mut missing) = (String::new(), Vec::new());
        for piece in self.pieces() {
            match piece {
                Piece::Text(part) => text.push_str(part),
                Piece::Name { name, default } => match value(name).or_else(|| default.map(str::to_owned)) {
                    Some(value) => text.push_str(&value),
                    None => missing.push(name.to_owned()),
                },
            }
        }
        if missing.is_empty() { Ok(text) } else { Err(missing) }
    }

    fn pieces(&self) -> Vec<Piece<'_>> {
        let (mut pieces, mut rest) = (Vec::new(), self.0.as_str());
        while let Some((before, after)) = rest.split_once("${") {
            let Some((inner, behind)) = after.split_once('}') else { break };
            let (name, default) = match inner.split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (inner, None),
            };
            let name = name.strip_prefix("env:").unwrap_or(name);
            if !is_name(name) {
                // Not ours, so it stays as it stands.
                let end = self.0.len() - behind.len();
                let start = self.0.len() - rest.len();
                pieces.push(Piece::Text(self.0.get(start..end).unwrap_or_default()));
                rest = behind;
                continue;
            }
            pieces.push(Piece::Text(before));
            pieces.push(Piece::Name { name, default });
            rest = behind;
        }
        pieces.push(Piece::Text(rest));
        pieces
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether it can be the name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(is_start) && text.chars().all(|c| is_start(c) || c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> Result<String, Vec<String>> {
        Template::new(text).fill(&|name| (name == "A").then(|| "1".to_owned()))
    }

    #[test]
    fn names_are_filled_in_and_the_rest_stays() {
        for (text, whole) in [
            ("x", "x"),
            ("Bearer ${A}.", "Bearer 1."),
            ("${env:A}${A:-2}${B:-2}${B:-}", "112"),
            ("$A ${ ${input:x} ${A", "$A ${ ${input:x} ${A"),
            ("${A}${not a name}", "1${not a name}"),
        ] {
            assert_eq!(filled(text).as_deref(), Ok(whole), "{text}");
        }
        assert_eq!(filled("${B} ${A} ${C}"), Err(vec!["B".to_owned(), "C".to_owned()]));
        assert_eq!(Template::variable("A").names(), ["A"]);
        assert!(Template::new("a ${b c}").is_plain());
    }
}
