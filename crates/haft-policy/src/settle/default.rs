//! What the tool declares.

use super::{Settlement, Settler};
use crate::{Policy, Subject};
use haft_core::{Effects, Permission, Why};

/// Promises that what nobody else settles goes by the tool's own `permission`, and that a tool which doesn't
/// state what it touches is asked as a whole where rules guard paths: they can't match it.
pub(super) struct ByTool;

impl Settler for ByTool {
    fn step(&self) -> &'static str {
        "settler:default"
    }

    fn settle(&self, subject: &Subject, policy: &Policy) -> Option<Settlement> {
        let tool = &subject.tool;
        if subject.permission == Permission::Auto
            && subject.effects == Effects::Everything
            && let Some(rule) = policy.rules.iter().find(|rule| rule.guards_paths())
        {
            let reason = format!(
                "{tool} doesn't state what it touches, so the rule \"{}\" can't be matched against it",
                rule.text
            );
            return Some(Settlement::Ask(rule.why(self.name(), reason)));
        }
        Some(match subject.permission {
            Permission::Auto if !subject.lines.is_empty() => {
                Settlement::Allow(Why::new(self.name(), "each of its commands only reads".to_owned()))
            }
            Permission::Auto => Settlement::Allow(Why::new(
                self.name(),
                format!("{tool} declares that it runs without a question"),
            )),
            Permission::Confirm | Permission::Deny => {
                let reason = match &subject.asked_by {
                    Some(by) => format!("{by} has {tool} ask first"),
                    None => format!("{tool} declares that it asks first"),
                };
                Settlement::Ask(Why::new(self.name(), reason))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Action::Deny,
        Mode, Verdict, judge,
        sample::{bash, policy, reading, verdict},
    };
    use haft_core::{Effects, Permission};
    use std::sync::Arc;

    #[test]
    fn a_tool_that_states_nothing_is_asked_as_a_whole_where_paths_are_guarded() {
        let mut unstated = reading("/w/a");
        unstated.effects = Effects::Everything;
        assert_eq!(verdict(&unstated, &policy(Mode::Default, &[])), "allow");
        assert_eq!(verdict(&unstated, &policy(Mode::Default, &[(Deny, "read(secret/**)")])), "ask");
    }

    #[test]
    fn who_has_a_tool_ask_is_named() {
        let mut subject = reading("/w/a");
        (subject.permission, subject.asked_by) = (Permission::Confirm, Some("extension:guard".into()));
        let policy = policy(Mode::Default, &[]);
        let Verdict::Ask(whys) = judge(&subject, &[Arc::new(policy)]).verdict else { panic!("it asks") };
        assert_eq!(whys[0].reason, "extension:guard has read ask first");
    }

    #[test]
    fn the_declaration_decides_last() {
        assert_eq!(verdict(&reading("/w/a"), &policy(Mode::Default, &[])), "allow");
        assert_eq!(verdict(&bash("make"), &policy(Mode::Default, &[])), "ask");
    }
}
