//! What is written to the first process of a tree: all at once, or piece by piece while it runs.

use super::control::is_for_now;
use haft_core::ProcessInput;
use std::future::pending;
use tokio::net::unix::pipe::Sender;

/// The writing end of a standard input, and what goes there.
pub(super) struct Input {
    pipe: Sender,
    piece: Vec<u8>,
    written: usize,
    more: Option<ProcessInput>,
}

/// What can be done next.
pub(super) enum InputNews {
    /// The pipe takes some of the piece in hand.
    Writable,
    /// The next piece, or the end of what is to be written.
    Piece(Option<Vec<u8>>),
}

impl Input {
    /// First `piece`, then what comes over `more`.
    pub(super) fn new(pipe: Sender, piece: Vec<u8>, more: Option<ProcessInput>) -> Self {
        Self { pipe, piece, written: 0, more }
    }

    /// Waits for what can be done next; for ever where there is nothing.
    ///
    /// # Cancellation
    /// Nothing is lost when the future is dropped.
    pub(super) async fn news(&mut self) -> InputNews {
        if self.written < self.piece.len() {
            // Errors show when it is written.
            drop(self.pipe.writable().await);
            return InputNews::Writable;
        }
        match &mut self.more {
            Some(more) => InputNews::Piece(more.recv().await),
            None => pending().await,
        }
    }

    /// Takes the next piece in hand, or the news that there is none; says whether the input stays open.
    pub(super) fn take(&mut self, piece: Option<Vec<u8>>) -> bool {
        match piece {
            Some(piece) => {
                self.piece = piece;
                self.written = 0;
                true
            }
            None => false,
        }
    }

    /// Writes what the pipe takes; says whether the input stays open. A child that closes its input is no error: it
    /// wanted no more.
    pub(super) fn write(&mut self) -> bool {
        match self.pipe.try_write(self.piece.get(self.written..).unwrap_or_default()) {
            Ok(count) => self.written = self.written.saturating_add(count),
            Err(fault) if is_for_now(&fault) => return true,
            Err(_) => return false,
        }
        if self.written < self.piece.len() {
            return true;
        }
        self.piece = Vec::new();
        self.written = 0;
        self.more.is_some()
    }
}
