//! Asks before a call leaves the sandbox.

use super::{Guard, Restriction};
use crate::{Class, Confines, Policy, Subject};
use haft_core::{Touch, Why};

/// Promises that what leaves the sandbox is asked, whatever rule or grant allows it.
pub(super) struct Escalation;

impl Guard for Escalation {
    fn step(&self) -> &'static str {
        "guard:escalation"
    }

    fn check(&self, subject: &Subject, policy: &Policy) -> Option<Restriction> {
        let leaves = subject.effects.touches().contains(&Touch::Unconfined);
        (leaves && policy.confines != Confines::Nothing).then(|| {
            let why = Why::new(self.name(), format!("{} would run outside the sandbox", subject.tool));
            Restriction::Ask(Class::Escalation, vec![why])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Action::Allow,
        Mode,
        sample::{bash, policy, verdict},
    };
    use haft_core::Effects;

    #[test]
    fn no_rule_lets_a_call_out_and_without_a_sandbox_there_is_nothing_to_leave() {
        let mut subject = bash("make");
        let Effects::Only(touches) = &mut subject.effects else { unreachable!() };
        touches.push(Touch::Unconfined);
        let mut policy = policy(Mode::Default, &[(Allow, "bash")]);
        assert_eq!(verdict(&subject, &policy), "allow");
        for confines in [Confines::Partly, Confines::Wholly] {
            policy.confines = confines;
            assert_eq!(verdict(&subject, &policy), "ask");
            assert_eq!(verdict(&bash("make"), &policy), "allow");
        }
        policy.mode = Mode::Auto;
        assert_eq!(verdict(&subject, &policy), "ask");
    }
}
