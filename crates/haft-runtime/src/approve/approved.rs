//! A call that may run: only judging makes one.

use crate::intake::Stated;
use haft_core::{Preview, Why};
use haft_policy::{Judgement, Policy, Verdict, judge};
use std::sync::Arc;

/// What was judged and allowed, by the gates or by a person.
pub(crate) struct Approved {
    pub(crate) stated: Stated,
    /// What a person was shown; it must still hold when the call runs.
    pub(crate) shown: Option<Preview>,
    /// The policies it was judged under, own first.
    under: Vec<Arc<Policy>>,
}

impl Approved {
    /// Allowed by the gates alone.
    pub(super) fn by_gates(stated: Stated, judgement: &Judgement, under: Vec<Arc<Policy>>) -> Option<Self> {
        matches!(judgement.verdict, Verdict::Allow(_)).then_some(Self { stated, shown: None, under })
    }

    /// Allowed by a person.
    pub(super) fn by_person(stated: Stated, shown: Preview, under: Vec<Arc<Policy>>) -> Self {
        Self { stated, shown: Some(shown), under }
    }

    /// Whether a policy that came while it waited refuses it, or would now ask what nobody was asked.
    pub(crate) fn is_denied_now(&self, policies: &[Arc<Policy>]) -> Option<Why> {
        let same = self.under.len() == policies.len()
            && self.under.iter().zip(policies).all(|(a, b)| Arc::ptr_eq(a, b));
        if same {
            return None;
        }
        match judge(&self.stated.subject, policies).verdict {
            Verdict::Allow(_) => None,
            Verdict::Deny(why) => Some(why),
            Verdict::Ask(_) if self.shown.is_some() => None,
            Verdict::Ask(whys) => whys.into_iter().next().map(|why| Why {
                reason: format!(
                    "the rules changed while it waited, and now it would be asked: {}",
                    why.reason
                ),
                ..why
            }),
        }
    }
}
