//! `[taint]`: what becomes of data that would leave a session which strangers can speak to.

use super::{Place, Setting, load::like_rules, section::Section};
use haft_policy::Taint;

const KEYS: [&str; 3] = ["action", "private", "untrusted"];

/// The settings of the taint gate.
#[derive(Debug, Clone, Default)]
pub struct TaintSetting {
    /// What becomes of a call that would complete the three.
    pub action: Option<Setting<Taint>>,
    /// What counts as private besides the well-known paths, written as rules.
    pub private: Vec<Setting<String>>,
    /// What brings strangers' words besides the tools that say so, written as rules.
    pub untrusted: Vec<Setting<String>>,
}

impl TaintSetting {
    /// Reads the section. More that is private or untrusted tightens and counts from anywhere; so does `deny`.
    pub(super) fn read(section: &Section<'_>, place: &Place) -> Self {
        section.only(&KEYS);
        let action = section.word::<Taint>("action");
        let tightens = action.as_ref().is_some_and(|set| set.value == Taint::Deny);
        Self {
            action: action.filter(|_| tightens || section.counts("action")),
            private: like_rules(section, "private", place),
            untrusted: like_rules(section, "untrusted", place),
        }
    }

    /// Adds what a weaker scope says; its `deny` holds over a stronger scope's other word.
    pub(super) fn add_weaker(&mut self, mut weaker: Self) {
        let denies = weaker.action.as_ref().is_some_and(|set| set.value == Taint::Deny);
        if denies || self.action.is_none() {
            self.action = weaker.action.take().or(self.action.take());
        }
        self.private.append(&mut weaker.private);
        self.untrusted.append(&mut weaker.untrusted);
    }
}
