//! Allow rules.

use super::{Settlement, Settler};
use crate::{Action, Match, Policy, Subject};

/// Promises that what an allow rule covers whole runs without a question.
pub(super) struct Allow;

impl Settler for Allow {
    fn step(&self) -> &'static str {
        "settler:allow"
    }

    fn settle(&self, subject: &Subject, policy: &Policy) -> Option<Settlement> {
        let rule = policy.rules_of(Action::Allow).find(|rule| rule.matches(subject) == Match::Yes)?;
        Some(Settlement::Allow(rule.why(self.name(), format!("the rule \"{}\" allows it", rule.text))))
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Action, Mode,
        sample::{bash, policy, verdict},
    };

    #[test]
    fn a_line_that_is_not_plain_is_never_allowed_by_a_command() {
        let allow = |text: &str, line: &str| {
            verdict(&bash(line), &policy(Mode::Default, &[(Action::Allow, text)])).to_owned()
        };
        assert_eq!(allow("bash(*)", "ls -la"), "allow");
        assert_eq!(allow("bash(*)", "ls > f"), "ask");
        assert_eq!(allow("bash", "ls > f"), "allow");
    }
}
