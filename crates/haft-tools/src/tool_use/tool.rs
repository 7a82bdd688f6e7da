//! The tool `tool_use`.

use super::input::ToolUseInput;
use haft_core::{
    Cx, Effects, Ended, Exposure, Failure, FailureKind, Outcome, Output, Request, Risk, SessionView, Spec,
    Tool,
};

/// Tools that only make other calls; one inside another adds nothing and hides what is done.
const DISPATCHERS: [&str; 3] = ["tool_use", "batch", "code"];

/// Calls a tool by name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolUseTool;

impl Tool for ToolUseTool {
    type Input = ToolUseInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        dispatcher("tool_use", include_str!("prompt.md").trim_end())
            .with_input_aliases("tool", &["name", "tool_name"])
            .with_input_aliases("input", &["arguments", "args", "parameters"])
            .with_display("↪", "Calling")
    }

    fn effects(&self, _: &ToolUseInput, _: &dyn SessionView) -> Effects {
        Effects::Delegated
    }

    async fn run(&self, input: ToolUseInput, cx: &Cx) -> Result<Output, Failure> {
        let ended = cx.nested.call(asked(&input)?).await;
        match kind_of(&ended.outcome) {
            None => Ok(shown(ended)),
            Some(kind) => {
                let retryable = ended.failure.as_ref().is_some_and(|failure| failure.retryable);
                let failure = Failure { retryable, ..Failure::new(kind, ended.output.joined_text()) };
                // Hosts act on how a call ended: a denial that looked like a failure would be tried again.
                Err(failure.with_inner(ended.outcome))
            }
        }
    }
}

/// The declaration of a tool that only makes other calls: what they do is judged for each of them.
pub(crate) fn dispatcher(name: &str, prompt: &str) -> Spec {
    Spec::new(name, prompt)
        .with_category("meta")
        .with_risk(Risk::Safe)
        .read_only()
        .concurrency_safe()
        .long_running()
        .with_capabilities(&["tool.meta"])
        .with_exposure(Exposure::Deferred)
}

/// The request for a call.
///
/// # Errors
/// Invalid input for a tool that only makes other calls.
pub(crate) fn asked(input: &ToolUseInput) -> Result<Request, Failure> {
    if DISPATCHERS.contains(&input.tool.as_str()) {
        return Err(Failure::invalid(format!(
            "{} can't be called from inside a call: call it directly",
            input.tool
        )));
    }
    let text = serde_json::to_string(&input.input)
        .map_err(|error| Failure::invalid(format!("the input of {} is no JSON: {error}", input.tool)))?;
    Ok(Request::new(&input.tool, text))
}

/// As what kind of failure an outcome is passed on; none where the tool returned.
fn kind_of(outcome: &Outcome) -> Option<FailureKind> {
    match outcome {
        Outcome::Completed => None,
        Outcome::Failed { kind } => Some(*kind),
        Outcome::Denied { .. } => Some(FailureKind::Permission),
        Outcome::Invalid => Some(FailureKind::InvalidInput),
        Outcome::Unknown => Some(FailureKind::NotFound),
        Outcome::TimedOut => Some(FailureKind::Timeout),
        Outcome::Cancelled => Some(FailureKind::Cancelled),
        Outcome::Interrupted => Some(FailureKind::Unavailable),
    }
}

/// What the model gets of a call inside; its changes of files and of the session are recorded already.
fn shown(ended: Ended) -> Output {
    Output {
        content: ended.output.content,
        structured: ended.output.structured,
        metadata: ended.output.metadata,
        shape: ended.output.shape,
        truncation: ended.output.truncation,
        ..Output::default()
    }
}
