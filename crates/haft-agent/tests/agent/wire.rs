//! Answers in the two protocols' wire forms, and what requests say in them.

use serde_json::{Value, json};

type Call<'a> = (&'a str, &'a str, &'a str);

/// One protocol's forms.
pub(crate) struct Protocol {
    pub(crate) spec: &'static str,
    pub(crate) path: &'static str,
    pub(crate) key_header: &'static str,
    pub(crate) key_value: &'static str,
    pub(crate) end: &'static str,
    pub(crate) wants_results: &'static str,
    pub(crate) limit: &'static str,
    /// A whole answer: text, calls as id, tool and argument text, and why it stops.
    pub(crate) answer: fn(&str, &[Call<'_>], &str) -> String,
    /// An answer that wants results, in two: up to the moment when the first call is whole (with one call: up
    /// to the middle of it), and the rest.
    pub(crate) answer_in_two: fn(&str, &[Call<'_>]) -> [String; 2],
    pub(crate) tool_names: fn(&Value) -> Vec<String>,
    /// Call ids and texts of the results in a request.
    pub(crate) results: fn(&Value) -> Vec<(String, String)>,
}

pub(crate) const ANTHROPIC: Protocol = Protocol {
    spec: "anthropic:test-model",
    path: "/v1/messages",
    key_header: "x-api-key",
    key_value: "key",
    end: "end_turn",
    wants_results: "tool_use",
    limit: "max_tokens",
    answer: |text, calls, stop| anthropic(text, calls, stop).concat(),
    answer_in_two: |text, calls| {
        let events = anthropic(text, calls, "tool_use");
        let first_stop = events.iter().rposition(|event| event.contains("\"id\":\"a\"")).unwrap() + 3;
        halves(&events, if calls.len() > 1 { first_stop + 1 } else { first_stop - 1 })
    },
    tool_names: |body| names(body["tools"].as_array().unwrap().iter().map(|tool| &tool["name"])),
    results: |body| {
        let messages = body["messages"].as_array().unwrap();
        let blocks = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
        blocks
            .filter(|block| block["type"] == "tool_result")
            .map(|block| {
                let text = block["content"][0]["text"].as_str().unwrap().to_owned();
                (block["tool_use_id"].as_str().unwrap().to_owned(), text)
            })
            .collect()
    },
};

pub(crate) const CHAT: Protocol = Protocol {
    spec: "openai:test-model",
    path: "/chat/completions",
    key_header: "authorization",
    key_value: "Bearer key",
    end: "stop",
    wants_results: "tool_calls",
    limit: "length",
    answer: |text, calls, stop| chat(text, calls, stop).concat(),
    answer_in_two: |text, calls| {
        let events = chat(text, calls, "tool_calls");
        let second = events.iter().position(|event| event.contains("\"id\":\"b\""));
        let half = events.iter().position(|event| event.contains("\"id\":\"a\"")).unwrap() + 2;
        halves(&events, second.map_or(half, |second| second + 1))
    },
    tool_names: |body| names(body["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]["name"])),
    results: |body| {
        let messages = body["messages"].as_array().unwrap();
        messages
            .iter()
            .filter(|message| message["role"] == "tool")
            .map(|message| {
                let text = message["content"].as_str().unwrap().to_owned();
                (message["tool_call_id"].as_str().unwrap().to_owned(), text)
            })
            .collect()
    },
};

fn halves(events: &[String], at: usize) -> [String; 2] {
    [events[..at].concat(), events[at..].concat()]
}

fn names<'a>(values: impl Iterator<Item = &'a Value>) -> Vec<String> {
    values.map(|name| name.as_str().unwrap().to_owned()).collect()
}

/// Two pieces of an argument text, cut at a character.
fn pieces(text: &str) -> [&str; 2] {
    let middle = (text.len() / 2..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap();
    [&text[..middle], &text[middle..]]
}

fn anthropic(text: &str, calls: &[Call<'_>], stop: &str) -> Vec<String> {
    let mut events = vec![json!({"type": "message_start", "message": {"usage": {"input_tokens": 10}}})];
    let mut index = 0;
    if !text.is_empty() {
        events.push(json!({"type": "content_block_start", "index": 0,
                           "content_block": {"type": "text", "text": ""}}));
        events.push(json!({"type": "ping"}));
        for piece in pieces(text) {
            events.push(json!({"type": "content_block_delta", "index": 0,
                               "delta": {"type": "text_delta", "text": piece}}));
        }
        events.push(json!({"type": "content_block_stop", "index": 0}));
        index = 1;
    }
    for (id, tool, arguments) in calls {
        events.push(json!({"type": "content_block_start", "index": index,
                           "content_block": {"type": "tool_use", "id": id, "name": tool, "input": {}}}));
        for piece in pieces(arguments) {
            events.push(json!({"type": "content_block_delta", "index": index,
                               "delta": {"type": "input_json_delta", "partial_json": piece}}));
        }
        events.push(json!({"type": "content_block_stop", "index": index}));
        index += 1;
    }
    events.push(
        json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 5}}),
    );
    events.push(json!({"type": "message_stop"}));
    let name = |event: &Value| event["type"].as_str().unwrap().to_owned();
    events.iter().map(|event| format!("event: {}\r\ndata: {event}\r\n\r\n", name(event))).collect()
}

fn chat(text: &str, calls: &[Call<'_>], stop: &str) -> Vec<String> {
    let mut deltas = vec![json!({"role": "assistant", "content": null})];
    deltas.extend(pieces(text).map(|piece| json!({"content": piece})));
    for (index, (id, tool, arguments)) in calls.iter().enumerate() {
        deltas.push(json!({"tool_calls": [{"index": index, "id": id, "type": "function",
                                           "function": {"name": tool, "arguments": ""}}]}));
        for piece in pieces(arguments) {
            deltas.push(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}));
        }
    }
    let chunk =
        |delta: Value, stop: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": stop}]});
    let mut events: Vec<Value> = deltas.into_iter().map(|delta| chunk(delta, Value::Null)).collect();
    events.push(chunk(json!({}), json!(stop)));
    events.push(json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}));
    let mut texts = vec![": comment\n\n".to_owned()];
    texts.extend(events.iter().map(|event| format!("data: {event}\n\n")));
    // The last line comes without its blank line.
    texts.push("data: [DONE]".to_owned());
    texts
}
