//! What is written to the first process of a tree: all at once, or piece by piece while it runs.

use super::control::is_for_now;
use haft_core::{Command, ProcessInput, Tether};
use std::{future::pending, mem};
use tokio::net::unix::pipe::Sender;

/// What ends the input at a terminal: the sign that is typed for it.
const END_OF_INPUT: u8 = 4;

/// The writing end of a standard input, a pipe's or a terminal's, and what goes there.
pub(super) struct Input {
    pipe: Sender,
    piece: Vec<u8>,
    written: usize,
    more: More,
    is_terminal: bool,
}

/// Where further input comes from.
enum More {
    Nowhere,
    Pieces(ProcessInput),
    Tether(Tether),
}

/// What can be done next.
pub(super) enum InputNews {
    /// The pipe takes some of the piece in hand.
    Writable,
    /// The next piece, or the end of what is to be written.
    Piece(Option<Vec<u8>>),
}

impl Input {
    /// What a command is given from its start, then what comes over `more` or else its tether.
    pub(super) fn new(pipe: Sender, command: &Command, more: Option<ProcessInput>) -> Self {
        let more = match (more, command.tether.clone().filter(Tether::takes_input)) {
            (Some(pieces), _) => More::Pieces(pieces),
            (None, Some(tether)) => More::Tether(tether),
            (None, None) => More::Nowhere,
        };
        let is_terminal = command.terminal.is_some();
        Self { pipe, piece: command.stdin.clone(), written: 0, more, is_terminal }
    }

    /// Waits for what can be done next.
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
            More::Pieces(pieces) => InputNews::Piece(pieces.recv().await),
            More::Tether(tether) => InputNews::Piece(tether.next_input().await),
            // A terminal stays open for a command that nobody types to.
            More::Nowhere if self.is_terminal => pending().await,
            More::Nowhere => InputNews::Piece(None),
        }
    }

    /// Takes the next piece in hand, or the news that there is none; says whether the input stays open.
    pub(super) fn take(&mut self, piece: Option<Vec<u8>>) -> bool {
        let is_over = piece.is_none();
        // A terminal isn't closed: the end is typed there, once.
        let is_typed = is_over
            && self.is_terminal
            && !matches!(mem::replace(&mut self.more, More::Nowhere), More::Nowhere);
        self.piece = piece.unwrap_or_else(|| if is_typed { vec![END_OF_INPUT] } else { Vec::new() });
        self.written = 0;
        !is_over || is_typed
    }

    /// Writes what can be written now; says whether the input stays open. A child that closes its input is no error: it
    /// wanted no more.
    pub(super) fn write(&mut self) -> bool {
        match self.pipe.try_write(self.piece.get(self.written..).unwrap_or_default()) {
            Ok(count) => {
                self.written = self.written.saturating_add(count);
                if let More::Tether(tether) = &self.more {
                    tether.has_taken(count);
                }
                true
            }
            Err(fault) if is_for_now(&fault) => true,
            Err(_) => {
                if let More::Tether(tether) = &self.more {
                    tether.refuse();
                }
                false
            }
        }
    }
}
