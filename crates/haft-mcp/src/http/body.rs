//! A stream of messages as server-sent events.

use super::{
    response::Body,
    stream::{Next, Stream},
};
use futures::stream::unfold;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame};
use std::{convert::Infallible, pin::pin, sync::Arc, time::Duration};
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};

/// How often a client hears that the connection lives.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How soon a client whose stream ended early should come back, in milliseconds.
const RETRY_MS: u64 = 1_000;

/// Who reads a stream now.
pub(super) struct Reader {
    stream: Arc<Stream>,
    turn: u64,
    after: u64,
    /// The stream's number within its session, where messages can be asked for again.
    number: Option<u64>,
    /// Said before the first message.
    priming: Option<String>,
    /// Ends it before the stream does.
    until: CancellationToken,
    /// Fires when the client goes away.
    gone: Option<DropGuard>,
}

impl Reader {
    /// Reads from after message `after`; none where what follows isn't kept any more.
    pub(super) fn new(stream: &Arc<Stream>, after: u64, number: Option<u64>) -> Option<Self> {
        let reader = stream.read_from(after)?;
        let until = CancellationToken::new();
        Some(Self {
            stream: Arc::clone(stream),
            turn: reader,
            after,
            number,
            priming: None,
            until,
            gone: None,
        })
    }

    /// Ends when this fires, whatever is still to come.
    #[must_use]
    pub(super) fn until(mut self, end: CancellationToken) -> Self {
        self.until = end;
        self
    }

    /// Says first from where the client may come back; clients before 2025-11-25 don't expect it.
    #[must_use]
    pub(super) fn primed(mut self) -> Self {
        let id = self.id().unwrap_or_default();
        self.priming = Some(format!("{id}retry: {RETRY_MS}\ndata: \n\n"));
        self
    }

    /// Has something happen when the client goes away.
    #[must_use]
    pub(super) fn or_else(mut self, gone: DropGuard) -> Self {
        self.gone = Some(gone);
        self
    }

    /// The body of a response.
    pub(super) fn into_body(self) -> Body {
        let events = unfold(self, |mut reader| async move {
            let bytes = reader.next().await?;
            Some((Ok::<_, Infallible>(Frame::data(bytes)), reader))
        });
        StreamBody::new(events).boxed_unsync()
    }

    async fn next(&mut self) -> Option<Bytes> {
        if let Some(priming) = self.priming.take() {
            return Some(priming.into());
        }
        loop {
            let mut changed = pin!(self.stream.changes());
            changed.as_mut().enable();
            match self.stream.next(self.after, self.turn) {
                Next::Event(event) => {
                    self.after += 1;
                    let id = self.id().unwrap_or_default();
                    return Some(framed(&id, &event));
                }
                Next::End => return None,
                Next::Wait => {}
            }
            tokio::select! {
                () = changed => {}
                () = self.until.cancelled() => return None,
                () = sleep(KEEP_ALIVE) => return Some(Bytes::from_static(b":\n\n")),
            }
        }
    }

    /// The line that names the last message.
    fn id(&self) -> Option<String> {
        self.number.map(|number| format!("id: {number}-{}\n", self.after))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stream.left(self.turn);
        drop(self.gone.take());
    }
}

/// A message as an event; `id` is the line that names it, or empty.
fn framed(id: &str, message: &Bytes) -> Bytes {
    let parts: [&[u8]; 5] = [b"event: message\n", id.as_bytes(), b"data: ", message, b"\n\n"];
    parts.concat().into()
}

/// The stream and the message that a client has seen last.
pub(super) fn seen(id: &str) -> Option<(u64, u64)> {
    let (number, after) = id.split_once('-')?;
    Some((number.parse().ok()?, after.parse().ok()?))
}
