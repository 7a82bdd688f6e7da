//! Tells clients what changed: the tools of the catalogue, and what servers behind haft have.

use crate::{Change, office::Office};
use haft_runtime::Session;
use std::future::pending;
use tokio::sync::{
    broadcast::{self, error::RecvError},
    watch,
};

/// What a client can be told of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum News {
    /// The list of tools is another one.
    Tools,
    /// Something of a server behind haft.
    Of(Change),
    /// So much changed at once that anything may have.
    Anything,
}

/// Sees changes from the moment it is made.
pub(crate) struct Changes {
    tools: watch::Receiver<u64>,
    upstream: Option<broadcast::Receiver<Change>>,
}

impl Changes {
    pub(crate) fn watch(office: &Office) -> Self {
        let session: &Session = &office.session;
        let upstream = office.upstream.as_ref().map(|upstream| upstream.changes());
        Self { tools: session.catalogue().changes(), upstream }
    }

    /// Waits for the next change; several of the tools at once are one.
    ///
    /// # Cancellation
    /// Safe: no change is lost.
    pub(crate) async fn next(&mut self) -> News {
        let Self { tools, upstream } = self;
        tokio::select! {
            () = changed(tools) => News::Tools,
            news = told(upstream) => news,
        }
    }
}

async fn changed(tools: &mut watch::Receiver<u64>) {
    if tools.changed().await.is_err() {
        // A catalogue that is gone doesn't change any more.
        pending::<()>().await;
    }
}

async fn told(upstream: &mut Option<broadcast::Receiver<Change>>) -> News {
    let Some(receiver) = upstream else { return pending().await };
    match receiver.recv().await {
        Ok(change) => News::Of(change),
        Err(RecvError::Lagged(_)) => News::Anything,
        Err(RecvError::Closed) => {
            *upstream = None;
            pending().await
        }
    }
}
