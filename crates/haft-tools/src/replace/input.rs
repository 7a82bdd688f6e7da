//! What `replace` takes.

use haft_core::PathArg;
use schemars::JsonSchema;
use serde::Deserialize;

/// What to replace, with what, where.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ReplaceInput {
    /// Regular expression, or plain text with literal
    pub(crate) pattern: String,
    pub(crate) replacement: String,
    /// Files or folders; default: workspace root
    pub(crate) paths: Option<Vec<PathArg>>,
    /// Only these files, e.g. *.{ts,tsx}
    pub(crate) glob: Option<String>,
    /// Pattern and replacement are plain text
    pub(crate) literal: Option<bool>,
    /// Only show what would change
    pub(crate) dry_run: Option<bool>,
}

impl ReplaceInput {
    /// The files and folders that are searched.
    pub(crate) fn trees(&self) -> Vec<PathArg> {
        let mut trees: Vec<PathArg> = Vec::new();
        for path in self.paths.iter().flatten().filter(|path| !path.0.is_empty()) {
            if !trees.contains(path) {
                trees.push(path.clone());
            }
        }
        if trees.is_empty() {
            trees.push(PathArg::from("."));
        }
        trees
    }

    /// Whether nothing is to be changed.
    pub(crate) fn is_dry(&self) -> bool {
        self.dry_run.unwrap_or(false)
    }
}
