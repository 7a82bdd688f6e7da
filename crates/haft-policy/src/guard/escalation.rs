//! Asks before a call leaves the sandbox.

use super::{Guard, Restriction};
use crate::{Class, Confines, Policy, Subject};
use haft_core::{Profile, Touch, Why};

/// Promises that what leaves the sandbox is asked, whatever rule or grant allows it.
pub(super) struct Escalation;

impl Guard for Escalation {
    fn step(&self) -> &'static str {
        "guard:escalation"
    }

    fn check(&self, subject: &Subject, policy: &Policy) -> Option<Restriction> {
        let asks = subject.spec.profile.as_ref().is_some_and(Profile::asks_to_leave);
        let leaves = asks || subject.effects.touches().contains(&Touch::Unconfined);
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
        sample::{bash, foreign, policy, verdict},
    };
    use haft_core::Effects;
    use std::sync::Arc;

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

    #[test]
    fn a_tool_that_wants_out_is_asked_each_time_unless_the_user_let_it_out() {
        let tool = |profile: Profile| {
            let mut subject = foreign("x", Effects::Everything);
            subject.spec = Arc::new((*subject.spec).clone().with_profile(profile));
            subject
        };
        let mut policy = policy(Mode::Default, &[(Allow, "x")]);
        let wants_out = Profile { off: true, ..Profile::default() };
        assert_eq!(verdict(&tool(wants_out.clone()), &policy), "allow", "there is nothing to leave");
        policy.confines = Confines::Wholly;
        assert_eq!(verdict(&tool(wants_out), &policy), "ask");
        assert_eq!(verdict(&tool(Profile::outside()), &policy), "allow");
        assert_eq!(verdict(&tool(Profile::default()), &policy), "allow");
    }
}
