//! The tool's own, stricter word.

use super::{Guard, Restriction};
use crate::{Class, Policy, Subject};
use haft_core::OwnCheck;

/// Promises that a tool which asks or refuses one of its inputs is obeyed, whatever rule allows it. Only a grant
/// bound to the hash of just this tool answers its question: it was given to that very question.
pub(super) struct Own;

impl Guard for Own {
    fn step(&self) -> &'static str {
        "guard:own"
    }

    fn check(&self, subject: &Subject, policy: &Policy) -> Option<Restriction> {
        match subject.own.as_ref()? {
            OwnCheck::Ask(_) if subject.tool_hash.is_some() && policy.grant_for(subject).is_some() => None,
            OwnCheck::Ask(why) => Some(Restriction::Ask(Class::Tool, vec![why.clone()])),
            OwnCheck::Deny(why) => Some(Restriction::Deny(why.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Action::Allow,
        Grant, Mode, Rule,
        sample::{at, foreign, policy, reading, verdict},
    };
    use haft_core::{OwnCheck, Why};

    #[test]
    fn only_a_grant_for_this_very_tool_answers_its_question() {
        let mut subject = foreign("x", haft_core::Effects::Everything);
        subject.tool_hash = Some("h1".into());
        subject.own = Some(OwnCheck::Ask(Why::new("tool", "not trusted")));
        let mut policy = policy(Mode::Default, &[(Allow, "x")]);
        assert_eq!(verdict(&subject, &policy), "ask");
        let rule = Rule::parse(Allow, "x", &at()).unwrap();
        policy.grants.push(Grant { rule, tool_hash: Some("h1".into()) });
        assert_eq!(verdict(&subject, &policy), "allow");
        subject.tool_hash = Some("h2".into());
        assert_eq!(verdict(&subject, &policy), "ask");
        subject.tool_hash = None;
        assert_eq!(verdict(&subject, &policy), "ask");
    }

    #[test]
    fn a_tool_can_be_stricter_than_the_rules() {
        let mut subject = reading("/w/a");
        subject.own = Some(OwnCheck::Ask(Why::new("read", "large")));
        assert_eq!(verdict(&subject, &policy(Mode::Yolo, &[(Allow, "read")])), "ask");
        subject.own = Some(OwnCheck::Deny(Why::new("read", "device")));
        assert_eq!(verdict(&subject, &policy(Mode::Full, &[(Allow, "read")])), "deny");
    }
}
