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
    /// What the person was asked for.
    asked: Vec<Why>,
    /// The policies it was judged under, own first.
    under: Vec<Arc<Policy>>,
}

impl Approved {
    /// Allowed by the gates alone.
    pub(super) fn by_gates(stated: Stated, judgement: &Judgement, under: Vec<Arc<Policy>>) -> Option<Self> {
        matches!(judgement.verdict, Verdict::Allow(_)).then_some(Self {
            stated,
            shown: None,
            asked: Vec::new(),
            under,
        })
    }

    /// Allowed by a person.
    pub(super) fn by_person(
        stated: Stated,
        shown: Preview,
        asked: Vec<Why>,
        under: Vec<Arc<Policy>>,
    ) -> Self {
        Self { stated, shown: Some(shown), asked, under }
    }

    /// What the policies say now, where they aren't the ones it was judged under any more.
    pub(crate) fn judged_now(&self, policies: &[Arc<Policy>]) -> Option<Now> {
        let same = self.under.len() == policies.len()
            && self.under.iter().zip(policies).all(|(a, b)| Arc::ptr_eq(a, b));
        if same {
            return None;
        }
        match judge(&self.stated.subject, policies).verdict {
            Verdict::Allow(_) => None,
            Verdict::Deny(why) => Some(Now::Denied(why)),
            Verdict::Ask(whys) => {
                // Nobody was asked for this reason: it is asked now.
                let is_new = |why: &Why| !self.asked.iter().any(|asked| asked.gate == why.gate);
                whys.iter().any(is_new).then_some(Now::Asked)
            }
        }
    }
}

/// What became of an approval while the call waited.
pub(crate) enum Now {
    /// It is refused.
    Denied(Why),
    /// It would be asked for what nobody was asked.
    Asked,
}
