//! The client with which the official conformance suite tries haft as a client of servers: it takes the server in, calls
//! each of its tools, and reads its resources and prompts. See `bench/conformance`.
//!
//!     cargo run -p haft-mcp --example conformance_client -- http://127.0.0.1:8650
//!
//! `MCP_CONFORMANCE_CONTEXT` may hold `{"toolCalls": [{"name": …, "arguments": …}]}`: then just these calls are made.

use haft_core::{Answer, Approver, BoxFuture, Cancel, Filled, Form, NoMedia, Question, Request};
use haft_mcp::{
    Fronts, ServerInfo,
    client::{
        ClientSetup, Endpoint, McpClients, ServerConfig, Transport, Upstream, UpstreamList, UpstreamRequest,
    },
};
use haft_runtime::Session;
use haft_test::Harness;
use serde_json::{Map, Value, json};
use std::{error::Error, future::ready, sync::Arc};

/// Says yes, and leaves forms as they are, so that what they name as default holds.
struct Person;

impl Approver for Person {
    fn ask(&self, _: Question) -> BoxFuture<'_, Answer> {
        Box::pin(ready(Answer::Once))
    }

    fn fill(&self, _: Form) -> BoxFuture<'_, Filled> {
        Box::pin(ready(Filled::Accepted(json!({}))))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = std::env::args().skip(1).next_back().ok_or("usage: conformance_client URL")?;
    let harness = Harness::new();
    let session = harness.open_session_asking("suite", Arc::new(Person))?;
    let http = Arc::clone(&harness.world().http);
    let endpoint = Endpoint { url, headers: Vec::new(), older: false, http, tokens: None };
    let config = ServerConfig {
        prefix: Some(String::new()),
        screen: false,
        ..ServerConfig::new("suite", Transport::Http(endpoint))
    };
    let setup = ClientSetup {
        catalogue: harness.catalogue().clone(),
        state: None,
        media: Arc::new(NoMedia),
        info: ServerInfo::default(),
        fronts: Fronts::new(),
    };
    let clients = McpClients::new(setup, vec![config]);
    let report = clients.look("suite", &Cancel::new()).await?;
    println!("{} with {} tools", report.protocol, report.tools.len());
    for (tool, input) in calls(&session, &report.tools)? {
        let request = Request::new(tool.as_str(), input.to_string());
        let ended = harness.executor().submit(&session, request).await;
        println!("{tool}: {}\n{}", ended.outcome.name(), ended.output.joined_text());
    }
    for server in clients.upstreams() {
        read(server.as_ref()).await;
    }
    clients.close().await;
    Ok(())
}

/// The calls that are asked for, or one of each tool.
fn calls(session: &Session, tools: &[Arc<str>]) -> Result<Vec<(String, Value)>, Box<dyn Error>> {
    let context: Value = match std::env::var("MCP_CONFORMANCE_CONTEXT") {
        Ok(text) => serde_json::from_str(&text)?,
        Err(_) => Value::Null,
    };
    if let Some(wanted) = context.get("toolCalls").and_then(Value::as_array) {
        let call = |call: &Value| {
            let name = call.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            (name, call.get("arguments").cloned().unwrap_or_else(|| json!({})))
        };
        return Ok(wanted.iter().map(call).collect());
    }
    let snapshot = session.refresh();
    let offers = tools.iter().filter_map(|name| snapshot.get(name));
    Ok(offers.map(|offer| (offer.name.to_string(), sample(&offer.spec().input_schema))).collect())
}

/// Some input that fits a flat schema.
fn sample(schema: &Value) -> Value {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let fields = required.filter_map(Value::as_str).map(|name| {
        let property = schema.get("properties").and_then(|all| all.get(name)).unwrap_or(&Value::Null);
        let known = property.get("enum").and_then(|all| all.get(0)).cloned();
        let value = known.unwrap_or_else(|| match property.get("type").and_then(Value::as_str) {
            Some("number" | "integer") => json!(5),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => json!("text"),
        });
        (name.to_owned(), value)
    });
    Value::Object(fields.collect())
}

/// Reads all resources and prompts.
async fn read(server: &dyn Upstream) {
    for (what, method, key) in
        [(UpstreamList::Resources, "resources/read", "uri"), (UpstreamList::Prompts, "prompts/get", "name")]
    {
        let entries = server.list(what, Cancel::new()).await.unwrap_or_default();
        for entry in entries {
            let Some(name) = entry.get(key).and_then(Value::as_str) else { continue };
            let mut params = Map::from_iter([(key.to_owned(), json!(name))]);
            if let Some(arguments) = entry.get("arguments").and_then(Value::as_array) {
                let names = arguments.iter().filter_map(|argument| argument.get("name")?.as_str());
                let given: Map<String, Value> = names.map(|name| (name.to_owned(), json!("text"))).collect();
                params.insert("arguments".to_owned(), Value::Object(given));
            }
            let request =
                UpstreamRequest { method, params, person: None, front: None, cancel: Cancel::new() };
            match server.ask(request).await {
                Ok(_) => println!("{method} {name}: completed"),
                Err(error) => println!("{method} {name}: {error:?}"),
            }
        }
    }
}
