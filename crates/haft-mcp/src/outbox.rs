//! One writer for all that goes to the client: lines leave in the order in which they were queued.

use std::{io, sync::Arc};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt, BufWriter},
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
};

/// How much may wait for a client that doesn't read before no more is read from it.
const QUEUED_MAX_BYTES: usize = 64 * 1024 * 1024;

/// Takes lines; a task of its own writes them.
pub(crate) struct Outbox {
    items: mpsc::UnboundedSender<Item>,
    queued: Arc<watch::Sender<usize>>,
}

enum Item {
    Line { text: String, written: oneshot::Sender<()> },
    Close,
}

impl Outbox {
    /// Starts the writer; it ends after [`Outbox::close`] or at the first fault.
    pub(crate) fn open<W>(output: W) -> (Self, JoinHandle<io::Result<()>>)
    where
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (items, receiver) = mpsc::unbounded_channel();
        let queued = Arc::new(watch::Sender::new(0));
        let writer = tokio::spawn(write_all(output, receiver, Arc::clone(&queued)));
        (Self { items, queued }, writer)
    }

    /// Queues a line before it returns.
    ///
    /// # Errors
    /// A broken pipe where the writer has ended.
    pub(crate) fn push(&self, text: String) -> io::Result<()> {
        self.queue(text).map(drop)
    }

    /// Queues a line at the first poll and waits until it was written: a slow client slows its source.
    ///
    /// # Errors
    /// A broken pipe where the writer has ended.
    pub(crate) async fn write(&self, text: String) -> io::Result<()> {
        self.queue(text)?.await.map_err(|_| gone())
    }

    fn queue(&self, text: String) -> io::Result<oneshot::Receiver<()>> {
        let (written, receiver) = oneshot::channel();
        self.queued.send_modify(|bytes| *bytes = bytes.saturating_add(text.len()));
        self.items.send(Item::Line { text, written }).map_err(|_| gone())?;
        Ok(receiver)
    }

    /// Waits until the client has taken enough of what is queued.
    pub(crate) async fn room(&self) {
        // Fails only without a sender, and `self` has one.
        drop(self.queued.subscribe().wait_for(|bytes| *bytes < QUEUED_MAX_BYTES).await);
    }

    /// Waits until nothing can be written any more.
    pub(crate) async fn closed(&self) {
        self.items.closed().await;
    }

    /// Lets the writer end after what is queued.
    pub(crate) fn close(&self) {
        // An ended writer is what is asked for.
        let _ = self.items.send(Item::Close);
    }
}

fn gone() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

async fn write_all<W: AsyncWrite + Unpin>(
    output: W,
    mut items: mpsc::UnboundedReceiver<Item>,
    queued: Arc<watch::Sender<usize>>,
) -> io::Result<()> {
    let mut output = BufWriter::new(output);
    while let Some(Item::Line { text, written }) = items.recv().await {
        output.write_all(text.as_bytes()).await?;
        output.write_all(b"\n").await?;
        if items.is_empty() {
            output.flush().await?;
        }
        queued.send_modify(|bytes| *bytes = bytes.saturating_sub(text.len()));
        // Most senders don't wait.
        let _ = written.send(());
    }
    output.flush().await
}
