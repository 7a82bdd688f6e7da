//! `haft test`: the examples of a tool, or of all tools of an extension, each run through the whole call path.

use super::{Interrupts, block_on, call::spec_of};
use crate::{
    app::{App, Brought, Live},
    print,
    status::Status,
    terminal::{YesApprover, bad, clean, good},
    trouble::Trouble,
};
use haft_core::{Ended, Request, Spec};
use serde_json::{Value, json};
use std::{fmt::Write, sync::Arc};

/// How much of a result is shown where it isn't what was expected.
const SHOWN_MAX_CHARS: usize = 400;

/// `haft test`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct TestArgs {
    /// The tool's name, or an extension's: then all its tools
    pub(crate) tool: String,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs the examples; whoever runs this has said yes to them.
///
/// # Errors
/// There is no such tool and no such extension, or the session can't be opened.
pub(super) fn test(app: &App, args: &TestArgs) -> anyhow::Result<Status> {
    block_on(async {
        let live = app.live(&app.session_name("test"), Arc::new(YesApprover))?;
        live.meet_for(&args.tool).await;
        let tools = meant(&live, &args.tool)?;
        let is_one = matches!(&tools[..], [(name, _)] if **name == *args.tool);
        let mut interrupts = Interrupts::listen()?;
        let (mut passed, mut failed, mut rows) = (0_usize, 0_usize, Vec::new());
        for (tool, spec) in &tools {
            let shown = if is_one { String::new() } else { format!("{tool} ") };
            for (index, example) in spec.examples.iter().enumerate() {
                let number = index + 1;
                let request = Request::new(&**tool, example.input.to_string());
                let ended = interrupts.until_ended(live.executor.submit(&live.session, request)).await;
                let fault = fault(&ended, &example.expect);
                match &fault {
                    None => passed += 1,
                    Some(_) => failed += 1,
                }
                if args.json {
                    rows.push(json!({
                        "tool": tool,
                        "example": number,
                        "input": example.input,
                        "passed": fault.is_none(),
                        "fault": fault,
                    }));
                } else {
                    let word = if fault.is_none() { good("pass") } else { bad("fail") };
                    print::line(&format!("{word} {shown}{number}: {}", clean(&example.input.to_string())));
                    if let Some(fault) = fault {
                        print::line(&format!("  {}", clean(&fault).replace('\n', "\n  ")));
                    }
                }
            }
        }
        live.session.end_run();
        live.close().await;
        if args.json {
            print::json(&json!({"tool": args.tool, "passed": passed, "failed": failed, "examples": rows}))?;
        } else {
            for (tool, _) in tools.iter().filter(|(_, spec)| spec.examples.is_empty()) {
                print::line(&format!(
                    "{tool} has no examples; add some: \"examples\": [{{\"input\": {{…}}, \"expect\": …}}]"
                ));
            }
            print::line(&format!("{passed} passed, {failed} failed"));
        }
        Ok(if failed == 0 { Status::Completed } else { Status::Failed })
    })
}

/// A tool's name and what it declares.
type Named = (Arc<str>, Arc<Spec>);

/// The tools that a name means: those of the extension of that name, with the one that is called so, or that one alone.
fn meant(live: &Live, name: &str) -> Result<Vec<Named>, Trouble> {
    let snapshot = live.session.snapshot();
    // Somebody else's tool of that name is meant where there is one.
    let is_meant = |extension: &Brought| snapshot.get(name).is_none_or(|offer| extension.owns(&offer.owner));
    let mut extensions = live.tools.brought().into_iter();
    let named = extensions.find(|extension| extension.folder.file_name() == name).filter(is_meant);
    if let Some(extension) = named {
        let own = snapshot.offers().filter(|offer| extension.owns(&offer.owner));
        let own: Vec<_> = own.map(|offer| (Arc::clone(&offer.name), Arc::clone(offer.spec()))).collect();
        if own.is_empty() {
            let what = format!("the extension \"{name}\" has no tool that can be used");
            return Err(Trouble::usage(what, format!("run `haft check {name}` to see why")));
        }
        return Ok(own);
    }
    if let Some(spec) = spec_of(&snapshot, name) {
        return Ok(vec![(name.into(), spec)]);
    }
    if live.tools.extensions().iter().any(|(_, folder)| folder.file_name() == name) {
        let what = format!("the extension \"{name}\" can't be used");
        return Err(Trouble::usage(what, format!("run `haft check {name}` to see why")));
    }
    let fix = "run `haft tools` to see which there are, and `haft tools --problems` for those set aside";
    Err(Trouble::usage(format!("there is no tool and no extension \"{name}\""), fix))
}

/// What isn't as expected.
fn fault(ended: &Ended, expected: &Value) -> Option<String> {
    if !ended.outcome.is_completed() {
        return Some(format!("{}: {}", ended.outcome.name(), cut(&ended.output.joined_text())));
    }
    let text = ended.output.joined_text();
    let agrees = match expected {
        Value::String(expected) => is_text(&text, expected),
        expected => {
            let value = ended.output.structured.clone().or_else(|| serde_json::from_str(&text).ok());
            value.is_some_and(|value| contains(&value, expected))
        }
    };
    if agrees {
        return None;
    }
    let mut fault = String::new();
    // Writing to a string can't fail.
    let _ = write!(fault, "expected {expected}\ngot      ");
    match &ended.output.structured {
        Some(value) if !expected.is_string() => fault.push_str(&cut(&value.to_string())),
        _ => fault.push_str(&cut(&Value::String(text).to_string())),
    }
    Some(fault)
}

/// The line break that commands end their output with doesn't count.
fn is_text(text: &str, expected: &str) -> bool {
    text == expected || text.strip_suffix('\n') == Some(expected)
}

/// Whether `value` has all that `expected` has; lists must be as long.
fn contains(value: &Value, expected: &Value) -> bool {
    match (value, expected) {
        (Value::Object(value), Value::Object(expected)) => expected
            .iter()
            .all(|(key, expected)| value.get(key).is_some_and(|value| contains(value, expected))),
        (Value::Array(value), Value::Array(expected)) => {
            value.len() == expected.len()
                && value.iter().zip(expected).all(|(value, expected)| contains(value, expected))
        }
        (Value::Number(value), Value::Number(expected)) => {
            value == expected || value.as_f64() == expected.as_f64()
        }
        (value, expected) => value == expected,
    }
}

fn cut(text: &str) -> String {
    if text.chars().count() <= SHOWN_MAX_CHARS {
        return text.to_owned();
    }
    let mut cut: String = text.chars().take(SHOWN_MAX_CHARS).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subset_agrees_and_anything_else_does_not() {
        let value = json!({"a": 1, "b": {"c": [1, {"d": 2, "e": 3}]}});
        for expected in [json!({}), json!({"a": 1.0}), json!({"b": {"c": [1, {"d": 2}]}})] {
            assert!(contains(&value, &expected), "{expected}");
        }
        for expected in
            [json!({"a": 2}), json!({"z": 1}), json!({"b": {"c": [1]}}), json!([1]), json!({"a": "1"})]
        {
            assert!(!contains(&value, &expected), "{expected}");
        }
    }

    #[test]
    fn a_text_is_exact_but_for_the_last_line_break() {
        assert!(is_text("a\n", "a") && is_text("a\n", "a\n") && is_text("a", "a"));
        assert!(!is_text("a\n\n", "a") && !is_text(" a", "a") && !is_text("a", "a\n"));
    }
}
