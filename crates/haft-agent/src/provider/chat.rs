//! OpenAI Chat Completions, and everything that speaks it, streamed.
//!
//! Servers differ in what they leave out; every field is optional here, and a call is taken for whole only
//! when a later one begins or the turn ends.

use super::{
    Model, ModelError, ModelEvent, ModelSettings, ModelStream, StopReason, TurnRequest, Usage,
    exchange::{Decoder, exchange},
    wire::{in_words, number, object, object_anyway, text},
};
use crate::{Assistant, Dialect, Message, Results};
use haft_core::{Block, Http, HttpRequest, Input};
use haft_runtime::lower;
use serde_json::{Map, Value, json};
use std::{mem, sync::Arc};

const BASE_URL: &str = "https://api.openai.com/v1";
/// Fields of a message that some providers want back with its calls.
const KEPT_FIELDS: [&str; 2] = ["reasoning_content", "reasoning_details"];

/// Where Gemini speaks this protocol, with its own subset of JSON Schema.
const GEMINI_HOST: &str = "generativelanguage.googleapis.com";

/// A model behind the Chat Completions protocol.
pub struct Chat {
    settings: ModelSettings,
    http: Arc<dyn Http>,
}

impl Chat {
    /// A model with these settings; `provider` is not looked at.
    pub fn new(settings: ModelSettings, http: Arc<dyn Http>) -> Self {
        Self { settings, http }
    }

    fn request(&self, request: &TurnRequest<'_>) -> HttpRequest {
        let mut headers = vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("accept".to_owned(), "text/event-stream".to_owned()),
        ];
        if let Some(key) = &self.settings.api_key {
            headers.push(("authorization".to_owned(), format!("Bearer {key}")));
        }
        HttpRequest {
            method: "POST".to_owned(),
            url: url(self.settings.base_url.as_deref().unwrap_or(BASE_URL)),
            headers,
            body: self.body(request).to_string().into_bytes(),
            idle_timeout: self.settings.idle_timeout,
        }
    }

    fn body(&self, request: &TurnRequest<'_>) -> Value {
        let mut body = Map::new();
        body.insert("model".to_owned(), self.settings.model.as_str().into());
        body.insert("stream".to_owned(), true.into());
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
        if let Some(limit) = self.settings.max_tokens {
            // The inventor has renamed it and refuses the old name for new models; others know only that.
            let own = self.settings.base_url.as_deref().is_none_or(|base| base.contains("://api.openai.com"));
            let key = if own { "max_completion_tokens" } else { "max_tokens" };
            body.insert(key.to_owned(), limit.into());
        }
        if !request.tools.is_empty() {
            let tools = request.tools.iter().map(|tool| {
                let function = json!({
                    "name": tool.name, "description": tool.description, "parameters": tool.input_schema,
                });
                json!({"type": "function", "function": function})
            });
            body.insert("tools".to_owned(), tools.collect());
        }
        body.insert("messages".to_owned(), Value::Array(messages(request)));
        Value::Object(body)
    }
}

impl Model for Chat {
    fn dialect(&self) -> Dialect {
        Dialect::Chat
    }

    fn schemas(&self) -> lower::Dialect {
        let base = self.settings.base_url.as_deref().unwrap_or(BASE_URL);
        if base.contains(GEMINI_HOST) { lower::Dialect::Gemini } else { lower::Dialect::OpenAi }
    }

    fn turn(&self, request: &TurnRequest<'_>) -> ModelStream {
        exchange(Arc::clone(&self.http), self.request(request), Answer::default())
    }
}

/// The endpoint of a base URL: one without any path gets `/v1`.
fn url(base: &str) -> String {
    let base = base.trim_end_matches('/');
    let rest = base.split_once("://").map_or(base, |(_, rest)| rest);
    if base.ends_with("/chat/completions") {
        base.to_owned()
    } else if rest.contains('/') {
        format!("{base}/chat/completions")
    } else {
        format!("{base}/v1/chat/completions")
    }
}

fn messages(request: &TurnRequest<'_>) -> Vec<Value> {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(json!({"role": "system", "content": request.system}));
    }
    for message in request.messages {
        match message {
            Message::User { text } => messages.push(json!({"role": "user", "content": text})),
            Message::Assistant(assistant) => messages.extend(assistant_message(assistant)),
            Message::Results(results) => push_results(results, &mut messages),
        }
    }
    messages
}

fn assistant_message(assistant: &Assistant) -> Option<Value> {
    let mut content = String::new();
    let mut calls = Vec::new();
    let mut kept = Map::new();
    if assistant.dialect == Dialect::Chat {
        for block in &assistant.blocks {
            if block.get("function").is_some() {
                calls.push(block.clone());
                continue;
            }
            content.push_str(text(block, "content"));
            for key in KEPT_FIELDS {
                if let Some(value) = block.get(key) {
                    merge(&mut kept, key, value);
                }
            }
        }
    } else {
        content.push_str(&assistant.text);
        calls.extend(assistant.calls.iter().map(|call| raw_call(&call.id, &call.tool, &call.input)));
    }
    if content.is_empty() && calls.is_empty() {
        return None;
    }
    let content = if content.is_empty() { Value::Null } else { Value::String(content) };
    let mut message = json!({"role": "assistant", "content": content});
    if let Some(object) = message.as_object_mut()
        && !calls.is_empty()
    {
        object.extend(kept);
        object.insert("tool_calls".to_owned(), Value::Array(calls));
    }
    Some(message)
}

/// Servers with a prompt template parse the arguments again: what is no object would fail the whole request.
fn raw_call(id: &str, name: &str, arguments: &str) -> Value {
    let arguments = match object(arguments) {
        Some(_) => arguments.to_owned(),
        None => Value::Object(object_anyway(arguments)).to_string(),
    };
    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
}

/// Only text fits into a tool message; pictures follow in a user message.
fn push_results(results: &Results, messages: &mut Vec<Value>) {
    let mut pictures = Vec::new();
    for result in &results.results {
        let mut words = Vec::new();
        for block in &result.content {
            match block {
                Block::Image { data, media_type, .. } => {
                    words.push("[picture: see below]".to_owned());
                    pictures.push(json!({"type": "text", "text": format!("Picture from {}:", result.tool)}));
                    let url = format!("data:{media_type};base64,{data}");
                    pictures.push(json!({"type": "image_url", "image_url": {"url": url}}));
                }
                other => words.push(in_words(other)),
            }
        }
        let content = if words.is_empty() { "(no output)".to_owned() } else { words.join("\n") };
        messages.push(json!({"role": "tool", "tool_call_id": result.id, "content": content}));
    }
    if !pictures.is_empty() {
        messages.push(json!({"role": "user", "content": pictures}));
    }
    messages.extend(results.messages.iter().map(|text| json!({"role": "user", "content": text})));
}

/// Adds a piece of a field: text is joined, lists are continued.
fn merge(fields: &mut Map<String, Value>, key: &str, piece: &Value) {
    if piece.is_null() {
        return;
    }
    if let Some(whole) = fields.get_mut(key) {
        match (whole, piece) {
            (Value::String(whole), Value::String(piece)) => whole.push_str(piece),
            (Value::Array(whole), Value::Array(piece)) => whole.extend(piece.iter().cloned()),
            (whole, piece) => *whole = piece.clone(),
        }
        return;
    }
    fields.insert(key.to_owned(), piece.clone());
}

/// A call that is still growing.
#[derive(Default)]
struct Growing {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// Fields beside the standard's, which their provider wants back.
    extra: Map<String, Value>,
    started: bool,
    ready: bool,
}

/// Reads the events of one answer.
#[derive(Default)]
struct Answer {
    text: String,
    kept: Map<String, Value>,
    calls: Vec<Growing>,
    stop: Option<StopReason>,
    usage: Usage,
    done: bool,
}

impl Decoder for Answer {
    fn event(&mut self, data: &str, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if data.trim() == "[DONE]" {
            return self.end(out);
        }
        let chunk: Value =
            serde_json::from_str(data).map_err(|error| ModelError::dropped(&format!("not JSON: {error}")))?;
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            return Err(ModelError::reported(error));
        }
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            self.count(usage);
        }
        if let Some(choice) = chunk.pointer("/choices/0") {
            if let Some(delta) = choice.get("delta").or_else(|| choice.get("message")) {
                self.grow(delta, out);
            }
            let reason = text(choice, "finish_reason");
            if !reason.is_empty() && self.stop.is_none() {
                self.stop(stop_reason(reason), out);
            }
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let reason = self.stop.take().ok_or_else(|| ModelError::dropped("the connection ended too early"))?;
        out.push(ModelEvent::Stop { reason, usage: self.usage });
        self.done = true;
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

impl Answer {
    fn count(&mut self, usage: &Value) {
        let prompt = number(usage, "prompt_tokens").unwrap_or_default();
        let cached = usage.pointer("/prompt_tokens_details/cached_tokens").and_then(Value::as_u64);
        let cached = cached.unwrap_or_default();
        self.usage = Usage {
            input_tokens: prompt.saturating_sub(cached),
            output_tokens: number(usage, "completion_tokens").unwrap_or_default(),
            cache_read_tokens: cached,
            cache_write_tokens: 0,
        };
    }

    fn grow(&mut self, delta: &Value, out: &mut Vec<ModelEvent>) {
        for key in ["reasoning_content", "reasoning"] {
            let thought = text(delta, key);
            if !thought.is_empty() {
                out.push(ModelEvent::ThinkingDelta(thought.to_owned()));
                break;
            }
        }
        for key in KEPT_FIELDS {
            if let Some(piece) = delta.get(key) {
                merge(&mut self.kept, key, piece);
            }
        }
        let words = text(delta, "content");
        if !words.is_empty() {
            self.text.push_str(words);
            out.push(ModelEvent::TextDelta(words.to_owned()));
        }
        for piece in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            self.grow_call(piece, out);
        }
    }

    fn grow_call(&mut self, piece: &Value, out: &mut Vec<ModelEvent>) {
        let place = self.place(piece, out);
        let Some(call) = self.calls.get_mut(place) else {
            return;
        };
        let function = piece.get("function").unwrap_or(&Value::Null);
        if call.id.is_empty() {
            text(piece, "id").clone_into(&mut call.id);
        }
        if call.name.is_empty() {
            text(function, "name").clone_into(&mut call.name);
        }
        for (key, value) in piece.as_object().into_iter().flatten() {
            if !matches!(key.as_str(), "index" | "id" | "type" | "function") {
                call.extra.insert(key.clone(), value.clone());
            }
        }
        let index = u64::try_from(place).unwrap_or(u64::MAX);
        if !call.started && !call.name.is_empty() {
            call.started = true;
            let (id, name) = (call.id.clone(), call.name.clone());
            out.push(ModelEvent::CallStarted { index, id, name });
        }
        let arguments = match function.get("arguments") {
            Some(Value::String(text)) => text.clone(),
            // Some servers send the object itself.
            Some(object @ Value::Object(_)) => object.to_string(),
            _ => String::new(),
        };
        if !arguments.is_empty() {
            call.arguments.push_str(&arguments);
            out.push(ModelEvent::CallArguments { index, text: arguments });
        }
    }

    /// Which call a piece belongs to. A name under another id begins a new one, since some servers number all
    /// calls alike; an id alone doesn't, since some make up a new one for each piece.
    fn place(&mut self, piece: &Value, out: &mut Vec<ModelEvent>) -> usize {
        let index = number(piece, "index");
        let id = text(piece, "id");
        let named = piece.get("function").is_some_and(|function| !text(function, "name").is_empty());
        let known = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index),
            None => self.calls.len().checked_sub(1),
        };
        let begins = |call: &Growing| {
            let other_id = !id.is_empty() && !call.id.is_empty() && call.id != id;
            named && (other_id || (index.is_none() && id.is_empty() && !call.name.is_empty()))
        };
        match known {
            Some(place) if !self.calls.get(place).is_some_and(begins) => place,
            _ => {
                self.ready_whole(out);
                self.calls.push(Growing { index, ..Growing::default() });
                self.calls.len() - 1
            }
        }
    }

    /// Makes calls ready up to the first whose arguments aren't whole yet.
    fn ready_whole(&mut self, out: &mut Vec<ModelEvent>) {
        for place in 0..self.calls.len() {
            let Some(call) = self.calls.get(place) else {
                return;
            };
            if call.ready {
                continue;
            }
            if object(&call.arguments).is_none() {
                return;
            }
            let input = Input::Text(call.arguments.clone());
            self.ready(place, input, out);
        }
    }

    fn ready(&mut self, place: usize, input: Input, out: &mut Vec<ModelEvent>) {
        self.flush(out);
        let Some(call) = self.calls.get_mut(place) else {
            return;
        };
        call.ready = true;
        if call.id.is_empty() {
            call.id = format!("call_{place}");
        }
        let (Input::Text(arguments) | Input::CutOff(arguments)) = &input;
        let mut raw = raw_call(&call.id, &call.name, arguments);
        if let Some(object) = raw.as_object_mut() {
            object.extend(mem::take(&mut call.extra));
        }
        out.push(ModelEvent::CallReady { id: call.id.clone(), name: call.name.clone(), input, raw });
    }

    /// Text and thinking so far are whole.
    fn flush(&mut self, out: &mut Vec<ModelEvent>) {
        let mut block = mem::take(&mut self.kept);
        if !self.text.is_empty() {
            block.insert("content".to_owned(), mem::take(&mut self.text).into());
        }
        if !block.is_empty() {
            out.push(ModelEvent::Block(Value::Object(block)));
        }
    }

    fn stop(&mut self, reason: StopReason, out: &mut Vec<ModelEvent>) {
        for place in 0..self.calls.len() {
            let Some(call) = self.calls.get(place).filter(|call| !call.ready) else {
                continue;
            };
            let arguments = call.arguments.clone();
            let input = if object(&arguments).is_some() {
                Input::Text(arguments)
            } else if reason.is_cut() {
                Input::CutOff(arguments)
            } else if arguments.trim().is_empty() {
                Input::Text("{}".to_owned())
            } else {
                Input::Text(arguments)
            };
            self.ready(place, input, out);
        }
        self.flush(out);
        self.stop = Some(reason);
    }
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "stop" => StopReason::End,
        "tool_calls" | "function_call" => StopReason::Calls,
        "length" => StopReason::TokenLimit,
        "content_filter" => StopReason::Refused,
        other => StopReason::Other(other.to_owned()),
    }
}

#[cfg(test)]
mod tests;
