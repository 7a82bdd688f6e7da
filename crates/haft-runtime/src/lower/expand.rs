//! Puts what local references mean in their place.

use super::{COPIED_MAX_MIB, LowerError};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

/// References are followed no deeper than this within one another.
const DEPTH_MAX: usize = 64;

/// The schema without references. One that leads back to itself becomes "anything" at its second turn.
pub(super) fn expand(schema: &Value, budget: &mut usize) -> Result<Value, LowerError> {
    let mut expander = Expander { root: schema, budget, room: COPIED_MAX_MIB << 20, open: Vec::new() };
    expander.schema(schema, 0)
}

struct Expander<'a> {
    root: &'a Value,
    budget: &'a mut usize,
    /// How much may still be copied to where references are.
    room: usize,
    /// The references that are being put in place.
    open: Vec<String>,
}

/// Keywords that say something only together with one another.
const JOINT: [&str; 6] = ["if", "then", "else", "contains", "minContains", "maxContains"];
/// Keywords whose value is one schema.
const ONE: [&str; 10] = [
    "items",
    "additionalProperties",
    "contains",
    "propertyNames",
    "not",
    "if",
    "then",
    "else",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords whose value is a list of schemas.
const LIST: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];
/// Keywords whose value is schemas by name.
const NAMED: [&str; 3] = ["properties", "patternProperties", "dependentSchemas"];
/// What only references and readers of the file need.
const DROPPED: [&str; 9] = [
    "$defs",
    "definitions",
    "$ref",
    "$dynamicRef",
    "$id",
    "$schema",
    "$anchor",
    "$dynamicAnchor",
    "$comment",
];

impl Expander<'_> {
    fn schema(&mut self, schema: &Value, depth: usize) -> Result<Value, LowerError> {
        *self.budget = self.budget.checked_sub(1).ok_or(LowerError::TooLarge)?;
        if depth > DEPTH_MAX {
            return Ok(json!({}));
        }
        let Some(object) = schema.as_object() else { return Ok(schema.clone()) };
        let mut expanded = Map::new();
        if let Some(reference) =
            object.get("$ref").or_else(|| object.get("$dynamicRef")).and_then(Value::as_str)
        {
            match self.referred(reference, depth)? {
                Value::Object(meant) => expanded = meant,
                // True allows everything, so that only what stands beside it counts.
                Value::Bool(true) => {}
                other => return Ok(other),
            }
        }
        let is_joint = |schema: &Map<String, Value>| JOINT.iter().any(|key| schema.contains_key(*key));
        // Put side by side they would say what neither does.
        let apart = (is_joint(&expanded) && is_joint(object)).then(|| std::mem::take(&mut expanded));
        for (key, value) in object {
            if DROPPED.contains(&key.as_str()) {
                continue;
            }
            let key = &current(object, key);
            let value = self.keyword(key, value, depth)?;
            match (expanded.get_mut(key), value) {
                // Both hold.
                (Some(Value::Object(meant)), Value::Object(own)) if NAMED.contains(&key.as_str()) => {
                    meant.extend(own);
                }
                (Some(Value::Array(meant)), Value::Array(own)) if key == "required" => {
                    meant.extend(own);
                    let mut seen = Vec::new();
                    meant.retain(|name| {
                        !seen.contains(name) && {
                            seen.push(name.clone());
                            true
                        }
                    });
                }
                (_, value) => {
                    expanded.insert(key.clone(), value);
                }
            }
        }
        Ok(match apart {
            Some(meant) => json!({"allOf": [meant, expanded]}),
            None => Value::Object(expanded),
        })
    }

    fn keyword(&mut self, key: &str, value: &Value, depth: usize) -> Result<Value, LowerError> {
        Ok(match value {
            Value::Array(list) if LIST.contains(&key) => {
                Value::Array(list.iter().map(|one| self.schema(one, depth + 1)).collect::<Result<_, _>>()?)
            }
            Value::Object(named) if NAMED.contains(&key) => {
                let all = named.iter().map(|(name, one)| Ok((name.clone(), self.schema(one, depth + 1)?)));
                Value::Object(all.collect::<Result<_, _>>()?)
            }
            value if ONE.contains(&key) => self.schema(value, depth + 1)?,
            value => self.copy(value)?,
        })
    }

    /// A value as it is. What stands there once is as large as the schema; what is referred to may come often.
    fn copy(&mut self, value: &Value) -> Result<Value, LowerError> {
        if !self.open.is_empty() {
            self.room = self.room.checked_sub(size(value)).ok_or(LowerError::TooLarge)?;
        }
        Ok(value.clone())
    }

    fn referred(&mut self, reference: &str, depth: usize) -> Result<Value, LowerError> {
        if self.open.iter().any(|open| open == reference) {
            return Ok(json!({}));
        }
        let root = self.root;
        let meant = if let Some(pointer) = reference.strip_prefix('#') {
            // Written as part of an address: `%25` is a percent sign.
            let pointer = percent_decode_str(pointer).decode_utf8_lossy();
            match pointer.strip_prefix('/') {
                None if pointer.is_empty() => Some(root),
                None => anchored(root, &pointer, DEPTH_MAX),
                Some(_) => root.pointer(&pointer),
            }
        } else if root.get("$id").and_then(Value::as_str) == Some(reference) {
            Some(root)
        } else {
            return Err(LowerError::Foreign(reference.to_owned()));
        };
        let meant = meant.ok_or_else(|| LowerError::Dangling(reference.to_owned()))?;
        self.open.push(reference.to_owned());
        let expanded = self.schema(meant, depth + 1);
        self.open.pop();
        expanded
    }
}

/// About how many bytes a value takes.
fn size(value: &Value) -> usize {
    let within = match value {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(size).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + size(value)).sum(),
        _ => 0,
    };
    within + size_of::<Value>()
}

/// The present name of a keyword: a list of items by place was once called `items`, and the rest `additionalItems`.
fn current(schema: &Map<String, Value>, key: &str) -> String {
    let is_by_place = schema.get("items").is_some_and(Value::is_array);
    match key {
        "items" if is_by_place => "prefixItems".to_owned(),
        "additionalItems" if is_by_place => "items".to_owned(),
        key => key.to_owned(),
    }
}

/// The schema with that anchor.
fn anchored<'a>(schema: &'a Value, anchor: &str, depth: usize) -> Option<&'a Value> {
    let depth = depth.checked_sub(1)?;
    let is_it = |key: &str| schema.get(key).and_then(Value::as_str) == Some(anchor);
    if is_it("$anchor") || is_it("$dynamicAnchor") {
        return Some(schema);
    }
    match schema {
        Value::Object(object) => object.values().find_map(|value| anchored(value, anchor, depth)),
        Value::Array(list) => list.iter().find_map(|value| anchored(value, anchor, depth)),
        _ => None,
    }
}
