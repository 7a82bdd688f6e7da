//! What servers behind haft have besides their tools, and their tools' questions, as a client in front sees it.

use crate::{
    kit::{Peer, modern, server},
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
use tokio::sync::broadcast;

/// Servers that aren't there.
pub(crate) struct Behind {
    pub(crate) changes: broadcast::Sender<Change>,
    subscribed: Arc<Mutex<Vec<String>>>,
}

struct Subscription(Arc<Mutex<Vec<String>>>, String);

impl Drop for Subscription {
    fn drop(&mut self) {
        self.0.lock().unwrap().retain(|uri| *uri != self.1);
    }
}

impl Behind {
    fn new() -> Arc<Self> {
        Arc::new(Self { changes: broadcast::channel(16).0, subscribed: Arc::default() })
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
        Box::pin(async move {
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

#[tokio::test]
async fn definitions_and_results_go_on_as_they_came() {
    let stage = Stage::new();
    let mut peer = Peer::greeted(stage.server(), json!({})).await;
    let listed = peer.ask(1, "tools/list", json!({})).await["result"].take();
    let tool = listed["tools"].as_array().unwrap().iter().find(|tool| tool["title"] == "Odd").unwrap();
    assert_eq!(
        tool.to_string(),
        r#"{"title":"Odd","name":"Odd-Tool","inputSchema":{"type":"object","x-b":1,"x-a":2},"icons":[{"src":"x:y"}]}"#
    );
    let params = json!({"name": "Odd-Tool", "_meta": {"com.example/trace": "t"}});
    assert_eq!(
        peer.ask(2, "tools/call", params).await["result"],
        json!({
            "content": [
                {"type": "text", "text": "nobody", "annotations": {"priority": 1}},
                {"type": "resource", "resource": {"uri": "x://a", "blob": "AA=="}},
            ],
            "_meta": {"com.example/m": {"com.example/trace": "t"}},
        })
    );
}

#[tokio::test]
async fn progress_and_log_lines_of_a_server_go_on_as_far_as_the_client_wants_them() {
    let stage = Stage::new();
    let mut peer = Peer::greeted(stage.server(), json!({})).await;
    let call = || json!({"name": "Odd-Tool", "_meta": {"progressToken": "p"}});
    peer.send(1, "tools/call", call()).await;
    let step = peer.hear().await;
    assert_eq!(step["params"], json!({"progressToken": "p", "progress": 0.5, "total": 2, "message": "half"}));
    assert_eq!(peer.hear().await["id"], 1);
    assert_eq!(peer.ask(2, "logging/setLevel", json!({"level": "loud"})).await["error"]["code"], -32_602);
    assert_eq!(peer.ask(3, "logging/setLevel", json!({"level": "debug"})).await["result"], json!({}));
    peer.send(4, "tools/call", call()).await;
    let line = peer.hear().await;
    assert_eq!(
        (&line["method"], &line["params"]["data"]),
        (&json!("notifications/message"), &json!({"own": 1}))
    );
    assert_eq!(peer.hear().await["method"], "notifications/progress");
    assert_eq!(peer.hear().await["id"], 4);
    assert_eq!(peer.ask(5, "logging/setLevel", json!({"level": "error"})).await["result"], json!({}));
    assert_eq!(peer.ask(6, "tools/call", json!({"name": "Odd-Tool"})).await["id"], 6);
    // In the modern era each request says it anew.
    let mut params = modern(json!({"name": "Odd-Tool"}));
    assert_eq!(peer.ask(7, "tools/call", params.clone()).await["id"], 7);
    params["_meta"]["io.modelcontextprotocol/logLevel"] = json!("info");
    peer.send(8, "tools/call", params).await;
    assert_eq!(peer.hear().await["method"], "notifications/message");
}

#[tokio::test]
async fn a_servers_question_goes_to_whoever_made_the_call() {
    let stage = Stage::new();
    let call = || json!({"name": "Odd-Tool", "arguments": {"asks": true}});
    let reply = json!({"action": "accept", "content": {"which": "this one"}});
    let mut peer = Peer::greeted(stage.server(), json!({"elicitation": {}})).await;
    peer.send(1, "tools/call", call()).await;
    let question = peer.hear().await;
    assert_eq!(
        (&question["method"], &question["params"]["message"]),
        (&json!("elicitation/create"), &json!("Which?"))
    );
    peer.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": reply}).to_string()).await;
    assert_eq!(peer.hear().await["result"]["content"][0]["text"], "this one");

    let web = Web::open(stage.server()).await;
    let can = || json!({"elicitation": {}});
    let asked = web.modern_as("tools/call", call(), can()).await.json().await["result"].take();
    assert_eq!(asked["inputRequests"]["which"]["params"]["message"], "Which?");
    let mut back = call();
    back["requestState"] = asked["requestState"].clone();
    back["inputResponses"] = json!({"which": reply});
    let done = web.modern_as("tools/call", back, can()).await.json().await["result"].take();
    assert_eq!(done["content"][0]["text"], "this one");
    // A server's question may be answered before it is put.
    let mut early = call();
    early["inputResponses"] = json!({"which": reply, "more": {}});
    let done = web.modern_as("tools/call", early, can()).await.json().await["result"].take();
    assert_eq!(done["content"][0]["text"], "this one");
    // What the client can't do is an error of the protocol.
    let got = web.modern("tools/call", call()).await;
    assert_eq!(got.status, 400);
    let error = got.json().await["error"].take();
    assert_eq!(
        (&error["code"], &error["data"]),
        (&json!(-32_021), &json!({"requiredCapabilities": {"elicitation": {}}}))
    );
}

#[tokio::test]
async fn clients_that_stay_away_leave_the_others_their_place() {
    let stage = Stage::new();
    let web = Web::open(stage.server()).await;
    let call = |state: Option<&Value>| {
        let mut params = json!({"name": "Odd-Tool", "arguments": {"asks": true}});
        if let Some(state) = state {
            params["requestState"] = state.clone();
            params["inputResponses"] = json!({"which": {"action": "accept", "content": {"which": "it"}}});
        }
        web.modern_as("tools/call", params, json!({"elicitation": {}}))
    };
    let mut states = Vec::new();
    // More than run at once.
    for _ in 0..12 {
        let asked = call(None).await.json().await["result"].take();
        assert_eq!(asked["resultType"], "input_required");
        states.push(asked["requestState"].clone());
    }
    let first = call(states.first()).await.json().await["result"].take();
    assert_eq!(first["isError"], true);
    assert_eq!(first["content"][0]["text"], "the call was cancelled");
    let last = call(states.last()).await.json().await["result"].take();
    assert_eq!(last["content"][0]["text"], "it");
}

#[tokio::test]
async fn resources_prompts_and_completion_are_those_of_the_servers() {
    let stage = Stage::new();
    let mut peer = Peer::greeted(stage.server(), json!({})).await;
    assert_eq!(
        peer.ask(1, "resources/list", json!({})).await["result"],
        json!({"resources": [{"uri": "x://a", "name": "a", "x-own": 1}]})
    );
    let params = json!({"uri": "x://a", "_meta": {"progressToken": 1, "com.example/t": 2}});
    let read = peer.ask(2, "resources/read", params).await["result"].take();
    assert_eq!(read["_meta"], json!({"com.example/a": {"com.example/t": 2}}));
    let missing = peer.ask(3, "resources/read", json!({"uri": "x://b"})).await["error"].take();
    assert_eq!((&missing["code"], &missing["data"]), (&json!(-32_602), &json!({"uri": "x://b"})));
    let argument =
        json!({"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""}});
    assert_eq!(
        peer.ask(4, "completion/complete", argument).await["result"],
        json!({"completion": {"values": ["a"]}})
    );
    assert_eq!(peer.ask(5, "prompts/list", json!({"cursor": "x"})).await["error"]["code"], -32_602);

    let web = Web::open(stage.server()).await;
    let read = web.modern("resources/read", json!({"uri": "x://a"})).await.json().await["result"].take();
    assert_eq!(
        (&read["resultType"], &read["ttlMs"], &read["cacheScope"]),
        (&json!("complete"), &json!(0), &json!("private"))
    );
    let found = web.modern("server/discover", json!({})).await.json().await["result"]["capabilities"].take();
    assert_eq!(found["resources"], json!({"listChanged": true, "subscribe": true}));
    assert_eq!((&found["prompts"], &found["completions"]), (&json!({"listChanged": true}), &json!({})));
    // A prompt too may need an answer first.
    let can = || json!({"elicitation": {}});
    let asked = web.modern_as("prompts/get", json!({"name": "p"}), can()).await.json().await["result"].take();
    assert_eq!(asked["resultType"], "input_required");
    let back = json!({
        "name": "p", "requestState": asked["requestState"],
        "inputResponses": {"which": {"action": "accept", "content": {"which": "that"}}},
    });
    let done = web.modern_as("prompts/get", back, can()).await.json().await["result"].take();
    assert_eq!(done["messages"][0]["content"]["text"], "that");
}

#[tokio::test]
async fn who_subscribed_is_told_of_changes_and_nobody_else() {
    let stage = Stage::new();
    let mut peer = Peer::greeted(stage.server(), json!({})).await;
    assert_eq!(peer.ask(1, "resources/subscribe", json!({"uri": "x://a"})).await["result"], json!({}));
    assert_eq!(*stage.behind.subscribed.lock().unwrap(), ["x://a"]);
    let web = Web::open(stage.server()).await;
    let wanted = json!({"notifications": {"promptsListChanged": true, "resourceSubscriptions": ["x://b"]}});
    let mut listening = web.modern("subscriptions/listen", wanted.clone()).await;
    assert_eq!(listening.hear().await["params"]["notifications"], wanted["notifications"]);
    for uri in ["x://b", "x://a"] {
        stage.behind.changes.send(Change::Resource(uri.into())).unwrap();
    }
    stage.behind.changes.send(Change::Resources).unwrap();
    stage.behind.changes.send(Change::Prompts).unwrap();
    let told = peer.hear().await;
    assert_eq!(
        (&told["method"], &told["params"]),
        (&json!("notifications/resources/updated"), &json!({"uri": "x://a"}))
    );
    assert_eq!(peer.hear().await["method"], "notifications/resources/list_changed");
    assert_eq!(peer.hear().await["method"], "notifications/prompts/list_changed");
    let told = listening.hear().await;
    assert_eq!(
        (&told["method"], &told["params"]["uri"]),
        (&json!("notifications/resources/updated"), &json!("x://b"))
    );
    assert_eq!(listening.hear().await["method"], "notifications/prompts/list_changed");

    assert_eq!(peer.ask(2, "resources/unsubscribe", json!({"uri": "x://a"})).await["result"], json!({}));
    stage.behind.changes.send(Change::Resource("x://a".into())).unwrap();
    assert_eq!(peer.ask(3, "ping", json!({})).await["result"], json!({}));
    drop(listening);
    peer.leave().await.unwrap();
}
