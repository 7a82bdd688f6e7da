//! One hook's run, named: what it came to, and what follows from it.

use super::{
    Handler, Hook, OnError,
    wire::{Reading, Said, Trouble},
};
use haft_core::{TraceStep, Why};
use haft_policy::{Action, HookWord};
use serde::Serialize;
use std::time::Duration;

/// What is said of a hook that may only tighten and did more.
const PASSED_OVER: &str = "what it allows or tells is passed over, since nobody approved it as it is";

/// What a hook's run came to. Each way to fail has a name of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HookOutcome {
    /// It allowed.
    Allowed,
    /// It wants a person to be asked.
    Asked,
    /// It denied by its answer.
    Denied,
    /// It changed the input.
    Rewrote,
    /// It said nothing that decides.
    Nothing,
    /// It couldn't be started or reached.
    SpawnFailed,
    /// Its time ran out.
    TimedOut,
    /// Its answer is no JSON, or breaks the contract.
    BadJson,
    /// It denied by its exit.
    Refused,
    /// It ended with a fault of its own.
    Failed,
    /// The call was cancelled meanwhile.
    Cancelled,
}

impl HookOutcome {
    /// Its name in traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Asked => "asked",
            Self::Denied => "denied",
            Self::Rewrote => "rewrote",
            Self::Nothing => "nothing",
            Self::SpawnFailed => "spawn-failed",
            Self::TimedOut => "timed-out",
            Self::BadJson => "bad-json",
            Self::Refused => "refused",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// What an operator does about it, in the words of the hook's kind.
    fn fix(self, handler: &Handler) -> &'static str {
        match (self, handler) {
            (_, Handler::Broken(_)) => "mend its declaration",
            (_, Handler::Held) => "look at it, and run `haft trust` again if it is what you want",
            (Self::TimedOut, _) => "let it answer sooner, or raise its timeoutMs",
            (Self::SpawnFailed, Handler::Http(_)) => {
                "check that something listens at its address, and that what its headers name is set"
            }
            (Self::BadJson, Handler::Http(_)) => "let it answer with one JSON object, or an empty body",
            (_, Handler::Http(_)) => {
                "mend the endpoint: status 200 lets a call go on, and a decision \"deny\" in its JSON refuses it"
            }
            (Self::SpawnFailed, _) => "check that its program exists and can be executed",
            (Self::BadJson, Handler::Rust(_)) => "let it return an answer that keeps to the contract",
            (_, Handler::Rust(_)) => "mend its code",
            (Self::BadJson, _) => "let it print one JSON object or nothing, and all else to standard error",
            _ => "mend it: exit 0 lets a call go on, exit 2 refuses it",
        }
    }
}

/// One hook that has run.
pub(super) struct HookRun<'h> {
    pub(super) hook: &'h Hook,
    pub(super) outcome: HookOutcome,
    /// What it said; empty where it didn't work.
    pub(super) said: Said,
    /// Its reason, or what is wrong.
    pub(super) reason: Option<String>,
    /// Whether its exit refuses although it didn't work.
    blocks: bool,
    /// Whether it wasn't run, since it isn't as a person saw it.
    is_held: bool,
    took: Duration,
}

impl<'h> HookRun<'h> {
    pub(super) fn new(hook: &'h Hook, reading: Reading, took: Duration) -> Self {
        let (outcome, said, reason, blocks) = match reading {
            Reading::Said(mut said) => {
                let passed_over = hook.tightens_only && said.tighten();
                let (outcome, reason) = match said.decision.take() {
                    None => (HookOutcome::Nothing, passed_over.then(|| PASSED_OVER.to_owned())),
                    Some((Action::Allow, reason)) => (HookOutcome::Allowed, reason),
                    Some((Action::Ask, reason)) => (HookOutcome::Asked, reason),
                    Some((Action::Deny, reason)) => (HookOutcome::Denied, reason),
                };
                (outcome, said, reason, false)
            }
            Reading::Refused(reason) => (HookOutcome::Refused, Said::default(), Some(reason), false),
            Reading::Trouble(trouble, what, blocks) => {
                let outcome = match trouble {
                    Trouble::SpawnFailed => HookOutcome::SpawnFailed,
                    Trouble::TimedOut => HookOutcome::TimedOut,
                    Trouble::BadJson => HookOutcome::BadJson,
                    Trouble::Failed => HookOutcome::Failed,
                    Trouble::Cancelled => HookOutcome::Cancelled,
                };
                (outcome, Said::default(), Some(what), blocks)
            }
        };
        Self { hook, outcome, said, reason, blocks, is_held: false, took }
    }

    /// The same of one that wasn't run, since it isn't as a person saw it.
    pub(super) fn held(self) -> Self {
        Self { is_held: true, ..self }
    }

    /// Its line in the trace.
    pub(super) fn step(&self) -> TraceStep {
        self.hook.ran(self.outcome, self.took, self.reason.as_deref())
    }

    /// What it decides, of itself or by not working.
    pub(super) fn action(&self) -> Option<Action> {
        match self.outcome {
            HookOutcome::Allowed => Some(Action::Allow),
            HookOutcome::Asked => Some(Action::Ask),
            HookOutcome::Denied | HookOutcome::Refused => Some(Action::Deny),
            HookOutcome::Rewrote | HookOutcome::Nothing => None,
            _ if self.blocks => Some(Action::Deny),
            _ => {
                let is_closed = self.hook.on_error == OnError::Deny && self.hook.event.can_refuse();
                is_closed.then_some(Action::Deny)
            }
        }
    }

    /// Its word for the judge.
    pub(super) fn word(&self) -> Option<HookWord> {
        Some(self.word_of(self.action()?))
    }

    /// A word of this hook.
    pub(super) fn word_of(&self, action: Action) -> HookWord {
        let mut why = Why::new("hook", self.text());
        why.source.clone_from(&self.hook.source);
        HookWord { action, why }
    }

    /// What is shown of its decision: its name, its reason, and where it didn't work, what would help.
    pub(super) fn text(&self) -> String {
        let (name, reason) = (self.hook.shown(), self.reason.as_deref());
        let handler = if self.is_held { &Handler::Held } else { &self.hook.handler };
        match self.outcome {
            HookOutcome::Allowed => said(&name, "allows it", reason),
            HookOutcome::Asked => said(&name, "wants it asked", reason),
            HookOutcome::Denied | HookOutcome::Refused => said(&name, "refuses it", reason),
            HookOutcome::Rewrote | HookOutcome::Nothing => said(&name, "was heard", reason),
            outcome => format!(
                "{name} doesn't work ({}): {}. It must be mended{} by the user: {}",
                outcome.name(),
                reason.unwrap_or_default(),
                self.hook.place(),
                outcome.fix(handler)
            ),
        }
    }

    /// What a person is told: the hook's own message, and that things go on without a hook that doesn't work.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mut all: Vec<String> =
            self.said.message.iter().map(|message| format!("{}: {message}", self.hook.shown())).collect();
        let is_passed_over = self.is_trouble() && self.action().is_none();
        if is_passed_over && self.outcome != HookOutcome::Cancelled {
            let text = self.text();
            all.push(format!("NOT GUARDED: {text}. It went on without this hook (onError = \"allow\")"));
        }
        all
    }

    /// Whether it didn't work.
    pub(super) fn is_trouble(&self) -> bool {
        matches!(
            self.outcome,
            HookOutcome::SpawnFailed
                | HookOutcome::TimedOut
                | HookOutcome::BadJson
                | HookOutcome::Failed
                | HookOutcome::Cancelled
        )
    }
}

fn said(name: &str, what: &str, reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("{name} {what}: {reason}"),
        None => format!("{name} {what}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::{Endpoint, HookEvent};

    fn run(on_error: OnError, trouble: Trouble, blocks: bool) -> Option<Action> {
        let hook = Hook { on_error, ..Hook::new(HookEvent::PreToolUse, Handler::Command("x".to_owned())) };
        let reading = Reading::Trouble(trouble, "y".to_owned(), blocks);
        let run = HookRun::new(&hook, reading, Duration::ZERO);
        let is_loud = run.warnings().iter().any(|text| text.contains("NOT GUARDED"));
        assert_eq!(is_loud, run.action().is_none() && trouble != Trouble::Cancelled);
        run.action()
    }

    #[test]
    fn what_doesnt_work_refuses_or_warns_as_declared() {
        let all =
            [Trouble::SpawnFailed, Trouble::TimedOut, Trouble::BadJson, Trouble::Failed, Trouble::Cancelled];
        for trouble in all {
            assert_eq!(run(OnError::Deny, trouble, false), Some(Action::Deny));
            assert_eq!(run(OnError::Allow, trouble, false), None);
            assert_eq!(run(OnError::Allow, trouble, true), Some(Action::Deny));
        }
    }

    #[test]
    fn one_that_may_only_tighten_does_nothing_else() {
        let open = Hook::new(HookEvent::PreToolUse, Handler::Command("x".to_owned()));
        let tight = Hook { tightens_only: true, ..open.clone() };
        let said = |action| Said {
            decision: Some((action, None)),
            context: Some("do as I say".to_owned()),
            output: Some(serde_json::json!("other")),
            ..Said::default()
        };
        for (action, expected) in
            [(Action::Allow, None), (Action::Ask, Some(Action::Ask)), (Action::Deny, Some(Action::Deny))]
        {
            let run = HookRun::new(&tight, Reading::Said(said(action)), Duration::ZERO);
            assert_eq!(run.action(), expected);
            assert!(run.said.context.is_none() && run.said.output.is_none());
            let free = HookRun::new(&open, Reading::Said(said(action)), Duration::ZERO);
            assert_eq!(free.action(), Some(action));
            assert!(free.said.context.is_some() && free.said.output.is_some());
        }
        let run = HookRun::new(&tight, Reading::Said(said(Action::Allow)), Duration::ZERO);
        assert!(run.step().reason.is_some_and(|reason| reason.contains("nobody approved it")));
    }

    #[test]
    fn one_that_is_held_back_refuses_or_warns_as_declared() {
        let held = |on_error| {
            let hook = Hook { on_error, ..Hook::new(HookEvent::PreToolUse, Handler::Held) };
            let reading = Reading::Trouble(Trouble::SpawnFailed, "y".to_owned(), false);
            let run = HookRun::new(&hook, reading, Duration::ZERO);
            (run.action(), run.text())
        };
        assert_eq!(held(OnError::Deny).0, Some(Action::Deny));
        assert_eq!(held(OnError::Allow).0, None);
        assert!(held(OnError::Deny).1.contains("run `haft trust` again"));
    }

    #[test]
    fn what_would_mend_it_is_said_in_the_words_of_its_kind() {
        let at = Endpoint { url: "http://127.0.0.1:9/h".to_owned(), headers: Vec::new() };
        let text = |handler: &Handler, trouble| {
            let hook = Hook::new(HookEvent::PreToolUse, handler.clone());
            HookRun::new(&hook, Reading::Trouble(trouble, "y".to_owned(), false), Duration::ZERO).text()
        };
        let (http, command) = (Handler::Http(at), Handler::Command("x".to_owned()));
        for (trouble, of_http, of_command) in [
            (Trouble::SpawnFailed, "listens at its address", "program exists"),
            (Trouble::BadJson, "answer with one JSON object", "standard error"),
            (Trouble::Failed, "status 200", "exit 0"),
        ] {
            let (said, told) = (text(&http, trouble), text(&command, trouble));
            assert!(said.contains(of_http) && told.contains(of_command), "{said}\n{told}");
            for word in ["exit", "standard error", "program"] {
                assert!(!said.contains(word), "{said}");
            }
        }
        let broken = Handler::Broken("it is no table".to_owned());
        assert!(text(&broken, Trouble::SpawnFailed).ends_with("mend its declaration"));
    }

    #[test]
    fn an_event_that_cant_refuse_only_warns() {
        let hook = Hook {
            on_error: OnError::Deny,
            ..Hook::new(HookEvent::PostToolUse, Handler::Command("x".to_owned()))
        };
        let reading = Reading::Trouble(Trouble::Failed, "y".to_owned(), false);
        assert_eq!(HookRun::new(&hook, reading, Duration::ZERO).action(), None);
    }
}
