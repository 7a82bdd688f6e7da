//! Asks for tools that the user hasn't let run yet, and for those that changed since.

use super::{Guard, Restriction};
use crate::{Class, Confines, Pin, Policy, Subject};
use haft_core::{Profile, Why};

/// Promises that a tool which isn't built in asks before its first use, and again when its definition or what runs
/// has changed; in an untrusted workspace in every mode. A grant given to this very definition is an answer.
pub(super) struct FirstUse;

impl Guard for FirstUse {
    fn step(&self) -> &'static str {
        "guard:first-use"
    }

    fn check(&self, subject: &Subject, policy: &Policy) -> Option<Restriction> {
        let asks = asks(subject, policy);
        let reason = match &subject.pin {
            Pin::Known => return None,
            _ if subject.tool_hash.is_some() && policy.grant_for(subject).is_some() => return None,
            Pin::New => format!("{} was never used in this workspace{asks}", subject.tool),
            Pin::Changed(what) => {
                format!("{} isn't what it was when it was last let run{asks}: {what}", subject.tool)
            }
        };
        let class = if policy.trusted { Class::FirstUse } else { Class::Untrusted };
        Some(Restriction::Ask(class, vec![Why::new(self.name(), reason)]))
    }
}

/// What it wants beyond what the sandbox of such a tool allows, where there is a sandbox.
fn asks(subject: &Subject, policy: &Policy) -> String {
    let profile = subject.spec.profile.as_ref().filter(|_| policy.confines != Confines::Nothing);
    let asks = profile.and_then(Profile::asks);
    asks.map_or_else(String::new, |asks| format!("; beyond its sandbox it asks {asks}"))
}

#[cfg(test)]
mod tests {
    use crate::{
        Action::Allow,
        Confines, Grant, Mode, Pin, Subject, judge,
        sample::{foreign, policy, rule, verdict},
    };
    use haft_core::{Effects, Profile, Reach};
    use std::sync::Arc;

    fn tool(pin: Pin) -> Subject {
        Subject { tool_hash: Some("h1".into()), pin, ..foreign("x", Effects::none()) }
    }

    #[test]
    fn the_first_use_and_a_changed_tool_ask() {
        let allowing = policy(Mode::Default, &[(Allow, "x")]);
        assert_eq!(verdict(&tool(Pin::Known), &allowing), "allow");
        assert_eq!(verdict(&tool(Pin::New), &allowing), "ask");
        assert_eq!(verdict(&tool(Pin::Changed("the command".to_owned())), &allowing), "ask");
    }

    #[test]
    fn yolo_silences_it_in_a_trusted_workspace_and_nothing_in_another() {
        for mode in [Mode::Yolo, Mode::Full] {
            let mut policy = policy(mode, &[]);
            assert_eq!(verdict(&tool(Pin::New), &policy), "allow");
            policy.trusted = false;
            assert_eq!(verdict(&tool(Pin::New), &policy), "ask");
        }
    }

    #[test]
    fn a_grant_for_this_very_definition_answers() {
        let mut policy = policy(Mode::Default, &[]);
        policy.grants.push(Grant { rule: rule(Allow, "x"), tool_hash: Some("h1".into()) });
        assert_eq!(verdict(&tool(Pin::New), &policy), "allow");
        policy.grants[0].tool_hash = Some("h2".into());
        assert_eq!(verdict(&tool(Pin::New), &policy), "ask");
    }

    #[test]
    fn what_its_sandbox_is_to_allow_is_part_of_the_question() {
        let mut subject = tool(Pin::New);
        let network = Some(Reach::Hosts(vec!["api.example".to_owned()]));
        let profile = Profile { network, ..Profile::default() };
        subject.spec = Arc::new((*subject.spec).clone().with_profile(profile));
        let mut policy = policy(Mode::Default, &[]);
        let reason = |policy: &crate::Policy| {
            let judgement = judge(&subject, &[Arc::new(policy.clone())]);
            judgement.trace.iter().filter_map(|step| step.reason.clone()).collect::<Vec<_>>().join("\n")
        };
        assert!(!reason(&policy).contains("api.example"));
        policy.confines = Confines::Wholly;
        assert!(
            reason(&policy).contains("beyond its sandbox it asks to reach api.example"),
            "{}",
            reason(&policy)
        );
    }
}
