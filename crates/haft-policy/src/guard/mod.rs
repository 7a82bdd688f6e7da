//! Guards: all are heard, the strictest holds; a guard can ask or deny, never allow.

mod ask;
mod deny;
mod destructive;
mod disabled;
mod escalation;
mod first_use;
mod hard_deny;
mod hook;
mod outlives;
mod outside;
mod own;
mod plan;
mod protected;
mod taint;

pub(crate) use taint::sensitive_read;
pub use taint::ways_out;

use crate::{Class, Policy, Rule, Subject};
use haft_core::Why;

/// How many things of a kind a question names.
const NAMED_MAX: usize = 3;

/// The first of what a question is about, and how many more there are.
fn named(all: &[String]) -> String {
    let first = all.get(..NAMED_MAX).unwrap_or(all);
    let more = match all.len() - first.len() {
        0 => String::new(),
        left_out => format!(" and {left_out} more"),
    };
    format!("{}{more}", first.join(", "))
}

/// One reason to ask or to refuse.
pub(crate) trait Guard: Sync {
    /// Its name in traces.
    fn step(&self) -> &'static str;

    /// Its name alone.
    fn name(&self) -> &'static str {
        self.step().split_once(':').map_or(self.step(), |(_, name)| name)
    }

    /// Its word, where it has one.
    fn check(&self, subject: &Subject, policy: &Policy) -> Option<Restriction>;
}

/// What a guard can say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Restriction {
    /// A person must be asked, unless the mode silences the class.
    Ask(Class, Vec<Why>),
    /// It may run, but a person is told.
    Warn(Why),
    /// Refused, in every mode.
    Deny(Why),
}

/// All guards, in the order in which they are heard.
pub(crate) const ALL: [&dyn Guard; 14] = [
    &disabled::Disabled,
    &hard_deny::HardDeny,
    &plan::Plan,
    &deny::Deny,
    &taint::Taint,
    &ask::Ask,
    &protected::Protected,
    &destructive::Destructive,
    &outside::Outside,
    &hook::Hook,
    &escalation::Escalation,
    &outlives::Outlives,
    &first_use::FirstUse,
    &own::Own,
];

/// One reason for all rules that may hold for what can't be read exactly.
fn unsure(gate: &'static str, rules: &[&Rule]) -> Option<Why> {
    let first = rules.first()?;
    let texts: Vec<String> = rules.iter().take(3).map(|rule| format!("\"{}\"", rule.text)).collect();
    let more = if rules.len() > texts.len() { ", …" } else { "" };
    let texts = texts.join(", ");
    Some(first.why(gate, format!("what it does can't be read exactly, so it may fall under {texts}{more}")))
}
