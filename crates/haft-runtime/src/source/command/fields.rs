//! The fields of a manifest, flat or nested, each read into its type or reported with its line.

use super::{ManifestText, lines::KeyLines};
use crate::{catalogue::Problem, settings::instead};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A field for people alone.
const REMARK: &str = "$comment";
/// Every field that stands at the root.
const KNOWN: [&str; 42] = [
    "$schema",
    "name",
    "namespace",
    "aliases",
    "description",
    "usageHint",
    "parameters",
    "inputSchema",
    "inputAliases",
    "outputSchema",
    "category",
    "permission",
    "readOnly",
    "mutates",
    "mutating",
    "risk",
    "riskTier",
    "concurrencySafe",
    "idempotent",
    "untrustedSource",
    "capabilities",
    "secrets",
    "effects",
    "sandbox",
    "enabled",
    "longRunning",
    "timeoutMs",
    "estimatedDurationMs",
    "maxOutputBytes",
    "persistenceQuota",
    "compactable",
    "exposure",
    "alwaysLoad",
    "codeMode",
    "display",
    "examples",
    "policy",
    "command",
    "runtime",
    "main",
    "output",
    REMARK,
];
/// Those that other hosts nest under `policy`.
const NESTED: [&str; 16] = [
    "permission",
    "readOnly",
    "mutates",
    "mutating",
    "risk",
    "riskTier",
    "concurrencySafe",
    "idempotent",
    "untrustedSource",
    "longRunning",
    "timeoutMs",
    "maxOutputBytes",
    "persistenceQuota",
    "compactable",
    "capabilities",
    "exposure",
];

/// A manifest being read.
pub(super) struct Fields<'a> {
    from: &'a ManifestText<'a>,
    root: Value,
    lines: KeyLines,
    /// What sets the tool aside.
    pub(super) faults: Vec<Problem>,
    /// What doesn't.
    pub(super) warnings: Vec<Problem>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(from: &'a ManifestText<'a>, root: Value) -> Self {
        let lines = KeyLines::scan(from.text);
        let mut fields = Self { from, root, lines, faults: Vec::new(), warnings: Vec::new() };
        fields.warn_of_unknown("", &KNOWN);
        if fields.root.get("policy").is_some_and(|policy| !policy.is_object()) {
            fields.fault("/policy", "\"policy\" must be an object", "write \"policy\": {\"readOnly\": true}");
        }
        fields.warn_of_unknown("/policy", &NESTED);
        fields
    }

    fn warn_of_unknown(&mut self, table: &str, known: &[&str]) {
        let Some(object) = self.root.pointer(table).and_then(Value::as_object) else {
            return;
        };
        let unknown: Vec<String> =
            object.keys().filter(|key| !known.contains(&key.as_str())).cloned().collect();
        for key in unknown {
            let text = format!("\"{key}\" is not a field of a tool; it is ignored");
            self.warn(&format!("{table}/{key}"), text, instead(known, &key));
        }
    }

    /// Finds fault with each key that its object has already. In what isn't read it is none: remarks have one key over and
    /// over.
    pub(super) fn refuse_repeated(&mut self) {
        let is_read = |field: &str| field != REMARK && KNOWN.contains(&field);
        let repeated = self.lines.repeated().iter().filter(|key| is_read(&key.field));
        self.faults.extend(repeated.map(|key| self.from.repeated(key)));
    }

    pub(super) fn line(&self, pointer: &str) -> usize {
        self.lines.line(pointer)
    }

    /// The pointer of the first of these names that is there.
    pub(super) fn pointer(&self, names: &[&str]) -> Option<String> {
        self.places(names).into_iter().next().map(|(pointer, _)| pointer)
    }

    fn places(&self, names: &[&str]) -> Vec<(String, &Value)> {
        let mut found = Vec::new();
        for name in names {
            for table in ["", "/policy"].iter().filter(|table| table.is_empty() || NESTED.contains(name)) {
                let pointer = format!("{table}/{name}");
                if let Some(value) = self.root.pointer(&pointer).filter(|value| !value.is_null()) {
                    found.push((pointer, value));
                }
            }
        }
        found
    }

    /// Reads a field that may have several names.
    pub(super) fn take<T: DeserializeOwned>(&mut self, names: &[&str], expected: &str) -> Option<T> {
        let places = self.places(names);
        let (pointer, value) = places.first()?;
        let (pointer, value) = (pointer.clone(), (*value).clone());
        let other = places.iter().find(|(_, other)| **other != value).map(|(other, _)| other.clone());
        if let Some(other) = other {
            let text = format!("\"{}\" and \"{}\" say different things", key(&pointer), key(&other));
            self.fault(&other, text, "keep one of them");
            return None;
        }
        match serde_json::from_value(value) {
            Ok(value) => Some(value),
            Err(error) => {
                let text = format!("\"{}\" can't be used: {error}", key(&pointer));
                self.fault(&pointer, text, format!("make it {expected}"));
                None
            }
        }
    }

    /// Reads a field into its place, where it is given.
    pub(super) fn set<T: DeserializeOwned>(&mut self, place: &mut T, names: &[&str], expected: &str) {
        if let Some(value) = self.take(names, expected) {
            *place = value;
        }
    }

    pub(super) fn fault(&mut self, pointer: &str, text: impl Into<String>, fix: impl Into<String>) {
        let problem = self.problem(pointer, text.into(), fix.into());
        self.faults.push(problem);
    }

    pub(super) fn warn(&mut self, pointer: &str, text: impl Into<String>, fix: impl Into<String>) {
        let problem = self.problem(pointer, text.into(), fix.into());
        self.warnings.push(problem);
    }

    fn problem(&self, pointer: &str, text: String, fix: String) -> Problem {
        self.from.problem(self.line(pointer), text, fix)
    }
}

fn key(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}
