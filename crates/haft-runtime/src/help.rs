//! `tool_help`: what a tool takes, what it may do, and why a call of it would ask.
//!
//! It lives here and not with the built-in tools, since it needs the catalogue.

use crate::{Catalogue, catalogue::Resolved};
use haft_core::{AnyTool, Exposure, Failure, Permission, Risk, Spec, tool};
use schemars::JsonSchema;
use serde::Deserialize;
use std::{fmt::Write, sync::Arc};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct HelpInput {
    /// The tool's name
    name: String,
}

/// The tool for one catalogue.
pub fn tool_help(catalogue: &Catalogue) -> Arc<dyn AnyTool> {
    let catalogue = catalogue.clone();
    tool("tool_help", "Shows a tool's full schema, examples, permissions, and why a call of it would ask.")
        .read_only()
        .touches_nothing()
        .risk(Risk::Safe)
        .with(|spec| {
            spec.concurrency_safe()
                .with_capabilities(&["tool.meta"])
                .with_category("meta")
                .with_exposure(Exposure::Deferred)
                .with_display("?", "Looking up")
        })
        .run(move |input: HelpInput, _| {
            let snapshot = catalogue.snapshot();
            let text = match snapshot.resolve(&input.name) {
                Resolved::Tool(offer, _) => Ok(describe(&offer.name, &offer.owner, offer.spec())),
                Resolved::Gone(owner) => {
                    Err(Failure::not_found(format!("\"{}\" is no longer offered by {owner}", input.name)))
                }
                Resolved::Unknown(nearest) => Err(Failure::not_found(format!(
                    "there is no tool \"{}\"; the nearest names are: {}",
                    input.name,
                    nearest.join(", ")
                ))),
            };
            std::future::ready(text)
        })
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
