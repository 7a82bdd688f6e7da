//! Asks before a call starts what goes on after the session.

use super::{Guard, Restriction};
use crate::{Class, Policy, Subject};
use haft_core::{Touch, Why};

/// Promises that what outlives its session is asked, whatever rule, grant or mode would let the call run.
pub(super) struct Outlives;

impl Guard for Outlives {
    fn step(&self) -> &'static str {
        "guard:outlives"
    }

    fn check(&self, subject: &Subject, _: &Policy) -> Option<Restriction> {
        subject.effects.touches().contains(&Touch::Outlives).then(|| {
            let reason = format!("what {} starts would go on after the session has ended", subject.tool);
            Restriction::Ask(Class::Escalation, vec![Why::new(self.name(), reason)])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Action::Allow,
        Confines, Grant, Mode,
        sample::{bash, policy, rule, verdict},
    };
    use haft_core::Effects;

    #[test]
    fn no_rule_no_grant_and_no_sandbox_lets_it_run_unasked() {
        let mut subject = bash("make");
        let Effects::Only(touches) = &mut subject.effects else { unreachable!() };
        touches.push(Touch::Outlives);
        for mode in [Mode::Default, Mode::Auto, Mode::Yolo] {
            let mut policy = policy(mode, &[(Allow, "bash")]);
            policy.grants.push(Grant { rule: rule(Allow, "bash"), tool_hash: None });
            policy.confines = Confines::Wholly;
            assert_eq!(verdict(&subject, &policy), "ask", "{mode}");
        }
        assert_eq!(verdict(&subject, &policy(Mode::Full, &[])), "allow");
        assert_eq!(verdict(&subject, &policy(Mode::Plan, &[])), "deny");
    }
}
