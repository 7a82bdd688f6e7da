//! Asks for what can't be put right again.

use super::{Guard, Restriction};
use crate::{Class, Policy, Subject, command::destructive};
use haft_core::{Risk, Why};

/// Promises that a destructive call is asked in every mode but `full`, whatever rule or grant allows it.
pub(super) struct Destructive;

impl Guard for Destructive {
    fn step(&self) -> &'static str {
        "guard:destructive"
    }

    fn check(&self, subject: &Subject, _: &Policy) -> Option<Restriction> {
        let mut whys = Vec::new();
        if subject.risk == Risk::Destructive {
            whys.push(format!("{} may do harm that can't be put right again", subject.tool));
        }
        for line in &subject.command_lines() {
            whys.extend(line.line.commands.iter().filter_map(destructive));
        }
        whys.dedup();
        let whys: Vec<Why> = whys.into_iter().map(|reason| Why::new(self.name(), reason)).collect();
        (!whys.is_empty()).then_some(Restriction::Ask(Class::Destructive, whys))
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
