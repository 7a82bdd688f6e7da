//! What an extension keeps, and the secrets it may have.

use haft_core::{Failure, StateFolder};
use haft_script::ExtensionStore;
use serde_json::{Map, Value};
use std::sync::Arc;

/// What one extension may keep.
const STORED_MAX_BYTES: usize = 1 << 20;

/// Gives a secret by its name, where the user lets extensions have it.
pub(super) type Secrets = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What is kept for one extension, in a file of haft's own.
pub(super) struct Stored {
    state: Arc<dyn StateFolder>,
    file: String,
    secrets: Secrets,
}

impl Stored {
    /// What is kept for the extension of that id.
    pub(super) fn of(id: &str, state: &Arc<dyn StateFolder>, secrets: &Secrets) -> Self {
        let file = format!("extensions/{id}.json");
        Self { state: Arc::clone(state), file, secrets: Arc::clone(secrets) }
    }
}

impl ExtensionStore for Stored {
    fn read(&self) -> Result<Map<String, Value>, Failure> {
        let bytes = self.state.read_from(&self.file, 0, STORED_MAX_BYTES)?.unwrap_or_default();
        Ok(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    fn write(&self, key: &str, value: Option<Value>) -> Result<(), Failure> {
        self.state.update(&self.file, &mut |before: Option<&[u8]>| {
            let mut all: Map<String, Value> =
                serde_json::from_slice(before.unwrap_or_default()).unwrap_or_default();
            match &value {
                Some(value) => drop(all.insert(key.to_owned(), value.clone())),
                None => drop(all.remove(key)),
            }
            let bytes = serde_json::to_vec(&all).map_err(|error| Failure::internal(error.to_string()))?;
            if bytes.len() > STORED_MAX_BYTES {
                return Err(Failure::invalid("an extension may keep 1 MiB; remove something first"));
            }
            Ok(bytes)
        })
    }

    fn secret(&self, name: &str) -> Option<String> {
        (self.secrets)(name)
    }
}
