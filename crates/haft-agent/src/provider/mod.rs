//! Model providers: one turn in, a stream of events out.
//!
//! A provider knows its wire and nothing of tools, retries or sessions. It says when a call's arguments are
//! whole ([`ModelEvent::CallReady`]) and whether a token limit cut them ([`Input::CutOff`]); an unfinished
//! call of a dropped connection is never made ready.

mod anthropic;
mod chat;
mod error;
mod exchange;
mod retry;
mod scripted;
mod settings;
mod sse;
mod wire;

pub use anthropic::Anthropic;
pub use chat::Chat;
pub use error::{ModelError, ModelErrorKind};
pub use retry::RetryPolicy;
pub use scripted::{ScriptError, Scripted};
pub use settings::{ModelSettings, ModelSpecError, Provider};

use crate::{Dialect, Message};
use haft_core::{BoxStream, Input};
use haft_runtime::lower;
use serde::Serialize;
use serde_json::Value;
use std::ops::AddAssign;

/// The events of one turn; ends after [`ModelEvent::Stop`] or an error. Dropping it ends the request.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// A model that can be asked for its next turn.
pub trait Model: Send + Sync {
    /// The form of the raw blocks it gives and takes back.
    fn dialect(&self) -> Dialect;

    /// The subset of JSON Schema that it takes.
    fn schemas(&self) -> lower::Dialect {
        match self.dialect() {
            Dialect::Anthropic => lower::Dialect::Anthropic,
            Dialect::Chat => lower::Dialect::OpenAi,
            Dialect::Scripted => lower::Dialect::Plain,
        }
    }

    /// Asks for one turn. The request is read before this returns; it is sent when the stream is polled.
    fn turn(&self, request: &TurnRequest<'_>) -> ModelStream;
}

/// All that a model is told for one turn.
#[derive(Debug, Clone, Copy)]
pub struct TurnRequest<'a> {
    /// The system prompt.
    pub system: &'a str,
    /// The history; every call in it has its result.
    pub messages: &'a [Message],
    /// The tools on offer, in a stable order, so that prompts cache.
    pub tools: &'a [ToolDefinition],
}

/// What a model reads of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// The name to call it by.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its input.
    pub input_schema: Value,
}

/// One thing that happens in a turn.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// More text.
    TextDelta(String),
    /// More thinking.
    ThinkingDelta(String),
    /// A call's name is known.
    CallStarted {
        /// Its place in the provider's message.
        index: u64,
        /// The provider's id; may be empty until the call is ready.
        id: String,
        /// The tool.
        name: String,
    },
    /// More of a call's argument text.
    CallArguments {
        /// The call's place.
        index: u64,
        /// The piece.
        text: String,
    },
    /// A call's arguments are whole, or known to be cut. Calls become ready in their order.
    CallReady {
        /// The provider's id.
        id: String,
        /// The tool.
        name: String,
        /// The argument text.
        input: Input,
        /// What the provider wants back.
        raw: Value,
    },
    /// Text or thinking is whole; what the provider wants back.
    Block(Value),
    /// The turn is over.
    Stop {
        /// Why.
        reason: StopReason,
        /// The tokens it took.
        usage: Usage,
    },
}

/// Why a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StopReason {
    /// The model has said what it had to say.
    End,
    /// It waits for results.
    Calls,
    /// An output or context limit cut it.
    TokenLimit,
    /// The model or a filter of its provider refused.
    Refused,
    /// The provider paused a long turn; it goes on with the next request.
    Paused,
    /// Anything else, as the provider names it.
    Other(String),
}

impl StopReason {
    /// Whether the message ends before the model was done with it.
    pub(crate) fn is_cut(&self) -> bool {
        matches!(self, Self::TokenLimit | Self::Refused)
    }
}

/// Tokens counted by the provider; input read from or written to a cache is counted apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Input at the full price.
    pub input_tokens: u64,
    /// Output, thinking included.
    pub output_tokens: u64,
    /// Input read from a cache.
    pub cache_read_tokens: u64,
    /// Input written to a cache.
    pub cache_write_tokens: u64,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cache_read_tokens = self.cache_read_tokens.saturating_add(other.cache_read_tokens);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(other.cache_write_tokens);
    }
}
