//! What `write` takes.

use haft_core::PathArg;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteInput {
    /// File to write
    pub(crate) path: PathArg,
    /// Its whole content
    pub(crate) content: String,
}
