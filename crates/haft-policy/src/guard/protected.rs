//! Asks for paths that can do harm by what they are: those that run code once changed, those that hold secrets.

use super::{Guard, Restriction, named};
use crate::{
    Access, Class, Policy, Subject,
    places::{is_protected, is_sensitive, may_hold_protected},
    subject::PathUse,
};
use haft_core::Why;

/// Promises that a write to a protected path and a read of a sensitive one are asked, whatever allows them, by
/// whichever of its names the path is reached.
pub(super) struct Protected;

impl Guard for Protected {
    fn step(&self) -> &'static str {
        "guard:protected"
    }

    fn check(&self, subject: &Subject, _: &Policy) -> Option<Restriction> {
        let mut whys = Vec::new();
        let uses = subject.path_uses();
        let written = uses.iter().filter(|used| used.access >= Access::Write || used.access == Access::Named);
        let read = uses.iter().filter(|used| used.access != Access::Write);
        let is_reading_line = subject.read_only;
        if !is_reading_line {
            let written: Vec<&PathUse> = written.collect();
            let trees = written.iter().copied().filter(|used| used.access >= Access::Write);
            let found =
                covered(trees, may_hold_protected).or_else(|| covered(written.into_iter(), is_protected));
            whys.extend(found.map(|paths| {
                let reason = format!("{paths} can make programs run something, or change who may do what");
                Why::new(self.name(), reason)
            }));
        }
        whys.extend(covered(read, is_sensitive).map(|paths| {
            Why::new(self.name(), format!("{paths} may hold secrets, such as keys, tokens or passwords"))
        }));
        (!whys.is_empty()).then_some(Restriction::Ask(Class::Protected, whys))
    }
}

/// The paths that the list covers by any of their names.
fn covered<'a>(uses: impl Iterator<Item = &'a PathUse>, covers: fn(&str) -> bool) -> Option<String> {
    let mut paths: Vec<String> = Vec::new();
    for used in uses {
        let is_meant = used.names.iter().any(|name| covers(name));
        if let Some(first) = used.names.first().filter(|first| is_meant && !paths.contains(first)) {
            paths.push(first.clone());
        }
    }
    (!paths.is_empty()).then(|| named(&paths))
}

#[cfg(test)]
mod tests {
    use crate::{
        Action::Allow,
        JudgedPath, Mode,
        sample::{bash, policy, reading, verdict, writing},
    };

    #[test]
    fn writes_to_protected_and_reads_of_sensitive_paths_ask() {
        let rules = [(Allow, "edit"), (Allow, "read"), (Allow, "bash")];
        let cases = [
            (writing("/w/.git/hooks/pre-commit"), "ask"),
            (writing("/w/.haft/config.toml"), "ask"),
            (writing("/w/src/a.rs"), "allow"),
            (reading("/w/.git/config"), "allow"),
            (reading("/w/.env"), "ask"),
            (reading("/w/.env.example"), "allow"),
            (bash("cat .env"), "ask"),
            (bash("cat < .env"), "ask"),
            (bash("cp a .git/hooks/pre-commit"), "ask"),
            (bash("echo x > .git/hooks/pre-commit"), "ask"),
            (bash("ls .git/hooks"), "allow"),
            (bash("mytool --file=.env"), "ask"),
        ];
        for (subject, expected) in cases {
            assert_eq!(verdict(&subject, &policy(Mode::Yolo, &rules)), expected, "{:?}", subject.input);
        }
    }

    #[test]
    fn either_name_of_a_link_counts() {
        let mut subject = reading("/w/plain");
        let real = subject.paths[0].real.clone();
        subject.paths = vec![JudgedPath { written: "/w/.env".to_owned(), real }];
        assert_eq!(verdict(&subject, &policy(Mode::Default, &[])), "ask");
    }
}
