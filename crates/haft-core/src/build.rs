//! A tool in one expression.

use crate::{
    AnyTool, Bound, BoxFuture, Cx, EffectTemplate, Effects, Failure, IntoOutput, Output, Permission, Risk,
    SessionView, Spec,
    tool::{parse_input, schema_of},
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{marker::PhantomData, sync::Arc};

/// Starts a tool: name, and what the model reads about it. End with [`ToolBuilder::run`].
///
/// ```
/// use haft_core::{Permission, Risk, tool};
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Echo {
///     /// What to say back
///     text: String,
/// }
/// let echo = tool("echo", "Says the text back.")
///     .permission(Permission::Auto)
///     .risk(Risk::Safe)
///     .read_only()
///     .touches_nothing()
///     .run(|input: Echo, _cx| async move { Ok(input.text) });
/// assert_eq!(echo.spec().input_schema["required"][0], "text");
/// ```
pub fn tool(name: &str, description: &str) -> ToolBuilder {
    ToolBuilder { spec: Spec::new(name, description) }
}

/// A tool in the making.
#[derive(Debug, Clone)]
pub struct ToolBuilder {
    spec: Spec,
}

impl ToolBuilder {
    /// How it wants to be allowed.
    #[must_use]
    pub fn permission(self, permission: Permission) -> Self {
        self.with(|spec| spec.with_permission(permission))
    }

    /// How much harm it can do.
    #[must_use]
    pub fn risk(self, risk: Risk) -> Self {
        self.with(|spec| spec.with_risk(risk))
    }

    /// Nobody could observe a side effect. What it reads is still to be stated by [`ToolBuilder::effects`];
    /// a tool that states nothing runs alone and is judged as a whole.
    #[must_use]
    pub fn read_only(self) -> Self {
        self.with(Spec::read_only)
    }

    /// States that it touches no file, host or session state at all.
    #[must_use]
    pub fn touches_nothing(self) -> Self {
        self.effects(EffectTemplate::default())
    }

    /// What it touches, with `{field}` for fields of the input.
    #[must_use]
    pub fn effects(mut self, effects: EffectTemplate) -> Self {
        self.spec.effects = Some(effects);
        self
    }

    /// Any other part of the declaration.
    #[must_use]
    pub fn with(self, change: impl FnOnce(Spec) -> Spec) -> Self {
        Self { spec: change(self.spec) }
    }

    /// The tool's code; the schema comes from the input's type.
    pub fn run<I, O, F>(mut self, run: impl Fn(I, Cx) -> F + Send + Sync + 'static) -> Arc<dyn AnyTool>
    where
        I: DeserializeOwned + JsonSchema + Send + Sync + 'static,
        O: IntoOutput,
        F: Future<Output = Result<O, Failure>> + Send + 'static,
    {
        self.spec.input_schema = schema_of::<I>();
        if self.spec.output_schema.is_none() {
            self.spec.output_schema = O::schema().map(schemars::Schema::to_value);
        }
        let run = move |input: I, cx: Cx| -> BoxFuture<'static, Result<Output, Failure>> {
            let future = run(input, cx);
            Box::pin(async move { future.await?.into_output() })
        };
        Arc::new(Closure { spec: Arc::new(self.spec), run: Arc::new(run), input: PhantomData })
    }
}

type Run<I> = dyn Fn(I, Cx) -> BoxFuture<'static, Result<Output, Failure>> + Send + Sync;

struct Closure<I> {
    spec: Arc<Spec>,
    run: Arc<Run<I>>,
    input: PhantomData<fn() -> I>,
}

struct BoundClosure<I> {
    spec: Arc<Spec>,
    run: Arc<Run<I>>,
    value: Arc<Value>,
    input: I,
}

impl<I: DeserializeOwned + Send + Sync + 'static> AnyTool for Closure<I> {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn bind(self: Arc<Self>, value: Arc<Value>) -> Result<Box<dyn Bound>, Failure> {
        let input = parse_input::<I>(&value)?;
        Ok(Box::new(BoundClosure { spec: Arc::clone(&self.spec), run: Arc::clone(&self.run), value, input }))
    }
}

impl<I: Send + Sync + 'static> Bound for BoundClosure<I> {
    fn effects(&self, _: &dyn SessionView) -> Effects {
        match &self.spec.effects {
            Some(template) => template.fill(&self.value).unwrap_or(Effects::Everything),
            None => Effects::Everything,
        }
    }

    fn run(self: Box<Self>, cx: Cx) -> BoxFuture<'static, Result<Output, Failure>> {
        (self.run)(self.input, cx)
    }
}
