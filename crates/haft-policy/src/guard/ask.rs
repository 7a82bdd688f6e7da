//! Asks for what an ask rule covers.

use super::{Guard, Restriction, unsure};
use crate::{Action, Class, Match, Policy, Subject};

/// Promises that what an ask rule covers, or may cover, is asked, also where another rule allows it.
pub(super) struct Ask;

impl Guard for Ask {
    fn step(&self) -> &'static str {
        "guard:ask"
    }

    fn check(&self, subject: &Subject, policy: &Policy) -> Option<Restriction> {
        let mut whys = Vec::new();
        let mut maybe = Vec::new();
        for rule in policy.rules_of(Action::Ask) {
            match rule.matches(subject) {
                Match::Yes => {
                    whys.push(rule.why(self.name(), format!("the rule \"{}\" asks for it", rule.text)));
                }
                Match::Maybe => maybe.push(rule),
                Match::No => {}
            }
        }
        whys.extend(unsure(self.name(), &maybe));
        (!whys.is_empty()).then_some(Restriction::Ask(Class::Rule, whys))
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Action::{Allow, Ask},
        Mode,
        sample::{bash, policy, verdict},
    };

    #[test]
    fn a_line_that_cannot_be_read_is_asked_where_a_rule_may_hold() {
        let rules = [(Allow, "bash"), (Ask, "bash(rm *)")];
        let cases =
            [("ls", "allow"), ("ls > f", "allow"), ("ls 'x", "ask"), ("rm x", "ask"), ("r$X y", "ask")];
        for (line, expected) in cases {
            assert_eq!(verdict(&bash(line), &policy(Mode::Yolo, &rules)), expected, "{line}");
        }
        assert_eq!(verdict(&bash("r$X y"), &policy(Mode::Full, &rules)), "allow");
    }
}
