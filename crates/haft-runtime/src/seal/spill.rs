//! Results too long for a model, whole on disk, one file a call.

use haft_core::{Failure, SpillFile, StateFolder};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

/// The folder of spilled results in the state folder; a root that tools may read.
pub const SPILL_FOLDER: &str = "spill";
/// Most bytes that one session's spilled results take; what comes after isn't kept, and counted.
const SESSION_MAX_BYTES: u64 = 1 << 30;

/// One session's spilled results.
#[derive(Clone)]
pub(crate) struct SpillStore {
    state: Option<Arc<dyn StateFolder>>,
    folder: String,
    used: Arc<AtomicU64>,
    number: Arc<AtomicU64>,
}

/// One result being spilled.
pub(crate) struct Spill {
    file: Option<Box<dyn SpillFile>>,
    path: String,
    used: Arc<AtomicU64>,
    not_kept: u64,
}

impl SpillStore {
    pub(crate) fn new(state: Option<Arc<dyn StateFolder>>, session: &str) -> Self {
        let folder = spill_folder(session);
        let entries = state.as_ref().map(|state| state.list(&folder)).unwrap_or_default();
        let used = entries.iter().map(|entry| entry.len).sum();
        Self { state, folder, used: Arc::new(AtomicU64::new(used)), number: Arc::default() }
    }

    /// The folder of all spilled results, as an absolute path.
    pub(crate) fn root(&self) -> Option<String> {
        self.state.as_ref().map(|state| state.path(SPILL_FOLDER))
    }

    /// Starts a file for a call.
    ///
    /// # Errors
    /// Unavailable where there is no state folder or it can't be written.
    pub(crate) fn open(&self, call: &str) -> Result<Spill, Failure> {
        let Some(state) = &self.state else {
            return Err(Failure::internal("this session keeps nothing on disk"));
        };
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let suffix = if number == 0 { String::new() } else { format!("-{number}") };
        let at = format!("{}/{call}{suffix}.txt", self.folder);
        let file = state.open_spill(&at)?;
        Ok(Spill { file: Some(file), path: state.path(&at), used: Arc::clone(&self.used), not_kept: 0 })
    }

    /// Writes one whole text and gives its path.
    ///
    /// # Errors
    /// As [`SpillStore::open`].
    pub(crate) fn keep(&self, call: &str, text: &str) -> Result<Spill, Failure> {
        let mut spill = self.open(call)?;
        spill.push(text.as_bytes());
        Ok(spill)
    }
}

/// The folder of one session's spilled results in the state folder.
pub(crate) fn spill_folder(session: &str) -> String {
    format!("{SPILL_FOLDER}/{session}")
}

impl Spill {
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let len = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let full = self.used.fetch_add(len, Ordering::Relaxed).saturating_add(len) > SESSION_MAX_BYTES;
        let kept = !full && self.file.as_mut().is_some_and(|file| file.push(bytes).is_ok());
        if !kept {
            // A full disk or a full session: the file ends here, so that what it holds has no hole.
            self.file = None;
            self.used.fetch_sub(len, Ordering::Relaxed);
            self.not_kept += len;
        }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Bytes that couldn't be kept.
    pub(crate) fn not_kept(&self) -> u64 {
        self.not_kept
    }
}
