//! A child that has loaded a module and answers calls, several at a time.

use crate::{
    guest::{Gone, Guest, Teller},
    wire::{Order, Word},
};
use haft_core::{Cancel, Failure};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::sync::mpsc;

/// How many words of one call wait for it; then the child waits.
const WORDS_WAITING: usize = 64;
/// What is said of loading, and of the module as a whole.
pub(crate) const OWN: u64 = 0;

/// A live module. Its child goes with the last clone.
#[derive(Clone)]
pub(crate) struct Live(Arc<Shared>);

struct Shared {
    teller: Teller,
    calls: Arc<Calls>,
    next: AtomicU64,
    over: Cancel,
}

#[derive(Default)]
struct Calls {
    open: Mutex<HashMap<u64, mpsc::Sender<Word>>>,
    ending: Mutex<Option<Failure>>,
}

impl Live {
    /// Takes a child over; what it says of itself comes by what is given. Must be called within a tokio runtime.
    pub(crate) fn new(guest: Guest) -> (Self, mpsc::Receiver<Word>) {
        let (teller, calls, over) = (guest.teller(), Arc::<Calls>::default(), Cancel::new());
        let (sender, own) = mpsc::channel(WORDS_WAITING);
        lock(&calls.open).insert(OWN, sender);
        tokio::spawn(pass_on(guest, Arc::clone(&calls), over.clone()));
        (Self(Arc::new(Shared { teller, calls, next: AtomicU64::new(1), over })), own)
    }

    /// Makes room for a call: its number, and what is said of it.
    pub(crate) fn open(&self) -> (u64, mpsc::Receiver<Word>) {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let (sender, words) = mpsc::channel(WORDS_WAITING);
        let mut open = lock(&self.0.calls.open);
        // Of a child that has ended nothing more comes.
        if lock(&self.0.calls.ending).is_none() {
            open.insert(id, sender);
        }
        (id, words)
    }

    pub(crate) fn tell(&self, order: &Order) {
        self.0.teller.tell(order);
    }

    /// Tells it things without holding it.
    pub(crate) fn teller(&self) -> Teller {
        self.0.teller.clone()
    }

    /// Whether the child is still there.
    pub(crate) fn is_alive(&self) -> bool {
        lock(&self.0.calls.ending).is_none()
    }

    /// Whether nothing waits any more of what was said beside its calls.
    pub(crate) fn is_heard(&self) -> bool {
        lock(&self.0.calls.open).get(&OWN).is_none_or(|own| own.capacity() == WORDS_WAITING)
    }

    /// Why it ended.
    pub(crate) fn ending(&self) -> Failure {
        let ending = lock(&self.0.calls.ending).clone();
        ending.unwrap_or_else(|| Failure::internal("the module's process ended"))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.over.fire();
    }
}

/// Gives each word to the call it is about, until the child ends or nobody holds it any more.
async fn pass_on(mut guest: Guest, calls: Arc<Calls>, over: Cancel) {
    let gone = loop {
        let word = tokio::select! {
            biased;
            () = over.fired() => return,
            word = guest.next() => word,
        };
        let word = match word {
            Ok(word) => word,
            Err(gone) => break gone,
        };
        let (id, is_last) = match &word {
            Word::Ask { call, .. } | Word::Event { call, .. } => (*call, false),
            Word::Done { id, .. } | Word::Failed { id, .. } => (*id, *id != OWN),
            Word::Log { .. } | Word::Ready { .. } | Word::Stripped { .. } => (OWN, false),
        };
        let sender = {
            let mut open = lock(&calls.open);
            if is_last { open.remove(&id) } else { open.get(&id).cloned() }
        };
        if let Some(sender) = sender {
            tokio::select! {
                biased;
                () = over.fired() => return,
                // Who doesn't listen any more misses nothing.
                _ = sender.send(word) => {}
            }
        }
    };
    let failure = match (gone, guest.end().await) {
        (Gone::Broken(why), _) => Failure::internal("the module's process broke off")
            .diagnose(format!("it broke the protocol: {why}")),
        (Gone::Ended, Ok(ending)) => ending.failure(),
        (Gone::Ended, Err(failure)) => failure,
    };
    *lock(&calls.ending) = Some(failure);
    lock(&calls.open).clear();
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
