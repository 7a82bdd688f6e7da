//! Asks for paths outside the workspace.

use super::{Guard, Restriction, named};
use crate::{Access, Class, Policy, Subject};
use haft_core::Why;

/// Promises that a stated path whose target lies neither in the workspace nor in another root is asked.
pub(super) struct Outside;

impl Guard for Outside {
    fn step(&self) -> &'static str {
        "guard:outside"
    }

    fn check(&self, subject: &Subject, policy: &Policy) -> Option<Restriction> {
        let uses = subject.path_uses();
        let mut outside: Vec<String> = Vec::new();
        for path in uses.iter().filter_map(|used| used.real.as_ref()) {
            let shown = path.absolute();
            if !policy.is_inside(path) && !outside.contains(&shown) {
                outside.push(shown);
            }
        }
        let mut whys = Vec::new();
        if !outside.is_empty() {
            let reason = format!("{} is outside the workspace", named(&outside));
            whys.push(Why::new(self.name(), reason));
        }
        let unknown = subject
            .lines
            .iter()
            .flat_map(|line| &line.paths)
            .find(|named| named.path.is_none() && named.word.access != Access::Named);
        if let Some(named) = unknown {
            let text = &named.word.text;
            let what = if text.is_empty() {
                "paths that it is given while it runs".to_owned()
            } else {
                format!("\"{text}\"")
            };
            let reason = format!("it can't be told where {what} leads, so it may be outside the workspace");
            whys.push(Why::new(self.name(), reason));
        }
        (!whys.is_empty()).then_some(Restriction::Ask(Class::Outside, whys))
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
