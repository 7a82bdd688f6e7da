//! `tool_help`: what a tool takes, what it may do, and why a call of it would ask. A deferred tool that was looked up
//! is sent to the model from then on.
//!
//! It lives here and not with the built-in tools, since it needs the catalogue.

use crate::{
    Catalogue,
    catalogue::Resolved,
    find,
    seal::{NAME_MAX_BYTES, shortened},
};
use haft_core::{
    AnyTool, Cx, Effects, Exposure, Failure, Output, Permission, Risk, SessionView, Spec, Tool, Touch, erase,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::{fmt::Write, sync::Arc};

/// The tool's name.
const NAME: &str = "tool_help";

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
            .with_exposure(Exposure::Deferred)
            .with_display("?", "Looking up")
    }

    fn effects(&self, _: &HelpInput, _: &dyn SessionView) -> Effects {
        Effects::Only(vec![Touch::Session(find::LOADED.into())])
    }

    async fn run(&self, input: HelpInput, cx: &Cx) -> Result<Output, Failure> {
        let name = shortened(&input.name, NAME_MAX_BYTES).unwrap_or_else(|| input.name.clone());
        match self.catalogue.snapshot().resolve(&input.name) {
            Resolved::Tool(offer, _) if cx.session.shows(&offer.name) => {
                let mut output = Output::text(describe(&offer.name, &offer.owner, offer.spec()));
                if matches!(offer.spec().exposure, Exposure::Deferred | Exposure::Auto) {
                    find::load(&mut output, &offer.name);
                }
                Ok(output)
            }
            Resolved::Gone(owner) => {
                Err(Failure::not_found(format!("\"{name}\" is no longer offered by {owner}")))
            }
            // What this session doesn't offer isn't spoken of.
            Resolved::Tool(..) => Err(Failure::not_found(none(&name, &[]))),
            Resolved::Unknown(mut nearest) => {
                nearest.retain(|name| cx.session.shows(name));
                Err(Failure::not_found(none(&name, &nearest)))
            }
        }
    }
}

/// That there is no such tool, and what there is in its stead.
fn none(name: &str, nearest: &[Arc<str>]) -> String {
    if nearest.is_empty() {
        return format!("there is no tool \"{name}\"; look for one that does what you want with tool_search");
    }
    format!("there is no tool \"{name}\"; the nearest names are: {}", nearest.join(", "))
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
