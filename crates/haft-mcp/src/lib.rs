//! haft's tools for any client of the Model Context Protocol, over stdio, in both eras of the protocol; and haft as a
//! client of other servers, whose tools join the catalogue ([`client`]).
//!
//! The SDK keeps the life cycle, the versions and the cancel tokens. Around it stands a transport of our own,
//! since the SDK starts handlers in any order and forgets what its types don't know. It reads raw lines
//! (`lines`, `frame`), takes each call's place before the SDK sees it (`admission`, `place`), and writes
//! replies that were made here (`encode`, `outbox`). Only `sdk` knows the SDK's types; all else is JSON in,
//! JSON out.
//!
//! Keeps the invariants "there is no second path for a call" (each goes through
//! [`haft_runtime::Executor`]) and "conflicting calls keep the order in which they were sent".

mod admission;
mod call;
mod changes;
pub mod client;
mod desk;
mod encode;
mod error;
mod fault;
mod forward;
mod frame;
mod lines;
mod outbox;
mod place;
mod sdk;
mod server;

pub use error::McpError;
pub use server::{McpServer, ServerInfo};
