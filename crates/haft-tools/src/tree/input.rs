//! What `tree` takes.

use haft_core::PathArg;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TreeInput {
    /// Folder
    #[serde(default = "workspace")]
    pub(crate) path: PathArg,
    /// Levels to show, 3 unless given
    #[schemars(range(min = 1))]
    pub(crate) depth: Option<usize>,
    /// Entries to show, 200 unless given
    #[schemars(range(min = 1))]
    pub(crate) limit: Option<usize>,
    /// Show file sizes
    pub(crate) sizes: Option<bool>,
    /// Also ignored and hidden files
    pub(crate) ignored: Option<bool>,
}

fn workspace() -> PathArg {
    PathArg(".".to_owned())
}
