//! Approval modes, and the one table of which asks each of them silences.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// How a session wants to be asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Mode {
    /// Reads run, what mutates is refused.
    Plan,
    /// Everything is asked except what is read-only.
    Ask,
    /// What the tool declares.
    #[default]
    Default,
    /// As default, but writes inside the workspace run.
    AcceptEdits,
    /// Runs, but asks for the dangerous list.
    Auto,
    /// Runs, also outside the workspace.
    Yolo,
    /// Runs, and asks nothing. What is denied stays denied.
    Full,
    /// As default, but every question is a denial: nobody is there.
    Headless,
}

/// What kind of guard asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// A written rule.
    Rule,
    /// A hook.
    Hook,
    /// A protected path or a sensitive read.
    Protected,
    /// A path outside the workspace.
    Outside,
    /// Harm that can't be put right.
    Destructive,
    /// Private data, untrusted content and a way out.
    Taint,
    /// Leaving the sandbox, or going on after the session.
    Escalation,
    /// The first use of a tool, or of a changed one, in a trusted workspace.
    FirstUse,
    /// The same in a workspace that the user doesn't trust.
    Untrusted,
    /// The tool's own check.
    Tool,
}

/// The table `Mode` × `Class`: which asks a mode silences. What isn't listed is asked.
static SILENCED: [(Mode, &[Class]); 8] = [
    (Mode::Plan, &[]),
    (Mode::Ask, &[]),
    (Mode::Default, &[]),
    (Mode::AcceptEdits, &[]),
    (Mode::Auto, &[]),
    (Mode::Yolo, &[Class::Outside, Class::FirstUse]),
    (Mode::Full, &ALL_BUT_UNTRUSTED),
    (Mode::Headless, &[]),
];

/// What `full` silences: all, except that a tool of an untrusted workspace is asked at its first use in every mode.
const ALL_BUT_UNTRUSTED: [Class; 9] = [
    Class::Rule,
    Class::Hook,
    Class::Protected,
    Class::Outside,
    Class::Destructive,
    Class::Taint,
    Class::Escalation,
    Class::FirstUse,
    Class::Tool,
];

/// Each mode's own name first, then the names other hosts give it.
static NAMES: [(Mode, &[&str]); 8] = [
    (Mode::Plan, &["plan"]),
    (Mode::Ask, &["ask", "ask_before", "manual"]),
    (Mode::Default, &["default"]),
    (Mode::AcceptEdits, &["accept-edits", "acceptEdits"]),
    (Mode::Auto, &["auto"]),
    (Mode::Yolo, &["yolo"]),
    (Mode::Full, &["full", "auto_full", "bypassPermissions"]),
    (Mode::Headless, &["headless", "dontAsk"]),
];

impl Class {
    /// Every class.
    pub const ALL: [Self; 10] = [
        Self::Rule,
        Self::Hook,
        Self::Protected,
        Self::Outside,
        Self::Destructive,
        Self::Taint,
        Self::Escalation,
        Self::FirstUse,
        Self::Untrusted,
        Self::Tool,
    ];
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 8] = [
        Self::Plan,
        Self::Ask,
        Self::Default,
        Self::AcceptEdits,
        Self::Auto,
        Self::Yolo,
        Self::Full,
        Self::Headless,
    ];

    /// Whether an ask of this class isn't put in this mode.
    pub fn silences(self, class: Class) -> bool {
        SILENCED.iter().any(|(mode, classes)| *mode == self && classes.contains(&class))
    }

    /// The name as settings and flags write it.
    pub fn name(self) -> &'static str {
        let own = NAMES.iter().find(|(mode, _)| *mode == self);
        own.and_then(|(_, names)| names.first()).copied().unwrap_or_default()
    }
}

/// A text that names no mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no approval mode; use plan, ask, default, accept-edits, auto, yolo, full or headless")]
pub struct ModeError(pub String);

impl FromStr for Mode {
    type Err = ModeError;
    fn from_str(text: &str) -> Result<Self, ModeError> {
        let found = NAMES.iter().find(|(_, names)| names.contains(&text));
        found.map(|(mode, _)| *mode).ok_or_else(|| ModeError(text.to_owned()))
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl TryFrom<String> for Mode {
    type Error = ModeError;
    fn try_from(text: String) -> Result<Self, ModeError> {
        text.parse()
    }
}

impl From<Mode> for String {
    fn from(mode: Mode) -> Self {
        mode.name().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yolo_and_full_silence() {
        for mode in Mode::ALL {
            for class in Class::ALL {
                let in_yolo = matches!(class, Class::Outside | Class::FirstUse);
                let expected =
                    (mode == Mode::Full && class != Class::Untrusted) || (mode == Mode::Yolo && in_yolo);
                assert_eq!(mode.silences(class), expected, "{mode} {class:?}");
            }
        }
    }

    #[test]
    fn every_name_reads_back() {
        for mode in Mode::ALL {
            assert_eq!(mode.to_string().parse::<Mode>(), Ok(mode));
        }
        let others = [
            ("ask_before", Mode::Ask),
            ("manual", Mode::Ask),
            ("acceptEdits", Mode::AcceptEdits),
            ("auto_full", Mode::Full),
            ("bypassPermissions", Mode::Full),
            ("dontAsk", Mode::Headless),
        ];
        for (name, mode) in others {
            assert_eq!(name.parse::<Mode>(), Ok(mode));
        }
        assert!("Plan mode".parse::<Mode>().unwrap_err().to_string().contains("accept-edits"));
    }
}
