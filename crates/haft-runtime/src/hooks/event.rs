//! When hooks are heard.

use serde::Serialize;
use std::fmt;

/// What a hook waits for; the names are those of existing hook files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum HookEvent {
    /// A call was judged and isn't denied; the only event whose hooks decide.
    PreToolUse,
    /// A question is about to be put.
    PermissionRequest,
    /// A tool returned.
    PostToolUse,
    /// A tool failed.
    PostToolUseFailure,
    /// All calls of one turn of the model are over.
    PostToolBatch,
    /// A session begins or goes on.
    SessionStart,
    /// A session ends.
    SessionEnd,
    /// A person said something.
    UserPromptSubmit,
    /// The model is done.
    Stop,
    /// A subagent is done.
    SubagentStop,
    /// The conversation is about to be shortened.
    PreCompact,
}

impl HookEvent {
    /// Every event.
    pub const ALL: [Self; 11] = [
        Self::PreToolUse,
        Self::PermissionRequest,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::PostToolBatch,
        Self::SessionStart,
        Self::SessionEnd,
        Self::UserPromptSubmit,
        Self::Stop,
        Self::SubagentStop,
        Self::PreCompact,
    ];

    /// Its name in settings and on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PermissionRequest => "PermissionRequest",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::PostToolBatch => "PostToolBatch",
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::Stop => "Stop",
            Self::SubagentStop => "SubagentStop",
            Self::PreCompact => "PreCompact",
        }
    }

    /// What is heard at the end of a call.
    pub(crate) fn of_end(is_failure: bool) -> Self {
        if is_failure { Self::PostToolUseFailure } else { Self::PostToolUse }
    }

    /// Reads a name in any spelling, so that a guard isn't lost over a capital letter.
    pub fn parse(text: &str) -> Option<Self> {
        let bare = |text: &str| text.replace(['_', '-'], "").to_ascii_lowercase();
        let written = bare(text);
        Self::ALL.into_iter().find(|event| bare(event.name()) == written)
    }

    /// Whether a hook that doesn't work can stand in the way of what is about to happen.
    pub fn can_refuse(self) -> bool {
        matches!(self, Self::PreToolUse | Self::PermissionRequest | Self::UserPromptSubmit)
    }

    /// Whether a hook's "block" keeps the event's subject from going on.
    pub(super) fn can_block(self) -> bool {
        matches!(
            self,
            Self::UserPromptSubmit | Self::Stop | Self::SubagentStop | Self::PreCompact | Self::PostToolBatch
        )
    }

    /// Whether plain text that a hook prints is meant for the model.
    pub(super) fn takes_text(self) -> bool {
        matches!(self, Self::UserPromptSubmit | Self::SessionStart)
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back_in_any_spelling() {
        for event in HookEvent::ALL {
            assert_eq!(HookEvent::parse(event.name()), Some(event));
        }
        assert_eq!(HookEvent::parse("pre_tool_use"), Some(HookEvent::PreToolUse));
        assert_eq!(HookEvent::parse("preToolUse"), Some(HookEvent::PreToolUse));
        assert_eq!(HookEvent::parse("PreTool"), None);
    }
}
