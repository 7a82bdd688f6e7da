//! What a call may know of its session.

use super::Session;
use haft_core::{ChangedBy, RealPath, Seen, SessionView};
use serde_json::Value;
use std::sync::Arc;

impl SessionView for Session {
    fn id(&self) -> Arc<str> {
        Arc::clone(&self.id)
    }

    fn state(&self, key: &str) -> Option<Value> {
        self.state_of(key)
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
}
