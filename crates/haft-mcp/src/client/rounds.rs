//! A request that its server may answer by asking for more first: it is given what it asks for and asked again, until it
//! answers.

use super::{
    headers::ParamHeader,
    router::Asker,
    server::{Peer, Server},
    wire::{Ask, CallError},
};
use haft_core::{Cancel, Failure, FailureKind};
use serde_json::{Map, Value};
use std::time::Duration;

/// How often a server may ask for more before it answers.
const ROUNDS_MAX: usize = 10;

/// Why there is no result.
pub(super) enum Stopped {
    /// The request failed.
    Call(CallError),
    /// The server wants what nobody here has, never has enough, or answers with what nobody here knows.
    Failed(Failure),
}

/// A request, and who makes it.
pub(super) struct Rounds<'a> {
    pub(super) server: &'a Server,
    pub(super) peer: &'a Peer,
    pub(super) method: &'a str,
    /// Its parameters, made anew for each round.
    pub(super) params: &'a (dyn Fn() -> Map<String, Value> + Sync),
    pub(super) asker: &'a Asker,
    /// Headers that the tool asks for.
    pub(super) wanted: &'a [ParamHeader],
    /// How long each round may go without a sign of life.
    pub(super) idle: Duration,
    pub(super) cancel: &'a Cancel,
}

impl Rounds<'_> {
    /// Asks until the server answers.
    ///
    /// # Errors
    /// [`Stopped`].
    pub(super) async fn run(&self) -> Result<Value, Stopped> {
        let mut more = Map::new();
        for _ in 0..ROUNDS_MAX {
            let mut params = (self.params)();
            params.extend(std::mem::take(&mut more));
            let ask = Ask {
                is_modern: self.peer.is_modern(),
                asker: self.asker.clone(),
                wanted: self.wanted,
                idle: Some(self.idle),
                ..Ask::new(self.method, params, self.cancel)
            };
            let result = self.peer.wire.ask(ask).await.map_err(Stopped::Call)?;
            // To the older era this is a field like any other.
            let kind = result.get("resultType").filter(|_| self.peer.is_modern());
            match kind.and_then(Value::as_str) {
                None | Some("complete") => return Ok(result),
                Some("input_required") => more = self.answers(&result).await.map_err(Stopped::Failed)?,
                Some(other) => {
                    return Err(self.failed(&format!(
                        "answered with a result of the kind \"{other}\", which haft doesn't know; try another way"
                    )));
                }
            }
        }
        Err(self.failed(&format!("asked for more {ROUNDS_MAX} times and gave no result; try another way")))
    }

    fn failed(&self, what: &str) -> Stopped {
        Stopped::Failed(Failure::internal(format!("the server {} {what}", self.server.config.name)))
    }

    /// What goes with the next round: the answers to what the server asks, and its own state as it came.
    async fn answers(&self, result: &Value) -> Result<Map<String, Value>, Failure> {
        let (server, asker) = (self.server, self.asker);
        let mut more = Map::new();
        if let Some(requests) = result.get("inputRequests").and_then(Value::as_object) {
            let (mut responses, mut further) = (Map::new(), Map::new());
            for (key, request) in requests {
                let method = request.get("method").and_then(Value::as_str).unwrap_or_default();
                let params = request.get("params").unwrap_or(&Value::Null);
                if server.goes_on(method, params, asker) {
                    further.insert(key.clone(), request.clone());
                    continue;
                }
                match server.reply(method, params, (asker, None)).await {
                    Ok(response) => drop(responses.insert(key.clone(), response)),
                    Err(error) => {
                        return Err(Failure::new(
                            FailureKind::Unavailable,
                            format!("the server {} can't go on: {}", server.config.name, error.message),
                        ));
                    }
                }
            }
            if !further.is_empty() {
                let lent = server.put(further, asker).await;
                responses.extend(lent.map_err(|error| server.unlent(asker, error))?);
            }
            more.insert("inputResponses".to_owned(), Value::Object(responses));
        }
        if let Some(state) = result.get("requestState") {
            more.insert("requestState".to_owned(), state.clone());
        }
        Ok(more)
    }
}
