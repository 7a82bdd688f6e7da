//! A way to a client: over stdio all messages share one, over HTTP each request has its own.

use crate::outbox::Outbox;
use std::{io, sync::Arc};

/// Where messages go.
pub(crate) trait Reach: Send + Sync {
    /// Queues a message before it returns.
    ///
    /// # Errors
    /// A broken pipe where nobody reads any more.
    fn push(&self, text: String) -> io::Result<()>;

    /// Queues a message, unless just the same waits already: news that are told over and over cost no memory.
    ///
    /// # Errors
    /// As [`Reach::push`].
    fn tell(&self, text: String) -> io::Result<()>;

    /// Queues a message that may be lost, where there is room for it: progress and log lines cost no memory, however
    /// slow the client.
    fn offer(&self, text: String);

    /// Queues the reply that ends what goes this way for a request; none where the client no longer wants it.
    fn close(&self, reply: Option<Reply>);

    /// Whether requests can be sent to the client this way.
    fn can_ask(&self) -> bool;
}

/// The reply to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reply {
    /// The whole message.
    pub(crate) text: String,
    /// What HTTP says with it.
    pub(crate) status: u16,
}

/// The one way over stdio.
pub(crate) struct Pipe(pub(crate) Arc<Outbox>);

impl Reach for Pipe {
    fn push(&self, text: String) -> io::Result<()> {
        self.0.push(text)
    }

    fn tell(&self, text: String) -> io::Result<()> {
        self.0.tell(text)
    }

    fn offer(&self, text: String) {
        self.0.offer(text);
    }

    fn close(&self, reply: Option<Reply>) {
        if let Some(reply) = reply {
            // A client that can't be written to has left, which the next read notices.
            drop(self.0.push(reply.text));
        }
    }

    fn can_ask(&self) -> bool {
        true
    }
}
