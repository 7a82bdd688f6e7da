//! Leaves out what a provider doesn't know, and says it in words where that helps.

use super::{
    Dialect,
    dialect::{GEMINI_FORMATS, GEMINI_KEYWORDS},
};
use serde_json::{Map, Value, json};

/// The schema with only what the dialect knows.
pub(super) fn trim(schema: Value, dialect: Dialect) -> Value {
    if dialect.is_narrow() { narrow(schema) } else { schema }
}

/// A schema, anything within it, in the fields of Gemini's `Schema`.
fn narrow(schema: Value) -> Value {
    let Value::Object(mut schema) = schema else {
        // True is anything; false never holds, which can't be said.
        return json!({"type": "string", "description": "any value, as JSON"});
    };
    let mut notes = Vec::new();
    merge_all(&mut schema);
    if let Some(one) = schema.remove("oneOf") {
        schema.entry("anyOf").or_insert(one);
    }
    if let Some(value) = schema.remove("const") {
        schema.entry("enum").or_insert_with(|| json!([value]));
    }
    nullable(&mut schema);
    kinds(&mut schema);
    values(&mut schema, &mut notes);
    items(&mut schema, &mut notes);
    for key in ["exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems", "contains", "not"] {
        if let Some(value) = schema.remove(key) {
            notes.push(format!("{key}: {value}"));
        }
    }
    format(&mut schema, &mut notes);
    match schema.remove("additionalProperties") {
        Some(Value::Object(values)) => notes.push(format!("further fields: {}", Value::Object(values))),
        Some(_) | None => {}
    }
    if let Some(patterns) = schema.remove("patternProperties") {
        notes.push(format!("fields by pattern: {patterns}"));
    }
    if let Some(Value::Object(properties)) = schema.remove("properties") {
        let narrowed: Map<String, Value> =
            properties.into_iter().map(|(name, property)| (name, narrow(property))).collect();
        required(&mut schema, &narrowed);
        schema.insert("properties".to_owned(), Value::Object(narrowed));
    } else {
        schema.remove("required");
    }
    if let Some(Value::Array(branches)) = schema.remove("anyOf") {
        let branches: Vec<Value> = branches.into_iter().map(narrow).collect();
        schema.insert("anyOf".to_owned(), Value::Array(branches));
    }
    schema.retain(|key, _| GEMINI_KEYWORDS.contains(&key.as_str()));
    note(&mut schema, &notes);
    if !schema.contains_key("type") && !schema.contains_key("anyOf") {
        let kind = if schema.contains_key("properties") { "object" } else { "string" };
        schema.insert("type".to_owned(), json!(kind));
        if kind == "string" && !schema.contains_key("enum") {
            note(&mut schema, &["any value, as JSON".to_owned()]);
        }
    }
    Value::Object(schema)
}

/// Parts that must all hold, put into one where they don't contradict each other.
fn merge_all(schema: &mut Map<String, Value>) {
    let Some(Value::Array(parts)) = schema.remove("allOf") else { return };
    for part in parts {
        let Value::Object(mut part) = part else { continue };
        merge_all(&mut part);
        for (key, value) in part {
            match (schema.get_mut(&key), value) {
                (Some(Value::Object(known)), Value::Object(own)) if key == "properties" => known.extend(own),
                (Some(Value::Array(known)), Value::Array(own)) if key == "required" => known.extend(own),
                (Some(_), _) => {}
                (None, value) => {
                    schema.insert(key, value);
                }
            }
        }
    }
}

/// `null` among types, branches or values becomes a flag.
fn nullable(schema: &mut Map<String, Value>) {
    let mut has_null = false;
    if let Some(Value::Array(kinds)) = schema.get_mut("type") {
        let before = kinds.len();
        kinds.retain(|kind| kind != "null");
        has_null |= kinds.len() < before;
    }
    if let Some(Value::Array(branches)) = schema.get_mut("anyOf") {
        let before = branches.len();
        branches.retain(|branch| branch.get("type").is_none_or(|kind| kind != "null"));
        has_null |= branches.len() < before;
        if let [Value::Object(only)] = branches.as_mut_slice() {
            let only = std::mem::take(only);
            schema.remove("anyOf");
            for (key, value) in only {
                schema.entry(key).or_insert(value);
            }
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        let before = values.len();
        values.retain(|value| !value.is_null());
        has_null |= values.len() < before;
    }
    if schema.get("type").is_some_and(|kind| kind == "null") {
        schema.insert("type".to_owned(), json!("string"));
        has_null = true;
    }
    if has_null {
        schema.insert("nullable".to_owned(), json!(true));
    }
}

/// Several types become several branches.
fn kinds(schema: &mut Map<String, Value>) {
    let Some(Value::Array(kinds)) = schema.get("type").cloned() else { return };
    schema.remove("type");
    match kinds.as_slice() {
        [] => {}
        [one] => {
            schema.insert("type".to_owned(), one.clone());
        }
        several if !schema.contains_key("anyOf") => {
            let branches: Vec<Value> = several
                .iter()
                .map(|kind| {
                    let mut branch = Map::from_iter([("type".to_owned(), kind.clone())]);
                    for key in belonging(kind.as_str().unwrap_or_default()) {
                        if let Some(value) = schema.get(*key) {
                            branch.insert((*key).to_owned(), value.clone());
                        }
                    }
                    Value::Object(branch)
                })
                .collect();
            for kind in several {
                for key in belonging(kind.as_str().unwrap_or_default()) {
                    schema.remove(*key);
                }
            }
            schema.insert("anyOf".to_owned(), Value::Array(branches));
        }
        _ => {}
    }
}

/// The keywords that say something about values of one type.
fn belonging(kind: &str) -> &'static [&'static str] {
    match kind {
        "string" => &["minLength", "maxLength", "pattern", "format", "enum"],
        "number" | "integer" => &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"],
        "array" => &["items", "minItems", "maxItems", "uniqueItems", "prefixItems", "contains"],
        "object" => &["properties", "required", "minProperties", "maxProperties", "additionalProperties"],
        _ => &[],
    }
}

/// Gemini lists texts only.
fn values(schema: &mut Map<String, Value>, notes: &mut Vec<String>) {
    let Some(Value::Array(values)) = schema.get("enum") else { return };
    if values.is_empty() {
        schema.remove("enum");
    } else if values.iter().all(Value::is_string) {
        schema.entry("type").or_insert_with(|| json!("string"));
    } else {
        let listed: Vec<String> = values.iter().map(Value::to_string).collect();
        notes.push(format!("one of: {}", listed.join(", ")));
        let kind = kind_of(values);
        schema.remove("enum");
        if let Some(kind) = kind {
            schema.entry("type").or_insert_with(|| json!(kind));
        }
    }
}

fn kind_of(values: &[Value]) -> Option<&'static str> {
    let all = |is: fn(&Value) -> bool| values.iter().all(is);
    [
        ("integer", Value::is_i64 as fn(&Value) -> bool),
        ("number", Value::is_number),
        ("boolean", Value::is_boolean),
        ("object", Value::is_object),
        ("array", Value::is_array),
    ]
    .into_iter()
    .find_map(|(kind, is)| all(is).then_some(kind))
}

/// An array's items are one schema.
fn items(schema: &mut Map<String, Value>, notes: &mut Vec<String>) {
    let places = match (schema.remove("prefixItems"), schema.remove("items")) {
        (Some(Value::Array(places)), rest) => {
            notes.push(format!("items by place: {}", Value::Array(places.clone())));
            let mut places = places;
            places.extend(rest.filter(Value::is_object));
            Some(places)
        }
        (_, Some(Value::Array(places))) => {
            notes.push(format!("items by place: {}", Value::Array(places.clone())));
            Some(places)
        }
        (_, Some(items)) => {
            schema.insert("items".to_owned(), narrow(items));
            None
        }
        (_, None) => None,
    };
    if let Some(places) = places {
        let mut either: Vec<Value> = Vec::new();
        for place in places.into_iter().map(narrow) {
            if !either.contains(&place) {
                either.push(place);
            }
        }
        let items = match either.as_slice() {
            [] => json!({"type": "string"}),
            [one] => one.clone(),
            _ => json!({"anyOf": either}),
        };
        schema.insert("items".to_owned(), items);
    }
    if schema.get("type").is_some_and(|kind| kind == "array") && !schema.contains_key("items") {
        schema.insert("items".to_owned(), json!({"type": "string", "description": "any value, as JSON"}));
    }
}

fn format(schema: &mut Map<String, Value>, notes: &mut Vec<String>) {
    let Some(format) = schema.get("format").and_then(Value::as_str) else {
        schema.remove("format");
        return;
    };
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    let is_known = GEMINI_FORMATS.iter().any(|(of, formats)| *of == kind && formats.contains(&format));
    if !is_known {
        notes.push(format!("format: {format}"));
        schema.remove("format");
    }
}

/// Only fields that are there can be required.
fn required(schema: &mut Map<String, Value>, properties: &Map<String, Value>) {
    let Some(Value::Array(names)) = schema.remove("required") else { return };
    let mut kept: Vec<Value> = Vec::new();
    for name in names {
        if name.as_str().is_some_and(|name| properties.contains_key(name)) && !kept.contains(&name) {
            kept.push(name);
        }
    }
    if !kept.is_empty() {
        schema.insert("required".to_owned(), Value::Array(kept));
    }
}

fn note(schema: &mut Map<String, Value>, notes: &[String]) {
    if notes.is_empty() {
        return;
    }
    let said = notes.join("; ");
    let text = match schema.get("description").and_then(Value::as_str) {
        Some(text) if !text.is_empty() => format!("{text} ({said})"),
        _ => said,
    };
    schema.insert("description".to_owned(), Value::String(text));
}
