//! Names of properties that a provider doesn't take are sent under others, and turned back in what comes.

use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Longest name of a property that every provider takes.
const KEY_MAX: usize = 64;
/// What of a long name is kept, so that a number has room behind it.
const KEPT_MAX: usize = KEY_MAX - 4;
/// Keywords whose value has names of properties as its keys.
const BY_NAME: [&str; 4] = ["properties", "dependentRequired", "dependentSchemas", "dependencies"];

/// Properties by the names that they are sent under.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    real: BTreeMap<String, String>,
    /// The schema as it is sent, which says where a name is a property's: elsewhere it may be anybody's.
    schema: Value,
}

impl Keys {
    /// Renames what can't be sent, everywhere in a schema.
    pub(super) fn shorten(schema: &mut Value) -> Self {
        let mut all = BTreeSet::new();
        collect(schema, &mut all);
        let mut keys = Self::default();
        let mut sent = BTreeMap::new();
        let mut numbers = BTreeMap::new();
        for name in all.iter().filter(|name| !is_fine(name)) {
            let base = plain(name);
            let number = numbers.entry(base.clone()).or_insert(1_usize);
            let mut short = numbered(&base, *number);
            while all.contains(&short) || keys.real.contains_key(&short) {
                *number += 1;
                short = numbered(&base, *number);
            }
            keys.real.insert(short.clone(), name.clone());
            sent.insert(name.clone(), short);
        }
        if !keys.is_empty() {
            rename(schema, &sent);
            keys.schema = schema.clone();
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
        if self.is_empty() { input } else { self.raised(input, &[&self.schema]) }
    }

    /// Says which name stands for which.
    pub(super) fn rule(&self) -> String {
        let pairs: Vec<String> =
            self.real.iter().map(|(sent, real)| format!("{sent} for \"{real}\"")).collect();
        format!("Names of fields: {}.", pairs.join(", "))
    }

    /// A value for which these schemas may hold.
    fn raised(&self, value: Value, schemas: &[&Value]) -> Value {
        let mut all = Vec::new();
        for schema in schemas {
            parts(schema, &mut all);
        }
        match value {
            Value::Object(fields) => Value::Object(
                fields
                    .into_iter()
                    .map(|(name, value)| {
                        let value = self.raised(value, &of_field(&all, &name));
                        let is_property = all.iter().any(|schema| property(schema, &name).is_some());
                        let real = self.real.get(&name).filter(|_| is_property).cloned();
                        (real.unwrap_or(name), value)
                    })
                    .collect(),
            ),
            Value::Array(list) => {
                let items = of_items(&all);
                Value::Array(list.into_iter().map(|value| self.raised(value, &items)).collect())
            }
            other => other,
        }
    }
}

/// The name in signs that every provider takes.
fn plain(name: &str) -> String {
    let plain: String =
        name.chars().map(|sign| if is_allowed(sign) { sign } else { '_' }).take(KEPT_MAX).collect();
    if plain.is_empty() { "field".to_owned() } else { plain }
}

/// The first has no number.
fn numbered(base: &str, number: usize) -> String {
    if number == 1 {
        return base.to_owned();
    }
    let end = format!("_{number}");
    format!("{}{end}", base.get(..KEY_MAX - end.len()).unwrap_or(base))
}

fn rename(schema: &mut Value, sent: &BTreeMap<String, String>) {
    match schema {
        Value::Object(object) => {
            for key in BY_NAME {
                if let Some(Value::Object(named)) = object.get_mut(key) {
                    let renamed: Map<String, Value> = std::mem::take(named)
                        .into_iter()
                        .map(|(name, value)| (sent.get(&name).cloned().unwrap_or(name), value))
                        .collect();
                    *named = renamed;
                    // What a property needs besides itself.
                    named.values_mut().for_each(|needed| rename_listed(needed, sent));
                }
            }
            if let Some(required) = object.get_mut("required") {
                rename_listed(required, sent);
            }
            object.values_mut().for_each(|value| rename(value, sent));
        }
        Value::Array(list) => list.iter_mut().for_each(|value| rename(value, sent)),
        _ => {}
    }
}

/// Renames in a list of names; nothing else is one.
fn rename_listed(names: &mut Value, sent: &BTreeMap<String, String>) {
    for name in names.as_array_mut().into_iter().flatten() {
        if let Some(short) = name.as_str().and_then(|name| sent.get(name)) {
            *name = Value::String(short.clone());
        }
    }
}

fn collect(schema: &Value, all: &mut BTreeSet<String>) {
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

/// A schema, and what else in it is about the same value.
fn parts<'s>(schema: &'s Value, all: &mut Vec<&'s Map<String, Value>>) {
    let Some(object) = schema.as_object() else { return };
    all.push(object);
    for key in ["allOf", "anyOf", "oneOf"] {
        object.get(key).and_then(Value::as_array).into_iter().flatten().for_each(|part| parts(part, all));
    }
    for key in ["not", "if", "then", "else"] {
        object.get(key).into_iter().for_each(|part| parts(part, all));
    }
    if let Some(Value::Object(dependent)) = object.get("dependentSchemas") {
        dependent.values().for_each(|part| parts(part, all));
    }
}

fn property<'s>(schema: &'s Map<String, Value>, name: &str) -> Option<&'s Value> {
    schema.get("properties").and_then(Value::as_object)?.get(name)
}

/// What may hold for a field.
fn of_field<'s>(all: &[&'s Map<String, Value>], name: &str) -> Vec<&'s Value> {
    let mut within = Vec::new();
    for schema in all.iter().copied() {
        within.extend(property(schema, name).or_else(|| schema.get("additionalProperties")));
        if let Some(Value::Object(patterns)) = schema.get("patternProperties") {
            within.extend(patterns.values());
        }
    }
    within
}

/// What may hold for an item of a list.
fn of_items<'s>(all: &[&'s Map<String, Value>]) -> Vec<&'s Value> {
    let mut within = Vec::new();
    for schema in all {
        within.extend(["items", "contains"].iter().filter_map(|key| schema.get(*key)));
        if let Some(Value::Array(places)) = schema.get("prefixItems") {
            within.extend(places);
        }
    }
    within
}

fn is_allowed(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-' | '.')
}

fn is_fine(name: &str) -> bool {
    !name.is_empty() && name.len() <= KEY_MAX && name.chars().all(is_allowed)
}
