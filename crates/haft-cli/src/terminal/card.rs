//! A call as people see it: one line when it starts, one when it ends, and why it was allowed or asked. Pure.

use super::{
    clean::{clean, one_line},
    style::{BOLD, bad, dim, good},
};
use haft_core::{Ended, Outcome, Spec, TraceStep};
use serde_json::Value;
use std::time::Duration;

/// How much of the input is shown.
const DETAIL_MAX_CHARS: usize = 100;
/// How much of a reason or an error is shown.
const REASON_MAX_CHARS: usize = 300;
/// The parts of an input that say most, the best first.
const TELLING: [&str; 8] = ["path", "url", "command", "query", "pattern", "description", "prompt", "name"];
/// What is searched for says more than where.
const SOUGHT: [&str; 2] = ["pattern", "query"];

/// One call's card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Card {
    /// One character or emoji.
    pub(crate) icon: String,
    /// The tool's name for people.
    pub(crate) label: String,
    /// What it is about.
    pub(crate) detail: String,
}

impl Card {
    /// The card of a call, from the argument text as it came; `spec` is none for a tool that isn't known.
    pub(crate) fn of(spec: Option<&Spec>, tool: &str, input: &str) -> Self {
        let icon = match spec {
            Some(spec) => spec.display.icon.clone().unwrap_or_else(|| "•".to_owned()),
            None => "?".to_owned(),
        };
        let label = spec.map_or_else(|| tool.to_owned(), Spec::label);
        let detail = match serde_json::from_str::<Value>(input) {
            Ok(value) => detail(spec, &value),
            Err(_) => input.to_owned(),
        };
        Self { icon: shown(&icon, 8), label: shown(&label, 64), detail: shown(&detail, DETAIL_MAX_CHARS) }
    }

    /// The card on one line.
    pub(crate) fn line(&self) -> String {
        let line = format!("{} {BOLD}{}{BOLD:#}  {}", self.icon, self.label, self.detail);
        line.trim_end().to_owned()
    }
}

/// What a call is about, in the words of its input.
fn detail(spec: Option<&Spec>, input: &Value) -> String {
    let sought = SOUGHT.iter().find_map(|name| text_of(spec, input, name));
    if let (Some(sought), Some(place)) = (sought, text_of(spec, input, "path")) {
        return format!("{sought} in {place}");
    }
    let telling = TELLING.iter().find_map(|name| text_of(spec, input, name));
    telling.map_or_else(
        || match input {
            Value::Object(object) if object.is_empty() => String::new(),
            other => other.to_string(),
        },
        str::to_owned,
    )
}

/// A text of the input, also under another name that the tool takes for it.
fn text_of<'a>(spec: Option<&Spec>, input: &'a Value, name: &str) -> Option<&'a str> {
    let aliases = spec.and_then(|spec| spec.input_aliases.get(name));
    let names = std::iter::once(name).chain(aliases.into_iter().flatten().map(String::as_str));
    let mut texts = names.filter_map(|name| input.get(name)?.as_str());
    texts.find(|text| !text.trim().is_empty())
}

/// How a call ended: its time, what it counted, and what went wrong.
pub(crate) fn outcome_line(ended: &Ended) -> String {
    let name = ended.outcome.name();
    let head = match &ended.outcome {
        Outcome::Completed => good(&format!("✓ {name}")),
        _ => bad(&format!("✗ {name}")),
    };
    let mut parts = vec![head];
    parts.extend(fault(ended).map(|text| shown(&text, REASON_MAX_CHARS)));
    parts.extend(ended.output.metadata.as_ref().map(counts).unwrap_or_default());
    if let Some(cut) = &ended.output.truncation {
        let left_out = cut.total_lines.saturating_sub(cut.shown_lines);
        if left_out > 0 {
            parts.push(format!("{} left out for the model", counted(left_out, "line")));
        }
    }
    parts.push(dim(&time(ended.duration)));
    parts.join(" · ")
}

fn fault(ended: &Ended) -> Option<String> {
    match &ended.outcome {
        Outcome::Completed => None,
        Outcome::Denied { why, feedback } => Some(match feedback {
            Some(feedback) => format!("{}: {feedback}", why.reason),
            None => with_source(&why.reason, why.source.as_deref()),
        }),
        _ => {
            let text = ended
                .failure
                .as_ref()
                .map_or_else(|| ended.output.joined_text(), |failure| failure.text.clone());
            Some(text.lines().next().unwrap_or_default().to_owned()).filter(|text| !text.is_empty())
        }
    }
}

/// What a tool counted, from what it tells people.
fn counts(metadata: &Value) -> Vec<String> {
    let number = |name: &str| metadata.get(name).and_then(Value::as_u64);
    let mut counts = Vec::new();
    if let Some(matches) = number("matches") {
        let files = number("filesWithMatches").map(|files| format!(" in {}", counted(files, "file")));
        counts.push(format!("{}{}", plural(matches, "match", "matches"), files.unwrap_or_default()));
    }
    if let Some(files) = number("files") {
        counts.push(counted(files, "file"));
    }
    if let Some(lines) = number("shown").filter(|_| metadata.get("lines").is_some()) {
        counts.push(match number("lines") {
            Some(all) if all != lines => format!("{lines} of {}", counted(all, "line")),
            _ => counted(lines, "line"),
        });
    }
    if let (Some(added), Some(removed)) = (number("added"), number("removed")) {
        counts.push(format!("+{added} -{removed}"));
    }
    if let Some(code) = metadata.get("exitCode").and_then(Value::as_i64) {
        counts.push(format!("exit {code}"));
    }
    if let Some(signal) = metadata.get("signal").and_then(Value::as_i64) {
        counts.push(format!("killed by signal {signal}"));
    }
    counts
}

/// Why a call was allowed, asked or refused, a line each, from the words of the gates in its trace.
pub(crate) fn reasons(trace: &[TraceStep]) -> Vec<String> {
    let lines = trace.iter().filter_map(|step| {
        let is_gate = step.step.starts_with("guard:") || step.step.starts_with("settler:");
        let word = match step.verdict.as_ref() {
            "allow" if is_gate => "allowed",
            "ask" if is_gate => "asks",
            "deny" if is_gate => "refused",
            "-" if is_gate && step.reason.is_some() => "noted",
            answer if step.step == "approve" => {
                let detail = step.reason.as_deref().filter(|reason| !reason.is_empty());
                let detail = detail.map(|detail| format!(", {detail}")).unwrap_or_default();
                return Some(format!("answered: {answer}{detail}"));
            }
            _ => return None,
        };
        Some(format!(
            "{word}: {}",
            with_source(step.reason.as_deref().unwrap_or(&step.step), step.source.as_deref())
        ))
    });
    lines.map(|line| shown(&line, REASON_MAX_CHARS)).collect()
}

/// Every step of a trace, a line each.
pub(crate) fn trace_lines(trace: &[TraceStep]) -> Vec<String> {
    let lines = trace.iter().map(|step| {
        let said = step
            .reason
            .as_deref()
            .map(|reason| with_source(reason, step.source.as_deref()))
            .unwrap_or_default();
        let (name, verdict) = (shown(&step.step, 40), shown(&step.verdict, 20));
        format!("{name:<18} {verdict:<9} {}", shown(&said, REASON_MAX_CHARS)).trim_end().to_owned()
    });
    lines.collect()
}

fn with_source(reason: &str, source: Option<&str>) -> String {
    match source {
        Some(source) => format!("{reason} ({source})"),
        None => reason.to_owned(),
    }
}

fn counted(count: u64, what: &str) -> String {
    plural(count, what, &format!("{what}s"))
}

fn plural(count: u64, one: &str, many: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {many}") }
}

fn shown(text: &str, max: usize) -> String {
    one_line(&clean(text), max)
}

fn time(duration: Duration) -> String {
    if duration < Duration::from_secs(1) {
        format!("{} ms", duration.as_millis())
    } else {
        format!("{:.1} s", duration.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{CallId, Failure, FailureKind, Output, Why};
    use serde_json::json;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    fn ended(outcome: Outcome, output: Output) -> Ended {
        Ended {
            call: CallId::outer(1),
            tool: "t".into(),
            owner: None,
            outcome,
            output,
            failure: None,
            trace: Vec::new(),
            duration: Duration::from_millis(12),
        }
    }

    #[test]
    fn the_most_telling_part_of_the_input_is_the_detail() {
        let cases = [
            (json!({"path": "a.rs", "edits": []}), "a.rs"),
            (json!({"command": "ls\n  -a", "description": "lists"}), "ls -a"),
            (json!({"pattern": "TODO", "path": "src"}), "TODO in src"),
            (json!({"pattern": "TODO", "path": ""}), "TODO"),
            (json!({"prompt": "look"}), "look"),
            (json!({"x": 1}), "{\"x\":1}"),
            (json!({}), ""),
        ];
        for (input, detail) in cases {
            assert_eq!(Card::of(None, "t", &input.to_string()).detail, detail);
        }
        assert_eq!(Card::of(None, "t", "{\"pa").detail, "{\"pa");
    }

    #[test]
    fn a_card_has_the_tools_looks_and_other_names_of_its_input() {
        let spec =
            Spec::new("read_file", "d").with_display("📄", "Reading").with_input_aliases("path", &["file"]);
        let input = json!({"file": "\u{1b}[31ma\u{202e}b"}).to_string();
        let card = Card::of(Some(&spec), "read_file", &input);
        assert_eq!(plain(&card.line()), "📄 Read file  ab");
        assert_eq!(plain(&Card::of(None, "x", "{}").line()), "? x");
        let long = Card::of(Some(&spec), "x", &json!({"path": "a".repeat(500)}).to_string());
        assert_eq!(long.detail.chars().count(), DETAIL_MAX_CHARS);
    }

    #[test]
    fn the_outcome_has_counts_and_time() {
        let found = Output::text("x").with_metadata(json!({"matches": 3, "filesWithMatches": 1, "shown": 3}));
        let run = Output::text("x").with_metadata(json!({"exitCode": 1, "signal": null}));
        let read = Output::text("x").with_metadata(json!({"lines": 9, "shown": 1}));
        assert_eq!(
            plain(&outcome_line(&ended(Outcome::Completed, found))),
            "✓ completed · 3 matches in 1 file · 12 ms"
        );
        assert_eq!(plain(&outcome_line(&ended(Outcome::Completed, run))), "✓ completed · exit 1 · 12 ms");
        assert_eq!(
            plain(&outcome_line(&ended(Outcome::Completed, read))),
            "✓ completed · 1 of 9 lines · 12 ms"
        );
    }

    #[test]
    fn what_went_wrong_is_said() {
        let kind = FailureKind::NotFound;
        let failed = Ended {
            failure: Some(Failure::new(kind, "there is no a\nmore")),
            ..ended(Outcome::Failed { kind }, Output::default())
        };
        assert_eq!(plain(&outcome_line(&failed)), "✗ failed · there is no a · 12 ms");
        let why = Why { source: Some("a.toml:2".to_owned()), ..Why::new("deny", "a rule denies it") };
        let denied = ended(Outcome::Denied { why, feedback: None }, Output::default());
        assert_eq!(plain(&outcome_line(&denied)), "✗ denied · a rule denies it (a.toml:2) · 12 ms");
    }

    #[test]
    fn reasons_are_the_gates_words() {
        let why =
            Why { source: Some("a.toml:2".to_owned()), ..Why::new("allow", "the rule \"x\" allows it") };
        let trace = [
            TraceStep::new("parse", "ok"),
            TraceStep::new("settler:grant", "-"),
            TraceStep::gate("settler:allow", "allow", &why),
            TraceStep::new("settler:default", "ask").because("it asks first"),
            TraceStep::new("judge", "ask"),
            TraceStep::new("approve", "once").because(""),
            TraceStep::new("approve", "always").because("bash(ls)"),
        ];
        let lines = [
            "allowed: the rule \"x\" allows it (a.toml:2)",
            "asks: it asks first",
            "answered: once",
            "answered: always, bash(ls)",
        ];
        assert_eq!(reasons(&trace), lines);
    }
}
