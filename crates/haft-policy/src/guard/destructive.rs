//! Asks for what can't be put right again.

use super::{Guard, Restriction};
use crate::{Class, Policy, Subject};
use haft_core::{Risk, Why};

/// Promises that a destructive call is asked in every mode but `full`, whatever rule or grant allows it.
pub(super) struct Destructive;

impl Guard for Destructive {
    fn step(&self) -> &'static str {
        "guard:destructive"
    }

    fn check(&self, subject: &Subject, _: &Policy) -> Option<Restriction> {
        (subject.risk == Risk::Destructive).then(|| {
            let reason = format!("{} may do harm that can't be put right again", subject.tool);
            Restriction::Ask(Class::Destructive, vec![Why::new(self.name(), reason)])
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Action::Allow,
        Mode,
        sample::{policy, verdict, writing},
    };
    use haft_core::Risk;

    #[test]
    fn no_allow_rule_beats_it() {
        let mut subject = writing("/w/a");
        subject.risk = Risk::Destructive;
        assert_eq!(verdict(&subject, &policy(Mode::Yolo, &[(Allow, "edit")])), "ask");
        assert_eq!(verdict(&subject, &policy(Mode::Full, &[])), "allow");
    }
}
