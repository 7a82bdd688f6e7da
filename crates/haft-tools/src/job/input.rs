//! What `job` takes.

use haft_core::Failure;
use schemars::JsonSchema;
use serde::Deserialize;
use std::time::Duration;

/// Longest wait, in milliseconds.
pub(super) const TIMEOUT_MAX_MS: u64 = 600_000;
/// How long is waited unless the caller says otherwise, in milliseconds.
const TIMEOUT_MS: u64 = 30_000;
/// Longest text that is written, and that is waited for.
const TEXT_MAX_BYTES: usize = 256 * 1024;

// What is done with a job. No doc comment: it would be a part of the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Action {
    List,
    Read,
    Wait,
    Write,
    Stop,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct JobInput {
    pub(crate) action: Action,
    /// As bash gave it, e.g. job-1
    pub(crate) id: Option<String>,
    /// To wait, in milliseconds; default 30000
    #[schemars(range(min = 1, max = 600_000))]
    pub(crate) timeout: Option<u64>,
    /// Wait until this is printed
    pub(crate) until: Option<String>,
    /// To write, with its line end; \u0003 is Ctrl-C in a terminal
    pub(crate) text: Option<String>,
    /// End the input after it
    pub(crate) close: Option<bool>,
}

impl JobInput {
    /// How long is waited.
    pub(super) fn limit(&self) -> Duration {
        Duration::from_millis(self.timeout.unwrap_or(TIMEOUT_MS).min(TIMEOUT_MAX_MS))
    }

    /// The job's name; empty where the action needs none.
    pub(super) fn id(&self) -> &str {
        self.id.as_deref().unwrap_or_default()
    }

    /// What is written.
    pub(super) fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// Whether its input ends.
    pub(super) fn closes(&self) -> bool {
        self.close == Some(true)
    }

    /// Checks what a schema can't say.
    ///
    /// # Errors
    /// Invalid input where the action lacks something, or something is given that it doesn't use.
    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.action != Action::List && self.id().is_empty() {
            return Err(Failure::invalid("/id is required; action=list shows the jobs that there are"));
        }
        let odd = [
            ("timeout", "wait", self.timeout.is_some() && self.action != Action::Wait),
            ("until", "wait", self.until.is_some() && self.action != Action::Wait),
            ("text", "write", self.text.is_some() && self.action != Action::Write),
            ("close", "write", self.closes() && self.action != Action::Write),
        ];
        if let Some((field, action, _)) = odd.iter().find(|(.., is_odd)| *is_odd) {
            return Err(Failure::invalid(format!("/{field} is for action={action}; leave it out here")));
        }
        if self.action == Action::Write && self.text().is_empty() && !self.closes() {
            return Err(Failure::invalid(
                "/text is empty; give what to write, or close=true to end the input",
            ));
        }
        if self.until.as_deref() == Some("") {
            return Err(Failure::invalid("/until is empty; give the text to wait for, or leave it out"));
        }
        let longest = self.text().len().max(self.until.as_deref().unwrap_or_default().len());
        if longest > TEXT_MAX_BYTES {
            return Err(Failure::invalid(
                "/text and /until have at most 256 KiB; hand long data over by a file",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn check(value: Value) -> Result<(), String> {
        let input: JobInput = serde_json::from_value(value).unwrap();
        input.check().map_err(|failure| failure.text)
    }

    #[test]
    fn each_action_takes_its_own() {
        for value in [
            json!({"action": "list"}),
            json!({"action": "read", "id": "job-1"}),
            json!({"action": "wait", "id": "job-1", "timeout": 5, "until": "up"}),
            json!({"action": "write", "id": "job-1", "text": "y\n", "close": true}),
            json!({"action": "write", "id": "job-1", "close": true}),
            json!({"action": "stop", "id": "job-1"}),
        ] {
            assert_eq!(check(value.clone()), Ok(()), "{value}");
        }
        for (value, says) in [
            (json!({"action": "read"}), "/id is required"),
            (json!({"action": "write", "id": "job-1"}), "/text is empty"),
            (json!({"action": "wait", "id": "job-1", "until": ""}), "/until is empty"),
            (json!({"action": "read", "id": "job-1", "timeout": 5}), "/timeout is for action=wait"),
            (json!({"action": "stop", "id": "job-1", "text": "x"}), "/text is for action=write"),
            (json!({"action": "write", "id": "job-1", "text": "x".repeat(300_000)}), "256 KiB"),
        ] {
            assert!(check(value.clone()).unwrap_err().contains(says), "{value}");
        }
    }
}
