//! What `patch` takes.

use schemars::JsonSchema;
use serde::Deserialize;

/// A patch in either format.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PatchInput {
    /// The whole patch text
    #[serde(alias = "input", alias = "diff", alias = "patch_text", alias = "patchText")]
    pub(crate) patch: String,
}
