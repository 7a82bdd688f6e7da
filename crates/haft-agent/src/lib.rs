//! Model providers and the agent loop.
//!
//! A [`Model`] streams one turn; the [`Agent`] asks for turns, starts each call as soon as its arguments are
//! whole, and gives the results back in call order. Every call goes through the runtime's one call path;
//! permission, bounds and the log of calls are its business. HTTP comes through [`haft_core::Http`].
//!
//! Keeps the invariants "once a call of a turn has started, that turn is never sent again", "arguments cut by
//! a token limit never run" and "each call in the history has exactly one result".

mod agent;
mod aside;
mod history;
mod loops;
mod message;
mod observer;
mod prompt;
mod provider;

pub use agent::{Agent, AgentEnd, AgentOptions, AgentRun};
pub use aside::{Aside, ask_aside};
pub use history::{HistoryError, mend, read_lines};
pub use loops::{LoopAction, LoopCall, LoopDetector};
pub use message::{Assistant, AssistantCall, CallResult, Dialect, Message, Results};
pub use observer::{AgentObserver, LoopAnswer, LoopJudge, NoJudge, NoObserver, RetryNotice};
pub use prompt::system_prompt;
pub use provider::{
    Anthropic, Chat, Model, ModelError, ModelErrorKind, ModelEvent, ModelSettings, ModelSpecError,
    ModelStream, Provider, RetryPolicy, ScriptError, Scripted, StopReason, ToolDefinition, TurnRequest,
    Usage,
};
