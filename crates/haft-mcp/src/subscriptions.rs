//! The resources that a client of the legacy era has subscribed to.

use crate::{fault::Fault, office::Office};
use std::{
    any::Any,
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// How many one client may have.
const SUBSCRIPTIONS_MAX: usize = 1_024;

/// Subscriptions by address.
#[derive(Default)]
pub(crate) struct Subscriptions(Mutex<BTreeMap<String, Box<dyn Any + Send>>>);

impl Subscriptions {
    /// Subscribes, once for each resource.
    ///
    /// # Errors
    /// What the server says; too many.
    pub(crate) async fn add(&self, office: &Office, uri: String) -> Result<(), Fault> {
        let (is_known, count) = {
            let held = self.lock();
            (held.contains_key(&uri), held.len())
        };
        if is_known {
            return Ok(());
        }
        if count >= SUBSCRIPTIONS_MAX {
            return Err(Fault::busy(count));
        }
        let Some(upstream) = &office.upstream else { return Err(Fault::no_method("resources/subscribe")) };
        let held = upstream.subscribe(&uri).await?;
        self.lock().insert(uri, held);
        Ok(())
    }

    /// Unsubscribes; one that isn't there is none.
    pub(crate) fn remove(&self, uri: &str) {
        let held = self.lock().remove(uri);
        // Not under the lock: it may tell a server.
        drop(held);
    }

    /// The resources.
    pub(crate) fn uris(&self) -> Vec<String> {
        self.lock().keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Box<dyn Any + Send>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
