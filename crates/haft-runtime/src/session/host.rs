//! What a session asks of its host: where answers become grants, which foreign tools are known, what changed meanwhile.

use crate::catalogue::Offer;
use haft_core::Failure;
use haft_policy::{Grant, Pin, Policy, Rule, secrets::Masker};
use std::sync::Arc;

/// How long a grant lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Until the session ends.
    Session,
    /// Until it is revoked.
    Always,
}

/// Where answers become grants.
pub trait Grants: Send + Sync {
    /// Makes a grant of a rule; [`Keep::Always`] saves it first.
    ///
    /// # Errors
    /// Invalid input where the rule doesn't parse; unavailable where it can't be saved.
    fn grant(&self, rule: &str, tool_hash: Option<Arc<str>>, keep: Keep) -> Result<Grant, Failure>;

    /// Saves a rule that denies, and gives it.
    ///
    /// # Errors
    /// As [`Grants::grant`].
    fn deny(&self, rule: &str) -> Result<Rule, Failure>;
}

/// Remembers which definitions of foreign tools the user has let run.
pub trait Pins: Send + Sync {
    /// Whether this very definition is known.
    fn look(&self, tool: &Offer) -> Pin;

    /// Remembers it.
    ///
    /// # Errors
    /// Unavailable where it can't be saved.
    fn keep(&self, tool: &Offer) -> Result<(), Failure>;
}

/// Keeps a session's policy in step with what the user says elsewhere while it lives.
pub trait Renewal: Send + Sync {
    /// Whether something was said since the last look.
    fn is_due(&self) -> bool;

    /// Puts what holds now in the place of what held before. Answers that a session keeps for itself stay.
    fn renew(&self, policy: &mut Policy);

    /// What takes secrets out from now on, where there are others than at the last look. A session that masks nothing
    /// goes on so.
    fn masker(&self) -> Option<Arc<Masker>> {
        None
    }
}
