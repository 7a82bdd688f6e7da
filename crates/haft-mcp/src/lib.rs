//! haft's tools, and all that servers behind it have, for any client of the Model Context Protocol: over stdio and
//! streamable HTTP, in both eras of the protocol; and haft as a client of other servers, whose tools join the catalogue
//! ([`client`]).
//!
//! A message comes in raw (`lines`, `http`), is read as far as the protocol goes (`frame`, `params`, `era`) and gets its
//! place before anything is spawned (`peer`, `place`; several at once: `batch`). What works on it (`work`, `call`, `relay`, `listen`) answers by the
//! way it came (`reach`) in the shape of its client's era (`encode`). A call that has questions is an `exchange`: the legacy
//! era is asked meanwhile (`asks`), the modern one goes and comes back (`parked`, `about`, `seal`). JSON in, JSON out: nothing knows a
//! typed model of the protocol, which would lose what it doesn't know.
//!
//! Keeps the invariants "there is no second path for a call" (each goes through
//! [`haft_runtime::Executor`]) and "conflicting calls keep the order in which they were sent".

mod about;
mod approver;
mod asks;
mod batch;
mod call;
mod canonical;
mod changes;
pub mod client;
mod content;
mod encode;
mod era;
mod error;
mod exchange;
mod fault;
mod form;
mod forward;
mod frame;
mod front;
mod http;
mod level;
mod lines;
mod listen;
mod names;
mod office;
mod outbox;
mod params;
mod parked;
mod peer;
mod place;
mod question;
mod reach;
mod relay;
mod rpc_error;
mod sampler;
mod seal;
mod server;
mod stdio;
mod subscriptions;
mod upstream;
mod work;

pub use approver::ClientApprover;
pub use error::McpError;
pub use front::{Front, Fronts, Registered};
pub use http::HttpSetup;
pub use rpc_error::RpcError;
pub use sampler::Sampler;
pub use server::{McpServer, ServerInfo};
pub use upstream::{Change, Features, Relayed, Upstreams};
