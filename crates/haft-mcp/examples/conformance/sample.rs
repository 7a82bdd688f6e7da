//! The contents that the suite expects, and how results are written.

use serde_json::{Value, json};

/// One red point.
pub(crate) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC";
/// A thousandth of a second of silence.
pub(crate) const WAV: &str = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==";

/// An item of content.
pub(crate) fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// An item of content.
pub(crate) fn image() -> Value {
    json!({"type": "image", "data": PNG, "mimeType": "image/png"})
}

/// A resource within something else.
pub(crate) fn embedded(uri: &str, kind: &str, text: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}})
}

/// A result of these items.
pub(crate) fn result(items: &[Value]) -> Value {
    json!({"content": items})
}

/// A result that is one text.
pub(crate) fn said(words: &str) -> Value {
    result(&[text(words)])
}
