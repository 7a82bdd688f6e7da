//! What all servers have besides tools, as one: lists put together, and each question brought to the server that has what
//! it is about.
//!
//! Keeps the invariants "one that doesn't answer keeps nobody from the others" and "what belongs to one server is asked of
//! no other".

use super::{
    known::Known,
    upstream::{Upstream, UpstreamError, UpstreamList, UpstreamNote, UpstreamRequest},
};
use crate::{Change, Features, Relayed, RpcError, Upstreams, forward};
use futures::future::join_all;
use haft_core::{BoxFuture, Cancel};
use serde_json::{Map, Value, json};
use std::{
    any::Any,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::broadcast::{self, error::RecvError},
    task::AbortHandle,
    time::timeout,
};

/// How long a server is waited for where all are listed.
const LIST_TIME: Duration = Duration::from_secs(10);
/// How many changes a slow listener may miss before it is told that it missed some.
const CHANGES_MAX: usize = 64;
/// What older servers say where a resource isn't there.
const NO_RESOURCE: i64 = -32_002;

/// The servers.
pub(super) struct Gathered {
    servers: Vec<Arc<dyn Upstream>>,
    known: Arc<Mutex<Known>>,
    changes: broadcast::Sender<Change>,
    tasks: Vec<AbortHandle>,
}

impl Gathered {
    /// The servers as one. Must be called within the tokio runtime.
    pub(super) fn new(servers: Vec<Arc<dyn Upstream>>) -> Self {
        let changes = broadcast::Sender::new(CHANGES_MAX);
        let known = Arc::<Mutex<Known>>::default();
        let tasks = servers
            .iter()
            .map(|server| {
                tokio::spawn(pass_on(server.notes(), changes.clone(), Arc::clone(&known))).abort_handle()
            })
            .collect();
        Self { servers, known, changes, tasks }
    }

    async fn answer(&self, request: Relayed) -> Result<Value, RpcError> {
        match request.method {
            "resources/list" => Ok(json!({"resources": self.list(UpstreamList::Resources).await})),
            "resources/templates/list" => {
                Ok(json!({"resourceTemplates": self.list(UpstreamList::ResourceTemplates).await}))
            }
            "prompts/list" => Ok(json!({"prompts": self.list(UpstreamList::Prompts).await})),
            "resources/read" => {
                let uri = text(&request.params, "uri").to_owned();
                let at = self.home_of(&uri).await.ok_or_else(|| RpcError::no_resource(&uri))?;
                self.ask(at, request).await.map_err(|error| missing(error, &uri))
            }
            "prompts/get" => self.prompt(request).await,
            "completion/complete" => self.complete(request).await,
            other => Err(RpcError::internal(format!("{other} isn't passed on"))),
        }
    }

    /// A list of all servers, each entry under the name that counts here; of two with one name the first.
    async fn list(&self, what: UpstreamList) -> Vec<Value> {
        let asked: Vec<_> = self.servers.iter().map(|server| entries(server.as_ref(), what)).collect();
        let lists = join_all(asked).await;
        let mut known = self.lock();
        known.begin(what);
        let mut all = Vec::new();
        for (at, (server, entries)) in self.servers.iter().zip(lists).enumerate() {
            for mut entry in entries {
                if known.take_in(what, at, &mut entry, |own| server.shown(own)) {
                    all.push(entry);
                }
            }
        }
        all
    }

    /// The server that has a resource: the one that lists it, one of whose templates it fits, or that alone has anything
    /// like it.
    async fn home_of(&self, uri: &str) -> Option<usize> {
        let found = self.lock().resource(uri);
        if found.is_some() {
            return found;
        }
        self.list(UpstreamList::Resources).await;
        self.list(UpstreamList::ResourceTemplates).await;
        let found = {
            let known = self.lock();
            known.resource(uri).or_else(|| known.neighbour(uri))
        };
        found.or_else(|| self.only(UpstreamList::Resources))
    }

    /// The one server that has such things, where there is just one.
    fn only(&self, what: UpstreamList) -> Option<usize> {
        let mut able =
            self.servers.iter().enumerate().filter(|(_, server)| can(&server.capabilities(), what));
        let (at, _) = able.next()?;
        able.next().is_none().then_some(at)
    }

    /// The server of a prompt, and its name there.
    async fn prompt_of(&self, shown: &str) -> Result<(usize, String), RpcError> {
        let found = self.lock().prompt(shown);
        if let Some(found) = found {
            return Ok(found);
        }
        self.list(UpstreamList::Prompts).await;
        let found = self.lock().prompt(shown);
        found.ok_or_else(|| RpcError::invalid_params(format!("Unknown prompt: {shown}")))
    }

    async fn prompt(&self, mut request: Relayed) -> Result<Value, RpcError> {
        let (at, own) = self.prompt_of(text(&request.params, "name")).await?;
        request.params.insert("name".to_owned(), Value::String(own));
        self.ask(at, request).await
    }

    async fn complete(&self, mut request: Relayed) -> Result<Value, RpcError> {
        let mut about = request.params.get("ref").and_then(Value::as_object).cloned().unwrap_or_default();
        let kind = text(&about, "type").to_owned();
        let at = match kind.as_str() {
            "ref/prompt" => {
                let (at, own) = self.prompt_of(text(&about, "name")).await?;
                about.insert("name".to_owned(), Value::String(own));
                request.params.insert("ref".to_owned(), Value::Object(about));
                at
            }
            "ref/resource" => {
                let uri = text(&about, "uri");
                self.home_of(uri).await.ok_or_else(|| RpcError::no_resource(uri))?
            }
            other => return Err(RpcError::invalid_params(format!("Unknown kind of reference: {other}"))),
        };
        self.ask(at, request).await
    }

    async fn ask(&self, at: usize, request: Relayed) -> Result<Value, RpcError> {
        let server = self.servers.get(at).ok_or_else(|| RpcError::internal("the server is gone"))?;
        let Relayed { method, params, front } = request;
        let cancel = Cancel::new();
        let _ends = Ends(cancel.clone());
        let asked = UpstreamRequest { method, params, front: Some(front), cancel };
        server.ask(asked).await.map_err(said)
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Gathered {
    fn drop(&mut self) {
        self.tasks.iter().for_each(AbortHandle::abort);
    }
}

impl Upstreams for Gathered {
    fn features(&self) -> Features {
        let mut all = Features::default();
        for server in &self.servers {
            let can_do = server.capabilities();
            let has =
                |path: &str| can_do.pointer(path).is_some_and(|value| !value.is_null() && *value != false);
            all.resources |= has("/resources");
            all.subscriptions |= has("/resources/subscribe");
            all.prompts |= has("/prompts");
            all.completions |= has("/completions");
        }
        all
    }

    fn request(&self, request: Relayed) -> BoxFuture<'_, Result<Map<String, Value>, RpcError>> {
        Box::pin(async move {
            match self.answer(request).await? {
                Value::Object(mut fields) => {
                    forward::plain(&mut fields);
                    Ok(fields)
                }
                other => Err(RpcError::internal(format!("the server's result is no object: {other}"))),
            }
        })
    }

    fn subscribe(&self, uri: &str) -> BoxFuture<'_, Result<Box<dyn Any + Send>, RpcError>> {
        let uri = uri.to_owned();
        Box::pin(async move {
            let at = self.home_of(&uri).await.ok_or_else(|| RpcError::no_resource(&uri))?;
            let server = self.servers.get(at).ok_or_else(|| RpcError::internal("the server is gone"))?;
            let kept = server.subscribe(uri).await.map_err(said)?;
            let kept: Box<dyn Any + Send> = Box::new(kept);
            Ok(kept)
        })
    }

    fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }
}

/// A request ends with whoever wants it.
struct Ends(Cancel);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.fire();
    }
}

/// Tells what a server tells of by itself.
async fn pass_on(
    mut notes: broadcast::Receiver<UpstreamNote>,
    changes: broadcast::Sender<Change>,
    known: Arc<Mutex<Known>>,
) {
    loop {
        let told = match notes.recv().await {
            // The catalogue has them.
            Ok(UpstreamNote::ToolsChanged) => Vec::new(),
            Ok(UpstreamNote::PromptsChanged) => vec![Change::Prompts],
            Ok(UpstreamNote::ResourcesChanged) => vec![Change::Resources],
            Ok(UpstreamNote::ResourceUpdated(params)) => {
                let uri = params.get("uri").and_then(Value::as_str);
                uri.map(|uri| Change::Resource(uri.into())).into_iter().collect()
            }
            Err(RecvError::Lagged(_)) => vec![Change::Prompts, Change::Resources],
            Err(RecvError::Closed) => return,
        };
        for change in told {
            known.lock().unwrap_or_else(PoisonError::into_inner).forget(&change);
            // Nobody may be listening.
            let _ = changes.send(change);
        }
    }
}

/// A list of one server; nothing where it doesn't answer, of which it has its own log.
async fn entries(server: &dyn Upstream, what: UpstreamList) -> Vec<Value> {
    if !can(&server.capabilities(), what) {
        return Vec::new();
    }
    let cancel = Cancel::new();
    let _ends = Ends(cancel.clone());
    match timeout(LIST_TIME, server.list(what, cancel)).await {
        Ok(Ok(entries)) => entries,
        _ => Vec::new(),
    }
}

fn can(capabilities: &Value, what: UpstreamList) -> bool {
    let key = if what == UpstreamList::Prompts { "prompts" } else { "resources" };
    // One that hasn't spoken yet is asked; it says nothing where it has no such thing.
    capabilities.is_null() || capabilities.get(key).is_some_and(|value| !value.is_null())
}

fn text<'a>(fields: &'a Map<String, Value>, key: &str) -> &'a str {
    fields.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn said(error: UpstreamError) -> RpcError {
    match error {
        UpstreamError::Rpc(error) => error,
        UpstreamError::Failed(failure) => RpcError::internal(failure.text),
    }
}

/// Older servers have a code of their own for what isn't there.
fn missing(error: RpcError, uri: &str) -> RpcError {
    if error.code == NO_RESOURCE { RpcError::no_resource(uri) } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Front, client::Subscription};
    use haft_core::Failure;

    /// A server with one resource and one prompt, which says who was asked what.
    struct Fake {
        name: &'static str,
        is_well: bool,
        notes: broadcast::Sender<UpstreamNote>,
    }

    impl Fake {
        fn new(name: &'static str, is_well: bool) -> Arc<Self> {
            Arc::new(Self { name, is_well, notes: broadcast::Sender::new(8) })
        }
    }

    impl Upstream for Fake {
        fn name(&self) -> Arc<str> {
            self.name.into()
        }

        fn shown(&self, own: &str) -> Arc<str> {
            format!("{}_{own}", self.name).into()
        }

        fn capabilities(&self) -> Value {
            json!({"resources": {"subscribe": true}, "prompts": {}})
        }

        fn list(&self, what: UpstreamList, _: Cancel) -> BoxFuture<'_, Result<Vec<Value>, UpstreamError>> {
            let entry = match what {
                UpstreamList::Prompts => json!({"name": "p"}),
                UpstreamList::Resources => json!({"uri": format!("{}://one", self.name), "x-own": 1}),
                UpstreamList::ResourceTemplates => {
                    json!({"uriTemplate": format!("{}://t/{{id}}", self.name)})
                }
            };
            let is_well = self.is_well;
            Box::pin(async move {
                if is_well {
                    Ok(vec![entry])
                } else {
                    Err(UpstreamError::Failed(Failure::internal("broken")))
                }
            })
        }

        fn ask(&self, request: UpstreamRequest) -> BoxFuture<'_, Result<Value, UpstreamError>> {
            let asked = json!({
                "resultType": "complete", "by": self.name, "params": request.params,
                "_meta": {"io.modelcontextprotocol/serverInfo": {}},
            });
            let is_gone = asked["params"]["uri"].as_str().is_some_and(|uri| uri.ends_with("gone"));
            Box::pin(async move {
                if is_gone {
                    return Err(UpstreamError::Rpc(RpcError::new(NO_RESOURCE, "no")));
                }
                Ok(asked)
            })
        }

        fn subscribe(&self, _: String) -> BoxFuture<'_, Result<Subscription, UpstreamError>> {
            Box::pin(async { Err(UpstreamError::Failed(Failure::internal("not here"))) })
        }

        fn notes(&self) -> broadcast::Receiver<UpstreamNote> {
            self.notes.subscribe()
        }
    }

    struct Nobody;

    impl Front for Nobody {
        fn capabilities(&self) -> Map<String, Value> {
            Map::new()
        }

        fn ask(&self, _: Map<String, Value>) -> BoxFuture<'_, Result<Map<String, Value>, RpcError>> {
            Box::pin(async { Err(RpcError::internal("nobody is there")) })
        }

        fn progress(&self, _: &Map<String, Value>) {}

        fn log_level(&self) -> Option<String> {
            None
        }

        fn log(&self, _: &Map<String, Value>) {}

        fn refuse(&self, _: RpcError) {}
    }

    async fn asked(all: &Gathered, method: &'static str, params: Value) -> Result<Value, RpcError> {
        let params = params.as_object().cloned().unwrap();
        all.request(Relayed { method, params, front: Arc::new(Nobody) }).await.map(Value::Object)
    }

    fn three() -> Gathered {
        Gathered::new(vec![Fake::new("a", true), Fake::new("broken", false), Fake::new("b", true)])
    }

    #[tokio::test]
    async fn lists_are_put_together_without_whom_fails() {
        let all = three();
        let listed = asked(&all, "resources/list", json!({})).await.unwrap();
        assert_eq!(
            listed,
            json!({"resources": [{"uri": "a://one", "x-own": 1}, {"uri": "b://one", "x-own": 1}]})
        );
        let listed = asked(&all, "prompts/list", json!({})).await.unwrap();
        assert_eq!(listed, json!({"prompts": [{"name": "a_p"}, {"name": "b_p"}]}));
        let features = all.features();
        assert!(features.resources && features.subscriptions && features.prompts && !features.completions);
    }

    #[tokio::test]
    async fn each_question_goes_to_the_server_that_has_what_it_is_about() {
        let all = three();
        for (uri, by) in [("b://one", "b"), ("a://t/7", "a"), ("b://one/more", "b")] {
            let answer = asked(&all, "resources/read", json!({"uri": uri})).await.unwrap();
            assert_eq!(answer, json!({"by": by, "params": {"uri": uri}}));
        }
        for nowhere in ["z://one", "a://one/gone"] {
            let error = asked(&all, "resources/read", json!({"uri": nowhere})).await.unwrap_err();
            assert_eq!((error.code, error.data), (-32_602, Some(json!({"uri": nowhere}))), "{nowhere}");
        }
        let answer = asked(&all, "prompts/get", json!({"name": "b_p", "arguments": {}})).await.unwrap();
        assert_eq!(answer, json!({"by": "b", "params": {"name": "p", "arguments": {}}}));
        assert_eq!(asked(&all, "prompts/get", json!({"name": "p"})).await.unwrap_err().code, -32_602);
        let about =
            json!({"ref": {"type": "ref/prompt", "name": "a_p"}, "argument": {"name": "x", "value": ""}});
        let answer = asked(&all, "completion/complete", about).await.unwrap();
        assert_eq!((&answer["by"], &answer["params"]["ref"]["name"]), (&json!("a"), &json!("p")));
    }

    #[tokio::test]
    async fn what_one_server_tells_of_is_told() {
        let server = Fake::new("a", true);
        let all = Gathered::new(vec![server.clone()]);
        let mut changes = all.changes();
        let updated = UpstreamNote::ResourceUpdated(json!({"uri": "a://one"}));
        for note in [UpstreamNote::ToolsChanged, UpstreamNote::PromptsChanged, updated] {
            server.notes.send(note).unwrap();
        }
        assert_eq!(changes.recv().await.unwrap(), Change::Prompts);
        assert_eq!(changes.recv().await.unwrap(), Change::Resource("a://one".into()));
    }
}
