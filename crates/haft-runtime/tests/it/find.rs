//! Tools that aren't sent, and how a model comes by them.

use crate::kit::{probe, session_of};
use haft_core::{Exposure, FailureKind, Outcome};
use haft_policy::Action;
use haft_runtime::{
    Session, SessionSetup, ToolSet,
    find::{Deferral, tool_search},
    tool_help,
};
use haft_test::{Harness, HarnessSetup};
use serde_json::{Value, json};

/// Bytes that 2,000 tokens have at least.
const LISTED_MAX_BYTES: usize = 6_000;

fn offered(kit: &Harness, name: &str, exposure: Exposure) {
    kit.register(probe(name).with(|spec| spec.with_exposure(exposure)).run(|_, _| async { Ok("done") }));
}

/// A catalogue of one direct tool, deferred ones, and the search.
fn catalogue(setup: HarnessSetup) -> Harness {
    let kit = Harness::with(setup);
    offered(&kit, "plain", Exposure::Direct);
    offered(&kit, "find_node", Exposure::Deferred);
    offered(&kit, "drop_node", Exposure::Deferred);
    kit.register_core(vec![tool_search(kit.catalogue())]);
    kit
}

fn sent(session: &Session) -> Vec<String> {
    let snapshot = session.refresh();
    snapshot
        .offers()
        .filter(|offer| session.sends(offer, &snapshot))
        .map(|offer| offer.name.to_string())
        .collect()
}

fn prompt(session: &Session) -> String {
    let snapshot = session.refresh();
    session.prompt_of(snapshot.get("tool_search").unwrap(), &snapshot)
}

#[tokio::test]
async fn a_tool_that_was_found_is_sent_from_then_on() {
    let kit = catalogue(HarnessSetup::default());
    assert_eq!(sent(kit.session()), ["plain", "tool_search"]);
    let before = prompt(kit.session());
    let ended = kit.call("tool_search", json!({"query": "find node", "limit": 1})).await;
    let text = ended.output.joined_text();
    assert!(text.starts_with("find_node ") && text.contains("input schema: {"), "{text}");
    assert!(text.contains("1 more fit"), "{text}");
    assert_eq!(sent(kit.session()), ["find_node", "plain", "tool_search"]);
    assert_eq!(prompt(kit.session()), before, "what is listed stays, so that prompts cache");
}

#[tokio::test]
async fn case_f44_a_call_of_a_deferred_tool_by_its_exact_name_runs_and_loads_it() {
    let kit = catalogue(HarnessSetup::default());
    assert_eq!(kit.call("drop_node", json!({})).await.outcome, Outcome::Completed);
    assert_eq!(sent(kit.session()), ["drop_node", "plain", "tool_search"]);
}

#[tokio::test]
async fn a_tool_that_was_looked_up_is_described_whole_and_sent_from_then_on() {
    let kit = catalogue(HarnessSetup::default());
    kit.register_core(vec![tool_help(kit.catalogue())]);
    let text = kit.call("tool_help", json!({"name": "find_node"})).await.output.joined_text();
    for part in ["find_node (by test:find_node)", "permission: runs without asking", "input schema: {"] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    assert_eq!(sent(kit.session()), ["find_node", "plain", "tool_help", "tool_search"]);
    let ended = kit.call("tool_help", json!({"name": "drop_noed"})).await;
    assert_eq!(ended.outcome, Outcome::Failed { kind: FailureKind::NotFound });
    assert!(ended.output.joined_text().contains("drop_node"), "{}", ended.output.joined_text());
    assert!(!sent(kit.session()).contains(&"drop_node".to_owned()));
}

#[tokio::test]
async fn select_loads_all_it_names_and_says_which_there_are_not() {
    let kit = catalogue(HarnessSetup::default());
    let query = json!({"query": "select:find_node,drop-node,nosuch", "limit": 1});
    let text = kit.call("tool_search", query).await.output.joined_text();
    assert!(text.contains("find_node (by") && text.contains("drop_node (by"), "{text}");
    assert!(text.ends_with("There is no tool named nosuch."), "{text}");
    assert_eq!(sent(kit.session()), ["drop_node", "find_node", "plain", "tool_search"]);
}

#[tokio::test]
async fn loaded_tools_are_known_when_the_session_is_opened_again() {
    let kit = catalogue(HarnessSetup::default());
    kit.call("drop_node", json!({})).await;
    let again = session_of(&kit, "test", |setup| setup);
    assert!(sent(&again).contains(&"drop_node".to_owned()));
}

#[tokio::test]
async fn what_a_session_doesn_t_offer_is_neither_listed_nor_found() {
    let kit = catalogue(HarnessSetup {
        rules: vec![(Action::Deny, "drop_node".to_owned())],
        ..HarnessSetup::default()
    });
    let listed = prompt(kit.session());
    assert!(listed.contains("find_node") && !listed.contains("drop_node"), "{listed}");
    let text = kit.call("tool_search", json!({"query": "drop_node find_node"})).await.output.joined_text();
    assert!(text.contains("find_node (by") && !text.contains("drop_node"), "{text}");
    let narrow = session_of(&kit, "narrow", |setup| SessionSetup {
        tools: ToolSet { include: vec!["tool_search".to_owned()], exclude: Vec::new() },
        ..setup
    });
    let request = haft_core::Request::new("tool_search", "{\"query\":\"select:find_node\"}");
    let text = kit.executor().submit(&narrow, request).await.output.joined_text();
    assert!(text.contains("There is no tool named find_node."), "{text}");
}

#[tokio::test]
async fn what_a_session_doesn_t_offer_isn_t_described_either() {
    let kit = catalogue(HarnessSetup::default());
    kit.register_core(vec![tool_help(kit.catalogue())]);
    let narrow = session_of(&kit, "narrow", |setup| SessionSetup {
        tools: ToolSet { include: vec!["tool_help".to_owned(), "plain".to_owned()], exclude: Vec::new() },
        ..setup
    });
    for (asked, says) in
        [("find_node", "there is no tool \"find_node\""), ("plian", "plain"), ("find_nod", "no tool")]
    {
        let request = haft_core::Request::new("tool_help", json!({"name": asked}).to_string());
        let ended = kit.executor().submit(&narrow, request).await;
        assert_eq!(ended.outcome, Outcome::Failed { kind: FailureKind::NotFound });
        let text = ended.output.joined_text();
        assert!(
            text.contains(says) && !text.contains("input schema") && !text.contains("drop_node"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_small_window_has_fewer_definitions_sent() {
    let kit = catalogue(HarnessSetup::default());
    for number in 0..20 {
        let guest = probe(&format!("guest_{number}"))
            .with(|spec| spec.with_exposure(Exposure::Auto).with_input_schema(long_schema()))
            .run(|_, _| async { Ok("done") });
        kit.catalogue().register(guest, "guests").unwrap().keep();
    }
    let within = |name: &str, window_tokens: Option<u64>| {
        session_of(&kit, name, |setup| SessionSetup { window_tokens, ..setup })
    };
    let is_sent = |session: &Session| sent(session).contains(&"guest_7".to_owned());
    assert!(is_sent(&within("unknown", None)));
    assert!(is_sent(&within("large", Some(1_000_000))));
    assert!(!is_sent(&within("small", Some(1_000))));
}

#[tokio::test]
async fn tools_that_leave_it_to_haft_are_sent_while_all_are_small() {
    let kit = catalogue(HarnessSetup::default());
    offered(&kit, "guest", Exposure::Auto);
    assert!(sent(kit.session()).contains(&"guest".to_owned()));
    let with = |name: &str, deferral| session_of(&kit, name, |setup| SessionSetup { deferral, ..setup });
    assert!(!sent(&with("always", Deferral::Always)).contains(&"guest".to_owned()));
    for number in 0..200 {
        let guest = probe(&format!("guest_{number}"))
            .with(|spec| spec.with_exposure(Exposure::Auto).with_input_schema(long_schema()))
            .run(|_, _| async { Ok("done") });
        kit.catalogue().register(guest, "guests").unwrap().keep();
    }
    assert_eq!(sent(kit.session()), ["plain", "tool_search"]);
    assert!(prompt(kit.session()).contains("guest_7"));
    assert_eq!(sent(&with("never", Deferral::Never)).len(), 203);
}

fn long_schema() -> Value {
    json!({"type": "object", "properties": {"text": {"type": "string", "description": "a word ".repeat(60)}}})
}

#[tokio::test]
async fn ten_thousand_tools_cost_a_request_no_more_than_the_list_may() {
    let kit = catalogue(HarnessSetup::default());
    let empty = prompt(kit.session()).len();
    for server in 0..100 {
        let owner = format!("mcp:server{server}");
        for tool in 0..100 {
            let name = format!("mcp__server{server}__do_something_with_number_{tool}");
            let tool =
                probe(&name).with(|spec| spec.with_exposure(Exposure::Deferred)).run(|_, _| async { Ok("") });
            kit.catalogue().register(tool, &owner).unwrap().keep();
        }
        kit.catalogue().describe(&owner, &format!("Keeps things of kind {server}.\nAnd more."));
    }
    let listed = prompt(kit.session());
    assert!(listed.len() - empty < LISTED_MAX_BYTES, "{}", listed.len());
    assert_eq!(sent(kit.session()).len(), 2);
    for server in [0, 50, 99] {
        let line = listed.lines().find(|line| line.starts_with(&format!("mcp:server{server}, "))).unwrap();
        assert!(line.ends_with("99 more") || line.ends_with("100 not named here"), "{line}");
    }
    let query = json!({"query": "server77 do_something_with_number_42"});
    let text = kit.call("tool_search", query).await.output.joined_text();
    assert!(text.starts_with("mcp__server77__do_something_with_number_42 "), "{text}");
}

#[tokio::test]
async fn a_source_says_what_it_is_for_and_names_its_tools() {
    let kit = catalogue(HarnessSetup::default());
    for name in ["mcp__shop__list_orders", "mcp__shop__refund"] {
        let tool =
            probe(name).with(|spec| spec.with_exposure(Exposure::Deferred)).run(|_, _| async { Ok("") });
        kit.catalogue().register(tool, "mcp:shop").unwrap().keep();
    }
    kit.catalogue().describe("mcp:shop", "Orders of the shop.\nNot read further.");
    let line = "mcp:shop (Orders of the shop.), 2 tools mcp__shop__…: list_orders, refund";
    assert!(prompt(kit.session()).lines().any(|listed| listed == line), "{}", prompt(kit.session()));
}

#[tokio::test]
async fn a_query_that_says_nothing_is_told_what_to_write() {
    let kit = catalogue(HarnessSetup::default());
    for query in ["", "  ", "+", "…"] {
        let ended = kit.call("tool_search", json!({"query": query})).await;
        assert!(matches!(ended.outcome, Outcome::Failed { .. }), "{:?}", ended.outcome);
        assert!(ended.output.joined_text().contains("source:NAME"));
    }
    let text = kit.call("tool_search", json!({"query": "xylophone"})).await.output.joined_text();
    assert!(text.contains("No tool fits"), "{text}");
}
