//! A server that is a process of its own, spoken with over its standard streams.
//!
//! The process and all it starts belong to whoever started it: they end with the connection, and with haft.

use super::{eager::Eager, log::ServerLog, router::Router};
use crate::lines::{LINE_MAX_BYTES, LineBuffer};
use haft_core::{Cancel, Command, Exit, Failure, Processes, Status, Stdio as Stream, StopReason, Tether};
use std::{sync::Arc, time::Duration};
use tokio::{sync::watch, task::AbortHandle, time::timeout};

/// How long a server may take to end once its input is closed, before it is told to.
const CLOSE_TIME: Duration = Duration::from_millis(1_500);
/// How long its end is waited for after that; killing takes 2 s.
const STOP_TIME: Duration = Duration::from_secs(4);

/// The process and the ends of its streams.
pub(crate) struct Stdio {
    input: Tether,
    cancel: Cancel,
    over: watch::Receiver<bool>,
    task: AbortHandle,
    /// Who waits for its answers.
    pub(crate) eager: Eager,
}

impl Stdio {
    /// Starts it. What it says goes to `router`, what it says beside the protocol to `log`. Must be called within the
    /// tokio runtime.
    pub(crate) fn start(
        command: Command,
        processes: Arc<dyn Processes>,
        router: Arc<Router>,
        log: Arc<ServerLog>,
    ) -> Self {
        let input = Tether::open();
        let command = Command { tether: Some(input.clone()), ..command };
        let (gone, over) = watch::channel(false);
        let cancel = Cancel::new();
        let (stop, own) = (cancel.clone(), input.clone());
        let task = tokio::spawn(async move {
            let mut buffer = LineBuffer::new(LINE_MAX_BYTES);
            let exit = {
                let mut take = |stream: Stream, bytes: &[u8]| match stream {
                    Stream::Out => router.bytes(&mut buffer, bytes),
                    Stream::Err => log.stderr(bytes),
                };
                processes.run(command, &stop, &mut take).await
            };
            router.end(&mut buffer);
            router.lose(&in_words(&exit));
            // Whoever still waits to write to it waits for nothing.
            own.refuse();
            let _ = gone.send(true);
        });
        Self { input, cancel, over, task: task.abort_handle(), eager: Eager::default() }
    }

    /// Sends a line; waits where the server doesn't read.
    ///
    /// # Errors
    /// The server takes no more.
    pub(crate) async fn send(&self, line: String) -> Result<(), String> {
        let sent = self.input.write_in_turn(ended(line)).await;
        sent.map_err(|_| "it takes no more input".to_owned())
    }

    /// Sends a line if the server takes it now; else it is dropped.
    pub(crate) fn push(&self, line: String) {
        // A server that doesn't read wants to know nothing.
        let _ = self.input.write(ended(line));
    }

    /// Closes its input, then has it stopped, then killed.
    pub(crate) async fn stop(&self) {
        // One that has closed it has ended, or is about to.
        let _ = self.input.close();
        if !self.has_ended_within(CLOSE_TIME).await {
            self.cancel.fire();
            self.has_ended_within(STOP_TIME).await;
        }
        self.task.abort();
    }

    async fn has_ended_within(&self, time: Duration) -> bool {
        let mut over = self.over.clone();
        timeout(time, over.wait_for(|over| *over)).await.is_ok()
    }
}

impl Drop for Stdio {
    fn drop(&mut self) {
        // Its tree is killed with it.
        self.task.abort();
    }
}

/// A line as it is written.
fn ended(line: String) -> Vec<u8> {
    let mut bytes = line.into_bytes();
    bytes.push(b'\n');
    bytes
}

/// How it ended.
fn in_words(exit: &Result<Exit, Failure>) -> String {
    match exit {
        Err(failure) => failure.text.clone(),
        Ok(exit) => match (exit.reason, exit.status) {
            (StopReason::Cancelled | StopReason::Deadline, _) => "it was told to end".to_owned(),
            (StopReason::Itself, Status::Code(0)) => "it ended by itself".to_owned(),
            (StopReason::Itself, Status::Code(code)) => format!("it exited with code {code}"),
            (StopReason::Itself, Status::Signal(signal)) => format!("it was killed by signal {signal}"),
        },
    }
}
