//! Where text for people goes.

use std::{io::Write, sync::Arc};

/// Takes text that is already clean, styles included.
#[derive(Clone)]
pub(crate) struct Screen(Arc<dyn Fn(&str) + Send + Sync>);

impl Screen {
    /// Standard error, where people look on while standard output is the result.
    pub(crate) fn stderr() -> Self {
        Self::new(|text| {
            let mut err = anstream::stderr().lock();
            // Nobody reads: no reason to stop.
            let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
        })
    }

    /// Standard output, where what is shown is the result.
    pub(crate) fn stdout() -> Self {
        Self::new(|text| {
            let mut out = anstream::stdout().lock();
            // Whoever closed the pipe has read enough.
            let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        })
    }

    /// Anything that takes text.
    pub(crate) fn new(show: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(show))
    }

    /// Shows a text as it is.
    pub(crate) fn show(&self, text: &str) {
        (self.0)(text);
    }

    /// Shows a line.
    pub(crate) fn line(&self, text: &str) {
        self.show(&format!("{text}\n"));
    }
}
