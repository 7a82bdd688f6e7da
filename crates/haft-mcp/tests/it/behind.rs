//! haft between a client and a server: what either says reaches the other as it was said.

use crate::{
    kit::{PATIENCE, Peer, server},
    stage::{Stage, check_line, check_question, check_step},
    web::Web,
};
use haft_core::NoMedia;
use haft_mcp::{
    Change, Fronts, McpServer, ServerInfo,
    client::{ClientSetup, Endpoint, McpClients, ServerConfig, Transport},
};
use haft_test::{Answers, Harness};
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::{task::yield_now, time::timeout};

/// A server over HTTP, and haft in front of it.
struct Chain {
    stage: Stage,
    web: Web,
    harness: Harness,
    clients: McpClients,
    fronts: Fronts,
}

impl Chain {
    async fn new() -> Self {
        let stage = Stage::new();
        let web = Web::open(stage.server()).await;
        let (harness, fronts) = (Harness::answering(Answers::yes()), Fronts::new());
        let endpoint = Endpoint {
            url: format!("http://{}/mcp", web.address),
            headers: Vec::new(),
            older: false,
            http: Arc::clone(&harness.world().http),
            tokens: None,
        };
        let config = ServerConfig {
            prefix: Some(String::new()),
            screen: false,
            untrusted: false,
            ..ServerConfig::new("behind", Transport::Http(endpoint))
        };
        let setup = ClientSetup {
            catalogue: harness.catalogue().clone(),
            state: None,
            media: Arc::new(NoMedia),
            info: ServerInfo::default(),
            fronts: fronts.clone(),
        };
        let clients = McpClients::new(setup, vec![config]);
        clients.ready(PATIENCE).await;
        harness.session().refresh();
        Self { stage, web, harness, clients, fronts }
    }

    fn server(&self) -> McpServer {
        server(&self.harness).with_fronts(self.fronts.clone()).with_upstreams(self.clients.gathered())
    }

    /// A client of haft's, and one of the server itself.
    async fn both(&self, capabilities: Value) -> (Peer, Peer) {
        let through = Peer::greeted(self.server(), capabilities.clone()).await;
        (through, Peer::greeted(self.stage.server(), capabilities).await)
    }
}

#[tokio::test]
async fn definitions_and_results_are_the_same_through_haft() {
    let chain = Chain::new().await;
    let (mut through, mut direct) = chain.both(json!({})).await;
    let mut listed = Vec::new();
    for peer in [&mut through, &mut direct] {
        let tools = peer.ask(1, "tools/list", json!({})).await["result"]["tools"].take();
        let odd =
            tools.as_array().unwrap().iter().find(|tool| tool["name"] == "Odd-Tool").unwrap().to_string();
        listed.push(odd);
    }
    assert_eq!(listed[0], listed[1]);
    let call = || json!({"name": "Odd-Tool", "arguments": {}, "_meta": {"com.example/trace": "t"}});
    let mut results = Vec::new();
    for peer in [&mut through, &mut direct] {
        results.push(peer.ask(2, "tools/call", call()).await["result"].to_string());
    }
    assert_eq!(results[0], results[1]);
    for (id, method, params) in [
        (3, "resources/list", json!({})),
        (4, "resources/read", json!({"uri": "x://a", "_meta": {"com.example/t": 2}})),
        (5, "prompts/list", json!({})),
        (
            6,
            "completion/complete",
            json!({
                "ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": ""},
            }),
        ),
    ] {
        let mut said = Vec::new();
        for peer in [&mut through, &mut direct] {
            said.push(peer.ask(id, method, params.clone()).await["result"].to_string());
        }
        assert_eq!(said[0], said[1], "{method}");
    }
    let missing = through.ask(7, "resources/read", json!({"uri": "x://b"})).await["error"].take();
    assert_eq!((&missing["code"], &missing["data"]), (&json!(-32_602), &json!({"uri": "x://b"})));
}

#[tokio::test]
async fn a_servers_question_reaches_the_client_and_its_answer_the_server() {
    let chain = Chain::new().await;
    check_question(|| chain.server()).await;
}

#[tokio::test]
async fn progress_log_lines_and_news_reach_the_client() {
    let chain = Chain::new().await;
    let mut peer = Peer::greeted(chain.server(), json!({})).await;
    assert_eq!(peer.ask(1, "logging/setLevel", json!({"level": "info"})).await["result"], json!({}));
    peer.send(2, "tools/call", json!({"name": "Odd-Tool", "_meta": {"progressToken": "p"}})).await;
    check_line(&peer.hear().await);
    check_step(&peer.hear().await);
    assert_eq!(peer.hear().await["id"], 2);

    // It listens as soon as it can; until then nothing is told.
    let listens = async {
        while chain.stage.behind.changes.receiver_count() == 0 {
            yield_now().await;
        }
    };
    timeout(PATIENCE, listens).await.unwrap();
    chain.stage.behind.changes.send(Change::Prompts).unwrap();
    assert_eq!(peer.hear().await["method"], "notifications/prompts/list_changed");
    chain.clients.close().await;
    drop(chain.web);
}
