//! The model of a conversation as MCP servers may ask it: their messages in, its text out.

use haft_agent::{Assistant, Dialect, Message, Model, StopReason, ask_aside};
use haft_core::BoxFuture;
use haft_mcp::{RpcError, Sampler};
use serde_json::{Value, json};
use std::sync::Arc;

/// Most tokens of one answer, whatever the server wants.
const TOKENS_MAX: usize = 8_192;
/// How many characters a token is taken for.
const TOKEN_CHARS: usize = 4;

/// Lends a model to servers.
pub(super) struct Lender {
    model: Arc<dyn Model>,
    name: String,
}

impl Lender {
    /// Lends this model, which servers are told by this name.
    pub(super) fn new(model: Arc<dyn Model>, name: String) -> Self {
        Self { model, name }
    }
}

impl Sampler for Lender {
    fn sample(&self, params: &Value) -> BoxFuture<'static, Result<Value, RpcError>> {
        let asked = Asked::read(params);
        let (model, name) = (Arc::clone(&self.model), self.name.clone());
        Box::pin(async move {
            let Asked { system, messages, max_chars } = asked?;
            let aside = ask_aside(model.as_ref(), &system, &messages, max_chars).await;
            let aside = aside.map_err(|error| RpcError::internal(error.to_string()))?;
            let reason = match aside.reason {
                StopReason::TokenLimit => "maxTokens",
                StopReason::Refused => return Err(RpcError::internal("the model refused to answer")),
                _ => "endTurn",
            };
            let content = json!({"type": "text", "text": aside.text});
            Ok(json!({"role": "assistant", "content": content, "model": name, "stopReason": reason}))
        })
    }
}

/// What a server asks, as the model is asked it.
#[derive(Debug)]
struct Asked {
    system: String,
    messages: Vec<Message>,
    max_chars: usize,
}

impl Asked {
    fn read(params: &Value) -> Result<Self, RpcError> {
        if params.get("tools").is_some() {
            return Err(RpcError::invalid_params("this client puts no tools of a server before the model"));
        }
        let mut messages = Vec::new();
        for message in params.get("messages").and_then(Value::as_array).into_iter().flatten() {
            let text = text_of(message.get("content").unwrap_or(&Value::Null))?;
            messages.push(match message.get("role").and_then(Value::as_str) {
                Some("user") => Message::User { text },
                Some("assistant") => Message::Assistant(said(text)),
                _ => return Err(RpcError::invalid_params("a message is of the user or the assistant")),
            });
        }
        if messages.is_empty() {
            return Err(RpcError::invalid_params("there are no messages"));
        }
        let tokens = params.get("maxTokens").and_then(Value::as_u64);
        let tokens = tokens.and_then(|tokens| usize::try_from(tokens).ok()).unwrap_or(TOKENS_MAX);
        let system = params.get("systemPrompt").and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(Self { system, messages, max_chars: tokens.min(TOKENS_MAX).saturating_mul(TOKEN_CHARS) })
    }
}

/// Something that the model is to have said; in no provider's own form, since none gave it.
fn said(text: String) -> Assistant {
    Assistant { turn: 0, dialect: Dialect::Scripted, text, blocks: Vec::new(), calls: Vec::new() }
}

/// The text of one block, or of several.
fn text_of(content: &Value) -> Result<String, RpcError> {
    let blocks = match content {
        Value::Array(blocks) => blocks.as_slice(),
        block => std::slice::from_ref(block),
    };
    let texts =
        blocks.iter().map(|block| match (block.get("type").and_then(Value::as_str), block.get("text")) {
            (Some("text"), Some(Value::String(text))) => Ok(text.as_str()),
            _ => Err(RpcError::invalid_params("only text is put to the model")),
        });
    Ok(texts.collect::<Result<Vec<&str>, RpcError>>()?.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_messages_become_a_conversation_of_their_own() {
        let text = |text: &str| json!({"type": "text", "text": text});
        let asked = Asked::read(&json!({
            "systemPrompt": "Be brief.", "maxTokens": 10,
            "messages": [
                {"role": "user", "content": text("a")},
                {"role": "assistant", "content": [text("b"), text("c")]},
            ],
        }));
        let asked = asked.unwrap();
        assert_eq!((asked.system.as_str(), asked.max_chars), ("Be brief.", 40));
        assert_eq!(
            asked.messages,
            [Message::User { text: "a".to_owned() }, Message::Assistant(said("b\nc".to_owned()))]
        );
    }

    #[test]
    fn what_the_model_can_not_be_asked_is_an_error() {
        let image = json!({"type": "image", "data": "", "mimeType": "image/png"});
        for params in [
            json!({"messages": []}),
            json!({"messages": [{"role": "user", "content": image}]}),
            json!({"messages": [{"role": "system", "content": {"type": "text", "text": "x"}}]}),
            json!({"messages": [{"role": "user", "content": {"type": "text", "text": "x"}}], "tools": []}),
        ] {
            assert_eq!(Asked::read(&params).unwrap_err().code, RpcError::INVALID_PARAMS, "{params}");
        }
    }
}
