//! What takes secrets out of results, progress and the log.

use super::App;
use haft_core::{Credential, Failure, Secret};
use haft_os::{OsVault, VaultStamp, host};
use haft_policy::secrets::{Detector, Masker, is_credential};
use std::sync::{Arc, Mutex, PoisonError};

/// Where the workspace's key for placeholders is kept, so that they stay the same in all its sessions.
const KEY: &str = "mask.key";

/// The values that are masked, in step with what is stored meanwhile.
pub(super) struct Masking {
    key: [u8; 32],
    vault: Arc<OsVault>,
    known: Mutex<Known>,
}

/// What was seen so far. A value that was replaced or removed stays masked: it may stand anywhere.
struct Known {
    stamp: Option<VaultStamp>,
    values: Vec<(String, Secret)>,
}

impl App {
    /// What is masked, unless the settings switch it off; and why what is stored isn't, where it can't be opened.
    ///
    /// # Errors
    /// Its key can't be kept.
    pub(super) fn masking(&self) -> anyhow::Result<Option<(Masking, Option<Failure>)>> {
        if self.settings.mask.as_ref().is_some_and(|mask| !mask.value) {
            return Ok(None);
        }
        let uses = self.uses();
        let is_named =
            |name: &str| uses.iter().any(|used| used.credential == Credential::Variable(name.to_owned()));
        let is_secret =
            |name: &str, value: &str| is_credential(name, value) || !value.is_empty() && is_named(name);
        let variables = self.environment.variables().filter(|&(name, value)| is_secret(name, value));
        let values = variables.map(|(name, value)| (name.to_owned(), Secret::new(value))).collect();
        let vault = Arc::clone(&self.keys.vault);
        let known = Mutex::new(Known { stamp: None, values });
        let masking = Masking { key: self.mask_key()?, vault, known };
        let trouble = masking.learn().err();
        Ok(Some((masking, trouble)))
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

impl Masking {
    /// What masks all that is known.
    ///
    /// # Errors
    /// The values are too many for one search.
    pub(super) fn masker(&self) -> anyhow::Result<Arc<Masker>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let values =
            known.values.iter().map(|(name, value)| (name.clone(), value.reveal().as_bytes().to_vec()));
        let detector = Detector::new(values)?;
        Ok(Arc::new(Masker::new(Arc::new(detector), self.key)))
    }

    /// The same, where something was stored since the last look. What can't be opened now is looked at again when it was
    /// written again.
    pub(super) fn changed(&self) -> Option<Arc<Masker>> {
        if self.learn().ok()? { self.masker().ok() } else { None }
    }

    /// Takes in what is stored; says whether anything was written since the last look.
    fn learn(&self) -> Result<bool, Failure> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.vault.stamp();
        if now == known.stamp {
            return Ok(false);
        }
        known.stamp = now;
        for (name, value) in self.vault.values()? {
            if !known.values.iter().any(|(_, seen)| *seen == value) {
                known.values.push((name.to_string(), value));
            }
        }
        Ok(true)
    }
}
