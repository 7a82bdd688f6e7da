//! Where a value was written.

use serde::Serialize;
use std::fmt;

/// Whose settings a text holds, from the strongest to the weakest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// The administrator's; can't be undone.
    Managed,
    /// Given on the command line.
    Flags,
    /// The user's own for one workspace, ignored by git.
    Local,
    /// Shared by all who work in the workspace.
    Workspace,
    /// The user's.
    User,
}

impl Scope {
    /// Its name in problems.
    pub fn name(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::Flags => "flags",
            Self::Local => "local",
            Self::Workspace => "workspace",
            Self::User => "user",
        }
    }

    /// Whether it lies in the workspace, and so may have come with it from somebody else.
    pub fn is_in_workspace(self) -> bool {
        matches!(self, Self::Local | Self::Workspace)
    }
}

/// The place of one value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Origin {
    /// Whose settings it is in.
    pub scope: Scope,
    /// The file, as it is shown to people.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path, self.line)
    }
}

/// A value that remembers where it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Setting<T> {
    /// The value.
    pub value: T,
    /// Where it was written.
    pub origin: Origin,
}

impl<T> Setting<T> {
    /// The same place with another value.
    pub(super) fn map<U>(self, change: impl FnOnce(T) -> U) -> Setting<U> {
        Setting { value: change(self.value), origin: self.origin }
    }
}
