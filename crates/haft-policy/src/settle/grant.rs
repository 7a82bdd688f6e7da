//! Saved answers.

use super::{Settlement, Settler, allow::allowed_by, line::covered};
use crate::{Policy, Rule, Subject};

/// Promises that a saved answer lets such a call run again, as long as the tool is the one it was given for.
pub(super) struct Grants;

impl Settler for Grants {
    fn step(&self) -> &'static str {
        "settler:grant"
    }

    fn settle(&self, subject: &Subject, policy: &Policy) -> Option<Settlement> {
        if let Some(grant) = policy.grant_for(subject) {
            let rule = &grant.rule;
            let reason = format!("\"{}\" was allowed before", rule.text);
            return Some(Settlement::Allow(rule.why(self.name(), reason)));
        }
        let own = policy.grants.iter().filter(|grant| grant.tool_hash == subject.tool_hash);
        let rules: Vec<&Rule> = own.map(|grant| &grant.rule).collect();
        allowed_by(self.name(), &covered(subject, policy, &rules)?)
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
