//! A command that is talked with while it runs: its streams as they are, and the end of its tree.
//!
//! Leaves to whoever talks what is said and how long; keeps the invariant "each child is owned": the tree goes with
//! [`OsTalk`], as with a call's run.

use super::{
    control::Control,
    launch::{Held, Keepers, Launched, PutUp, not_put_up},
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
pub(super) async fn begin(launched: Launched) -> Result<PutUp<Talk>, Failure> {
    let Launched { mut control, reaper, out, err, input, held, keepers, .. } = launched;
    let feed = input.ok_or_else(|| Failure::internal("a command that is talked with has no input"))?;
    let mut told = Told::default();
    if let Some(held) = &held {
        while held.is_outside(&told) && !told.has_ended() {
            told.take(control.next_record().await);
        }
        if held.is_outside(&told) && told.failed.is_none() {
            let mut complaint = [0; COMPLAINT_MAX_BYTES];
            let count = err.as_ref().unwrap_or(&out).try_read(&mut complaint).unwrap_or_default();
            return Ok(PutUp::Not(not_put_up(complaint.get(..count).unwrap_or_default())));
        }
    }
    let output: BoxStream<'static, (Stdio, Vec<u8>)> = match err {
        Some(err) => Box::pin(stream::select(pieces(Stdio::Out, out), pieces(Stdio::Err, err))),
        None => Box::pin(pieces(Stdio::Out, out)),
    };
    let process = Box::new(OsTalk { control, told, reaper, held, keepers });
    Ok(PutUp::Done(Talk { output, input: Box::new(OsInput(feed.into_sender())), process }))
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

impl TalkProcess for OsTalk {
    fn end(self: Box<Self>) -> BoxFuture<'static, Result<Exit, Failure>> {
        let Self { mut control, mut told, reaper, held, keepers } = *self;
        Box::pin(async move {
            // Records come in order, so that an end of its own shows before the one by KILL.
            control.kill();
            while !told.is_over() {
                match timeout(KILL_WAIT, control.next_record()).await {
                    Ok(record) => told.take(record),
                    Err(_) => break,
                }
            }
            // What a supervisor that is gone, or hangs, has left.
            if let Some(group) = keepers.group.as_ref().filter(|_| !told.is_gone) {
                group.kill();
            }
            if let Some(session) = told.first.filter(|_| told.is_lost) {
                blocking(move || sweep_session(session)).await;
            }
            // So that not even a zombie is left.
            drop(timeout(REAP_WAIT, reaper).await);
            let status = told.status().unwrap_or(Status::Signal(libc::SIGKILL));
            let is_own = status != Status::Signal(libc::SIGKILL);
            if let Some(why) = held.as_ref().and_then(|held| held.refusal(&told)) {
                return Err(why);
            }
            let confined = match held {
                Some(held) => blocking(move || Some(held.end())).await,
                None => None,
            };
            Ok(Exit {
                status,
                reason: if is_own { StopReason::Itself } else { StopReason::Cancelled },
                survivors: Vec::new(),
                survivor_count: 0,
                report: Vec::new(),
                confined,
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
