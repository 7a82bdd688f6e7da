//! One object at the root, whatever the tool has there.

use super::LowerError;
use serde_json::{Map, Value, json};

/// Most characters of the names in one rule.
const RULE_MAX_CHARS: usize = 600;

/// The schema with its root as one object, and in words what that leaves out.
pub(super) fn merge(schema: Value) -> Result<(Value, Vec<String>), LowerError> {
    let mut rules = Vec::new();
    let mut merged = object(schema, &mut rules, 0)?;
    merged.insert("type".to_owned(), json!("object"));
    merged.entry("properties").or_insert_with(|| json!({}));
    for key in [
        "not",
        "if",
        "then",
        "else",
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "enum",
        "const",
    ] {
        if let Some(value) = merged.remove(key).filter(|_| !matches!(key, "then" | "else")) {
            rules.push(match key {
                "if" => "Some fields depend on each other; a call that breaks that is told how.".to_owned(),
                key => format!("Also, {key}: {}.", cut(&value.to_string())),
            });
        }
    }
    Ok((Value::Object(merged), rules))
}

/// All parts of a root put into one object.
fn object(schema: Value, rules: &mut Vec<String>, depth: usize) -> Result<Map<String, Value>, LowerError> {
    let mut own = match schema {
        Value::Object(own) => own,
        Value::Bool(true) => Map::new(),
        other => return Err(LowerError::NoObject(cut(&other.to_string()))),
    };
    if !may_be_object(&own) || depth > 8 {
        let kind = own.get("type").map(Value::to_string).unwrap_or_default();
        return Err(LowerError::NoObject(cut(&kind)));
    }
    for part in take(&mut own, "allOf") {
        let part = object(part, rules, depth + 1)?;
        add(&mut own, part, Required::All);
    }
    for key in ["anyOf", "oneOf"] {
        let branches = take(&mut own, key);
        if branches.is_empty() {
            continue;
        }
        let mut objects = Vec::new();
        let mut refused = None;
        for branch in branches {
            match object(branch, rules, depth + 1) {
                Ok(branch) => objects.push(branch),
                Err(error) => refused = Some(error),
            }
        }
        if let (true, Some(error)) = (objects.is_empty(), refused) {
            return Err(error);
        }
        if objects.len() > 1 {
            rules.push(rule(key, &objects));
        }
        unite(&mut own, objects);
    }
    Ok(own)
}

fn may_be_object(schema: &Map<String, Value>) -> bool {
    match schema.get("type") {
        None => true,
        Some(Value::String(kind)) => kind == "object",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(_) => false,
    }
}

fn take(schema: &mut Map<String, Value>, key: &str) -> Vec<Value> {
    match schema.remove(key) {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Required {
    /// What a part requires is required.
    All,
    /// It isn't.
    None,
}

/// Puts a part's keywords into the whole. What only one of several forms says of its fields together doesn't hold for
/// the others.
fn add(whole: &mut Map<String, Value>, part: Map<String, Value>, required: Required) {
    for (key, value) in part {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                let known = whole.entry("properties").or_insert_with(|| json!({}));
                let Some(known) = known.as_object_mut() else { continue };
                for (name, property) in properties {
                    join(known, name, property, required);
                }
            }
            ("required", Value::Array(names)) if required == Required::All => {
                let known = whole.entry("required").or_insert_with(|| json!([]));
                if let Some(known) = known.as_array_mut() {
                    for name in names {
                        if !known.contains(&name) {
                            known.push(name);
                        }
                    }
                }
            }
            ("required" | "type" | "title", _) => {}
            (_, value) if required == Required::All => {
                whole.entry(key).or_insert(value);
            }
            _ => {}
        }
    }
}

/// A property that two parts have: one that both accept, or one that either accepts.
fn join(known: &mut Map<String, Value>, name: String, property: Value, required: Required) {
    match known.get_mut(&name) {
        None => {
            known.insert(name, property);
        }
        Some(other) if *other == property => {}
        Some(other) if required == Required::All => {
            *other = json!({"allOf": [other.take(), property]});
        }
        Some(other) => {
            let mut either = match other.as_object_mut().and_then(|object| object.remove("anyOf")) {
                Some(Value::Array(list)) if other.as_object().is_some_and(Map::is_empty) => list,
                Some(list) => vec![json!({"anyOf": list})],
                None => vec![other.take()],
            };
            if !either.contains(&property) {
                either.push(property);
            }
            *other = either_of(either);
        }
    }
}

/// Either of several values: constants and lists of values become one list.
fn either_of(either: Vec<Value>) -> Value {
    let mut values = Vec::new();
    for one in &either {
        match (one.get("const"), one.get("enum").and_then(Value::as_array)) {
            (Some(value), None) => values.push(value.clone()),
            (None, Some(list)) => values.extend(list.iter().cloned()),
            _ => return json!({"anyOf": either}),
        }
    }
    let kind = either
        .first()
        .and_then(|one| one.get("type"))
        .filter(|kind| either.iter().all(|one| one.get("type") == Some(*kind)));
    match kind {
        Some(kind) => json!({"type": kind, "enum": values}),
        None => json!({"enum": values}),
    }
}

/// One object for all branches: every field of any of them, and required what all require. A field that one branch names
/// is meant by that name in all of them, though a branch that isn't closed would take anything under it.
fn unite(whole: &mut Map<String, Value>, branches: Vec<Map<String, Value>>) {
    let names = |branch: &Map<String, Value>| match branch.get("required") {
        Some(Value::Array(names)) => names.clone(),
        _ => Vec::new(),
    };
    let mut common = branches.first().map(names).unwrap_or_default();
    for branch in &branches {
        let required = names(branch);
        common.retain(|name| required.contains(name));
    }
    for branch in branches {
        add(whole, branch, Required::None);
    }
    if !common.is_empty() {
        add(whole, Map::from_iter([("required".to_owned(), Value::Array(common))]), Required::All);
    }
}

/// Which fields go together, in words.
fn rule(key: &str, branches: &[Map<String, Value>]) -> String {
    let forms: Vec<String> = branches.iter().map(form).collect();
    let which = if key == "oneOf" { "exactly one of these forms" } else { "one of these forms" };
    cut(&format!("The fields must make {which}: {}.", forms.join("; or ")))
}

fn form(branch: &Map<String, Value>) -> String {
    let required: Vec<&str> = branch
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = branch.get("properties").and_then(Value::as_object);
    let all = properties.into_iter().flatten().map(|(name, schema)| {
        let fixed = schema.get("const").map(|value| format!(" = {value}")).unwrap_or_default();
        let optional = if required.contains(&name.as_str()) { "" } else { " (optional)" };
        format!("{name}{fixed}{optional}")
    });
    let mut all: Vec<String> = all.collect();
    let named = |name: &str| properties.is_some_and(|properties| properties.contains_key(name));
    all.extend(required.iter().filter(|name| !named(name)).map(|name| (*name).to_owned()));
    if all.is_empty() { "no fields".to_owned() } else { all.join(", ") }
}

fn cut(text: &str) -> String {
    if text.chars().count() <= RULE_MAX_CHARS {
        return text.to_owned();
    }
    let head: String = text.chars().take(RULE_MAX_CHARS).collect();
    format!("{head}…")
}
