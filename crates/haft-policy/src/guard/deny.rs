//! Refuses what a deny rule covers.

use super::{Guard, Restriction, unsure};
use crate::{Action, Class, Match, Policy, Subject};

/// Promises that what a deny rule surely covers never runs, and that what it may cover is asked. A rule that
/// doesn't parse denies its tool.
pub(super) struct Deny;

impl Guard for Deny {
    fn step(&self) -> &'static str {
        "guard:deny"
    }

    fn check(&self, subject: &Subject, policy: &Policy) -> Option<Restriction> {
        let mut maybe = Vec::new();
        for rule in policy.rules_of(Action::Deny) {
            match rule.matches(subject) {
                Match::Yes => {
                    let reason = match rule.problem() {
                        None => format!("the rule \"{}\" denies it", rule.text),
                        Some(problem) => {
                            let text = &rule.text;
                            format!(
                                "the rule \"{text}\" doesn't parse and denies its tool until it does ({problem})"
                            )
                        }
                    };
                    return Some(Restriction::Deny(rule.why(self.name(), reason)));
                }
                Match::Maybe => maybe.push(rule),
                Match::No => {}
            }
        }
        unsure(self.name(), &maybe).map(|why| Restriction::Ask(Class::Rule, vec![why]))
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Action::Deny,
        Mode, Rule,
        sample::{at, bash, policy, reading, verdict},
    };

    #[test]
    fn a_broken_rule_denies_visibly() {
        let mut policy = policy(Mode::Full, &[]);
        let error = Rule::parse(Deny, "bash(rm *", &at()).unwrap_err();
        policy.rules.push(Rule::broken(Deny, "bash(rm *", &at(), &error));
        assert_eq!(verdict(&bash("ls"), &policy), "deny");
        assert_eq!(verdict(&reading("/w/a"), &policy), "allow");
        let judged = crate::judge(&bash("ls"), &[policy.into()]);
        let why = judged.verdict.why().unwrap();
        assert!(
            why.reason.contains("doesn't parse") && why.reason.contains("closing parenthesis"),
            "{}",
            why.reason
        );
        assert_eq!(why.source.as_deref(), Some("/conf/rules:1"));
    }

    #[test]
    fn what_may_be_denied_is_asked() {
        let rules = [(Deny, "bash(rm *)"), (Deny, "bash(dd *)")];
        let judged = crate::judge(&bash("f() { ls; }; f"), &[policy(Mode::Yolo, &rules).into()]);
        assert_eq!(judged.verdict.name(), "ask");
        let reason = &judged.verdict.why().unwrap().reason;
        assert!(reason.contains("\"bash(rm *)\", \"bash(dd *)\""), "{reason}");
    }
}
