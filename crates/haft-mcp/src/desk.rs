//! What transport and handlers share while one client is served.

use crate::{
    encode,
    fault::Fault,
    outbox::Outbox,
    server::{McpServer, Renewal, ServerInfo},
};
use haft_runtime::{Executor, Session};
use serde_json::Value;
use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};
use tokio_util::sync::CancellationToken;

/// One client's desk.
pub(crate) struct Desk {
    pub(crate) executor: Executor,
    pub(crate) session: Arc<Session>,
    pub(crate) outbox: Outbox,
    pub(crate) info: ServerInfo,
    /// Name and version as they stand in results.
    pub(crate) server: Value,
    /// Brings the catalogue up to date; blocking.
    pub(crate) renewal: Option<Renewal>,
    /// Fires when the client has closed its side: nobody waits for news any more.
    pub(crate) leaving: CancellationToken,
    /// Fires when calls must end.
    pub(crate) ending: CancellationToken,
    input_fault: Mutex<Option<io::Error>>,
}

impl Desk {
    pub(crate) fn new(server: McpServer, outbox: Outbox) -> Self {
        let McpServer { executor, session, info, renewal } = server;
        let server = encode::server(&info);
        let (ending, input_fault) = (CancellationToken::new(), Mutex::new(None));
        Self {
            executor,
            session,
            outbox,
            info,
            server,
            renewal,
            leaving: CancellationToken::new(),
            ending,
            input_fault,
        }
    }

    /// Answers with an error.
    pub(crate) fn refuse(&self, id: Option<&str>, fault: &Fault) {
        // A client that can't be written to has left, which the next read notices.
        drop(self.outbox.push(encode::fault(id, fault)));
    }

    /// Keeps why the input broke, for whoever serves.
    pub(crate) fn input_broke(&self, error: io::Error) {
        *self.input_fault.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// Why the input broke, if it did.
    pub(crate) fn input_fault(&self) -> Option<io::Error> {
        self.input_fault.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
