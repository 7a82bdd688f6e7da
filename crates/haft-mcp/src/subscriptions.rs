//! The resources that a client of the legacy era has subscribed to.
//!
//! What a client wants is noted as its messages come, and carried out meanwhile. Keeps "the last word of a client counts",
//! however long its server takes.

use crate::{fault::Fault, office::Office};
use std::{
    any::Any,
    collections::{BTreeMap, btree_map::Entry},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// How many one client may have.
const SUBSCRIPTIONS_MAX: usize = 1_024;

/// Subscriptions by address. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Subscriptions(Arc<Mutex<BTreeMap<String, Resource>>>);

/// One resource that a client wants to hear of, or wanted to while it was being subscribed to.
#[derive(Default)]
struct Resource {
    held: Held,
    /// How many requests for it are being carried out.
    in_flight: usize,
    is_wanted: bool,
}

/// What keeps a resource told of. Whoever subscribes has it locked, so that a server is asked once.
type Held = Arc<tokio::sync::Mutex<Option<Box<dyn Any + Send>>>>;

/// A subscription that is to be carried out; dropping it before gives it up.
pub(crate) struct Subscribing {
    all: Subscriptions,
    uri: String,
    held: Held,
}

impl Subscriptions {
    /// Notes that a resource is wanted.
    ///
    /// # Errors
    /// Too many are.
    pub(crate) fn add(&self, uri: String) -> Result<Subscribing, Fault> {
        let mut all = self.lock();
        let count = all.len();
        if count >= SUBSCRIPTIONS_MAX && !all.contains_key(&uri) {
            return Err(Fault::busy(count));
        }
        let resource = all.entry(uri.clone()).or_default();
        resource.in_flight += 1;
        resource.is_wanted = true;
        let held = Arc::clone(&resource.held);
        drop(all);
        Ok(Subscribing { all: self.clone(), uri, held })
    }

    /// Notes that a resource isn't wanted any more; one that wasn't stays so.
    pub(crate) fn remove(&self, uri: &str) {
        self.change(uri, |resource| resource.is_wanted = false);
    }

    /// The resources that are wanted.
    pub(crate) fn uris(&self) -> Vec<String> {
        let all = self.lock();
        let wanted = all.iter().filter(|(_, resource)| resource.is_wanted);
        wanted.map(|(uri, _)| uri.clone()).collect()
    }

    /// Changes what is known of a resource, and forgets it where nothing is left of it.
    fn change(&self, uri: &str, change: impl FnOnce(&mut Resource)) {
        let over = match self.lock().entry(uri.to_owned()) {
            Entry::Occupied(mut known) => {
                change(known.get_mut());
                known.get().is_over().then(|| known.remove())
            }
            Entry::Vacant(_) => None,
        };
        // Not under the lock: it may tell a server.
        drop(over);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Resource>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Resource {
    fn is_over(&self) -> bool {
        // Nobody has it locked where nothing is in flight.
        let is_held = || self.held.try_lock().is_ok_and(|held| held.is_some());
        self.in_flight == 0 && !(self.is_wanted && is_held())
    }
}

impl Subscribing {
    /// Subscribes, once for each resource.
    ///
    /// # Errors
    /// What the server says.
    ///
    /// # Cancellation
    /// Dropping the future gives the subscription up, unless another request for it is in flight.
    pub(crate) async fn settle(self, office: &Office) -> Result<(), Fault> {
        let mut held = self.held.lock().await;
        if held.is_none() {
            let upstream = office.upstream.as_ref();
            let upstream = upstream.ok_or_else(|| Fault::no_method("resources/subscribe"))?;
            *held = Some(upstream.subscribe(&self.uri).await?);
        }
        Ok(())
    }
}

impl Drop for Subscribing {
    fn drop(&mut self) {
        self.all.change(&self.uri, |resource| resource.in_flight = resource.in_flight.saturating_sub(1));
    }
}
