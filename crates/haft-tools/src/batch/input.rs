//! The input of `batch`.

use crate::tool_use::ToolUseInput;
use schemars::JsonSchema;
use serde::Deserialize;

/// Calls to make.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchInput {
    /// The calls
    #[schemars(length(min = 1, max = 16))]
    pub(crate) calls: Vec<ToolUseInput>,
}
