//! The input of `bash`.

use haft_core::{Failure, PathArg};
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

/// Longest time a command may take, in milliseconds.
pub(super) const TIMEOUT_MAX_MS: u64 = 600_000;
/// Time a command may take unless the caller says otherwise, in milliseconds.
const TIMEOUT_MS: u64 = 120_000;
/// Longest command: what the system takes as arguments, with room to spare.
const COMMAND_MAX_BYTES: usize = 1024 * 1024;

/// What to run, where, how long.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BashInput {
    pub(crate) command: String,
    /// Milliseconds, default 120000
    #[schemars(range(min = 1, max = 600_000))]
    pub(crate) timeout: Option<u64>,
    /// Folder for this call only
    pub(crate) cwd: Option<PathArg>,
    /// For the user, in 5-10 words
    #[allow(dead_code, reason = "read by those who show the call, from its raw input")]
    pub(crate) description: Option<String>,
}

impl BashInput {
    /// When the tree is stopped.
    pub(super) fn deadline(&self) -> Duration {
        Duration::from_millis(self.timeout.unwrap_or(TIMEOUT_MS).min(TIMEOUT_MAX_MS))
    }

    /// Checks what a schema can't say.
    ///
    /// # Errors
    /// Invalid input for a command that no shell could be given.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.command.trim().is_empty() {
            return Err(Failure::invalid("/command is empty; give the command line to run"));
        }
        if self.command.contains('\0') {
            return Err(Failure::invalid(
                "/command has a NUL character, which no shell takes; printf '\\000' makes one",
            ));
        }
        if self.command.len() > COMMAND_MAX_BYTES {
            return Err(Failure::invalid("/command is longer than 1 MiB; write it to a file and run that"));
        }
        if self.timeout.is_some_and(|timeout| !(1..=TIMEOUT_MAX_MS).contains(&timeout)) {
            return Err(Failure::invalid(format!("/timeout must be 1 to {TIMEOUT_MAX_MS} milliseconds")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn input(value: serde_json::Value) -> BashInput {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn what_no_shell_takes_is_refused() {
        assert!(input(json!({"command": "ls"})).check().is_ok());
        for value in [
            json!({"command": " \n"}),
            json!({"command": "a\0b"}),
            json!({"command": "a", "timeout": 600_001}),
        ] {
            assert!(input(value.clone()).check().is_err(), "{value}");
        }
        assert!(input(json!({"command": "a".repeat(COMMAND_MAX_BYTES + 1)})).check().is_err());
    }

    #[test]
    fn the_deadline_has_a_default() {
        assert_eq!(input(json!({"command": "ls"})).deadline(), Duration::from_secs(120));
        assert_eq!(input(json!({"command": "ls", "timeout": 2_000})).deadline(), Duration::from_secs(2));
    }
}
