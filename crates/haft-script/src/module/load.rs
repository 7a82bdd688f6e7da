//! Loading a module: the order for it, the child that does it with nothing lent, and what it says of itself.

use super::{ModuleFault, ScriptModule, run::failure};
use crate::{
    engine::Engine,
    guest::{Gone, Guest},
    wire::{Bounds, Fault, Order, Refused, Word},
};
use haft_core::Failure;
use serde_json::Value;
use std::time::Duration;
use tokio::time::timeout;

/// How long loading one module may take.
pub(super) const LOAD_TIMEOUT: Duration = Duration::from_secs(5);
/// What modules may use; for the calls of one child together.
pub(super) const BOUNDS: Bounds = Bounds { at_once: 8, timer_ms: 600_000 };

/// What is loaded, and by whom.
pub(super) struct Loading<'a> {
    pub(super) engine: &'a Engine,
    pub(super) module: &'a ScriptModule,
    /// `tools` or `extension`.
    pub(super) form: &'static str,
    /// What an extension is told of itself.
    pub(super) about: Value,
}

/// Why loading came to nothing.
#[derive(Debug, Clone)]
pub(super) enum NotLoaded {
    /// It is the module's own doing, and the same each time.
    Broken(ModuleFault),
    /// It ran out of time or memory.
    Ended(ModuleFault),
    /// It wasn't even tried.
    Untried(ModuleFault),
}

impl NotLoaded {
    pub(super) fn untried(failure: &Failure) -> Self {
        Self::Untried(ModuleFault::of_failure(failure))
    }
}

impl Loading<'_> {
    /// The order that loads it.
    pub(super) fn order(&self) -> Order {
        let (files, stripped) = self.module.to_load();
        Order::Load {
            files,
            stripped,
            entry: self.module.entry.clone(),
            form: self.form.to_owned(),
            about: self.about.clone(),
            bounds: BOUNDS,
        }
    }

    /// Loads it in a child of its own, which ends: what it says in the end, and what it registered before.
    ///
    /// # Errors
    /// What it threw, or why it couldn't be loaded.
    pub(super) async fn apart(&self) -> Result<(Value, Vec<Value>), NotLoaded> {
        let mut guest = self.engine.fresh().await.map_err(|failure| NotLoaded::untried(&failure))?;
        guest.tell(&self.order());
        let mut events = Vec::new();
        let hear = |word: Word| match word {
            Word::Event { event, .. } => events.push(event),
            Word::Stripped { files } => self.module.keep_stripped(files),
            _ => {}
        };
        let said = timeout(LOAD_TIMEOUT, until_said(&mut guest, 0, hear)).await;
        let ended = |failure: &Failure| NotLoaded::Ended(ModuleFault::of_failure(failure));
        match (said, guest.end().await) {
            (Ok(Ok(value)), _) => Ok((value, events)),
            (Ok(Err(Unsaid::Threw(fault))), _) => {
                Err(NotLoaded::Broken(ModuleFault::new(&fault, self.module)))
            }
            (Ok(Err(Unsaid::Gone(_))), Ok(ending)) => Err(ended(&ending.failure())),
            (_, Err(failure)) => Err(NotLoaded::untried(&failure)),
            (Err(_), _) => {
                let (what, seconds) = (self.what(), LOAD_TIMEOUT.as_secs());
                let text =
                    format!("{what} didn't end within {seconds} s; what takes time belongs into execute");
                Err(ended(&Failure::internal(text)))
            }
        }
    }

    /// Loads it in a child that goes on.
    ///
    /// # Errors
    /// What it threw, or why its child ended.
    pub(super) async fn within(&self, guest: &mut Guest) -> Result<(), Failure> {
        guest.tell(&self.order());
        let hear = |word: Word| {
            if let Word::Stripped { files } = word {
                self.module.keep_stripped(files);
            }
        };
        until_said(guest, 0, hear).await.map(drop).map_err(Unsaid::into_failure)
    }

    fn what(&self) -> &'static str {
        if self.form == "extension" { "activate" } else { "loading it" }
    }
}

/// Why nothing was said.
#[derive(Debug)]
enum Unsaid {
    /// An error was.
    Threw(Fault),
    /// The child is gone.
    Gone(Gone),
}

impl Unsaid {
    fn into_failure(self) -> Failure {
        match self {
            Self::Threw(fault) => failure(&fault),
            Self::Gone(gone) => Failure::internal("the module's process ended").diagnose(format!("{gone:?}")),
        }
    }
}

/// Waits for the end of one thing, while nothing is lent.
///
/// # Errors
/// What was thrown; internal where its process ended.
pub(crate) async fn answered(guest: &mut Guest, wanted: u64) -> Result<Value, Failure> {
    until_said(guest, wanted, drop).await.map_err(Unsaid::into_failure)
}

/// Waits for the end of one thing, while nothing is lent; `hear` is told what else is said.
///
/// # Errors
/// What was thrown, or that the child is gone.
async fn until_said(guest: &mut Guest, wanted: u64, mut hear: impl FnMut(Word)) -> Result<Value, Unsaid> {
    loop {
        match guest.next().await.map_err(Unsaid::Gone)? {
            Word::Done { id, value, .. } if id == wanted => return Ok(value),
            Word::Failed { id, fault, .. } if id == wanted => return Err(Unsaid::Threw(fault)),
            Word::Ask { id, what, .. } => guest.tell(&nothing_lent(id, &what)),
            word => hear(word),
        }
    }
}

/// The answer while a module is loaded or asked about an input. What an extension keeps is empty then.
pub(super) fn nothing_lent(id: u64, what: &str) -> Order {
    if what == "storage" || what == "secret" {
        return Order::answer(id, Ok(Value::Null));
    }
    let text =
        "nothing is lent while a module is loaded or asked about an input; do it in execute".to_owned();
    Order::answer(id, Err(Refused { text, tool: None, kind: "permission".to_owned() }))
}
