//! What of a tool is searched.

use super::words::{is_stop, split};
use crate::Offer;
use serde_json::Value;

/// Schemas are read no deeper than this.
const DEPTH_MAX: usize = 6;
/// Most bytes of one text that are read; what a longer description adds is seldom what it is for.
const TEXT_MAX_BYTES: usize = 4_096;
/// Most parameters of one tool that are read.
const PARAMETERS_MAX: usize = 200;

/// One tool, as words are looked for in it.
#[derive(Debug, Clone, Copy)]
pub struct Document<'a> {
    /// The name that a model calls.
    pub name: &'a str,
    /// Who offers it: `core`, a server, an extension.
    pub source: &'a str,
    /// Older and foreign names.
    pub aliases: &'a [std::sync::Arc<str>],
    /// What it does.
    pub description: &'a str,
    /// The JSON Schema of its input.
    pub schema: &'a Value,
}

impl<'a> Document<'a> {
    /// The document of a registered tool.
    pub fn of(offer: &'a Offer) -> Self {
        let spec = offer.spec();
        Self {
            name: &offer.name,
            source: &offer.owner,
            aliases: &spec.aliases,
            description: &spec.description,
            schema: &spec.input_schema,
        }
    }
}

/// The fields of a document, in the order of their weights.
pub(super) const FIELDS: usize = 6;

/// The words of a document by field: name, description, names of parameters, their descriptions, their values, source.
pub(super) fn fields(document: &Document<'_>) -> [Vec<String>; FIELDS] {
    let mut names = Vec::new();
    let mut texts = Vec::new();
    let mut values = Vec::new();
    parameters(document.schema, DEPTH_MAX, &mut |part| {
        let (into, text) = match part {
            Part::Name(text) => (&mut names, text),
            Part::Text(text) => (&mut texts, text),
            Part::Value(text) => (&mut values, text),
        };
        if into.len() < PARAMETERS_MAX * 8 {
            into.extend(telling(text));
        }
    });
    let mut name = telling(document.name);
    name.extend(document.aliases.iter().flat_map(|alias| telling(alias)));
    let source = if document.source == "core" { Vec::new() } else { telling(document.source) };
    [name, telling(document.description), names, texts, values, source]
}

/// Whether a tool can't be called without a number.
pub(super) fn needs_number(schema: &Value) -> bool {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    required.filter_map(Value::as_str).any(|name| {
        let property = schema.get("properties").and_then(|properties| properties.get(name));
        let kind = property.and_then(|property| property.get("type")).and_then(Value::as_str);
        // `float` is none of JSON Schema's, and written all the same.
        matches!(kind, Some("integer" | "number" | "float"))
    })
}

/// The words of a text that tell something.
fn telling(text: &str) -> Vec<String> {
    let mut words = split(head(text));
    words.retain(|word| !is_stop(word));
    words
}

fn head(text: &str) -> &str {
    text.get(..text.floor_char_boundary(TEXT_MAX_BYTES)).unwrap_or(text)
}

enum Part<'a> {
    Name(&'a str),
    Text(&'a str),
    Value(&'a str),
}

/// Goes through the parameters of a schema, also those of objects within.
fn parameters<'a>(schema: &'a Value, depth: usize, tell: &mut dyn FnMut(Part<'a>)) {
    let Some(depth) = depth.checked_sub(1) else { return };
    let texts = |key: &str| schema.get(key).and_then(Value::as_array).into_iter().flatten();
    for value in texts("enum").chain(schema.get("const")).chain(schema.get("default")) {
        if let Some(text) = value.as_str() {
            tell(Part::Value(text));
        }
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, property) in properties.into_iter().flatten().take(PARAMETERS_MAX) {
        tell(Part::Name(name));
        if let Some(text) = property.get("description").and_then(Value::as_str) {
            tell(Part::Text(text));
        }
        parameters(property, depth, tell);
    }
    if let Some(items) = schema.get("items") {
        parameters(items, depth, tell);
    }
    for branch in ["anyOf", "oneOf", "allOf"].into_iter().flat_map(texts) {
        parameters(branch, depth, tell);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_number_is_needed_where_a_parameter_that_is_required_is_one() {
        let schema = |kind: &str, required: &[&str]| {
            let properties = json!({"size": {"type": kind}, "name": {"type": "string"}});
            json!({"type": "object", "properties": properties, "required": required})
        };
        for kind in ["integer", "number", "float"] {
            assert!(needs_number(&schema(kind, &["name", "size"])), "{kind}");
            assert!(!needs_number(&schema(kind, &["name"])), "{kind}");
        }
        assert!(!needs_number(&schema("string", &["size", "gone"])));
        assert!(!needs_number(&Value::Null) && !needs_number(&json!({"required": "size"})));
    }
}
