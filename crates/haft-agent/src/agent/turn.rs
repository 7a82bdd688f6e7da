//! One turn as it streams: each call starts as soon as its arguments are whole.
//!
//! Keeps the invariant "once a call of a turn has started, that turn is never sent again".

use super::Agent;
use crate::{
    Assistant, AssistantCall, CallResult, Dialect, Message, ModelError, ModelEvent, ModelStream, Results,
    RetryNotice, StopReason, TurnRequest, Usage,
};
use futures::{StreamExt, stream::FuturesUnordered};
use haft_core::{CallId, Cancel, Ended, Input, Request};
use haft_runtime::{Running, Session, fit_turn};
use serde_json::Value;
use std::time::Duration;

/// A turn and what became of its calls.
pub(super) struct Turn {
    /// What the model said so far: only what is whole.
    pub(super) assistant: Assistant,
    pub(super) usage: Usage,
    pub(super) end: TurnEnd,
    /// Text that is still coming.
    pending: String,
    /// Blocks, and bytes of text, up to the last call.
    at_last_call: (usize, usize),
    /// In call order.
    started: Vec<(CallId, Cancel)>,
    running: FuturesUnordered<Running>,
    ended: Vec<Ended>,
}

/// How the streaming ended.
pub(super) enum TurnEnd {
    /// The model came to a stop.
    Stopped(StopReason),
    /// The stream failed.
    Failed(ModelError),
    /// The run was cancelled.
    Interrupted,
}

impl Turn {
    fn new(turn: u64, dialect: Dialect) -> Self {
        let assistant =
            Assistant { turn, dialect, text: String::new(), blocks: Vec::new(), calls: Vec::new() };
        Self {
            assistant,
            usage: Usage::default(),
            end: TurnEnd::Interrupted,
            pending: String::new(),
            at_last_call: (0, 0),
            started: Vec::new(),
            running: FuturesUnordered::new(),
            ended: Vec::new(),
        }
    }

    /// Leaves out what came after the last call: nobody knows what was still to come, and providers refuse a
    /// message that ends in thinking.
    pub(super) fn cut(&mut self) {
        let (blocks, bytes) = self.at_last_call;
        self.assistant.blocks.truncate(blocks);
        self.assistant.text.truncate(bytes);
        self.pending.clear();
    }

    /// The calls as they ended, in call order and within the budget of a turn.
    pub(super) fn take_ended(&mut self, session: &Session) -> Vec<Ended> {
        let mut ended = std::mem::take(&mut self.ended);
        ended.sort_by(|left, right| left.call.cmp(&right.call));
        fit_turn(session, &mut ended);
        ended
    }

    /// One result for each call, in call order.
    pub(super) fn results(&self, ended: &[Ended]) -> Results {
        let mut results = Results::default();
        for (call, (id, _)) in self.assistant.calls.iter().zip(&self.started) {
            if let Some(ended) = ended.iter().find(|ended| ended.call == *id) {
                results.results.push(CallResult::new(call, ended));
                results.messages.extend(ended.output.messages.iter().cloned());
            } else {
                results.results.push(CallResult::interrupted(call));
            }
        }
        results
    }

    fn keep_block(&mut self, raw: Value) {
        let whole = std::mem::take(&mut self.pending);
        self.assistant.text.push_str(&whole);
        self.assistant.blocks.push(raw);
    }

    fn cancel_calls(&self) {
        self.started.iter().for_each(|(_, cancel)| cancel.fire());
    }
}

impl Agent {
    /// Gets one turn, sending it again while that is allowed and can help.
    pub(super) async fn take_turn(&mut self, cancel: &Cancel) -> Turn {
        let mut attempt = 1;
        loop {
            let request =
                TurnRequest { system: &self.system, messages: &self.history, tools: &self.definitions.tools };
            let stream = self.model.turn(&request);
            let mut turn = self.follow(stream, cancel).await;
            let Some(wait) = self.wait_before_next(&turn, attempt) else {
                return turn;
            };
            attempt += 1;
            tokio::select! {
                biased;
                () = cancel.fired() => {
                    turn.end = TurnEnd::Interrupted;
                    return turn;
                }
                () = tokio::time::sleep(wait) => {}
            }
        }
    }

    /// Waits for the turn's calls; when `cancel` fires, for their ends as cancelled ones.
    pub(super) async fn settle(&mut self, turn: &mut Turn, cancel: &Cancel) {
        let mut cancelled = false;
        loop {
            tokio::select! {
                biased;
                () = cancel.fired(), if !cancelled => {
                    cancelled = true;
                    turn.cancel_calls();
                }
                next = turn.running.next() => match next {
                    Some(ended) => self.note_ended(turn, ended),
                    None => return,
                },
            }
        }
    }

    /// The pause before the turn is sent again; none where it isn't.
    fn wait_before_next(&self, turn: &Turn, attempt: u32) -> Option<Duration> {
        let TurnEnd::Failed(error) = &turn.end else {
            return None;
        };
        let retry = &self.options.retry;
        if !turn.assistant.calls.is_empty() || !error.is_retryable() || attempt >= retry.tries {
            return None;
        }
        let wait = retry.delay(attempt, error.retry_after);
        self.observer.retry(&RetryNotice {
            attempt,
            tries: retry.tries,
            wait,
            reason: error.to_string(),
            text_dropped: !turn.pending.is_empty() || !turn.assistant.text.is_empty(),
        });
        Some(wait)
    }

    async fn follow(&mut self, mut stream: ModelStream, cancel: &Cancel) -> Turn {
        let mut turn = Turn::new(self.turn, self.model.dialect());
        loop {
            tokio::select! {
                biased;
                () = cancel.fired() => return turn,
                Some(ended) = turn.running.next() => self.note_ended(&mut turn, ended),
                event = stream.next() => {
                    match event {
                        Some(Ok(ModelEvent::Stop { reason, usage })) => {
                            turn.usage = usage;
                            turn.end = TurnEnd::Stopped(reason);
                            return turn;
                        }
                        Some(Ok(event)) => self.take_event(&mut turn, event),
                        Some(Err(error)) => {
                            turn.end = TurnEnd::Failed(error);
                            return turn;
                        }
                        None => {
                            turn.end = TurnEnd::Failed(ModelError::dropped("it has no end"));
                            return turn;
                        }
                    }
                }
            }
        }
    }

    fn take_event(&mut self, turn: &mut Turn, event: ModelEvent) {
        match event {
            ModelEvent::TextDelta(delta) => {
                self.observer.text(&delta);
                turn.pending.push_str(&delta);
            }
            ModelEvent::ThinkingDelta(delta) => self.observer.thinking(&delta),
            ModelEvent::CallStarted { name, .. } => self.observer.call_arriving(&name),
            ModelEvent::Block(raw) => turn.keep_block(raw),
            ModelEvent::CallReady { id, name, input, raw } => {
                let (Input::Text(text) | Input::CutOff(text)) = &input;
                let call = AssistantCall { id: id.clone(), tool: name.clone(), input: text.clone() };
                turn.assistant.calls.push(call);
                turn.keep_block(raw);
                let input = self.definitions.raise(&name, input);
                turn.at_last_call = (turn.assistant.blocks.len(), turn.assistant.text.len());
                self.start(turn, Request { tool: name, input, turn: Some(self.turn), foreign_id: Some(id) });
            }
            ModelEvent::CallArguments { .. } | ModelEvent::Stop { .. } => {}
        }
    }

    fn start(&mut self, turn: &mut Turn, request: Request) {
        // Kept first: a crash from here on finds the call in the log.
        (self.keep)(&Message::Assistant(turn.assistant.clone()));
        let tool = request.tool.clone();
        let (Input::Text(text) | Input::CutOff(text)) = &request.input;
        let text = text.clone();
        let seat = self.executor.reserve(&self.session);
        let running = self.executor.start(&self.session, seat, request);
        self.observer.call_started(&running.id, &tool, &text);
        turn.started.push((running.id.clone(), running.cancel.clone()));
        turn.running.push(running);
    }

    fn note_ended(&self, turn: &mut Turn, ended: Ended) {
        self.observer.call_ended(&ended);
        turn.ended.push(ended);
    }
}
