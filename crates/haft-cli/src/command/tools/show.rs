//! One tool: what it is, what it takes, how it is called.

use super::{exposure, permission};
use crate::{
    app::{App, Tools},
    print,
    status::Status,
    terminal::clean,
    trouble::Trouble,
};
use haft_core::{Effects, Ground, Needs, Reach, Risk, Spec};
use haft_runtime::{Offer, Resolved};
use serde_json::{Value, json};
use std::sync::Arc;

/// Shows a tool.
///
/// # Errors
/// There is none of that name.
pub(in crate::command) fn show(app: &App, tools: &Tools, name: &str, json: bool) -> anyhow::Result<Status> {
    let snapshot = app.snapshot(tools);
    let offer = match snapshot.resolve(name) {
        Resolved::Tool(offer, _) => offer,
        Resolved::Gone(_) => return Err(unknown(name, &[]).into()),
        Resolved::Unknown(near) => {
            let unknown = match snapshot.missing(name) {
                Some(why) => Trouble::usage(format!("there is no tool \"{name}\""), why),
                None => unknown(name, &near),
            };
            return Err(unknown.into());
        }
    };
    if json {
        print::json(&object(offer)?)?;
    } else {
        print::line(&clean(&page(app, offer)));
    }
    Ok(Status::Completed)
}

fn unknown(name: &str, near: &[Arc<str>]) -> Trouble {
    let fix = match near {
        [] => "run `haft tools` to see which there are".to_owned(),
        near => format!("did you mean {}?", near.join(", ")),
    };
    Trouble::usage(format!("there is no tool \"{name}\""), fix)
}

fn object(offer: &Offer) -> anyhow::Result<Value> {
    let spec = offer.spec();
    let mut value = serde_json::to_value(spec.as_ref())?;
    if let Some(object) = value.as_object_mut() {
        let effective = json!({
            "modelName": offer.name,
            "owner": offer.owner,
            "hash": offer.hash,
            "permission": spec.permission(),
            "mutates": spec.mutates(),
            "risk": spec.risk(),
            "compactable": spec.compactable(),
            "timeoutMs": u64::try_from(spec.timeout().as_millis()).unwrap_or(u64::MAX),
        });
        if let Value::Object(effective) = effective {
            object.extend(effective);
        }
    }
    Ok(value)
}

fn page(app: &App, offer: &Offer) -> String {
    let spec = offer.spec();
    let mut lines =
        vec![format!("{} — {}", offer.name, spec.label()), String::new(), spec.description.trim().to_owned()];
    if let Some(hint) = &spec.usage_hint {
        lines.extend([String::new(), "What models read instead:".to_owned(), hint.trim().to_owned()]);
    }
    lines.push(String::new());
    let mut rows = vec![
        row("owner", &offer.owner),
        row("exposure", exposure(spec.exposure)),
        row("permission", permission(app, offer)),
        row("risk", risk(spec.risk())),
        row("read-only", yes(spec.read_only)),
        row("mutates", yes(spec.mutates())),
        row("concurrent", yes(spec.concurrency_safe)),
        row("idempotent", yes(spec.idempotent)),
        row("timeout", &format!("{} s", spec.timeout().as_secs_f64())),
        row("category", &spec.category),
    ];
    if !spec.aliases.is_empty() {
        rows.push(row("aliases", &spec.aliases.join(", ")));
    }
    if !spec.capabilities.is_empty() {
        rows.push(row("capabilities", &spec.capabilities.iter().cloned().collect::<Vec<_>>().join(", ")));
    }
    rows.extend(sandbox(spec).map(|kept| row("sandbox", &kept)));
    rows.extend(offer.hash.as_ref().map(|hash| row("hash", hash)));
    lines.push(print::table(&rows));
    lines.extend([String::new(), "Input:".to_owned(), keys(spec)]);
    for (index, example) in spec.examples.iter().enumerate() {
        if index == 0 {
            lines.extend([String::new(), "Examples:".to_owned()]);
        }
        lines.push(format!("  haft call {} '{}'", offer.name, example.input));
        lines.push(format!("    gives {}", example.expect));
    }
    lines.join("\n")
}

/// How its processes are kept in.
fn sandbox(spec: &Spec) -> Option<String> {
    let Some(profile) = &spec.profile else { return spec.confined.then(|| "as all commands".to_owned()) };
    if profile.off {
        let whose = if profile.by_user { "by your settings" } else { "by its own wish, which is asked" };
        return Some(format!("none, {whose}"));
    }
    let effects = if spec.effects.is_some() { Effects::none() } else { Effects::Everything };
    let roots = ["the workspace".to_owned()];
    let allowance = profile.allowance(&Needs::of(spec, &effects), Ground { roots: &roots, home: None });
    let workspace = roots.iter().filter(|_| allowance.closed.is_empty());
    let changes: Vec<&str> = workspace.chain(&profile.writable).map(String::as_str).collect();
    let reaches = match &allowance.network {
        None => "the hosts of [sandbox] network".to_owned(),
        Some(Reach::Closed) => "nobody".to_owned(),
        Some(Reach::Open) => "any host".to_owned(),
        Some(Reach::Hosts(hosts)) => hosts.join(", "),
    };
    let changes = if changes.is_empty() { "temporary files".to_owned() } else { changes.join(", ") };
    let stated = spec.effects.as_ref().map_or("", |_| ", besides what a call states");
    Some(format!("changes {changes}, reaches {reaches}{stated}"))
}

/// The keys of the input, as they can be typed after the tool's name.
fn keys(spec: &Spec) -> String {
    let properties = spec.input_schema.get("properties").and_then(Value::as_object);
    let required = spec.input_schema.get("required").and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
    let rows: Vec<Vec<String>> = properties
        .into_iter()
        .flatten()
        .map(|(name, schema)| {
            let mut about =
                schema.get("description").and_then(Value::as_str).unwrap_or_default().trim().to_owned();
            if is_required(name) {
                about = format!("(required) {about}");
            }
            vec![format!("  --{name}"), kind(schema), print::one_line(&about, 120)]
        })
        .collect();
    if rows.is_empty() { "  (none)".to_owned() } else { print::table(&rows) }
}

fn kind(schema: &Value) -> String {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let shown: Vec<String> = values
            .iter()
            .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            .collect();
        return shown.join("|");
    }
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "array" => {
            let items = schema.get("items").map(kind_of_items).unwrap_or_default();
            format!("list{items}")
        }
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("|"),
        _ => "any".to_owned(),
    }
}

fn kind_of_items(items: &Value) -> String {
    format!(" of {}", kind(items))
}

fn row(name: &str, value: &str) -> Vec<String> {
    vec![format!("  {name}"), value.to_owned()]
}

fn yes(holds: bool) -> &'static str {
    if holds { "yes" } else { "no" }
}

fn risk(risk: Risk) -> &'static str {
    match risk {
        Risk::Safe => "safe",
        Risk::Standard => "standard",
        Risk::Destructive => "destructive",
    }
}
