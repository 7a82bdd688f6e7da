//! What `packages` takes.

use super::manager::Manager;
use haft_core::PathArg;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Action {
    Install,
    Outdated,
    Audit,
    Manager,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PackagesInput {
    /// manager only says which one the folder has
    pub(crate) action: Action,
    /// Names, with versions as the manager writes them
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) names: Option<Vec<String>>,
    /// For development only
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dev: Option<bool>,
    /// Say what would be installed, change nothing
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dry_run: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) manager: Option<Manager>,
    /// Let packages run their install scripts and builds
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) build: Option<bool>,
    /// The project's folder
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cwd: Option<PathArg>,
}

impl PackagesInput {
    /// The project's folder.
    pub(super) fn folder(&self) -> PathArg {
        self.cwd.clone().unwrap_or_else(|| PathArg::from("."))
    }

    pub(super) fn names(&self) -> &[String] {
        self.names.as_deref().unwrap_or_default()
    }
}

/// Whether a flag is given and set.
pub(super) fn is_set(flag: Option<bool>) -> bool {
    flag == Some(true)
}
