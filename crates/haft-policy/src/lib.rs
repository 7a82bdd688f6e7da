//! Judging: whether a call may run, must be asked, or is refused, always with the reason and the rule.
//!
//! Pure and synchronous: [`judge`] is a function of a [`Subject`] and the [`Policy`] of each session up the
//! chain, so that explaining, waiting questions and freshness repeat it at will. Resolving paths, asking
//! people and keeping grants are left to others. Keeps the invariants "guards only restrict", "a guard that
//! fails denies" and "what can't be read exactly is asked".

mod command;
mod guard;
mod judge;
mod mode;
mod policy;
mod rule;
#[cfg(test)]
mod sample;
mod settle;
mod subject;
mod wild;

pub use command::plain_argv;
pub use judge::{Judgement, Verdict, judge};
pub use mode::{Class, Mode, ModeError};
pub use policy::{Grant, Policy};
pub use rule::{Action, Match, Rule, RuleError, RuleOrigin, rule_choices};
pub use subject::{JudgedPath, Subject};
