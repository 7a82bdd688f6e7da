//! The providers' subsets of JSON Schema, as they have written them down.

use serde::{Deserialize, Serialize};

/// Whose subset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// JSON Schema with an object at its root and no references: what every client of ours takes.
    #[default]
    Plain,
    /// Function parameters of Chat Completions and Responses, not in strict mode. The root is an object without `anyOf`,
    /// `oneOf`, `allOf`, `not` and `enum`; below it any keyword may stand.
    /// <https://platform.openai.com/docs/guides/structured-outputs#supported-schemas>
    OpenAi,
    /// `input_schema` of Messages: draft 2020-12, an object at the root, no union there; names of properties are
    /// `[a-zA-Z0-9_.-]{1,64}`. <https://docs.anthropic.com/en/docs/agents-and-tools/tool-use/implement-tool-use>
    Anthropic,
    /// `parameters` of a function declaration: the fields of the `Schema` object and no others.
    /// <https://ai.google.dev/api/caching#Schema>
    Gemini,
}

/// The fields of Gemini's `Schema` object.
pub(super) const GEMINI_KEYWORDS: [&str; 21] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "maxItems",
    "minItems",
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "anyOf",
    "propertyOrdering",
    "default",
    "items",
    "minimum",
    "maximum",
];

/// The formats that Gemini takes, by type; another one is an error there.
pub(super) const GEMINI_FORMATS: [(&str, &[&str]); 3] =
    [("string", &["enum", "date-time"]), ("integer", &["int32", "int64"]), ("number", &["float", "double"])];

impl Dialect {
    /// Whether names of properties are bounded.
    pub(super) fn limits_keys(self) -> bool {
        matches!(self, Self::Anthropic | Self::Gemini)
    }

    /// Whether only some keywords are known.
    pub(super) fn is_narrow(self) -> bool {
        self == Self::Gemini
    }
}
