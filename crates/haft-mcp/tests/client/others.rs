//! Servers beside each other.

use crate::kit::{setup, stdio};
use haft_core::Cancel;
use haft_mcp::client::{McpClients, ServerConfig};
use haft_test::Harness;
use serde_json::json;
use std::time::{Duration, Instant};

#[tokio::test]
async fn servers_start_beside_each_other_and_a_mute_one_keeps_nobody() {
    let harness = Harness::new();
    let mute = json!({"on": {"start": [{"hang": 1}]}});
    let mut configs: Vec<ServerConfig> = (0..5)
        .map(|number| ServerConfig::new(&format!("s{number}"), stdio(&harness, &json!({}), "haft-many-")))
        .collect();
    configs.insert(2, ServerConfig::new("mute", stdio(&harness, &mute, "haft-many-")));
    let clients = McpClients::new(setup(&harness), configs);
    let began = Instant::now();
    clients.ready(Duration::from_secs(4)).await;
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    harness.session().refresh();
    for number in 0..5 {
        let ended = harness.call(&format!("mcp__s{number}__echo"), json!({"text": "hi"})).await;
        assert!(ended.outcome.is_completed(), "{ended:?}");
    }
    assert!(!clients.are_known());
    clients.close().await;
}

#[tokio::test]
async fn names_stay_when_a_server_is_added_and_when_all_are_started_anew() {
    let odd = json!({"tools": [
        {"name": "cal.add", "inputSchema": {"type": "object"}}, {"name": "b__x", "inputSchema": {"type": "object"}},
        {"name": "n".repeat(90), "inputSchema": {"type": "object"}},
    ]});
    let harness = Harness::new();
    let own = || {
        let snapshot = harness.catalogue().snapshot();
        let own = snapshot.offers().filter(|offer| &*offer.owner == "mcp:a");
        own.map(|offer| offer.name.to_string()).collect::<Vec<_>>()
    };
    let mut before = Vec::new();
    for others in [&[][..], &["a__b", "a.b", "b"], &[]] {
        let named = ["a"].iter().chain(others);
        let configs = named.map(|name| ServerConfig::new(name, stdio(&harness, &odd, "haft-names-")));
        let clients = McpClients::new(setup(&harness), configs.collect());
        clients.ready(Duration::from_secs(30)).await;
        assert_eq!(own().len(), 3, "{:?}", harness.catalogue().problems());
        if before.is_empty() {
            before = own();
        }
        assert_eq!(own(), before, "beside {others:?}");
        clients.close().await;
    }
}

#[tokio::test]
async fn two_servers_whose_tools_have_one_name_keep_them_apart() {
    let harness = Harness::new();
    let with = |name: &str, prefix: &str| {
        let mut config = ServerConfig::new(name, stdio(&harness, &json!({}), "haft-two-"));
        config.prefix = Some(prefix.to_owned());
        config
    };
    let owner = || harness.catalogue().snapshot().get("echo").unwrap().owner.to_string();
    // Whichever is heard first: the first of the settings has the name.
    for order in [["a", "b"], ["b", "a"]] {
        let mut setup = setup(&harness);
        setup.state = None;
        let clients = McpClients::new(setup, vec![with("a", ""), with("b", "")]);
        for name in order {
            clients.look(name, &Cancel::new()).await.unwrap();
        }
        assert_eq!(owner(), "mcp:a", "{order:?}");
        harness.session().refresh();
        assert!(harness.call("echo", json!({"text": "hi"})).await.outcome.is_completed());
        let problems = harness.catalogue().problems();
        let refused: Vec<_> = problems.iter().filter(|problem| problem.source.starts_with("mcp:")).collect();
        let [refused] = refused.as_slice() else { panic!("one problem: {problems:?}") };
        assert_eq!(refused.source, "mcp:b", "{order:?}");
        assert!(refused.text.contains("the server a has one of that name"), "{refused:?}");
        assert!(refused.text.contains("set aside") && refused.fix.contains("prefix"), "{refused:?}");
        clients.close().await;
    }
}
