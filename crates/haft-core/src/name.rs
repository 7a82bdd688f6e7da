//! Names that a model can call: parsed once at the edge, trusted afterwards.

use serde::{Deserialize, Serialize};
use std::{fmt, sync::Arc};

/// The longest name, and the longest model-facing name, in characters.
pub const NAME_MAX_CHARS: usize = 64;

/// A tool's name: `[A-Za-z0-9_-]{1,64}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolName(Arc<str>);

/// Why a text is no tool name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// A character outside the allowed set, or an empty or over-long text.
    #[error("Invalid tool name \"{0}\" — use only letters, numbers, underscores, hyphens")]
    Characters(String),
    /// Allowed characters, but more than a model provider takes.
    #[error("Invalid tool name \"{0}\" — use at most {NAME_MAX_CHARS} characters")]
    Length(String),
}

impl ToolName {
    /// Checks `text` against the rule for names.
    ///
    /// # Errors
    /// [`NameError`] names the text and the rule it breaks.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if text.is_empty() || !text.chars().all(allowed) {
            return Err(NameError::Characters(text.to_owned()));
        }
        if text.len() > NAME_MAX_CHARS {
            return Err(NameError::Length(text.to_owned()));
        }
        Ok(Self(text.into()))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What the model sees: `<namespace>_<name>`, dots of the namespace turned into `_`.
    ///
    /// # Errors
    /// [`NameError`] where a segment of the namespace or the whole breaks the rule for names.
    pub fn within(&self, namespace: Option<&str>) -> Result<Self, NameError> {
        let Some(namespace) = namespace else {
            return Ok(self.clone());
        };
        for segment in namespace.split('.') {
            Self::parse(segment)?;
        }
        Self::parse(&format!("{}_{}", namespace.replace('.', "_"), self.0))
    }
}

/// `word_count` and `word-count` become "Word count", for cards without a label of their own.
pub fn humanise(name: &str) -> String {
    let words = name.replace(['_', '-'], " ");
    let mut letters = words.trim().chars();
    letters
        .next()
        .map(|first| first.to_uppercase().collect::<String>() + letters.as_str())
        .unwrap_or_default()
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for ToolName {
    type Error = NameError;
    fn try_from(text: String) -> Result<Self, NameError> {
        Self::parse(&text)
    }
}

impl From<ToolName> for String {
    fn from(name: ToolName) -> Self {
        name.0.as_ref().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dot_is_refused_with_the_rule() {
        let error = ToolName::parse("x.y").unwrap_err();
        assert_eq!(
            error.to_string(),
            "Invalid tool name \"x.y\" — use only letters, numbers, underscores, hyphens"
        );
    }

    #[test]
    fn a_namespace_joins_with_underscores() {
        let name = ToolName::parse("count").unwrap();
        assert_eq!(name.within(Some("acme.text")).unwrap().as_str(), "acme_text_count");
        assert!(name.within(Some("acme..text")).is_err());
        assert!(name.within(Some(&"a".repeat(70))).is_err());
    }

    #[test]
    fn a_name_without_label_is_humanised() {
        assert_eq!(humanise("word_count"), "Word count");
        assert_eq!(humanise("word-stats"), "Word stats");
        assert_eq!(humanise(""), "");
    }
}
