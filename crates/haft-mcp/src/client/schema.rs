//! An input schema of a server's as a model gets it: one object at the root, nothing to fetch.
//!
//! What is shown may say less than what the server wrote, never more: it is the full schema that a call is checked
//! against. One that no object fits sets its tool aside.

use haft_core::exact;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// How deep unions in unions are followed.
const DEPTH_MAX: usize = 4;
/// How many forms of a union are named in words.
const FORMS_SHOWN: usize = 6;
/// Keywords that say something only together with one another.
const JOINT: [&str; 3] = ["if", "then", "else"];
/// Where the schemas of the drafts themselves are.
const DRAFTS: [&str; 2] = ["http://json-schema.org/", "https://json-schema.org/"];

/// A schema in its two forms.
#[derive(Debug, PartialEq)]
pub(crate) struct Shown {
    /// What models and the first check get.
    pub(crate) schema: Value,
    /// What a call is checked against besides, where that is more.
    pub(crate) full: Option<Value>,
    /// What of it is said in words.
    pub(crate) rule: Option<String>,
    /// References that were taken out, since what they lead to is never fetched.
    pub(crate) unfetched: usize,
}

/// Makes an input schema fit to be shown.
///
/// # Errors
/// Why no object fits it.
pub(crate) fn shown(schema: &Value) -> Result<Shown, String> {
    let mut full = match schema {
        Value::Null | Value::Bool(true) => json!({}),
        Value::Object(_) => schema.clone(),
        Value::Bool(false) => return Err("it allows nothing at all".to_owned()),
        other => return Err(format!("it is no schema but {}", kind(other))),
    };
    let unfetched = without_addresses(&mut full);
    let root = full.as_object().cloned().unwrap_or_default();
    let mut rule = None;
    let mut plain = flattened(&root, &full, DEPTH_MAX, &mut rule)?;
    let is_same = plain == root;
    plain.entry("type").or_insert_with(|| "object".into());
    plain.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    Ok(Shown { schema: Value::Object(plain), full: (!is_same).then_some(full), rule, unfetched })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a flag",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Takes references to other documents out, and a draft that nobody here knows.
fn without_addresses(schema: &mut Value) -> usize {
    let mut taken = 0;
    match schema {
        Value::Object(keywords) => {
            let is_foreign = |keyword: &Value| {
                let reference = keyword.as_str().unwrap_or_default();
                !reference.is_empty() && !reference.starts_with('#') && !is_draft(reference)
            };
            for name in ["$ref", "$dynamicRef"] {
                if keywords.get(name).is_some_and(is_foreign) {
                    keywords.shift_remove(name);
                    taken += 1;
                }
            }
            if keywords.get("$schema").is_some_and(|draft| !draft.as_str().is_some_and(is_draft)) {
                keywords.shift_remove("$schema");
            }
            taken += keywords.values_mut().map(without_addresses).sum::<usize>();
        }
        Value::Array(items) => taken += items.iter_mut().map(without_addresses).sum::<usize>(),
        _ => {}
    }
    taken
}

fn is_draft(reference: &str) -> bool {
    DRAFTS.iter().any(|start| reference.starts_with(start))
}

/// An object schema without unions and references at its root.
fn flattened(
    schema: &Map<String, Value>,
    root: &Value,
    depth: usize,
    rule: &mut Option<String>,
) -> Result<Map<String, Value>, String> {
    match schema.get("type") {
        None => {}
        Some(Value::String(one)) if one == "object" => {}
        Some(Value::Array(several)) if several.iter().any(|one| one == "object") => {}
        Some(other) => return Err(format!("it is of type {other}, and arguments are always an object")),
    }
    let is_settled = ["$ref", "anyOf", "oneOf", "allOf"].iter().all(|name| !schema.contains_key(*name));
    if is_settled && schema.get("type").is_none_or(Value::is_string) {
        return Ok(schema.clone());
    }
    let Some(deeper) = depth.checked_sub(1) else { return Err("its unions are nested too deep".to_owned()) };
    let mut plain = schema.clone();
    plain.insert("type".to_owned(), "object".into());
    if let Some(reference) = plain.shift_remove("$ref") {
        let target = target(&reference, root)?;
        merge(&mut plain, &flattened(target, root, deeper, rule)?, Joined::All);
    }
    if let Some(parts) = taken(&mut plain, "allOf") {
        for part in &parts {
            merge(&mut plain, &flattened(object(part, root)?, root, deeper, rule)?, Joined::All);
        }
    }
    for (name, words) in [("anyOf", "at least one"), ("oneOf", "exactly one")] {
        let Some(parts) = taken(&mut plain, name) else { continue };
        let mut forms = Vec::new();
        let mut last = String::new();
        for part in &parts {
            let form = object(part, root).and_then(|part| flattened(part, root, deeper, &mut None));
            match form {
                Ok(form) => forms.push(form),
                // A form that no object fits can't be chosen anyway.
                Err(why) => last = why,
            }
        }
        if forms.is_empty() {
            return Err(format!("none of its forms can be used: {last}"));
        }
        rule.get_or_insert_with(|| in_words(words, &forms));
        merge(&mut plain, &united(&forms), Joined::All);
    }
    Ok(plain)
}

fn taken(schema: &mut Map<String, Value>, name: &str) -> Option<Vec<Value>> {
    match schema.shift_remove(name)? {
        Value::Array(parts) if !parts.is_empty() => Some(parts),
        _ => None,
    }
}

fn object<'s>(part: &'s Value, root: &'s Value) -> Result<&'s Map<String, Value>, String> {
    match part {
        Value::Object(fields) => match fields.get("$ref") {
            Some(reference) if fields.len() == 1 => target(reference, root),
            _ => Ok(fields),
        },
        other => Err(format!("one of its parts is {}", kind(other))),
    }
}

fn target<'s>(reference: &Value, root: &'s Value) -> Result<&'s Map<String, Value>, String> {
    let pointer = reference.as_str().and_then(|text| text.strip_prefix('#')).unwrap_or("/");
    // Written as part of an address: `%25` is a percent sign.
    let pointer = percent_decode_str(pointer).decode_utf8_lossy();
    let found = root.pointer(&pointer).and_then(Value::as_object);
    found.ok_or_else(|| format!("it refers to {reference}, which isn't in it"))
}

/// Whether both schemas hold, or either.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joined {
    All,
    Any,
}

/// Adds what another object schema says.
fn merge(into: &mut Map<String, Value>, other: &Map<String, Value>, joined: Joined) {
    // Those of two parts side by side would say what neither does; the full schema still says both.
    let has_joint = JOINT.iter().any(|name| into.contains_key(*name));
    for (name, keyword) in other {
        match (name.as_str(), keyword) {
            (name, _) if has_joint && JOINT.contains(&name) => {}
            ("properties", Value::Object(theirs)) => {
                let own = into.entry("properties").or_insert_with(|| Value::Object(Map::new()));
                let Some(own) = own.as_object_mut() else { continue };
                for (property, schema) in theirs {
                    match own.get_mut(property) {
                        None => drop(own.insert(property.clone(), schema.clone())),
                        Some(known) if known == schema => {}
                        Some(known) => *known = both(known, schema, joined),
                    }
                }
            }
            ("required", Value::Array(theirs)) => {
                let own = into.entry("required").or_insert_with(|| Value::Array(Vec::new()));
                let Some(own) = own.as_array_mut() else { continue };
                let new: Vec<Value> = theirs.iter().filter(|name| !own.contains(name)).cloned().collect();
                own.extend(new);
            }
            ("type", _) => {}
            // It would shut out what the other part allows; the full schema still says it.
            ("additionalProperties" | "unevaluatedProperties", _) if joined == Joined::All => {}
            _ => {
                into.entry(name).or_insert_with(|| keyword.clone());
            }
        }
    }
}

/// Two schemas of one property.
fn both(known: &Value, schema: &Value, joined: Joined) -> Value {
    let word = if joined == Joined::All { "allOf" } else { "anyOf" };
    let mut parts = match known.get(word) {
        Some(Value::Array(parts)) if known.as_object().is_some_and(|known| known.len() == 1) => parts.clone(),
        _ => vec![known.clone()],
    };
    if !parts.contains(schema) {
        parts.push(schema.clone());
    }
    json!({word: parts})
}

/// What fits any of the forms: all their properties, and required what all require.
fn united(forms: &[Map<String, Value>]) -> Map<String, Value> {
    let mut whole = Map::new();
    for form in forms {
        let mut form = form.clone();
        form.retain(|name, _| matches!(name.as_str(), "properties" | "$defs" | "definitions"));
        merge(&mut whole, &form, Joined::Any);
    }
    let of = |form: &Map<String, Value>| -> BTreeSet<String> {
        let names = form.get("required").and_then(Value::as_array).into_iter().flatten();
        names.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let common = forms.iter().map(of).reduce(|one, other| &one & &other).unwrap_or_default();
    if !common.is_empty() {
        whole.insert("required".to_owned(), json!(common));
    }
    whole
}

/// "Takes exactly one of these forms: {a, b} or {c}."
fn in_words(words: &str, forms: &[Map<String, Value>]) -> String {
    let shown: Vec<String> = forms.iter().take(FORMS_SHOWN).map(one_in_words).collect();
    let further = forms.len().saturating_sub(FORMS_SHOWN);
    let rest = if further > 0 { format!(", or {further} more") } else { String::new() };
    format!("Takes {words} of these forms: {}{rest}.", shown.join(" or "))
}

/// The properties of a form; what isn't required stands in brackets, a fixed value beside its name.
fn one_in_words(form: &Map<String, Value>) -> String {
    let required = form.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
    let properties = form.get("properties").and_then(Value::as_object);
    let names = properties.into_iter().flatten().map(|(name, schema)| {
        let shown = exact(name);
        let fixed = schema.get("const").map(|value| format!(" = {}", exact(&value.to_string())));
        let fixed = fixed.unwrap_or_default();
        if is_required(name) { format!("{shown}{fixed}") } else { format!("[{shown}{fixed}]") }
    });
    format!("{{{}}}", names.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_runtime::Checker;

    #[test]
    fn a_plain_object_stays_as_it_is() {
        let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {}}, "x-y": 1});
        let found = shown(&schema).unwrap();
        assert_eq!(found, Shown { schema, full: None, rule: None, unfetched: 0 });
        let empty = shown(&json!({})).unwrap();
        assert_eq!(empty.schema, json!({"type": "object", "properties": {}}));
        assert_eq!(empty.full, None);
    }

    #[test]
    fn case_f36_a_root_union_is_shown_as_one_object_and_enforced_in_full() {
        let schema = json!({"anyOf": [
            {"type": "object", "properties": {"id": {"type": "integer"}, "n": {"type": "string"}}, "required": ["id", "n"]},
            {"type": "object", "properties": {"url": {"type": "string"}, "n": {"type": "integer"}}, "required": ["url", "n"],
             "additionalProperties": false},
        ]});
        let found = shown(&schema).unwrap();
        assert_eq!(
            found.schema,
            json!({
                "type": "object",
                "properties": {
                    "id": {"type": "integer"},
                    "n": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                    "url": {"type": "string"},
                },
                "required": ["n"],
            })
        );
        assert_eq!(found.rule.as_deref(), Some("Takes at least one of these forms: {id, n} or {url, n}."));
        let (shown, full) =
            (Checker::compile(&found.schema).unwrap(), Checker::compile(&found.full.unwrap()).unwrap());
        for (input, fits) in [
            (json!({"id": 1, "n": "a"}), true),
            (json!({"url": "u", "n": 1}), true),
            (json!({"id": 1, "url": "u", "n": 1}), false),
        ] {
            assert_eq!(full.problems(&input).is_none(), fits, "{input}");
            assert_eq!(shown.problems(&input), None, "what is shown never says more: {input}");
        }
    }

    #[test]
    fn references_and_parts_at_the_root_are_put_together() {
        let schema = json!({
            "$ref": "#/$defs/base",
            "$defs": {"base": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}},
            "allOf": [{"properties": {"b": {"type": "integer"}}, "required": ["b"]}],
            "oneOf": [{"$ref": "#/$defs/base"}, {"type": "string"}],
        });
        let found = shown(&schema).unwrap();
        assert_eq!(found.schema["required"], json!(["a", "b"]));
        assert_eq!(found.schema["properties"], json!({"b": {"type": "integer"}, "a": {"type": "string"}}));
        assert!(found.schema.get("oneOf").is_none() && found.full.is_some());
        assert_eq!(found.rule.as_deref(), Some("Takes exactly one of these forms: {a}."));
    }

    #[test]
    fn a_reference_is_read_as_part_of_an_address() {
        let schema = json!({
            "$ref": "#/$defs/100%25%20sure",
            "$defs": {"100% sure": {"type": "object", "properties": {"a": {"type": "string"}}}},
        });
        assert_eq!(shown(&schema).unwrap().schema["properties"], json!({"a": {"type": "string"}}));
    }

    #[test]
    fn conditions_of_two_parts_are_not_mixed() {
        let is =
            |name: &str, value: &str| json!({"properties": {name: {"const": value}}, "required": [name]});
        let needs = |name: &str| json!({"required": [name]});
        let schema = json!({"type": "object", "allOf": [
            {"if": is("kind", "a"), "then": needs("x")},
            {"if": is("kind", "b"), "else": needs("y")},
        ]});
        let found = shown(&schema).unwrap();
        let (shown, full) =
            (Checker::compile(&found.schema).unwrap(), Checker::compile(&found.full.unwrap()).unwrap());
        for input in
            [json!({"kind": "a", "x": 1, "y": 1}), json!({"kind": "b"}), json!({"kind": "c", "y": 1})]
        {
            assert_eq!((full.problems(&input), shown.problems(&input)), (None, None), "{input}");
        }
        assert!(full.problems(&json!({"kind": "c"})).is_some());
    }

    #[test]
    fn case_f36_what_no_object_fits_says_why() {
        for (schema, why) in [
            (json!({"type": "string"}), "of type \"string\""),
            (json!([]), "a list"),
            (json!(false), "nothing at all"),
            (json!({"oneOf": [{"type": "string"}, {"type": "integer"}]}), "none of its forms"),
            (json!({"$ref": "#/$defs/no"}), "isn't in it"),
            (json!({"$ref": "#"}), "too deep"),
        ] {
            let said = shown(&schema).unwrap_err();
            assert!(said.contains(why), "{schema}: {said}");
        }
        assert!(shown(&json!({"type": ["object", "null"]})).unwrap().full.is_some());
    }

    #[test]
    fn references_to_other_documents_are_taken_out_and_counted() {
        let schema = json!({
            "$schema": "https://x.example/draft",
            "type": "object",
            "properties": {"a": {"$ref": "https://x.example/a.json"}, "b": {"$ref": "file:///etc/b"}},
        });
        let found = shown(&schema).unwrap();
        assert_eq!(found.schema, json!({"type": "object", "properties": {"a": {}, "b": {}}}));
        assert_eq!((found.unfetched, found.full), (2, None));
    }
}
