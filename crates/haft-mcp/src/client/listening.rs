//! What a server of the modern era tells of by itself, heard for as long as its connection lasts.
//!
//! A stream that ends is asked for again, with growing pauses; what it would have told of counts as changed then, since
//! nobody heard of it meanwhile. Keeps the invariant "no stream ends silently".

use super::{
    server::{Peer, Server},
    upstream::UpstreamNote,
    wire::{Ask, CallError},
};
use crate::RpcError;
use haft_core::Cancel;
use serde_json::{Map, Value, json};
use std::{
    sync::{Arc, Weak},
    time::Duration,
};
use tokio::{
    sync::broadcast,
    time::{Instant, sleep, timeout},
};

/// The first pause before a stream that ended is asked for again; it doubles.
const PAUSE_FIRST: Duration = Duration::from_secs(1);
/// The longest. A stream that lasted so long was well, and the pauses begin anew.
const PAUSE_MAX: Duration = Duration::from_secs(60);
/// How long a server may take to say what it tells of; after that it is taken to have begun.
const ACKNOWLEDGE_TIME: Duration = Duration::from_secs(5);

/// One stream, over all the times that it is asked for.
pub(super) struct Listening {
    server: Weak<Server>,
    peer: Arc<Peer>,
    /// What is to be told of, as the protocol writes it.
    wanted: Map<String, Value>,
    stop: Cancel,
}

impl Listening {
    /// Hears of these changes until `stop` fires or the start of the server ends. Must be called within the tokio runtime.
    pub(super) fn open(server: Weak<Server>, peer: &Arc<Peer>, wanted: Map<String, Value>, stop: Cancel) {
        let listening = Self { server, peer: Arc::clone(peer), wanted, stop };
        let task = tokio::spawn(listening.run());
        peer.keep(task.abort_handle());
    }

    async fn run(self) {
        let mut pause = PAUSE_FIRST;
        let mut is_again = false;
        loop {
            let began = Instant::now();
            if let Err(error) = self.hear(is_again).await
                && self.is_over(&error)
            {
                self.note_end(&error);
                return;
            }
            if began.elapsed() >= PAUSE_MAX {
                pause = PAUSE_FIRST;
            }
            tokio::select! {
                () = sleep(pause) => {}
                () = self.stop.fired() => return,
            }
            pause = (pause * 2).min(PAUSE_MAX);
            is_again = true;
        }
    }

    /// One stream from its beginning to its end.
    async fn hear(&self, is_again: bool) -> Result<Value, CallError> {
        let acknowledged = self.peer.acknowledged.subscribe();
        let params = Map::from_iter([("notifications".to_owned(), Value::Object(self.wanted.clone()))]);
        let ask = Ask { is_modern: true, ..Ask::new("subscriptions/listen", params, &self.stop) };
        let missed = async {
            if is_again {
                // One that never says so may tell all the same.
                let _ = timeout(ACKNOWLEDGE_TIME, self.begun(acknowledged)).await;
                self.count_as_changed();
            }
            std::future::pending::<Result<Value, CallError>>().await
        };
        tokio::select! {
            ended = self.peer.wire.ask(ask) => ended,
            never = missed => never,
        }
    }

    /// Waits until the server says that it tells of something that is wanted here.
    async fn begun(&self, mut acknowledged: broadcast::Receiver<Value>) {
        let is_wanted = |(kind, what): (&String, &Value)| self.wanted.get(kind) == Some(what);
        while let Ok(kinds) = acknowledged.recv().await {
            if kinds.as_object().is_some_and(|kinds| kinds.iter().any(is_wanted)) {
                return;
            }
        }
    }

    /// Whether asking again is of no use.
    fn is_over(&self, error: &CallError) -> bool {
        match error {
            CallError::Cancelled => true,
            CallError::Rpc(error) => {
                matches!(error.code, RpcError::METHOD_NOT_FOUND | RpcError::INVALID_PARAMS)
            }
            _ => self.peer.wire.router.lost().is_some(),
        }
    }

    fn note_end(&self, error: &CallError) {
        if let (CallError::Rpc(error), Some(server)) = (error, self.server.upgrade()) {
            server.log.line(&format!("[haft] it doesn't tell of changes: {error}"));
        }
    }

    fn count_as_changed(&self) {
        let Some(server) = self.server.upgrade() else { return };
        for (kind, what) in &self.wanted {
            let notes = match kind.as_str() {
                "toolsListChanged" => {
                    self.peer.changed.notify_one();
                    Vec::new()
                }
                "promptsListChanged" => vec![UpstreamNote::PromptsChanged],
                "resourcesListChanged" => vec![UpstreamNote::ResourcesChanged],
                _ => {
                    let uris = what.as_array().into_iter().flatten();
                    uris.map(|uri| UpstreamNote::ResourceUpdated(json!({"uri": uri}))).collect()
                }
            };
            for note in notes {
                // Nobody may be listening.
                let _ = server.notes().send(note);
            }
        }
    }
}
