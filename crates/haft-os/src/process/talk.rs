//! A command that is talked with while it runs: its streams as they are, and the end of its tree.
//!
//! Leaves to whoever talks what is said and how long; keeps the invariant "each child is owned": the tree goes with
//! [`OsTalk`], as with a call's run.

use super::{
    control::Control,
    launch::{Held, Keepers, Launched, NotPutUp, PutUp, ended, unused},
    run::{COMPLAINT_MAX_BYTES, KILL_WAIT, PIECE_BYTES, REAP_WAIT, blocking, sweep_session},
    told::Told,
};
use futures::{StreamExt as _, stream};
use haft_core::{
    BoxFuture, BoxStream, Exit, Failure, FailureKind, Status, Stdio, StopReason, Talk, TalkInput, TalkProcess,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::unix::pipe::{Receiver, Sender},
    task::JoinHandle,
    time::timeout,
};

/// Longer pieces aren't copied.
const COPIED_MAX_BYTES: usize = 8 * 1024;

/// The three parts of a command that has started with its input open.
///
/// # Cancellation
/// Dropping the future kills the tree.
pub(super) async fn begin(launched: Launched) -> Result<PutUp<Talk>, Failure> {
    let Launched { control, reaper, out, err, input, held, keepers, .. } = launched;
    let feed = input.ok_or_else(|| Failure::internal("a command that is talked with has no input"))?;
    let mut process = OsTalk { control, told: Told::default(), reaper, held, keepers };
    while process.is_outside() && !process.told.has_ended() {
        let record = process.control.next_record().await;
        process.told.take(record);
    }
    if process.is_outside() && process.told.failed.is_none() {
        let mut complaint = [0; COMPLAINT_MAX_BYTES];
        let count = err.as_ref().unwrap_or(&out).try_read(&mut complaint).unwrap_or_default();
        process.kill().await;
        let complaint = complaint.get(..count).unwrap_or_default();
        return Ok(PutUp::Not(NotPutUp::new(process.held, complaint).await));
    }
    let output: BoxStream<'static, (Stdio, Vec<u8>)> = match err {
        Some(err) => Box::pin(stream::select(pieces(Stdio::Out, out), pieces(Stdio::Err, err))),
        None => Box::pin(pieces(Stdio::Out, out)),
    };
    let input = Box::new(OsInput(feed.into_sender()));
    Ok(PutUp::Done(Talk { output, input, process: Box::new(process) }))
}

/// What comes through a pipe until its end.
fn pieces(from: Stdio, pipe: Receiver) -> impl futures::Stream<Item = (Stdio, Vec<u8>)> + Send + 'static {
    stream::unfold((pipe, Vec::<u8>::new()), |(mut pipe, mut buffer)| async move {
        buffer.reserve(PIECE_BYTES);
        match pipe.read_buf(&mut buffer).await {
            Ok(count) if count > 0 => Some((piece(&mut buffer), (pipe, buffer))),
            // A broken pipe is an end too.
            _ => None,
        }
    })
    .map(move |piece| (from, piece))
}

/// Takes what was read. A line is a copy as long as it is, so that the buffer needn't be made anew for each; a long piece
/// is the buffer itself.
fn piece(buffer: &mut Vec<u8>) -> Vec<u8> {
    if buffer.len() > COPIED_MAX_BYTES {
        return std::mem::take(buffer);
    }
    let piece = buffer.as_slice().to_vec();
    buffer.clear();
    piece
}

struct OsInput(Sender);

impl TalkInput for OsInput {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            self.0.write_all(bytes).await.map_err(|fault| {
                Failure::new(FailureKind::Unavailable, "the process takes no more input")
                    .diagnose(fault.to_string())
            })
        })
    }
}

struct OsTalk {
    control: Control,
    /// What was said until the talk began.
    told: Told,
    reaper: JoinHandle<()>,
    held: Option<Held>,
    keepers: Keepers,
}

impl OsTalk {
    /// Whether bubblewrap is still at work, or failed.
    fn is_outside(&self) -> bool {
        self.held.as_ref().is_some_and(|held| held.is_outside(&self.told))
    }

    /// Kills the tree and waits until it is gone.
    async fn kill(&mut self) {
        // Records come in order, so that an end of its own shows before the one by KILL.
        self.control.kill();
        while !self.told.is_over() {
            match timeout(KILL_WAIT, self.control.next_record()).await {
                Ok(record) => self.told.take(record),
                Err(_) => break,
            }
        }
        // What a supervisor that is gone, or hangs, has left.
        if let Some(group) = self.keepers.group.as_ref().filter(|_| !self.told.is_gone) {
            group.kill();
        }
        if let Some(session) = self.told.first.filter(|_| self.told.is_lost) {
            blocking(move || sweep_session(session)).await;
        }
        // So that not even a zombie is left.
        drop(timeout(REAP_WAIT, &mut self.reaper).await);
    }
}

impl TalkProcess for OsTalk {
    fn end(self: Box<Self>) -> BoxFuture<'static, Result<Exit, Failure>> {
        let mut talk = *self;
        Box::pin(async move {
            talk.kill().await;
            let status = talk.told.status().unwrap_or(Status::Signal(libc::SIGKILL));
            let is_own = status != Status::Signal(libc::SIGKILL);
            if let Some(why) = talk.held.as_ref().and_then(|held| held.refusal(&talk.told)) {
                return Err(unused(talk.held, why).await);
            }
            Ok(Exit {
                status,
                reason: if is_own { StopReason::Itself } else { StopReason::Cancelled },
                survivors: Vec::new(),
                survivor_count: 0,
                report: Vec::new(),
                confined: ended(talk.held).await,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_is_what_was_read_and_a_short_one_leaves_the_buffer() {
        let mut buffer = Vec::with_capacity(PIECE_BYTES);
        buffer.extend_from_slice(b"line\n");
        assert_eq!(piece(&mut buffer), b"line\n");
        assert!(buffer.is_empty() && buffer.capacity() >= PIECE_BYTES);
        let long = vec![7; COPIED_MAX_BYTES + 1];
        buffer.extend_from_slice(&long);
        assert_eq!(piece(&mut buffer), long);
        assert!(buffer.is_empty());
    }
}
