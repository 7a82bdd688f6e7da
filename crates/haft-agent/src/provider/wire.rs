//! What the providers' wire forms have in common.

use haft_core::Block;
use serde_json::{Map, Value};

/// The key under which a provider that takes only objects gets malformed arguments back.
const MALFORMED_KEY: &str = "INVALID_JSON";

/// The text at a key, empty where there is none.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The number at a key.
pub(super) fn number(value: &Value, key: &str) -> Option<u64> {
    value.get(key).and_then(Value::as_u64)
}

/// The object that an argument text is, if it is whole.
pub(super) fn object(arguments: &str) -> Option<Map<String, Value>> {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    }
}

/// An object for the history whatever the argument text is: providers refuse anything else.
pub(super) fn object_anyway(arguments: &str) -> Map<String, Value> {
    if arguments.trim().is_empty() {
        return Map::new();
    }
    object(arguments).unwrap_or_else(|| Map::from_iter([(MALFORMED_KEY.to_owned(), arguments.into())]))
}

/// A block in words, for a provider that can't be shown its kind.
pub(super) fn in_words(block: &Block) -> String {
    match block {
        Block::Text { text } => text.clone(),
        Block::ResourceLink { uri, name } => format!("[{name}]({uri})"),
        Block::Image { media_type, .. } => format!("[picture, {media_type}]"),
        Block::Audio { media_type, .. } => format!("[sound, {media_type}: this model can't be given it]"),
        _ => "[content of a kind that this model can't be given]".to_owned(),
    }
}
