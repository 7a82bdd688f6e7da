//! What one script may use.

use std::time::Duration;

/// The bounds of code mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeSettings {
    /// Wall time, without the time that people take to answer.
    pub timeout: Duration,
    /// Calls altogether.
    pub calls: u64,
    /// Calls at the same time.
    pub at_once: u64,
    /// What it may print and return, in bytes.
    pub output_bytes: usize,
}

impl Default for CodeSettings {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(300), calls: 1_000, at_once: 8, output_bytes: 1 << 20 }
    }
}
