//! The `code` tool: its declaration, and its run.

use super::{CodeSettings, report, run::ScriptRun, signature};
use crate::{
    engine::Engine,
    wire::{Bounds, Order, SourceFile},
};
use haft_core::{
    AnyTool, Cx, Effects, Exposure, Failure, FailureKind, Output, Permission, Risk, SessionView, Spec, Tool,
    erase,
};
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::Arc;

/// The tool's name.
pub const CODE_TOOL: &str = "code";
/// What a script is called in its errors.
pub const SCRIPT_NAME: &str = "script.ts";
/// How many characters of signatures go with the description.
const SIGNATURES_MAX_CHARS: usize = 6_000;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CodeInput {
    /// JavaScript or TypeScript; top-level await works
    script: String,
}

/// The tool, on an engine.
pub fn code_tool(engine: Arc<Engine>, settings: CodeSettings) -> Arc<dyn AnyTool> {
    erase(CodeTool { engine, settings })
}

struct CodeTool {
    engine: Arc<Engine>,
    settings: CodeSettings,
}

impl Tool for CodeTool {
    type Input = CodeInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        let mut spec = Spec::new(CODE_TOOL, include_str!("prompt.md").trim_end())
            .with_permission(Permission::Auto)
            .with_risk(Risk::Safe)
            .with_capabilities(&["tool.meta"])
            .with_category("meta")
            .with_exposure(Exposure::Deferred)
            .with_timeout(self.settings.timeout)
            .with_display("ƒ", "Running a script");
        // By itself it changes nothing; the calls that it makes are judged one by one.
        spec.declared_mutates = Some(false);
        spec.code_mode = false;
        spec
    }

    fn validate(&self, input: &CodeInput) -> Result<(), Failure> {
        if input.script.trim().is_empty() {
            let text = "/script is empty; write what is to be done, for example `await tools.grep({pattern: \"TODO\"})`";
            return Err(Failure::invalid(text));
        }
        Ok(())
    }

    fn effects(&self, _: &CodeInput, _: &dyn SessionView) -> Effects {
        Effects::Delegated
    }

    fn prompt_beside(&self, sent: &dyn Fn() -> Vec<(Arc<str>, Arc<Spec>)>) -> Option<String> {
        let signatures = signature::declarations(&sent(), SIGNATURES_MAX_CHARS)?;
        Some(format!("{}\n\n{signatures}", include_str!("prompt.md").trim_end()))
    }

    async fn run(&self, input: CodeInput, cx: &Cx) -> Result<Output, Failure> {
        if cx.call.0.len() > 1 {
            return Err(Failure::new(
                FailureKind::Permission,
                "code runs as a call of its own only, not from inside another; put the inner script into the outer one",
            ));
        }
        let mut guest = self.engine.start().await?;
        self.engine.warm_up();
        for gap in std::mem::take(&mut guest.gaps) {
            cx.warn(gap);
        }
        let file = SourceFile { path: SCRIPT_NAME.to_owned(), text: input.script.clone() };
        let timer_ms = u64::try_from(self.settings.timeout.as_millis()).unwrap_or(u64::MAX);
        guest.tell(&Order::Run { file, bounds: Bounds { at_once: self.settings.at_once, timer_ms } });
        let mut run = ScriptRun::new(cx, self.settings, guest);
        let end = run.until_it_ends().await;
        report::told(end, run.into_left().await, &input.script)
    }
}
