//! What a model is told of a script that ended.

use super::{
    SCRIPT_NAME,
    run::{Left, ScriptEnd},
};
use crate::{
    guest::Gone,
    wire::{Fault, Place, Rest},
};
use haft_core::{Block, Failure, FailureKind, Output, Shape};
use serde_json::{Value, json};

/// How much of the line of a fault is shown.
const LINE_MAX_CHARS: usize = 160;
/// How much of the text of a failure that nobody waited for is shown.
const UNHEARD_MAX_CHARS: usize = 400;
const NOTHING: &str =
    "[the script printed nothing and returned nothing; end it with an expression, or use console.log]";

/// The result, or the failure with what was printed until then.
pub(super) fn told(end: ScriptEnd, left: Left, script: &str) -> Result<Output, Failure> {
    match end {
        ScriptEnd::Returned { value, is_nothing } => result(&value, is_nothing, left, script),
        other => {
            let made = calls_made(&left, script);
            let failure = failure(other, &left, script, &made);
            Err(with_kept(failure, left))
        }
    }
}

fn with_kept(failure: Failure, left: Left) -> Failure {
    let partial = kept(left, None);
    if partial.content.is_empty() { failure } else { failure.with_partial(partial) }
}

fn result(value: &Value, is_nothing: bool, left: Left, script: &str) -> Result<Output, Failure> {
    let text = match value {
        _ if is_nothing => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    let returned = text.as_ref().map_or(0, String::len);
    if left.logged_bytes.saturating_add(returned) > left.output_bytes {
        let (printed, most, made) = (left.logged_bytes, left.output_bytes, calls_made(&left, script));
        let text = format!(
            "the script printed {printed} bytes and returned {returned}, more than {most} together; return only what \
             matters{made}"
        );
        return Err(with_kept(Failure::invalid(text), left));
    }
    let unheard = unheard(&left.rest, script);
    let mut output = kept(left, text);
    if output.content.is_empty() {
        output.content.push(Block::text(NOTHING));
    }
    output.content.extend(unheard.map(|unheard| Block::text(format!("[{unheard}]"))));
    Ok(output)
}

/// What was printed, then what was returned, then the pictures.
fn kept(left: Left, result: Option<String>) -> Output {
    let metadata = json!({"calls": left.calls, "failedCalls": left.failed_calls});
    let mut content = Vec::new();
    let logs = left.logs.text.trim_end_matches('\n');
    if !logs.is_empty() {
        content.push(Block::text(logs));
    }
    content.extend(result.map(Block::text));
    content.extend(left.images);
    if left.images_left_out > 0 {
        content.push(Block::text(format!("[{} more pictures aren't attached]", left.images_left_out)));
    }
    Output { content, shape: Shape::HeadTail, truncation: left.logs.truncation, ..Output::default() }
        .with_metadata(metadata)
}

fn failure(end: ScriptEnd, left: &Left, script: &str, made: &str) -> Failure {
    match end {
        ScriptEnd::Returned { .. } => Failure::internal("the script ended well"),
        ScriptEnd::Threw(fault) => Failure::invalid(format!("{}{made}", thrown(&fault, script))),
        ScriptEnd::Refused(tool) => Failure::new(
            FailureKind::Permission,
            format!(
                "Tool use denied by user: {tool}. The script was ended there; ask the user how to go on.{made}"
            ),
        ),
        ScriptEnd::TooMuch(most) => Failure::invalid(format!(
            "the script printed more than {most} bytes and was ended; print and return only what matters{made}"
        )),
        ScriptEnd::Stopped(place) => {
            let place = place.map(|place| at(&place, script)).unwrap_or_default();
            Failure::new(FailureKind::Cancelled, format!("the script was stopped{place}{made}"))
        }
        ScriptEnd::Lost(gone) => {
            let failure =
                left.lost.clone().unwrap_or_else(|| Failure::internal("the script's process ended"));
            let text = format!("{}{made}", failure.text);
            let diagnostic = match gone {
                Gone::Ended => failure.diagnostic.clone().unwrap_or_default(),
                Gone::Broken(why) => format!("it broke the protocol: {why}"),
            };
            Failure { text, ..failure }.diagnose(diagnostic)
        }
    }
}

fn thrown(fault: &Fault, script: &str) -> String {
    let what = match (&fault.tool, &fault.kind, &fault.name) {
        (Some(tool), Some(kind), _) => format!("{tool} failed ({kind}): {}", fault.text),
        (_, _, Some(name)) => format!("{name}: {}", fault.text),
        _ => fault.text.clone(),
    };
    let place = fault.place.as_ref().map(|place| at(place, script)).unwrap_or_default();
    format!("{what}{place}")
}

/// The script's own line.
fn at(place: &Place, script: &str) -> String {
    let index = usize::try_from(place.line).unwrap_or(usize::MAX).saturating_sub(1);
    let line = script.lines().nth(index).filter(|_| place.file == SCRIPT_NAME);
    let line: String = line.unwrap_or_default().trim().chars().take(LINE_MAX_CHARS).collect();
    format!("\n  at line {}: {line}", place.line)
}

fn calls_made(left: &Left, script: &str) -> String {
    let mut told = match left.calls {
        0 => String::new(),
        calls => format!("\nThe {calls} call(s) that it made until then stay made."),
    };
    if let Some(unheard) = unheard(&left.rest, script) {
        told.push('\n');
        told.push_str(&unheard);
    }
    told
}

/// What the script didn't wait for and came to nothing.
fn unheard(rest: &Rest, script: &str) -> Option<String> {
    let (calls, others): (Vec<&Fault>, Vec<&Fault>) = rest.unheard.iter().partition(|one| one.tool.is_some());
    let mut lines = Vec::new();
    for (faults, one, several) in [
        (calls, "1 call that wasn't waited for failed", "calls that weren't waited for failed"),
        (
            others,
            "1 promise that wasn't waited for was rejected",
            "promises that weren't waited for were rejected",
        ),
    ] {
        let head = match faults.len() {
            0 => continue,
            1 => one.to_owned(),
            count => format!("{count} {several}"),
        };
        let texts: Vec<String> = faults.into_iter().map(|fault| shortened(fault, script)).collect();
        lines.push(format!("{head}: {}", texts.join("\n")));
    }
    if rest.more > 0 {
        lines.push(format!("{} more failed that weren't waited for", rest.more));
    }
    if rest.unmade > 0 {
        lines.push(format!("{} more call(s) weren't made: they still waited for their turn", rest.unmade));
    }
    if rest.timers > 0 {
        lines.push(format!(
            "{} timer(s) set after the script had returned were dropped, and what waited for them; use await",
            rest.timers
        ));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn shortened(fault: &Fault, script: &str) -> String {
    let mut fault = fault.clone();
    if let Some((end, _)) = fault.text.char_indices().nth(UNHEARD_MAX_CHARS) {
        fault.text.truncate(end);
        fault.text.push('…');
    }
    thrown(&fault, script)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::Captured;

    fn left(logs: &str, calls: u64) -> Left {
        Left {
            logs: Captured { text: logs.to_owned(), truncation: None },
            images: Vec::new(),
            images_left_out: 0,
            calls,
            failed_calls: 0,
            rest: Rest::default(),
            logged_bytes: logs.len(),
            output_bytes: 1_000,
            lost: None,
        }
    }

    #[test]
    fn what_was_printed_comes_before_what_was_returned() {
        let end = |value| ScriptEnd::Returned { value, is_nothing: false };
        let output = told(end(json!({"n": 1})), left("a\nb\n", 0), "").unwrap();
        assert_eq!(output.joined_text(), "a\nb\n{\"n\":1}");
        assert_eq!(told(end(json!("text")), left("", 0), "").unwrap().joined_text(), "text");
        let nothing = ScriptEnd::Returned { value: Value::Null, is_nothing: true };
        assert_eq!(told(nothing, left("", 0), "").unwrap().joined_text(), NOTHING);
    }

    #[test]
    fn what_nobody_waited_for_is_told_beside_the_result() {
        let fault = Fault {
            name: Some("ToolError".to_owned()),
            text: "it may not".to_owned(),
            tool: Some("write".to_owned()),
            kind: Some("denied".to_owned()),
            place: Some(Place { file: SCRIPT_NAME.to_owned(), line: 1, column: 1 }),
        };
        let other = Fault { name: Some("Error".to_owned()), text: "boom".to_owned(), ..Fault::default() };
        let rest = Rest { unheard: vec![fault, other], more: 2, unmade: 0, timers: 1 };
        let end = ScriptEnd::Returned { value: json!("done"), is_nothing: false };
        let output =
            told(end, Left { rest: rest.clone(), ..left("", 1) }, "tools.write({}); \"done\"").unwrap();
        let text = output.joined_text();
        for part in [
            "done\n[1 call that wasn't waited for failed: write failed (denied): it may not\n  at line 1: tools.write",
            "1 promise that wasn't waited for was rejected: Error: boom",
            "2 more failed",
            "1 timer(s)",
        ] {
            assert!(text.contains(part), "no {part:?} in {text}");
        }
        let thrown = ScriptEnd::Threw(Fault { text: "x".to_owned(), ..Fault::default() });
        let rest = Rest { unmade: 3, ..rest };
        let failure = told(thrown, Left { rest, ..left("", 1) }, "").unwrap_err();
        assert!(failure.text.contains("3 more call(s) weren't made"), "{}", failure.text);
    }

    #[test]
    fn what_is_returned_counts_like_what_is_printed() {
        let end = |length: usize| ScriptEnd::Returned { value: json!("x".repeat(length)), is_nothing: false };
        assert!(told(end(998), left("ab", 0), "").is_ok());
        let failure = told(end(999), left("ab", 0), "").unwrap_err();
        assert!(failure.text.contains("printed 2 bytes and returned 999"), "{}", failure.text);
        assert_eq!(failure.partial.unwrap().joined_text(), "ab");
    }

    #[test]
    fn a_failure_has_the_line_the_tool_and_what_was_printed() {
        let place = Place { file: SCRIPT_NAME.to_owned(), line: 2, column: 1 };
        let fault = Fault {
            name: Some("ToolError".to_owned()),
            text: "no such file".to_owned(),
            tool: Some("read".to_owned()),
            kind: Some("not-found".to_owned()),
            place: Some(place),
        };
        let failure =
            told(ScriptEnd::Threw(fault), left("so far\n", 3), "a;\n  await tools.read({});\n").unwrap_err();
        assert_eq!(
            failure.text,
            "read failed (not-found): no such file\n  at line 2: await tools.read({});\nThe 3 call(s) that it made until \
             then stay made."
        );
        assert_eq!(failure.partial.unwrap().joined_text(), "so far");
    }
}
