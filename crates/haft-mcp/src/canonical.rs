//! JSON in one form, whatever the order of its keys: what hashes are taken of.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{fmt::Write, sync::Arc};

/// The text of a value with all keys in order.
pub(crate) fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

/// SHA-256 over the canonical text of a value, in hex.
pub(crate) fn digest(value: &Value) -> Arc<str> {
    format!("{:x}", Sha256::digest(canonical(value))).into()
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                write(item, text);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort();
            text.push('{');
            for (at, name) in names.into_iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                quote(name, text);
                text.push(':');
                write(fields.get(name).unwrap_or(&Value::Null), text);
            }
            text.push('}');
        }
        Value::String(string) => quote(string, text),
        other => {
            // Writing to a string can't fail.
            let _ = write!(text, "{other}");
        }
    }
}

fn quote(string: &str, text: &mut String) {
    text.push_str(&Value::String(string.to_owned()).to_string());
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_order_of_keys_makes_no_difference_and_everything_else_does() {
        let one: Value = serde_json::from_str(r#"{"b":[1,{"y":"\u00e9","x":null}],"a":1.50}"#).unwrap();
        let two: Value = serde_json::from_str(r#"{"a":1.5,"b":[1,{"x":null,"y":"é"}]}"#).unwrap();
        assert_eq!(canonical(&one), r#"{"a":1.5,"b":[1,{"x":null,"y":"é"}]}"#);
        assert_eq!(digest(&one), digest(&two));
        for other in
            [json!({"a": 1.5}), json!({"a": 1.5, "b": [{"x": null, "y": "é"}, 1]}), json!({"a": "1.5"})]
        {
            assert_ne!(digest(&one), digest(&other), "{other}");
        }
    }
}
