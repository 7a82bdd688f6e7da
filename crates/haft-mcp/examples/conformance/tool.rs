//! A tool of the fixture: a definition and a function, both in the protocol's own words.

use crate::behind::Behind;
use haft_core::{
    AnyTool, Bound, BoxFuture, Cx, Effects, Failure, Output, Permission, Risk, SessionView, Spec,
};
use haft_mcp::{Front, Fronts};
use haft_runtime::{Catalogue, Handle};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

/// What tools work with.
pub(crate) struct Stage {
    pub(crate) catalogue: Catalogue,
    pub(crate) fronts: Fronts,
    pub(crate) behind: Arc<Behind>,
    /// A tool that comes and goes.
    pub(crate) added: Mutex<Option<Handle>>,
}

impl Stage {
    pub(crate) fn new(catalogue: Catalogue, fronts: Fronts, behind: Arc<Behind>) -> Arc<Self> {
        Arc::new(Self { catalogue, fronts, behind, added: Mutex::default() })
    }
}

/// One call.
pub(crate) struct Call {
    pub(crate) input: Arc<Value>,
    pub(crate) front: Arc<dyn Front>,
    pub(crate) stage: Arc<Stage>,
}

impl Call {
    /// A field of the input, or nothing.
    pub(crate) fn text(&self, name: &str) -> String {
        self.input.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    }
}

/// Gives the whole result.
pub(crate) type Run = fn(Call) -> BoxFuture<'static, Result<Value, Failure>>;

/// A definition and what it does.
pub(crate) struct Plan {
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) schema: Value,
    pub(crate) run: Run,
}

impl Plan {
    pub(crate) fn tool(self, stage: &Arc<Stage>) -> Arc<dyn AnyTool> {
        let Self { name, description, schema, run } = self;
        let mut spec = Spec::new(name, description)
            .with_permission(Permission::Auto)
            .with_risk(Risk::Safe)
            .with_input_schema(schema.clone())
            .concurrency_safe();
        // As a hint that its calls needn't wait for each other.
        let hints = json!({"readOnlyHint": true});
        spec.foreign = Some(Arc::new(
            json!({"name": name, "description": description, "inputSchema": schema, "annotations": hints}),
        ));
        Arc::new(FixtureTool { spec: Arc::new(spec), run, stage: Arc::clone(stage) })
    }
}

struct FixtureTool {
    spec: Arc<Spec>,
    run: Run,
    stage: Arc<Stage>,
}

impl AnyTool for FixtureTool {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn bind(self: Arc<Self>, input: Arc<Value>) -> Result<Box<dyn Bound>, Failure> {
        Ok(Box::new(FixtureCall { tool: self, input }))
    }
}

struct FixtureCall {
    tool: Arc<FixtureTool>,
    input: Arc<Value>,
}

impl Bound for FixtureCall {
    fn effects(&self, _: &dyn SessionView) -> Effects {
        Effects::none()
    }

    fn run(self: Box<Self>, cx: Cx) -> BoxFuture<'static, Result<Output, Failure>> {
        Box::pin(async move {
            let Self { tool, input } = *self;
            let stage = Arc::clone(&tool.stage);
            let front = stage.fronts.of(&cx).expect("a client made the call");
            let result = (tool.run)(Call { input, front, stage }).await?;
            let is_error = result.get("isError").and_then(Value::as_bool).unwrap_or(false);
            let words = words(&result);
            let output = Output { foreign: Some(result), ..Output::text(words.as_str()) };
            if is_error { Err(Failure::internal(words).with_partial(output)) } else { Ok(output) }
        })
    }
}

/// What of a result is text.
fn words(result: &Value) -> String {
    let items = result.get("content").and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|item| item.get("text")?.as_str()).collect::<Vec<_>>().join("\n")
}
