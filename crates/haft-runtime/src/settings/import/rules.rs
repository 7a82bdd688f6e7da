//! One permission rule of Claude Code as rules of haft.

use crate::settings::{Place, Scope, load::unmatchable::unmatchable};
use haft_policy::{Action, Rule, RuleOrigin};

/// Where the other tool keeps a user's settings, beneath the home; its `/x` may be meant from there.
const USER_FOLDER: &str = "~/.claude";

/// What stands between the parentheses of a tool's rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spec {
    /// A command.
    Command,
    /// A path.
    Path,
    /// A path, in a rule that here would hold for this one of the writing tools alone.
    WrittenPath,
    /// A host.
    Host,
    /// The value of a parameter.
    Value(&'static str),
    /// Nothing that haft could match.
    Nothing,
}

/// Tools by the other tool's names.
#[rustfmt::skip] // a table
static TOOLS: &[(&str, &str, Spec)] = &[
    ("Bash", "bash", Spec::Command),
    ("Read", "read", Spec::Path),
    ("NotebookRead", "read", Spec::Path),
    ("Glob", "glob", Spec::Path),
    ("Grep", "grep", Spec::Path),
    ("LS", "tree", Spec::Path),
    ("Edit", "edit", Spec::Path),
    ("MultiEdit", "edit", Spec::Path),
    ("Write", "write", Spec::WrittenPath),
    ("NotebookEdit", "notebook_edit", Spec::WrittenPath),
    ("WebFetch", "fetch", Spec::Host),
    ("WebSearch", "search", Spec::Nothing),
    ("Task", "agent", Spec::Nothing),
    ("Agent", "agent", Spec::Nothing),
    ("Skill", "skill", Spec::Value("name")),
    ("TodoWrite", "todo", Spec::Nothing),
    ("ExitPlanMode", "plan", Spec::Nothing),
    ("AskUserQuestion", "ask", Spec::Nothing),
];

/// A rule, and what it comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedRule {
    /// The list it stands in.
    pub action: Action,
    /// As it was written.
    pub written: String,
    /// As it is here; empty where it isn't imported.
    pub becomes: Vec<(Action, String)>,
    /// Why it isn't imported, or how it differs.
    pub note: Option<String>,
    /// Whether it protects less than before, or covers more than was written.
    pub is_loud: bool,
}

/// How a rule can be said.
enum Form {
    /// As it was meant.
    Same(Vec<String>),
    /// As it was meant, with something to know.
    Noted(Vec<String>, String),
    /// Covering more than was meant.
    Wider(String, String),
    /// Not at all.
    Lost(String),
}

impl ImportedRule {
    /// Reads a rule of a settings file of that scope.
    pub(super) fn of(action: Action, written: &str, scope: Scope, place: &Place) -> Self {
        let at = place.rule_origin(None);
        let (rules, note, is_loud) = match form(action, written.trim(), scope) {
            Form::Same(rules) => (rules, None, false),
            Form::Noted(rules, note) => (rules, Some(note), false),
            Form::Wider(rule, note) => (vec![rule], Some(note), true),
            Form::Lost(why) => (Vec::new(), Some(why), action != Action::Allow),
        };
        // What haft can't read either way is said, whatever it was.
        let (rules, note, is_loud) = match fault(action, &rules, &at) {
            Some(why) => (Vec::new(), Some(why), action != Action::Allow),
            None => (rules, note, is_loud),
        };
        let (note, is_loud) = match rules.iter().find_map(|rule| unmatchable(action, rule)) {
            Some((what, fix)) => {
                let notes: Vec<String> = note.into_iter().chain([format!("{what}; {fix}")]).collect();
                (Some(notes.join("; ")), true)
            }
            None => (note, is_loud),
        };
        let becomes = rules.into_iter().map(|rule| (action, rule)).collect();
        Self { action, written: written.to_owned(), becomes, note, is_loud }
    }
}

/// Why one of the rules is none.
fn fault(action: Action, rules: &[String], at: &RuleOrigin) -> Option<String> {
    rules.iter().find_map(|rule| Rule::parse(action, rule, at).err()).map(|error| error.to_string())
}

/// How a rule can be said; an allow rule that covers more here than it did there is never the same.
fn form(action: Action, text: &str, scope: Scope) -> Form {
    let form = said(action, text, scope);
    let (name, rest) = text.split_once('(').unwrap_or((text, "*"));
    if action != Action::Allow {
        form
    } else if rest.trim_end_matches(')').trim().is_empty() {
        widened(form, "its parentheses are empty, so it allows all of the tool: say in them what it allows")
    } else if name.trim() == "MultiEdit" {
        widened(form, "it was about one tool; edit allows every tool that writes files")
    } else {
        form
    }
}

fn widened(form: Form, why: &str) -> Form {
    match form {
        Form::Same(mut rules) | Form::Noted(mut rules, _) => match rules.pop() {
            Some(rule) => Form::Wider(rule, why.to_owned()),
            None => Form::Lost(why.to_owned()),
        },
        other => other,
    }
}

fn said(action: Action, text: &str, scope: Scope) -> Form {
    let (name, spec) = match text.split_once('(') {
        None => (text, None),
        Some((name, rest)) => match rest.strip_suffix(')') {
            Some(spec) => {
                (name.trim_end(), Some(spec.trim()).filter(|spec| !matches!(*spec, "" | "*" | ":*")))
            }
            None => return Form::Lost("it has no closing parenthesis at its end".to_owned()),
        },
    };
    if name.starts_with("mcp__") || name == "*" {
        return match spec {
            None => Form::Same(vec![name.to_owned()]),
            Some(_) => whole(action, name, "haft doesn't know what its parentheses mean"),
        };
    }
    let Some((_, tool, kind)) = TOOLS.iter().find(|(theirs, _, _)| *theirs == name) else {
        return unknown(action, name, spec.is_some());
    };
    match (spec, kind) {
        (None, _) => Form::Same(vec![(*tool).to_owned()]),
        (Some(spec), Spec::Command) => command(action, spec),
        (Some(spec), Spec::Path) => path(action, tool, spec, scope),
        (Some(spec), Spec::WrittenPath) if action == Action::Allow => path(action, tool, spec, scope),
        (Some(spec), Spec::WrittenPath) => match path(action, "edit", spec, scope) {
            Form::Same(rules) => Form::Noted(rules, "held for every tool that writes files".to_owned()),
            other => other,
        },
        (Some(spec), Spec::Host) => match spec.strip_prefix("domain:").map(str::trim) {
            Some(host) if !host.is_empty() => Form::Same(vec![format!("{tool}(domain:{host})")]),
            _ => whole(action, tool, "only domain:HOST can be told apart"),
        },
        (Some(spec), Spec::Value(key)) => {
            let value = spec.strip_suffix(" *").unwrap_or(spec).replace(":*", "*");
            Form::Same(vec![format!("{tool}(param.{key}={value})")])
        }
        (Some(_), Spec::Nothing) => whole(action, tool, "haft can't tell its calls apart that way"),
    }
}

/// A rule for part of a tool that can only be said of all of it: for what restricts that is wider, and what
/// allows would allow more than anybody meant.
fn whole(action: Action, tool: &str, why: &str) -> Form {
    if action == Action::Allow {
        Form::Lost(why.to_owned())
    } else {
        Form::Wider(tool.to_owned(), format!("{why}, so it covers all of {tool}"))
    }
}

/// A tool that haft doesn't have: nothing is allowed to whoever takes the name later.
fn unknown(action: Action, name: &str, has_spec: bool) -> Form {
    let why = format!("haft has no tool \"{name}\"");
    match action {
        Action::Allow => Form::Lost(why),
        Action::Ask | Action::Deny if has_spec => {
            Form::Noted(vec![name.to_owned()], format!("{why}; kept for all of it, should there be one"))
        }
        Action::Ask | Action::Deny => {
            Form::Noted(vec![name.to_owned()], format!("{why}; kept, should there be one"))
        }
    }
}

fn command(action: Action, spec: &str) -> Form {
    let is_one = !spec.chars().any(|c| matches!(c, ';' | '|' | '&' | '<' | '>' | '`' | '\n'))
        && !spec.contains("$(")
        && is_quoted_whole(spec);
    if is_one {
        let rule = vec![format!("bash({spec})")];
        let has_inner = spec.trim_end_matches('*').contains('*');
        return if has_inner {
            Form::Noted(rule, "a * that stands alone between words is one word or more".to_owned())
        } else {
            Form::Same(rule)
        };
    }
    if action == Action::Allow {
        let why = "haft allows a line command by command: write a rule for each of its commands";
        return Form::Lost(why.to_owned());
    }
    let program = spec.split_whitespace().next().unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+');
    if !program.is_empty() && program.chars().all(is_plain) {
        let note = format!("it isn't one plain command, so it covers all of {program}");
        return Form::Wider(format!("bash({program} *)"), note);
    }
    Form::Lost("it isn't one plain command: write a rule for each command that it is about".to_owned())
}

/// Whether each quotation ends.
fn is_quoted_whole(spec: &str) -> bool {
    let mut open: Option<char> = None;
    let mut chars = spec.chars();
    while let Some(c) = chars.next() {
        match (open, c) {
            (Some(quote), c) if c == quote => open = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => open = Some(c),
            (None, '\\') => {
                chars.next();
            }
            (None, _) => {}
        }
    }
    open.is_none()
}

fn path(action: Action, tool: &str, spec: &str, scope: Scope) -> Form {
    let mut letters = spec.chars();
    let is_drive = letters.next().is_some_and(|c| c.is_ascii_alphabetic()) && letters.next() == Some(':');
    if is_drive {
        return Form::Lost("it is a path of Windows".to_owned());
    }
    // In a user's file `/x` is read as beneath the project, and was once beneath the file's own folder.
    match spec.strip_prefix('/').filter(|rest| scope == Scope::User && !rest.starts_with('/')) {
        None => Form::Same(vec![format!("{tool}({spec})")]),
        Some(rest) if action == Action::Allow => {
            Form::Noted(vec![format!("{tool}(./{rest})")], "read as beneath each workspace".to_owned())
        }
        Some(rest) => Form::Noted(
            vec![format!("{tool}(./{rest})"), format!("{tool}({USER_FOLDER}/{rest})")],
            format!("held beneath each workspace and beneath {USER_FOLDER}"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Action::{Allow, Ask, Deny};

    fn import(action: Action, written: &str, scope: Scope) -> ImportedRule {
        let place = Place { workspace: "/w".into(), home: Some("/home/u".into()), trusted: true };
        ImportedRule::of(action, written, scope, &place)
    }

    fn rules(imported: &ImportedRule) -> Vec<&str> {
        imported.becomes.iter().map(|(_, rule)| rule.as_str()).collect()
    }

    #[test]
    fn what_can_be_said_exactly_is() {
        let cases = [
            ("Bash", "bash"),
            ("Bash(*)", "bash"),
            ("Bash(npm run test:*)", "bash(npm run test:*)"),
            ("Bash(git push:*)", "bash(git push:*)"),
            ("Bash(npm run build)", "bash(npm run build)"),
            ("Bash(ls *)", "bash(ls *)"),
            ("Read(~/.zshrc)", "read(~/.zshrc)"),
            ("Read(//etc/**)", "read(//etc/**)"),
            ("Edit(/docs/**)", "edit(/docs/**)"),
            ("LS", "tree"),
            ("WebFetch(domain:example.com)", "fetch(domain:example.com)"),
            ("WebSearch", "search"),
            ("mcp__github", "mcp__github"),
            ("mcp__github__get_issue", "mcp__github__get_issue"),
            ("mcp__github__*", "mcp__github__*"),
            ("Skill(commit)", "skill(param.name=commit)"),
            ("Task", "agent"),
        ];
        for (written, expected) in cases {
            for action in [Allow, Ask, Deny] {
                let imported = import(action, written, Scope::Workspace);
                assert_eq!(rules(&imported), [expected], "{written}");
                assert_eq!((imported.note.as_deref(), imported.is_loud), (None, false), "{written}");
                assert!(imported.becomes.iter().all(|(kept, _)| *kept == action));
            }
        }
    }

    #[test]
    fn an_allow_that_covers_more_than_was_written_is_loud() {
        let cases = [
            ("MultiEdit", "edit", "every tool that writes"),
            ("MultiEdit(src/**)", "edit(src/**)", "every tool that writes"),
            ("Bash()", "bash", "parentheses are empty"),
            ("Read( )", "read", "parentheses are empty"),
        ];
        for (written, expected, says) in cases {
            let allowed = import(Allow, written, Scope::Workspace);
            assert_eq!((rules(&allowed), allowed.is_loud), (vec![expected], true), "{written}");
            assert!(allowed.note.unwrap().contains(says), "{written}");
            let denied = import(Deny, written, Scope::Workspace);
            assert_eq!((rules(&denied), denied.is_loud), (vec![expected], false), "{written}");
        }
    }

    #[test]
    fn what_would_never_match_is_loud_and_says_what_to_write() {
        for (written, fix) in [
            ("Bash(FOO=1 npm test)", "\"bash(npm test)\""),
            ("WebFetch(domain:http://x)", "\"fetch(domain:x)\""),
        ] {
            for action in [Allow, Ask, Deny] {
                let imported = import(action, written, Scope::Workspace);
                assert!(imported.is_loud && imported.note.unwrap().contains(fix), "{written}");
                assert_eq!(imported.becomes.len(), 1);
            }
        }
    }

    #[test]
    fn what_restricts_is_kept_wider_and_what_allows_is_not() {
        let cases = [
            ("Bash(curl * | sh)", "bash(curl *)"),
            ("Bash(git log && rm x)", "bash(git *)"),
            ("Bash(echo \"x)", "bash(echo *)"),
            ("WebFetch(https://example.com)", "fetch"),
            ("Agent(Explore)", "agent"),
            ("mcp__x__y(a)", "mcp__x__y"),
        ];
        for (written, expected) in cases {
            for action in [Ask, Deny] {
                let imported = import(action, written, Scope::Workspace);
                assert_eq!((rules(&imported), imported.is_loud), (vec![expected], true), "{written}");
                assert!(imported.note.is_some());
            }
            let allowed = import(Allow, written, Scope::Workspace);
            assert!(allowed.becomes.is_empty() && allowed.note.is_some() && !allowed.is_loud, "{written}");
        }
    }

    #[test]
    fn a_restriction_that_is_lost_is_loud() {
        for written in ["Read(../x)", "Bash(ls", "Bash($(x) *)", "Read(C:\\x)", "Edit(!a)", "no tool"] {
            let imported = import(Deny, written, Scope::Workspace);
            assert!(
                imported.becomes.is_empty() && imported.is_loud && imported.note.is_some(),
                "{imported:?}"
            );
        }
    }

    #[test]
    fn writing_tools_are_restricted_together_and_allowed_alone() {
        assert_eq!(rules(&import(Deny, "Write(a/**)", Scope::Workspace)), ["edit(a/**)"]);
        assert_eq!(rules(&import(Allow, "Write(a/**)", Scope::Workspace)), ["write(a/**)"]);
        assert_eq!(rules(&import(Allow, "NotebookEdit", Scope::Workspace)), ["notebook_edit"]);
    }

    #[test]
    fn a_users_slash_is_held_for_both_meanings_and_allowed_for_one() {
        let denied = import(Deny, "Read(/secrets/**)", Scope::User);
        assert_eq!(rules(&denied), ["read(./secrets/**)", "read(~/.claude/secrets/**)"]);
        assert_eq!(rules(&import(Allow, "Read(/x)", Scope::User)), ["read(./x)"]);
        assert_eq!(rules(&import(Deny, "Read(//x)", Scope::User)), ["read(//x)"]);
    }

    #[test]
    fn unknown_tools_are_never_allowed_and_stay_restricted() {
        assert!(import(Allow, "KillShell", Scope::Workspace).becomes.is_empty());
        assert_eq!(rules(&import(Deny, "KillShell", Scope::Workspace)), ["KillShell"]);
    }
}
