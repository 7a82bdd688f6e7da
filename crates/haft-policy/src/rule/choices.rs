//! Rules that an "always" could save.

use super::{Action, Match, Rule, RuleOrigin, path::beneath};
use crate::{JudgedLine, Line, Subject};
use haft_core::{RealPath, Touch, shell_word};

/// The rules that would allow this call, narrowest first.
///
/// None for a command line that is more than one command with known words: only a rule for the whole shell
/// would cover it, and that is too much to save by one keystroke.
pub fn rule_choices(subject: &Subject, workspace: &RealPath) -> Vec<String> {
    let workspace = workspace.absolute();
    let lines = subject.command_lines();
    let lines: Vec<&JudgedLine> = lines.iter().map(AsRef::as_ref).collect();
    let specs = match lines.as_slice() {
        [] => path_specs(subject, &workspace),
        [line] => match only_command(&line.line) {
            Some(argv) => command_specs(&argv),
            // A tool that runs a few known programs is saved as a whole.
            None if !subject.spec.capabilities.iter().any(|one| &**one == "shell.arbitrary") => Vec::new(),
            None => return Vec::new(),
        },
        _ => return Vec::new(),
    };
    let at = RuleOrigin { folder: workspace.clone(), workspace, ..RuleOrigin::default() };
    let mut choices: Vec<String> = specs.iter().map(|spec| format!("{}({spec})", subject.tool)).collect();
    choices.push(subject.tool.to_string());
    choices.dedup();
    choices.retain(|text| {
        Rule::parse(Action::Allow, text, &at).is_ok_and(|rule| rule.matches(subject) == Match::Yes)
    });
    choices
}

/// The words of the line's only command, besides what that runs in its turn.
fn only_command(line: &Line) -> Option<Vec<&str>> {
    let (first, inner) = line.commands.split_first()?;
    let is_only = line.is_exact()
        && line.redirects.is_empty()
        && first.redirects.is_empty()
        && first.assignments.is_empty()
        && inner.iter().all(|simple| simple.wrapper.is_some());
    first.argv().filter(|argv| is_only && !argv.is_empty())
}

/// The exact command, its subcommand, its program.
fn command_specs(argv: &[&str]) -> Vec<String> {
    let words: Vec<String> = argv.iter().map(|word| shell_word(word)).collect();
    let mut specs = vec![words.join(" ")];
    if let [program, second, ..] = words.as_slice()
        && is_subcommand(second)
    {
        specs.push(format!("{program} {second} *"));
    }
    specs.extend(words.first().map(|program| format!("{program} *")));
    specs
}

fn is_subcommand(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'))
}

/// The one file, and the folder that all of it is in.
fn path_specs(subject: &Subject, workspace: &str) -> Vec<String> {
    let touches = subject.effects.touches();
    let mut paths: Vec<(String, bool)> = touches
        .iter()
        .filter_map(|touch| {
            let is_tree = matches!(touch, Touch::ReadTree(_) | Touch::WriteTree(_));
            touch.path().map(|path| (path.absolute(), is_tree))
        })
        .collect();
    paths.sort();
    paths.dedup();
    let mut specs = Vec::new();
    if let [(path, false)] = paths.as_slice() {
        specs.extend(spec(path, workspace));
    }
    let folders = paths.iter().map(|(path, is_tree)| if *is_tree { path.as_str() } else { parent(path) });
    if let Some(folder) = folders.map(str::to_owned).reduce(|one, other| common(&one, &other)) {
        specs.extend(spec(&folder, workspace).map(|spec| format!("{}/**", spec.trim_end_matches('/'))));
    }
    specs
}

/// `./x` beneath the workspace, `//x` elsewhere; `None` for a name that a rule can't hold.
fn spec(path: &str, workspace: &str) -> Option<String> {
    let (anchor, rest) = match beneath(workspace, path) {
        Some(rest) => ("./", rest),
        None => ("//", path.strip_prefix('/')?),
    };
    let mut text = anchor.to_owned();
    for c in rest.chars() {
        if c.is_control() {
            return None;
        }
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\') {
            text.push('\\');
        }
        text.push(c);
    }
    Some(text)
}

fn parent(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) | None => "/",
        Some((folder, _)) => folder,
    }
}

fn common(one: &str, other: &str) -> String {
    let same = one.split('/').zip(other.split('/')).take_while(|(own, theirs)| own == theirs);
    let parts: Vec<&str> = same.map(|(own, _)| own).collect();
    if parts.len() > 1 { parts.join("/") } else { "/".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{bash, foreign, reading, subject, writing};
    use haft_core::Effects;

    fn check(subject: &Subject, expected: &[&str]) {
        assert_eq!(rule_choices(subject, &RealPath::new("/w", "")), expected);
    }

    #[test]
    fn narrowest_first_and_each_allows_the_call() {
        check(
            &bash("cargo test -p a"),
            &["bash(cargo test -p a)", "bash(cargo test *)", "bash(cargo *)", "bash"],
        );
        check(&bash("node t1.mjs"), &["bash(node t1.mjs)", "bash(node *)", "bash"]);
        check(&bash("ls"), &["bash(ls)", "bash(ls *)", "bash"]);
        check(&bash("grep '*' \"it's\""), &["bash(grep '*' 'it'\\''s')", "bash(grep *)", "bash"]);
        check(&bash("env A=1 rm x"), &["bash(env A=1 rm x)", "bash"]);
        check(&bash("ls; rm x"), &[]);
        check(&writing("/w/src/a.rs"), &["edit(./src/a.rs)", "edit(./src/**)", "edit"]);
        check(&writing("/w/a[1].rs"), &["edit(./a\\[1\\].rs)", "edit(./**)", "edit"]);
        check(&writing("/other/a"), &["edit(//other/a)", "edit(//other/**)", "edit"]);
        check(&reading("/w/a"), &["read(./a)", "read(./**)", "read"]);
        check(&foreign("mcp__x__y", Effects::Everything), &["mcp__x__y"]);
        let tree = Touch::ReadTree(RealPath::new("/w", "src"));
        check(&subject("grep", Effects::Only(vec![tree])), &["grep(./src/**)", "grep"]);
    }
}
