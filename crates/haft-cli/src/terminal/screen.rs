//! Where text for people goes.

use crate::print;
use std::{
    io::Write,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
};

/// Whether a prompt waits on standard error, of which there is one.
static STDERR_PROMPT: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Takes text that is already clean, styles included.
#[derive(Clone)]
pub(crate) struct Screen {
    show: Arc<dyn Fn(&str) + Send + Sync>,
    /// Whether a prompt waits at the end of the last line.
    prompt: Arc<AtomicBool>,
}

impl Screen {
    /// Standard error, where people look on while standard output is the result.
    pub(crate) fn stderr() -> Self {
        let screen = Self::new(|text| {
            let mut err = anstream::stderr().lock();
            // Nobody reads: no reason to stop.
            let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
        });
        Self { prompt: Arc::clone(&STDERR_PROMPT), ..screen }
    }

    /// Standard output, where what is shown is the result.
    pub(crate) fn stdout() -> Self {
        Self::new(|text| {
            let mut out = anstream::stdout().lock();
            print::written(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
        })
    }

    /// Anything that takes text.
    pub(crate) fn new(show: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { show: Arc::new(show), prompt: Arc::default() }
    }

    /// Shows a text as it is.
    pub(crate) fn show(&self, text: &str) {
        (self.show)(text);
    }

    /// Shows a text after which somebody types.
    pub(crate) fn prompt(&self, text: &str) {
        self.show(text);
        self.prompt.store(true, Ordering::Relaxed);
    }

    /// Whether somebody is to type at the end of the last line.
    pub(crate) fn has_prompt(&self) -> bool {
        self.prompt.load(Ordering::Relaxed)
    }

    /// A line was typed, which ended that of the prompt.
    pub(crate) fn typed(&self) {
        self.prompt.store(false, Ordering::Relaxed);
    }

    /// Ends the line of a prompt after which nothing was typed.
    pub(crate) fn end_prompt(&self) {
        if self.prompt.swap(false, Ordering::Relaxed) {
            self.show("\n");
        }
    }

    /// Shows a line, below a prompt that waits.
    pub(crate) fn line(&self, text: &str) {
        self.end_prompt();
        self.show(&format!("{text}\n"));
    }
}
