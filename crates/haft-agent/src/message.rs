//! What was said, in a form that no provider owns: what a provider wants back exactly is kept beside it.

use haft_core::{Block, Ended};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One message of the history; one JSON line in a session's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "camelCase")]
pub enum Message {
    /// What the user says.
    User {
        /// The text.
        text: String,
    },
    /// What the model said.
    Assistant(Assistant),
    /// What the calls of the message before gave.
    Results(Results),
}

/// Whose form the raw blocks of a message have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Dialect {
    /// Content blocks of Anthropic Messages.
    Anthropic,
    /// Parts of a Chat Completions message.
    Chat,
    /// Recorded turns.
    Scripted,
}

/// One turn of the model.
///
/// It is recorded before each of its calls starts and once more when it is whole, so that a log cut off by a
/// crash still holds every call that ran: of several messages with one `turn` the last counts
/// ([`crate::mend`]).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Assistant {
    /// The turn's number in its session, from 1.
    pub turn: u64,
    /// The form of `blocks`.
    pub dialect: Dialect,
    /// The text, thinking apart.
    pub text: String,
    /// What the provider wants back, exactly as it came, thinking and calls included.
    pub blocks: Vec<Value>,
    /// The calls, for every other provider and for the results.
    pub calls: Vec<AssistantCall>,
}

/// A call as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssistantCall {
    /// The provider's id.
    pub id: String,
    /// The name asked for.
    pub tool: String,
    /// The argument text, whole or not.
    pub input: String,
}

/// The results of one turn's calls, in call order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Results {
    /// One for each call.
    pub results: Vec<CallResult>,
    /// What tools and the agent add after them, as user text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
}

/// What one call gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallResult {
    /// The provider's id of the call.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The outcome's name, for example `completed`.
    pub outcome: String,
    /// What the model gets.
    pub content: Vec<Block>,
}

impl CallResult {
    /// The result of a call that ended.
    pub fn new(call: &AssistantCall, ended: &Ended) -> Self {
        Self {
            id: call.id.clone(),
            tool: ended.tool.to_string(),
            outcome: ended.outcome.name().to_owned(),
            content: ended.output.content.clone(),
        }
    }

    /// The result of a call of which nothing is known: the process died, or the runtime let it fall.
    pub fn interrupted(call: &AssistantCall) -> Self {
        let text = "Interrupted before it ended. What it did until then may have taken effect: check before \
                    repeating it.";
        Self {
            id: call.id.clone(),
            tool: call.tool.clone(),
            outcome: "interrupted".to_owned(),
            content: vec![Block::text(text)],
        }
    }

    /// Whether the model should take it for an error: everything but `completed`.
    pub fn is_error(&self) -> bool {
        self.outcome != "completed"
    }
}
