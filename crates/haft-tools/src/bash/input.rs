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
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct BashInput {
    pub(crate) command: String,
    /// Milliseconds, default 120000
    #[schemars(range(min = 1, max = 600_000))]
    pub(crate) timeout: Option<u64>,
    /// Folder for this call only
    pub(crate) cwd: Option<PathArg>,
    /// Go on as a job; see job
    pub(crate) background: Option<bool>,
    /// background makes it a job then
    pub(crate) on_timeout: Option<OnTimeout>,
    /// The job outlives the session; the user is asked
    pub(crate) keep: Option<bool>,
    /// Give it a terminal
    pub(crate) pty: Option<bool>,
    /// Run outside the sandbox; the user is asked
    #[serde(default)]
    pub(crate) outside: bool,
    /// For the user, in 5-10 words
    #[allow(dead_code, reason = "read by those who show the call, from its raw input")]
    pub(crate) description: Option<String>,
}

/// What becomes of a command whose time has run out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum OnTimeout {
    Stop,
    Background,
}

impl BashInput {
    /// When the tree is stopped, or goes on as a job.
    pub(super) fn deadline(&self) -> Duration {
        Duration::from_millis(self.timeout.unwrap_or(TIMEOUT_MS).min(TIMEOUT_MAX_MS))
    }

    /// When a job is stopped; none where nobody said so.
    pub(super) fn job_deadline(&self) -> Option<Duration> {
        self.timeout.map(|_| self.deadline())
    }

    /// Whether it is a job from its start.
    pub(super) fn is_background(&self) -> bool {
        self.background == Some(true)
    }

    /// Whether it becomes one when its time has run out.
    pub(super) fn goes_on(&self) -> bool {
        self.on_timeout == Some(OnTimeout::Background)
    }

    /// Whether it outlives the session.
    pub(super) fn is_kept(&self) -> bool {
        self.keep == Some(true)
    }

    /// Whether it gets a terminal.
    pub(super) fn has_terminal(&self) -> bool {
        self.pty == Some(true)
    }

    /// Checks what a schema can't say.
    ///
    /// # Errors
    /// Invalid input for a command that no shell could be given, or for wishes that contradict each other.
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
        self.check_job()
    }

    fn check_job(&self) -> Result<(), Failure> {
        if self.is_kept() && !self.is_background() {
            return Err(Failure::invalid("/keep is for jobs; give background=true with it, or leave it out"));
        }
        if self.is_kept() && self.timeout.is_some() {
            return Err(Failure::invalid(
                "/timeout can't be kept to once the session has ended; leave it out with keep, or have the command \
                 itself end (timeout 60 …)",
            ));
        }
        if self.is_background() && self.on_timeout.is_some() {
            return Err(Failure::invalid(
                "/onTimeout is for commands that the call waits for; with background=true leave it out",
            ));
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
    fn wishes_that_contradict_each_other_are_refused() {
        for value in [
            json!({"command": "ls", "background": false, "keep": false}),
            json!({"command": "ls", "background": null, "onTimeout": "stop"}),
            json!({"command": "ls", "background": true, "timeout": 5, "pty": true}),
            json!({"command": "ls", "background": true, "keep": true}),
        ] {
            assert!(input(value.clone()).check().is_ok(), "{value}");
        }
        for (value, says) in [
            (json!({"command": "ls", "keep": true}), "background=true"),
            (
                json!({"command": "ls", "background": true, "keep": true, "timeout": 5}),
                "/timeout can't be kept",
            ),
            (json!({"command": "ls", "background": true, "onTimeout": "background"}), "/onTimeout is for"),
        ] {
            let failure = input(value).check().unwrap_err();
            assert!(failure.text.contains(says), "{failure}");
        }
    }

    #[test]
    fn the_deadline_has_a_default_and_a_job_has_none() {
        assert_eq!(input(json!({"command": "ls"})).deadline(), Duration::from_secs(120));
        assert_eq!(input(json!({"command": "ls"})).job_deadline(), None);
        let given = input(json!({"command": "ls", "timeout": 2_000}));
        assert_eq!(
            (given.deadline(), given.job_deadline()),
            (Duration::from_secs(2), Some(Duration::from_secs(2)))
        );
    }
}
