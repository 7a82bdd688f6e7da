//! Chat Completions: what is sent, and what the events come to.

use super::*;

fn decode(deltas: &[Value], finish: &str) -> Vec<ModelEvent> {
    let (mut answer, mut out) = (Answer::default(), Vec::new());
    for delta in deltas {
        answer.event(&json!({"choices": [{"delta": delta}]}).to_string(), &mut out).unwrap();
    }
    let last = json!({"choices": [{"delta": {}, "finish_reason": finish}]});
    answer.event(&last.to_string(), &mut out).unwrap();
    out
}

fn calls(events: &[ModelEvent]) -> Vec<(&str, &str, &Input)> {
    events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::CallReady { id, name, input, .. } => Some((id.as_str(), name.as_str(), input)),
            _ => None,
        })
        .collect()
}

fn piece(index: Option<u64>, id: &str, name: &str, arguments: &str) -> Value {
    let function = json!({"name": name, "arguments": arguments});
    match index {
        Some(index) => json!({"tool_calls": [{"index": index, "id": id, "function": function}]}),
        None => json!({"tool_calls": [{"id": id, "function": function}]}),
    }
}

#[test]
fn calls_are_told_apart_however_a_server_numbers_them() {
    let (a, b) = (Input::Text("{\"x\":1}".into()), Input::Text("{}".into()));
    let usual =
        [piece(Some(0), "i", "n", ""), piece(Some(0), "", "", "{\"x\":1}"), piece(Some(1), "j", "m", "")];
    let same_index = [piece(Some(0), "i", "n", "{\"x\":1}"), piece(Some(0), "j", "m", "{}")];
    let no_index = [piece(None, "i", "n", "{\"x\":1}"), piece(None, "j", "m", "{}")];
    let mixed =
        [piece(Some(0), "i", "n", "{\"x\""), piece(Some(1), "j", "m", "{}"), piece(Some(0), "", "", ":1}")];
    let new_ids =
        [piece(Some(0), "i", "n", "{\"x\""), piece(Some(0), "z", "", ":1}"), piece(Some(1), "j", "m", "")];
    for deltas in [&usual[..], &same_index[..], &no_index[..], &mixed[..], &new_ids[..]] {
        let events = decode(deltas, "tool_calls");
        assert_eq!(calls(&events), [("i", "n", &a), ("j", "m", &b)], "{deltas:?}");
    }
    let nameless = decode(&[piece(None, "", "n", "{}"), piece(None, "", "m", "{}")], "stop");
    assert_eq!(calls(&nameless), [("call_0", "n", &b), ("call_1", "m", &b)]);
}

#[test]
fn only_what_the_limit_left_unfinished_is_cut() {
    let deltas = [piece(Some(0), "i", "n", "{}"), piece(Some(1), "j", "m", "{\"x")];
    let events = decode(&deltas, "length");
    let (whole, cut) = (Input::Text("{}".into()), Input::CutOff("{\"x".into()));
    assert_eq!(calls(&events), [("i", "n", &whole), ("j", "m", &cut)]);
}

#[test]
fn what_a_provider_wants_back_is_kept() {
    let signed = json!({"tool_calls": [{
        "index": 0, "id": "i", "function": {"name": "n", "arguments": "{}"},
        "extra_content": {"google": {"thought_signature": "s"}},
    }]});
    let deltas = [
        json!({"reasoning_content": "h"}),
        json!({"reasoning_content": "m"}),
        json!({"content": "a"}),
        signed,
    ];
    let blocks: Vec<Value> = decode(&deltas, "tool_calls")
        .into_iter()
        .filter_map(|event| match event {
            ModelEvent::Block(raw) | ModelEvent::CallReady { raw, .. } => Some(raw),
            _ => None,
        })
        .collect();
    let assistant =
        Assistant { turn: 1, dialect: Dialect::Chat, text: "a".into(), blocks, calls: Vec::new() };
    let message = assistant_message(&assistant).unwrap();
    assert_eq!(message["reasoning_content"], "hm");
    assert_eq!(message["content"], "a");
    assert_eq!(message["tool_calls"][0]["extra_content"]["google"]["thought_signature"], "s");
}

#[test]
fn a_base_url_may_have_its_version_or_not() {
    assert_eq!(url("http://127.0.0.1:1/"), "http://127.0.0.1:1/v1/chat/completions");
    assert_eq!(url("https://a.b/api/v1"), "https://a.b/api/v1/chat/completions");
    assert_eq!(url("https://a.b/v1beta/openai/"), "https://a.b/v1beta/openai/chat/completions");
}
