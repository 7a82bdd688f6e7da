//! What hooks allow.

use super::{Settlement, Settler};
use crate::{Action, Policy, Subject};

/// Promises that a hook which allows settles what no guard restricts and no rule decides.
pub(super) struct Hook;

impl Settler for Hook {
    fn step(&self) -> &'static str {
        "settler:hook"
    }

    fn settle(&self, subject: &Subject, _: &Policy) -> Option<Settlement> {
        let word = subject.hooks.iter().find(|word| word.action == Action::Allow)?;
        Some(Settlement::Allow(word.why.clone()))
    }
}
