//! Who looks on while the agent works, and who is asked when it goes round in circles.

use crate::Usage;
use haft_core::{BoxFuture, CallId, Ended};
use std::time::Duration;

/// A turn that is sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryNotice {
    /// Which try failed, from 1.
    pub attempt: u32,
    /// How many there are at most.
    pub tries: u32,
    /// The pause before the next.
    pub wait: Duration,
    /// What went wrong.
    pub reason: String,
    /// Whether text of the turn had been shown that no longer counts.
    pub text_dropped: bool,
}

/// Is told what happens; every method may be left out.
pub trait AgentObserver: Send + Sync {
    /// A piece of the model's text.
    fn text(&self, _delta: &str) {}
    /// A piece of the model's thinking.
    fn thinking(&self, _delta: &str) {}
    /// A call's name came; its arguments are still to come.
    fn call_arriving(&self, _tool: &str) {}
    /// A call was handed to the executor.
    fn call_started(&self, _id: &CallId, _tool: &str, _input: &str) {}
    /// A call ended.
    fn call_ended(&self, _ended: &Ended) {}
    /// A turn ended: its tokens, and those of the run so far.
    fn usage(&self, _turn: Usage, _total: Usage) {}
    /// A turn is sent again.
    fn retry(&self, _notice: &RetryNotice) {}
    /// The model goes round in circles.
    fn loop_detected(&self, _what: &str) {}
    /// Something a person should know.
    fn warning(&self, _text: &str) {}
}

/// Nobody looks on.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObserver;

impl AgentObserver for NoObserver {}

/// What a person says to a model that goes round in circles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopAnswer {
    /// Let it.
    GoOn,
    /// End the step.
    Stop,
}

/// Is asked when a warning didn't break a loop. Dropping the future withdraws the question.
pub trait LoopJudge: Send + Sync {
    /// Puts the question; `what` says what repeats.
    fn ask(&self, what: String) -> BoxFuture<'_, LoopAnswer>;
}

/// Nobody is there: the step ends.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoJudge;

impl LoopJudge for NoJudge {
    fn ask(&self, _: String) -> BoxFuture<'_, LoopAnswer> {
        Box::pin(std::future::ready(LoopAnswer::Stop))
    }
}
