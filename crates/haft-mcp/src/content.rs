//! Content of results as the protocol writes it.

use haft_core::Block;
use serde_json::{Value, json};

/// A block as an item of `content`.
pub(crate) fn item_of(block: &Block) -> Value {
    match block {
        Block::Text { text } => text_item(text),
        Block::Image { data, media_type, .. } => {
            json!({"type": "image", "data": data, "mimeType": media_type})
        }
        Block::Audio { data, media_type } => json!({"type": "audio", "data": data, "mimeType": media_type}),
        Block::ResourceLink { uri, name } => json!({"type": "resource_link", "uri": uri, "name": name}),
        // A kind that this table doesn't know yet still reaches the model.
        other => text_item(&json!(other).to_string()),
    }
}

/// A text as such an item.
pub(crate) fn text_item(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// Whether one of these items is a text that says just this value.
pub(crate) fn carries(items: &[Value], value: &Value) -> bool {
    let texts = items.iter().filter(|item| item.get("type").is_some_and(|kind| kind == "text"));
    texts.filter_map(|item| item.get("text")?.as_str()).any(|text| says(text, value))
}

/// Whether a text says just this value, in whatever spelling.
pub(crate) fn says(text: &str, value: &Value) -> bool {
    value.as_str() == Some(text)
        || serde_json::to_string(value).is_ok_and(|written| written == text)
        || serde_json::from_str::<Value>(text).is_ok_and(|read| read == *value)
}
