//! The tool's own, stricter word.

use super::{Guard, Restriction};
use crate::{Class, Policy, Subject};
use haft_core::OwnCheck;

/// Promises that a tool which asks or refuses one of its inputs is obeyed, whatever rule allows it.
pub(super) struct Own;

impl Guard for Own {
    fn step(&self) -> &'static str {
        "guard:own"
    }

    fn check(&self, subject: &Subject, _: &Policy) -> Option<Restriction> {
        subject.own.as_ref().map(|own| match own {
            OwnCheck::Ask(why) => Restriction::Ask(Class::Tool, vec![why.clone()]),
            OwnCheck::Deny(why) => Restriction::Deny(why.clone()),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Action::Allow,
        Mode,
        sample::{policy, reading, verdict},
    };
    use haft_core::{OwnCheck, Why};

    #[test]
    fn a_tool_can_be_stricter_than_the_rules() {
        let mut subject = reading("/w/a");
        subject.own = Some(OwnCheck::Ask(Why::new("read", "large")));
        assert_eq!(verdict(&subject, &policy(Mode::Yolo, &[(Allow, "read")])), "ask");
        subject.own = Some(OwnCheck::Deny(Why::new("read", "device")));
        assert_eq!(verdict(&subject, &policy(Mode::Full, &[(Allow, "read")])), "deny");
    }
}
