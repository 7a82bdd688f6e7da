//! What takes secrets out of results, progress and the log.

use super::App;
use haft_core::Failure;
use haft_os::host;
use haft_policy::secrets::{Detector, Masker, is_credential};
use std::sync::Arc;

/// Where the workspace's key for placeholders is kept, so that they stay the same in all its sessions.
const KEY: &str = "mask.key";

impl App {
    /// The masker, unless the settings switch it off.
    ///
    /// # Errors
    /// Its key can't be kept.
    pub(super) fn masker(&self) -> anyhow::Result<Option<Arc<Masker>>> {
        if self.settings.mask.as_ref().is_some_and(|mask| !mask.value) {
            return Ok(None);
        }
        let mut named: Vec<String> =
            self.settings.models.values().filter_map(|model| model.api_key_env.clone()).collect();
        let headers = self.settings.tools.values().flat_map(|tool| &tool.headers);
        named.extend(headers.map(|header| header.value_env.clone()));
        let variables = self.environment.variables().filter(|(name, value)| {
            is_credential(name, value) || !value.is_empty() && named.iter().any(|named| named == name)
        });
        let known = variables.map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()));
        let detector = Detector::new(known)?;
        Ok(Some(Arc::new(Masker::new(Arc::new(detector), self.mask_key()?))))
    }

    fn mask_key(&self) -> Result<[u8; 32], Failure> {
        let state = self.state();
        let known = |bytes: &[u8]| <[u8; 32]>::try_from(bytes).ok();
        if let Some(key) = state.read_from(KEY, 0, 33)?.as_deref().and_then(known) {
            return Ok(key);
        }
        let mut key = host::random()?;
        state.update(KEY, &mut |now: Option<&[u8]>| {
            // Another process may have been first.
            key = now.and_then(known).unwrap_or(key);
            Ok(key.to_vec())
        })?;
        Ok(key)
    }
}
