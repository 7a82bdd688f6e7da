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
    if let Some(Value::Object(values)) = schema.remove("additionalProperties") {
        notes.push(format!("further fields: {}", Value::Object(values)));
    }
    if let Some(patterns) = schema.remove("patternProperties") {
        notes.push(format!("fields by pattern: {patterns}"));
    }
    if schema.get("type").is_some_and(|kind| kind != "object") {
        schema.remove("properties");
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
        if !["properties", "items", "enum"].iter().any(|key| schema.contains_key(*key)) {
            note(&mut schema, &notes);
            return union(schema, branches);
        }
        notes.push(format!("any of: {}", Value::Array(branches)));
    }
    schema.retain(|key, _| GEMINI_KEYWORDS.contains(&key.as_str()));
    note(&mut schema, &notes);
    if !schema.contains_key("type") {
        let kind = [("properties", "object"), ("items", "array")]
            .into_iter()
            .find_map(|(key, kind)| schema.contains_key(key).then_some(kind))
            .unwrap_or("string");
        schema.insert("type".to_owned(), json!(kind));
        if kind != "array" {
            schema.remove("items");
        }
        if kind == "string" && !schema.contains_key("enum") {
            note(&mut schema, &["any value, as JSON".to_owned()]);
        }
    }
    Value::Object(schema)
}

/// A union, beside which Gemini takes nothing: what was said beside it goes to its branches.
fn union(schema: Map<String, Value>, branches: Vec<Value>) -> Value {
    let mut narrowed = Vec::new();
    for mut branch in branches {
        if let (Some(kind), Some(branch)) = (schema.get("type"), branch.as_object_mut()) {
            branch.entry("type").or_insert_with(|| kind.clone());
        }
        match narrow(branch) {
            Value::Object(mut branch) if branch.contains_key("anyOf") => {
                if let Some(Value::Array(inner)) = branch.remove("anyOf") {
                    narrowed.extend(inner);
                }
            }
            branch => narrowed.push(branch),
        }
    }
    if let Some(nullable) = schema.get("nullable") {
        for branch in narrowed.iter_mut().filter_map(Value::as_object_mut) {
            branch.insert("nullable".to_owned(), nullable.clone());
        }
    }
    let said = schema.get("description").and_then(Value::as_str);
    if let (Some(said), Some(first)) = (said, narrowed.first_mut().and_then(Value::as_object_mut)) {
        let text = match first.get("description").and_then(Value::as_str) {
            Some(own) => format!("{said} ({own})"),
            None => said.to_owned(),
        };
        first.insert("description".to_owned(), Value::String(text));
    }
    json!({"anyOf": narrowed})
}

/// What is said in several ways, in one.
fn settle(schema: &mut Map<String, Value>) {
    merge_all(schema);
    if let Some(one) = schema.remove("oneOf") {
        schema.entry("anyOf").or_insert(one);
    }
    if let Some(value) = schema.remove("const") {
        schema.entry("enum").or_insert_with(|| json!([value]));
    }
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

/// `null` among types, branches or values becomes a flag, and the only branch that is left the schema itself.
fn nullable(schema: &mut Map<String, Value>) {
    let mut has_null = false;
    loop {
        settle(schema);
        has_null |= without_null(schema);
        let Some(Value::Array(branches)) = schema.get_mut("anyOf") else { break };
        let [Value::Object(only)] = branches.as_mut_slice() else { break };
        let only = std::mem::take(only);
        schema.remove("anyOf");
        for (key, value) in only {
            schema.entry(key).or_insert(value);
        }
    }
    if schema.get("anyOf").and_then(Value::as_array).is_some_and(Vec::is_empty) {
        schema.remove("anyOf");
    }
    if has_null {
        schema.insert("nullable".to_owned(), json!(true));
    }
}

/// Takes `null` out; whether it was there.
fn without_null(schema: &mut Map<String, Value>) -> bool {
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
    has_null
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
            // What is said of other types says nothing here.
            for kind in several.iter().filter_map(Value::as_str).chain(["number", "array", "object"]) {
                for key in belonging(kind) {
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

/// Gemini lists texts only, and for what is a text only.
fn values(schema: &mut Map<String, Value>, notes: &mut Vec<String>) {
    let Some(Value::Array(values)) = schema.get("enum") else { return };
    let may_be_text = schema.get("type").is_none_or(|kind| kind == "string");
    if values.is_empty() {
        schema.remove("enum");
    } else if may_be_text && values.iter().all(Value::is_string) {
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
    type Is = fn(&Value) -> bool;
    let kinds: [(&str, Is); 5] = [
        ("integer", Value::is_i64),
        ("number", Value::is_number),
        ("boolean", Value::is_boolean),
        ("object", Value::is_object),
        ("array", Value::is_array),
    ];
    kinds.into_iter().find_map(|(kind, is)| values.iter().all(is).then_some(kind))
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
    if schema.get("type").is_some_and(|kind| kind != "array") {
        schema.remove("items");
    } else if schema.contains_key("type") && !["items", "anyOf"].iter().any(|key| schema.contains_key(*key)) {
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
