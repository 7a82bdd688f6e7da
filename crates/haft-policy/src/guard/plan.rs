//! Refuses changes in plan mode.

use super::{Guard, Restriction};
use crate::{Mode, Policy, Subject};
use haft_core::{Effects, Touch, Why};

/// Promises that nothing changes in plan mode: neither by a tool that mutates, nor by one that states a
/// write, nor by one that states nothing and isn't read-only.
pub(super) struct Plan;

impl Guard for Plan {
    fn step(&self) -> &'static str {
        "guard:plan"
    }

    fn check(&self, subject: &Subject, policy: &Policy) -> Option<Restriction> {
        let is_unstated = subject.effects == Effects::Everything && !subject.read_only;
        let writes = subject.effects.touches().iter().any(Touch::writes);
        if policy.mode != Mode::Plan || !(subject.mutates || is_unstated || writes) {
            return None;
        }
        let what =
            if subject.mutates || writes { "may change something" } else { "doesn't state what it touches" };
        let reason = format!("{} {what}, and this is plan mode; leave plan mode first", subject.tool);
        Some(Restriction::Deny(Why::new(self.name(), reason)))
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Mode,
        sample::{foreign, policy, reading, verdict, writing},
    };
    use haft_core::Effects;

    #[test]
    fn what_plan_mode_refuses() {
        let plan = policy(Mode::Plan, &[]);
        let mut calm = foreign("x", Effects::Everything);
        calm.mutates = false;
        assert_eq!(verdict(&calm, &plan), "deny");
        calm.read_only = true;
        assert_ne!(verdict(&calm, &plan), "deny");
        let mut liar = writing("/w/a");
        (liar.mutates, liar.read_only) = (false, true);
        assert_eq!(verdict(&liar, &plan), "deny");
        assert_eq!(verdict(&reading("/w/a"), &plan), "allow");
    }
}
