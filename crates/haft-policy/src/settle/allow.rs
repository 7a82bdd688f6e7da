//! Allow rules.

use super::{Settlement, Settler, line::covered};
use crate::{Action, Match, Policy, Rule, Subject};

/// Promises that what an allow rule covers whole runs without a question.
pub(super) struct Allow;

impl Settler for Allow {
    fn step(&self) -> &'static str {
        "settler:allow"
    }

    fn settle(&self, subject: &Subject, policy: &Policy) -> Option<Settlement> {
        let whole = policy.rules_of(Action::Allow).find(|rule| rule.matches(subject) == Match::Yes);
        if let Some(rule) = whole {
            return Some(Settlement::Allow(
                rule.why(self.name(), format!("the rule \"{}\" allows it", rule.text)),
            ));
        }
        // Of a line each command may have a rule of its own, or have been allowed before.
        let grants = policy.grants.iter().filter(|grant| grant.tool_hash == subject.tool_hash);
        let rules: Vec<&Rule> =
            policy.rules_of(Action::Allow).chain(grants.map(|grant| &grant.rule)).collect();
        allowed_by(self.name(), &covered(subject, policy, &rules)?)
    }
}

/// The word for a line of which these rules allow each command.
pub(super) fn allowed_by(gate: &'static str, rules: &[&Rule]) -> Option<Settlement> {
    let first = rules.first()?;
    let mut texts: Vec<String> = rules.iter().map(|rule| format!("\"{}\"", rule.text)).collect();
    texts.dedup();
    let reason = format!("each of its commands is allowed, by {}", texts.join(", "));
    Some(Settlement::Allow(first.why(gate, reason)))
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
