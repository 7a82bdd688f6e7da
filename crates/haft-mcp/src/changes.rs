//! Tells when the list of tools is another one.

use haft_runtime::Session;
use std::{
    future::pending,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::watch;

/// Sees changes from the moment it is made.
pub(crate) struct Changes(watch::Receiver<u64>);

impl Changes {
    pub(crate) fn watch(session: &Session) -> Self {
        Self(session.catalogue().changes())
    }

    /// Waits for the next change; several at once are one.
    pub(crate) async fn next(&mut self) {
        if self.0.changed().await.is_err() {
            // A catalogue that is gone doesn't change any more.
            pending::<()>().await;
        }
    }
}

/// Carries a watch from the frame that asked for it to the handler, which takes it once.
#[derive(Clone)]
pub(crate) struct Handed(Arc<Mutex<Option<Changes>>>);

impl Handed {
    pub(crate) fn new(changes: Changes) -> Self {
        Self(Arc::new(Mutex::new(Some(changes))))
    }

    pub(crate) fn take(&self) -> Option<Changes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
