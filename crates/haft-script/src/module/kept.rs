//! What modules said of themselves, kept in haft's own folder so that each process needn't ask again: also that they
//! can't be used.
//!
//! An answer holds for what was asked: the content, what the module was told of itself, and the engine that asked. The
//! folder is bounded; what wasn't needed for the longest goes first.

use super::{
    ModuleFault,
    load::{Loading, NotLoaded},
};
use crate::child;
use haft_core::{ContentHasher, Failure, StateEntry, StateFolder};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::json;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const FOLDER: &str = "scripts";
/// A longer answer isn't kept.
const ANSWER_MAX_BYTES: usize = 4 << 20;
/// How many answers are kept.
const ANSWERS_MAX: usize = 2_000;
/// What all of them may have.
const ALL_MAX_BYTES: u64 = 64 << 20;
/// How long it is believed that a module runs out of time or memory, which may have been the machine's.
const BELIEVED: Duration = Duration::from_secs(10 * 60);

/// Where answers are kept.
pub(super) struct Kept<'a> {
    state: Option<&'a dyn StateFolder>,
    now: SystemTime,
}

/// An answer, as it is kept.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Answer<T> {
    Said(T),
    /// It is broken; until when that is believed, in seconds since 1970, or for good.
    Broken {
        fault: ModuleFault,
        until: Option<u64>,
    },
}

impl<'a> Kept<'a> {
    /// Nothing is kept where there is no folder.
    pub(super) fn new(state: Option<&'a dyn StateFolder>) -> Self {
        Self { state, now: SystemTime::now() }
    }

    /// What became of loading that once, where it is known.
    pub(super) fn known<T: DeserializeOwned>(&self, loading: &Loading<'_>) -> Option<Result<T, ModuleFault>> {
        let (state, at) = (self.state?, file_of(loading));
        let bytes = state.read_from(&at, 0, ANSWER_MAX_BYTES.saturating_add(1)).ok().flatten()?;
        let kept: Answer<T> = serde_json::from_slice(&bytes).ok()?;
        let answer = match kept {
            Answer::Said(said) => Ok(said),
            Answer::Broken { until: Some(until), .. } if until < seconds(self.now) => return None,
            Answer::Broken { fault, .. } => Err(fault),
        };
        // Its time is renewed. Where that can't be done it goes a little sooner.
        let _ = state.keep(&at, &mut || Ok(bytes.clone()));
        Some(answer)
    }

    /// Keeps an answer that was given just now, as far as it holds another time.
    pub(super) fn keep<T: Serialize>(
        &self,
        loading: &Loading<'_>,
        answer: Result<T, NotLoaded>,
    ) -> Result<T, ModuleFault> {
        let (kept, answer) = match answer {
            Ok(said) => {
                let kept = serde_json::to_vec(&Answer::Said(&said));
                (kept.ok(), Ok(said))
            }
            Err(NotLoaded::Untried(fault)) => (None, Err(fault)),
            Err(NotLoaded::Broken(fault)) => (broken(&fault, None), Err(fault)),
            Err(NotLoaded::Ended(fault)) => {
                let until = seconds(self.now).saturating_add(BELIEVED.as_secs());
                let fault = ModuleFault {
                    fix: format!("{}; unless it changes, it is tried again in ten minutes", fault.fix),
                    ..fault
                };
                (broken(&fault, Some(until)), Err(fault))
            }
        };
        if let (Some(state), Some(bytes)) = (self.state, kept.filter(|bytes| bytes.len() <= ANSWER_MAX_BYTES))
        {
            // Where it can't be kept, it is asked anew the next time.
            let _ = write(state, &file_of(loading), &bytes);
            prune(state);
        }
        answer
    }
}

fn broken(fault: &ModuleFault, until: Option<u64>) -> Option<Vec<u8>> {
    serde_json::to_vec(&Answer::<()>::Broken { fault: fault.clone(), until }).ok()
}

fn write(state: &dyn StateFolder, at: &str, bytes: &[u8]) -> Result<(), Failure> {
    // One that can't be used any more would only have its time renewed.
    state.remove(at)?;
    state.keep(at, &mut || Ok(bytes.to_vec()))
}

/// Removes what is too much, the oldest first.
fn prune(state: &dyn StateFolder) {
    let mut all: Vec<StateEntry> = state.list(FOLDER);
    all.sort_by_key(|entry| std::cmp::Reverse(entry.modified));
    let mut bytes = 0_u64;
    for (index, entry) in all.iter().enumerate() {
        bytes = bytes.saturating_add(entry.len);
        if index >= ANSWERS_MAX || bytes > ALL_MAX_BYTES {
            let _ = state.remove(&format!("{FOLDER}/{}", entry.name));
        }
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The name of an answer: a hash over all that it may depend on.
fn file_of(loading: &Loading<'_>) -> String {
    let mut hasher = ContentHasher::default();
    for part in [env!("CARGO_PKG_VERSION"), child::AROUND_SCRIPTS, child::AROUND_MODULES] {
        hasher.update(part.as_bytes());
        hasher.update(b"\0");
    }
    let Loading { engine, module, form, about } = loading;
    let asked = json!([engine.memory_bytes(), form, about, module.entry, &*module.hash]);
    hasher.update(asked.to_string().as_bytes());
    format!("{FOLDER}/{}.json", hasher.finish())
}
