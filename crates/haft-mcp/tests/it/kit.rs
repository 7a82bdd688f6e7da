//! What several files of tests need: tools, a client that speaks lines, and what clients say.

use haft_core::{
    AnyTool, Bound, BoxFuture, Cx, EffectTemplate, Effects, Failure, Json, Output, Permission, Risk,
    SessionView, Spec, tool,
};
use haft_mcp::{McpError, McpServer, ServerInfo};
use haft_test::Harness;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, duplex},
    sync::Notify,
    task::{JoinHandle, yield_now},
    time::timeout,
};

/// Far more than anything here takes; only a hang reaches it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
const PIPE_BYTES: usize = 1 << 20;
pub(crate) const OUTCOME: &str = "dev.haft/outcome";

/// A server on the harness's own session.
pub(crate) fn server(harness: &Harness) -> McpServer {
    McpServer::new(harness.executor().clone(), harness.session().clone(), ServerInfo::default())
}

/// Starts a server; the client's ends of its pipes.
pub(crate) fn serve(server: McpServer) -> (DuplexStream, DuplexStream, JoinHandle<Result<(), McpError>>) {
    let (to_server, input) = duplex(PIPE_BYTES);
    let (output, from_server) = duplex(PIPE_BYTES);
    (to_server, from_server, tokio::spawn(server.serve(input, output)))
}

/// A client that speaks lines.
pub(crate) struct Peer {
    pub(crate) output: DuplexStream,
    pub(crate) input: Lines<BufReader<DuplexStream>>,
    pub(crate) server: JoinHandle<Result<(), McpError>>,
}

impl Peer {
    pub(crate) fn new(harness: &Harness) -> Self {
        Self::of(server(harness))
    }

    pub(crate) fn of(server: McpServer) -> Self {
        let (output, input, server) = serve(server);
        Self { output, input: BufReader::new(input).lines(), server }
    }

    /// One that has shaken hands.
    pub(crate) async fn legacy(harness: &Harness) -> Self {
        Self::greeted(server(harness), json!({})).await
    }

    /// One that has shaken hands and says what it can do.
    pub(crate) async fn greeted(server: McpServer, capabilities: Value) -> Self {
        let mut peer = Self::of(server);
        let mut params = initialize("2025-11-25");
        params["capabilities"] = capabilities;
        let reply = peer.ask(0, "initialize", params).await;
        assert_eq!(reply["result"]["protocolVersion"], "2025-11-25");
        peer.tell("notifications/initialized", json!({})).await;
        peer
    }

    pub(crate) async fn say(&mut self, line: &str) {
        self.output.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn tell(&mut self, method: &str, params: Value) {
        self.say(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()).await;
    }

    pub(crate) async fn send(&mut self, id: u64, method: &str, params: Value) {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()).await;
    }

    pub(crate) async fn hear(&mut self) -> Value {
        let line = timeout(PATIENCE, self.input.next_line()).await.unwrap().unwrap();
        serde_json::from_str(&line.unwrap()).unwrap()
    }

    /// Asks, and expects the reply as the next line.
    pub(crate) async fn ask(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.send(id, method, params).await;
        let reply = self.hear().await;
        assert_eq!(reply["id"], id, "{reply}");
        reply
    }

    pub(crate) async fn call(&mut self, id: u64, tool: &str, arguments: Value) -> Value {
        self.ask(id, "tools/call", json!({"name": tool, "arguments": arguments})).await["result"].take()
    }

    /// Closes the input and waits for the server's end.
    pub(crate) async fn leave(self) -> Result<(), McpError> {
        drop(self.output);
        timeout(PATIENCE, self.server).await.unwrap().unwrap()
    }
}

pub(crate) fn initialize(version: &str) -> Value {
    json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "peer", "version": "1"}})
}

/// Parameters of the modern era.
pub(crate) fn modern(mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    params
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Entry {
    /// What to append
    pub(crate) n: u64,
}

/// Writes one file by name, and takes the longer the smaller its number is.
pub(crate) fn append(list: &Arc<Mutex<Vec<u64>>>) -> Arc<dyn AnyTool> {
    let list = Arc::clone(list);
    tool("append", "Appends a number to the list.")
        .permission(Permission::Auto)
        .risk(Risk::Safe)
        .effects(EffectTemplate { writes: vec!["list.txt".into()], ..EffectTemplate::default() })
        .with(Spec::concurrency_safe)
        .run(move |entry: Entry, _cx| {
            let list = Arc::clone(&list);
            async move {
                for _ in entry.n..100 {
                    yield_now().await;
                }
                list.lock().unwrap().push(entry.n);
                Ok(entry.n.to_string())
            }
        })
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Nothing {}

/// Says that it runs, waits for its cancel, says that it was cancelled.
pub(crate) fn wait(running: &Arc<Notify>, cancelled: &Arc<Notify>) -> Arc<dyn AnyTool> {
    let (running, cancelled) = (Arc::clone(running), Arc::clone(cancelled));
    tool("wait", "Waits until it is cancelled.")
        .risk(Risk::Safe)
        .read_only()
        .touches_nothing()
        .with(Spec::concurrency_safe)
        .run(move |_: Nothing, cx: Cx| {
            let (running, cancelled) = (Arc::clone(&running), Arc::clone(&cancelled));
            async move {
                running.notify_one();
                cx.cancel.fired().await;
                cancelled.notify_one();
                Err::<String, _>(Failure::cancelled())
            }
        })
}

pub(crate) fn talk() -> Arc<dyn AnyTool> {
    tool("talk", "Says two things.").risk(Risk::Safe).read_only().run(|_: Nothing, cx: Cx| async move {
        cx.log("first");
        cx.log("second");
        Ok("done")
    })
}

#[derive(Serialize, JsonSchema)]
struct Sum {
    sum: u64,
}

pub(crate) fn sum() -> Arc<dyn AnyTool> {
    tool("sum", "Adds one.")
        .risk(Risk::Safe)
        .read_only()
        .touches_nothing()
        .with(Spec::concurrency_safe)
        .run(|entry: Entry, _cx| async move { Ok(Json(Sum { sum: entry.n + 1 })) })
}

/// A tool that brings its schema and says its input back.
pub(crate) struct Mirror(Arc<Spec>);

impl Mirror {
    pub(crate) fn tool() -> Arc<dyn AnyTool> {
        Self::of(Self::schema(), &[])
    }

    /// One with a schema of its own, and other names.
    pub(crate) fn of(schema: Value, aliases: &[&str]) -> Arc<dyn AnyTool> {
        let spec = Spec::new("mirror", "Says its input back.").read_only().with_risk(Risk::Safe);
        Arc::new(Self(Arc::new(spec.with_input_schema(schema).with_aliases(aliases))))
    }

    pub(crate) fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {"n": {"type": "integer", "x-unit": "bytes"}, "f": {"type": "number"}},
            "x-vendor": {"b": 1, "a": [2]},
        })
    }
}

impl AnyTool for Mirror {
    fn spec(&self) -> &Arc<Spec> {
        &self.0
    }

    fn bind(self: Arc<Self>, input: Arc<Value>) -> Result<Box<dyn Bound>, Failure> {
        Ok(Box::new(Reflection(input)))
    }
}

struct Reflection(Arc<Value>);

impl Bound for Reflection {
    fn effects(&self, _: &dyn SessionView) -> Effects {
        Effects::none()
    }

    fn run(self: Box<Self>, _: Cx) -> BoxFuture<'static, Result<Output, Failure>> {
        Box::pin(async move { Ok(Output::text(self.0.to_string())) })
    }
}
