//! What `notebook_edit` takes.

use super::step::{Action, Kind, Place, Step};
use crate::field::wrong;
use haft_core::{Failure, PathArg};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NotebookEditInput {
    /// Notebook to change
    pub(crate) path: PathArg,
    /// Id of the cell; for insert the cell before, or start, end
    cell: String,
    /// replace (default), insert, delete, move
    action: Option<String>,
    /// The cell's whole new source
    source: Option<String>,
    /// code, markdown, raw
    #[serde(rename = "type")]
    kind: Option<String>,
    /// For move: id of the cell before, or start, end
    after: Option<String>,
}

impl NotebookEditInput {
    /// The step that the fields make together.
    ///
    /// # Errors
    /// Invalid input where they don't.
    pub(crate) fn step(&self) -> Result<Step, Failure> {
        let kind = match &self.kind {
            None => None,
            Some(name) => Some(Kind::parse(name).ok_or_else(|| {
                let got = Value::from(name.as_str());
                Failure::invalid(wrong("/type", "one of code, markdown, raw", &got))
            })?),
        };
        let action = match self.action.as_deref() {
            None | Some("replace") => {
                if self.source.is_none() && kind.is_none() {
                    return Err(Failure::invalid(
                        "replace needs /source, the cell's new text, or a new /type",
                    ));
                }
                Action::Replace { source: self.source.clone(), kind }
            }
            Some("insert") => Action::Insert {
                source: self.source.clone().ok_or_else(|| {
                    Failure::invalid("insert needs /source, the text of the new cell (it may be empty)")
                })?,
                kind: kind.unwrap_or(Kind::Code),
            },
            Some("delete") => Action::Delete,
            Some("move") => Action::Move {
                after: Place::of(self.after.as_deref().ok_or_else(|| {
                    Failure::invalid(
                        "move needs /after: the cell that will stand before it, or start, or end",
                    )
                })?),
            },
            Some(other) => {
                let got = Value::from(other);
                return Err(Failure::invalid(wrong("/action", "one of replace, insert, delete, move", &got)));
            }
        };
        let is_for_move = matches!(action, Action::Move { .. });
        if !is_for_move && self.after.is_some() {
            return Err(Failure::invalid(
                "/after is for move only; insert takes the cell before the new one as /cell",
            ));
        }
        let takes_content = matches!(action, Action::Replace { .. } | Action::Insert { .. });
        if !takes_content && (self.source.is_some() || kind.is_some()) {
            return Err(Failure::invalid(
                "delete and move take neither /source nor /type; to change a cell's text use replace",
            ));
        }
        Ok(Step { cell: self.cell.clone(), action })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn step(value: Value) -> Result<Step, String> {
        let input: NotebookEditInput = serde_json::from_value(value).unwrap();
        input.step().map_err(|failure| failure.text)
    }

    #[test]
    fn fields_that_do_not_go_together_are_refused() {
        let action = step(json!({"path": "n", "cell": "q", "source": "x"})).unwrap().action;
        assert_eq!(action, Action::Replace { source: Some("x".to_owned()), kind: None });
        for (input, part) in [
            (json!({"path": "n", "cell": "q"}), "replace needs /source"),
            (json!({"path": "n", "cell": "q", "action": "insert"}), "insert needs /source"),
            (json!({"path": "n", "cell": "q", "action": "move"}), "move needs /after"),
            (json!({"path": "n", "cell": "q", "action": "drop"}), "/action must be one of"),
            (json!({"path": "n", "cell": "q", "action": "delete", "source": ""}), "take neither"),
            (json!({"path": "n", "cell": "q", "source": "", "after": "p"}), "/after is for move"),
            (json!({"path": "n", "cell": "q", "source": "", "type": "text"}), "/type must be one of"),
        ] {
            let refused = step(input).unwrap_err();
            assert!(refused.contains(part), "{refused}");
        }
    }
}
