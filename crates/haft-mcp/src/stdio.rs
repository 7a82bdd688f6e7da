//! One client over a pair of pipes.

use crate::{
    batch,
    call::{END_TIMEOUT, FINISH_TIMEOUT},
    era::Era,
    fault::Fault,
    frame::parse,
    lines::{LINE_MAX_BYTES, Line, Lines},
    outbox::Outbox,
    peer::{Heard, Peer},
    reach::Reach,
    work::refusal,
};
use std::{io, sync::Arc};
use tokio::{io::AsyncRead, time::timeout};

/// Serves until the client leaves, and what it asked for is done or out of time.
///
/// # Errors
/// The input broke.
pub(crate) async fn serve<R: AsyncRead + Unpin>(
    peer: &Arc<Peer>,
    outbox: &Outbox,
    mut lines: Lines<R>,
) -> io::Result<()> {
    let via = Arc::clone(&peer.aside);
    let read = loop {
        match next_line(outbox, &mut lines).await {
            Ok(Some(line)) => take(peer, &via, &line),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    // It may still read: what it asked for is finished, within bounds. What it would have to answer is not.
    peer.hush();
    tokio::select! {
        () = peer.idle() => {}
        () = outbox.closed() => {}
        () = tokio::time::sleep(FINISH_TIMEOUT) => {}
    }
    peer.end();
    // What doesn't end is left behind.
    let _ = timeout(END_TIMEOUT, peer.idle()).await;
    read
}

/// The next line, once the client has taken most of what it asked for; none where it takes no more.
async fn next_line<R: AsyncRead + Unpin>(outbox: &Outbox, lines: &mut Lines<R>) -> io::Result<Option<Line>> {
    let line = async {
        outbox.room().await;
        lines.next().await
    };
    tokio::select! {
        () = outbox.closed() => Ok(None),
        line = line => line,
    }
}

fn take(peer: &Arc<Peer>, via: &Arc<dyn Reach>, line: &Line) {
    let text = match line {
        Line::Text(text) => text,
        Line::TooLong => {
            let fault = Fault::invalid_request(&format!("a message has at most {LINE_MAX_BYTES} bytes"));
            return via.close(Some(refusal(None, &fault, Era::Legacy)));
        }
        Line::NotText => {
            return via.close(Some(refusal(None, &Fault::not_json("a message is UTF-8"), Era::Legacy)));
        }
    };
    if text.starts_with('[') && peer.takes_batches() {
        match batch::take(peer, via, text, |frame| Ok(peer.era_of(frame))) {
            Ok(works) => {
                for work in works {
                    tokio::spawn(work.perform());
                }
            }
            Err(fault) => via.close(Some(refusal(None, &fault, Era::Legacy))),
        }
        return;
    }
    let frame = parse(text);
    let era = peer.era_of(&frame);
    match peer.hear(&frame, via, era) {
        Heard::Request(work) => {
            tokio::spawn(work.perform());
        }
        Heard::Taken => {}
        Heard::Fault { raw_id, fault } => via.close(Some(refusal(raw_id.as_deref(), &fault, era))),
    }
}
