//! What hooks restrict.

use super::{Guard, Restriction};
use crate::{Action, Class, Policy, Subject};
use haft_core::Why;

/// Promises that a hook which refuses is obeyed in every mode, and one that asks wherever asks of hooks aren't
/// silenced; of several the strictest holds, whatever order they ended in.
pub(super) struct Hook;

impl Guard for Hook {
    fn step(&self) -> &'static str {
        "guard:hook"
    }

    fn check(&self, subject: &Subject, _: &Policy) -> Option<Restriction> {
        let said = |action| subject.hooks.iter().filter(move |word| word.action == action);
        if let Some(denial) = said(Action::Deny).next() {
            return Some(Restriction::Deny(denial.why.clone()));
        }
        let asks: Vec<Why> = said(Action::Ask).map(|word| word.why.clone()).collect();
        (!asks.is_empty()).then_some(Restriction::Ask(Class::Hook, asks))
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Action::{self, Allow, Ask, Deny},
        HookWord, Mode, Subject,
        sample::{bash, policy, verdict},
    };
    use haft_core::Why;

    fn said(words: &[Action]) -> Subject {
        let hooks = words.iter().map(|action| HookWord { action: *action, why: Why::new("hook", "says so") });
        Subject { hooks: hooks.collect(), ..bash("make x") }
    }

    #[test]
    fn the_strictest_word_holds_and_an_allow_beats_no_guard() {
        let cases: [(&[Action], &str); 6] = [
            (&[Allow], "allow"),
            (&[Allow, Ask], "ask"),
            (&[Ask, Deny, Allow], "deny"),
            (&[Deny], "deny"),
            (&[Ask], "ask"),
            (&[], "ask"),
        ];
        for (words, expected) in cases {
            assert_eq!(verdict(&said(words), &policy(Mode::Default, &[])), expected, "{words:?}");
        }
        assert_eq!(verdict(&said(&[Allow]), &policy(Mode::Default, &[(Deny, "bash(make *)")])), "deny");
        assert_eq!(verdict(&said(&[Allow]), &policy(Mode::Default, &[(Ask, "bash(make *)")])), "ask");
        assert_eq!(verdict(&said(&[Deny]), &policy(Mode::Full, &[])), "deny");
    }
}
