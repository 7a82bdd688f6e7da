//! The input of `bash`.

use haft_core::{Failure, PathArg};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeMap, time::Duration};

/// Longest time a command may take, in milliseconds.
pub(super) const TIMEOUT_MAX_MS: u64 = 600_000;
/// Time a command may take unless the caller says otherwise, in milliseconds.
const TIMEOUT_MS: u64 = 120_000;
/// Longest command: what the system takes as arguments, with room to spare.
const COMMAND_MAX_BYTES: usize = 1024 * 1024;

/// Names that models know for running a command beside the conversation.
const BACKGROUND: [&str; 3] = ["background", "run_in_background", "runInBackground"];

// The schema refuses no further fields, so that `check` can say what there is instead of a background.
/// What to run, where, how long.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct BashInput {
    pub(crate) command: String,
    /// Milliseconds, default 120000
    #[schemars(range(min = 1, max = 600_000))]
    pub(crate) timeout: Option<u64>,
    /// Folder for this call only
    pub(crate) cwd: Option<PathArg>,
    /// Run outside the sandbox; the user is asked
    #[serde(default)]
    pub(crate) outside: bool,
    /// For the user, in 5-10 words
    #[allow(dead_code, reason = "read by those who show the call, from its raw input")]
    pub(crate) description: Option<String>,
    #[schemars(skip)]
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
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
        self.check_rest()?;
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

    fn check_rest(&self) -> Result<(), Failure> {
        let is_background = |name: &str| BACKGROUND.contains(&name);
        let is_off = |value: &Value| value.is_null() || *value == false || *value == "false";
        let odd = self.rest.iter().find(|(name, value)| !(is_background(name) && is_off(value)));
        match odd {
            None => Ok(()),
            Some((name, _)) if is_background(name) => Err(Failure::invalid(format!(
                "/{name} can't be done: this version has no background jobs, and what a command leaves running is \
                 stopped when the call ends. Run it to its end with a timeout of up to {TIMEOUT_MAX_MS}, or start it, \
                 use it and stop it in one command"
            ))),
            Some((name, _)) => Err(Failure::invalid(format!(
                "/{name} is not a known property; there are command, timeout, cwd, outside and description"
            ))),
        }
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
    fn a_background_is_refused_with_what_there_is_instead() {
        for value in [
            json!({"command": "ls", "background": false}),
            json!({"command": "ls", "run_in_background": null}),
        ] {
            assert!(input(value.clone()).check().is_ok(), "{value}");
        }
        for (value, says) in [
            (json!({"command": "ls", "background": true}), "/background can't be done"),
            (json!({"command": "ls", "run_in_background": true}), "no background jobs"),
            (json!({"command": "ls", "shell": "zsh"}), "/shell is not a known property"),
        ] {
            let failure = input(value).check().unwrap_err();
            assert!(failure.text.contains(says), "{failure}");
        }
    }

    #[test]
    fn the_deadline_has_a_default() {
        assert_eq!(input(json!({"command": "ls"})).deadline(), Duration::from_secs(120));
        assert_eq!(input(json!({"command": "ls", "timeout": 2_000})).deadline(), Duration::from_secs(2));
    }
}
