//! A child that runs a script, as haft sees it: lines from it, lines to it, and its end.

use crate::wire::{LINE_MAX_BYTES, Order, Word};
use futures::{FutureExt as _, StreamExt as _};
use haft_core::{BoxStream, Exit, Failure, Status, Stdio, Talk, TalkProcess};
use tokio::sync::mpsc;

/// How much of what a child says to nobody is kept, for the operator.
const COMPLAINT_MAX_BYTES: usize = 4 * 1024;

/// A running child. Dropping it kills it.
pub(crate) struct Guest {
    output: BoxStream<'static, (Stdio, Vec<u8>)>,
    orders: mpsc::UnboundedSender<Vec<u8>>,
    process: Box<dyn TalkProcess>,
    buffer: Vec<u8>,
    /// So much of the buffer holds no end of a line.
    searched: usize,
    complaint: Vec<u8>,
    /// What it isn't kept from.
    pub(crate) gaps: Vec<String>,
}

/// Why nothing more comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Gone {
    /// It has ended.
    Ended,
    /// It said what isn't in the language.
    Broken(String),
}

impl Guest {
    /// Takes a process over. Must be called within a tokio runtime.
    pub(crate) fn new(talk: Talk) -> Self {
        let Talk { output, mut input, process } = talk;
        let (orders, mut waiting) = mpsc::unbounded_channel::<Vec<u8>>();
        // Apart, so that a child that listens to nobody and one that is listened to hold each other up never.
        tokio::spawn(async move {
            while let Some(line) = waiting.recv().await {
                if input.write(&line).await.is_err() {
                    return;
                }
            }
        });
        Self {
            output,
            orders,
            process,
            buffer: Vec::new(),
            searched: 0,
            complaint: Vec::new(),
            gaps: Vec::new(),
        }
    }

    /// Tells it something. One that is gone hears nothing.
    pub(crate) fn tell(&self, order: &Order) {
        send(&self.orders, order);
    }

    /// Tells it things without holding it.
    pub(crate) fn teller(&self) -> Teller {
        Teller(self.orders.clone())
    }

    /// What it says next.
    ///
    /// # Cancellation
    /// Nothing is lost when the future is dropped.
    ///
    /// # Errors
    /// It is gone, or speaks another language.
    pub(crate) async fn next(&mut self) -> Result<Word, Gone> {
        loop {
            if let Some(line) = self.line() {
                return serde_json::from_slice(&line).map_err(|error| Gone::Broken(error.to_string()));
            }
            if self.buffer.len() > LINE_MAX_BYTES {
                return Err(Gone::Broken("a line of more than 16 MiB".to_owned()));
            }
            match self.output.next().await {
                Some((from, bytes)) => self.take(from, &bytes),
                None => return Err(Gone::Ended),
            }
        }
    }

    /// Whether one that waited is still there.
    pub(crate) fn is_alive(&mut self) -> bool {
        match self.output.next().now_or_never() {
            None => true,
            Some(Some((from, bytes))) => {
                self.take(from, &bytes);
                true
            }
            Some(None) => false,
        }
    }

    /// Ends it, and says how it had ended.
    ///
    /// # Errors
    /// The process can't be had to end.
    pub(crate) async fn end(self) -> Result<Ending, Failure> {
        let exit = self.process.end().await?;
        Ok(Ending { exit, complaint: String::from_utf8_lossy(&self.complaint).into_owned() })
    }

    fn take(&mut self, from: Stdio, bytes: &[u8]) {
        match from {
            Stdio::Out => self.buffer.extend_from_slice(bytes),
            Stdio::Err => {
                let room = COMPLAINT_MAX_BYTES.saturating_sub(self.complaint.len());
                self.complaint.extend(bytes.iter().take(room));
            }
        }
    }

    fn line(&mut self) -> Option<Vec<u8>> {
        let rest = self.buffer.get(self.searched..).unwrap_or_default();
        let Some(at) = rest.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            return None;
        };
        let end = self.searched.saturating_add(at);
        self.searched = 0;
        let mut line: Vec<u8> = self.buffer.drain(..=end).collect();
        line.pop();
        Some(line)
    }
}

fn send(orders: &mpsc::UnboundedSender<Vec<u8>>, order: &Order) {
    let Ok(mut line) = serde_json::to_vec(order) else { return };
    line.push(b'\n');
    let _ = orders.send(line);
}

/// A way to tell a child something.
#[derive(Debug, Clone)]
pub(crate) struct Teller(mpsc::UnboundedSender<Vec<u8>>);

impl Teller {
    /// Tells it something. One that is gone hears nothing.
    pub(crate) fn tell(&self, order: &Order) {
        send(&self.0, order);
    }
}

/// How a child ended.
#[derive(Debug)]
pub(crate) struct Ending {
    exit: Exit,
    complaint: String,
}

impl Ending {
    /// A failure for a child that ended before its script did.
    pub(crate) fn failure(&self) -> Failure {
        let how = match self.exit.status {
            Status::Code(code) => format!("exit {code}"),
            Status::Signal(signal) => format!("signal {signal}"),
        };
        Failure::internal(format!(
            "the script's process ended before the script did ({how}): it used more memory or a deeper stack than it \
             may, or the engine failed on it; do it in smaller steps"
        ))
        .diagnose(format!("engine child: {how}; {}", self.complaint.trim()))
    }
}
