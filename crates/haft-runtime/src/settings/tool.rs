//! `[tools.NAME]`: how one tool is offered and bounded here.

use super::{Setting, section::Section};
use haft_core::{Exposure, Permission};
use serde::Serialize;

const KEYS: [&str; 4] = ["exposure", "permission", "enabled", "timeoutMs"];

/// The settings of one tool.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolSetting {
    /// How it is offered.
    pub exposure: Option<Setting<Exposure>>,
    /// How it is allowed at least; see [`ToolSetting::tighten`].
    pub permission: Option<Setting<Permission>>,
    /// Whether it is offered at all.
    pub enabled: Option<Setting<bool>>,
    /// Hard cap for one call in milliseconds.
    pub timeout_ms: Option<Setting<u64>>,
}

impl ToolSetting {
    /// The stricter of what the tool declares and what is set here.
    pub fn tighten(&self, declared: Permission) -> Permission {
        self.permission.as_ref().map_or(declared, |set| set.value.max(declared))
    }

    /// Whether it is switched off.
    pub fn is_off(&self) -> bool {
        self.enabled.as_ref().is_some_and(|enabled| !enabled.value)
    }

    /// Reads one table. What can only tighten counts from anywhere.
    pub(super) fn read(section: &Section<'_>) -> Self {
        section.only(&KEYS);
        let document = section.document;
        let permission = section.word::<Permission>("permission").filter(|set| {
            let tightens = set.value > Permission::Auto;
            if !tightens {
                let text = format!("\"{}\" can't loosen what a tool declares", section.full("permission"));
                document.problem(set.origin.line, text, "write an allow rule under [permissions]");
            }
            tightens
        });
        let off = section.flag("enabled").filter(|enabled| !enabled.value || section.counts("enabled"));
        Self {
            permission,
            enabled: off,
            exposure: section.counts("exposure").then(|| section.word("exposure")).flatten(),
            timeout_ms: section.counts("timeoutMs").then(|| section.number("timeoutMs")).flatten(),
        }
    }

    /// Adds what a weaker scope says; of two permissions the stricter holds.
    pub(super) fn add_weaker(&mut self, weaker: Self) {
        self.exposure = self.exposure.take().or(weaker.exposure);
        self.enabled = self.enabled.take().or(weaker.enabled);
        self.timeout_ms = self.timeout_ms.take().or(weaker.timeout_ms);
        self.permission = match (self.permission.take(), weaker.permission) {
            (Some(own), Some(other)) if other.value > own.value => Some(other),
            (own, other) => own.or(other),
        };
    }
}
