//! The headers that repeat what stands in a request's body, for those on the way who don't read it: of the modern era
//! over HTTP only.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// The keyword that asks for a header.
const KEYWORD: &str = "x-mcp-header";

/// A property that goes into a header as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ParamHeader {
    /// The names that lead to it.
    path: Vec<String>,
    /// The header's name without what stands before all of them.
    name: String,
}

/// The headers that an input schema asks for.
///
/// # Errors
/// Why what it asks for isn't allowed, which makes its tool unusable.
pub(crate) fn param_headers(schema: &Value) -> Result<Vec<ParamHeader>, String> {
    let mut found = Vec::new();
    let Some(root) = schema.as_object() else { return Ok(found) };
    if root.contains_key(KEYWORD) || is_elsewhere(root, true) {
        return Err(format!("{KEYWORD} may stand at properties only"));
    }
    collect(root, &mut Vec::new(), &mut found)?;
    let mut names = BTreeSet::new();
    if let Some(twice) = found.iter().find(|header| !names.insert(header.name.to_ascii_lowercase())) {
        return Err(format!("{KEYWORD} \"{}\" stands there twice", twice.name));
    }
    Ok(found)
}

fn collect(
    schema: &Map<String, Value>,
    path: &mut Vec<String>,
    found: &mut Vec<ParamHeader>,
) -> Result<(), String> {
    let Some(Value::Object(properties)) = schema.get("properties") else { return Ok(()) };
    for (property, schema) in properties {
        let Some(schema) = schema.as_object() else { continue };
        path.push(property.clone());
        if let Some(name) = schema.get(KEYWORD) {
            let name = name.as_str().unwrap_or_default();
            if name.is_empty() || !name.chars().all(is_token) {
                return Err(format!("{KEYWORD} of {property} is no name of a header"));
            }
            let kind = schema.get("type").and_then(Value::as_str);
            if !matches!(kind, Some("string" | "integer" | "boolean")) {
                return Err(format!(
                    "{KEYWORD} of {property} may stand at a text, a whole number or a flag only"
                ));
            }
            found.push(ParamHeader { path: path.clone(), name: name.to_owned() });
        }
        collect(schema, path, found)?;
        path.pop();
    }
    Ok(())
}

/// Whether the keyword stands where no property of the arguments is.
fn is_elsewhere(schema: &Map<String, Value>, is_on_path: bool) -> bool {
    let in_any = |schemas: &Value, is_on_path: bool| {
        let all = schemas.as_object().into_iter().flat_map(Map::values);
        all.filter_map(Value::as_object).any(|schema| is_elsewhere(schema, is_on_path))
    };
    schema.iter().any(|(name, keyword)| match name.as_str() {
        KEYWORD => !is_on_path,
        "properties" => in_any(keyword, is_on_path),
        "$defs" | "definitions" | "patternProperties" | "dependentSchemas" | "dependencies" => {
            in_any(keyword, false)
        }
        "default" | "const" | "enum" | "examples" | "dependentRequired" => false,
        _ => match keyword {
            Value::Object(schema) => is_elsewhere(schema, false),
            Value::Array(parts) => {
                parts.iter().filter_map(Value::as_object).any(|schema| is_elsewhere(schema, false))
            }
            _ => false,
        },
    })
}

/// A character of a header's name.
fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

/// The headers of one request.
pub(crate) fn of_request(method: &str, params: &Value, wanted: &[ParamHeader]) -> Vec<(String, String)> {
    let mut headers = vec![("Mcp-Method".to_owned(), method.to_owned())];
    let key = match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => Some("uri"),
        _ => None,
    };
    if let Some(name) = key.and_then(|key| params.get(key)).and_then(Value::as_str) {
        headers.push(("Mcp-Name".to_owned(), encoded(name)));
    }
    for header in wanted {
        let value = header
            .path
            .iter()
            .try_fold(params.get("arguments").unwrap_or(&Value::Null), |at, name| at.get(name));
        let text = match value {
            Some(Value::String(text)) => text.clone(),
            Some(value @ (Value::Bool(_) | Value::Number(_))) => value.to_string(),
            _ => continue,
        };
        headers.push((format!("Mcp-Param-{}", header.name), encoded(&text)));
    }
    headers
}

/// A value that survives as a header.
fn encoded(value: &str) -> String {
    let is_padded = value.trim_matches([' ', '\t']).len() != value.len();
    let is_bare = value.chars().all(|c| (' '..='~').contains(&c));
    let looks_encoded = value.starts_with("=?base64?") && value.ends_with("?=");
    if is_bare && !is_padded && !looks_encoded {
        return value.to_owned();
    }
    format!("=?base64?{}?=", STANDARD.encode(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_asked_for_is_repeated_and_nothing_else() {
        let schema = json!({"type": "object", "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "at": {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "N"}}},
            "verbose": {"type": "boolean", "x-mcp-header": "Verbose"},
            "query": {"type": "string"},
        }});
        let wanted = param_headers(&schema).unwrap();
        let params = json!({"name": "näme", "arguments": {"region": " eu", "at": {"n": 42}, "verbose": null, "query": "q"}});
        let headers = of_request("tools/call", &params, &wanted);
        let shown: Vec<String> = headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        assert_eq!(
            shown,
            [
                "Mcp-Method: tools/call",
                "Mcp-Name: =?base64?bsOkbWU=?=",
                "Mcp-Param-Region: =?base64?IGV1?=",
                "Mcp-Param-N: 42",
            ]
        );
        assert_eq!(of_request("tools/list", &json!({}), &[]).len(), 1);
        assert_eq!(encoded("us west 1"), "us west 1");
    }

    #[test]
    fn what_is_not_allowed_says_why() {
        let property = |schema: Value| json!({"type": "object", "properties": {"a": schema}});
        for schema in [
            property(json!({"type": "string", "x-mcp-header": ""})),
            property(json!({"type": "string", "x-mcp-header": "My Region"})),
            property(json!({"type": "string", "x-mcp-header": "Région"})),
            property(json!({"type": "string", "x-mcp-header": 3})),
            property(json!({"type": "number", "x-mcp-header": "A"})),
            property(json!({"type": "array", "items": {"type": "string", "x-mcp-header": "A"}})),
            json!({"type": "object", "x-mcp-header": "A"}),
            json!({"type": "object", "$defs": {"d": {"type": "string", "x-mcp-header": "A"}}}),
            json!({"type": "object", "properties": {
                "a": {"type": "string", "x-mcp-header": "A"}, "b": {"type": "string", "x-mcp-header": "a"},
            }}),
        ] {
            assert!(param_headers(&schema).is_err(), "{schema}");
        }
        assert_eq!(
            param_headers(&json!({"properties": {"x-mcp-header": {"type": "string"}}})),
            Ok(Vec::new())
        );
    }
}
