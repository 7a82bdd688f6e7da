//! A value that a person types without anybody seeing it, or that a pipe brings.

use crate::{
    command::{Interrupts, block_on},
    status::Status,
    terminal::{Lines, Screen},
    trouble::Trouble,
};
use haft_core::{FailureKind, SECRET_MAX_BYTES, Secret, SecretError};
use haft_os::host;
use std::sync::Arc;

/// A terminal hands over no more of one line, and drops the rest.
const TYPED_MAX_BYTES: usize = 4_095;
/// A value with its line end.
const PIPED_MAX_BYTES: usize = SECRET_MAX_BYTES + 2;
/// What to do where a terminal isn't the way.
const PIPE_FIX: &str = "give the value by standard input: haft secret set NAME < FILE";

/// Asks for values. One for all of a command's: whoever reads a terminal goes on to read it.
pub(super) struct Asking {
    lines: Arc<Lines>,
}

impl Asking {
    /// Nothing is read yet.
    pub(super) fn new() -> Self {
        Self { lines: Lines::of_stdin() }
    }

    /// Whether a person types.
    pub(super) fn is_typed(&self) -> bool {
        self.lines.are_typed()
    }

    /// The value, after a prompt where a person types it.
    ///
    /// # Errors
    /// There is none, it is no value, or the person broke off.
    pub(super) fn value(&self, prompt: &str) -> anyhow::Result<Secret> {
        let bytes = if self.is_typed() { block_on(self.typed(prompt))?.into_bytes() } else { piped()? };
        Secret::given(&bytes).map_err(|error| wrong(error).into())
    }

    async fn typed(&self, prompt: &str) -> anyhow::Result<String> {
        let mut interrupts = Interrupts::listen()?;
        let screen = Screen::stderr();
        let Some(_hidden) = host::hide_typing() else {
            let what = "this terminal can't be kept from showing what is typed";
            return Err(Trouble::failed(what, PIPE_FIX).into());
        };
        let mark = self.lines.question();
        screen.prompt(prompt);
        let line = tokio::select! {
            line = self.lines.since(mark) => line,
            () = interrupts.next() => None,
        };
        let Some(line) = line else {
            screen.end_prompt();
            let what = "nothing was typed, and nothing was changed".to_owned();
            return Err(Trouble { what, fix: None, status: Status::Cancelled }.into());
        };
        screen.typed();
        if line.len() >= TYPED_MAX_BYTES {
            let what = format!(
                "a terminal takes no more than {TYPED_MAX_BYTES} bytes of a line; nothing was changed"
            );
            return Err(Trouble::usage(what, PIPE_FIX).into());
        }
        Ok(line)
    }
}

fn piped() -> anyhow::Result<Vec<u8>> {
    let most = u64::try_from(PIPED_MAX_BYTES).unwrap_or(u64::MAX);
    host::read_stdin(most).map_err(|failure| match failure.kind {
        FailureKind::InvalidInput => wrong(SecretError::TooLong).into(),
        _ => failure.into(),
    })
}

fn wrong(error: SecretError) -> Trouble {
    Trouble { what: error.to_string(), fix: None, status: Status::Usage }
}
