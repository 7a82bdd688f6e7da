//! A question of haft's as a form that any client can show, and what its answer comes to. Pure.
//!
//! All choices are plain words in one enumeration, since that is what every revision of the protocol knows.

use haft_core::{Answer, Effects, Question, RealPath, Touch, bounded_lines, exact};
use serde_json::{Map, Value, json};

/// How much of a preview is shown.
const PREVIEW_MAX_LINES: usize = 60;
/// How much of one command or input is shown.
const TEXT_MAX_LINES: usize = 20;
/// How much of one line is shown.
const LINE_MAX_CHARS: usize = 400;
/// Effects that are named one by one.
const TOUCHES_MAX: usize = 20;

const ONCE: &str = "allow once";
const SESSION: &str = "allow for this session";
const ALWAYS: &str = "always allow";
const DENY: &str = "deny";
const NEVER: &str = "always deny";

/// The request that puts a question.
pub(crate) fn request(question: &Question) -> Value {
    let properties = json!({
        "answer": {
            "type": "string",
            "title": "Answer",
            "description": "Whether it may run",
            "enum": choices(question),
        },
        "feedback": {
            "type": "string",
            "title": "What to do instead",
            "description": "Told to the model where the answer is deny",
        },
    });
    let schema = json!({"type": "object", "properties": properties, "required": ["answer"]});
    json!({"method": "elicitation/create", "params": {"message": text(question), "requestedSchema": schema}})
}

/// What the client's result comes to. What isn't one of the choices allows nothing.
pub(crate) fn answer(question: &Question, result: &Value) -> Answer {
    let content = result.get("content").and_then(Value::as_object);
    match result.get("action").and_then(Value::as_str) {
        Some("accept") => chosen(question, content),
        Some("decline") => Answer::Deny { feedback: None },
        _ => Answer::Dismissed,
    }
}

fn chosen(question: &Question, content: Option<&Map<String, Value>>) -> Answer {
    let field = |name: &str| content.and_then(|content| content.get(name)).and_then(Value::as_str);
    let choice = field("answer").unwrap_or_default();
    if !choices(question).iter().any(|known| known == choice) {
        return Answer::Dismissed;
    }
    let rule_of = |prefix: &str| {
        let rule = choice.strip_prefix(prefix)?.strip_prefix(": ")?;
        question.rules.iter().find(|known| exact(known) == rule).cloned()
    };
    if choice == ONCE {
        return Answer::Once;
    }
    if choice.starts_with(SESSION) {
        return Answer::Session;
    }
    if let Some(rule) = rule_of(ALWAYS) {
        return Answer::Always { rule };
    }
    if let Some(rule) = rule_of(NEVER) {
        return Answer::DenyAlways { rule };
    }
    let feedback = field("feedback").map(str::trim).filter(|feedback| !feedback.is_empty());
    Answer::Deny { feedback: feedback.map(str::to_owned) }
}

fn choices(question: &Question) -> Vec<String> {
    let mut choices = vec![ONCE.to_owned()];
    choices.extend(question.session.iter().map(|rule| format!("{SESSION}: {}", exact(rule))));
    choices.extend(question.rules.iter().map(|rule| format!("{ALWAYS}: {}", exact(rule))));
    choices.push(DENY.to_owned());
    choices.extend(question.rules.first().map(|rule| format!("{NEVER}: {}", exact(rule))));
    choices
}

/// Who, what exactly, why, and what will change.
fn text(question: &Question) -> String {
    let harm = if question.mutates { "may change things" } else { "only reads" };
    let mut lines = vec![format!(
        "haft asks: {} ({}) wants to run. It {harm}.",
        exact(&question.label),
        exact(&question.tool)
    )];
    lines.extend(effects(&question.effects));
    if !question.effects.touches().iter().any(|touch| !matches!(touch, Touch::Session(_))) {
        lines.extend(field("input", &question.input.to_string()));
    }
    for why in &question.why {
        let source = why.source.as_ref().map(|source| format!(" ({source})")).unwrap_or_default();
        lines.extend(field("because", &format!("{}{source}", why.reason)));
    }
    let preview = question.preview.text.trim_end();
    let is_said =
        |touch: &Touch<RealPath>| matches!(touch, Touch::Command(line) if line.trim_end() == preview);
    if !preview.is_empty() && !question.effects.touches().iter().any(is_said) {
        lines.push(String::new());
        lines.extend(bounded_lines(&exact(preview), PREVIEW_MAX_LINES, LINE_MAX_CHARS));
    }
    lines.join("\n")
}

fn effects(effects: &Effects<RealPath>) -> Vec<String> {
    let touches = match effects {
        Effects::Everything => return field("touches", "not stated: it may do anything that you may"),
        Effects::Delegated => {
            return field("touches", "nothing itself: the calls it makes are judged one by one");
        }
        Effects::Only(touches) => touches,
    };
    let shown = touches.iter().filter(|touch| !matches!(touch, Touch::Session(_)));
    let path = |path: &RealPath| {
        let outside = if path.is_outside() { " (outside the workspace)" } else { "" };
        format!("{}{outside}", path.to_string().replace('\n', "\\n").replace('\t', "\\t"))
    };
    let mut lines = Vec::new();
    for touch in shown.clone().take(TOUCHES_MAX) {
        lines.extend(match touch {
            Touch::Command(line) => field("runs", line),
            Touch::Write(at) => field("writes", &path(at)),
            Touch::WriteTree(at) => field("writes in", &path(at)),
            Touch::Read(at) => field("reads", &path(at)),
            Touch::ReadTree(at) => field("reads in", &path(at)),
            Touch::Host(host) => field("contacts", host),
            Touch::Server(name) => field("asks", &format!("the server {name}")),
            Touch::Session(_) => Vec::new(),
            Touch::Unconfined => field("sandbox", "none: it may change and reach whatever you may"),
            Touch::Outlives => {
                field("lives on", "after the session has ended, until it ends or is stopped by hand")
            }
        });
    }
    let left_out = shown.count().saturating_sub(TOUCHES_MAX);
    if left_out > 0 {
        lines.push(format!("… and {left_out} more"));
    }
    lines
}

fn field(name: &str, value: &str) -> Vec<String> {
    let mut lines = bounded_lines(&exact(value), TEXT_MAX_LINES, LINE_MAX_CHARS);
    if let Some(first) = lines.first_mut() {
        first.insert_str(0, &format!("{name}: "));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{CallId, Preview, Why};
    use std::sync::Arc;

    fn question() -> Question {
        Question {
            call: CallId::outer(1),
            tool: "bash".into(),
            label: "Bash".to_owned(),
            input: Arc::new(json!({"command": "ls -a\u{200b}"})),
            effects: Effects::Only(vec![Touch::Command("ls -a\u{200b}".into())]),
            mutates: true,
            why: vec![Why::new("default", "bash declares that it asks first")],
            preview: Preview { text: "+a".to_owned(), digest: Vec::new() },
            session: Some("bash(ls -a)".to_owned()),
            rules: vec!["bash(ls -a)".to_owned(), "bash(ls *)".to_owned()],
        }
    }

    #[test]
    fn the_form_says_all_and_hides_nothing() {
        let params = request(&question())["params"].take();
        let message = params["message"].as_str().unwrap();
        for part in ["Bash (bash)", "runs: ls -a\\u{200b}", "because: bash declares", "+a"] {
            assert!(message.contains(part), "{part} in {message}");
        }
        let choices = &params["requestedSchema"]["properties"]["answer"]["enum"];
        assert_eq!(
            *choices,
            json!([
                "allow once",
                "allow for this session: bash(ls -a)",
                "always allow: bash(ls -a)",
                "always allow: bash(ls *)",
                "deny",
                "always deny: bash(ls -a)",
            ])
        );
    }

    #[test]
    fn each_choice_is_understood_and_nothing_else_allows() {
        let accept = |content: Value| answer(&question(), &json!({"action": "accept", "content": content}));
        let rule = |rule: &str| rule.to_owned();
        assert_eq!(accept(json!({"answer": ONCE})), Answer::Once);
        assert_eq!(accept(json!({"answer": "allow for this session: bash(ls -a)"})), Answer::Session);
        assert_eq!(
            accept(json!({"answer": "always allow: bash(ls *)"})),
            Answer::Always { rule: rule("bash(ls *)") }
        );
        assert_eq!(
            accept(json!({"answer": "always deny: bash(ls -a)"})),
            Answer::DenyAlways { rule: rule("bash(ls -a)") }
        );
        assert_eq!(
            accept(json!({"answer": "deny", "feedback": " use grep "})),
            Answer::Deny { feedback: Some("use grep".to_owned()) }
        );
        for content in
            [json!({}), json!(null), json!({"answer": "yes"}), json!({"answer": "always allow: bash"})]
        {
            assert_eq!(accept(content.clone()), Answer::Dismissed, "{content}");
        }
        assert_eq!(answer(&question(), &json!({"action": "decline"})), Answer::Deny { feedback: None });
        assert_eq!(answer(&question(), &json!({"action": "cancel"})), Answer::Dismissed);
        assert_eq!(answer(&question(), &json!({})), Answer::Dismissed);
    }
}
