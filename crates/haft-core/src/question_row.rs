//! A question in rows, for whoever shows it: what it touches, why it is asked, what will change. Pure.
//!
//! Keeps "what is shown is what runs": nothing of it is hidden, and what is left out is counted.

use crate::{
    Effects, Question, RealPath, Touch, Why,
    shown::{bounded_lines, exact},
};

/// How many lines of a preview are shown.
const PREVIEW_MAX_LINES: usize = 60;
/// How many lines of one command or input are shown.
const TEXT_MAX_LINES: usize = 20;
/// How many characters of one line are shown.
const LINE_MAX_CHARS: usize = 400;
/// Effects that are named one by one.
const TOUCHES_MAX: usize = 20;

/// One row of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QuestionRow {
    /// What it says; empty where it only counts what was left out above.
    pub name: &'static str,
    /// In at least one line; at most 21 of about 400 characters.
    pub lines: Vec<String>,
}

impl QuestionRow {
    fn new(name: &'static str, value: &str) -> Self {
        Self { name, lines: bounded_lines(&exact(value), TEXT_MAX_LINES, LINE_MAX_CHARS) }
    }
}

impl Question {
    /// What the call touches, its input where that says nothing, and why it is asked.
    pub fn rows(&self) -> Vec<QuestionRow> {
        let mut rows = effects(&self.effects);
        // Where the effects don't say what will happen, the input has to.
        if !self.effects.touches().iter().any(is_shown) {
            rows.push(QuestionRow::new("input", &self.input.to_string()));
        }
        rows.extend(self.why.iter().map(|why| QuestionRow::new("because", &reason(why))));
        rows
    }

    /// The lines of the preview, at most 61; none where it only repeats the command.
    pub fn preview_lines(&self) -> Vec<String> {
        let text = self.preview.text.trim_end();
        let says = |touch: &Touch<RealPath>| matches!(touch, Touch::Command(line) if line.trim_end() == text);
        if text.is_empty() || self.effects.touches().iter().any(says) {
            return Vec::new();
        }
        bounded_lines(&exact(text), PREVIEW_MAX_LINES, LINE_MAX_CHARS)
    }
}

/// What is of the session alone touches nothing outside it.
fn is_shown(touch: &Touch<RealPath>) -> bool {
    !matches!(touch, Touch::Session(_))
}

fn effects(effects: &Effects<RealPath>) -> Vec<QuestionRow> {
    let touches = match effects {
        Effects::Everything => {
            return vec![QuestionRow::new("touches", "not stated: it may do anything that you may")];
        }
        Effects::Delegated => {
            let judged = "nothing itself: the calls it makes are judged one by one";
            return vec![QuestionRow::new("touches", judged)];
        }
        Effects::Only(touches) => touches,
    };
    let shown: Vec<&Touch<RealPath>> = touches.iter().filter(|touch| is_shown(touch)).collect();
    let mut rows: Vec<QuestionRow> = shown.iter().take(TOUCHES_MAX).filter_map(|touch| row(touch)).collect();
    let left_out = shown.len().saturating_sub(TOUCHES_MAX);
    if left_out > 0 {
        rows.push(QuestionRow::new("", &format!("… and {left_out} more")));
    }
    rows
}

fn row(touch: &Touch<RealPath>) -> Option<QuestionRow> {
    Some(match touch {
        Touch::Command(line) => QuestionRow::new("runs", line),
        Touch::Write(at) => QuestionRow::new("writes", &path(at)),
        Touch::WriteTree(at) => QuestionRow::new("writes in", &path(at)),
        Touch::Read(at) => QuestionRow::new("reads", &path(at)),
        Touch::ReadTree(at) => QuestionRow::new("reads in", &path(at)),
        Touch::Host(host) => QuestionRow::new("contacts", host),
        Touch::Server(name) => QuestionRow::new("asks", &format!("the server {name}")),
        Touch::Session(_) => return None,
        Touch::Unconfined => QuestionRow::new("sandbox", "none: it may change and reach whatever you may"),
        Touch::Outlives => {
            QuestionRow::new("lives on", "after the session has ended, until it ends or is stopped by hand")
        }
    })
}

/// A path stays on one line, whatever is in it.
fn path(at: &RealPath) -> String {
    let outside = if at.is_outside() { " (outside the workspace)" } else { "" };
    format!("{}{outside}", at.to_string().replace('\n', "\\n").replace('\t', "\\t"))
}

/// A reason, and where its rule is written.
fn reason(why: &Why) -> String {
    match &why.source {
        Some(source) => format!("{} ({source})", why.reason),
        None => why.reason.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CallId, Preview};
    use serde_json::json;
    use std::sync::Arc;

    fn asked(effects: Effects<RealPath>, preview: &str) -> Question {
        Question {
            call: CallId::outer(1),
            tool: "t".into(),
            label: "T".to_owned(),
            input: Arc::new(json!({"x": 1})),
            effects,
            mutates: true,
            why: vec![
                Why { source: Some("a.toml:3".to_owned()), ..Why::new("ask", "a rule\u{202e} asks") },
                Why::new("first_use", "it is new"),
            ],
            preview: Preview { text: preview.to_owned(), digest: Vec::new() },
            session: None,
            rules: Vec::new(),
        }
    }

    fn text(effects: Effects<RealPath>) -> Vec<String> {
        let rows = asked(effects, "").rows();
        rows.iter().map(|row| format!("{}|{}", row.name, row.lines.join("/"))).collect()
    }

    #[test]
    fn what_is_touched_and_why_is_said_with_what_hides_in_it() {
        let touches = vec![
            Touch::Command("ls\u{200b}\nrm x".into()),
            Touch::Session("s".into()),
            Touch::Write(RealPath::new("/w", "a\nb")),
        ];
        assert_eq!(
            text(Effects::Only(touches)),
            [
                "runs|ls\\u{200b}/rm x",
                "writes|a\\nb",
                "because|a rule\\u{202e} asks (a.toml:3)",
                "because|it is new"
            ]
        );
    }

    #[test]
    fn the_input_is_shown_where_nothing_else_says_what_will_happen() {
        for effects in [Effects::Everything, Effects::Delegated, Effects::none()] {
            assert!(text(effects.clone()).contains(&"input|{\"x\":1}".to_owned()), "{effects:?}");
        }
    }

    #[test]
    fn effects_beyond_what_is_named_are_counted() {
        let host = |number: usize| Touch::Host(format!("h{number}").into());
        let all = text(Effects::Only((0..TOUCHES_MAX + 3).map(host).collect()));
        assert_eq!(all.get(TOUCHES_MAX).map(String::as_str), Some("|… and 3 more"));
        assert_eq!(all.iter().filter(|row| row.starts_with("contacts|")).count(), TOUCHES_MAX);
    }

    #[test]
    fn a_preview_that_only_repeats_the_command_is_left_out() {
        let command = || Effects::Only(vec![Touch::Command("ls".into())]);
        assert_eq!(asked(command(), "ls\n").preview_lines(), Vec::<String>::new());
        assert_eq!(asked(command(), "+a\n-b\u{1b}\n").preview_lines(), ["+a", "-b\\u{1b}"]);
        assert_eq!(asked(command(), &"+a\n".repeat(65)).preview_lines().len(), PREVIEW_MAX_LINES + 1);
    }
}
