//! The agent loop: a turn, its calls, their results, the next turn.
//!
//! Leaves to the runtime whether, when and how a call runs, and to the host where messages are kept
//! ([`Agent::on_message`]). No request is made while a call of the history is without its result.

mod definitions;
mod hooks;
mod turn;

use crate::{
    AgentObserver, CallResult, LoopAction, LoopAnswer, LoopCall, LoopDetector, LoopJudge, Message, Model,
    ModelError, NoJudge, NoObserver, Results, RetryPolicy, StopReason, Usage, mend,
};
use definitions::Definitions;
use haft_core::{Block, Cancel, Outcome};
use haft_runtime::{Executor, Session};
use std::sync::Arc;
use turn::{Turn, TurnEnd};

/// The gate that speaks for a person at the terminal, the page or the editor.
const USER_GATE: &str = "user";

/// How the loop works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentOptions {
    /// Most turns of one run.
    pub max_turns: u64,
    /// How often a turn is sent, and when again.
    pub retry: RetryPolicy,
}

impl Default for AgentOptions {
    fn default() -> Self {
        Self { max_turns: 100, retry: RetryPolicy::default() }
    }
}

/// Why a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentEnd {
    /// The model has given its answer.
    Done,
    /// The user refused a call and said nothing: they have the word.
    StoppedByUser {
        /// The tool refused.
        tool: String,
    },
    /// The model went round in circles.
    Loop {
        /// What repeated.
        what: String,
    },
    /// The most turns of one run are used up.
    MaxTurns,
    /// The answer was cut by a token limit.
    TokenLimit,
    /// The model or its provider refused to answer.
    Refused,
    /// A hook wants no more.
    StoppedByHook {
        /// Why.
        reason: String,
    },
    /// The run was cancelled.
    Interrupted,
    /// No turn could be had from the model.
    Failed(ModelError),
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRun {
    /// Why it ended.
    pub end: AgentEnd,
    /// The last text of the model.
    pub text: String,
    /// The tokens of all turns.
    pub usage: Usage,
    /// How many turns there were.
    pub turns: u64,
}

/// A model at work in a session.
pub struct Agent {
    executor: Executor,
    session: Arc<Session>,
    model: Arc<dyn Model>,
    system: String,
    options: AgentOptions,
    observer: Arc<dyn AgentObserver>,
    judge: Arc<dyn LoopJudge>,
    keep: Box<dyn FnMut(&Message) + Send>,
    history: Vec<Message>,
    /// Of the turn that is being taken.
    definitions: Definitions,
    /// Counted over the whole session: the runtime's budget is kept by it.
    turn: u64,
    /// Whether hooks were told that the session began, and not that it ended.
    is_begun: bool,
}

/// What one run remembers between its turns.
#[derive(Default)]
struct Course {
    loops: LoopDetector,
    drops: u32,
    /// Whether the model goes on only because a hook said so.
    is_kept_going: bool,
}

impl Agent {
    /// An agent without a history.
    pub fn new(
        executor: Executor,
        session: Arc<Session>,
        model: Arc<dyn Model>,
        system: impl Into<String>,
    ) -> Self {
        Self {
            executor,
            session,
            model,
            system: system.into(),
            options: AgentOptions::default(),
            observer: Arc::new(NoObserver),
            judge: Arc::new(NoJudge),
            keep: Box::new(|_| {}),
            history: Vec::new(),
            definitions: Definitions::default(),
            turn: 0,
            is_begun: false,
        }
    }

    /// Sets how the loop works.
    #[must_use]
    pub fn with_options(mut self, options: AgentOptions) -> Self {
        self.options = options;
        self
    }

    /// Sets who looks on.
    #[must_use]
    pub fn with_observer(mut self, observer: Arc<dyn AgentObserver>) -> Self {
        self.observer = observer;
        self
    }

    /// Sets who is asked about loops.
    #[must_use]
    pub fn with_judge(mut self, judge: Arc<dyn LoopJudge>) -> Self {
        self.judge = judge;
        self
    }

    /// Sets where messages are kept: each is one JSON line, to be written out before this returns, since a
    /// call starts only after the message that holds it was kept. Read them back with [`crate::read_lines`].
    #[must_use]
    pub fn on_message(mut self, keep: impl FnMut(&Message) + Send + 'static) -> Self {
        self.keep = Box::new(keep);
        self
    }

    /// Takes up an earlier history; `outcomes` are the results that the session's log has of calls which the
    /// messages leave open, by the provider's call ids. Calls without either count as interrupted.
    pub fn resume(&mut self, messages: Vec<Message>, outcomes: &[CallResult]) {
        self.history = mend(messages, outcomes);
        self.turn = self.history.iter().filter_map(turn_number).max().unwrap_or(0);
    }

    /// All messages so far.
    pub fn history(&self) -> &[Message] {
        &self.history
    }

    /// Works on a task until the model is done or something ends it.
    ///
    /// # Cancellation
    /// When `cancel` fires, running calls are cancelled and their results kept, and the run ends. Dropping
    /// the future instead cancels them too; in the next run they count as interrupted.
    pub async fn run(&mut self, task: &str, cancel: &Cancel) -> AgentRun {
        // A run that was dropped may have left calls without results.
        self.history = mend(std::mem::take(&mut self.history), &[]);
        let mut run =
            AgentRun { end: AgentEnd::Done, text: String::new(), usage: Usage::default(), turns: 0 };
        match self.hear_prompt(task, cancel).await {
            Ok(text) => self.push(Message::User { text }),
            Err(end) => return AgentRun { end, ..run },
        }
        let mut course = Course::default();
        run.end = loop {
            if cancel.is_fired() {
                break AgentEnd::Interrupted;
            }
            if run.turns >= self.options.max_turns {
                break AgentEnd::MaxTurns;
            }
            if let Some(end) = self.step(&mut run, &mut course, cancel).await {
                break end;
            }
        };
        run
    }

    /// One turn and its calls.
    async fn step(&mut self, run: &mut AgentRun, course: &mut Course, cancel: &Cancel) -> Option<AgentEnd> {
        run.turns += 1;
        self.turn += 1;
        self.definitions = Definitions::of(&self.session, &self.session.refresh(), self.model.schemas());
        let mut turn = self.take_turn(cancel).await;
        run.usage += turn.usage;
        self.observer.usage(turn.usage, run.usage);
        if !matches!(turn.end, TurnEnd::Stopped(_)) {
            turn.cut();
        }
        if !turn.assistant.text.is_empty() {
            run.text.clone_from(&turn.assistant.text);
        }
        if !turn.assistant.blocks.is_empty() {
            self.push(Message::Assistant(turn.assistant.clone()));
        }
        if turn.assistant.calls.is_empty() {
            let end = end_without_calls(turn.end)?;
            if end == AgentEnd::Done
                && let Some(text) = self.hear_stop(course.is_kept_going, &run.text, cancel).await
            {
                course.is_kept_going = true;
                self.push(Message::User { text });
                return None;
            }
            return Some(end);
        }
        self.settle(&mut turn, cancel).await;
        self.conclude(turn, course, cancel).await
    }

    /// Gives the results to the history and decides whether the model goes on.
    async fn conclude(&mut self, mut turn: Turn, course: &mut Course, cancel: &Cancel) -> Option<AgentEnd> {
        let ended = turn.take_ended(&self.session);
        let mut results = turn.results(&ended);
        if let TurnEnd::Failed(error) = &turn.end {
            self.observer.warning(&format!("{error}; its calls so far were finished"));
            results.messages.push(
                "The connection broke while you were writing. The calls above were made; whatever you wrote \
                 after them is lost. Go on from their results."
                    .to_owned(),
            );
        }
        let by_hook = self.hear_batch(&turn, &ended, &mut results, cancel).await;
        let refused = ended.into_iter().find(|ended| is_refused_by_user(&ended.outcome));
        let mut end = None;
        if cancel.is_fired() || matches!(turn.end, TurnEnd::Interrupted) {
            end = Some(AgentEnd::Interrupted);
        } else if let Some(call) = refused {
            end = Some(AgentEnd::StoppedByUser { tool: call.tool.to_string() });
        } else if by_hook.is_some() {
            end = by_hook;
        } else if let Some(action) = course.loops.note(loop_calls(&turn, &results)) {
            end = self.break_loop(action, &mut results, course, cancel).await;
        }
        self.push(Message::Results(results));
        if end.is_some() {
            return end;
        }
        match turn.end {
            TurnEnd::Failed(error) => self.after_drop(error, course, cancel).await,
            TurnEnd::Stopped(_) | TurnEnd::Interrupted => {
                course.drops = 0;
                None
            }
        }
    }

    /// Warns the model first, then asks the user, then ends the step.
    async fn break_loop(
        &mut self,
        action: LoopAction,
        results: &mut Results,
        course: &mut Course,
        cancel: &Cancel,
    ) -> Option<AgentEnd> {
        let (LoopAction::Warn(what) | LoopAction::Ask(what) | LoopAction::End(what)) = &action;
        self.session.loop_detected(what);
        self.observer.loop_detected(what);
        let what = match action {
            LoopAction::Warn(what) => {
                results.messages.push(format!(
                    "You seem to go round in circles: {what}. Try another way, or say what stands in the way."
                ));
                return None;
            }
            LoopAction::End(what) => return Some(AgentEnd::Loop { what }),
            LoopAction::Ask(what) => what,
        };
        let answer = tokio::select! {
            biased;
            () = cancel.fired() => return Some(AgentEnd::Interrupted),
            answer = self.judge.ask(what.clone()) => answer,
        };
        match answer {
            LoopAnswer::GoOn => {
                course.loops.forgive();
                None
            }
            LoopAnswer::Stop => Some(AgentEnd::Loop { what }),
        }
    }

    /// After a connection broke once calls had started: a pause, and an end if that goes on.
    async fn after_drop(
        &mut self,
        error: ModelError,
        course: &mut Course,
        cancel: &Cancel,
    ) -> Option<AgentEnd> {
        course.drops += 1;
        if !error.is_retryable() || course.drops >= self.options.retry.tries {
            return Some(AgentEnd::Failed(error));
        }
        let wait = self.options.retry.delay(course.drops, error.retry_after);
        tokio::select! {
            biased;
            () = cancel.fired() => Some(AgentEnd::Interrupted),
            () = tokio::time::sleep(wait) => None,
        }
    }

    fn push(&mut self, message: Message) {
        (self.keep)(&message);
        self.history.push(message);
    }
}

fn turn_number(message: &Message) -> Option<u64> {
    match message {
        Message::Assistant(assistant) => Some(assistant.turn),
        Message::User { .. } | Message::Results(_) => None,
    }
}

fn end_without_calls(end: TurnEnd) -> Option<AgentEnd> {
    Some(match end {
        TurnEnd::Stopped(StopReason::Paused) => return None,
        TurnEnd::Stopped(StopReason::TokenLimit) => AgentEnd::TokenLimit,
        TurnEnd::Stopped(StopReason::Refused) => AgentEnd::Refused,
        TurnEnd::Stopped(StopReason::End | StopReason::Calls | StopReason::Other(_)) => AgentEnd::Done,
        TurnEnd::Failed(error) => AgentEnd::Failed(error),
        TurnEnd::Interrupted => AgentEnd::Interrupted,
    })
}

/// A plain refusal by a person; one with feedback is for the model to act on.
fn is_refused_by_user(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Denied { why, feedback: None } if why.gate == USER_GATE)
}

fn loop_calls(turn: &Turn, results: &Results) -> Vec<LoopCall> {
    let calls = turn.assistant.calls.iter().zip(&results.results);
    calls
        .map(|(call, result)| {
            let words: Vec<&str> = result.content.iter().map(gist).collect();
            LoopCall::new(&call.tool, &call.input, &(result.outcome.as_str(), words))
        })
        .collect()
}

/// What tells two results apart.
fn gist(block: &Block) -> &str {
    match block {
        Block::Text { text } => text,
        Block::Image { data, .. } | Block::Audio { data, .. } => data,
        Block::ResourceLink { uri, .. } => uri,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::Why;

    #[test]
    fn only_a_plain_refusal_by_the_user_ends_the_step() {
        let denied = |gate: &'static str, feedback: Option<&str>| Outcome::Denied {
            why: Why::new(gate, "no"),
            feedback: feedback.map(str::to_owned),
        };
        assert!(is_refused_by_user(&denied(USER_GATE, None)));
        assert!(!is_refused_by_user(&denied(USER_GATE, Some("use grep"))));
        assert!(!is_refused_by_user(&denied("mode", None)));
        assert!(!is_refused_by_user(&Outcome::Cancelled));
    }
}
