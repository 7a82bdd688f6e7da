//! What a server has besides tools, for hosts that pass it on: resources, prompts, completions, and news of them.

use super::{
    failure,
    name::tool_name,
    pages::{self, Listing},
    rounds::{Rounds, Stopped},
    router::Asker,
    server::Server,
    subscription::Subscription,
    wire::CallError,
};
use crate::{Front, RpcError};
use haft_core::{BoxFuture, Cancel, Failure};
use serde_json::{Map, Value};
use std::sync::Arc;
use tokio::sync::broadcast;

/// What a server tells by itself.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum UpstreamNote {
    /// Its tools are other ones; the catalogue has them already.
    ToolsChanged,
    /// Its prompts are other ones.
    PromptsChanged,
    /// Its resources are other ones.
    ResourcesChanged,
    /// A resource that was subscribed to is another one; the parameters as they came.
    ResourceUpdated(Value),
}

/// What can be listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpstreamList {
    /// Its prompts.
    Prompts,
    /// Its resources.
    Resources,
    /// Templates of addresses of resources.
    ResourceTemplates,
}

impl UpstreamList {
    fn listing(self) -> Listing {
        match self {
            Self::Prompts => pages::PROMPTS,
            Self::Resources => pages::RESOURCES,
            Self::ResourceTemplates => pages::TEMPLATES,
        }
    }
}

/// A question to a server.
#[derive(Clone)]
pub struct UpstreamRequest {
    /// `resources/read`, `prompts/get` or `completion/complete`.
    pub method: &'static str,
    /// Its parameters as the asker wrote them.
    pub params: Map<String, Value>,
    /// The client in front of haft that asks, where one does; the server may ask it meanwhile, and nobody else.
    pub front: Option<Arc<dyn Front>>,
    /// Ends it early.
    pub cancel: Cancel,
}

/// Why there is no answer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum UpstreamError {
    /// The server's own error, as it came.
    Rpc(RpcError),
    /// It couldn't be asked, or didn't answer.
    Failed(Failure),
}

/// A server behind haft.
pub trait Upstream: Send + Sync {
    /// What the user calls it.
    fn name(&self) -> Arc<str>;

    /// The name under which something of it stands beside that of others, a prompt for example.
    fn shown(&self, own: &str) -> Arc<str>;

    /// What it said it can do when it last spoke, as it came; null where it hasn't spoken yet.
    fn capabilities(&self) -> Value;

    /// All of a list, entries as they came; empty where it has no such thing.
    fn list(&self, what: UpstreamList, cancel: Cancel) -> BoxFuture<'_, Result<Vec<Value>, UpstreamError>>;

    /// Asks, and gives the result as it came.
    fn ask(&self, request: UpstreamRequest) -> BoxFuture<'_, Result<Value, UpstreamError>>;

    /// Hears of changes of a resource until what it gives is dropped.
    fn subscribe(&self, uri: String) -> BoxFuture<'_, Result<Subscription, UpstreamError>>;

    /// What it tells from now on.
    fn notes(&self) -> broadcast::Receiver<UpstreamNote>;
}

impl Server {
    pub(super) fn failed(&self, what: &str, error: CallError) -> UpstreamError {
        match error {
            CallError::Rpc(error) => UpstreamError::Rpc(error),
            other => UpstreamError::Failed(failure::of_call(&self.config.name, what, other)),
        }
    }

    async fn listed(&self, what: UpstreamList, cancel: &Cancel) -> Result<Vec<Value>, UpstreamError> {
        let peer = self.connected(cancel).await.map_err(UpstreamError::Failed)?;
        let listing = what.listing();
        let capability = if what == UpstreamList::Prompts { "prompts" } else { "resources" };
        if !peer.greeting.can(&[capability]) {
            return Ok(Vec::new());
        }
        match self.list(&peer, listing, cancel).await {
            Ok(listed) => {
                for warning in &listed.warnings {
                    self.log.line(&format!("[haft] {warning}"));
                }
                Ok(listed.entries)
            }
            // Templates came later than resources.
            Err(CallError::Rpc(error)) if error.code == RpcError::METHOD_NOT_FOUND => Ok(Vec::new()),
            Err(error) => Err(self.failed(listing.method, error)),
        }
    }

    async fn asked(&self, request: UpstreamRequest) -> Result<Value, UpstreamError> {
        let peer = self.connected(&request.cancel).await.map_err(UpstreamError::Failed)?;
        let asker = Asker { front: request.front.clone(), ..Asker::default() };
        let params = || request.params.clone();
        let rounds = Rounds {
            server: self,
            peer: &peer,
            method: request.method,
            params: &params,
            asker: &asker,
            wanted: &[],
            idle: self.config.limits.idle,
            cancel: &request.cancel,
        };
        rounds.run().await.map_err(|stopped| match stopped {
            Stopped::Call(error) => self.failed(request.method, error),
            Stopped::Failed(failure) => UpstreamError::Failed(failure),
        })
    }
}

impl Upstream for Server {
    fn name(&self) -> Arc<str> {
        Arc::clone(&self.config.name)
    }

    fn shown(&self, own: &str) -> Arc<str> {
        tool_name(&self.config.name, self.config.prefix.as_deref(), own)
    }

    fn capabilities(&self) -> Value {
        self.greeting().map_or(Value::Null, |greeting| greeting.capabilities)
    }

    fn list(&self, what: UpstreamList, cancel: Cancel) -> BoxFuture<'_, Result<Vec<Value>, UpstreamError>> {
        Box::pin(async move { self.listed(what, &cancel).await })
    }

    fn ask(&self, request: UpstreamRequest) -> BoxFuture<'_, Result<Value, UpstreamError>> {
        Box::pin(self.asked(request))
    }

    fn subscribe(&self, uri: String) -> BoxFuture<'_, Result<Subscription, UpstreamError>> {
        Box::pin(self.subscribed(uri))
    }

    fn notes(&self) -> broadcast::Receiver<UpstreamNote> {
        Server::notes(self).subscribe()
    }
}
