//! Servers behind haft that aren't there, a tool of theirs, and what any client sees of it, with haft between or not.

use crate::{
    kit::{PATIENCE, Peer, server},
    web::Web,
};
use haft_core::{
    AnyTool, Bound, BoxFuture, Cx, Effects, Failure, Output, Permission, Risk, SessionView, Spec,
};
use haft_mcp::{Change, Features, Front, Fronts, McpServer, Relayed, RpcError, Upstreams};
use haft_test::Harness;
use serde_json::{Map, Value, json};
use std::{
    any::Any,
    sync::{Arc, Mutex},
};
use tokio::{
    sync::{Notify, broadcast},
    task::yield_now,
    time::timeout,
};

/// Servers that aren't there.
pub(crate) struct Behind {
    pub(crate) changes: broadcast::Sender<Change>,
    subscribed: Arc<Mutex<Vec<String>>>,
    /// Lets one subscription to [`SLOW`] go on.
    pub(crate) go_on: Arc<Notify>,
}

/// A resource whose server takes its time to subscribe.
pub(crate) const SLOW: &str = "x://slow";

struct Subscription(Arc<Mutex<Vec<String>>>, String);

impl Drop for Subscription {
    fn drop(&mut self) {
        self.0.lock().unwrap().retain(|uri| *uri != self.1);
    }
}

impl Behind {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            changes: broadcast::channel(16).0,
            subscribed: Arc::default(),
            go_on: Arc::new(Notify::new()),
        })
    }

    /// Waits until just these are subscribed to, or being so.
    pub(crate) async fn until_subscribed(&self, uris: &[&str]) {
        let so = async {
            while *self.subscribed.lock().unwrap() != uris {
                yield_now().await;
            }
        };
        timeout(PATIENCE, so).await.unwrap();
    }
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

/// What a question of a server looks like, under `key`.
fn question(key: &str) -> Map<String, Value> {
    object(json!({key: {"method": "elicitation/create", "params": {
        "message": "Which?", "requestedSchema": {"type": "object", "properties": {"which": {"type": "string"}}},
    }}}))
}

async fn answer(front: &Arc<dyn Front>, key: &str) -> Result<String, RpcError> {
    let answers = front.ask(question(key)).await?;
    Ok(answers[key]["content"]["which"].as_str().unwrap_or("nothing").to_owned())
}

impl Upstreams for Behind {
    fn features(&self) -> Features {
        Features { resources: true, subscriptions: true, prompts: true, completions: true }
    }

    fn request(&self, request: Relayed) -> BoxFuture<'_, Result<Map<String, Value>, RpcError>> {
        Box::pin(async move {
            let Relayed { method, params, front } = request;
            match method {
                "resources/list" => {
                    Ok(object(json!({"resources": [{"uri": "x://a", "name": "a", "x-own": 1}]})))
                }
                "resources/read" if params["uri"] == "x://a" => Ok(object(
                    json!({"contents": [{"uri": "x://a", "text": "t"}], "_meta": {"com.example/a": params.get("_meta")}}),
                )),
                "resources/read" => Err(RpcError::no_resource(params["uri"].as_str().unwrap())),
                "prompts/get" => {
                    let which = answer(&front, "which").await?;
                    Ok(object(
                        json!({"messages": [{"role": "user", "content": {"type": "text", "text": which}}]}),
                    ))
                }
                "prompts/list" => Ok(object(json!({"prompts": [{"name": "p", "x-own": 1}]}))),
                "completion/complete" => Ok(object(json!({"completion": {"values": ["a"]}}))),
                _ => Ok(object(json!({}))),
            }
        })
    }

    fn subscribe(&self, uri: &str) -> BoxFuture<'_, Result<Box<dyn Any + Send>, RpcError>> {
        self.subscribed.lock().unwrap().push(uri.to_owned());
        let held = Subscription(Arc::clone(&self.subscribed), uri.to_owned());
        let (is_slow, go_on) = (uri == SLOW, Arc::clone(&self.go_on));
        Box::pin(async move {
            if is_slow {
                go_on.notified().await;
            }
            let held: Box<dyn Any + Send> = Box::new(held);
            Ok(held)
        })
    }

    fn changes(&self) -> broadcast::Receiver<Change> {
        self.changes.subscribe()
    }
}

/// A tool of a server behind haft, with a question, progress and log lines of its own.
struct Odd {
    spec: Arc<Spec>,
    fronts: Fronts,
}

impl Odd {
    fn tool(fronts: &Fronts) -> Arc<dyn AnyTool> {
        let mut spec = Spec::new("Odd-Tool", "Is odd.")
            .with_permission(Permission::Auto)
            .with_risk(Risk::Safe)
            .concurrency_safe();
        spec.foreign = Some(Arc::new(json!({
            "title": "Odd", "name": "Odd-Tool", "inputSchema": {"type": "object", "x-b": 1, "x-a": 2},
            "icons": [{"src": "x:y"}],
        })));
        Arc::new(Self { spec: Arc::new(spec), fronts: fronts.clone() })
    }
}

impl AnyTool for Odd {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn bind(self: Arc<Self>, input: Arc<Value>) -> Result<Box<dyn Bound>, Failure> {
        Ok(Box::new(OddCall { input, fronts: self.fronts.clone() }))
    }
}

struct OddCall {
    input: Arc<Value>,
    fronts: Fronts,
}

impl Bound for OddCall {
    fn effects(&self, _: &dyn SessionView) -> Effects {
        Effects::none()
    }

    fn run(self: Box<Self>, cx: Cx) -> BoxFuture<'static, Result<Output, Failure>> {
        Box::pin(async move {
            let front = self.fronts.of(&cx).expect("somebody made the call");
            let refused = |error: RpcError| {
                let text = error.message.clone();
                if error.code == RpcError::MISSING_CAPABILITY {
                    front.refuse(error);
                }
                Failure::internal(text)
            };
            front.log(&object(json!({"level": "info", "data": {"own": 1}})));
            front.progress(&object(json!({"progress": 0.5, "total": 2, "message": "half"})));
            let which = if self.input["asks"] == true {
                answer(&front, "which").await.map_err(refused)?
            } else {
                "nobody".to_owned()
            };
            let items = [
                json!({"type": "text", "text": which, "annotations": {"priority": 1}}),
                json!({"type": "resource", "resource": {"uri": "x://a", "blob": "AA=="}}),
            ];
            let own = json!({"content": items, "_meta": {"com.example/m": front.meta()}});
            Ok(Output { foreign: Some(own), ..Output::text(which) })
        })
    }
}

/// A server with all of that.
pub(crate) struct Stage {
    harness: Harness,
    pub(crate) behind: Arc<Behind>,
    fronts: Fronts,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let (harness, behind, fronts) = (Harness::new(), Behind::new(), Fronts::new());
        harness.register(Odd::tool(&fronts));
        Self { harness, behind, fronts }
    }

    pub(crate) fn server(&self) -> McpServer {
        server(&self.harness).with_upstreams(self.behind.clone()).with_fronts(self.fronts.clone())
    }
}

/// A call of the odd tool that asks which.
pub(crate) fn asking() -> Value {
    json!({"name": "Odd-Tool", "arguments": {"asks": true}})
}

/// What a person says to that.
pub(crate) fn this_one() -> Value {
    json!({"action": "accept", "content": {"which": "this one"}})
}

/// The tool's log line, and its step of progress.
pub(crate) fn check_line(line: &Value) {
    assert_eq!(
        (&line["method"], &line["params"]["data"]),
        (&json!("notifications/message"), &json!({"own": 1}))
    );
}

pub(crate) fn check_step(step: &Value) {
    assert_eq!(step["params"], json!({"progressToken": "p", "progress": 0.5, "total": 2, "message": "half"}));
}

/// The tool's question reaches a client of either era that made the call, and its answer the tool. One that can't be
/// asked hears that by an error of the protocol.
pub(crate) async fn check_question(server: impl Fn() -> McpServer) {
    let mut peer = Peer::greeted(server(), json!({"elicitation": {}})).await;
    peer.send(1, "tools/call", asking()).await;
    let question = peer.hear().await;
    assert_eq!(
        (&question["method"], &question["params"]["message"]),
        (&json!("elicitation/create"), &json!("Which?"))
    );
    peer.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": this_one()}).to_string()).await;
    assert_eq!(peer.hear().await["result"]["content"][0]["text"], "this one");

    let web = Web::open(server()).await;
    let can = || json!({"elicitation": {}});
    let asked = web.modern_as("tools/call", asking(), can()).await.json().await["result"].take();
    assert_eq!(asked["inputRequests"]["which"]["params"]["message"], "Which?");
    let mut back = asking();
    back["requestState"] = asked["requestState"].clone();
    back["inputResponses"] = json!({"which": this_one()});
    let done = web.modern_as("tools/call", back, can()).await.json().await["result"].take();
    assert_eq!(done["content"][0]["text"], "this one");
    let got = web.modern("tools/call", asking()).await;
    assert_eq!(got.status, 400);
    let error = got.json().await["error"].take();
    assert_eq!(
        (&error["code"], &error["data"]),
        (&json!(-32_021), &json!({"requiredCapabilities": {"elicitation": {}}}))
    );
}
