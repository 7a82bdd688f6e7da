//! All servers of a workspace: their tools are in the catalogue for as long as this lives.
//!
//! One server that doesn't start, hangs or lies never keeps the others from being used.

use super::{
    cache::Cache,
    config::ServerConfig,
    failure,
    gathered::Gathered,
    log::Oddities,
    names::Names,
    registry::Registry,
    server::{Server, Shared},
    upstream::Upstream,
};
use crate::{Fronts, ServerInfo, Upstreams};
use futures::future::join_all;
use haft_core::{Cancel, Failure, Media, StateFolder};
use haft_runtime::{Catalogue, Problem};
use serde_json::{Value, json};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::time::timeout;

/// How many lines of a server's log a report has.
const REPORT_LINES: usize = 40;
/// How long all servers together may take to end.
const CLOSE_TIME: Duration = Duration::from_secs(6);

/// What servers are taken in with.
pub struct ClientSetup {
    /// Where their tools go.
    pub catalogue: Catalogue,
    /// Where what they said is kept; without it they are asked each time.
    pub state: Option<Arc<dyn StateFolder>>,
    /// Decodes pictures in results.
    pub media: Arc<dyn Media>,
    /// What they are told of this client.
    pub info: ServerInfo,
    /// Who makes calls, where clients in front of haft do.
    pub fronts: Fronts,
}

/// The servers.
pub struct McpClients {
    servers: Vec<Arc<Server>>,
}

/// What a look at a server came to.
#[derive(Debug, Clone, serde::Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ServerReport {
    /// What the user calls it.
    pub name: Arc<str>,
    /// The revision of the protocol that is spoken with it.
    pub protocol: String,
    /// Whether each request stands alone there.
    pub is_modern: bool,
    /// Name and version as it says them.
    pub info: Value,
    /// What it says it can do.
    pub capabilities: Value,
    /// What it says of all its tools.
    pub instructions: Option<String>,
    /// The names of its tools here.
    pub tools: Vec<Arc<str>>,
    /// How long it took to start and to list them.
    pub took_ms: u64,
    /// What it did that it shouldn't.
    pub oddities: Oddities,
    /// The end of what it wrote beside the protocol.
    pub log: Vec<String>,
    /// What of its tools can't be used, and what was done to them.
    #[serde(skip)]
    pub problems: Vec<Problem>,
}

impl McpClients {
    /// Takes servers in; none is started. What they said before is in the catalogue at once. Where tools of two of them have
    /// one name, it is the first one's.
    pub fn new(setup: ClientSetup, configs: Vec<ServerConfig>) -> Self {
        let client = json!({"name": setup.info.name, "version": setup.info.version});
        let shared = Shared { client, media: setup.media, fronts: setup.fronts };
        let names = Names::default();
        let servers = configs.into_iter().enumerate().map(|(rank, config)| {
            let cache = setup.state.clone().map(|state| Cache::new(state, &config.name, &config.parts));
            let registry = Registry::new(setup.catalogue.clone(), names.clone(), rank);
            Server::new(config, shared.clone(), registry, cache)
        });
        Self { servers: servers.collect() }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// Whether the tools of all of them are known, from now or from before.
    pub fn are_known(&self) -> bool {
        self.servers.iter().all(|server| server.is_known())
    }

    /// Starts those that are to run before they are needed, and those whose tools nobody knows yet, all at once and
    /// apart from whoever calls. Must be called within the tokio runtime.
    pub fn start(&self) {
        for server in &self.servers {
            if server.config.eager || !server.is_known() {
                let server = Arc::downgrade(server);
                tokio::spawn(async move {
                    if let Some(server) = server.upgrade() {
                        // What went wrong is among the problems.
                        drop(server.connected(&Cancel::new()).await);
                    }
                });
            }
        }
    }

    /// Waits until the tools of all servers are known, from now or from before, or can't be had; so long at most. One
    /// that isn't ready by then is started by whoever needs it.
    pub async fn ready(&self, patience: Duration) {
        let unknown = self.servers.iter().filter(|server| !server.is_known());
        let known = join_all(unknown.map(|server| async move {
            drop(server.connected(&Cancel::new()).await);
        }));
        let _ = timeout(patience, known).await;
    }

    /// Starts a server and looks at what it says.
    ///
    /// # Errors
    /// There is no such server, or it can't be started.
    pub async fn look(&self, name: &str, cancel: &Cancel) -> Result<ServerReport, Failure> {
        let server = self.server(name)?;
        let began = Instant::now();
        let connected = server.connected(cancel).await;
        let peer = connected.map_err(|error| failure::without_advice(&server.config.name, error))?;
        let greeting = peer.greeting.clone();
        Ok(ServerReport {
            name: Arc::clone(&server.config.name),
            protocol: greeting.version,
            is_modern: peer.is_modern(),
            info: greeting.info,
            capabilities: greeting.capabilities,
            instructions: greeting.instructions,
            tools: server.registry.names(),
            took_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
            oddities: server.log.oddities(),
            log: server.log.last(REPORT_LINES).0,
            problems: server.registry.problems(),
        })
    }

    /// The end of what a server wrote beside the protocol, and what it did that it shouldn't.
    pub fn log(&self, name: &str) -> Option<(Vec<String>, Oddities)> {
        let server = self.servers.iter().find(|server| &*server.config.name == name)?;
        Some((server.log.last(REPORT_LINES).0, server.log.oddities()))
    }

    /// Forgets which era of the protocol a server spoke, so that it is greeted like one that nobody knows. Its tools stay as
    /// they were until it says what they are now.
    ///
    /// # Errors
    /// There is no such server.
    pub fn forget_era(&self, name: &str) -> Result<(), Failure> {
        self.server(name)?.forget_era();
        Ok(())
    }

    /// The servers for what they have besides tools.
    pub fn upstreams(&self) -> Vec<Arc<dyn Upstream>> {
        let upstream = |server: &Arc<Server>| -> Arc<dyn Upstream> { server.clone() };
        self.servers.iter().map(upstream).collect()
    }

    /// The same as one. Must be called within the tokio runtime.
    pub fn gathered(&self) -> Arc<dyn Upstreams> {
        Arc::new(Gathered::new(self.upstreams()))
    }

    /// Stops all servers; each gets its time to end by itself.
    pub async fn close(&self) {
        // What doesn't end in time is killed with its connection.
        let _ = timeout(CLOSE_TIME, join_all(self.servers.iter().map(|server| server.stop()))).await;
    }

    fn server(&self, name: &str) -> Result<&Arc<Server>, Failure> {
        let found = self.servers.iter().find(|server| &*server.config.name == name);
        found.ok_or_else(|| {
            let known: Vec<&str> = self.servers.iter().map(|server| &*server.config.name).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Failure::not_found(format!("there is no server \"{name}\" in use here; there are: {known}"))
        })
    }
}

impl Drop for McpClients {
    fn drop(&mut self) {
        for server in &self.servers {
            server.registry.clear();
            server.retire();
        }
    }
}
