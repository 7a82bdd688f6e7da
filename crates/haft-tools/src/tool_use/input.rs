//! The input of `tool_use`, and of each call of `batch`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A call to make.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct ToolUseInput {
    /// The tool's name
    pub(crate) tool: String,
    /// Its input
    #[serde(default)]
    pub(crate) input: Map<String, Value>,
}
