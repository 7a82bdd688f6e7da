//! What the user let always run, or never, as it is saved.

use serde::{Deserialize, Serialize};
use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

/// A saved "always".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedGrant {
    /// The rule that allows.
    pub rule: String,
    /// The hash of the tool it was given to; none for built-ins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_hash: Option<Arc<str>>,
    /// When, in seconds since 1970.
    pub saved_at: u64,
}

impl SavedGrant {
    /// A grant given at that time.
    pub fn new(rule: impl Into<String>, tool_hash: Option<Arc<str>>, at: SystemTime) -> Self {
        let saved_at = at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        Self { rule: rule.into(), tool_hash, saved_at }
    }
}
