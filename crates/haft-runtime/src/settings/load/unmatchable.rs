//! Rules that can be read and hardly ever speak about a call: what is wrong with them, and what to write instead.
//!
//! Pure, by the text alone. The rule stays as it is; whether it is one at all is told elsewhere.

use crate::{hooks::other_names, settings::slip};
use haft_policy::Action;

/// The tools that haft has, or knows by name.
pub(in crate::settings) const TOOLS: [&str; 31] = [
    "agent",
    "ask",
    "bash",
    "batch",
    "check",
    "code",
    "diff",
    "edit",
    "exec",
    "fetch",
    "git",
    "glob",
    "grep",
    "job",
    "notebook_edit",
    "packages",
    "patch",
    "plan",
    "read",
    "replace",
    "script_fetch",
    "script_read",
    "search",
    "skill",
    "todo",
    "tool_help",
    "tool_search",
    "tool_use",
    "tree",
    "undo",
    "write",
];
/// Further names that rules alone know.
const RULE_NAMES: [&str; 3] = ["applypatch", "apply_patch", "shell"];
/// Words between commands that a rule which restricts may hold.
const OPERATORS: [&str; 6] = ["&", "&&", ";", "|", "|&", "||"];

/// What is wrong with a rule that will hardly match anything, and what to write instead.
pub(in crate::settings) fn unmatchable(action: Action, text: &str) -> Option<(String, String)> {
    let (name, rest) = text.trim().split_once('(')?;
    let (name, spec) = (name.trim(), rest.strip_suffix(')')?.trim());
    if !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '*')) {
        return None;
    }
    let is_param = spec.starts_with("param.");
    if !is_param && !is_known(name) {
        // Most likely a tool of the user's own.
        let near = slip(&TOOLS, name)?;
        let what = format!(
            "no built-in tool is called \"{name}\", so that \"{}\" counts only for a tool of your own of that name",
            text.trim()
        );
        return Some((what, format!("if you have no such tool, write \"{near}\"")));
    }
    if let Some(host) = spec.strip_prefix("domain:") {
        return of_host(name, host.trim());
    }
    if is_param {
        return None;
    }
    match name.to_ascii_lowercase().as_str() {
        "bash" | "shell" => of_command(action, name, spec),
        "fetch" | "webfetch" if action == Action::Allow || spec.contains("://") => {
            let what = format!("\"{name}({spec})\" matches no call: fetches are told apart by their host");
            Some((what, format!("write \"{name}(domain:{})\"", bare_host(spec))))
        }
        _ => None,
    }
}

fn is_known(name: &str) -> bool {
    let mut others = other_names().chain(RULE_NAMES);
    name.contains('*')
        || name.starts_with("mcp__")
        || TOOLS.contains(&name)
        || others.any(|known| known.eq_ignore_ascii_case(name))
}

fn of_host(name: &str, host: &str) -> Option<(String, String)> {
    let is_url = host.contains(['/', '?', '#', '@']) || host.contains(char::is_whitespace);
    let has_usual_port = [":80", ":443"].iter().any(|port| host.ends_with(port));
    let why = if is_url {
        "what follows domain: is a host, and nothing else"
    } else if has_usual_port {
        "a host at its usual port is told without the port"
    } else {
        return None;
    };
    let what = format!("\"{name}(domain:{host})\" matches no call: {why}");
    Some((what, format!("write \"{name}(domain:{})\"", bare_host(host))))
}

/// The host in what looks like a URL.
fn bare_host(text: &str) -> &str {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let rest = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let rest = rest.rsplit('@').next().unwrap_or(rest).trim();
    let host = [":80", ":443"].iter().find_map(|port| rest.strip_suffix(port)).unwrap_or(rest);
    if host.is_empty() { "HOST" } else { host }
}

fn of_command(action: Action, name: &str, spec: &str) -> Option<(String, String)> {
    let bare = without_quoted(spec);
    if let Some(at) = bare.find(['<', '>']) {
        let command = spec.get(..at).unwrap_or_default();
        // The number before it is a part of the redirection.
        let shorter = command.trim_end_matches(|c: char| c.is_ascii_digit());
        let command = if shorter.ends_with(char::is_whitespace) { shorter } else { command }.trim_end();
        let what = format!("\"{name}({spec})\" matches no call: redirections are no part of a command");
        let fix = format!(
            "write \"{name}({command} *)\" for the command, and \"edit(PATH)\" for the file that is written"
        );
        return Some((what, fix));
    }
    let is_operator = |c: char| matches!(c, '|' | '&' | ';');
    let stands_alone =
        |word: &str| !word.contains(is_operator) || (action != Action::Allow && OPERATORS.contains(&word));
    if !bare.split_whitespace().all(stands_alone) {
        let what = format!("\"{name}({spec})\" matches no call: a line is judged command by command");
        return Some((what, format!("write a rule for each command: {}", each_command(name, spec, &bare))));
    }
    let command = after_assignments(spec, &bare)?;
    let what = format!(
        "\"{name}({spec})\" matches no call: variables that are set before a command are no part of it"
    );
    let fix = match (command, action) {
        ("", _) => "write the command that follows them".to_owned(),
        (command, Action::Allow) => {
            format!("write \"{name}({command})\"; a line that sets variables besides is asked all the same")
        }
        (command, _) => format!("write \"{name}({command})\", which holds whatever is set before it"),
    };
    Some((what, fix))
}

fn each_command(name: &str, spec: &str, bare: &str) -> String {
    let mut rules = Vec::new();
    let mut at = 0;
    for part in bare.split(['|', '&', ';']) {
        let command = spec.get(at..at + part.len()).unwrap_or_default().trim();
        at += part.len() + 1;
        if !command.is_empty() {
            rules.push(format!("\"{name}({command})\""));
        }
    }
    rules.join(", ")
}

/// What follows the variables that a command sets; none where it sets none.
fn after_assignments<'s>(spec: &'s str, bare: &str) -> Option<&'s str> {
    let (mut rest, mut shadow) = (spec, bare);
    while sets_variable(shadow) {
        let end = shadow.find(char::is_whitespace).unwrap_or(shadow.len());
        let after = shadow.get(end..)?.trim_start();
        rest = rest.get(shadow.len() - after.len()..)?;
        shadow = after;
    }
    (rest.len() < spec.len()).then_some(rest)
}

fn sets_variable(text: &str) -> bool {
    let Some((name, _)) = text.split_once('=') else { return false };
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The text with an `x` for each byte that is quoted, so that places in both are the same.
fn without_quoted(spec: &str) -> String {
    let mut bare = String::with_capacity(spec.len());
    let mut open: Option<char> = None;
    let mut is_escaped = false;
    for c in spec.chars() {
        let is_plain = open.is_none() && !is_escaped && !matches!(c, '\'' | '"' | '\\');
        if is_plain {
            bare.push(c);
        } else {
            bare.extend(std::iter::repeat_n('x', c.len_utf8()));
        }
        match (is_escaped, open) {
            (true, _) => is_escaped = false,
            (false, Some(quote)) if c == quote => open = None,
            (false, None) if c == '\\' => is_escaped = true,
            (false, None) if matches!(c, '\'' | '"') => open = Some(c),
            (false, _) => {}
        }
    }
    bare
}

#[cfg(test)]
mod tests {
    use super::*;
    use Action::{Allow, Ask, Deny};

    #[test]
    fn what_hardly_matches_says_what_to_write() {
        let cases = [
            (Allow, "bash(FOO=1 npm test)", "variables", "\"bash(npm test)\"; a line"),
            (Deny, "Bash(FOO='a b' B=2 rm *)", "variables", "\"Bash(rm *)\", which holds"),
            (Ask, "bash(A=1)", "variables", "the command that follows"),
            (Deny, "bash(ls > *)", "redirections", "\"bash(ls *)\""),
            (Allow, "bash(make all 2>&1)", "redirections", "\"bash(make all *)\""),
            (Allow, "bash(a | b)", "command by command", "\"bash(a)\", \"bash(b)\""),
            (Allow, "bash(a && b c)", "command by command", "\"bash(a)\", \"bash(b c)\""),
            (Deny, "bash(a;b)", "command by command", "\"bash(a)\", \"bash(b)\""),
            (Allow, "fetch(domain:http://x)", "a host", "\"fetch(domain:x)\""),
            (Deny, "fetch(domain:1.2.3.4:80)", "usual port", "\"fetch(domain:1.2.3.4)\""),
            (Ask, "fetch(domain:https://u@x.org:443/a?b)", "a host", "\"fetch(domain:x.org)\""),
            (Allow, "fetch(x.org)", "by their host", "\"fetch(domain:x.org)\""),
            (Deny, "WebFetch(https://x.org/*)", "by their host", "\"WebFetch(domain:x.org)\""),
            (Allow, "raed(x)", "no built-in tool is called \"raed\"", "\"read\""),
        ];
        for (action, rule, says, fix) in cases {
            let (what, instead) = unmatchable(action, rule).unwrap_or_default();
            assert!(what.contains(says) && instead.contains(fix), "{rule}: {what}; {instead}");
        }
    }

    #[test]
    fn what_can_match_is_left_alone() {
        let cases = [
            (Allow, "bash(git commit -m 'a > b; c | d')"),
            (Allow, "bash(npm run test:*)"),
            (Allow, "bash(env FOO=1 npm test)"),
            (Allow, "bash(make CC=gcc)"),
            (Allow, "bash(grep a\\|b *)"),
            (Deny, "bash(curl * | sh)"),
            (Ask, "bash(a && b)"),
            (Allow, "fetch(domain:*.example.com)"),
            (Allow, "fetch(domain:localhost:3000)"),
            (Deny, "fetch(domain:[::1])"),
            (Deny, "fetch(./out/**)"),
            (Allow, "read(./a=b)"),
            (Allow, "mcp__x__y(param.a=b)"),
            (Allow, "deploy(param.stage=test)"),
            (Allow, "deploy"),
            (Deny, "nosuch(x)"),
            (Deny, "git(push)"),
            (Ask, "job(x)"),
            (Allow, "git_*(x)"),
            (Allow, "Write(a)"),
            (Allow, "param.path=a(b)"),
            (Allow, "risk:safe"),
        ];
        for (action, rule) in cases {
            assert_eq!(unmatchable(action, rule), None, "{rule}");
        }
    }
}
