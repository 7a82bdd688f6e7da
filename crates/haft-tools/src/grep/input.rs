//! The input of `grep`.

use crate::field::wrong;
use haft_core::PathArg;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;

/// What to search for, where, and how to show it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct GrepInput {
    pub(crate) pattern: String,
    /// File or folder; default: workspace root
    pub(crate) path: Option<PathArg>,
    /// Only these files, e.g. *.{ts,tsx}
    pub(crate) glob: Option<String>,
    /// File type, e.g. rust, py
    #[serde(rename = "type")]
    pub(crate) kind: Option<String>,
    /// content (default), files or count
    // A plain string in the schema, so that the names other tools use for a mode arrive.
    #[schemars(with = "Option<String>")]
    pub(crate) mode: Option<GrepMode>,
    /// Lines around each match
    pub(crate) context: Option<u32>,
    pub(crate) ignore_case: Option<bool>,
    /// Matches may span lines
    pub(crate) multiline: Option<bool>,
    /// Pattern is plain text
    pub(crate) fixed: Option<bool>,
    /// Matches or files shown; default 250
    pub(crate) limit: Option<u32>,
    /// Skip so many first
    pub(crate) offset: Option<u32>,
}

/// What is shown of a match.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum GrepMode {
    /// Matching lines.
    #[default]
    Content,
    /// Paths of files with a match.
    Files,
    /// Matching lines counted by file.
    Count,
}

impl<'de> Deserialize<'de> for GrepMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Value::deserialize(deserializer)?;
        match given.as_str() {
            Some("content" | "lines") => Ok(Self::Content),
            Some("files" | "files_with_matches") => Ok(Self::Files),
            Some("count" | "counts") => Ok(Self::Count),
            _ => Err(D::Error::custom(wrong("/mode", "one of files, content, count", &given))),
        }
    }
}

impl GrepInput {
    /// The file or folder that is searched.
    pub(super) fn tree(&self) -> PathArg {
        match &self.path {
            Some(path) if !path.0.is_empty() => path.clone(),
            _ => PathArg::from("."),
        }
    }
}
