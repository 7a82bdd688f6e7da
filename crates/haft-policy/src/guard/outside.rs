//! Asks for paths outside the workspace.

use super::{Guard, Restriction};
use crate::{Class, Policy, Subject};
use haft_core::{RealPath, Touch, Why};

/// How many paths a question names.
const NAMED_MAX: usize = 3;

/// Promises that a stated path whose target lies neither in the workspace nor in another root is asked.
pub(super) struct Outside;

impl Guard for Outside {
    fn step(&self) -> &'static str {
        "guard:outside"
    }

    fn check(&self, subject: &Subject, policy: &Policy) -> Option<Restriction> {
        let paths = subject.effects.touches().iter().filter_map(Touch::path);
        let mut outside: Vec<String> =
            paths.filter(|path| !policy.is_inside(path)).map(RealPath::absolute).collect();
        outside.dedup();
        if outside.is_empty() {
            return None;
        }
        let left_out = outside.len().saturating_sub(NAMED_MAX);
        outside.truncate(NAMED_MAX);
        let more = if left_out > 0 { format!(" and {left_out} more") } else { String::new() };
        let reason = format!("{}{more} is outside the workspace", outside.join(", "));
        Some(Restriction::Ask(Class::Outside, vec![Why::new(self.name(), reason)]))
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        JudgedPath, Mode,
        sample::{policy, reading, verdict},
    };

    #[test]
    fn a_link_that_leads_out_is_outside() {
        let mut subject = reading("/o/a");
        let real = subject.paths[0].real.clone();
        subject.paths = vec![JudgedPath { written: "/w/link".to_owned(), real }];
        assert_eq!(verdict(&subject, &policy(Mode::Default, &[])), "ask");
        let mut wider = policy(Mode::Default, &[]);
        wider.roots.push("/o".to_owned());
        assert_eq!(verdict(&subject, &wider), "allow");
    }
}
