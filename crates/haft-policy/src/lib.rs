//! Judging: whether a call may run, must be asked, or is refused, always with the reason and the rule.
//!
//! Pure and synchronous: [`judge`] is a function of a [`Subject`] and the [`Policy`] of each session up the
//! chain, so that explaining, waiting questions and freshness repeat it at will. Resolving paths, asking
//! people and keeping grants are left to others. Keeps the invariants "guards only restrict", "a guard that
//! fails denies" and "what can't be read exactly is asked".

mod command;
mod gates;
mod guard;
mod judge;
mod marks;
mod mode;
mod narrow;
mod places;
mod policy;
mod rule;
#[cfg(test)]
mod sample;
pub mod secrets;
mod settle;
mod subject;
mod why_not;
mod wild;

pub use command::{
    Access, Cwd, Dialect, JudgedLine, Line, LinePath, OWN_SWITCHES, PathWord, Redirect, RedirectKind, Simple,
    Word, covers, git_folder, matches_name, normal, path_words, pattern_parts, read_line,
};
pub use gates::{GateKind, gates};
pub use guard::ways_out;
pub use judge::{Judgement, Verdict, judge};
pub use marks::{Covered, Mark, Marks, Taint, TakenIn, taken_in};
pub use mode::{Class, Mode, ModeError};
pub use narrow::Narrowing;
pub use places::{hidden_in, kept_in, watched_in};
pub use policy::{Confines, Grant, Policy};
pub use rule::{Action, Match, Rule, RuleError, RuleOrigin, rule_choices, stands_for};
pub use settle::{is_harmless, reads_only};
pub use subject::{HookWord, JudgedPath, Pin, Subject};
pub use why_not::why_not;
