//! How much work it is to check a value against a schema whose references lead in circles.
//!
//! Schemas come from strangers too, and a short one can ask for more steps than a machine makes in a year. The steps
//! are counted before they are made: each pair of a schema's part and a value's part is looked at once here, however
//! often a check would come to it. Counts too much rather than too little: what only may apply is counted as if it
//! did.

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};
use std::collections::HashMap;

/// How many steps one check may take; they are made in a fraction of a second.
pub(super) const STEPS_MAX: u64 = 1_000_000;
/// How deep a check may go, parts of the schema within parts.
const DEPTH_MAX: usize = 400;
/// What a name of a property is checked as.
static NAME: Value = Value::Null;
/// Where the schemas of the drafts themselves are, which every checker has.
const DRAFTS: [&str; 2] = ["http://json-schema.org/", "https://json-schema.org/"];

/// Whether a schema refers to anything, itself included.
pub(super) fn refers(schema: &Value) -> bool {
    match schema {
        Value::Object(keywords) => keywords.iter().any(|(name, keyword)| {
            let is_reference = matches!(name.as_str(), "$ref" | "$dynamicRef" | "$recursiveRef");
            is_reference && keyword.is_string() || refers(keyword)
        }),
        Value::Array(items) => items.iter().any(refers),
        _ => false,
    }
}

/// The references of a schema that lead to nothing in it.
pub(super) fn astray(schema: &Value) -> Option<String> {
    fn look<'s>(at: &'s Value, places: &Places<'s>) -> Option<String> {
        match at {
            Value::Object(keywords) => keywords.iter().find_map(|(name, keyword)| {
                let is_data = matches!(name.as_str(), "const" | "enum" | "default" | "examples");
                match keyword.as_str() {
                    Some(reference) if matches!(name.as_str(), "$ref" | "$dynamicRef") => {
                        let is_known = is_of_drafts(reference) || places.find(reference).is_some();
                        (!is_known).then(|| reference.to_owned())
                    }
                    _ if is_data => None,
                    _ => look(keyword, places),
                }
            }),
            Value::Array(items) => items.iter().find_map(|item| look(item, places)),
            _ => None,
        }
    }
    look(schema, &Places::of(schema))
}

fn is_of_drafts(reference: &str) -> bool {
    DRAFTS.iter().any(|start| reference.starts_with(start))
}

/// Where references lead.
struct Places<'s> {
    root: &'s Value,
    named: HashMap<&'s str, &'s Value>,
}

impl<'s> Places<'s> {
    fn of(root: &'s Value) -> Self {
        let mut places = Self { root, named: HashMap::new() };
        places.name(root);
        places
    }

    fn name(&mut self, at: &'s Value) {
        match at {
            Value::Object(keywords) => {
                for name in ["$anchor", "$dynamicAnchor", "$id", "id"] {
                    if let Some(Value::String(text)) = keywords.get(name) {
                        self.named.entry(text.trim_end_matches('#')).or_insert(at);
                    }
                }
                for keyword in keywords.values() {
                    self.name(keyword);
                }
            }
            Value::Array(items) => {
                for item in items {
                    self.name(item);
                }
            }
            _ => {}
        }
    }

    fn find(&self, reference: &str) -> Option<&'s Value> {
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let base = if base.is_empty() { self.root } else { self.named.get(base).copied()? };
        match fragment {
            "" => Some(base),
            pointer if pointer.starts_with('/') => {
                // Written as part of an address.
                let pointer = percent_decode_str(pointer).decode_utf8_lossy();
                base.pointer(&pointer).or_else(|| self.root.pointer(&pointer))
            }
            anchor => self.named.get(anchor).copied(),
        }
    }
}

/// Counts the steps of one check.
pub(super) struct Cost<'s> {
    places: Places<'s>,
    known: HashMap<(usize, usize), u64>,
}

impl<'s> Cost<'s> {
    pub(super) fn new(schema: &'s Value) -> Self {
        Self { places: Places::of(schema), known: HashMap::new() }
    }

    /// At least as many steps as checking `value` takes; more than [`STEPS_MAX`] means too many.
    pub(super) fn of(&mut self, value: &Value) -> u64 {
        self.steps(self.places.root, value, 0)
    }

    fn steps(&mut self, schema: &'s Value, value: &Value, depth: usize) -> u64 {
        let Value::Object(keywords) = schema else { return 1 };
        if depth >= DEPTH_MAX {
            return u64::MAX;
        }
        let key = (std::ptr::from_ref(schema).addr(), std::ptr::from_ref(value).addr());
        if let Some(known) = self.known.get(&key) {
            return *known;
        }
        // Met again before it is done, it would never be.
        self.known.insert(key, u64::MAX);
        let mut total = 1_u64;
        for (name, keyword) in keywords {
            total = total.saturating_add(self.keyword(name, keyword, value, depth + 1));
            if total > STEPS_MAX {
                break;
            }
        }
        self.known.insert(key, total);
        total
    }

    fn keyword(&mut self, name: &str, keyword: &'s Value, value: &Value, depth: usize) -> u64 {
        match (name, keyword, value) {
            ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference), _) => {
                self.places.find(reference).map_or(1, |target| self.steps(target, value, depth))
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(parts), _) => {
                self.sum(parts.iter().map(|part| (part, value)), depth)
            }
            ("not" | "if" | "then" | "else", part, _) => self.steps(part, value, depth),
            ("dependentSchemas" | "dependencies", Value::Object(parts), _) => {
                self.sum(parts.values().map(|part| (part, value)), depth)
            }
            ("properties", Value::Object(parts), Value::Object(fields)) => {
                self.sum(fields.iter().filter_map(|(name, field)| Some((parts.get(name)?, field))), depth)
            }
            ("patternProperties", Value::Object(parts), Value::Object(fields)) => {
                self.sum(pairs(parts, fields), depth)
            }
            ("additionalProperties" | "unevaluatedProperties", part, Value::Object(fields)) => {
                self.sum(fields.values().map(|field| (part, field)), depth)
            }
            ("propertyNames", part, Value::Object(fields)) => {
                self.sum(fields.values().map(|_| (part, &NAME)), depth)
            }
            ("items" | "prefixItems", Value::Array(parts), Value::Array(items)) => {
                self.sum(parts.iter().zip(items), depth)
            }
            ("items" | "additionalItems" | "unevaluatedItems" | "contains", part, Value::Array(items)) => {
                self.sum(items.iter().map(|item| (part, item)), depth)
            }
            _ => 1,
        }
    }

    fn sum<'v>(&mut self, pairs: impl Iterator<Item = (&'s Value, &'v Value)>, depth: usize) -> u64 {
        let mut total = 0_u64;
        for (part, value) in pairs {
            total = total.saturating_add(self.steps(part, value, depth));
            if total > STEPS_MAX {
                break;
            }
        }
        total
    }
}

/// Each part with each field.
fn pairs<'s, 'v>(
    parts: &'s Map<String, Value>,
    fields: &'v Map<String, Value>,
) -> impl Iterator<Item = (&'s Value, &'v Value)> {
    parts.values().flat_map(move |part| fields.values().map(move |field| (part, field)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn steps(schema: &Value, value: &Value) -> u64 {
        Cost::new(schema).of(value)
    }

    /// `{"c": {"c": … 1}}`.
    fn nested(depth: usize) -> Value {
        (0..depth).fold(json!(1), |inner, _| json!({"c": inner}))
    }

    #[test]
    fn a_tree_costs_as_much_as_it_has_parts() {
        let schema = json!({
            "type": "object",
            "properties": {"c": {"$ref": "#"}, "left": {"$ref": "#/$defs/n"}},
            "$defs": {"n": {"$ref": "#"}},
        });
        let (few, many) = (steps(&schema, &nested(10)), steps(&schema, &nested(50)));
        assert!(few < many && many < 1_000, "{few} {many}");
    }

    #[test]
    fn two_ways_to_each_part_double_with_each_level() {
        let schema = json!({
            "$defs": {"n": {"anyOf": [
                {"properties": {"c": {"$ref": "#/$defs/n"}}},
                {"properties": {"c": {"$ref": "#/$defs/n"}}, "required": ["c"]},
            ]}},
            "$ref": "#/$defs/n",
        });
        assert!(steps(&schema, &nested(4)) < 1_000);
        assert!(steps(&schema, &nested(60)) > STEPS_MAX);
    }

    #[test]
    fn references_that_multiply_are_counted_and_not_followed() {
        let mut defs = Map::new();
        for level in 0..40 {
            let next = json!({"$ref": format!("#/$defs/a{}", level + 1)});
            defs.insert(format!("a{level}"), json!({"allOf": [next, next]}));
        }
        defs.insert("a40".to_owned(), json!({"type": "object"}));
        let schema = json!({"$ref": "#/$defs/a0", "$defs": defs});
        assert!(steps(&schema, &json!({})) > STEPS_MAX);
    }

    #[test]
    fn a_reference_to_itself_never_ends() {
        for schema in [json!({"$ref": "#"}), json!({"allOf": [{"anyOf": [{"$ref": "#"}]}]})] {
            assert_eq!(steps(&schema, &json!({})), u64::MAX, "{schema}");
        }
        let chain: Map<String, Value> = (0..1_000)
            .map(|at| (format!("a{at}"), json!({"$ref": format!("#/$defs/a{}", at + 1)})))
            .collect();
        let schema = json!({"$ref": "#/$defs/a0", "$defs": chain});
        assert!(steps(&schema, &json!({})) > STEPS_MAX);
    }

    #[test]
    fn references_lead_where_the_schema_says() {
        let schema = json!({
            "$id": "https://x.example/s",
            "$defs": {"a b": {"$anchor": "here"}},
            "properties": {
                "p": {"$ref": "#/$defs/a%20b"}, "q": {"$ref": "#here"},
                "r": {"$ref": "https://x.example/s#/$defs/a%20b"}, "s": {"const": {"$ref": "#/no"}},
                "t": {"$ref": "http://json-schema.org/draft-07/schema#"},
            },
        });
        assert_eq!(astray(&schema), None);
        let lost = json!({"properties": {"p": {"$ref": "https://y.example/s"}}});
        assert_eq!(astray(&lost).as_deref(), Some("https://y.example/s"));
        assert!(refers(&lost) && !refers(&json!({"properties": {"$ref": {"type": "string"}}})));
    }
}
