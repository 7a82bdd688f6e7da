//! A call that may run: only judging makes one.

use crate::intake::Stated;
use haft_core::Preview;
use haft_policy::{Judgement, Verdict};

/// What was judged and allowed, by the gates or by a person.
pub(crate) struct Approved {
    pub(crate) stated: Stated,
    /// What a person was shown; it must still hold when the call runs.
    pub(crate) shown: Option<Preview>,
}

impl Approved {
    /// Allowed by the gates alone.
    pub(super) fn by_gates(stated: Stated, judgement: &Judgement) -> Option<Self> {
        matches!(judgement.verdict, Verdict::Allow(_)).then_some(Self { stated, shown: None })
    }

    /// Allowed by a person.
    pub(super) fn by_person(stated: Stated, shown: Preview) -> Self {
        Self { stated, shown: Some(shown) }
    }
}
