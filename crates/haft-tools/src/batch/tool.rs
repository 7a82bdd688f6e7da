//! The tool `batch`.

use super::input::BatchInput;
use crate::tool_use::{asked, dispatcher};
use futures::future::join_all;
use haft_core::{Block, Cx, Effects, Ended, Failure, Output, SessionView, Spec, Tool};
use serde_json::json;
use std::fmt::Write;

/// Makes several calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchTool;

impl Tool for BatchTool {
    type Input = BatchInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        dispatcher("batch", include_str!("prompt.md").trim_end()).with_display("⧉", "Calling")
    }

    fn effects(&self, _: &BatchInput, _: &dyn SessionView) -> Effects {
        Effects::Delegated
    }

    async fn run(&self, input: BatchInput, cx: &Cx) -> Result<Output, Failure> {
        // All are read before the first is made, so that a batch with a fault in it does nothing.
        let requests = input.calls.iter().map(asked).collect::<Result<Vec<_>, _>>()?;
        // Each takes its place in the session's order here, before any of them runs.
        let calls: Vec<_> = requests.into_iter().map(|request| cx.nested.call(request)).collect();
        Ok(output(&join_all(calls).await))
    }
}

/// The results one after another, each under a line that says how its call ended.
fn output(all: &[Ended]) -> Output {
    let failed = all.iter().filter(|ended| !ended.outcome.is_completed()).count();
    let mut content = Vec::new();
    let mut text = String::new();
    for ended in all {
        let _ = writeln!(text, "[{} {}: {}]", ended.call, ended.tool, ended.outcome.name());
        for block in &ended.output.content {
            if let Some(part) = block.as_text() {
                let _ = writeln!(text, "{part}");
            } else {
                content.push(Block::text(std::mem::take(&mut text)));
                content.push(block.clone());
            }
        }
        text.push('\n');
    }
    if failed > 0 {
        let _ = write!(text, "{failed} of {} calls gave no result.", all.len());
    }
    content.push(Block::text(text.trim_end()));
    let outcomes: Vec<_> = all
        .iter()
        .map(|ended| json!({"call": ended.call, "tool": ended.tool, "outcome": ended.outcome.name()}))
        .collect();
    Output { content, ..Output::default() }.with_metadata(json!({"calls": outcomes}))
}
