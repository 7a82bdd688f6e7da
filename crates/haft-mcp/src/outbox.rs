//! One writer for all that goes to the client: lines leave in the order in which they were queued.

use std::{
    collections::HashSet,
    io,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::{
    io::{AsyncWrite, AsyncWriteExt, BufWriter},
    sync::{mpsc, watch},
    task::JoinHandle,
};

/// How much may wait for a client that doesn't read before no more is read from it.
const QUEUED_MAX_BYTES: usize = 64 * 1024 * 1024;
/// How much may wait before what may be lost is lost.
const OFFERED_MAX_BYTES: usize = 256 * 1024;

/// Takes lines; a task of its own writes them.
pub(crate) struct Outbox {
    items: mpsc::UnboundedSender<Item>,
    queued: Arc<watch::Sender<usize>>,
    told: Told,
}

/// News that wait.
type Told = Arc<Mutex<HashSet<String>>>;

enum Item {
    Line(String),
    News(String),
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
        let told = Told::default();
        let writer = tokio::spawn(write_all(output, receiver, Arc::clone(&queued), Arc::clone(&told)));
        (Self { items, queued, told }, writer)
    }

    /// Queues a line before it returns.
    ///
    /// # Errors
    /// A broken pipe where the writer has ended.
    pub(crate) fn push(&self, text: String) -> io::Result<()> {
        self.queued.send_modify(|bytes| *bytes = bytes.saturating_add(text.len()));
        self.items.send(Item::Line(text)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Queues a line, unless just the same waits already.
    ///
    /// # Errors
    /// As [`Outbox::push`].
    pub(crate) fn tell(&self, text: String) -> io::Result<()> {
        let is_new = self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(text.clone());
        if !is_new {
            return Ok(());
        }
        self.queued.send_modify(|bytes| *bytes = bytes.saturating_add(text.len()));
        self.items.send(Item::News(text)).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    /// Queues a line where not much waits already.
    pub(crate) fn offer(&self, text: String) {
        let waiting = *self.queued.borrow();
        if waiting < OFFERED_MAX_BYTES {
            // A client that can't be written to has left, which the next read notices.
            drop(self.push(text));
        }
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

async fn write_all<W: AsyncWrite + Unpin>(
    output: W,
    mut items: mpsc::UnboundedReceiver<Item>,
    queued: Arc<watch::Sender<usize>>,
    told: Told,
) -> io::Result<()> {
    let mut output = BufWriter::new(output);
    while let Some(item) = items.recv().await {
        let text = match item {
            Item::Line(text) => text,
            Item::News(text) => {
                // What changes from now on is news again.
                told.lock().unwrap_or_else(PoisonError::into_inner).remove(&text);
                text
            }
            Item::Close => break,
        };
        output.write_all(text.as_bytes()).await?;
        output.write_all(b"\n").await?;
        if items.is_empty() {
            output.flush().await?;
        }
        queued.send_modify(|bytes| *bytes = bytes.saturating_sub(text.len()));
    }
    output.flush().await
}
