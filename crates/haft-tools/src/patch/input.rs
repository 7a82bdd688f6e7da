//! What `patch` takes.

use schemars::JsonSchema;
use serde::Deserialize;

/// A patch in either format.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PatchInput {
    /// The whole patch text
    pub(crate) patch: String,
}
