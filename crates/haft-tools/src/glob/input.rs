//! The input of `glob`.

use super::split::Split;
use haft_core::{Failure, PathArg};
use schemars::JsonSchema;
use serde::Deserialize;

/// Which names, where.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GlobInput {
    /// e.g. src/**/*.{ts,tsx}; without a slash at any depth
    pub(crate) pattern: String,
    /// Folder to search; default: workspace root
    pub(crate) path: Option<PathArg>,
    /// Also ignored and hidden files
    pub(crate) ignored: Option<bool>,
    /// Default 100
    pub(crate) limit: Option<u32>,
}

impl GlobInput {
    /// The folder that is walked, and what must match beneath it.
    ///
    /// # Errors
    /// Invalid input where the pattern can't match anything.
    pub(super) fn split(&self) -> Result<Split, Failure> {
        Split::new(self.path.as_ref().map(|path| path.0.as_str()), &self.pattern)
    }
}
