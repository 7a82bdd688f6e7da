//! Whose tool has which name, where servers give their tools the same one.
//!
//! Keeps the invariant "of two servers the first in the settings has the name, whichever is heard first".

use super::server::Server;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

/// The names that tools of the servers have here. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Names(Arc<Mutex<Held>>);

/// By name: who has it.
#[derive(Default)]
pub(crate) struct Held(BTreeMap<Arc<str>, Holder>);

struct Holder {
    rank: usize,
    server: Weak<Server>,
}

/// What becomes of a name that a server wants.
pub(crate) enum Claim {
    /// Nobody else has it.
    Free,
    /// This server has it, and comes later: it has to give it up.
    From(Arc<Server>),
    /// This server has it, and comes first.
    Taken(Arc<Server>),
}

impl Names {
    /// All of them, for as long as one server's list is taken in: nobody else's is meanwhile.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// Whether the server of that rank, 0 for the first in the settings, can have a name.
    pub(crate) fn claim(&self, name: &str, rank: usize) -> Claim {
        let Some(holder) = self.0.get(name).filter(|holder| holder.rank != rank) else { return Claim::Free };
        match holder.server.upgrade() {
            None => Claim::Free,
            Some(server) if holder.rank < rank => Claim::Taken(server),
            Some(server) => Claim::From(server),
        }
    }

    /// A server has a name now.
    pub(crate) fn hold(&mut self, name: &Arc<str>, rank: usize, server: &Arc<Server>) {
        self.0.insert(Arc::clone(name), Holder { rank, server: Arc::downgrade(server) });
    }

    /// A server no longer has a name.
    pub(crate) fn release(&mut self, name: &str, rank: usize) {
        if self.0.get(name).is_some_and(|holder| holder.rank == rank) {
            self.0.remove(name);
        }
    }
}
