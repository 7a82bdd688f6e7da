//! The declaration in a manifest: the optional fields that all tools have, each under every name it may have.

use super::{OutputForm, fields::Fields};
use crate::intake::Checker;
use haft_core::{EffectTemplate, Profile, Spec, ToolName};
use serde_json::{Map, Value};
use std::num::{NonZeroU64, NonZeroUsize};

/// A command's time where its manifest says nothing.
const TIMEOUT_MS: u64 = 25_000;
const FLAG: &str = "true or false";
const TEXT: &str = "a string";
const TEXTS: &str = "a list of strings";
const NUMBER: &str = "a whole number above 0";

/// Reads all that a tool says about itself besides its name and its command.
pub(super) fn read_spec(fields: &mut Fields<'_>, name: &str) -> Spec {
    let mut spec = Spec::new(name, read_description(fields, name));
    read_texts(fields, &mut spec);
    read_flags(fields, &mut spec);
    read_bounds(fields, &mut spec);
    spec.input_schema = read_schema(fields, name);
    if let Some(effects) =
        fields.take(&["effects"], "{\"reads\": [\"{path}\"], \"writes\": […], \"hosts\": […]}")
    {
        check_effects(fields, &effects, &spec);
        spec.effects = Some(effects);
    }
    // One that says nothing is kept in by what it declares.
    let example = "{\"network\": [\"api.example.com\"], \"writable\": [\"~/.cache/x\"]}";
    let profile = fields.take::<Profile>(&["sandbox"], example);
    spec.with_profile(profile.unwrap_or_default())
}

fn read_description(fields: &mut Fields<'_>, name: &str) -> String {
    let given = fields.pointer(&["description"]).is_some();
    let text = fields.take::<String>(&["description"], TEXT);
    let is_wrong_type = given && text.is_none();
    let text = text.unwrap_or_default();
    if text.trim().is_empty() && !is_wrong_type {
        let fix = "write a \"description\": what it does, what it returns and when to choose it";
        fields.fault("/description", format!("tool \"{name}\" has no description"), fix);
    }
    text
}

fn read_texts(fields: &mut Fields<'_>, spec: &mut Spec) {
    spec.namespace = fields.take(&["namespace"], TEXT);
    if let Some(namespace) = spec.namespace.clone()
        && let Ok(name) = ToolName::parse(&spec.name)
        && let Err(error) = name.within(Some(&*namespace))
    {
        fields.fault("/namespace", error.to_string(), "write dotted parts of letters, digits, _ and -");
    }
    fields.set(&mut spec.aliases, &["aliases"], TEXTS);
    spec.usage_hint = fields.take(&["usageHint"], TEXT);
    fields.set(&mut spec.input_aliases, &["inputAliases"], "{\"path\": [\"file_path\"]}");
    fields.set(&mut spec.category, &["category"], TEXT);
    fields.set(&mut spec.capabilities, &["capabilities"], TEXTS);
    fields.set(&mut spec.secrets, &["secrets"], TEXTS);
    if !spec.secrets.is_empty() {
        let text = "\"secrets\" only says what it needs: whoever uses it says in the settings what it gets";
        fields.warn(
            "/secrets",
            text,
            "write under [tools.NAME] in the settings: env = { VARIABLE = \"secret:NAME\" }",
        );
    }
    fields.set(
        &mut spec.display,
        &["display"],
        "{\"icon\": …, \"label\": …, \"activityVerb\": …, \"kind\": …}",
    );
    fields.set(&mut spec.examples, &["examples"], "[{\"input\": {…}, \"expect\": …}]");
}

fn read_flags(fields: &mut Fields<'_>, spec: &mut Spec) {
    spec.declared_permission = fields.take(&["permission"], "\"auto\", \"confirm\" or \"deny\"");
    spec.declared_risk = fields.take(&["risk", "riskTier"], "\"safe\", \"standard\" or \"destructive\"");
    fields.set(&mut spec.read_only, &["readOnly"], FLAG);
    let mutates = ["mutates", "mutating"];
    spec.declared_mutates = fields.take(&mutates, FLAG);
    if spec.read_only && spec.declared_mutates == Some(true) {
        let pointer = fields.pointer(&mutates).unwrap_or_default();
        let text = "\"readOnly\" is true, and so is that it mutates";
        fields.fault(&pointer, text, "drop \"readOnly\" if the tool changes anything, else this");
    }
    fields.set(&mut spec.concurrency_safe, &["concurrencySafe"], FLAG);
    fields.set(&mut spec.idempotent, &["idempotent"], FLAG);
    fields.set(&mut spec.untrusted_source, &["untrustedSource"], FLAG);
    fields.set(&mut spec.enabled, &["enabled"], FLAG);
    spec.declared_compactable = fields.take(&["compactable"], FLAG);
    fields.set(&mut spec.exposure, &["exposure"], "\"direct\", \"deferred\", \"code\" or \"hidden\"");
    fields.set(&mut spec.always_load, &["alwaysLoad"], FLAG);
    fields.set(&mut spec.code_mode, &["codeMode"], FLAG);
}

fn read_bounds(fields: &mut Fields<'_>, spec: &mut Spec) {
    fields.set(&mut spec.long_running, &["longRunning"], FLAG);
    spec.timeout_ms = fields.take(&["timeoutMs"], NUMBER).map(NonZeroU64::get);
    if spec.timeout_ms.is_none() && !spec.long_running {
        spec.timeout_ms = Some(TIMEOUT_MS);
    }
    spec.estimated_duration_ms = fields.take(&["estimatedDurationMs"], NUMBER);
    if let Some(bytes) = fields.take::<NonZeroUsize>(&["maxOutputBytes"], NUMBER) {
        spec.max_output_bytes = bytes.get();
    }
    spec.persistence_quota = fields.take(&["persistenceQuota"], NUMBER);
}

fn read_schema(fields: &mut Fields<'_>, name: &str) -> Value {
    let names = ["parameters", "inputSchema"];
    let pointer = fields.pointer(&names).unwrap_or_default();
    let mut schema =
        fields.take::<Map<String, Value>>(&names, "a JSON Schema, an object").unwrap_or_default();
    schema.entry("type").or_insert_with(|| "object".into());
    schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    let is_object = schema.get("type").is_some_and(|kind| kind == "object");
    let schema = Value::Object(schema);
    let why = if is_object {
        Checker::compile(&schema).err()
    } else {
        Some("/type: its root must have \"type\": \"object\"".to_owned())
    };
    if let Some(why) = why {
        let place = why.split_once(": ").map(|(place, _)| place).filter(|place| place.starts_with('/'));
        let at = format!("{pointer}{}", place.unwrap_or_default());
        let fix = "make it a JSON Schema, as {\"type\": \"object\", \"properties\": {\"a\": {\"type\": \"string\"}}}";
        fields.fault(&at, format!("Invalid inputSchema for tool \"{name}\": {why}"), fix);
    }
    schema
}

/// Reads the output schema, which only a form with structured output can meet.
pub(super) fn check_output_schema(fields: &mut Fields<'_>, mut spec: Spec, output: OutputForm) -> Spec {
    spec.output_schema =
        fields.take::<Map<String, Value>>(&["outputSchema"], "a JSON Schema, an object").map(Value::Object);
    let Some(schema) = &spec.output_schema else {
        return spec;
    };
    if let Err(why) = Checker::compile(schema) {
        let text = format!("Invalid outputSchema for tool \"{}\": {why}", spec.name);
        fields.fault("/outputSchema", text, "make it a JSON Schema of what the command prints");
    } else if output == OutputForm::Text {
        let text = "\"outputSchema\" is ignored, since the output is text";
        fields.warn("/outputSchema", text, "add \"output\": \"json\" or \"events\"");
        spec.output_schema = None;
    }
    spec
}

/// A template with a field that no input has would say that nothing is touched.
fn check_effects(fields: &mut Fields<'_>, effects: &EffectTemplate, spec: &Spec) {
    if spec.read_only && !effects.writes.is_empty() {
        let text = "\"readOnly\" is true, but \"effects\" says that it writes";
        fields.fault("/effects/writes", text, "drop one of them");
    }
    let lists = [("reads", &effects.reads), ("writes", &effects.writes), ("hosts", &effects.hosts)];
    for (list, templates) in lists {
        for field in templates.iter().flat_map(|template| template.split('{').skip(1)) {
            let name = field.split_once('}').map(|(name, _)| name);
            let known =
                |name: &str| spec.input_schema.get("properties").is_some_and(|all| all.get(name).is_some());
            if !name.is_some_and(known) {
                let text = format!(
                    "\"effects\" names {{{}}}, which is no field of the input",
                    name.unwrap_or(field)
                );
                let fix = "put a property of \"parameters\" between the braces";
                fields.fault(&format!("/effects/{list}"), text, fix);
            }
        }
    }
}
