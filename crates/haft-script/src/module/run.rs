//! One call of a module's function: what it asks for is given, what it says is passed on, and its end.

use super::{lend::Lent, live::Live, load::BOUNDS};
use crate::wire::{Fault, Order, Refused, Word};
use futures::{StreamExt as _, stream::FuturesUnordered};
use haft_core::{BoxFuture, Cx, Failure, FailureKind, Progress};
use serde_json::Value;
use std::{collections::BTreeMap, time::Duration};
use tokio::{
    sync::mpsc::Receiver,
    time::{Instant, timeout_at},
};

/// How long a call may take to come to its end once its signal has fired.
pub(super) const ABORT_TIMEOUT: Duration = Duration::from_millis(1_500);

/// The diagnostic of a call that didn't hear its signal.
pub(crate) const DEAF: &str = "the module didn't hear that its call was to end";

/// How a call ended.
pub(crate) struct Returned {
    pub(crate) value: Value,
    pub(crate) is_nothing: bool,
    /// Texts for the conversation, after the result.
    pub(crate) messages: Vec<String>,
}

/// A call that was told to the module.
pub(crate) struct ModuleCall<'a> {
    pub(crate) live: &'a Live,
    pub(crate) id: u64,
    pub(crate) words: Receiver<Word>,
    pub(crate) lent: &'a Lent,
    pub(crate) cx: &'a Cx,
}

impl ModuleCall<'_> {
    /// Sees it to its end.
    ///
    /// # Errors
    /// What the tool threw; cancelled; internal where its process ended.
    pub(crate) async fn until_it_ends(mut self) -> Result<Returned, Failure> {
        let mut messages = Vec::new();
        let mut giving: FuturesUnordered<BoxFuture<'static, (u64, Result<Value, Refused>)>> =
            FuturesUnordered::new();
        let mut limit: Option<Instant> = None;
        loop {
            let word = tokio::select! {
                biased;
                () = self.cx.cancel.fired(), if limit.is_none() => {
                    giving.clear();
                    self.live.tell(&Order::Abort { id: self.id, reason: "the call was cancelled".to_owned() });
                    limit = Instant::now().checked_add(ABORT_TIMEOUT);
                    continue;
                }
                Some((id, given)) = giving.next(), if !giving.is_empty() => {
                    self.answer(id, given);
                    continue;
                }
                word = next(&mut self.words, limit) => word,
            };
            match word {
                Heard::Word(Word::Ask { id, what, name, input, .. }) => {
                    let most = usize::try_from(BOUNDS.at_once).unwrap_or(usize::MAX);
                    if limit.is_some() || giving.len() >= most {
                        let failure = Failure::new(FailureKind::Cancelled, "the call is ending");
                        self.answer(id, Err(Refused::of_failure(&failure)));
                    } else {
                        let giving_one = self.lent.give(&what, &name, &input);
                        giving.push(Box::pin(async move { (id, giving_one.await) }));
                    }
                }
                Heard::Word(Word::Event { event, .. }) => messages.extend(self.pass_on(&event)),
                Heard::Word(Word::Done { value, is_nothing, .. }) if limit.is_none() => {
                    return Ok(Returned { value, is_nothing, messages });
                }
                Heard::Word(Word::Failed { fault, .. }) if limit.is_none() => return Err(failure(&fault)),
                Heard::Word(Word::Done { .. } | Word::Failed { .. }) => return Err(Failure::cancelled()),
                Heard::TooLate => return Err(Failure::cancelled().diagnose(DEAF)),
                Heard::Word(Word::Log { .. } | Word::Ready { .. } | Word::Stripped { .. }) => {}
                Heard::Nothing => return Err(self.live.ending()),
            }
        }
    }

    fn answer(&self, id: u64, given: Result<Value, Refused>) {
        self.live.tell(&Order::answer(id, given));
    }

    /// Tells people; what is for the conversation is given.
    fn pass_on(&self, event: &Value) -> Option<String> {
        let text = || event.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
        let progress = match event.get("type").and_then(Value::as_str)? {
            "append" => return Some(text()),
            "log" => Progress::Log(text()),
            "warning" => Progress::Warning(text()),
            "partial_output" => Progress::PartialOutput(text()),
            "metric" => Progress::Metric(numbers(event)?),
            "file_changed" => Progress::FileChanged(event.pointer("/data/path")?.as_str()?.to_owned()),
            _ => return None,
        };
        self.cx.sink.progress(progress);
        None
    }
}

fn numbers(event: &Value) -> Option<BTreeMap<String, f64>> {
    let data = event.get("data")?.as_object()?;
    data.iter().map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect()
}

/// What comes next of a call.
pub(super) enum Heard {
    Word(Word),
    /// The child has ended.
    Nothing,
    TooLate,
}

pub(super) async fn next(words: &mut Receiver<Word>, limit: Option<Instant>) -> Heard {
    let word = match limit {
        None => words.recv().await,
        Some(limit) => match timeout_at(limit, words.recv()).await {
            Ok(word) => word,
            Err(_) => return Heard::TooLate,
        },
    };
    word.map_or(Heard::Nothing, Heard::Word)
}

/// What a tool threw: of its own kind where it names one.
pub(crate) fn failure(fault: &Fault) -> Failure {
    let kind = fault.kind.as_ref().filter(|_| fault.tool.is_none());
    let kind = kind.and_then(|kind| serde_json::from_value::<FailureKind>(Value::from(kind.as_str())).ok());
    let place =
        fault.place.as_ref().map(|place| format!(" (at {}:{})", place.file, place.line)).unwrap_or_default();
    let text = match (&fault.tool, &fault.kind, fault.name.as_deref()) {
        (Some(tool), Some(kind), _) => format!("{tool} failed ({kind}): {}{place}", fault.text),
        (_, _, None | Some("Error")) => format!("{}{place}", fault.text),
        (_, _, Some(name)) => format!("{name}: {}{place}", fault.text),
    };
    Failure::new(kind.unwrap_or(FailureKind::Internal), text)
}
