//! haft as a client of servers of the Model Context Protocol, whose tools join the catalogue.
//!
//! Thin and our own, over raw frames: the SDK's types would thin out what servers say, and its client has no say over
//! how a process is kept, how long a line may be and what becomes of noise. Both eras of the protocol, over the streams
//! of a process, over HTTP, and over the older form of HTTP with two addresses.
//!
//! | file | what |
//! |---|---|
//! | `clients` | all servers of a workspace |
//! | `server`, `attend`, `listening` | one server over all its starts; what it says by itself |
//! | `greet`, `pages` | the first words; lists that come page by page |
//! | `wire`, `router`, `pulse`, `message` | requests and answers, whatever carries them |
//! | `stdio`, `http`, `refusal`, `sse` | what carries them |
//! | `registry`, `tool`, `call`, `rounds`, `result` | definitions as tools of haft's, calls, results |
//! | `definition`, `schema`, `headers`, `name`, `names`, `screen` | what a definition says and how it is shown |
//! | `upstream`, `subscription`, `gathered` | resources, prompts and completions, for hosts that pass them on; those of all servers as one |
//! | `lent` | what a client in front of haft lends to a server |
//! | `auth/` | logging in, over HTTP |
//! | `cache`, `log`, `failure` | what is remembered, written down, said |
//!
//! Keeps the invariants "one server never harms another, nor the session", "nothing unbounded", "a call that may have
//! run isn't repeated", and "what a server says of itself only tightens".

mod attend;
mod auth;
mod cache;
mod call;
mod clients;
mod config;
mod definition;
mod eager;
mod failure;
mod gathered;
mod greet;
mod headers;
mod http;
mod known;
mod lent;
mod listening;
mod log;
mod message;
mod name;
mod names;
mod pages;
mod pulse;
mod refusal;
mod registry;
mod result;
mod rounds;
mod router;
mod schema;
mod screen;
mod server;
mod sse;
mod stdio;
mod subscription;
mod tool;
mod upstream;
mod wire;

use crate::canonical;

pub use auth::{LoggedIn, LoginPage, OAuth, OAuthSetup, OwnClient};
pub use clients::{ClientSetup, McpClients, ServerReport};
pub use config::{
    CALL_TIMEOUT, CONCURRENCY, Endpoint, IDLE_TIMEOUT, Limits, START_TIMEOUT, ServerConfig, Tokens, Transport,
};
pub use log::Oddities;
pub use name::name_beginnings;
pub use subscription::Subscription;
pub use upstream::{Upstream, UpstreamError, UpstreamList, UpstreamNote, UpstreamRequest};
