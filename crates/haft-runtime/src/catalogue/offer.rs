//! One registered tool, ready to be called.

use super::RegisterError;
use crate::{intake::Checker, lower};
use haft_core::{AnyTool, Spec, ToolName};
use serde_json::Value;
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

/// A tool as a snapshot offers it.
#[derive(Clone)]
pub struct Offer {
    /// The name that a model calls.
    pub name: Arc<str>,
    /// Who registered it.
    pub owner: Arc<str>,
    /// The tool.
    pub tool: Arc<dyn AnyTool>,
    /// Hash of definition and content, for tools that aren't built in.
    pub hash: Option<Arc<str>>,
    /// Who has it ask more than it declares by itself, where somebody's wrapper does.
    pub(crate) asked_by: Option<Arc<str>>,
    pub(crate) input: Arc<Checker>,
    pub(crate) output: Option<Arc<Checker>>,
    pub(crate) live: Arc<AtomicBool>,
    /// About how many tokens its definition costs a model.
    pub(crate) tokens: usize,
    /// Tells registrations of one name apart.
    pub(crate) id: u64,
}

static OFFERS: AtomicU64 = AtomicU64::new(1);

impl Offer {
    /// Checks the declaration and compiles its schemas.
    pub(super) fn new(
        tool: Arc<dyn AnyTool>,
        owner: &str,
        hash: Option<Arc<str>>,
    ) -> Result<Self, RegisterError> {
        let spec = Arc::clone(tool.spec());
        let name = ToolName::parse(&spec.name)
            .and_then(|name| name.within(spec.namespace.as_deref()))
            .map_err(|error| RegisterError::Name(error.to_string()))?;
        if owner == "core" && !is_builtin_name(&spec.name) {
            return Err(RegisterError::Name(format!(
                "Invalid tool name \"{}\" — a built-in starts with a small letter and has no capitals",
                spec.name
            )));
        }
        if spec.description.trim().is_empty() {
            return Err(RegisterError::Description(spec.name.to_string()));
        }
        let input = compile_input(&spec)?;
        let output = match &spec.output_schema {
            Some(schema) => Some(Arc::new(
                Checker::compile(schema)
                    .map_err(|why| RegisterError::OutputSchema { tool: spec.name.to_string(), why })?,
            )),
            None => None,
        };
        Ok(Self {
            name: name.as_str().into(),
            owner: owner.into(),
            tool,
            hash,
            asked_by: None,
            input: Arc::new(input),
            output,
            live: Arc::new(AtomicBool::new(true)),
            tokens: tokens_of(&spec),
            id: OFFERS.fetch_add(1, Ordering::Relaxed),
        })
    }

    /// The declaration.
    pub fn spec(&self) -> &Arc<Spec> {
        self.tool.spec()
    }

    /// Whether it is built in.
    pub fn is_core(&self) -> bool {
        self.owner.as_ref() == "core"
    }

    /// Whether its source still offers it.
    pub fn is_live(&self) -> bool {
        self.live.load(Ordering::Acquire)
    }
}

impl std::fmt::Debug for Offer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Offer({} by {})", self.name, self.owner)
    }
}

/// About how many tokens a definition costs: four bytes make one, in JSON and in English.
fn tokens_of(spec: &Spec) -> usize {
    (spec.name.len() + spec.prompt().len() + spec.input_schema.to_string().len()) / 4
}

fn is_builtin_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-')
}

fn compile_input(spec: &Spec) -> Result<Checker, RegisterError> {
    let fault = |why: String| RegisterError::InputSchema { tool: spec.name.to_string(), why };
    let root = spec.input_schema.as_object().ok_or_else(|| fault("it must be an object".to_owned()))?;
    if root.get("type").and_then(Value::as_str) != Some("object") {
        return Err(fault("its root must have \"type\": \"object\"".to_owned()));
    }
    // What no provider could be sent is set aside now, not at the first request.
    lower::lower(&spec.input_schema, lower::Dialect::Plain).map_err(|error| fault(error.to_string()))?;
    Checker::compile(&spec.input_schema).map_err(fault)
}
