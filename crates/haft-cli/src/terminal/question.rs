//! A question as a person reads it, and what they type. Pure.

use super::{
    clean::{clean, one_line},
    style::{ASKS, BOLD, DIM, bad, dim, good},
};
use haft_core::{Question, QuestionRow, exact};

/// How much of one rule is shown.
const RULE_MAX_CHARS: usize = 400;
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
    lines.extend(question.rows().iter().flat_map(row));
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

fn rule_text(rule: &str) -> String {
    one_line(&exact(rule), RULE_MAX_CHARS)
}

/// A row with its value in the column of values.
fn row(row: &QuestionRow) -> Vec<String> {
    let mut lines: Vec<String> = row.lines.iter().map(|line| format!("{:VALUE_COLUMN$}{line}", "")).collect();
    if let Some(first) = lines.first_mut() {
        *first = format!("  {DIM}{:<10}{DIM:#}{}", row.name, first.trim_start());
    }
    lines
}

fn preview(question: &Question) -> Vec<String> {
    let bar = dim("│");
    question
        .preview_lines()
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

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{CallId, Effects, Preview, RealPath, Touch, Why};
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
        let diff = "+a\n".repeat(65);
        let at = Touch::Write(RealPath::new("/w", "src/a\nb"));
        let text = plain(&question(&asked(Effects::Only(vec![at]), &diff)));
        assert_eq!(text.matches("│ +a").count(), 60);
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
