//! What the approval mode settles.

use super::{Settlement, Settler, line::is_harmless};
use crate::{Action, Confines, Match, Mode, Policy, Rule, RuleOrigin, Subject};
use haft_core::{Touch, Why};

/// Promises what the table of modes says, and leaves to the tool's declaration what the mode doesn't settle.
pub(super) struct ByMode;

impl Settler for ByMode {
    fn step(&self) -> &'static str {
        "settler:mode"
    }

    fn settle(&self, subject: &Subject, policy: &Policy) -> Option<Settlement> {
        let why = |reason: &str| Why::new(self.name(), format!("{} mode {reason}", policy.mode));
        match policy.mode {
            Mode::Ask if !subject.read_only => {
                Some(Settlement::Ask(why("asks for everything that isn't read-only")))
            }
            Mode::AcceptEdits if edits_inside(subject, policy) => {
                Some(Settlement::Allow(why("lets writes inside the workspace run")))
            }
            Mode::Auto if is_dangerous(subject, policy) => {
                Some(Settlement::Ask(why("asks for the dangerous list")))
            }
            Mode::Auto | Mode::Yolo | Mode::Full => Some(Settlement::Allow(why("lets it run"))),
            Mode::Plan | Mode::Ask | Mode::Default | Mode::AcceptEdits | Mode::Headless => None,
        }
    }
}

/// It writes, all its writes are in the workspace, and it does nothing but read and write.
fn edits_inside(subject: &Subject, policy: &Policy) -> bool {
    if !subject.lines.is_empty() {
        let workspace = [policy.workspace.absolute()];
        return subject.lines.iter().all(|line| is_harmless(line, &workspace).is_ok());
    }
    let touches = subject.effects.touches();
    touches.iter().any(Touch::writes)
        && touches.iter().all(|touch| match touch {
            Touch::Read(path) | Touch::ReadTree(path) => policy.is_inside(path),
            Touch::Write(path) | Touch::WriteTree(path) => policy.workspace.covers(path),
            Touch::Host(_)
            | Touch::Command(_)
            | Touch::Server(_)
            | Touch::Session(_)
            | Touch::Unconfined
            | Touch::Outlives => false,
        })
}

/// An entry of the list that doesn't parse makes everything dangerous until it is put right.
fn is_dangerous(subject: &Subject, policy: &Policy) -> bool {
    if policy.dangerous.is_empty() {
        let is_own_change = subject.is_core() && subject.mutates;
        let is_listed = is_own_change || !(subject.read_only || subject.risk_declared);
        return is_listed && !is_confined(subject, policy);
    }
    let workspace = policy.workspace.absolute();
    let at = RuleOrigin { folder: workspace.clone(), workspace, ..RuleOrigin::default() };
    policy.dangerous.iter().any(|text| match Rule::parse(Action::Ask, text, &at) {
        Ok(rule) => rule.matches(subject) != Match::No,
        Err(_) => true,
    })
}

/// All it does is to run commands in a sandbox that holds.
fn is_confined(subject: &Subject, policy: &Policy) -> bool {
    let touches = subject.effects.touches();
    policy.confines == Confines::Wholly
        && subject.spec.confined
        && touches.iter().any(|touch| matches!(touch, Touch::Command(_)))
        && touches.iter().all(|touch| {
            matches!(touch, Touch::Command(_) | Touch::Session(_) | Touch::Read(_) | Touch::ReadTree(_))
        })
}

#[cfg(test)]
mod tests {
    use crate::{
        Mode,
        sample::{bash, policy, subject, verdict, writing},
    };
    use haft_core::{Effects, RealPath, Touch};

    #[test]
    fn accept_edits_lets_only_writes_inside_run() {
        let policy = policy(Mode::AcceptEdits, &[]);
        let write = || Touch::Write(RealPath::new("/w", "a"));
        let cases = [
            (vec![write()], "allow"),
            (vec![write(), Touch::Read(RealPath::new("/w", "b"))], "allow"),
            (vec![write(), Touch::Host("h".into())], "ask"),
            (vec![write(), Touch::Command("ls".into())], "ask"),
            (vec![write(), Touch::Read(RealPath::new("/", "o"))], "ask"),
            (vec![], "ask"),
        ];
        for (touches, expected) in cases {
            assert_eq!(
                verdict(&subject("edit", Effects::Only(touches.clone())), &policy),
                expected,
                "{touches:?}"
            );
        }
        assert_eq!(verdict(&subject("edit", Effects::Everything), &policy), "ask");
    }

    #[test]
    fn the_dangerous_list_can_be_replaced() {
        let mut policy = policy(Mode::Auto, &[]);
        assert_eq!(verdict(&writing("/w/a"), &policy), "ask");
        policy.dangerous = vec!["bash(git push *)".to_owned()];
        assert_eq!(verdict(&writing("/w/a"), &policy), "allow");
        assert_eq!(verdict(&bash("git push origin"), &policy), "ask");
        assert_eq!(verdict(&bash("git status"), &policy), "allow");
        policy.dangerous.push("bash(".to_owned());
        assert_eq!(verdict(&writing("/w/a"), &policy), "ask");
    }
}
