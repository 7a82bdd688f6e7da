//! A question as a person reads it, and what they type. Pure.

use super::{
    clean::{clean, one_line},
    style::{ASKS, BOLD, DIM, bad, dim, good},
};
use haft_core::{Effects, Question, RealPath, Touch, Why, bounded_lines, exact};

/// How many lines of a preview are shown.
const PREVIEW_MAX_LINES: usize = 60;
/// How many lines of one command or input are shown.
const TEXT_MAX_LINES: usize = 20;
/// How much of one line is shown.
const LINE_MAX_CHARS: usize = 400;
/// Effects that are named one by one.
const TOUCHES_MAX: usize = 20;
/// The column where values start.
const VALUE_COLUMN: usize = 12;

/// What a saved rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Saves {
    /// It allows.
    Allow,
    /// It denies.
    Deny,
}

/// What a person typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Typed {
    /// Allow this call.
    Once,
    /// Allow such calls until the session ends.
    Session,
    /// Save a rule.
    Always,
    /// Refuse.
    Deny,
    /// Refuse, and save a rule.
    Never,
    /// Refuse and say what to do instead, now or in the next line.
    Feedback(Option<String>),
    /// None of these.
    Other,
}

impl Typed {
    /// Reads a line; `f use grep instead` is feedback at once.
    pub(super) fn parse(line: &str) -> Self {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        match word.to_lowercase().as_str() {
            "f" | "feedback" => Self::Feedback((!rest.is_empty()).then(|| rest.to_owned())),
            _ if !rest.is_empty() => Self::Other,
            "o" | "once" | "y" | "yes" => Self::Once,
            "s" | "session" => Self::Session,
            "a" | "always" => Self::Always,
            "d" | "deny" | "n" | "no" => Self::Deny,
            "x" | "never" => Self::Never,
            _ => Self::Other,
        }
    }
}

/// The question: who, what exactly, why, and what will change.
pub(crate) fn question(question: &Question) -> String {
    let harm = if question.mutates { " (may change things)" } else { " (only reads)" };
    let mut lines = vec![
        String::new(),
        format!(
            "{ASKS}?{ASKS:#} {BOLD}{}{BOLD:#} {} wants to run{harm}",
            clean(&question.label),
            dim(&exact(&question.tool)),
        ),
    ];
    lines.extend(effects(&question.effects));
    if shows_input(&question.effects) {
        lines.extend(field("input", &question.input.to_string()));
    }
    for (index, why) in question.why.iter().enumerate() {
        lines.extend(field(if index == 0 { "because" } else { "" }, &reason(why)));
    }
    lines.extend(preview(question));
    lines.join("\n") + "\n"
}

/// The answers there are.
pub(super) fn menu(question: &Question) -> String {
    let key = |key: &str, rest: &str| format!("[{BOLD}{key}{BOLD:#}]{rest}");
    let mut answers = vec![key("o", "nce")];
    if let Some(allowed) = &question.session {
        answers.push(key("s", &format!("ession {}", dim(&rule_text(allowed)))));
    }
    if !question.rules.is_empty() {
        answers.push(key("a", "lways…"));
    }
    answers.push(key("d", "eny"));
    if !question.rules.is_empty() {
        answers.push(key("x", " always deny…"));
    }
    answers.push(key("f", " deny with feedback"));
    format!("  {} > ", answers.join(" · "))
}

/// The rules that "always" could save, to be chosen from before anything is saved.
pub(super) fn rules(rules: &[String], saves: Saves) -> String {
    let title = match saves {
        Saves::Allow => "  Saved for this workspace, and holds from the next call on:",
        Saves::Deny => "  Saved for this workspace: such calls never run, until the rule is revoked:",
    };
    let mut lines = vec![title.to_owned()];
    let last = rules.len().saturating_sub(1);
    for (index, rule) in rules.iter().enumerate() {
        let width = match index {
            0 => "the narrowest",
            _ if index == last => "the broadest",
            _ => "broader",
        };
        lines.push(format!("    {BOLD}{}{BOLD:#}  {}  {}", index + 1, rule_text(rule), dim(width)));
    }
    let numbers = if rules.len() > 1 { format!("1-{}", rules.len()) } else { "1".to_owned() };
    lines.join("\n") + &format!("\n  {numbers} saves that rule, anything else goes back > ")
}

/// The rule that was chosen by its number.
pub(super) fn chosen<'a>(line: &str, rules: &'a [String]) -> Option<&'a String> {
    let number: usize = line.trim().parse().ok()?;
    rules.get(number.checked_sub(1)?)
}

/// A reason with its gate and where its rule is written.
pub(super) fn reason(why: &Why) -> String {
    let mut text = why.reason.clone();
    if let Some(source) = &why.source {
        text.push_str(" (");
        text.push_str(source);
        text.push(')');
    }
    clean(&text)
}

fn rule_text(rule: &str) -> String {
    one_line(&exact(rule), LINE_MAX_CHARS)
}

/// Where the effects don't say what will happen, the input has to.
fn shows_input(effects: &Effects<RealPath>) -> bool {
    !effects.touches().iter().any(|touch| !matches!(touch, Touch::Session(_)))
}

fn effects(effects: &Effects<RealPath>) -> Vec<String> {
    let touches = match effects {
        Effects::Everything => return field("touches", "not stated: it may do anything that you may"),
        Effects::Delegated => {
            return field("touches", "nothing itself: the calls it makes are judged one by one");
        }
        Effects::Only(touches) => touches,
    };
    let mut lines = Vec::new();
    let shown = touches.iter().filter(|touch| !matches!(touch, Touch::Session(_)));
    for touch in shown.clone().take(TOUCHES_MAX) {
        let path = |path: &RealPath| {
            let outside = if path.is_outside() { " (outside the workspace)" } else { "" };
            format!("{}{outside}", one_name(&path.to_string()))
        };
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
        lines.extend(field("", &format!("… and {left_out} more")));
    }
    lines
}

/// A path stays on one line, whatever is in it.
fn one_name(path: &str) -> String {
    path.replace('\n', "\\n").replace('\t', "\\t")
}

fn field(name: &str, value: &str) -> Vec<String> {
    let value = exact(value);
    let mut lines: Vec<String> = bounded(&value, TEXT_MAX_LINES)
        .into_iter()
        .map(|line| format!("{:VALUE_COLUMN$}{line}", ""))
        .collect();
    if let Some(first) = lines.first_mut() {
        let value = first.trim_start().to_owned();
        *first = format!("  {DIM}{name:<10}{DIM:#}{value}");
    }
    lines
}

fn preview(question: &Question) -> Vec<String> {
    let text = question.preview.text.trim_end();
    let is_said = |touch: &Touch<RealPath>| matches!(touch, Touch::Command(line) if line.trim_end() == text);
    if text.is_empty() || question.effects.touches().iter().any(is_said) {
        return Vec::new();
    }
    let bar = dim("│");
    bounded(&exact(text), PREVIEW_MAX_LINES)
        .into_iter()
        .map(|line| {
            let line = match line.chars().next() {
                Some('+') => good(&line),
                Some('-') => bad(&line),
                _ => line,
            };
            format!("  {bar} {line}")
        })
        .collect()
}

fn bounded(text: &str, max_lines: usize) -> Vec<String> {
    bounded_lines(text, max_lines, LINE_MAX_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{CallId, Preview};
    use serde_json::json;
    use std::sync::Arc;

    fn asked(effects: Effects<RealPath>, preview: &str) -> Question {
        Question {
            call: CallId::outer(1),
            tool: "bash".into(),
            label: "Bash".to_owned(),
            input: Arc::new(json!({"x": 1})),
            effects,
            mutates: true,
            why: vec![Why { source: Some("a.toml:3".to_owned()), ..Why::new("ask", "a rule asks") }],
            preview: Preview { text: preview.to_owned(), digest: Vec::new() },
            session: Some("bash(ls -a)".to_owned()),
            rules: vec!["bash(ls -a)".to_owned(), "bash(ls *)".to_owned()],
        }
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn the_exact_command_is_shown_with_what_hides_in_it() {
        let effects = Effects::Only(vec![Touch::Command("ls\u{202e} \u{1b}[2K\nrm x".into())]);
        let text = plain(&question(&asked(effects, "")));
        assert!(text.contains("runs      ls\\u{202e} \\u{1b}[2K\n            rm x\n"), "{text}");
        assert!(text.contains("because   a rule asks (a.toml:3)"), "{text}");
        assert!(!text.contains("input"), "{text}");
    }

    #[test]
    fn effects_that_are_not_stated_show_the_input() {
        let text = plain(&question(&asked(Effects::Everything, "")));
        assert!(text.contains("it may do anything") && text.contains("input     {\"x\":1}"), "{text}");
    }

    #[test]
    fn a_long_preview_is_cut_and_counted() {
        let diff = "+a\n".repeat(PREVIEW_MAX_LINES + 5);
        let at = Touch::Write(RealPath::new("/w", "src/a\nb"));
        let text = plain(&question(&asked(Effects::Only(vec![at]), &diff)));
        assert_eq!(text.matches("│ +a").count(), PREVIEW_MAX_LINES);
        assert!(text.contains("… 5 more lines (of 65)"), "{text}");
        assert!(text.contains("writes    src/a\\nb"), "{text}");
    }

    #[test]
    fn a_preview_that_only_repeats_the_command_is_left_out() {
        let effects = Effects::Only(vec![Touch::Command("ls".into())]);
        assert!(!question(&asked(effects, "ls\n")).contains('│'));
    }

    #[test]
    fn session_and_always_are_offered_only_where_they_are_possible() {
        let mut asked = asked(Effects::none(), "");
        assert!(plain(&menu(&asked)).contains("[s]ession bash(ls -a) · [a]lways"), "{}", menu(&asked));
        asked.session = None;
        assert_eq!(
            plain(&menu(&asked)),
            "  [o]nce · [a]lways… · [d]eny · [x] always deny… · [f] deny with feedback > "
        );
        asked.rules.clear();
        assert_eq!(plain(&menu(&asked)), "  [o]nce · [d]eny · [f] deny with feedback > ");
    }

    #[test]
    fn rules_are_shown_before_one_is_chosen() {
        let all = asked(Effects::none(), "").rules;
        for (saves, says) in [(Saves::Allow, "from the next call on"), (Saves::Deny, "never run")] {
            let text = plain(&rules(&all, saves));
            assert!(text.contains(says), "{text}");
            assert!(
                text.contains("1  bash(ls -a)  the narrowest\n    2  bash(ls *)  the broadest\n"),
                "{text}"
            );
        }
        assert_eq!(chosen(" 2 ", &all), all.get(1));
        for wrong in ["", "0", "3", "x"] {
            assert_eq!(chosen(wrong, &all), None, "{wrong}");
        }
    }

    #[test]
    fn answers_are_read_whole() {
        let cases = [
            ("o", Typed::Once),
            (" Yes ", Typed::Once),
            ("s", Typed::Session),
            ("a", Typed::Always),
            ("n", Typed::Deny),
            ("x", Typed::Never),
            ("Never", Typed::Never),
            ("f", Typed::Feedback(None)),
            ("f use grep  now", Typed::Feedback(Some("use grep  now".to_owned()))),
            ("", Typed::Other),
            ("once upon a time", Typed::Other),
            ("ok", Typed::Other),
        ];
        for (line, typed) in cases {
            assert_eq!(Typed::parse(line), typed, "{line:?}");
        }
    }
}
