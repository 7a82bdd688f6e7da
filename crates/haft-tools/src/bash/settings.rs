//! What an operator sets for `bash`.

use std::time::Duration;

/// How long a command is silent before that is told.
const QUIET_AFTER: Duration = Duration::from_secs(30);

/// Settings of `bash`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BashSettings {
    /// After so long without output and without use of the processor it is said that a command may be waiting for
    /// input.
    pub quiet_after: Duration,
}

impl Default for BashSettings {
    fn default() -> Self {
        Self { quiet_after: QUIET_AFTER }
    }
}
