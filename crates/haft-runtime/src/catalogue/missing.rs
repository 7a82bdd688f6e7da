//! Why tools aren't there that somebody may call: their source is known, and not up.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// What an owner says of its tools while they aren't there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// What their names begin with.
    pub beginnings: Vec<String>,
    /// Why they aren't there, in sentences for whoever calls one.
    pub why: String,
}

/// All that is missing, by owner. Snapshots share it: what is wrong now is what a call has to be told.
#[derive(Debug, Clone, Default)]
pub(super) struct AllMissing(Arc<Mutex<BTreeMap<String, Missing>>>);

impl AllMissing {
    pub(super) fn set(&self, owner: &str, missing: Option<Missing>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match missing {
            Some(missing) => drop(all.insert(owner.to_owned(), missing)),
            None => drop(all.remove(owner)),
        }
    }

    pub(super) fn why(&self, name: &str) -> Option<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_of =
            |missing: &&Missing| missing.beginnings.iter().any(|start| name.starts_with(start.as_str()));
        all.values().find(is_of).map(|missing| missing.why.clone())
    }
}
