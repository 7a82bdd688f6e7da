//! What a process is kept from while it runs, and what of it could be done.

use serde::Serialize;
use std::{borrow::Cow, fmt};

/// What confined processes may do. Everything that isn't named can be read and not be written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confinement {
    /// Absolute folders whose files can be changed.
    pub writable: Vec<String>,
    /// Files and folders in them that can't.
    pub kept: Vec<Kept>,
    /// Absolute files and folders that can't even be read; those that aren't there are passed over. Where one is a
    /// link, what it leads to is hidden.
    pub hidden: Vec<String>,
    /// Files and folders in hidden ones that are read all the same.
    pub shown: Vec<String>,
    /// Paths that nothing can stand for while a command runs, and that mustn't be made: what is there afterwards and
    /// wasn't before is set aside, and that is said.
    pub watched: Vec<String>,
    /// Whom they reach over the network.
    pub network: Reach,
    /// Whether nothing may run where not all of this can be done.
    pub required: bool,
}

/// A path in a writable folder that stays as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// Absolute.
    pub path: String,
    /// Whether it can't be made either where it isn't there.
    pub even_absent: bool,
}

/// Whom confined processes reach over the network.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Reach {
    /// Nobody but themselves.
    #[default]
    Closed,
    /// These hosts, through a proxy that checks names and addresses: `example.org`, `*.example.org`, and
    /// `127.0.0.1:8080` for an address that is otherwise refused.
    Hosts(Vec<String>),
    /// Everybody.
    Open,
}

/// What one command may do beyond the [`Confinement`] that holds for all: what was approved for its call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowance {
    /// Absolute files and folders that it may change, with all that is in them, also kept ones. Those that aren't
    /// there are passed over.
    pub writable: Vec<String>,
    /// Absolute files that it may make or change, and nothing beside them; folders are passed over.
    pub files: Vec<String>,
}

/// One thing that keeps a process in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// Its own mounts, process ids and network.
    Namespaces,
    /// Files, TCP ports and signals by the kernel's own rules.
    Landlock,
    /// System calls that are refused.
    Seccomp,
    /// No special rights, also as root.
    Capabilities,
}

impl Layer {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Namespaces => "namespaces",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::Capabilities => "capabilities",
        }
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What held a process in, and what it wasn't kept from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Confined {
    /// What was in place.
    pub layers: Vec<Layer>,
    /// What couldn't be done, a sentence each, for people and in each result. Empty where all was.
    pub gaps: Vec<Cow<'static, str>>,
    /// What was found after it that has to be known, a sentence each: what it left and was set aside, and what somebody
    /// else changed meanwhile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub noticed: Vec<String>,
    /// How many folders weren't gone through for what it left, where there are too many.
    #[serde(skip_serializing_if = "is_none")]
    pub unsearched: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

impl Confined {
    /// Whether everything that was wanted is in place.
    pub fn is_whole(&self) -> bool {
        self.gaps.is_empty() && !self.layers.is_empty()
    }
}
