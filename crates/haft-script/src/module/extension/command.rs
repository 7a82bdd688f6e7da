//! A command of an extension: a function that a person has it do. It is lent nothing but what the extension is granted
//! anyway; what it says goes to that person.

use super::super::{
    live::Live,
    run::{ABORT_TIMEOUT, DEAF, Heard, failure, next},
    tool::{CallOf, told},
};
use super::child::{Extension, nothing};
use crate::wire::{Order, Refused, Word};
use haft_core::{Cancel, Failure, FailureKind};
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::mpsc::Receiver,
    task::yield_now,
    time::{Instant, sleep_until},
};

/// How long a command may take.
pub const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);
/// How often is looked whether all that it printed was told.
const LOOKS_MAX: usize = 100;
/// What the child knows it as.
const FUNCTION: &str = "command";

/// Is told what a command prints, a piece at a time.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

impl Extension {
    /// Runs one of its commands with the words that follow its name, and gives what it returns.
    ///
    /// # Errors
    /// What it threw, or what keeps the extension from being active; cancelled; a timeout after [`COMMAND_TIMEOUT`].
    ///
    /// # Cancellation
    /// By `cancel`, which the command hears; one that doesn't end with its signal is ended with its child.
    pub async fn command(
        self: &Arc<Self>,
        (name, words): (&str, &str),
        cancel: &Cancel,
        say: &Say,
    ) -> Result<Value, Failure> {
        let live = tokio::select! {
            biased;
            () = cancel.fired() => return Err(Failure::cancelled()),
            live = self.live() => live?,
        };
        let (id, heard) = live.open();
        let listening = self.listens(id, say);
        let of = CallOf { function: FUNCTION, name, checks_first: false };
        live.tell(&told(id, of, &Value::from(words), nothing()));
        let ended = Running { live: &live, id, heard, say }.until_it_ends(cancel).await;
        // What it prints by the extension's own log goes another way than its end, and may come a little later.
        for _ in 0..LOOKS_MAX {
            if live.is_heard() {
                break;
            }
            yield_now().await;
        }
        drop(listening);
        if ended.as_ref().is_err_and(|failure| failure.diagnostic.as_deref() == Some(DEAF)) {
            self.let_go().await;
        }
        ended
    }
}

/// A command that runs.
struct Running<'a> {
    live: &'a Live,
    id: u64,
    heard: Receiver<Word>,
    say: &'a Say,
}

impl Running<'_> {
    async fn until_it_ends(mut self, cancel: &Cancel) -> Result<Value, Failure> {
        let mut stopped: Option<Stopped> = None;
        let over = sleep_until(Instant::now() + COMMAND_TIMEOUT);
        tokio::pin!(over);
        loop {
            let limit = stopped.as_ref().map(|stopped| stopped.limit);
            let word = tokio::select! {
                biased;
                () = cancel.fired(), if stopped.is_none() => {
                    stopped = Some(self.stop(Failure::cancelled()));
                    continue;
                }
                () = &mut over, if stopped.is_none() => {
                    let text = format!("the command took longer than {} s", COMMAND_TIMEOUT.as_secs());
                    stopped = Some(self.stop(Failure::new(FailureKind::Timeout, text)));
                    continue;
                }
                word = next(&mut self.heard, limit) => word,
            };
            match word {
                Heard::Word(Word::Event { event, .. }) => self.print(&event),
                Heard::Word(Word::Ask { id, what, .. }) => self.live.tell(&refused(id, &what)),
                Heard::Word(Word::Done { value, .. }) => {
                    return stopped.map_or(Ok(value), |stopped| Err(stopped.why));
                }
                Heard::Word(Word::Failed { fault, .. }) => {
                    return Err(stopped.map_or_else(|| failure(&fault), |stopped| stopped.why));
                }
                Heard::Word(Word::Log { .. } | Word::Ready { .. } | Word::Stripped { .. }) => {}
                Heard::TooLate => {
                    let why = stopped.map_or_else(Failure::cancelled, |stopped| stopped.why);
                    return Err(why.diagnose(DEAF));
                }
                Heard::Nothing => return Err(self.live.ending()),
            }
        }
    }

    /// Tells it to end.
    fn stop(&self, why: Failure) -> Stopped {
        self.live.tell(&Order::Abort { id: self.id, reason: why.text.clone() });
        Stopped { why, limit: Instant::now() + ABORT_TIMEOUT }
    }

    /// All that it says is for the person who called it, also what a tool would say to the conversation.
    fn print(&self, event: &Value) {
        let kind = event.get("type").and_then(Value::as_str).unwrap_or_default();
        if matches!(kind, "append" | "log" | "warning" | "partial_output") {
            (self.say)(event.get("text").and_then(Value::as_str).unwrap_or_default());
        }
    }
}

/// Why a command is to end, and until when it may.
struct Stopped {
    why: Failure,
    limit: Instant,
}

/// What a command asks for by its own context.
fn refused(id: u64, what: &str) -> Order {
    if what == "secret" {
        return Order::answer(id, Ok(Value::Null));
    }
    let text = format!(
        "a command isn't lent {what}; what the extension is granted is there as ctx.api.storage and ctx.api.secrets"
    );
    Order::answer(id, Err(Refused { text, tool: None, kind: "permission".to_owned() }))
}
