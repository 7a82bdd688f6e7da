//! A server's tool as a tool of haft's: judged by what the user and the contract say, never loosened by what the server
//! says.

use super::{
    config::{ServerConfig, Transport},
    definition::{Definition, Hints},
    greet::Greeting,
    headers::{self, ParamHeader},
    name::{full_name, shown_name, tool_name},
    schema,
    screen::Screened,
    server::Server,
};
use haft_core::{
    AnyTool, Bound, BoxFuture, Cx, Effects, Failure, Output, Preview, Risk, SessionView, Spec, Touch, WebUrl,
    humanise,
};
use haft_runtime::{Checker, settings::McpToolSetting};
use serde_json::{Map, Value, json};
use std::{sync::Arc, time::Duration};

/// What every tool of a server may do.
const CAPABILITY: &str = "mcp.proxy";
/// Grouping.
const CATEGORY: &str = "mcp";
/// How much of a title is shown.
const TITLE_MAX_CHARS: usize = 120;

/// A server's tool.
pub(crate) struct McpTool {
    pub(super) spec: Arc<Spec>,
    pub(super) server: Arc<Server>,
    /// What the server calls it.
    pub(super) name: String,
    /// The same as people and models read it.
    pub(super) shown: String,
    /// What it was when it was registered.
    pub(super) hash: Arc<str>,
    parts: Vec<(String, String)>,
    /// What a call is checked against besides what is shown.
    full: Option<Checker>,
    pub(super) wanted: Vec<ParamHeader>,
    /// Whether repeating a call that may have run does no harm.
    pub(super) is_repeatable: bool,
    /// Whether it may run beside other calls of its server.
    is_shared: bool,
    pub(super) idle: Duration,
}

/// A tool, and what was done to its definition.
pub(crate) struct Made {
    pub(crate) tool: McpTool,
    pub(crate) notes: Vec<String>,
}

impl McpTool {
    /// Makes a tool of a definition.
    ///
    /// # Errors
    /// Why it can't be one.
    pub(crate) fn make(
        server: &Arc<Server>,
        definition: &Definition,
        greeting: &Greeting,
        hash: Arc<str>,
    ) -> Result<Made, String> {
        let config = &server.config;
        let name = definition.name();
        let own = config.tools.get(name).cloned().unwrap_or_default();
        let mut notes = Vec::new();
        let mut raw = Value::Object(definition.raw().clone());
        if config.screen {
            let mut screened = Screened::default();
            screened.definition(&mut raw);
            notes.extend(screened.words());
        }
        overridden(&mut raw, &own);
        let shown = schema::shown(raw.get("inputSchema").unwrap_or(&Value::Null))
            .map_err(|why| format!("its inputSchema can't be used: {why}"))?;
        if shown.unfetched > 0 {
            notes.push(format!(
                "{} references of its schema lead elsewhere and are never fetched",
                shown.unfetched
            ));
        }
        let full = shown.full.as_ref().map(Checker::compile).transpose();
        let full = full.map_err(|why| format!("its inputSchema can't be used: {why}"))?;
        let wanted = match &config.transport {
            Transport::Http(_) => headers::param_headers(raw.get("inputSchema").unwrap_or(&Value::Null))?,
            Transport::Stdio { .. } => Vec::new(),
        };
        let hints = own_word(definition.hints(), &own);
        let own_name = shown_name(name);
        let text = Texts { name: &own_name, raw: &raw, rule: shown.rule.as_deref() };
        let mut spec =
            Spec::new(tool_name(&config.name, config.prefix.as_deref(), name), text.description(config));
        spec.input_schema = shown.schema;
        spec.output_schema = output_schema(&raw, &mut notes);
        // Without a title its own name is what people know it by, not the one that it has here.
        spec.display.label =
            text.title().or_else(|| Some(humanise(&own_name)).filter(|label| !label.is_empty()));
        spec.foreign = Some(Arc::new(raw.clone()));
        declare(&mut spec, config, &own, hints);
        if config.prefix.is_some() {
            // So that rules for the server hold for it under any name.
            spec.aliases.push(full_name(&config.name, name));
        }
        let parts = definition.parts(&config.parts, greeting.instructions.as_deref());
        let idle = own.timeout_ms.map_or(config.limits.idle, Duration::from_millis);
        let tool = Self {
            spec: Arc::new(spec),
            server: Arc::clone(server),
            name: name.to_owned(),
            shown: own_name,
            hash,
            parts,
            full,
            wanted,
            is_repeatable: hints.idempotent == Some(true) || hints.read_only == Some(true),
            is_shared: hints.read_only == Some(true),
            idle,
        };
        Ok(Made { tool, notes })
    }

    fn effects(&self) -> Effects {
        let mut touches = Vec::new();
        if let Transport::Http(endpoint) = &self.server.config.transport
            && let Ok(url) = WebUrl::parse(&endpoint.url)
            && !self.is_shared
        {
            touches.push(Touch::Host(url.authority().into()));
        }
        if !self.is_shared {
            touches.push(Touch::Server(Arc::clone(&self.server.config.name)));
        }
        Effects::Only(touches)
    }
}

/// What the gates go by. What a server says of its tools can only tighten; the user's own word counts as it is.
fn declare(spec: &mut Spec, config: &ServerConfig, own: &McpToolSetting, hints: Hints) {
    CATEGORY.clone_into(&mut spec.category);
    spec.capabilities.insert(CAPABILITY.to_owned());
    spec.exposure = own.exposure.unwrap_or(config.exposure);
    spec.read_only = own.read_only == Some(true);
    spec.declared_risk = match (own.destructive, hints.destructive) {
        (Some(true), _) | (None, Some(true)) => Some(Risk::Destructive),
        (Some(false), _) => Some(Risk::Standard),
        (None, _) => None,
    };
    spec.idempotent = hints.idempotent == Some(true);
    spec.untrusted_source = own.open_world.unwrap_or(config.untrusted);
    // Calls of one server exclude each other by what they touch; others they needn't wait for.
    spec.concurrency_safe = true;
    spec.timeout_ms = Some(u64::try_from(config.limits.call.as_millis()).unwrap_or(u64::MAX));
}

/// The hints, with the user's word over the server's.
fn own_word(hints: Hints, own: &McpToolSetting) -> Hints {
    Hints {
        read_only: own.read_only.or(hints.read_only),
        destructive: own.destructive.or(hints.destructive),
        idempotent: own.idempotent.or(hints.idempotent),
    }
}

/// Puts what the user says over what the server says.
fn overridden(raw: &mut Value, own: &McpToolSetting) {
    let Some(fields) = raw.as_object_mut() else { return };
    for (name, text) in [("title", &own.title), ("description", &own.description)] {
        if let Some(text) = text {
            fields.insert(name.to_owned(), json!(text));
        }
    }
    let hints = [
        ("readOnlyHint", own.read_only),
        ("destructiveHint", own.destructive),
        ("idempotentHint", own.idempotent),
        ("openWorldHint", own.open_world),
    ];
    for (name, word) in hints {
        let Some(word) = word else { continue };
        let annotations = fields.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
        if let Some(annotations) = annotations.as_object_mut() {
            annotations.insert(name.to_owned(), Value::Bool(word));
        }
    }
}

fn output_schema(raw: &Value, notes: &mut Vec<String>) -> Option<Value> {
    let schema = raw.get("outputSchema").filter(|schema| schema.is_object())?;
    match Checker::compile(schema) {
        Ok(_) => Some(schema.clone()),
        Err(why) => {
            notes.push(format!("its outputSchema can't be used, so results aren't checked: {why}"));
            None
        }
    }
}

/// What people and models read of a definition: of what was screened, and of nothing else.
struct Texts<'a> {
    /// Its own name as it is shown.
    name: &'a str,
    /// All of it, screened, with the user's word over it.
    raw: &'a Value,
    rule: Option<&'a str>,
}

impl Texts<'_> {
    fn text(&self, pointer: &str) -> Option<&str> {
        self.raw.pointer(pointer).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
    }

    fn title(&self) -> Option<String> {
        let said = self.text("/title").or_else(|| self.text("/annotations/title"));
        said.map(|title| title.chars().take(TITLE_MAX_CHARS).collect())
    }

    fn description(&self, config: &ServerConfig) -> String {
        let said = self.text("/description").map(str::to_owned);
        let named = || self.title().unwrap_or_else(|| self.name.to_owned());
        let mut text = said.unwrap_or_else(|| format!("{} (a tool of the server {})", named(), config.name));
        if let Some(rule) = self.rule {
            text.push('\n');
            text.push_str(rule);
        }
        text
    }
}

impl AnyTool for McpTool {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn parts(&self) -> Vec<(String, String)> {
        self.parts.clone()
    }

    fn bind(self: Arc<Self>, input: Arc<Value>) -> Result<Box<dyn Bound>, Failure> {
        if let Some(problems) = self.full.as_ref().and_then(|full| full.problems(&input)) {
            return Err(Failure::invalid(problems));
        }
        Ok(Box::new(BoundTool { tool: self, input }))
    }
}

struct BoundTool {
    tool: Arc<McpTool>,
    input: Arc<Value>,
}

impl Bound for BoundTool {
    fn effects(&self, _: &dyn SessionView) -> Effects {
        self.tool.effects()
    }

    fn preview<'a>(&'a self, _: &'a Cx) -> BoxFuture<'a, Result<Preview, Failure>> {
        let config = &self.tool.server.config;
        let text = format!("the server {} ({}) does \"{}\"", config.name, config.shown(), self.tool.shown);
        Box::pin(std::future::ready(Ok(Preview { text, digest: self.tool.hash.as_bytes().to_vec() })))
    }

    fn run(self: Box<Self>, cx: Cx) -> BoxFuture<'static, Result<Output, Failure>> {
        Box::pin(async move { super::call::run(&self.tool, &self.input, &cx).await })
    }
}
