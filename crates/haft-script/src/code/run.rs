//! One script from its start to its end: what it asks for becomes calls, what it prints is kept.

use super::{CODE_TOOL, CodeSettings, search};
use crate::{
    guest::{Gone, Guest},
    module::READ,
    wire::{Fault, Order, Place, Refused, Rest, Word},
};
use futures::{StreamExt as _, stream::FuturesUnordered};
use haft_core::{Block, BoxFuture, Capture, Captured, Cx, Ended, Failure, Outcome, Request, Shape, Spec};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::time::timeout;

/// How long a script may take to say where it was stopped.
const STOP_TIMEOUT: Duration = Duration::from_millis(500);
/// How many pictures of inner calls are attached.
const IMAGES_MAX: usize = 20;
/// The gate by which a person refuses.
const USER_GATE: &str = "user";

/// How a script ended.
pub(super) enum ScriptEnd {
    /// It returned.
    Returned {
        /// What.
        value: Value,
        /// Whether nothing at all.
        is_nothing: bool,
    },
    /// It threw, or can't be read.
    Threw(Fault),
    /// A person refused one of its calls.
    Refused(Arc<str>),
    /// It printed more than it may.
    TooMuch(usize),
    /// It was stopped; where, if that can be told.
    Stopped(Option<Place>),
    /// Its process ended, or spoke another language.
    Lost(Gone),
}

/// What is left of a script that ended.
pub(super) struct Left {
    pub(super) logs: Captured,
    pub(super) images: Vec<Block>,
    /// Pictures that weren't attached.
    pub(super) images_left_out: usize,
    pub(super) calls: u64,
    pub(super) failed_calls: u64,
    /// What it didn't wait for.
    pub(super) rest: Rest,
    /// How much it printed, in bytes, and how much it may print and return.
    pub(super) logged_bytes: usize,
    pub(super) output_bytes: usize,
    /// Why its process ended before it did.
    pub(super) lost: Option<Failure>,
}

/// A script that runs.
pub(super) struct ScriptRun<'a> {
    cx: &'a Cx,
    settings: CodeSettings,
    guest: Guest,
    running: FuturesUnordered<BoxFuture<'static, (u64, Ended)>>,
    tools: Vec<(Arc<str>, Arc<Spec>)>,
    logs: Box<dyn Capture>,
    logged_bytes: usize,
    images: Vec<Block>,
    images_left_out: usize,
    calls: u64,
    failed_calls: u64,
    rest: Rest,
    is_lost: bool,
}

impl<'a> ScriptRun<'a> {
    pub(super) fn new(cx: &'a Cx, settings: CodeSettings, guest: Guest) -> Self {
        Self {
            cx,
            settings,
            guest,
            running: FuturesUnordered::new(),
            tools: cx.session.tools(),
            logs: cx.sink.capture(Shape::HeadTail),
            logged_bytes: 0,
            images: Vec::new(),
            images_left_out: 0,
            calls: 0,
            failed_calls: 0,
            rest: Rest::default(),
            is_lost: false,
        }
    }

    /// Runs it to its end. What it didn't wait for its child has finished by then; what a script that threw had begun is
    /// waited for.
    pub(super) async fn until_it_ends(&mut self) -> ScriptEnd {
        let end = self.listen().await;
        self.is_lost = matches!(end, ScriptEnd::Lost(_));
        if matches!(end, ScriptEnd::Returned { .. } | ScriptEnd::Threw(_)) {
            let cancel = self.cx.cancel.clone();
            tokio::select! {
                biased;
                () = cancel.fired() => return ScriptEnd::Stopped(None),
                () = self.finish_calls() => {}
            }
        }
        end
    }

    /// What there is to be told. Ends the child.
    pub(super) async fn into_left(self) -> Left {
        let Self { guest, logs, images, images_left_out, calls, failed_calls, rest, is_lost, .. } = self;
        let (logged_bytes, output_bytes) = (self.logged_bytes, self.settings.output_bytes);
        let ending = guest.end().await;
        let lost = is_lost.then(|| match ending {
            Ok(ending) => ending.failure(),
            Err(failure) => failure,
        });
        let logs = logs.finish();
        Left { logs, images, images_left_out, calls, failed_calls, rest, logged_bytes, output_bytes, lost }
    }

    async fn listen(&mut self) -> ScriptEnd {
        let cancel = self.cx.cancel.clone();
        loop {
            let end = tokio::select! {
                biased;
                () = cancel.fired() => return self.stop().await,
                Some((id, ended)) = self.running.next(), if !self.running.is_empty() => self.answer(id, ended),
                word = self.guest.next() => match word {
                    Ok(word) => self.hear(word),
                    Err(gone) => Some(ScriptEnd::Lost(gone)),
                },
            };
            if let Some(end) = end {
                return end;
            }
        }
    }

    fn hear(&mut self, word: Word) -> Option<ScriptEnd> {
        match word {
            Word::Log { level, text } => return self.log(&level, &text),
            Word::Ask { id, what, name, input, .. } => return self.ask(id, (&what, &name), input),
            Word::Done { value, is_nothing, rest, .. } => {
                self.rest = rest;
                return Some(ScriptEnd::Returned { value, is_nothing });
            }
            Word::Failed { fault, rest, .. } => {
                self.rest = rest;
                return Some(ScriptEnd::Threw(fault));
            }
            Word::Ready { .. } | Word::Stripped { .. } | Word::Event { .. } => {}
        }
        None
    }

    fn log(&mut self, level: &str, text: &str) -> Option<ScriptEnd> {
        let line = match level {
            "warn" | "error" => format!("[{level}] {text}\n"),
            _ => format!("{text}\n"),
        };
        self.logged_bytes = self.logged_bytes.saturating_add(line.len());
        if self.logged_bytes > self.settings.output_bytes {
            return Some(ScriptEnd::TooMuch(self.settings.output_bytes));
        }
        self.logs.push(line.as_bytes());
        self.cx.partial(line);
        None
    }

    /// Makes the call that a script asks for, or says why not.
    fn ask(&mut self, id: u64, (what, name): (&str, &[String]), input: Value) -> Option<ScriptEnd> {
        // The child keeps to this by itself; one that doesn't isn't ours any more.
        let open = u64::try_from(self.running.len()).unwrap_or(u64::MAX);
        if open >= self.settings.at_once {
            return Some(ScriptEnd::Lost(Gone::Broken("more calls at once than it may make".to_owned())));
        }
        let request = match what {
            "tool" => self.request(name, &input),
            "readFile" => self.one_more(READ, &input),
            "search" => {
                let words = input.as_str().unwrap_or_default();
                let found = search::found(self.cx.session.as_ref(), &self.tools, words);
                return self.give(id, found);
            }
            "describe" => match self.helper("tool_help", json!({"name": input})) {
                Some(request) => Ok(request),
                None => {
                    return self.give(id, search::described(&self.tools, input.as_str().unwrap_or_default()));
                }
            },
            other => Err(refused(None, "invalid", format!("a script has no {other}"))),
        };
        match request {
            Ok(request) => {
                self.calls = self.calls.saturating_add(1);
                let call = self.cx.nested.call(request);
                self.running.push(Box::pin(async move { (id, call.await) }));
            }
            Err(error) => self.guest.tell(&Order::answer(id, Err(error))),
        }
        None
    }

    fn request(&self, name: &[String], input: &Value) -> Result<Request, Refused> {
        let name = search::called(&self.tools, name);
        let known = self.tools.iter().find(|(known, _)| **known == *name);
        if name == CODE_TOOL || known.is_some_and(|(_, spec)| !spec.code_mode) {
            let text = format!("{name} can't be called from inside a script; call it by itself");
            return Err(refused(Some(name), "denied", text));
        }
        self.one_more(&name, input)
    }

    /// A call, unless it has made all that it may.
    fn one_more(&self, name: &str, input: &Value) -> Result<Request, Refused> {
        if self.calls >= self.settings.calls {
            let text = format!(
                "the script has made its {} calls; return what there is, and go on in another script",
                self.settings.calls
            );
            return Err(refused(Some(name.to_owned()), "unavailable", text));
        }
        Ok(Request::new(name, input.to_string()))
    }

    /// A call of another tool that does what was asked for, where there is such a tool.
    fn helper(&self, tool: &str, input: Value) -> Option<Request> {
        let is_there = self.tools.iter().any(|(name, _)| **name == *tool);
        (is_there && self.calls < self.settings.calls).then(|| Request::new(tool, input.to_string()))
    }

    fn give(&self, id: u64, value: Value) -> Option<ScriptEnd> {
        self.guest.tell(&Order::answer(id, Ok(value)));
        None
    }

    /// Hands a call's end to the script.
    fn answer(&mut self, id: u64, ended: Ended) -> Option<ScriptEnd> {
        if ended.outcome.is_completed() {
            let value = self.value(ended);
            return self.give(id, value);
        }
        self.failed_calls = self.failed_calls.saturating_add(1);
        let is_by_person = matches!(
            &ended.outcome,
            Outcome::Denied { why, feedback: None } if why.gate == USER_GATE
        );
        if is_by_person {
            return Some(ScriptEnd::Refused(ended.tool));
        }
        self.guest.tell(&Order::answer(id, Err(Refused::of_ended(&ended))));
        None
    }

    /// What a call gives its script: data where there is some, else the text. Pictures stay outside.
    fn value(&mut self, ended: Ended) -> Value {
        let mut attached = 0_usize;
        let text = ended.output.joined_text();
        for block in ended.output.content {
            if block.as_text().is_some() {
                continue;
            }
            if self.images.len() < IMAGES_MAX {
                self.images.push(block);
                attached = attached.saturating_add(1);
            } else {
                self.images_left_out = self.images_left_out.saturating_add(1);
            }
        }
        match ended.output.structured {
            Some(value) => value,
            None if text.is_empty() && attached > 0 => {
                Value::from(format!("[{attached} picture(s), attached to the script's result]"))
            }
            None => Value::from(text),
        }
    }

    async fn finish_calls(&mut self) {
        while let Some((_, ended)) = self.running.next().await {
            if !ended.outcome.is_completed() {
                self.failed_calls = self.failed_calls.saturating_add(1);
            }
        }
    }

    /// Stops it, and hears where it was.
    async fn stop(&mut self) -> ScriptEnd {
        self.running.clear();
        self.guest.tell(&Order::Stop);
        let place = timeout(STOP_TIMEOUT, async {
            loop {
                match self.guest.next().await {
                    Ok(Word::Failed { fault, .. }) => return fault.place,
                    Ok(Word::Log { level, text }) => {
                        if self.log(&level, &text).is_some() {
                            return None;
                        }
                    }
                    Ok(_) => {}
                    Err(_) => return None,
                }
            }
        });
        ScriptEnd::Stopped(place.await.unwrap_or_default())
    }
}

fn refused(tool: Option<String>, kind: &str, text: String) -> Refused {
    Refused { text, tool, kind: kind.to_owned() }
}
