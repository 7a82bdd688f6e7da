//! What a server says by itself: its questions are answered, its changes looked at.

use super::{
    listening::Listening,
    pulse::Pulse,
    router::{Arrival, Asker},
    server::{Peer, Server},
    upstream::UpstreamNote,
};
use crate::RpcError;
use haft_core::{Cancel, Filled, Form};
use haft_runtime::Checker;
use serde_json::{Map, Value, json};
use std::{
    fmt::Write,
    sync::{Arc, Weak, atomic::Ordering},
    time::Duration,
};
use tokio::{sync::mpsc, task::AbortHandle, time::sleep};

/// How many of a server's questions are open at once.
const ASKS_MAX: usize = 8;
/// How long changes are gathered before the list is asked for anew.
const GATHER_TIME: Duration = Duration::from_millis(50);
/// How much of a server's question a person is shown.
const MESSAGE_MAX_CHARS: usize = 4_000;

/// The answer to a server's question.
pub(crate) type Reply = Result<Value, RpcError>;

/// Whom a server's question goes to, and whose silence means nothing meanwhile.
pub(crate) type Person<'a> = (&'a Asker, Option<Arc<Pulse>>);

impl Server {
    /// Looks at what comes until the connection ends.
    pub(super) fn attend(&self, peer: Weak<Peer>, mut arrivals: mpsc::Receiver<Arrival>) -> AbortHandle {
        let server = self.weak();
        let task = tokio::spawn(async move {
            while let Some(arrival) = arrivals.recv().await {
                let (Some(server), Some(peer)) = (server.upgrade(), peer.upgrade()) else { return };
                match arrival {
                    Arrival::Request { raw_id, method, params, about } => {
                        server.answer(&peer, (raw_id, about), method, params.unwrap_or(Value::Null));
                    }
                    Arrival::Notification { method, params } => {
                        server.hear(&peer, &method, params.unwrap_or(Value::Null));
                    }
                }
            }
        });
        task.abort_handle()
    }

    /// Answers without keeping others from being looked at.
    fn answer(
        &self,
        peer: &Arc<Peer>,
        (raw_id, about): (String, Option<i64>),
        method: String,
        params: Value,
    ) {
        if !Self::may_ask(peer, ASKS_MAX) {
            peer.asks.fetch_sub(1, Ordering::AcqRel);
            peer.wire.answer(&raw_id, Err(busy("too many questions are open; ask later")));
            return;
        }
        let (server, asking) = (self.weak(), Arc::clone(peer));
        let task = tokio::spawn(async move {
            let (asker, pulse) = asking.wire.router.person(about).unzip();
            let asker = asker.unwrap_or_default();
            let reply = match server.upgrade() {
                Some(server) => server.reply(&method, &params, (&asker, pulse)).await,
                None => Err(busy("this client is ending")),
            };
            asking.wire.answer(&raw_id, reply);
            asking.asks.fetch_sub(1, Ordering::AcqRel);
        });
        peer.keep(task.abort_handle());
    }

    /// The answer to one question of the server.
    pub(crate) async fn reply(&self, method: &str, params: &Value, person: Person<'_>) -> Reply {
        if self.goes_on(method, params, person.0) {
            return self.lent(method, params, person).await;
        }
        match method {
            "ping" => Ok(json!({})),
            // Where a client's folders are passed on and this one has none, there are none.
            "roots/list" if !self.config.roots.is_empty() || self.lends().roots => {
                Ok(json!({"roots": self.roots()}))
            }
            "elicitation/create" => self.elicit(params, person).await,
            "sampling/createMessage" => self.sample(params, person).await,
            _ => Err(unknown(format!("this client doesn't know {method}"))),
        }
    }

    fn roots(&self) -> Vec<Value> {
        let named = self.config.roots.iter().map(|root| {
            let name = root.rsplit('/').next().unwrap_or_default();
            json!({"uri": format!("file://{}", in_address(root)), "name": name})
        });
        named.collect()
    }

    /// The answer of the client in front of haft.
    async fn lent(&self, method: &str, params: &Value, (asker, pulse): Person<'_>) -> Reply {
        const KEY: &str = "question";
        let _held = pulse.map(|pulse| pulse.hold());
        let request = json!({"method": method, "params": params});
        let mut answers = self.put(Map::from_iter([(KEY.to_owned(), request)]), asker).await?;
        answers.remove(KEY).ok_or_else(|| busy("the question was left out"))
    }

    async fn elicit(&self, params: &Value, (asker, pulse): Person<'_>) -> Reply {
        let text = |key: &str| params.get(key).and_then(Value::as_str);
        let url = match (text("mode"), text("url")) {
            (Some("url"), Some(url)) if url.starts_with("https://") || url.starts_with("http://") => {
                Some(url.to_owned())
            }
            (Some("url"), _) => return Err(RpcError::invalid_params("that is no address of a page")),
            _ => None,
        };
        let empty = json!({"type": "object", "properties": {}});
        let schema = match params.get("requestedSchema") {
            Some(schema) if url.is_none() => schema.clone(),
            _ => empty,
        };
        let checker = Checker::compile(&schema)
            .map_err(|why| RpcError::invalid_params(format!("requestedSchema can't be used: {why}")))?;
        let Some(person) = &asker.person else { return Ok(json!({"action": "decline"})) };
        let message = text("message").unwrap_or_default().chars().take(MESSAGE_MAX_CHARS).collect();
        let form = Form {
            call: haft_core::CallId::outer(0),
            source: format!("the server {}", self.config.name).into(),
            message,
            schema: schema.clone(),
            url: url.clone(),
        };
        let _held = pulse.map(|pulse| pulse.hold());
        Ok(match person.fill(form).await {
            Filled::Declined => json!({"action": "decline"}),
            Filled::Dismissed => json!({"action": "cancel"}),
            Filled::Accepted(_) if url.is_some() => json!({"action": "accept"}),
            Filled::Accepted(content) => {
                let content = with_defaults(content, &schema);
                match checker.problems(&content) {
                    None => json!({"action": "accept", "content": content}),
                    Some(why) => {
                        self.log.line(&format!("[haft] what was filled in doesn't fit: {why}"));
                        json!({"action": "cancel"})
                    }
                }
            }
        })
    }

    /// The answer of the session's own model, during a call that no client made, where the person lets the server ask it or
    /// the settings do.
    async fn sample(&self, params: &Value, (asker, pulse): Person<'_>) -> Reply {
        let sampler = self.shared.fronts.sampler().filter(|_| asker.front.is_none());
        let (Some(sampler), Some(person)) = (sampler, &asker.person) else {
            return Err(unknown("whoever made the call lends no model to servers"));
        };
        let _held = pulse.map(|pulse| pulse.hold());
        if !self.config.sampling {
            let form = Form {
                call: haft_core::CallId::outer(0),
                source: format!("the server {}", self.config.name).into(),
                message: to_model(params),
                schema: json!({"type": "object", "properties": {}}),
                url: None,
            };
            if !matches!(person.fill(form).await, Filled::Accepted(_)) {
                let why = "nobody let the server ask the model; the user can with `sampling = true` in its settings";
                return Err(RpcError::new(RpcError::REJECTED, why));
            }
        }
        let _paused = person.pause();
        sampler.sample(params).await
    }

    fn hear(&self, peer: &Peer, method: &str, params: Value) {
        let note = match method {
            "notifications/tools/list_changed" => {
                peer.changed.notify_one();
                return;
            }
            "notifications/prompts/list_changed" => UpstreamNote::PromptsChanged,
            "notifications/resources/list_changed" => UpstreamNote::ResourcesChanged,
            "notifications/resources/updated" => UpstreamNote::ResourceUpdated(params),
            "notifications/subscriptions/acknowledged" => {
                // Nobody may be waiting for it.
                let _ = peer.acknowledged.send(params.get("notifications").cloned().unwrap_or_default());
                return;
            }
            _ => return,
        };
        // Nobody may be listening.
        let _ = self.notes().send(note);
    }

    /// Hears of changes in the modern era, where it is asked for.
    pub(super) fn hear_changes(&self, peer: &Arc<Peer>) {
        let changes = |what: &str| peer.greeting.can(&[what, "listChanged"]);
        let mut wanted = Map::new();
        for (what, key) in [
            ("tools", "toolsListChanged"),
            ("prompts", "promptsListChanged"),
            ("resources", "resourcesListChanged"),
        ] {
            if changes(what) {
                wanted.insert(key.to_owned(), Value::Bool(true));
            }
        }
        if !wanted.is_empty() {
            Listening::open(self.weak(), peer, wanted, Cancel::new());
        }
    }

    /// Asks for its tools anew whenever they have changed; several changes at once are one.
    pub(super) fn relist(&self, peer: &Arc<Peer>) -> AbortHandle {
        let (server, peer) = (self.weak(), Arc::clone(peer));
        let task = tokio::spawn(async move {
            loop {
                peer.changed.notified().await;
                sleep(GATHER_TIME).await;
                let Some(server) = server.upgrade() else { return };
                if let Err(error) = server.list_tools(&peer, &Cancel::new()).await {
                    server.log.line(&format!("[haft] its changed tools couldn't be listed: {error:?}"));
                }
                // Nobody may be listening.
                let _ = server.notes().send(UpstreamNote::ToolsChanged);
            }
        });
        task.abort_handle()
    }
}

fn busy(why: &str) -> RpcError {
    RpcError::new(RpcError::BUSY, why)
}

fn unknown(what: impl Into<String>) -> RpcError {
    RpcError::new(RpcError::METHOD_NOT_FOUND, what)
}

/// What a person reads of what a server would have the model answer.
fn to_model(params: &Value) -> String {
    let mut text = "It wants your model to answer this, and to get the answer:".to_owned();
    let system = params.get("systemPrompt").and_then(Value::as_str);
    let messages = params.get("messages").and_then(Value::as_array).into_iter().flatten();
    let said = messages.map(|message| {
        let content = message.get("content").unwrap_or(&Value::Null);
        content.get("text").and_then(Value::as_str).map_or_else(|| content.to_string(), str::to_owned)
    });
    for words in system.map(str::to_owned).into_iter().chain(said) {
        text.push('\n');
        text.push_str(&words);
    }
    text.chars().take(MESSAGE_MAX_CHARS).collect()
}

/// What was left empty has the value that the form names for it.
fn with_defaults(content: Value, schema: &Value) -> Value {
    let mut fields = match content {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if let Some(default) = property.get("default") {
            fields.entry(name).or_insert_with(|| default.clone());
        }
    }
    Value::Object(fields)
}

/// A path as part of an address.
fn in_address(path: &str) -> String {
    let mut address = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte) {
            address.push(char::from(byte));
        } else {
            // Writing to a string can't fail.
            let _ = write!(address, "%{byte:02X}");
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_named_as_an_address() {
        assert_eq!(in_address("/a b/é#"), "/a%20b/%C3%A9%23");
    }

    #[test]
    fn what_was_left_empty_has_its_default() {
        let schema = json!({"properties": {"a": {"default": 1}, "b": {"default": 2}, "c": {}}});
        assert_eq!(with_defaults(json!({"b": 3}), &schema), json!({"b": 3, "a": 1}));
        assert_eq!(with_defaults(Value::Null, &schema), json!({"a": 1, "b": 2}));
    }
}
