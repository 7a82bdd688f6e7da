//! A tool's schema as each provider accepts it.
//!
//! What is sent may say less than the tool's own schema, never something else: every call is checked against the whole
//! schema by the call path, whatever the model was shown. A pure function; it fetches nothing.

mod dialect;
mod expand;
mod keys;
mod root;
mod trim;

pub use dialect::Dialect;
pub use keys::Keys;

use haft_core::Spec;
use serde_json::Value;

/// Most schemas within one tool's schema after its references were put in place.
const NODES_MAX: usize = 10_000;
/// How much of what isn't a schema itself, such as listed values, is copied to where references are.
const COPIED_MAX_MIB: usize = 4;

/// Why a schema can't be sent: the tool is set aside.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LowerError {
    /// A reference to another document, which is never fetched.
    #[error("its schema refers to {0}, which isn't part of it; put what is meant under $defs")]
    Foreign(String),
    /// A reference that leads nowhere.
    #[error("its schema refers to {0}, which isn't there")]
    Dangling(String),
    /// References that multiply.
    #[error(
        "its schema has more than {NODES_MAX} parts, or {COPIED_MAX_MIB} MiB of values and texts, once its references \
         are in place; make it smaller"
    )]
    TooLarge,
    /// Nothing that an object could be.
    #[error("its schema takes no object, and a model can only send one: {0}")]
    NoObject(String),
}

/// A schema as one provider accepts it.
#[derive(Debug, Clone, PartialEq)]
pub struct Lowered {
    /// What is sent.
    pub schema: Value,
    /// What it can't say, in words for the end of the description; empty where it says all.
    pub rule: String,
    /// Which properties are sent under other names.
    pub keys: Keys,
}

impl Lowered {
    /// A description with what the schema can't say.
    pub fn describe(&self, description: &str) -> String {
        if self.rule.is_empty() { description.to_owned() } else { format!("{description}\n{}", self.rule) }
    }
}

/// Lowers a tool's input schema for a provider.
///
/// # Errors
/// [`LowerError`] where nothing can be made of it that the provider accepts.
pub fn lower(schema: &Value, dialect: Dialect) -> Result<Lowered, LowerError> {
    let mut budget = NODES_MAX;
    let expanded = expand::expand(schema, &mut budget)?;
    let (merged, mut rules) = root::merge(expanded)?;
    let mut schema = trim::trim(merged, dialect);
    let keys = if dialect.limits_keys() { Keys::shorten(&mut schema) } else { Keys::default() };
    if !keys.is_empty() {
        rules.push(keys.rule());
    }
    Ok(Lowered { schema, rule: rules.join(" "), keys })
}

/// Lowers a tool's own schema.
///
/// # Errors
/// As [`lower`].
pub fn lower_spec(spec: &Spec, dialect: Dialect) -> Result<Lowered, LowerError> {
    lower(&spec.input_schema, dialect)
}

#[cfg(test)]
mod tests;
