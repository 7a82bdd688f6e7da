//! Short TypeScript declarations of tools, as a script calls them.

use haft_core::Spec;
use serde_json::Value;
use std::{fmt::Write as _, sync::Arc};

/// Below so many levels an object is just an object.
const DEPTH_MAX: usize = 3;
/// So many values of an enumeration are written out.
const VALUES_MAX: usize = 8;

/// The declarations of the tools that scripts can call, as far as the room goes; the rest by name, then counted. None
/// where there is no such tool.
pub(super) fn declarations(tools: &[(Arc<str>, Arc<Spec>)], max_chars: usize) -> Option<String> {
    let callable: Vec<_> = tools.iter().filter(|(_, spec)| spec.code_mode).collect();
    if callable.is_empty() {
        return None;
    }
    let mut text = "declare const tools: {\n".to_owned();
    let mut rest = Vec::new();
    for (name, spec) in callable {
        let line = format!("  {};\n", declaration(name, spec));
        if text.len() + line.len() > max_chars { rest.push(name.as_ref()) } else { text.push_str(&line) }
    }
    text.push('}');
    if !rest.is_empty() {
        let room = max_chars.saturating_sub(text.len());
        let mut named = String::new();
        let mut count = 0_usize;
        for name in &rest {
            if named.len() + name.len() + 2 > room {
                break;
            }
            named.push_str(if named.is_empty() { "" } else { ", " });
            named.push_str(name);
            count += 1;
        }
        let more = rest.len().saturating_sub(count);
        let _ = write!(text, "\nalso: {named}");
        if more > 0 {
            let _ = write!(text, " and {more} more (tools.$search)");
        }
    }
    Some(text)
}

fn declaration(name: &str, spec: &Spec) -> String {
    let name = if is_identifier(name) { name.to_owned() } else { Value::from(name).to_string() };
    let schema = &spec.input_schema;
    let needs = schema.get("required").and_then(Value::as_array).is_some_and(|list| !list.is_empty());
    let mark = if needs { "" } else { "?" };
    let result = spec.output_schema.as_ref().map_or_else(|| "string".to_owned(), |schema| type_of(schema, 0));
    format!("{name}(input{mark}: {}): Promise<{result}>", type_of(schema, 0))
}

/// A schema as a type; what can't be said is `unknown`.
fn type_of(schema: &Value, depth: usize) -> String {
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    if let Some(values) =
        schema.get("enum").and_then(Value::as_array).filter(|values| values.len() <= VALUES_MAX)
    {
        return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(ways) = schema.get(key).and_then(Value::as_array) {
            return union(ways.iter().map(|way| type_of(way, depth)).collect());
        }
    }
    match schema.get("type") {
        Some(Value::String(kind)) => of_kind(kind, schema, depth),
        Some(Value::Array(kinds)) => {
            union(kinds.iter().filter_map(Value::as_str).map(|kind| of_kind(kind, schema, depth)).collect())
        }
        _ if schema.get("properties").is_some() => object(schema, depth),
        _ => "unknown".to_owned(),
    }
}

fn of_kind(kind: &str, schema: &Value, depth: usize) -> String {
    match kind {
        "string" | "boolean" | "null" => kind.to_owned(),
        "integer" | "number" => "number".to_owned(),
        "array" => {
            let item =
                schema.get("items").map_or_else(|| "unknown".to_owned(), |items| type_of(items, depth));
            if item.contains(" | ") { format!("({item})[]") } else { format!("{item}[]") }
        }
        "object" => object(schema, depth),
        _ => "unknown".to_owned(),
    }
}

fn object(schema: &Value, depth: usize) -> String {
    let properties = schema.get("properties").and_then(Value::as_object).filter(|all| !all.is_empty());
    let Some(properties) = properties.filter(|_| depth < DEPTH_MAX) else {
        let others = schema.get("additionalProperties").filter(|others| others.is_object());
        return match others {
            Some(others) if depth < DEPTH_MAX => format!("Record<string, {}>", type_of(others, depth + 1)),
            _ if depth == 0 => "{}".to_owned(),
            _ => "object".to_owned(),
        };
    };
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|list| list.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let fields = properties.iter().map(|(name, schema)| {
        let mark = if required.contains(&name.as_str()) { "" } else { "?" };
        let name = if is_identifier(name) { name.clone() } else { Value::from(name.as_str()).to_string() };
        format!("{name}{mark}: {}", type_of(schema, depth + 1))
    });
    format!("{{ {} }}", fields.collect::<Vec<_>>().join("; "))
}

fn union(mut ways: Vec<String>) -> String {
    ways.dedup();
    if ways.is_empty() { "unknown".to_owned() } else { ways.join(" | ") }
}

fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || c == '$')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(name: &str, schema: Value) -> (Arc<str>, Arc<Spec>) {
        (name.into(), Arc::new(Spec::new(name, "d").with_input_schema(schema)))
    }

    #[test]
    fn schemas_become_types() {
        for (schema, expected) in [
            (json!({"type": "object"}), "{}"),
            (
                json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "b-c": {"type": "integer"}}}),
                "{ a: string; \"b-c\"?: number }",
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "array", "items": {"enum": ["x", "y"]}}}}),
                "{ a?: (\"x\" | \"y\")[] }",
            ),
            (
                json!({"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}),
                "{ a?: string | null }",
            ),
            (
                json!({"type": "object", "additionalProperties": {"type": ["string", "boolean"]}}),
                "Record<string, string | boolean>",
            ),
        ] {
            assert_eq!(type_of(&schema, 0), expected);
        }
    }

    #[test]
    fn what_has_no_room_is_named_and_then_counted() {
        let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
        let tools: Vec<_> = ["aa", "b-b", "cc", "dd"].map(|name| tool(name, schema.clone())).into();
        let all = declarations(&tools, 1_000).unwrap();
        assert!(all.contains("  aa(input?: { path?: string }): Promise<string>;\n  \"b-b\"(input?"), "{all}");
        let few = declarations(&tools, 80).unwrap();
        assert!(few.contains("aa(") && !few.contains("cc(") && few.contains("\nalso: b-b"), "{few}");
        let mut hidden = tool("code", json!({"type": "object"}));
        Arc::get_mut(&mut hidden.1).unwrap().code_mode = false;
        assert_eq!(declarations(&[hidden], 1_000), None);
    }
}
