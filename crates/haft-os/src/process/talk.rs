//! A command that is talked with while it runs: its streams as they are, and the end of its tree.
//!
//! Leaves to whoever talks what is said and how long; keeps the invariant "each child is owned": the tree goes with
//! [`OsTalk`], as with a call's run.

use super::{
    control::{Control, Record},
    launch::{Held, Keepers, Launched},
};
use futures::{StreamExt as _, stream};
use haft_core::{
    BoxFuture, BoxStream, Exit, Failure, FailureKind, Status, Stdio, StopReason, Talk, TalkInput, TalkProcess,
};
use std::{os::unix::process::ExitStatusExt, process::ExitStatus, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::unix::pipe::{Receiver, Sender},
    task::{JoinHandle, spawn_blocking},
    time::timeout,
};

/// The longest piece of output.
const PIECE_BYTES: usize = 64 * 1024;
/// How long what was killed is waited for.
const KILL_WAIT: Duration = Duration::from_secs(5);
/// How long the reaping of a supervisor that said goodbye is waited for.
const REAP_WAIT: Duration = Duration::from_secs(1);

/// The three parts of a command that has started with its input open.
pub(super) fn begin(launched: Launched) -> Result<Talk, Failure> {
    let Launched { control, reaper, out, err, input, held, keepers, .. } = launched;
    let feed = input.ok_or_else(|| Failure::internal("a command that is talked with has no input"))?;
    let output: BoxStream<'static, (Stdio, Vec<u8>)> = match err {
        Some(err) => Box::pin(stream::select(pieces(Stdio::Out, out), pieces(Stdio::Err, err))),
        None => Box::pin(pieces(Stdio::Out, out)),
    };
    let process = Box::new(OsTalk { control, reaper, held, keepers });
    Ok(Talk { output, input: Box::new(OsInput(feed.into_sender())), process })
}

/// What comes through a pipe until its end.
fn pieces(from: Stdio, pipe: Receiver) -> impl futures::Stream<Item = (Stdio, Vec<u8>)> + Send + 'static {
    stream::unfold(pipe, |mut pipe| async move {
        let mut piece = Vec::with_capacity(PIECE_BYTES);
        match pipe.read_buf(&mut piece).await {
            Ok(count) if count > 0 => Some((piece, pipe)),
            // A broken pipe is an end too.
            _ => None,
        }
    })
    .map(move |piece| (from, piece))
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
    reaper: JoinHandle<()>,
    held: Option<Held>,
    keepers: Keepers,
}

impl TalkProcess for OsTalk {
    fn end(self: Box<Self>) -> BoxFuture<'static, Result<Exit, Failure>> {
        let Self { mut control, reaper, held, keepers } = *self;
        Box::pin(async move {
            // Records come in order, so that an end of its own shows before the one by KILL.
            control.kill();
            let (mut ended, mut failed) = (None, None);
            let (mut is_inside, mut is_gone) = (false, false);
            while let Ok(Some(record)) = timeout(KILL_WAIT, control.next_record()).await {
                match record {
                    Record::Ended { status, .. } => drop(ended.get_or_insert(status)),
                    Record::Failed { step, errno } => failed = Some((step, errno)),
                    Record::Inside => is_inside = true,
                    Record::Gone => {
                        is_gone = true;
                        break;
                    }
                    Record::Started { .. } => {}
                }
            }
            // What a supervisor that is gone, or hangs, has left.
            if let Some(group) = keepers.group.as_ref().filter(|_| !is_gone) {
                group.kill();
            }
            // So that not even a zombie is left.
            drop(timeout(REAP_WAIT, reaper).await);
            let status = ended.map_or(Status::Signal(libc::SIGKILL), status_of);
            let is_own = status != Status::Signal(libc::SIGKILL);
            if let Some(held) = &held
                && (failed.is_some() || held.is_through() && !is_inside && is_own)
            {
                return Err(held.refused(failed));
            }
            let confined = match held {
                Some(held) => spawn_blocking(move || held.end()).await.ok(),
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

fn status_of(raw: i32) -> Status {
    let status = ExitStatus::from_raw(raw);
    let by_signal = || Status::Signal(status.signal().unwrap_or(libc::SIGKILL));
    status.code().map_or_else(by_signal, Status::Code)
}
