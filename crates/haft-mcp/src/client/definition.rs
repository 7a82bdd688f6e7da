//! One tool as its server defines it: kept as it came, with a view of what gates need.

use super::canonical;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// How long a tool's own name may be.
const NAME_MAX_BYTES: usize = 512;

/// What a server says of what a tool does. Hints: they tighten, and never loosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Hints {
    pub(crate) read_only: Option<bool>,
    pub(crate) destructive: Option<bool>,
    pub(crate) idempotent: Option<bool>,
}

/// One tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Definition {
    raw: Map<String, Value>,
    name: String,
}

impl Definition {
    /// Reads a definition.
    ///
    /// # Errors
    /// Why it is none.
    pub(crate) fn read(raw: Value) -> Result<Self, String> {
        let Value::Object(raw) = raw else { return Err("it is no object".to_owned()) };
        let name = raw.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        if name.is_empty() {
            return Err("it has no name".to_owned());
        }
        if name.len() > NAME_MAX_BYTES {
            return Err(format!("its name has {} bytes", name.len()));
        }
        Ok(Self { raw, name })
    }

    /// What the server calls it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// All of it as it came.
    pub(crate) fn raw(&self) -> &Map<String, Value> {
        &self.raw
    }

    pub(crate) fn hints(&self) -> Hints {
        let annotations = self.raw.get("annotations");
        let hint = |name: &str| annotations?.get(name)?.as_bool();
        Hints {
            read_only: hint("readOnlyHint"),
            destructive: hint("destructiveHint"),
            idempotent: hint("idempotentHint"),
        }
    }

    /// What it is pinned by: all of it, how its server is reached, and what the server says of all its tools.
    pub(crate) fn hash(&self, launch: &[(String, String)], instructions: Option<&str>) -> Arc<str> {
        canonical::digest(&json!({"launch": launch, "instructions": instructions, "definition": self.raw}))
    }

    /// The same part by part, so that the question says what changed.
    pub(crate) fn parts(
        &self,
        launch: &[(String, String)],
        instructions: Option<&str>,
    ) -> Vec<(String, String)> {
        let mut parts = launch.to_vec();
        parts.extend(instructions.map(|text| ("instructions".to_owned(), text.to_owned())));
        parts.extend(self.raw.iter().map(|(name, value)| {
            let text = match value {
                Value::String(text) => text.clone(),
                other => canonical::canonical(other),
            };
            (name.clone(), text)
        }));
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: Value) -> Definition {
        Definition::read(value).unwrap()
    }

    #[test]
    fn a_change_of_any_part_changes_the_hash() {
        let launch = [("command".to_owned(), "x".to_owned())];
        let base = json!({"name": "a", "title": "A", "description": "d", "inputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": true}, "_meta": {"k": 1}, "icons": []});
        let hash = |value: &Value| read(value.clone()).hash(&launch, Some("i"));
        for (name, value) in [
            ("name", json!("b")),
            ("title", json!("B")),
            ("description", json!("d ")),
            ("inputSchema", json!({"type": "object", "properties": {}})),
            ("outputSchema", json!({"type": "object"})),
            ("annotations", json!({"readOnlyHint": false})),
            ("_meta", json!({"k": 2})),
            ("icons", json!([1])),
        ] {
            let mut other = base.clone();
            other[name] = value;
            assert_ne!(hash(&base), hash(&other), "{name}");
        }
        let definition = read(base.clone());
        assert_ne!(definition.hash(&launch, Some("j")), hash(&base));
        assert_ne!(definition.hash(&[], Some("i")), hash(&base));
        let reordered: Value = serde_json::from_str(
            r#"{"icons": [], "_meta": {"k": 1}, "annotations": {"readOnlyHint": true}, "description": "d",
                "inputSchema": {"type": "object"}, "title": "A", "name": "a"}"#,
        )
        .unwrap();
        assert_eq!(hash(&reordered), hash(&base));
    }

    #[test]
    fn what_is_no_definition_says_why() {
        for raw in
            [json!(3), json!({}), json!({"name": ""}), json!({"name": 7}), json!({"name": "x".repeat(600)})]
        {
            assert!(Definition::read(raw).is_err());
        }
    }
}
