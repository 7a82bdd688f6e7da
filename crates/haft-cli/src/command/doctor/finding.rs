//! One thing that was looked at, and how to mend it.

use serde::Serialize;
use std::borrow::Cow;

/// How a check went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Health {
    Ok,
    Warning,
    Fault,
}

/// One check.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Finding {
    pub(super) name: Cow<'static, str>,
    pub(super) health: Health,
    pub(super) detail: String,
    /// What to do about it, where it isn't as it should be.
    pub(super) fix: Option<String>,
}

impl Finding {
    pub(super) fn ok(name: impl Into<Cow<'static, str>>, detail: impl Into<String>) -> Self {
        Self { name: name.into(), health: Health::Ok, detail: detail.into(), fix: None }
    }

    pub(super) fn warning(
        name: impl Into<Cow<'static, str>>,
        detail: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { name: name.into(), health: Health::Warning, detail: detail.into(), fix: Some(fix.into()) }
    }

    pub(super) fn fault(
        name: impl Into<Cow<'static, str>>,
        detail: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { name: name.into(), health: Health::Fault, detail: detail.into(), fix: Some(fix.into()) }
    }
}
