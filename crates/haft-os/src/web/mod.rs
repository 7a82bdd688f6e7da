//! The guarded client: whatever a model asks for, only public hosts are contacted.
//!
//! Every hop of every fetch passes the same three steps: the host and its addresses are checked ([`address`]),
//! one of the checked addresses is connected to ([`network`]), one request is sent on that connection
//! ([`exchange`]). Connections are made by hand and used once, so there is no pool, no resolver and no proxy
//! in between that could choose another address. Leaves who may fetch what to the gates. Keeps the invariant
//! "connects only to the address it checked, at each hop".

mod address;
mod body;
mod cache;
mod client;
mod exchange;
mod network;
mod refusal;
mod tls;

pub(crate) use address::{is_local_name, not_public};
pub use client::OsWeb;
pub use network::Network;
