//! `tool_help`: what a tool takes, what it may do, and why a call of it would ask. A deferred tool that was looked up
//! is sent to the model from then on.
//!
//! It lives here and not with the built-in tools, since it needs the catalogue.

use crate::{Catalogue, Offer, Session, Snapshot, catalogue::Resolved};
use haft_core::{
    AnyTool, Cx, Effects, Exposure, Failure, Output, Permission, Risk, SessionView, Spec, Tool, Touch, erase,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::{fmt::Write, sync::Arc};

/// The tool's name.
const NAME: &str = "tool_help";
/// The key of the session's state that holds the names of the deferred tools which were looked up.
const LOADED: &str = "loaded";
/// How many deferred tools are named in the definition.
const NAMED_MAX: usize = 40;

impl Session {
    /// Whether a tool's definition goes with each request of this session.
    pub fn sends(&self, offer: &Offer) -> bool {
        let spec = offer.spec();
        match spec.exposure {
            Exposure::Direct => true,
            Exposure::Deferred => spec.always_load || self.has_loaded(&offer.name),
            Exposure::Code | Exposure::Hidden => false,
        }
    }

    /// What the model reads about a tool. The one that loads others names those that aren't sent.
    pub fn prompt_of(&self, offer: &Offer, snapshot: &Snapshot) -> String {
        let sent = || {
            let of_scripts = |other: &&Offer| other.spec().exposure == Exposure::Code;
            let shown = |other: &&Offer| (self.sends(other) || of_scripts(other)) && !self.denies(other);
            snapshot
                .offers()
                .filter(shown)
                .map(|other| (Arc::clone(&other.name), Arc::clone(other.spec())))
                .collect::<Vec<_>>()
        };
        let prompt = offer.tool.prompt_beside(&sent).unwrap_or_else(|| offer.spec().prompt().to_owned());
        if offer.name.as_ref() != NAME || !offer.is_core() {
            return prompt;
        }
        let deferred: Vec<&str> = snapshot
            .offers()
            .filter(|other| {
                other.spec().exposure == Exposure::Deferred && !self.sends(other) && !self.denies(other)
            })
            .map(|other| other.name.as_ref())
            .collect();
        if deferred.is_empty() {
            return prompt;
        }
        let named = deferred.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join(", ");
        let more = match deferred.len().saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{prompt} Makes these available: {named}{more}.")
    }

    fn has_loaded(&self, name: &str) -> bool {
        let loaded = self.state_of(LOADED);
        let names = loaded.as_ref().and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|loaded| loaded.as_str() == Some(name)))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HelpInput {
    /// The tool's name
    name: String,
}

/// The tool for one catalogue.
pub fn tool_help(catalogue: &Catalogue) -> Arc<dyn AnyTool> {
    erase(ToolHelp { catalogue: catalogue.clone() })
}

struct ToolHelp {
    catalogue: Catalogue,
}

impl Tool for ToolHelp {
    type Input = HelpInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        Spec::new(NAME, "Shows a tool's full schema, examples, permissions, and why a call of it would ask.")
            .read_only()
            .with_risk(Risk::Safe)
            .concurrency_safe()
            .with_capabilities(&["tool.meta"])
            .with_category("meta")
            .with_display("?", "Looking up")
    }

    fn effects(&self, _: &HelpInput, _: &dyn SessionView) -> Effects {
        Effects::Only(vec![Touch::Session(LOADED.into())])
    }

    async fn run(&self, input: HelpInput, cx: &Cx) -> Result<Output, Failure> {
        match self.catalogue.snapshot().resolve(&input.name) {
            Resolved::Tool(offer, _) => {
                let mut output = Output::text(describe(&offer.name, &offer.owner, offer.spec()));
                if offer.spec().exposure == Exposure::Deferred {
                    let loaded = with(cx.session.state(LOADED), &offer.name);
                    output.session.push((LOADED.into(), loaded));
                }
                Ok(output)
            }
            Resolved::Gone(owner) => {
                Err(Failure::not_found(format!("\"{}\" is no longer offered by {owner}", input.name)))
            }
            Resolved::Unknown(nearest) => Err(Failure::not_found(format!(
                "there is no tool \"{}\"; the nearest names are: {}",
                input.name,
                nearest.join(", ")
            ))),
        }
    }
}

/// The list with one name more.
fn with(loaded: Option<Value>, name: &str) -> Value {
    let mut names = match loaded {
        Some(Value::Array(names)) => names,
        _ => Vec::new(),
    };
    if !names.iter().any(|known| known.as_str() == Some(name)) {
        names.push(Value::from(name));
    }
    Value::Array(names)
}

/// All that a model may want to know of a tool.
fn describe(name: &str, owner: &str, spec: &Spec) -> String {
    let mut text = format!("{name} (by {owner})\n{}\n", spec.description);
    if !spec.aliases.is_empty() {
        let _ = writeln!(text, "also called: {}", spec.aliases.join(", "));
    }
    let asks = match (spec.permission(), spec.risk()) {
        (Permission::Deny, _) => "always refused",
        (_, Risk::Destructive) => "always asks: what it does can't be undone",
        (Permission::Confirm, _) => "asks, unless a rule, a grant or the mode allows it",
        (Permission::Auto, _) => "runs without asking, unless a rule says otherwise",
    };
    let _ = writeln!(text, "permission: {asks}");
    let kind = if spec.read_only { "changes nothing" } else { "may change things; refused in plan mode" };
    let _ = writeln!(text, "effects: {kind}");
    let _ = writeln!(
        text,
        "time limit: {} s, output limit: {} bytes",
        spec.timeout().as_secs(),
        spec.max_output_bytes
    );
    let _ = writeln!(text, "input schema: {}", spec.input_schema);
    for (property, names) in &spec.input_aliases {
        let _ = writeln!(text, "  {property} may also be given as {}", names.join(", "));
    }
    for example in &spec.examples {
        let _ = writeln!(text, "example: {} gives {}", example.input, example.expect);
    }
    text
}
