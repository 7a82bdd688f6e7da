//! Saved answers.

use super::{Settlement, Settler};
use crate::{Policy, Subject};

/// Promises that a saved answer lets such a call run again, as long as the tool is the one it was given for.
pub(super) struct Grants;

impl Settler for Grants {
    fn step(&self) -> &'static str {
        "settler:grant"
    }

    fn settle(&self, subject: &Subject, policy: &Policy) -> Option<Settlement> {
        let rule = &policy.grant_for(subject)?.rule;
        Some(Settlement::Allow(rule.why(self.name(), format!("\"{}\" was allowed before", rule.text))))
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Action::{Allow, Deny},
        Grant, Mode,
        sample::{bash, foreign, policy, rule, verdict},
    };
    use haft_core::Effects;

    #[test]
    fn a_grant_holds_for_one_definition_of_the_tool() {
        let mut subject = foreign("x", Effects::none());
        subject.tool_hash = Some("h1".into());
        let mut policy = policy(Mode::Default, &[]);
        policy.grants.push(Grant { rule: rule(Allow, "x"), tool_hash: Some("h1".into()) });
        assert_eq!(verdict(&subject, &policy), "allow");
        for other in [Some("h2".into()), None] {
            subject.tool_hash = other;
            assert_eq!(verdict(&subject, &policy), "ask");
        }
    }

    #[test]
    fn a_grant_never_beats_a_guard() {
        let mut policy = policy(Mode::Default, &[(Deny, "bash(rm *)")]);
        policy.grants.push(Grant { rule: rule(Allow, "bash"), tool_hash: None });
        assert_eq!(verdict(&bash("ls"), &policy), "allow");
        assert_eq!(verdict(&bash("rm x"), &policy), "deny");
    }
}
