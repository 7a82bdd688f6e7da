//! "Always" as the trust file keeps it.

use haft_core::{Clock, Failure};
use haft_os::SystemClock;
use haft_policy::{Action, Grant, Rule};
use haft_runtime::{
    Grants, Keep,
    settings::{Place, SavedGrant, TrustFile},
};
use std::sync::Arc;

/// Makes grants of answers, and saves those that are to last.
pub(super) struct SavedGrants {
    trust: TrustFile,
    place: Place,
}

impl SavedGrants {
    pub(super) fn new(trust: TrustFile, place: Place) -> Self {
        Self { trust, place }
    }
}

impl Grants for SavedGrants {
    fn grant(&self, rule: &str, tool_hash: Option<Arc<str>>, keep: Keep) -> Result<Grant, Failure> {
        let at = self.place.rule_origin((keep == Keep::Always).then(|| self.trust.path()));
        let parsed = Rule::parse(Action::Allow, rule, &at)
            .map_err(|error| Failure::invalid(format!("\"{rule}\" can't be saved: {error}")))?;
        if keep == Keep::Always {
            self.trust.add_grant(&SavedGrant::new(rule, tool_hash.clone(), SystemClock.now()))?;
        }
        Ok(Grant { rule: parsed, tool_hash })
    }

    fn deny(&self, rule: &str) -> Result<Rule, Failure> {
        let at = self.place.rule_origin(Some(self.trust.path()));
        let parsed = Rule::parse(Action::Deny, rule, &at)
            .map_err(|error| Failure::invalid(format!("\"{rule}\" can't be saved: {error}")))?;
        self.trust.add_denial(&SavedGrant::new(rule, None, SystemClock.now()))?;
        Ok(parsed)
    }
}
