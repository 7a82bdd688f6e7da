//! What a tool declares about itself. Every default is the careful one.

use crate::{EffectTemplate, Profile, ToolName, humanise};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

/// Hard cap for one call unless the tool says otherwise.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// Hard cap for one call of a tool that declares itself long-running.
pub const LONG_TIMEOUT: Duration = Duration::from_secs(600);
/// Most bytes of text that go to the model for one call.
pub const OUTPUT_MAX_BYTES: usize = 51_200;
/// Most lines of text that go to the model for one call.
pub const OUTPUT_MAX_LINES: usize = 2_000;

/// How a tool wants to be allowed: the order is from loosest to strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Permission {
    /// Runs without a prompt.
    Auto,
    /// Asks first.
    Confirm,
    /// Refused before anything runs.
    Deny,
}

/// How much harm a call can do: the order is from least to most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Risk {
    /// None.
    Safe,
    /// What can be put right again.
    Standard,
    /// What can't; asks even in `yolo` mode.
    Destructive,
}

/// How a tool is offered to the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Exposure {
    /// Its definition is sent with each request.
    #[default]
    Direct,
    /// Sent while all definitions together are small, else found by search.
    Auto,
    /// Found by search, loaded on demand.
    Deferred,
    /// Only inside code mode.
    Code,
    /// Callable by name, not advertised.
    Hidden,
}

/// How a call is shown to people.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Display {
    /// The kind of card; an unknown one gets the generic card.
    pub kind: Option<String>,
    /// One character or emoji.
    pub icon: Option<String>,
    /// The tool's name for people.
    pub label: Option<String>,
    /// What it does while it runs: "Reading", "Running".
    pub activity_verb: Option<String>,
}

/// An input with the output it must give; shown in help and run as a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Example {
    /// The input.
    pub input: Value,
    /// The exact text, or a subset of the JSON that comes back.
    pub expect: Value,
}

/// What a tool says about one input, where that differs from what it says about itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags {
    /// The permission for this input.
    pub permission: Option<Permission>,
    /// Whether this input has no side effect.
    pub read_only: Option<bool>,
    /// Whether this input is refused in plan mode; default: unless it is read-only.
    pub mutates: Option<bool>,
    /// Whether this input may run beside other calls.
    pub concurrency_safe: Option<bool>,
    /// The risk of this input.
    pub risk: Option<Risk>,
}

/// A tool's declaration. Make it with [`Spec::new`] and the methods named after the fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Spec {
    /// `[A-Za-z0-9_-]{1,64}`; checked at registration.
    pub name: Arc<str>,
    /// Dotted segments; the model sees `<namespace>_<name>`.
    pub namespace: Option<Arc<str>>,
    /// Older or foreign names; they never hide a real tool.
    pub aliases: Vec<Arc<str>>,
    /// What the model reads: what it does, what it returns, when to choose it.
    pub description: String,
    /// Replaces the description in the prompt.
    pub usage_hint: Option<String>,
    /// JSON Schema with an object at the root.
    pub input_schema: Value,
    /// For a property, the other names that models use for it; accepted, never advertised.
    pub input_aliases: BTreeMap<String, Vec<String>>,
    /// JSON Schema of the structured output.
    pub output_schema: Option<Value>,
    /// Grouping; a tool set can be chosen by it.
    pub category: String,
    /// How it wants to be allowed; see [`Spec::permission`].
    #[serde(rename = "permission")]
    pub declared_permission: Option<Permission>,
    /// No side effect anybody could observe.
    pub read_only: bool,
    /// Its processes run in the sandbox.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub confined: bool,
    /// The sandbox of its own that a described tool's processes run in; none where it has none of its own.
    #[serde(rename = "sandbox", skip_serializing_if = "says_nothing")]
    pub profile: Option<Profile>,
    /// Refused in plan mode; see [`Spec::mutates`].
    #[serde(rename = "mutates")]
    pub declared_mutates: Option<bool>,
    /// See [`Spec::risk`].
    #[serde(rename = "risk")]
    pub declared_risk: Option<Risk>,
    /// May run beside other calls.
    pub concurrency_safe: bool,
    /// May be repeated after an unclear failure.
    pub idempotent: bool,
    /// What it returns was written by strangers.
    pub untrusted_source: bool,
    /// Tags that policies allow and deny by.
    pub capabilities: BTreeSet<String>,
    /// Names of stored credentials it needs.
    pub secrets: Vec<String>,
    /// Effects as a template over the input, for tools described by a manifest.
    pub effects: Option<EffectTemplate>,
    /// Whether it is offered at all.
    pub enabled: bool,
    /// 600 s in place of 60 s.
    pub long_running: bool,
    /// Hard cap for one call in milliseconds; see [`Spec::timeout`].
    pub timeout_ms: Option<u64>,
    /// A hint for progress displays.
    pub estimated_duration_ms: Option<u64>,
    /// Hard cap in bytes on what goes to the model.
    pub max_output_bytes: usize,
    /// Characters; a longer result goes to disk whole, with a preview for the model.
    pub persistence_quota: Option<usize>,
    /// Whether old results may be dropped; default: read-only.
    #[serde(rename = "compactable")]
    pub declared_compactable: Option<bool>,
    /// How it is offered.
    pub exposure: Exposure,
    /// Keeps a deferred tool loaded.
    pub always_load: bool,
    /// May be called from inside a script.
    pub code_mode: bool,
    /// How it is shown.
    pub display: Display,
    /// Inputs with the outputs they must give.
    pub examples: Vec<Example>,
    /// The definition as a source that speaks the Model Context Protocol gave it, for hosts that speak it too; its
    /// name isn't the one that counts here.
    #[serde(skip)]
    pub foreign: Option<Arc<Value>>,
}

/// A profile that goes by the declaration says nothing by itself.
#[allow(clippy::ref_option, reason = "serde hands over a reference to the field")]
fn says_nothing(profile: &Option<Profile>) -> bool {
    profile.as_ref().is_none_or(Profile::is_plain)
}

impl Spec {
    /// A careful declaration: asks first, runs alone, standard risk, no input.
    pub fn new(name: impl Into<Arc<str>>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            namespace: None,
            aliases: Vec::new(),
            description: description.into(),
            usage_hint: None,
            input_schema: json!({"type": "object", "properties": {}}),
            input_aliases: BTreeMap::new(),
            output_schema: None,
            category: "workflow".to_owned(),
            declared_permission: None,
            read_only: false,
            confined: false,
            profile: None,
            declared_mutates: None,
            declared_risk: None,
            concurrency_safe: false,
            idempotent: false,
            untrusted_source: false,
            capabilities: BTreeSet::new(),
            secrets: Vec::new(),
            effects: None,
            enabled: true,
            long_running: false,
            timeout_ms: None,
            estimated_duration_ms: None,
            max_output_bytes: OUTPUT_MAX_BYTES,
            persistence_quota: None,
            declared_compactable: None,
            exposure: Exposure::Direct,
            always_load: false,
            code_mode: true,
            display: Display::default(),
            examples: Vec::new(),
            foreign: None,
        }
    }

    /// `confirm`, or `auto` where read-only, unless declared.
    pub fn permission(&self) -> Permission {
        self.declared_permission.unwrap_or(if self.read_only {
            Permission::Auto
        } else {
            Permission::Confirm
        })
    }

    /// `standard` unless declared.
    pub fn risk(&self) -> Risk {
        self.declared_risk.unwrap_or(Risk::Standard)
    }

    /// Not read-only, unless declared.
    pub fn mutates(&self) -> bool {
        self.declared_mutates.unwrap_or(!self.read_only)
    }

    /// Read-only, unless declared.
    pub fn compactable(&self) -> bool {
        self.declared_compactable.unwrap_or(self.read_only)
    }

    /// The hard cap for one call.
    pub fn timeout(&self) -> Duration {
        match self.timeout_ms {
            Some(ms) => Duration::from_millis(ms),
            None if self.long_running => LONG_TIMEOUT,
            None => TIMEOUT,
        }
    }

    /// The name that the model calls; the bare name where the namespace is unusable.
    pub fn model_name(&self) -> Arc<str> {
        ToolName::parse(&self.name)
            .and_then(|name| name.within(self.namespace.as_deref()))
            .map_or_else(|_| Arc::clone(&self.name), |name| name.as_str().into())
    }

    /// What the model reads about it.
    pub fn prompt(&self) -> &str {
        self.usage_hint.as_deref().unwrap_or(&self.description)
    }

    /// The name for people.
    pub fn label(&self) -> String {
        self.display.label.clone().unwrap_or_else(|| humanise(&self.name))
    }

    /// What it says, field by field; what is as it is for a tool that says nothing is left out.
    pub fn said(&self) -> Vec<(String, String)> {
        let silent = serde_json::to_value(Self::new(Arc::clone(&self.name), "")).unwrap_or_default();
        let Ok(Value::Object(fields)) = serde_json::to_value(self) else { return Vec::new() };
        let said = fields.into_iter().filter(|(name, value)| silent.get(name) != Some(value));
        said.map(|(name, value)| match value {
            Value::String(text) => (name, text),
            other => (name, other.to_string()),
        })
        .collect()
    }

    /// Sets how it wants to be allowed.
    #[must_use]
    pub fn with_permission(mut self, permission: Permission) -> Self {
        self.declared_permission = Some(permission);
        self
    }

    /// Sets the risk.
    #[must_use]
    pub fn with_risk(mut self, risk: Risk) -> Self {
        self.declared_risk = Some(risk);
        self
    }

    /// Declares that nobody could observe a side effect.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Declares that it may run beside other calls.
    #[must_use]
    pub fn concurrency_safe(mut self) -> Self {
        self.concurrency_safe = true;
        self
    }

    /// Declares that repeating it does no harm.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }

    /// Adds older or foreign names.
    #[must_use]
    pub fn with_aliases(mut self, aliases: &[&str]) -> Self {
        self.aliases.extend(aliases.iter().map(|alias| Arc::from(*alias)));
        self
    }

    /// Adds other names for a property of the input.
    #[must_use]
    pub fn with_input_aliases(mut self, property: &str, names: &[&str]) -> Self {
        self.input_aliases
            .entry(property.to_owned())
            .or_default()
            .extend(names.iter().map(|name| (*name).to_owned()));
        self
    }

    /// Adds capability tags.
    #[must_use]
    pub fn with_capabilities(mut self, tags: &[&str]) -> Self {
        self.capabilities.extend(tags.iter().map(|tag| (*tag).to_owned()));
        self
    }

    /// Sets the category.
    #[must_use]
    pub fn with_category(mut self, category: &str) -> Self {
        category.clone_into(&mut self.category);
        self
    }

    /// Sets the hard cap for one call.
    #[must_use]
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout_ms = Some(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Declares that its processes run in the sandbox, unless a call says otherwise by
    /// [`crate::Touch::Unconfined`].
    #[must_use]
    pub fn confined(mut self) -> Self {
        self.confined = true;
        self
    }

    /// Declares that its processes run in a sandbox of this kind, as tools do that are described by a manifest.
    #[must_use]
    pub fn with_profile(mut self, profile: Profile) -> Self {
        self.profile = Some(profile);
        self
    }

    /// Declares that a call may take minutes.
    #[must_use]
    pub fn long_running(mut self) -> Self {
        self.long_running = true;
        self
    }

    /// Sets how it is offered.
    #[must_use]
    pub fn with_exposure(mut self, exposure: Exposure) -> Self {
        self.exposure = exposure;
        self
    }

    /// Sets how it is shown.
    #[must_use]
    pub fn with_display(mut self, icon: &str, activity_verb: &str) -> Self {
        self.display.icon = Some(icon.to_owned());
        self.display.activity_verb = Some(activity_verb.to_owned());
        self
    }

    /// Sets the input schema, for tools that bring their own.
    #[must_use]
    pub fn with_input_schema(mut self, schema: Value) -> Self {
        self.input_schema = schema;
        self
    }

    /// Adds an example.
    #[must_use]
    pub fn with_example(mut self, input: Value, expect: Value) -> Self {
        self.examples.push(Example { input, expect });
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_that_says_nothing_is_careful() {
        let spec = Spec::new("x", "does x");
        assert_eq!(spec.permission(), Permission::Confirm);
        assert_eq!(spec.risk(), Risk::Standard);
        assert!(spec.mutates() && !spec.concurrency_safe && !spec.compactable());
        assert_eq!((spec.timeout(), spec.max_output_bytes), (Duration::from_secs(60), 51_200));
        assert_eq!(spec.read_only().permission(), Permission::Auto);
    }
}
