//! Lossless mending of what models commonly get wrong, only where the schema rules out what was sent.

use haft_core::Spec;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

/// How deep a value is followed; deeper levels are left as they came.
const DEPTH_MAX: usize = 64;

/// Gives properties their proper names and values the types that the schema asks for.
///
/// A string becomes the JSON value it spells where the schema allows that value and no string; null in an
/// optional property that can't be null goes; everything else stays as it came.
pub(crate) fn coerce(spec: &Spec, mut input: Value) -> Value {
    if let Value::Object(object) = &mut input {
        rename(spec, object);
    }
    mend(&mut input, &spec.input_schema, &spec.input_schema, 0);
    input
}

fn rename(spec: &Spec, object: &mut Map<String, Value>) {
    let known = spec.input_schema.get("properties").and_then(Value::as_object);
    for (property, names) in &spec.input_aliases {
        if object.contains_key(property) {
            continue;
        }
        let foreign = |name: &&String| known.is_none_or(|known| !known.contains_key(*name));
        if let Some(name) = names.iter().filter(foreign).find(|name| object.contains_key(*name))
            && let Some(value) = object.shift_remove(name)
        {
            object.insert(property.clone(), value);
        }
    }
}

fn mend(value: &mut Value, schema: &Value, root: &Value, depth: usize) {
    if depth > DEPTH_MAX {
        return;
    }
    if let Value::String(text) = value
        && !allows(schema, root, "string", 0)
        && let Ok(spelled) = serde_json::from_str::<Value>(text)
        && is_lossless(text, &spelled)
        && allows_value(schema, root, &spelled)
    {
        *value = spelled;
    }
    match value {
        Value::Object(object) => mend_object(object, schema, root, depth),
        Value::Array(items) => {
            if let Some(item_schema) = keyword(schema, root, "items", 0) {
                for item in items {
                    mend(item, item_schema, root, depth + 1);
                }
            }
        }
        _ => {}
    }
}

/// A whole number that doesn't fit would come out as another one.
fn is_lossless(text: &str, spelled: &Value) -> bool {
    let whole = text.trim().chars().all(|c| c.is_ascii_digit() || c == '-');
    !whole || spelled.is_i64() || spelled.is_u64()
}

fn mend_object(object: &mut Map<String, Value>, schema: &Value, root: &Value, depth: usize) {
    let Some(properties) = keyword(schema, root, "properties", 0).and_then(Value::as_object) else { return };
    let required = keyword(schema, root, "required", 0).and_then(Value::as_array);
    object.retain(|name, value| {
        let Some(schema) = properties.get(name) else { return true };
        let needed = required.is_some_and(|names| names.iter().any(|needed| needed == name));
        !value.is_null() || needed || allows(schema, root, "null", 0)
    });
    for (name, value) in object {
        if let Some(schema) = properties.get(name) {
            mend(value, schema, root, depth + 1);
        }
    }
}

/// A keyword of the schema, or of the only branch of its unions that has it.
fn keyword<'a>(schema: &'a Value, root: &'a Value, name: &str, depth: usize) -> Option<&'a Value> {
    if depth > DEPTH_MAX {
        return None;
    }
    let schema = follow(schema, root)?;
    if let Some(found) = schema.get(name) {
        return Some(found);
    }
    let branches =
        ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|union| schema.get(union)?.as_array()).flatten();
    let mut found = branches.filter_map(|branch| keyword(branch, root, name, depth + 1));
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// Follows a local reference.
fn follow<'a>(schema: &'a Value, root: &'a Value) -> Option<&'a Value> {
    let mut schema = schema;
    for _ in 0..DEPTH_MAX {
        match schema.get("$ref").and_then(Value::as_str) {
            Some(reference) => {
                let pointer = percent_decode_str(reference.strip_prefix('#')?).decode_utf8_lossy();
                schema = root.pointer(&pointer)?;
            }
            None => return Some(schema),
        }
    }
    None
}

fn allows_value(schema: &Value, root: &Value, value: &Value) -> bool {
    match value {
        Value::Null => allows(schema, root, "null", 0),
        Value::Bool(_) => allows(schema, root, "boolean", 0),
        Value::Number(number) => {
            let whole =
                number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|f| f.fract() == 0.0);
            allows(schema, root, "number", 0) || whole && allows(schema, root, "integer", 0)
        }
        Value::String(_) => false,
        Value::Array(_) => allows(schema, root, "array", 0),
        Value::Object(_) => allows(schema, root, "object", 0),
    }
}

/// Whether the schema may accept a value of that type; what can't be told counts as accepted.
fn allows(schema: &Value, root: &Value, kind: &str, depth: usize) -> bool {
    if depth > DEPTH_MAX {
        return true;
    }
    let Some(schema) = follow(schema, root).and_then(Value::as_object) else {
        return schema != &Value::Bool(false);
    };
    let by_type = match schema.get("type") {
        Some(Value::String(only)) => only == kind,
        Some(Value::Array(kinds)) => kinds.iter().any(|one| one == kind),
        _ => true,
    };
    let of_kind = |value: &Value| match value {
        Value::Null => kind == "null",
        Value::Bool(_) => kind == "boolean",
        Value::Number(_) => kind == "number" || kind == "integer",
        Value::String(_) => kind == "string",
        Value::Array(_) => kind == "array",
        Value::Object(_) => kind == "object",
    };
    let by_values =
        schema.get("enum").and_then(Value::as_array).is_none_or(|values| values.iter().any(of_kind))
            && schema.get("const").is_none_or(of_kind);
    let any = |name: &str| {
        let branches = schema.get(name).and_then(Value::as_array);
        branches.is_none_or(|branches| branches.iter().any(|branch| allows(branch, root, kind, depth + 1)))
    };
    let all = schema.get("allOf").and_then(Value::as_array);
    by_type
        && by_values
        && any("anyOf")
        && any("oneOf")
        && all.is_none_or(|parts| parts.iter().all(|part| allows(part, root, kind, depth + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn coerced(schema: Value, input: Value) -> Value {
        coerce(&Spec::new("x", "d").with_input_schema(schema), input)
    }

    #[test]
    fn case_f37_json_text_becomes_what_the_schema_asks_for() {
        let schema = json!({"type": "object", "properties": {
            "ids": {"type": "array", "items": {"type": "integer"}},
            "opt": {"anyOf": [{"type": "object"}, {"type": "null"}]},
            "body": {"type": "string"},
        }});
        assert_eq!(
            coerced(schema, json!({"ids": "[1,2]", "opt": "{\"a\":1}", "body": "[1,2]"})),
            json!({"ids": [1, 2], "opt": {"a": 1}, "body": "[1,2]"})
        );
    }

    #[test]
    fn only_where_the_schema_rules_the_string_out() {
        let of = |schema: Value, value: Value| {
            coerced(json!({"type": "object", "properties": {"v": schema}}), json!({"v": value}))["v"].clone()
        };
        assert_eq!(of(json!({"type": "integer"}), json!("3")), json!(3));
        assert_eq!(of(json!({"type": "number"}), json!("1.5")), json!(1.5));
        assert_eq!(of(json!({"type": "integer"}), json!("1.5")), json!("1.5"));
        assert_eq!(
            of(json!({"type": "number"}), json!("123456789012345678901")),
            json!("123456789012345678901")
        );
        assert_eq!(of(json!({"type": "boolean"}), json!("true")), json!(true));
        assert_eq!(of(json!({"type": "boolean"}), json!("yes")), json!("yes"));
        assert_eq!(of(json!({"type": ["string", "integer"]}), json!("3")), json!("3"));
        assert_eq!(of(json!({}), json!("3")), json!("3"));
        assert_eq!(of(json!({"enum": [1, 2]}), json!("2")), json!(2));
        assert_eq!(of(json!({"enum": ["1", 2]}), json!("2")), json!("2"));
        assert_eq!(
            of(json!({"type": "array", "items": {"type": "integer"}}), json!(["1", 2])),
            json!([1, 2])
        );
        assert_eq!(of(json!({"type": "array", "items": {"type": "integer"}}), json!("[\"1\"]")), json!([1]));
        assert_eq!(of(json!({"type": "object"}), json!("[1]")), json!("[1]"));
        assert_eq!(of(json!({"type": "string"}), json!(3)), json!(3));
    }

    #[test]
    fn references_are_followed_and_circles_end() {
        let schema = json!({"type": "object", "properties": {"v": {"$ref": "#/$defs/n"}},
            "$defs": {"n": {"type": "object", "properties": {"v": {"$ref": "#/$defs/n"}, "i": {"type": "integer"}}},
                      "loop": {"$ref": "#/$defs/loop"}}});
        let input = json!({"v": {"v": {"i": "1"}}});
        assert_eq!(coerced(schema, input)["v"]["v"]["i"], 1);
        let circle = json!({"type": "object", "properties": {"v": {"$ref": "#/$defs/loop"}},
            "$defs": {"loop": {"$ref": "#/$defs/loop"}}});
        assert_eq!(coerced(circle, json!({"v": "1"}))["v"], "1");
    }

    #[test]
    fn null_for_an_optional_property_goes() {
        let schema = json!({"type": "object", "required": ["a"], "properties": {
            "a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": ["integer", "null"]}}});
        assert_eq!(
            coerced(schema, json!({"a": null, "b": null, "c": null, "d": null})),
            json!({"a": null, "c": null, "d": null})
        );
    }

    #[test]
    fn a_declared_other_name_is_taken_where_the_proper_one_is_absent() {
        let spec = Spec::new("x", "d")
            .with_input_schema(json!({"type": "object", "properties": {"path": {}, "file": {}}}))
            .with_input_aliases("path", &["file_path", "file"]);
        assert_eq!(coerce(&spec, json!({"file_path": "a"})), json!({"path": "a"}));
        assert_eq!(
            coerce(&spec, json!({"file_path": "a", "path": "b"})),
            json!({"file_path": "a", "path": "b"})
        );
        assert_eq!(coerce(&spec, json!({"file": "a"})), json!({"file": "a"}));
    }
}
