//! What a call may know of its session.

use super::Session;
use haft_core::{Change, ChangedBy, Failure, RealPath, Seen, SessionView, StateFolder};
use serde_json::Value;
use std::{borrow::Cow, sync::Arc};

/// A longer shared value isn't one.
const SHARED_MAX_BYTES: usize = 1 << 20;

/// Where a value is that all processes of a session share.
fn shared_file(session: &str, key: &str) -> String {
    format!("sessions/{session}/{key}.json")
}

/// A value that all processes of a session share.
pub(crate) fn shared_in(state: &dyn StateFolder, session: &str, key: &str) -> Option<Vec<u8>> {
    state.read_from(&shared_file(session, key), 0, SHARED_MAX_BYTES).ok()?
}

impl SessionView for Session {
    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }

    fn state(&self, key: &str) -> Option<Value> {
        self.state_of(key)
    }

    fn shows(&self, tool: &str) -> bool {
        self.snapshot().get(tool).is_some_and(|offer| !self.denies(offer))
    }

    fn seen(&self, path: &RealPath) -> Option<Seen> {
        self.seen_of(path)
    }

    fn on_run_end(&self, hook: Box<dyn FnOnce() + Send>) {
        self.add_hook(hook);
    }

    fn changes(&self) -> Vec<ChangedBy> {
        self.known_changes()
    }

    fn content(&self, hash: &str) -> Option<Vec<u8>> {
        self.contents().get(hash)
    }

    fn unmask<'a>(&self, text: &'a [u8], file: &[u8]) -> Result<Cow<'a, [u8]>, Failure> {
        self.masks().unmask(text, file)
    }

    fn shared(&self, key: &str) -> Option<Vec<u8>> {
        shared_in(self.state_folder()?.as_ref(), &self.id, key)
    }

    fn update_shared(&self, key: &str, change: &mut Change<'_>) -> Result<(), Failure> {
        match self.state_folder() {
            Some(state) => state.update(&shared_file(&self.id, key), change),
            None => change(None).map(drop),
        }
    }
}
