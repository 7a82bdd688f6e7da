//! Refuses what nobody may approve.

use super::{Guard, Restriction};
use crate::{
    Policy, Subject,
    command::{hard_denied, hard_denied_paths},
};
use haft_core::Why;

/// Promises that what destroys a machine, or takes haft's own guards away, never runs: in no mode, by no rule,
/// nested or not.
pub(super) struct HardDeny;

impl Guard for HardDeny {
    fn step(&self) -> &'static str {
        "guard:hard-deny"
    }

    fn check(&self, subject: &Subject, policy: &Policy) -> Option<Restriction> {
        let lines = subject.command_lines();
        let found = hard_denied_paths(subject, policy)
            .or_else(|| lines.iter().find_map(|line| hard_denied(line, policy)))?;
        let reason = format!("{found}; this is never allowed, whoever approves it");
        Some(Restriction::Deny(Why::new(self.name(), reason)))
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Action::Allow,
        Mode,
        sample::{bash, policy, verdict},
    };

    #[test]
    fn no_mode_and_no_rule_lets_it_run() {
        for mode in Mode::ALL {
            for line in ["rm -rf /", "rm -r -f \"/\"", "/bin/rm -rf $HOME", "cd / && rm -rf *"] {
                assert_eq!(verdict(&bash(line), &policy(mode, &[(Allow, "bash")])), "deny", "{mode} {line}");
            }
        }
        assert_eq!(verdict(&bash("rm -rf target"), &policy(Mode::Full, &[])), "allow");
    }
}
