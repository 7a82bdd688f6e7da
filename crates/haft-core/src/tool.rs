//! The tool itself: typed for authors, erased for the runtime.

use crate::{
    BoxFuture, Cx, Effects, Failure, Flags, IntoOutput, Output, Preview, Secret, SessionView, Spec, Why,
};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::Arc;

/// A tool's own word on one input: stricter than everybody else, never looser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnCheck {
    /// A person must be asked.
    Ask(Why),
    /// Refused.
    Deny(Why),
}

/// A tool with typed input and output; write `async fn run`.
///
/// All but `preview`, `run` and `cleanup` are pure. One that panics counts as if it had given the most
/// careful answer.
///
/// ```
/// use haft_core::{Cx, Effects, Failure, Permission, Risk, SessionView, Spec, Tool};
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Words { text: String }
/// struct Echo;
/// impl Tool for Echo {
///     type Input = Words;
///     type Output = String;
///     fn spec(&self) -> Spec {
///         Spec::new("echo", "Says the text back.").read_only().with_risk(Risk::Safe)
///     }
///     fn effects(&self, _: &Words, _: &dyn SessionView) -> Effects { Effects::none() }
///     async fn run(&self, input: Words, _: &Cx) -> Result<String, Failure> { Ok(input.text) }
/// }
/// ```
pub trait Tool: Send + Sync + 'static {
    /// Its doc comments are the schema's descriptions.
    type Input: DeserializeOwned + JsonSchema + Send + Sync + 'static;
    /// `String`, [`crate::Json`], [`Output`] or unit.
    type Output: IntoOutput;

    /// The declaration; the schemas are taken from the types.
    fn spec(&self) -> Spec;

    /// Checks what a schema can't say.
    ///
    /// # Errors
    /// Invalid input, in words that say what would be right.
    fn validate(&self, _input: &Self::Input) -> Result<(), Failure> {
        Ok(())
    }

    /// Whether it is offered, asked when a snapshot is taken.
    fn enabled(&self) -> bool {
        true
    }

    /// Whether starting processes is its nature, whatever else it states that it touches.
    fn starts_processes(&self) -> bool {
        false
    }

    /// See [`AnyTool::prompt_beside`].
    fn prompt_beside(&self, _sent: &dyn Fn() -> Vec<(Arc<str>, Arc<Spec>)>) -> Option<String> {
        None
    }

    /// What this input will touch; may overstate, never understate.
    fn effects(&self, _input: &Self::Input, _session: &dyn SessionView) -> Effects {
        Effects::Everything
    }

    /// Where this input differs from the declaration.
    fn flags(&self, _input: &Self::Input) -> Flags {
        Flags::default()
    }

    /// A stricter word of its own.
    fn check(&self, _input: &Self::Input, _session: &dyn SessionView) -> Option<OwnCheck> {
        None
    }

    /// What a person is shown: only for a question, on a world that can't be written, and again before it runs.
    fn preview(
        &self,
        _input: &Self::Input,
        _cx: &Cx,
    ) -> impl Future<Output = Result<Preview, Failure>> + Send {
        async { Ok(Preview::default()) }
    }

    /// Does it.
    ///
    /// # Cancellation
    /// Watch [`Cx::cancel`]; a run that ignores it is left behind, its handles dead.
    fn run(&self, input: Self::Input, cx: &Cx) -> impl Future<Output = Result<Self::Output, Failure>> + Send;

    /// Tidies up after a cancel or timeout; 2 s at most.
    fn cleanup(&self, _input: Self::Input, _cx: &Cx) -> impl Future<Output = ()> + Send {
        async {}
    }
}

/// A tool with its types erased, as the catalogue keeps it; sources that bring their own schema implement this.
pub trait AnyTool: Send + Sync + 'static {
    /// The declaration.
    fn spec(&self) -> &Arc<Spec>;

    /// Whether it is offered, asked when a snapshot is taken. One that panics isn't.
    fn enabled(&self) -> bool {
        self.spec().enabled
    }

    /// Whether starting processes is its nature, whatever else it states that it touches.
    fn starts_processes(&self) -> bool {
        false
    }

    /// What the model reads in place of its [`Spec::prompt`], where that depends on the tools it is sent beside and on
    /// those that only scripts can call.
    fn prompt_beside(&self, _sent: &dyn Fn() -> Vec<(Arc<str>, Arc<Spec>)>) -> Option<String> {
        None
    }

    /// What it is made of, part by part as name and text, to say what changed since it was last let run. Of tools
    /// that aren't built in.
    fn parts(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Hears what the tool itself has to say of a validated input, where that takes time; [`AnyTool::bind`] of the very
    /// same input (the same allocation) then takes none. None where nothing has to be waited for.
    ///
    /// # Cancellation
    /// Dropped where the call is cancelled; `bind` doesn't follow then.
    fn consult(self: Arc<Self>, _input: Arc<Value>) -> Option<BoxFuture<'static, ()>> {
        None
    }

    /// Parses a validated input once: what is judged is the very value that runs.
    ///
    /// # Errors
    /// Invalid input, in words that say what would be right.
    fn bind(self: Arc<Self>, input: Arc<Value>) -> Result<Box<dyn Bound>, Failure>;

    /// Tidies up after a cancel or timeout; 2 s at most.
    fn cleanup(self: Arc<Self>, _input: Arc<Value>, _cx: Cx) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// A tool with one input.
pub trait Bound: Send + Sync {
    /// See [`Tool::effects`].
    fn effects(&self, session: &dyn SessionView) -> Effects;

    /// See [`Tool::flags`].
    fn flags(&self) -> Flags {
        Flags::default()
    }

    /// See [`Tool::check`].
    fn check(&self, _session: &dyn SessionView) -> Option<OwnCheck> {
        None
    }

    /// See [`Tool::preview`].
    fn preview<'a>(&'a self, _cx: &'a Cx) -> BoxFuture<'a, Result<Preview, Failure>> {
        Box::pin(std::future::ready(Ok(Preview::default())))
    }

    /// Variables that all processes of the call get besides those that the tool gives them, by name and value. Asked once,
    /// when the call is about to run; may block while a value is looked up.
    ///
    /// # Errors
    /// A value can't be had: the call fails with that, and nothing of it runs.
    fn variables(&self) -> Result<Vec<(String, Secret)>, Failure> {
        Ok(Vec::new())
    }

    /// See [`Tool::run`].
    fn run(self: Box<Self>, cx: Cx) -> BoxFuture<'static, Result<Output, Failure>>;
}

/// Erases a typed tool; its schemas come from its types.
pub fn erase<T: Tool>(tool: T) -> Arc<dyn AnyTool> {
    let mut spec = tool.spec();
    spec.input_schema = schema_of::<T::Input>();
    if spec.output_schema.is_none() {
        spec.output_schema = T::Output::schema().map(schemars::Schema::to_value);
    }
    Arc::new(Erased { tool: Arc::new(tool), spec: Arc::new(spec) })
}

/// The input schema of a type: one object, nothing that only costs tokens.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = tidy(settings.into_generator().into_root_schema_for::<T>().to_value());
    if let Some(object) = schema.as_object_mut() {
        object.remove("description");
        object.entry("type").or_insert_with(|| "object".into());
        object.entry("properties").or_insert_with(|| Value::Object(serde_json::Map::new()));
    }
    schema
}

/// Drops titles, number formats and the null that stands for an absent optional field.
fn tidy(mut schema: Value) -> Value {
    tidy_in(&mut schema, true);
    schema
}

fn tidy_in(schema: &mut Value, is_schema: bool) {
    match schema {
        Value::Object(object) => {
            if is_schema {
                object.remove("title");
                object.remove("$schema");
                object.remove("format");
                if object.get("default").is_some_and(Value::is_null) {
                    object.remove("default");
                }
                if let Some(Value::Array(types)) = object.get_mut("type") {
                    types.retain(|one| one != "null");
                    if let [only] = types.as_slice() {
                        let only = only.clone();
                        object.insert("type".to_owned(), only);
                    }
                    if let Some(Value::Array(values)) = object.get_mut("enum") {
                        values.retain(|one| !one.is_null());
                    }
                }
            }
            for (key, value) in object.iter_mut() {
                let holds_names =
                    is_schema && matches!(key.as_str(), "properties" | "$defs" | "patternProperties");
                let is_data = is_schema && matches!(key.as_str(), "enum" | "const" | "default" | "examples");
                if !is_data {
                    tidy_in(value, !holds_names);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| tidy_in(item, true)),
        _ => {}
    }
}

struct Erased<T> {
    tool: Arc<T>,
    spec: Arc<Spec>,
}

struct Typed<T: Tool> {
    tool: Arc<T>,
    input: T::Input,
}

/// Turns a validated value into the typed input.
pub(crate) fn parse_input<I: DeserializeOwned>(input: &Value) -> Result<I, Failure> {
    I::deserialize(input).map_err(|error| Failure::invalid(error.to_string()))
}

impl<T: Tool> AnyTool for Erased<T> {
    fn spec(&self) -> &Arc<Spec> {
        &self.spec
    }

    fn enabled(&self) -> bool {
        self.spec.enabled && self.tool.enabled()
    }

    fn starts_processes(&self) -> bool {
        self.tool.starts_processes()
    }

    fn prompt_beside(&self, sent: &dyn Fn() -> Vec<(Arc<str>, Arc<Spec>)>) -> Option<String> {
        self.tool.prompt_beside(sent)
    }

    fn bind(self: Arc<Self>, input: Arc<Value>) -> Result<Box<dyn Bound>, Failure> {
        let input = parse_input::<T::Input>(&input)?;
        self.tool.validate(&input)?;
        Ok(Box::new(Typed { tool: Arc::clone(&self.tool), input }))
    }

    fn cleanup(self: Arc<Self>, input: Arc<Value>, cx: Cx) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            if let Ok(input) = parse_input::<T::Input>(&input) {
                self.tool.cleanup(input, &cx).await;
            }
        })
    }
}

impl<T: Tool> Bound for Typed<T> {
    fn effects(&self, session: &dyn SessionView) -> Effects {
        self.tool.effects(&self.input, session)
    }

    fn flags(&self) -> Flags {
        self.tool.flags(&self.input)
    }

    fn check(&self, session: &dyn SessionView) -> Option<OwnCheck> {
        self.tool.check(&self.input, session)
    }

    fn preview<'a>(&'a self, cx: &'a Cx) -> BoxFuture<'a, Result<Preview, Failure>> {
        Box::pin(self.tool.preview(&self.input, cx))
    }

    fn run(self: Box<Self>, cx: Cx) -> BoxFuture<'static, Result<Output, Failure>> {
        Box::pin(async move { self.tool.run(self.input, &cx).await?.into_output() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_schema_has_nothing_that_only_costs_tokens() {
        /// Not shown.
        #[derive(serde::Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        #[allow(dead_code)]
        struct Input {
            /// What to find
            pattern: String,
            limit: Option<u32>,
            title: Option<String>,
        }
        assert_eq!(
            schema_of::<Input>(),
            json!({
                "type": "object",
                "properties": {
                    "pattern": {"description": "What to find", "type": "string"},
                    "limit": {"type": "integer", "minimum": 0},
                    "title": {"type": "string"},
                },
                "additionalProperties": false,
                "required": ["pattern"],
            })
        );
    }

    #[test]
    fn unit_input_is_an_object() {
        #[derive(serde::Deserialize, JsonSchema)]
        struct Nothing {}
        let schema = schema_of::<Nothing>();
        assert_eq!(schema["type"], "object");
    }
}
