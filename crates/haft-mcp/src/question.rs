//! A question of haft's as a form that any client can show, and what its answer comes to. Pure.
//!
//! All choices are plain words in one enumeration, since that is what every revision of the protocol knows.

use haft_core::{Answer, Question, QuestionRow, exact};
use serde_json::{Map, Value, json};

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
    lines.extend(question.rows().into_iter().flat_map(said));
    let preview = question.preview_lines();
    if !preview.is_empty() {
        lines.push(String::new());
        lines.extend(preview);
    }
    lines.join("\n")
}

fn said(row: QuestionRow) -> Vec<String> {
    let QuestionRow { name, mut lines, .. } = row;
    if let Some(first) = lines.first_mut().filter(|_| !name.is_empty()) {
        first.insert_str(0, &format!("{name}: "));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{CallId, Effects, Preview, Touch, Why};
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
