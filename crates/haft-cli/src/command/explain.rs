//! `haft explain`: what would become of a call; nothing runs and nobody is asked.

use super::{
    block_on,
    call::{spec_of, trace},
};
use crate::{app::App, print, status::Status, terminal, words::Typed};
use haft_core::{NoApprover, Request, TraceStep};
use haft_runtime::Explained;
use serde_json::json;
use std::sync::Arc;

/// Explains a call.
///
/// # Errors
/// The session can't be opened, or the input can't be read.
pub(super) fn explain(app: &App, typed: &Typed) -> anyhow::Result<Status> {
    block_on(async {
        // The real session: what was read and where it stands decides too.
        let live = app.live(&app.session_name("cli"), Arc::new(NoApprover))?;
        let spec = spec_of(&live.session.snapshot(), &typed.tool);
        let text = typed.text(spec.as_deref())?;
        let explained = live.executor.explain(&live.session, &Request::new(typed.tool.as_str(), text));
        if typed.json {
            print::json(&json!({
                "verdict": verdict(explained.verdict),
                "reason": explained.reason,
                "rule": explained.rule,
                "source": explained.source,
                "trace": trace(&explained.trace),
            }))?;
        } else {
            print::line(&shown(&explained));
        }
        if let Some(hint) = typed.misplaced(spec.as_deref()) {
            print::note(&hint);
        }
        Ok(match explained.verdict {
            "allow" | "ask" | "deny" => Status::Completed,
            _ => Status::Usage,
        })
    })
}

/// What would become of the call, in the words of the gates: one that isn't judged at all doesn't run either.
fn verdict(said: &str) -> &str {
    match said {
        "allow" | "ask" => said,
        _ => "deny",
    }
}

fn shown(explained: &Explained) -> String {
    let bold = anstyle::Style::new().bold();
    let mut lines =
        vec![format!("{bold}{}{bold:#}: {}", explained.verdict, terminal::clean(&explained.reason))];
    lines.extend(explained.rule.iter().map(|rule| match &explained.source {
        Some(source) => format!("  rule {rule} ({source})"),
        None => format!("  rule {rule}"),
    }));
    let rows: Vec<Vec<String>> = explained.trace.iter().map(row).collect();
    lines.push(String::new());
    lines.push(print::table(&rows));
    lines.join("\n")
}

fn row(step: &TraceStep) -> Vec<String> {
    let mut said = step.reason.clone().unwrap_or_default();
    if let Some(rule) = &step.rule {
        let at = step.source.as_ref().map(|at| format!(", {at}")).unwrap_or_default();
        said = format!("{said} [rule {rule}{at}]").into();
    }
    vec![step.step.to_string(), step.verdict.to_string(), print::one_line(&said, 200)]
}
