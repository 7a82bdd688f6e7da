//! `haft explain`: what would become of a call; nothing runs and nobody is asked.

use super::{
    block_on,
    call::{spec_of, trace},
};
use crate::{app::App, cli::CallArgs, print, status::Status, terminal, words::Typed};
use haft_core::{NoApprover, Request, TraceStep};
use haft_policy::{GateKind, gates};
use haft_runtime::{Explained, Problem};
use serde_json::json;
use std::sync::Arc;

/// `haft explain`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    pub(crate) flags: ExplainFlags,
    #[command(flatten)]
    pub(crate) call: CallArgs,
}

/// What `haft explain` shows besides; these too may come after the JSON.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct ExplainFlags {
    /// Also say what would let the call run
    #[arg(long)]
    pub(crate) why_not: bool,
    /// Also show the gates that had nothing to say
    #[arg(long)]
    pub(crate) all: bool,
}

impl ExplainArgs {
    /// Takes the flags out of the words behind the JSON; among `--key value` pairs they are the tool's own.
    pub(crate) fn take_later(&mut self) {
        let words = &mut self.call.words;
        if words.get(1).is_none_or(|input| input.starts_with("--")) {
            return;
        }
        let flags = &mut self.flags;
        let mut place = 0_usize;
        words.retain(|word| {
            place += 1;
            let flag = match word.as_str() {
                "--why-not" if place > 2 => &mut flags.why_not,
                "--all" if place > 2 => &mut flags.all,
                _ => return true,
            };
            *flag = true;
            false
        });
    }
}

/// Explains a call.
///
/// # Errors
/// The session can't be opened, or the input can't be read.
pub(super) fn explain(app: &App, typed: &Typed, flags: ExplainFlags) -> anyhow::Result<Status> {
    block_on(async {
        // The real session: what was read and where it stands decides too.
        let live = app.live(&app.session_name("cli"), Arc::new(NoApprover))?;
        live.meet_for(&typed.tool).await;
        live.close().await;
        let spec = spec_of(&live.session.snapshot(), &typed.tool);
        let text = typed.text(spec.as_deref())?;
        let request = Request::new(typed.tool.as_str(), text);
        let mut explained = live.executor.explained(&live.session, &request).await;
        explained.reason = with_damage(explained.reason, &explained.trace, &app.problems);
        if flags.all {
            explained.trace = with_silent(explained.trace);
        }
        if typed.json {
            let mut object = json!({
                "verdict": verdict(explained.verdict),
                "reason": explained.reason,
                "rule": explained.rule,
                "source": explained.source,
                "trace": trace(&explained.trace),
            });
            if let Some(object) = object.as_object_mut().filter(|_| flags.why_not) {
                object.insert("whyNot".to_owned(), json!(explained.why_not));
            }
            print::json(&object)?;
        } else {
            print::line(&shown(&explained));
            if flags.why_not {
                print::line(&what_would(&explained));
            }
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

/// What the rule of a file that can't be read whole says; anybody's own may say it too.
const EVERYTHING_ASKS: &str = "the rule \"*\" asks for it";

/// The headline, which names the file where nothing but its damage makes every call ask.
fn with_damage(reason: String, trace: &[TraceStep], problems: &[Problem]) -> String {
    let is_at = |problem: &Problem, source: &str| match (&problem.path, problem.line) {
        (Some(path), Some(line)) => source == format!("{path}:{line}") || source == path,
        (Some(path), None) => source == path,
        (None, _) => false,
    };
    let mut damaged: Vec<String> = Vec::new();
    for step in trace.iter().filter(|step| step.rule.as_deref() == Some("*")) {
        // What is said behind the place of a damaged file isn't part of it.
        let Some(source) = step.source.as_deref().and_then(|source| source.split("; ").next()) else {
            continue;
        };
        let Some(problem) = problems.iter().find(|problem| is_at(problem, source)) else { continue };
        let text = format!("every call asks until {source} is mended ({})", problem.text);
        if !damaged.contains(&text) {
            damaged.push(text);
        }
    }
    if damaged.is_empty() { reason } else { reason.replacen(EVERYTHING_ASKS, &damaged.join("; "), 1) }
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
        Some(source) => terminal::clean(&format!("  rule {rule} ({source})")),
        None => terminal::clean(&format!("  rule {rule}")),
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

/// What would let the call run, a line each.
fn what_would(explained: &Explained) -> String {
    let none = match explained.verdict {
        "allow" => "nothing more is needed: it runs",
        "ask" | "deny" => "no rule, folder or mode would let it run: do it another way",
        _ => "it isn't judged at all: see above",
    };
    let mut lines = vec![String::new(), "what would let it run:".to_owned()];
    if explained.why_not.is_empty() {
        lines.push(format!("  {none}"));
    }
    lines.extend(explained.why_not.iter().map(|text| format!("  {}", terminal::clean(text))));
    lines.join("\n")
}

/// The trace with every gate in it, in the order in which they are heard.
fn with_silent(mut trace: Vec<TraceStep>) -> Vec<TraceStep> {
    let gates = gates();
    let is_gate = |step: &TraceStep| gates.iter().any(|(_, name)| step.step.as_ref() == *name);
    let Some(first) = trace.iter().position(is_gate) else { return trace };
    let (heard, after): (Vec<TraceStep>, Vec<TraceStep>) =
        trace.split_off(first).into_iter().partition(|step| is_gate(step));
    for (kind, name) in &gates {
        let mut said = heard.iter().filter(|step| step.step.as_ref() == *name).cloned().peekable();
        if said.peek().is_none() {
            let why = match kind {
                GateKind::Guard => "nothing to say",
                GateKind::Settler => "not asked: it was settled before",
            };
            trace.push(TraceStep::new(*name, "-").because(why));
        }
        trace.extend(said);
    }
    trace.extend(after);
    trace
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gate_has_its_place_in_the_whole_trace() {
        let steps = ["effects", "guard:ask", "guard:outside", "judge"];
        let all = with_silent(steps.map(|step| TraceStep::new(step, "ok")).to_vec());
        assert_eq!(all.len(), gates().len() + 2);
        let at = |name: &str| all.iter().position(|step| step.step == name).unwrap();
        assert!(at("effects") < at("guard:disabled") && at("guard:disabled") < at("guard:ask"));
        assert!(at("guard:outside") < at("settler:grant") && at("settler:default") < at("judge"));
        assert_eq!(all[at("guard:ask")].verdict, "ok");
        assert_eq!(all[at("guard:plan")].verdict, "-");
        let unjudged = with_silent(vec![TraceStep::new("resolve", "unknown")]);
        assert_eq!(unjudged.len(), 1);
    }

    #[test]
    fn a_damaged_file_is_named_in_the_headline() {
        let problem = Problem {
            source: "user".to_owned(),
            path: Some("/c.toml".to_owned()),
            line: Some(3),
            text: "not valid TOML".to_owned(),
            fix: "mend this line".to_owned(),
        };
        let asks = |source: &str| TraceStep {
            rule: Some("*".to_owned()),
            source: Some(source.to_owned()),
            ..TraceStep::new("guard:ask", "ask")
        };
        let problems = [problem];
        let said = |trace: &[TraceStep]| with_damage(EVERYTHING_ASKS.to_owned(), trace, &problems);
        let named = said(&[asks("/c.toml:3"), asks("/c.toml:3")]);
        assert_eq!(named, "every call asks until /c.toml:3 is mended (not valid TOML)");
        // A rule that somebody wrote is told as it is.
        assert_eq!(said(&[asks("/c.toml:9")]), EVERYTHING_ASKS);
    }
}
