//! Names of properties that a provider doesn't take are sent under others, and turned back in what comes.

use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Longest name of a property that every provider takes.
const KEY_MAX: usize = 64;

/// Properties by the names that they are sent under.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    real: BTreeMap<String, String>,
}

impl Keys {
    /// Renames what can't be sent, everywhere in a schema.
    pub(super) fn shorten(schema: &mut Value) -> Self {
        let mut all = Vec::new();
        collect(schema, &mut all);
        let mut keys = Self::default();
        for name in all.iter().filter(|name| !is_fine(name)) {
            if keys.real.values().any(|real| real == name) {
                continue;
            }
            let base: String = name
                .chars()
                .map(|sign| if is_allowed(sign) { sign } else { '_' })
                .take(KEY_MAX - 4)
                .collect();
            let base = if base.is_empty() { "field".to_owned() } else { base };
            let mut sent = base.clone();
            let mut number = 2;
            while all.contains(&sent) || keys.real.contains_key(&sent) {
                sent = format!("{base}_{number}");
                number += 1;
            }
            keys.real.insert(sent, name.clone());
        }
        if !keys.is_empty() {
            keys.rename(schema);
        }
        keys
    }

    /// Whether all names are sent as they are.
    pub fn is_empty(&self) -> bool {
        self.real.is_empty()
    }

    /// An input with the properties' own names.
    #[must_use]
    pub fn raise(&self, input: Value) -> Value {
        if self.is_empty() {
            return input;
        }
        match input {
            Value::Object(fields) => Value::Object(
                fields
                    .into_iter()
                    .map(|(name, value)| (self.real.get(&name).cloned().unwrap_or(name), self.raise(value)))
                    .collect(),
            ),
            Value::Array(list) => Value::Array(list.into_iter().map(|value| self.raise(value)).collect()),
            other => other,
        }
    }

    /// Says which name stands for which.
    pub(super) fn rule(&self) -> String {
        let pairs: Vec<String> =
            self.real.iter().map(|(sent, real)| format!("{sent} for \"{real}\"")).collect();
        format!("Names of fields: {}.", pairs.join(", "))
    }

    fn rename(&self, schema: &mut Value) {
        let sent = |name: &str| {
            self.real
                .iter()
                .find(|(_, real)| *real == name)
                .map_or_else(|| name.to_owned(), |(sent, _)| sent.clone())
        };
        match schema {
            Value::Object(object) => {
                if let Some(Value::Object(properties)) = object.get_mut("properties") {
                    let renamed: Map<String, Value> = std::mem::take(properties)
                        .into_iter()
                        .map(|(name, value)| (sent(&name), value))
                        .collect();
                    *properties = renamed;
                }
                if let Some(Value::Array(names)) = object.get_mut("required") {
                    for name in names.iter_mut() {
                        if let Some(text) = name.as_str() {
                            *name = Value::String(sent(text));
                        }
                    }
                }
                object.values_mut().for_each(|value| self.rename(value));
            }
            Value::Array(list) => list.iter_mut().for_each(|value| self.rename(value)),
            _ => {}
        }
    }
}

fn collect(schema: &Value, all: &mut Vec<String>) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::Object(properties)) = object.get("properties") {
                all.extend(properties.keys().cloned());
            }
            object.values().for_each(|value| collect(value, all));
        }
        Value::Array(list) => list.iter().for_each(|value| collect(value, all)),
        _ => {}
    }
}

fn is_allowed(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-' | '.')
}

fn is_fine(name: &str) -> bool {
    !name.is_empty() && name.len() <= KEY_MAX && name.chars().all(is_allowed)
}
