//! What all clients of one server share.

use crate::{
    Features, Fronts, Upstreams, encode, names,
    parked::Parked,
    seal::Seal,
    server::{McpServer, Renewal, ServerInfo},
};
use haft_runtime::{Executor, Offer, Resolved, Session, Snapshot};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// One server at work.
pub(crate) struct Office {
    pub(crate) executor: Executor,
    pub(crate) session: Arc<Session>,
    pub(crate) info: ServerInfo,
    /// Name and version as they stand in results.
    pub(crate) server: Value,
    /// Brings the catalogue up to date; blocking.
    pub(crate) renewal: Option<Renewal>,
    /// The servers behind haft.
    pub(crate) upstream: Option<Arc<dyn Upstreams>>,
    /// Who makes which call.
    pub(crate) fronts: Fronts,
    /// Seals what clients bring back.
    pub(crate) seal: Seal,
    /// Calls that wait for their client to come back.
    pub(crate) parked: Parked,
    /// Fires when no client is served any more.
    pub(crate) leaving: CancellationToken,
    /// Fires when calls must end.
    pub(crate) ending: CancellationToken,
}

impl Office {
    pub(crate) fn new(server: McpServer) -> Arc<Self> {
        let McpServer { executor, session, info, renewal, upstream, fronts, secret } = server;
        Arc::new(Self {
            executor,
            session,
            server: encode::server(&info),
            info,
            renewal,
            upstream,
            fronts,
            seal: secret.map_or_else(Seal::random, Seal::new),
            parked: Parked::default(),
            leaving: CancellationToken::new(),
            ending: CancellationToken::new(),
        })
    }

    /// What the servers behind haft have.
    pub(crate) fn features(&self) -> Features {
        self.upstream.as_ref().map(|upstream| upstream.features()).unwrap_or_default()
    }

    /// What this server declares that it can do.
    pub(crate) fn capabilities(&self) -> Value {
        let features = self.features();
        let mut all = Map::new();
        all.insert("tools".to_owned(), json!({"listChanged": true}));
        all.insert("logging".to_owned(), json!({}));
        if features.resources {
            all.insert(
                "resources".to_owned(),
                json!({"listChanged": true, "subscribe": features.subscriptions}),
            );
        }
        if features.prompts {
            all.insert("prompts".to_owned(), json!({"listChanged": true}));
        }
        if features.completions {
            all.insert("completions".to_owned(), json!({}));
        }
        Value::Object(all)
    }

    /// The tools of now: what rules deny whole, nobody needs to see.
    pub(crate) async fn tools(&self) -> Arc<Snapshot> {
        if let Some(renewal) = self.renewal.clone() {
            // One that panics leaves the list as it was.
            drop(tokio::task::spawn_blocking(move || renewal()).await);
        }
        self.session.refresh()
    }

    /// The name in the catalogue of what a client calls, by the tools of now, which are those of a list asked for now.
    pub(crate) fn called(&self, name: &str) -> String {
        let snapshot = self.session.refresh();
        let known = |snapshot: &Snapshot| match snapshot.resolve(name) {
            Resolved::Tool(..) | Resolved::Gone(_) => Some(name.to_owned()),
            Resolved::Unknown(_) => {
                let offer = snapshot.offers().find(|offer| names::of(offer.spec()) == name)?;
                Some(offer.name.to_string())
            }
        };
        if let Some(found) = known(&snapshot) {
            return found;
        }
        let Some(renewal) = &self.renewal else { return name.to_owned() };
        renewal();
        known(&self.session.refresh()).unwrap_or_else(|| name.to_owned())
    }

    /// The tool that a call by this name runs, found as the call itself finds it.
    pub(crate) fn offer(&self, name: &str) -> Option<Offer> {
        let called = self.called(name);
        match self.session.snapshot().resolve(&called) {
            Resolved::Tool(offer, _) => Some(offer.clone()),
            Resolved::Gone(_) | Resolved::Unknown(_) => None,
        }
    }
}
