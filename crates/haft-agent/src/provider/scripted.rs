//! Recorded turns, for tests and the demo: one JSON object a line.

use super::{Model, ModelEvent, ModelStream, StopReason, TurnRequest, Usage};
use crate::{Dialect, Message};
use futures::{StreamExt, stream};
use haft_core::{Input, without_bom};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Replays recorded turns. The turn is chosen by how many the history holds, so a resumed session goes on
/// where it was; beyond the last the model says nothing and stops.
#[derive(Debug, Clone)]
pub struct Scripted {
    turns: Vec<ScriptTurn>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptTurn {
    #[serde(default)]
    text: String,
    #[serde(default)]
    calls: Vec<ScriptCall>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptCall {
    tool: String,
    #[serde(default = "no_input")]
    input: Value,
}

fn no_input() -> Value {
    Value::Object(Map::new())
}

/// A line that is no turn.
#[derive(Debug, thiserror::Error)]
#[error(
    "line {line} is no turn ({source}); each is {{\"text\": \"...\", \"calls\": [{{\"tool\": \"...\", \
     \"input\": {{...}}}}]}}"
)]
pub struct ScriptError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub source: serde_json::Error,
}

impl Scripted {
    /// Reads the text of a script; blank lines are skipped.
    ///
    /// # Errors
    /// Names the first line that is no turn.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let lines = without_bom(text).lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let turns = lines
            .map(|(index, line)| {
                serde_json::from_str(line).map_err(|source| ScriptError { line: index + 1, source })
            })
            .collect::<Result<Vec<ScriptTurn>, ScriptError>>()?;
        Ok(Self { turns })
    }
}

impl Model for Scripted {
    fn dialect(&self) -> Dialect {
        Dialect::Scripted
    }

    fn turn(&self, request: &TurnRequest<'_>) -> ModelStream {
        let number =
            request.messages.iter().filter(|message| matches!(message, Message::Assistant(_))).count();
        let mut events = Vec::new();
        let mut reason = StopReason::End;
        if let Some(turn) = self.turns.get(number) {
            if !turn.text.is_empty() {
                events.push(ModelEvent::TextDelta(turn.text.clone()));
            }
            // Also for an empty turn: it must count in the history.
            events.push(ModelEvent::Block(json!({"text": turn.text})));
            for (index, call) in turn.calls.iter().enumerate() {
                reason = StopReason::Calls;
                events.push(ModelEvent::CallReady {
                    id: format!("scripted_{}_{}", number + 1, index + 1),
                    name: call.tool.clone(),
                    input: Input::Text(call.input.to_string()),
                    raw: json!({"tool": call.tool, "input": call.input}),
                });
            }
        }
        events.push(ModelEvent::Stop { reason, usage: Usage::default() });
        stream::iter(events.into_iter().map(Ok)).boxed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn turns_beyond_the_end_stop() {
        let script = "{\"text\":\"hi\",\"calls\":[{\"tool\":\"t\",\"input\":{\"a\":1}}]}\n\n{}\n";
        let model = Scripted::parse(script).unwrap();
        let mut messages = Vec::new();
        let mut lengths = Vec::new();
        for turn in 1..=3 {
            let request = TurnRequest { system: "", messages: &messages, tools: &[] };
            lengths.push(model.turn(&request).count().await);
            messages.push(Message::Assistant(crate::Assistant {
                turn,
                dialect: Dialect::Scripted,
                text: String::new(),
                blocks: Vec::new(),
                calls: Vec::new(),
            }));
        }
        assert_eq!(lengths, [4, 2, 1]);
    }

    #[test]
    fn a_bad_line_is_named() {
        let error = Scripted::parse("{}\n{\"txt\":1}").unwrap_err();
        assert!(error.to_string().starts_with("line 2 is no turn"), "{error}");
    }
}
