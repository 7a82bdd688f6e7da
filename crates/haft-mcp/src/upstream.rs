//! What the server needs to know of the servers behind haft. Their tools stand in the catalogue, their definitions and
//! results as they came in [`haft_core::Spec::foreign`] and [`haft_core::Output::foreign`]; this is all the rest, as raw
//! JSON.
//!
//! Objects are given in a form that belongs to no era: without `resultType`, `ttlMs`, `cacheScope` and the protocol's
//! own keys of `_meta`, all else as it came. The server adds what its client's era wants.

use crate::{Front, RpcError};
use haft_core::BoxFuture;
use serde_json::{Map, Value};
use std::{any::Any, sync::Arc};
use tokio::sync::broadcast;

/// Which of the protocol's features some server behind haft has now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Features {
    /// Resources can be listed and read.
    pub resources: bool,
    /// Changes of single resources are told.
    pub subscriptions: bool,
    /// Prompts can be listed and got.
    pub prompts: bool,
    /// Arguments can be completed.
    pub completions: bool,
}

/// What else changed than the catalogue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The list of prompts.
    Prompts,
    /// The lists of resources and templates.
    Resources,
    /// One resource that was subscribed to.
    Resource(Arc<str>),
}

/// A request that servers behind haft answer: `resources/list`, `resources/templates/list`, `resources/read`,
/// `prompts/list`, `prompts/get` or `completion/complete`.
pub struct Relayed {
    /// The method.
    pub method: &'static str,
    /// Its parameters; of `_meta` what isn't the protocol's own.
    pub params: Map<String, Value>,
    /// Who asks, for servers that have questions.
    pub front: Arc<dyn Front>,
}

/// The servers behind haft.
pub trait Upstreams: Send + Sync {
    /// What some of them have.
    fn features(&self) -> Features;

    /// Answers a request. Lists are whole: all pages of all servers, in a stable order, without those of servers that
    /// don't answer. Names of prompts are those under which they are listed.
    ///
    /// # Errors
    /// What the server says, [`RpcError::no_resource`] or invalid parameters where no server has it.
    ///
    /// # Cancellation
    /// Dropping the future cancels the request.
    fn request(&self, request: Relayed) -> BoxFuture<'_, Result<Map<String, Value>, RpcError>>;

    /// Has [`Change::Resource`] told of one resource until the result is dropped. One that nobody knows is no fault: it may
    /// come to be.
    ///
    /// # Errors
    /// What the server says.
    ///
    /// # Cancellation
    /// Dropping the future gives the subscription up.
    fn subscribe(&self, uri: &str) -> BoxFuture<'_, Result<Box<dyn Any + Send>, RpcError>>;

    /// Changes from now on.
    fn changes(&self) -> broadcast::Receiver<Change>;
}
