//! What `exec` takes.

use haft_core::{Failure, PathArg};
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

/// Longest time a program may take, in milliseconds.
pub(super) const TIMEOUT_MAX_MS: u64 = 600_000;
/// Time it may take unless the caller says otherwise, in milliseconds.
const TIMEOUT_MS: u64 = 120_000;
/// Longest argument: Linux takes at most 128 KiB in one.
const ARGUMENT_MAX_BYTES: usize = 120 * 1024;
/// All arguments together, with room to spare.
const ARGUMENTS_MAX_BYTES: usize = 1024 * 1024;
/// The longest input.
const STDIN_MAX_BYTES: usize = 8 << 20;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExecInput {
    /// Its name, or its path as the user's list has it
    pub(crate) program: String,
    /// One string each, unquoted
    #[serde(default)]
    pub(crate) args: Vec<String>,
    /// Folder to run in, the workspace unless given
    pub(crate) cwd: Option<PathArg>,
    /// Text for its input
    pub(crate) stdin: Option<String>,
    /// Milliseconds, default 120000
    #[schemars(range(min = 1, max = 600_000))]
    pub(crate) timeout: Option<u64>,
}

impl ExecInput {
    /// When the tree is stopped.
    pub(super) fn deadline(&self) -> Duration {
        Duration::from_millis(self.timeout.unwrap_or(TIMEOUT_MS).min(TIMEOUT_MAX_MS))
    }

    /// The folder.
    pub(super) fn folder(&self) -> PathArg {
        self.cwd.clone().unwrap_or_else(|| PathArg::from("."))
    }

    /// Program and arguments.
    pub(super) fn argv(&self) -> Vec<String> {
        std::iter::once(&self.program).chain(&self.args).cloned().collect()
    }

    /// Checks what a schema can't say.
    ///
    /// # Errors
    /// Invalid input for what no system starts, or no list can name.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let program = &self.program;
        if program.is_empty() || program.starts_with('-') || program.contains(char::is_control) {
            return Err(Failure::invalid("/program must be the name of a program, as \"make\""));
        }
        if program.contains(char::is_whitespace) {
            return Err(Failure::invalid("/program must be a name alone; give each argument in /args"));
        }
        if program.contains('/') && !program.starts_with('/') {
            return Err(Failure::invalid(
                "/program must be a name or an absolute path that the user's list has; a program of the workspace \
                 runs through bash",
            ));
        }
        if self.args.iter().any(|argument| argument.contains('\0')) {
            return Err(Failure::invalid(
                "/args has a NUL character, which no program is given; leave it out",
            ));
        }
        let whole: usize = self.args.iter().map(String::len).sum();
        if whole > ARGUMENTS_MAX_BYTES || self.args.iter().any(|argument| argument.len() > ARGUMENT_MAX_BYTES)
        {
            return Err(Failure::invalid(
                "/args is too long for any system; give the text as /stdin or in a file",
            ));
        }
        if self.stdin.as_ref().is_some_and(|stdin| stdin.len() > STDIN_MAX_BYTES) {
            return Err(Failure::invalid("/stdin is longer than 8 MiB; write it to a file and name that"));
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
    use serde_json::{Value, json};

    fn check(value: Value) -> Result<(), String> {
        let input: ExecInput = serde_json::from_value(value).unwrap();
        input.check().map_err(|failure| failure.text)
    }

    #[test]
    fn what_no_system_starts_is_refused() {
        assert_eq!(check(json!({"program": "make", "args": ["-j4", "a b", ""]})), Ok(()));
        assert_eq!(check(json!({"program": "/opt/x/bin/y"})), Ok(()));
        for (value, says) in [
            (json!({"program": ""}), "name of a program"),
            (json!({"program": "-c"}), "name of a program"),
            (json!({"program": "a\0b"}), "name of a program"),
            (json!({"program": "make all"}), "each argument in /args"),
            (json!({"program": "./x"}), "through bash"),
            (json!({"program": "bin/x"}), "through bash"),
            (json!({"program": "make", "args": ["a\0"]}), "NUL"),
            (json!({"program": "make", "args": ["a".repeat(200_000)]}), "too long"),
            (json!({"program": "make", "timeout": 0}), "/timeout must be"),
        ] {
            let text = check(value.clone()).unwrap_err();
            assert!(text.contains(says), "{value}: {text}");
        }
    }
}
