//! What the tool declares.

use super::{Settlement, Settler};
use crate::{Policy, Subject};
use haft_core::{Permission, Why};

/// Promises that what nobody else settles goes by the tool's own `permission`.
pub(super) struct ByTool;

impl Settler for ByTool {
    fn name(&self) -> &'static str {
        "default"
    }

    fn settle(&self, subject: &Subject, _: &Policy) -> Option<Settlement> {
        let tool = &subject.tool;
        Some(match subject.permission {
            Permission::Auto => Settlement::Allow(Why::new(
                self.name(),
                format!("{tool} declares that it runs without a question"),
            )),
            Permission::Confirm | Permission::Deny => {
                Settlement::Ask(Why::new(self.name(), format!("{tool} declares that it asks first")))
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Mode,
        sample::{bash, policy, reading, verdict},
    };

    #[test]
    fn the_declaration_decides_last() {
        assert_eq!(verdict(&reading("/w/a"), &policy(Mode::Default, &[])), "allow");
        assert_eq!(verdict(&bash("ls"), &policy(Mode::Default, &[])), "ask");
    }
}
