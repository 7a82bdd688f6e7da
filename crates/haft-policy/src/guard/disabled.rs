//! Refuses tools that are switched off.

use super::{Guard, Restriction};
use crate::{Policy, Subject, narrow::missing};
use haft_core::{Permission, Why};

/// Promises that a tool which is disabled, declares `deny`, or isn't among the enabled ones never runs.
pub(super) struct Disabled;

impl Guard for Disabled {
    fn step(&self) -> &'static str {
        "guard:disabled"
    }

    fn check(&self, subject: &Subject, policy: &Policy) -> Option<Restriction> {
        let tool = &subject.tool;
        let reason = if !subject.spec.enabled {
            format!("the tool {tool} is disabled; enable it first")
        } else if subject.permission == Permission::Deny || subject.spec.permission() == Permission::Deny {
            match &subject.asked_by {
                Some(by) => format!("{by} denies the tool {tool}; no rule can allow it"),
                None => format!("the tool {tool} declares the permission deny; no rule can allow it"),
            }
        } else if !policy.enables(&subject.spec, tool) {
            format!("the tool {tool} isn't among the tools enabled for this session")
        } else if let Some(capability) =
            policy.capabilities.as_ref().and_then(|granted| missing(&subject.spec, granted))
        {
            format!("the tool {tool} has the capability {capability}, which this session wasn't granted")
        } else {
            return None;
        };
        Some(Restriction::Deny(Why::new(self.name(), reason)))
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Mode,
        sample::{bash, policy, reading, verdict},
    };

    #[test]
    fn only_enabled_tools_run() {
        let mut policy = policy(Mode::Full, &[]);
        policy.enabled_tools = Some(vec!["re*".to_owned()]);
        assert_eq!(verdict(&reading("/w/a"), &policy), "allow");
        assert_eq!(verdict(&bash("ls"), &policy), "deny");
        policy.enabled_tools = Some(Vec::new());
        assert_eq!(verdict(&reading("/w/a"), &policy), "deny");
    }
}
