//! How content is given.

use crate::field::wrong;
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;

/// How content is given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Format {
    /// HTML as Markdown, JSON indented, other text as it is.
    #[default]
    Markdown,
    /// The words alone.
    Text,
    /// The source.
    Html,
    /// Checked and indented.
    Json,
    /// Status, headers and source.
    Raw,
}

impl<'de> Deserialize<'de> for Format {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Value::deserialize(deserializer)?;
        match given.as_str() {
            Some("markdown" | "md") => Ok(Self::Markdown),
            Some("text" | "txt" | "plain") => Ok(Self::Text),
            Some("html" | "source") => Ok(Self::Html),
            Some("json") => Ok(Self::Json),
            Some("raw") => Ok(Self::Raw),
            _ => Err(D::Error::custom(wrong("/format", "one of markdown, text, html, json, raw", &given))),
        }
    }
}
