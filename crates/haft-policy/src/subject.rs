//! All that gates see of one call, as plain data.

use crate::{
    Action,
    command::{Access, JudgedLine, Line},
};
use haft_core::{CallId, Effects, OwnCheck, Permission, RealPath, Risk, Spec, Touch, Why};
use serde_json::Value;
use std::{borrow::Cow, sync::Arc};

/// One path of a call: how it was written, and what it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedPath {
    /// Absolute and lexically normalised, links not followed.
    pub written: String,
    /// All links followed.
    pub real: RealPath,
}

/// One path that a call uses.
#[derive(Debug, Clone)]
pub(crate) struct PathUse {
    /// How.
    pub(crate) access: Access,
    /// Where it really is, then each way it was written; empty where that isn't known.
    pub(crate) names: Vec<String>,
    /// Where it really is.
    pub(crate) real: Option<RealPath>,
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
    /// Who else than the tool's owner has it ask, where somebody does.
    pub asked_by: Option<Arc<str>>,
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
    /// Whether the user has let this very definition run before.
    pub pin: Pin,
    /// The command lines among the effects, read and resolved, in the same order.
    pub lines: Vec<JudgedLine>,
    /// What hooks said, in the order in which they are declared.
    pub hooks: Vec<HookWord>,
}

/// Whether a tool that isn't built in is the one that the user knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Pin {
    /// Built in, or let run before just as it is.
    #[default]
    Known,
    /// Never let run before.
    New,
    /// Something else was let run under this name; the text shows what changed.
    Changed(String),
}

/// A hook's word on a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookWord {
    /// What it decides.
    pub action: Action,
    /// Its name and reason, and the file and line that declare it.
    pub why: Why,
}

impl Subject {
    /// Whether the tool is built in: only then do its aliases count for rules that allow.
    pub fn is_core(&self) -> bool {
        self.owner.as_ref() == "core"
    }

    /// The command lines it will run; one that nobody read counts as unreadable.
    pub(crate) fn command_lines(&self) -> Vec<Cow<'_, JudgedLine>> {
        let texts = self.effects.touches().iter().filter_map(|touch| match touch {
            Touch::Command(line) => Some(line),
            _ => None,
        });
        texts
            .enumerate()
            .map(|(at, text)| match self.lines.get(at).filter(|line| line.text == *text) {
                Some(line) => Cow::Borrowed(line),
                None => Cow::Owned(JudgedLine {
                    text: Arc::clone(text),
                    line: Arc::new(Line::unreadable("it wasn't read")),
                    ..JudgedLine::default()
                }),
            })
            .collect()
    }

    /// Every path that the call uses, stated or named in a line, each with all its names. What a line names without
    /// being meant as a path (nothing like it could be there) is left out.
    pub(crate) fn path_uses(&self) -> Vec<PathUse> {
        let stated = self.effects.touches().iter().filter_map(|touch| {
            let access = match touch {
                Touch::Read(_) => Access::Read,
                Touch::ReadTree(_) => Access::ReadTree,
                Touch::Write(_) => Access::Write,
                Touch::WriteTree(_) => Access::WriteTree,
                Touch::Host(_)
                | Touch::Command(_)
                | Touch::Server(_)
                | Touch::Session(_)
                | Touch::Unconfined
                | Touch::Outlives => return None,
            };
            touch.path().map(|path| PathUse { access, names: self.names_of(path), real: Some(path.clone()) })
        });
        let lines = self.lines.iter().flat_map(|line| &line.paths);
        let named =
            lines.filter(|named| named.word.access != Access::Named || named.has_parent).map(|named| {
                let names = named.path.as_ref().map_or_else(Vec::new, |path| {
                    let mut names = vec![path.real.absolute()];
                    if path.written != path.real.absolute() {
                        names.push(path.written.clone());
                    }
                    names
                });
                let real = named.path.as_ref().map(|path| path.real.clone());
                PathUse { access: named.word.access, names, real }
            });
        stated.chain(named).collect()
    }

    /// Every name of a path: where it really is, and each way it was written.
    pub(crate) fn names_of(&self, real: &RealPath) -> Vec<String> {
        let written = self.paths.iter().filter(|path| path.real == *real).map(|path| path.written.clone());
        std::iter::once(real.absolute()).chain(written).collect()
    }
}
