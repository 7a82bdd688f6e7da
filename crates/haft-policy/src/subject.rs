//! All that gates see of one call, as plain data.

use haft_core::{CallId, Effects, OwnCheck, Permission, RealPath, Risk, Spec, Touch};
use serde_json::Value;
use std::sync::Arc;

/// One path of a call: how it was written, and what it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedPath {
    /// Absolute and lexically normalised, links not followed.
    pub written: String,
    /// All links followed.
    pub real: RealPath,
}

/// One call, ready to be judged.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The call.
    pub call: CallId,
    /// The name that the model calls.
    pub tool: Arc<str>,
    /// The tool's declaration.
    pub spec: Arc<Spec>,
    /// Who registered the tool; `core` for built-ins.
    pub owner: Arc<str>,
    /// The input that will run.
    pub input: Arc<Value>,
    /// What it will touch.
    pub effects: Effects<RealPath>,
    /// The paths among the effects, under each name they were written with.
    pub paths: Vec<JudgedPath>,
    /// How this input wants to be allowed.
    pub permission: Permission,
    /// Whether this input has no side effect.
    pub read_only: bool,
    /// Whether this input may change something.
    pub mutates: bool,
    /// The risk of this input.
    pub risk: Risk,
    /// Whether the tool said anything about its risk.
    pub risk_declared: bool,
    /// The tool's own, stricter word.
    pub own: Option<OwnCheck>,
    /// The hash of the definition and what runs; `None` for built-ins.
    pub tool_hash: Option<Arc<str>>,
}

impl Subject {
    /// Whether the tool is built in: only then do its aliases count for rules that allow.
    pub(crate) fn is_core(&self) -> bool {
        self.owner.as_ref() == "core"
    }

    /// The command lines it will run.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &str> {
        self.effects.touches().iter().filter_map(|touch| match touch {
            Touch::Command(line) => Some(line.as_ref()),
            _ => None,
        })
    }

    /// Every name of a path: where it really is, and each way it was written.
    pub(crate) fn names_of(&self, real: &RealPath) -> Vec<String> {
        let written = self.paths.iter().filter(|path| path.real == *real).map(|path| path.written.clone());
        std::iter::once(real.absolute()).chain(written).collect()
    }
}
