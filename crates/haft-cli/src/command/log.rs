//! `haft log`: what happened in a session.

use crate::{app::App, print, status::Status, terminal::clean, trouble::Trouble};
use haft_core::{CallId, FileChange, Outcome, Status as HowEnded, TraceStep};
use haft_runtime::{LogEntry, LogLine, read_log};
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

/// `haft log`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct LogArgs {
    /// The session [default: cli]
    #[arg(value_name = "SESSION")]
    pub(crate) name: Option<String>,
    /// Only the last N calls
    #[arg(long, value_name = "N")]
    pub(crate) calls: Option<usize>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// One call as the log tells it.
#[derive(Default)]
struct Told {
    tool: String,
    input: String,
    at: u64,
    end: Option<End>,
}

struct End {
    outcome: Outcome,
    duration_ms: u64,
    trace: Vec<TraceStep>,
    files: Vec<FileChange>,
    diagnostic: Option<String>,
}

/// One job as the log tells it.
struct ToldJob {
    job: Arc<str>,
    call: CallId,
    line: String,
    /// `running` until the log says something else.
    how: String,
    status: Option<HowEnded>,
    duration_ms: Option<u64>,
}

/// Prints the calls of a session in order, then its jobs.
///
/// # Errors
/// There is no such session, or its log can't be read.
pub(super) fn log(app: &App, args: &LogArgs) -> anyhow::Result<Status> {
    let state = app.state();
    let name = args.name.clone().unwrap_or_else(|| app.session_name("cli"));
    let known: Vec<String> =
        state.list("sessions").into_iter().filter(|entry| entry.is_folder).map(|entry| entry.name).collect();
    if !known.contains(&name) {
        let fix = if known.is_empty() {
            "make a call first: haft call TOOL '{…}'".to_owned()
        } else {
            format!("name one of: {}", known.join(", "))
        };
        return Err(Trouble::usage(format!("there is no session \"{name}\" in this workspace"), fix).into());
    }
    let (lines, unreadable) = read_log(state.as_ref(), &name)?;
    let (told, jobs) = tell(lines);
    let skipped = args.calls.map_or(0, |last| told.len().saturating_sub(last));
    let shown: Vec<_> = told.iter().skip(skipped).collect();
    if args.json {
        let calls: Vec<Value> = shown.iter().map(|(call, told)| object(call, told)).collect();
        let jobs: Vec<Value> = jobs.iter().map(job_object).collect();
        print::json(&json!({"session": name, "calls": calls, "jobs": jobs, "unreadable": unreadable}))?;
        return Ok(Status::Completed);
    }
    for (call, told) in &shown {
        print::line(&clean(&page(call, told)));
    }
    for job in &jobs {
        print::line(&clean(&job_line(job)));
    }
    if shown.is_empty() {
        print::line(&format!("no calls in session {name}"));
    }
    if unreadable > 0 {
        print::note(&format!(
            "{unreadable} line(s) of the log can't be read: torn, damaged, or of a later version"
        ));
    }
    Ok(Status::Completed)
}

fn tell(lines: Vec<LogLine>) -> (BTreeMap<CallId, Told>, Vec<ToldJob>) {
    let mut all: BTreeMap<CallId, Told> = BTreeMap::new();
    let mut jobs: Vec<ToldJob> = Vec::new();
    for line in lines {
        match line.entry {
            LogEntry::Requested { call, tool, raw, .. } => {
                let told = all.entry(call).or_default();
                (told.tool, told.input, told.at) = (tool, raw, line.at);
            }
            LogEntry::Ended { call, tool, outcome, trace, duration_ms, files, diagnostic, .. } => {
                let told = all.entry(call).or_default();
                told.tool = tool.to_string();
                told.end = Some(End { outcome, duration_ms, trace, files, diagnostic });
            }
            LogEntry::JobStarted { job, call, line, .. } => {
                let how = "running".to_owned();
                jobs.push(ToldJob { job, call, line, how, status: None, duration_ms: None });
            }
            LogEntry::JobEnded { job, how, status, duration_ms, .. } => {
                if let Some(told) = jobs.iter_mut().find(|told| told.job == job) {
                    (told.how, told.status, told.duration_ms) = (how, status, Some(duration_ms));
                }
            }
            _ => {}
        }
    }
    (all, jobs)
}

fn job_line(job: &ToldJob) -> String {
    let status = match job.status {
        Some(HowEnded::Code(code)) => format!(", exit {code}"),
        Some(HowEnded::Signal(signal)) => format!(", signal {signal}"),
        None => String::new(),
    };
    let time = job.duration_ms.map(|ms| format!(", {}", print::time(ms))).unwrap_or_default();
    format!(
        "{} of call {}: {}{status}{time}: {}",
        job.job,
        job.call,
        job.how,
        print::one_line(&job.line, 100)
    )
}

fn job_object(job: &ToldJob) -> Value {
    json!({
        "job": job.job,
        "call": job.call,
        "line": job.line,
        "how": job.how,
        "status": job.status,
        "durationMs": job.duration_ms,
    })
}

/// The step that decided: the approval, else the last gate with something to say.
fn decisive(trace: &[TraceStep]) -> Option<&TraceStep> {
    let is_gate = |step: &&TraceStep| step.step.starts_with("guard:") || step.step.starts_with("settler:");
    let spoke = |step: &&TraceStep| matches!(step.verdict.as_ref(), "allow" | "ask" | "deny");
    let approval = trace.iter().rev().find(|step| step.step == "approve");
    approval.or_else(|| trace.iter().rev().find(|step| is_gate(step) && spoke(step)))
}

fn page(call: &CallId, told: &Told) -> String {
    let outcome = told.end.as_ref().map_or("no outcome yet", |end| end.outcome.name());
    let time = told.end.as_ref().map(|end| format!(", {}", print::time(end.duration_ms))).unwrap_or_default();
    let mut lines =
        vec![format!("{call} {} {}: {outcome}{time}", told.tool, print::one_line(&told.input, 100))];
    if let Some(end) = &told.end {
        if let Outcome::Denied { why, feedback } = &end.outcome {
            let said = feedback.as_ref().map(|said| format!("; they said: {said}")).unwrap_or_default();
            lines.push(format!("    {}: {}{said}", why.gate, why.reason));
        } else if let Some(step) = decisive(&end.trace) {
            let rule = step.rule.as_ref().map(|rule| format!(" [{rule}]")).unwrap_or_default();
            let reason = step.reason.as_deref().unwrap_or_default();
            lines.push(format!("    {} {}: {}{rule}", step.step, step.verdict, print::one_line(reason, 160)));
        }
        lines.extend(end.files.iter().map(|file| format!("    {} {}", change(file), file.path)));
        lines.extend(
            end.diagnostic.iter().map(|text| format!("    diagnostic: {}", print::one_line(text, 160))),
        );
    }
    lines.join("\n")
}

fn change(file: &FileChange) -> &'static str {
    match (&file.before, &file.after) {
        (None, _) => "made",
        (_, None) => "removed",
        _ => "changed",
    }
}

fn object(call: &CallId, told: &Told) -> Value {
    let end = told.end.as_ref();
    let decided = end.and_then(|end| decisive(&end.trace));
    let denied = end.and_then(|end| match &end.outcome {
        Outcome::Denied { why, feedback } => {
            Some(json!({"gate": why.gate, "reason": why.reason, "rule": why.rule, "feedback": feedback}))
        }
        _ => None,
    });
    json!({
        "call": call,
        "tool": told.tool,
        "input": told.input,
        "at": told.at,
        "outcome": end.map(|end| end.outcome.name()),
        "durationMs": end.map(|end| end.duration_ms),
        "decided": decided,
        "denied": denied,
        "files": end.map(|end| end.files.as_slice()).unwrap_or_default(),
        "diagnostic": end.and_then(|end| end.diagnostic.as_deref()),
    })
}
