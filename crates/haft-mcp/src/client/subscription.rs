//! Resources whose changes somebody hears of, over all starts of their server: what one start was asked for, the next is
//! asked for too.

use super::{
    listening::Listening,
    server::{Peer, Server},
    upstream::{UpstreamError, UpstreamNote},
    wire::{Ask, CallError},
};
use haft_core::Cancel;
use serde_json::{Map, Value, json};
use std::{
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};
use tokio::runtime::Handle;

/// How long a server may take to hear that a subscription ended.
const LEAVE_TIME: Duration = Duration::from_secs(5);

/// A resource that somebody hears of.
struct Watch {
    uri: String,
    stop: Cancel,
}

/// All of a server's resources that somebody hears of.
#[derive(Default)]
pub(super) struct Watches(Mutex<Vec<Weak<Watch>>>);

impl Watches {
    fn add(&self, watch: &Arc<Watch>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(watch));
    }

    fn live(&self) -> Vec<Arc<Watch>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|watch| watch.strong_count() > 0);
        all.iter().filter_map(Weak::upgrade).filter(|watch| !watch.stop.is_fired()).collect()
    }
}

/// Keeps a subscription while it lives.
#[must_use = "the subscription ends when this is dropped"]
pub struct Subscription {
    watch: Arc<Watch>,
    server: Weak<Server>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.watch.stop.fire();
        let (Some(server), Ok(runtime)) = (self.server.upgrade(), Handle::try_current()) else { return };
        let uri = self.watch.uri.clone();
        runtime.spawn(async move { server.unwatch(&uri).await });
    }
}

impl Server {
    /// Hears of changes of a resource until what it gives is dropped.
    pub(super) async fn subscribed(&self, uri: String) -> Result<Subscription, UpstreamError> {
        let watch = Arc::new(Watch { uri, stop: Cancel::new() });
        let peer = self.connected(&watch.stop).await.map_err(UpstreamError::Failed)?;
        // Before it is asked for, so that whoever leaves meanwhile sees that somebody stays.
        self.watches.add(&watch);
        let watched = self.watch(&peer, &watch).await;
        watched.map_err(|error| self.failed("resources/subscribe", error))?;
        Ok(Subscription { watch, server: self.weak() })
    }

    /// Asks a new start for what those before it told of. That may have changed meanwhile, and is said to have.
    pub(super) fn watch_again(&self, peer: &Arc<Peer>) {
        let watches = self.watches.live();
        if watches.is_empty() {
            return;
        }
        let (server, own) = (self.weak(), Arc::clone(peer));
        let task = tokio::spawn(async move {
            for watch in watches {
                let Some(server) = server.upgrade() else { return };
                match server.watch(&own, &watch).await {
                    Ok(()) => {
                        // Nobody may be listening.
                        let note = UpstreamNote::ResourceUpdated(json!({"uri": watch.uri}));
                        let _ = server.notes().send(note);
                    }
                    Err(error) => {
                        server.log.line(&format!("[haft] it tells no more of {}: {error:?}", watch.uri));
                    }
                }
            }
        });
        peer.keep(task.abort_handle());
    }

    /// Has a start tell of a resource.
    async fn watch(&self, peer: &Arc<Peer>, watch: &Watch) -> Result<(), CallError> {
        if peer.is_modern() {
            let wanted = Map::from_iter([("resourceSubscriptions".to_owned(), json!([watch.uri]))]);
            Listening::open(self.weak(), peer, wanted, watch.stop.clone());
            return Ok(());
        }
        let mut ask = Ask::new("resources/subscribe", about(&watch.uri), &watch.stop);
        ask.idle = Some(self.config.limits.idle);
        peer.wire.ask(ask).await.map(drop)
    }

    /// Tells the server that nobody hears of a resource any more, in the era where that has to be said.
    async fn unwatch(&self, uri: &str) {
        let Some(peer) = self.running().await.filter(|peer| !peer.is_modern()) else { return };
        let others = || self.watches.live().into_iter().find(|watch| watch.uri == uri);
        if others().is_some() {
            return;
        }
        let cancel = Cancel::new();
        let mut ask = Ask::new("resources/unsubscribe", about(uri), &cancel);
        ask.idle = Some(LEAVE_TIME);
        // One that doesn't take it goes on telling, which nobody hears.
        drop(peer.wire.ask(ask).await);
        // Whoever came meanwhile may have been heard first, and be left with this one.
        if let Some(other) = others()
            && let Err(error) = self.watch(&peer, &other).await
        {
            self.log.line(&format!("[haft] it tells no more of {uri}: {error:?}"));
        }
    }
}

fn about(uri: &str) -> Map<String, Value> {
    Map::from_iter([("uri".to_owned(), json!(uri))])
}
