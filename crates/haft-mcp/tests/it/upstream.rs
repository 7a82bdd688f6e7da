//! What servers behind haft have besides their tools, and their tools' questions, as a client in front sees it.

use crate::{
    kit::{Peer, modern},
    stage::{SLOW, Stage, asking, check_line, check_question, check_step, this_one},
    web::Web,
};
use haft_mcp::Change;
use serde_json::{Value, json};

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
    check_step(&peer.hear().await);
    assert_eq!(peer.hear().await["id"], 1);
    assert_eq!(peer.ask(2, "logging/setLevel", json!({"level": "loud"})).await["error"]["code"], -32_602);
    assert_eq!(peer.ask(3, "logging/setLevel", json!({"level": "debug"})).await["result"], json!({}));
    peer.send(4, "tools/call", call()).await;
    check_line(&peer.hear().await);
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
    check_question(|| stage.server()).await;
    // It may be answered before it is put.
    let web = Web::open(stage.server()).await;
    let mut early = asking();
    early["inputResponses"] = json!({"which": this_one(), "more": {}});
    let done =
        web.modern_as("tools/call", early, json!({"elicitation": {}})).await.json().await["result"].take();
    assert_eq!(done["content"][0]["text"], "this one");
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
    // What can't go on whole doesn't go on at all.
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    let params = format!(r#"{{"uri":"x://a","x":{deep}}}"#);
    peer.say(&format!(r#"{{"jsonrpc":"2.0","id":6,"method":"resources/read","params":{params}}}"#)).await;
    assert_eq!(peer.hear().await["error"]["code"], -32_602);

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
    stage.behind.until_subscribed(&["x://a"]).await;
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

#[tokio::test]
async fn a_stream_hears_of_a_resource_once_however_often_it_is_named() {
    let stage = Stage::new();
    let mut peer = Peer::of(stage.server());
    let wanted = modern(json!({"notifications": {"resourceSubscriptions": ["x://a", "x://b", "x://a"]}}));
    peer.send(1, "subscriptions/listen", wanted).await;
    let accepted = peer.hear().await["params"]["notifications"].take();
    assert_eq!(accepted, json!({"resourceSubscriptions": ["x://a", "x://b"]}));
    stage.behind.until_subscribed(&["x://a", "x://b"]).await;
}

#[tokio::test]
async fn a_clients_last_word_counts_however_long_its_server_takes_to_subscribe() {
    let stage = Stage::new();
    let mut peer = Peer::greeted(stage.server(), json!({})).await;
    let slow = || json!({"uri": SLOW});
    peer.send(1, "resources/subscribe", slow()).await;
    assert_eq!(peer.ask(2, "resources/unsubscribe", slow()).await["result"], json!({}));
    stage.behind.go_on.notify_one();
    let done = peer.hear().await;
    assert_eq!((&done["id"], &done["result"]), (&json!(1), &json!({})));
    stage.behind.until_subscribed(&[]).await;

    // The server is asked once, whoever of these comes first.
    peer.send(3, "resources/subscribe", slow()).await;
    assert_eq!(peer.ask(4, "resources/unsubscribe", slow()).await["result"], json!({}));
    peer.send(5, "resources/subscribe", slow()).await;
    // Its reply shows that what came before it was taken in.
    assert_eq!(peer.ask(6, "ping", json!({})).await["result"], json!({}));
    stage.behind.go_on.notify_one();
    let mut done = [peer.hear().await["id"].take(), peer.hear().await["id"].take()];
    done.sort_by_key(Value::as_u64);
    assert_eq!(done, [3, 5]);
    stage.behind.until_subscribed(&[SLOW]).await;
    stage.behind.changes.send(Change::Resource(SLOW.into())).unwrap();
    assert_eq!(peer.hear().await["params"], slow());
    assert_eq!(peer.ask(7, "resources/unsubscribe", slow()).await["result"], json!({}));
    stage.behind.until_subscribed(&[]).await;
}

#[tokio::test]
async fn who_is_still_being_subscribed_can_go_away() {
    let stage = Stage::new();
    let mut peer = Peer::greeted(stage.server(), json!({})).await;
    let wanted = modern(json!({"notifications": {"resourceSubscriptions": [SLOW]}}));
    for (method, params) in [("resources/subscribe", json!({"uri": SLOW})), ("subscriptions/listen", wanted)]
    {
        peer.send(1, method, params).await;
        stage.behind.until_subscribed(&[SLOW]).await;
        peer.tell("notifications/cancelled", json!({"requestId": 1})).await;
        stage.behind.until_subscribed(&[]).await;
        assert_eq!(peer.ask(1, "ping", json!({})).await["result"], json!({}), "{method}");
    }
}
