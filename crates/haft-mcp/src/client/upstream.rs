//! What a server has besides tools, for hosts that pass it on: resources, prompts, completions, and news of them.

use super::{
    call::answers,
    failure,
    name::tool_name,
    pages::{self, Listing},
    router::Asker,
    server::{Peer, Server},
    wire::{Ask, CallError},
};
use crate::Front;
use haft_core::{BoxFuture, Cancel, Failure, Nested};
use serde_json::{Map, Value, json};
use std::{
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::sync::broadcast;

/// How often a server may ask for more before it answers.
const ROUNDS_MAX: usize = 10;
/// How long it is waited before a subscription that ended is asked for again.
const AGAIN_TIME: Duration = Duration::from_secs(5);

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
    /// Whom the server may ask meanwhile.
    pub person: Option<Arc<dyn Nested>>,
    /// The client in front of haft that asks, where one does.
    pub front: Option<Arc<dyn Front>>,
    /// Ends it early.
    pub cancel: Cancel,
}

/// Why there is no answer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum UpstreamError {
    /// The server's own error.
    Rpc {
        /// As the server numbers it.
        code: i64,
        /// In its words.
        message: String,
        /// What else it says.
        data: Option<Value>,
    },
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

/// Keeps a subscription while it lives.
#[must_use = "the subscription ends when this is dropped"]
pub struct Subscription {
    cancel: Cancel,
    /// Told that it ended, in the era where that has to be said.
    leaving: Option<(Weak<Peer>, String)>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.cancel.fire();
        let Some((peer, uri)) = self.leaving.take() else { return };
        let (Some(peer), Ok(runtime)) = (peer.upgrade(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        runtime.spawn(async move {
            let cancel = Cancel::new();
            let params = Map::from_iter([("uri".to_owned(), json!(uri))]);
            let mut ask = Ask::new("resources/unsubscribe", params, &cancel);
            ask.idle = Some(AGAIN_TIME);
            // One that doesn't take it goes on telling, which nobody hears.
            drop(peer.wire.ask(ask).await);
        });
    }
}

impl Server {
    fn failed(&self, what: &str, error: CallError) -> UpstreamError {
        match error {
            CallError::Rpc(error) => {
                UpstreamError::Rpc { code: error.code, message: error.message, data: error.data }
            }
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
            Err(CallError::Rpc(error)) if error.code == super::message::RpcError::METHOD_NOT_FOUND => {
                Ok(Vec::new())
            }
            Err(error) => Err(self.failed(listing.method, error)),
        }
    }

    async fn asked(&self, request: UpstreamRequest) -> Result<Value, UpstreamError> {
        let peer = self.connected(&request.cancel).await.map_err(UpstreamError::Failed)?;
        let mut more = Map::new();
        let asker = Asker { sink: None, person: request.person.clone(), front: request.front.clone() };
        let may_ask = asker.person.is_some() || asker.front.is_some();
        for _ in 0..ROUNDS_MAX {
            let mut params = request.params.clone();
            params.extend(std::mem::take(&mut more));
            let ask = Ask {
                is_modern: peer.is_modern(),
                asker: asker.clone(),
                idle: Some(self.config.limits.idle),
                ..Ask::new(request.method, params, &request.cancel)
            };
            let result = peer.wire.ask(ask).await.map_err(|error| self.failed(request.method, error))?;
            let wants_more = result.get("resultType").and_then(Value::as_str) == Some("input_required");
            if !wants_more || !may_ask {
                return Ok(result);
            }
            more = answers(self, &result, &asker).await.map_err(UpstreamError::Failed)?;
        }
        let text =
            format!("the server {} asked for more {ROUNDS_MAX} times and gave no answer", self.config.name);
        Err(UpstreamError::Failed(Failure::internal(text)))
    }

    async fn subscribed(&self, uri: String) -> Result<Subscription, UpstreamError> {
        let cancel = Cancel::new();
        let peer = self.connected(&cancel).await.map_err(UpstreamError::Failed)?;
        if !peer.is_modern() {
            let params = Map::from_iter([("uri".to_owned(), json!(uri))]);
            let mut ask = Ask::new("resources/subscribe", params, &cancel);
            ask.idle = Some(self.config.limits.idle);
            let asked = peer.wire.ask(ask).await;
            asked.map_err(|error| self.failed("resources/subscribe", error))?;
            return Ok(Subscription { cancel, leaving: Some((Arc::downgrade(&peer), uri)) });
        }
        let (own, stop) = (Arc::clone(&peer), cancel.clone());
        let task = tokio::spawn(async move {
            loop {
                let wanted = json!({"resourceSubscriptions": [uri]});
                let params = Map::from_iter([("notifications".to_owned(), wanted)]);
                let mut ask = Ask::new("subscriptions/listen", params, &stop);
                ask.is_modern = true;
                if own.wire.ask(ask).await.is_err() {
                    return;
                }
                tokio::time::sleep(AGAIN_TIME).await;
            }
        });
        peer.keep(task.abort_handle());
        Ok(Subscription { cancel, leaving: None })
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
