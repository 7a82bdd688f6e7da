//! Anthropic Messages: what is sent, and what the events come to.

use super::*;
use crate::{AssistantCall, Results};

fn decode(events: &[Value]) -> Vec<ModelEvent> {
    let (mut answer, mut out) = (Answer::default(), Vec::new());
    for event in events {
        answer.event(&event.to_string(), &mut out).unwrap();
    }
    out
}

#[test]
fn blocks_come_back_exactly() {
    let events = decode(&[
        json!({"type": "content_block_start", "index": 0,
               "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
        json!({"type": "content_block_delta", "index": 0,
               "delta": {"type": "thinking_delta", "thinking": "hm"}}),
        json!({"type": "content_block_delta", "index": 0,
               "delta": {"type": "signature_delta", "signature": "s=="}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1,
               "content_block": {"type": "redacted_thinking", "data": "xyz"}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "content_block_start", "index": 2,
               "content_block": {"type": "tool_use", "id": "i", "name": "n", "input": {},
                                 "caller": "c"}}),
        json!({"type": "content_block_stop", "index": 2}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"},
               "usage": {"output_tokens": 3}}),
        json!({"type": "message_stop"}),
    ]);
    let raw: Vec<Value> = events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::Block(raw) | ModelEvent::CallReady { raw, .. } => Some(raw.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(
        raw,
        [
            json!({"type": "thinking", "thinking": "hm", "signature": "s=="}),
            json!({"type": "redacted_thinking", "data": "xyz"}),
            json!({"type": "tool_use", "id": "i", "name": "n", "input": {}, "caller": "c"}),
        ]
    );
    let usage = Usage { output_tokens: 3, ..Usage::default() };
    assert_eq!(events.last(), Some(&ModelEvent::Stop { reason: StopReason::Calls, usage }));
}

#[test]
fn a_held_call_is_malformed_before_another_block_and_cut_before_the_limit() {
    let start = |index: u64, id: &str| {
        json!({"type": "content_block_start", "index": index,
               "content_block": {"type": "tool_use", "id": id, "name": "n", "input": {}}})
    };
    let piece = |index: u64| {
        json!({"type": "content_block_delta", "index": index,
               "delta": {"type": "input_json_delta", "partial_json": "{\"a\": "}})
    };
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    let limit = json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}});
    let inputs: Vec<Input> =
        decode(&[start(0, "x"), piece(0), stop(0), start(1, "y"), piece(1), stop(1), limit.clone()])
            .into_iter()
            .filter_map(|event| match event {
                ModelEvent::CallReady { input, .. } => Some(input),
                _ => None,
            })
            .collect();
    assert_eq!(inputs, [Input::Text("{\"a\": ".into()), Input::CutOff("{\"a\": ".into())]);
    let unfinished = decode(&[start(0, "x"), limit]);
    assert!(matches!(&unfinished[1], ModelEvent::CallReady { input: Input::CutOff(_), .. }));
}

#[test]
fn results_come_first_and_the_last_block_is_marked() {
    let call = AssistantCall { id: "i".into(), tool: "n".into(), input: "{broken".into() };
    let history = [
        Message::User { text: "go".into() },
        Message::Assistant(Assistant {
            turn: 1,
            dialect: Dialect::Chat,
            text: "so".into(),
            blocks: Vec::new(),
            calls: vec![call.clone()],
        }),
        Message::Results(Results { results: vec![CallResult::interrupted(&call)], messages: Vec::new() }),
        Message::User { text: "more".into() },
    ];
    let sent = messages(&history);
    assert_eq!(sent.len(), 3);
    assert_eq!(sent[1]["content"][1]["input"], json!({"INVALID_JSON": "{broken"}));
    assert_eq!(sent[2]["content"][0]["type"], "tool_result");
    assert_eq!(sent[2]["content"][0]["is_error"], true);
    assert_eq!(sent[2]["content"][1]["cache_control"]["type"], "ephemeral");
}
