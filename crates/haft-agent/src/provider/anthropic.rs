//! Anthropic Messages, streamed.

use super::{
    Model, ModelError, ModelEvent, ModelSettings, ModelStream, StopReason, TurnRequest, Usage,
    exchange::{Decoder, exchange},
    wire::{in_words, number, object, object_anyway, text},
};
use crate::{Assistant, CallResult, Dialect, Message};
use haft_core::{Block, Http, HttpRequest, Input};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, mem, sync::Arc};

const BASE_URL: &str = "https://api.anthropic.com";
const VERSION: &str = "2023-06-01";
/// The protocol demands a number; every current model takes this one.
const MAX_TOKENS: u32 = 16_384;

/// A model behind the Messages protocol.
pub struct Anthropic {
    settings: ModelSettings,
    http: Arc<dyn Http>,
}

impl Anthropic {
    /// A model with these settings; `provider` is not looked at.
    pub fn new(settings: ModelSettings, http: Arc<dyn Http>) -> Self {
        Self { settings, http }
    }

    fn request(&self, request: &TurnRequest<'_>) -> HttpRequest {
        let base = self.settings.base_url.as_deref().unwrap_or(BASE_URL).trim_end_matches('/');
        let mut headers = vec![
            ("content-type".to_owned(), "application/json".to_owned()),
            ("accept".to_owned(), "text/event-stream".to_owned()),
            ("anthropic-version".to_owned(), VERSION.to_owned()),
        ];
        if let Some(key) = &self.settings.api_key {
            headers.push(("x-api-key".to_owned(), key.clone()));
        }
        HttpRequest {
            method: "POST".to_owned(),
            url: format!("{}/v1/messages", base.strip_suffix("/v1").unwrap_or(base)),
            headers,
            body: self.body(request).to_string().into_bytes(),
            idle_timeout: self.settings.idle_timeout,
        }
    }

    fn body(&self, request: &TurnRequest<'_>) -> Value {
        let mut body = json!({
            "model": self.settings.model,
            "max_tokens": self.settings.max_tokens.unwrap_or(MAX_TOKENS),
            "stream": true,
            "messages": messages(request.messages),
        });
        if !request.system.is_empty() {
            let mut system = json!({"type": "text", "text": request.system});
            mark_cached(&mut system);
            put(&mut body, "system", json!([system]));
        }
        let tools = request.tools.iter().map(|tool| {
            json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema})
        });
        let mut tools: Vec<Value> = tools.collect();
        if let Some(last) = tools.last_mut() {
            mark_cached(last);
            put(&mut body, "tools", Value::Array(tools));
        }
        body
    }
}

impl Model for Anthropic {
    fn dialect(&self) -> Dialect {
        Dialect::Anthropic
    }

    fn turn(&self, request: &TurnRequest<'_>) -> ModelStream {
        exchange(Arc::clone(&self.http), self.request(request), Answer::default())
    }
}

fn put(value: &mut Value, key: &str, part: Value) {
    if let Some(object) = value.as_object_mut() {
        object.insert(key.to_owned(), part);
    }
}

/// A prompt up to here is kept by the provider and costs a tenth the next time.
fn mark_cached(block: &mut Value) {
    put(block, "cache_control", json!({"type": "ephemeral"}));
}

/// The history as alternating messages: what follows results goes into their message, after them.
fn messages(history: &[Message]) -> Vec<Value> {
    let mut merged: Vec<(&str, Vec<Value>)> = Vec::new();
    for message in history {
        let (role, blocks): (&str, Vec<Value>) = match message {
            Message::User { text } => ("user", text_block(text).into_iter().collect()),
            Message::Assistant(assistant) => ("assistant", assistant_blocks(assistant)),
            Message::Results(results) => {
                let given = results.results.iter().map(result_block);
                ("user", given.chain(results.messages.iter().filter_map(|text| text_block(text))).collect())
            }
        };
        match merged.last_mut() {
            Some((last, content)) if *last == role => content.extend(blocks),
            _ if blocks.is_empty() => {}
            _ => merged.push((role, blocks)),
        }
    }
    if let Some(("user", content)) = merged.last_mut()
        && let Some(last) = content.last_mut()
    {
        mark_cached(last);
    }
    merged.into_iter().map(|(role, content)| json!({"role": role, "content": content})).collect()
}

/// The protocol refuses empty text.
fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

fn assistant_blocks(assistant: &Assistant) -> Vec<Value> {
    if assistant.dialect == Dialect::Anthropic {
        return assistant.blocks.clone();
    }
    let calls = assistant.calls.iter().map(|call| {
        json!({"type": "tool_use", "id": call.id, "name": call.tool, "input": object_anyway(&call.input)})
    });
    text_block(&assistant.text).into_iter().chain(calls).collect()
}

fn result_block(result: &CallResult) -> Value {
    let content = result.content.iter().filter_map(|block| match block {
        Block::Image { data, media_type, .. } => Some(json!({
            "type": "image",
            "source": {"type": "base64", "media_type": media_type, "data": data},
        })),
        other => text_block(&in_words(other)),
    });
    let mut content: Vec<Value> = content.collect();
    if content.is_empty() {
        content.push(json!({"type": "text", "text": "(no output)"}));
    }
    let mut block = json!({"type": "tool_result", "tool_use_id": result.id, "content": content});
    if result.is_error() {
        put(&mut block, "is_error", Value::Bool(true));
    }
    block
}

/// A content block that is still growing.
struct Growing {
    raw: Map<String, Value>,
    arguments: String,
}

impl Growing {
    fn text(&self, key: &str) -> &str {
        self.raw.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    fn append(&mut self, key: &str, piece: &str) {
        if let Some(Value::String(text)) = self.raw.get_mut(key) {
            text.push_str(piece);
        } else {
            self.raw.insert(key.to_owned(), piece.into());
        }
    }

    fn is_call(&self) -> bool {
        self.text("type") == "tool_use"
    }

    fn ready(mut self, input: Input) -> ModelEvent {
        let (Input::Text(arguments) | Input::CutOff(arguments)) = &input;
        self.raw.insert("input".to_owned(), Value::Object(object_anyway(arguments)));
        ModelEvent::CallReady {
            id: self.text("id").to_owned(),
            name: self.text("name").to_owned(),
            input,
            raw: Value::Object(self.raw),
        }
    }
}

/// Reads the events of one answer.
#[derive(Default)]
struct Answer {
    open: BTreeMap<u64, Growing>,
    /// A closed call whose arguments are no object: cut or malformed, which the next event tells.
    held: Option<Growing>,
    stop: Option<StopReason>,
    usage: Usage,
    done: bool,
}

impl Decoder for Answer {
    fn event(&mut self, data: &str, out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let event: Value =
            serde_json::from_str(data).map_err(|error| ModelError::dropped(&format!("not JSON: {error}")))?;
        let index = number(&event, "index").unwrap_or_default();
        match text(&event, "type") {
            "message_start" => {
                if let Some(usage) = event.pointer("/message/usage") {
                    self.count(usage);
                }
            }
            "content_block_start" => {
                if let Some(Value::Object(raw)) = event.get("content_block") {
                    self.begin(index, raw.clone(), out);
                }
            }
            "content_block_delta" => {
                if let Some(delta) = event.get("delta") {
                    self.grow(index, delta, out);
                }
            }
            "content_block_stop" => {
                if let Some(block) = self.open.remove(&index) {
                    self.close(block, out);
                }
            }
            "message_delta" => {
                if let Some(usage) = event.get("usage") {
                    self.count(usage);
                }
                if let Some(reason) = event.pointer("/delta/stop_reason").and_then(Value::as_str) {
                    self.stop(stop_reason(reason), out);
                }
            }
            "message_stop" => {
                if self.stop.is_none() {
                    self.stop(StopReason::Other("none given".to_owned()), out);
                }
                return self.end(out);
            }
            "error" => return Err(ModelError::reported(event.get("error").unwrap_or(&event))),
            // `ping`, and kinds that later versions add.
            _ => {}
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
    /// Later counts replace earlier ones.
    fn count(&mut self, usage: &Value) {
        let counts = [
            ("input_tokens", &mut self.usage.input_tokens),
            ("output_tokens", &mut self.usage.output_tokens),
            ("cache_read_input_tokens", &mut self.usage.cache_read_tokens),
            ("cache_creation_input_tokens", &mut self.usage.cache_write_tokens),
        ];
        for (key, count) in counts {
            if let Some(counted) = number(usage, key) {
                *count = counted;
            }
        }
    }

    fn begin(&mut self, index: u64, raw: Map<String, Value>, out: &mut Vec<ModelEvent>) {
        self.release(Fate::Whole, out);
        let block = Growing { raw, arguments: String::new() };
        match block.text("type") {
            "tool_use" => out.push(ModelEvent::CallStarted {
                index,
                id: block.text("id").to_owned(),
                name: block.text("name").to_owned(),
            }),
            "text" if !block.text("text").is_empty() => {
                out.push(ModelEvent::TextDelta(block.text("text").to_owned()));
            }
            _ => {}
        }
        self.open.insert(index, block);
    }

    fn grow(&mut self, index: u64, delta: &Value, out: &mut Vec<ModelEvent>) {
        let Some(block) = self.open.get_mut(&index) else {
            return;
        };
        match text(delta, "type") {
            "text_delta" => {
                let piece = text(delta, "text");
                block.append("text", piece);
                out.push(ModelEvent::TextDelta(piece.to_owned()));
            }
            "thinking_delta" => {
                let piece = text(delta, "thinking");
                block.append("thinking", piece);
                out.push(ModelEvent::ThinkingDelta(piece.to_owned()));
            }
            "signature_delta" => {
                block.raw.insert("signature".to_owned(), text(delta, "signature").into());
            }
            "input_json_delta" => {
                let piece = text(delta, "partial_json");
                block.arguments.push_str(piece);
                out.push(ModelEvent::CallArguments { index, text: piece.to_owned() });
            }
            "citations_delta" => {
                let citation = delta.get("citation").cloned().unwrap_or_default();
                if let Some(Value::Array(citations)) = block.raw.get_mut("citations") {
                    citations.push(citation);
                } else {
                    block.raw.insert("citations".to_owned(), json!([citation]));
                }
            }
            _ => {}
        }
    }

    fn close(&mut self, mut block: Growing, out: &mut Vec<ModelEvent>) {
        if block.is_call() {
            self.release(Fate::Whole, out);
            // Some servers send the whole input with the block's start.
            if block.arguments.is_empty()
                && let Some(Value::Object(input)) = block.raw.get("input")
                && !input.is_empty()
            {
                block.arguments = Value::Object(input.clone()).to_string();
            }
            if object(&block.arguments).is_some() {
                let arguments = mem::take(&mut block.arguments);
                out.push(block.ready(Input::Text(arguments)));
            } else {
                self.held = Some(block);
            }
            return;
        }
        if block.text("type") == "text" && block.text("text").is_empty() {
            return;
        }
        // Calls that the provider runs itself come in pieces too.
        if !block.arguments.is_empty() {
            block.raw.insert("input".to_owned(), Value::Object(object_anyway(&block.arguments)));
        }
        out.push(ModelEvent::Block(Value::Object(block.raw)));
    }

    fn release(&mut self, fate: Fate, out: &mut Vec<ModelEvent>) {
        let Some(mut block) = self.held.take() else {
            return;
        };
        let arguments = mem::take(&mut block.arguments);
        let input = match fate {
            Fate::Cut => Input::CutOff(arguments),
            // A tool without parameters is called without a word.
            Fate::Whole if arguments.trim().is_empty() => Input::Text("{}".to_owned()),
            Fate::Whole => Input::Text(arguments),
        };
        out.push(block.ready(input));
    }

    fn stop(&mut self, reason: StopReason, out: &mut Vec<ModelEvent>) {
        for block in mem::take(&mut self.open).into_values() {
            if reason.is_cut() && block.is_call() {
                self.release(Fate::Whole, out);
                self.held = Some(block);
            } else {
                self.close(block, out);
            }
        }
        self.release(if reason.is_cut() { Fate::Cut } else { Fate::Whole }, out);
        self.stop = Some(reason);
    }
}

/// Whether a held call came to its end.
#[derive(Clone, Copy)]
enum Fate {
    Whole,
    Cut,
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "end_turn" | "stop_sequence" => StopReason::End,
        "tool_use" => StopReason::Calls,
        "max_tokens" | "model_context_window_exceeded" => StopReason::TokenLimit,
        "refusal" => StopReason::Refused,
        "pause_turn" => StopReason::Paused,
        other => StopReason::Other(other.to_owned()),
    }
}

#[cfg(test)]
mod tests;
