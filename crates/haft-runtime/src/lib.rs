//! The runtime between a model's tool call and the world: catalogue, executor, admission, approval, seal,
//! session, and the sources and settings that feed them.
//!
//! [`Executor`] is the one call path; [`Catalogue`] knows the tools; [`Session`] is one conversation. Hosts
//! (the agent loop, the MCP server, the command line) hold these three and nothing else.

pub mod admission;
mod approve;
mod call;
mod catalogue;
mod event;
mod executor;
mod explain;
pub mod find;
mod help;
mod hooked;
pub mod hooks;
mod intake;
mod lend;
pub mod lower;
mod prune;
mod run;
mod running;
mod seal;
mod session;
pub mod settings;
pub mod source;
mod undo;

pub use admission::Seat;
pub use catalogue::{
    Catalogue, Handle, Hold, Missing, Offer, Problem, RegisterError, Registrar, Resolved, Snapshot, ToolSet,
};
pub use event::{Bus, EventStream};
pub use executor::Executor;
pub use explain::Explained;
pub use help::tool_help;
pub use intake::Checker;
pub use running::Running;
pub use seal::{SPILL_FOLDER, TURN_MAX_CHARS, fit_turn};
pub use session::{
    Grants, Interrupted, JOBS_MAX, Keep, LOG_VERSION, LogEntry, LogLine, Pins, Renewal, Session,
    SessionSetup, read_log,
};
pub use undo::{undo_tool, undoable};
