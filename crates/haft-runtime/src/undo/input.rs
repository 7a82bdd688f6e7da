//! What `undo` takes.

use super::target::Target;
use haft_core::{CallId, Failure};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct UndoInput {
    /// Id of the call to undo, with the calls made inside it
    pub(crate) call: Option<String>,
    /// Number of the turn whose calls to undo
    pub(crate) turn: Option<u64>,
    /// Undo all calls of the session
    pub(crate) session: Option<bool>,
    /// Only show what would change
    pub(crate) dry_run: Option<bool>,
}

impl UndoInput {
    /// What is meant.
    ///
    /// # Errors
    /// Invalid input where it names several, or what is no call id.
    pub(crate) fn target(&self) -> Result<Target, Failure> {
        match (&self.call, self.turn, self.session == Some(true)) {
            (None, None, false) => Ok(Target::Last),
            (Some(call), None, false) => CallId::parse(call.trim()).map(Target::Call).ok_or_else(|| {
                Failure::invalid(format!(
                    "/call \"{}\" is no call id; those are numbers such as \"12\", or \"12.1\" for a call made inside \
                     another",
                    call.escape_debug()
                ))
            }),
            (None, Some(turn), false) => Ok(Target::Turn(turn)),
            (None, None, true) => Ok(Target::Session),
            _ => Err(Failure::invalid("give only one of /call, /turn and /session, or none for the last call")),
        }
    }

    pub(crate) fn is_dry(&self) -> bool {
        self.dry_run == Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn target(input: Value) -> Result<Target, String> {
        let input: UndoInput = serde_json::from_value(input).unwrap();
        input.target().map_err(|failure| failure.text)
    }

    #[test]
    fn one_target_or_none() {
        assert_eq!(target(json!({})), Ok(Target::Last));
        assert_eq!(target(json!({"session": false})), Ok(Target::Last));
        assert_eq!(target(json!({"call": " 3.1 "})), Ok(Target::Call(CallId::outer(3).inner(1))));
        assert_eq!(target(json!({"turn": 3})), Ok(Target::Turn(3)));
        assert_eq!(target(json!({"session": true, "dryRun": true})), Ok(Target::Session));
        assert!(target(json!({"call": "three"})).unwrap_err().contains("numbers such as"));
        assert!(target(json!({"call": "3", "turn": 1})).unwrap_err().contains("only one of"));
        assert!(target(json!({"turn": 1, "session": true})).unwrap_err().contains("only one of"));
    }
}
