//! What a rule covers, in words. Pure, but for the list of tools.

use crate::app::App;
use haft_core::{RealPath, Spec};
use haft_policy::{Action, Mode, Policy, Rule};
use serde_json::json;

/// What a rule that parses covers, as a phrase that follows "covers".
pub(in crate::command) fn covers(rule: &str) -> String {
    let rule = rule.trim();
    if let Some(tag) = rule.strip_prefix("capability:") {
        return format!("every tool with the capability {tag}");
    }
    if let Some(category) = rule.strip_prefix("category:") {
        return format!("every tool of the category {category}");
    }
    if let Some(risk) = rule.strip_prefix("risk:") {
        return format!("every call whose risk is {}", risk.trim());
    }
    if rule.starts_with("param.") {
        return format!("every call of any tool {}", parameter(rule));
    }
    let Some((name, rest)) = rule.split_once('(') else { return whole(rule) };
    let (name, spec) = (name.trim(), rest.strip_suffix(')').unwrap_or(rest).trim());
    if let Some(host) = spec.strip_prefix("domain:") {
        return format!("calls of {} that contact {}", named(name), hosts(host.trim()));
    }
    if spec.starts_with("param.") {
        return format!("calls of {} {}", named(name), parameter(spec));
    }
    match family(name) {
        Some(Family::Command) => command(spec),
        Some(Family::Read) => format!("whatever tool reads {}", path(spec)),
        Some(Family::Edit) => format!("whatever tool writes {}", path(spec)),
        None => format!("calls of {} that touch {}", named(name), path(spec)),
    }
}

/// What a rule says of calls of tools that it doesn't name, and what the names alone don't tell.
pub(super) fn beyond(rule: &str) -> Option<&'static str> {
    if rule.trim().starts_with("risk:") {
        return Some("by what they declare; a call may be riskier or safer than its tool, by its input");
    }
    let (name, spec) = rule.split_once('(')?;
    if spec.starts_with("domain:") || spec.starts_with("param.") {
        return None;
    }
    match family(name.trim())? {
        Family::Read => Some(
            "under ask and deny it holds as well where bash, diff, edit, patch or any other tool reads such a path",
        ),
        Family::Edit => {
            Some("under ask and deny it holds as well where bash, undo or any other tool writes such a path")
        }
        Family::Command => None,
    }
}

/// The tools of this workspace that a rule means, wholly or in part.
pub(super) fn tools_of(app: &App, rule: &str) -> anyhow::Result<Vec<String>> {
    let tools = app.tools()?;
    let snapshot = app.snapshot(&tools);
    let rule = rule.trim();
    if let Some(risk) = rule.strip_prefix("risk:") {
        let is_meant = |spec: &Spec| json!(spec.risk()).as_str() == Some(risk.trim());
        let meant = snapshot.offers().filter(|offer| is_meant(offer.spec()));
        return Ok(meant.map(|offer| offer.name.to_string()).collect());
    }
    let (name, spec) = match rule.split_once('(') {
        _ if rule.starts_with("param.") => ("*", rule),
        Some((name, spec)) => (name.trim(), spec.trim()),
        None => (rule, ""),
    };
    let property = spec.strip_prefix("param.").map(property);
    let plain = Policy::new(Mode::Default, RealPath::new(&app.place.workspace, ""));
    let mut meant = plain.clone();
    meant.rules.extend(Rule::parse(Action::Deny, name, &super::origin(app)).ok());
    // What a rule for the whole tool would deny is what it means; what is denied anyway tells nothing.
    let covered = snapshot.offers().filter(|offer| {
        property.is_none_or(|property| takes(offer.spec(), property))
            && meant.denies_tool_whole(offer.spec(), &offer.name)
            && !plain.denies_tool_whole(offer.spec(), &offer.name)
    });
    Ok(covered.map(|offer| offer.name.to_string()).collect())
}

/// The first key of `key.inner=value`.
fn property(pair: &str) -> &str {
    pair.split(['=', '.']).next().unwrap_or(pair).trim()
}

/// Whether a tool has a parameter, by its own name or one that is taken for it.
fn takes(spec: &Spec, property: &str) -> bool {
    let own = spec.input_schema.get("properties").and_then(|all| all.get(property)).is_some();
    own || spec.input_aliases.values().flatten().any(|alias| alias == property)
}

/// A kind of tool that one tool's name stands for.
enum Family {
    Read,
    Edit,
    Command,
}

fn family(name: &str) -> Option<Family> {
    match name.to_ascii_lowercase().as_str() {
        "read" => Some(Family::Read),
        "edit" | "multiedit" => Some(Family::Edit),
        "bash" | "shell" => Some(Family::Command),
        _ => None,
    }
}

fn whole(name: &str) -> String {
    match family(name) {
        Some(Family::Read) => "every call of every tool that reads files".to_owned(),
        Some(Family::Edit) => "every call of every tool that writes files".to_owned(),
        Some(Family::Command) => "every command line, whatever it does".to_owned(),
        None => format!("every call of {}", named(name)),
    }
}

fn named(name: &str) -> String {
    let server = name.strip_prefix("mcp__").filter(|server| !server.contains("__") && !server.contains('*'));
    match server {
        Some(server) => format!("every tool of the MCP server {server}"),
        None if name == "*" => "every tool".to_owned(),
        None if name.contains('*') => format!("every tool whose name fits {name}"),
        None => format!("the tool {name}"),
    }
}

fn hosts(host: &str) -> String {
    match host.strip_prefix("*.") {
        Some(rest) => format!("a host beneath {rest} (not {rest} itself)"),
        None if host.contains('*') => format!("a host that fits {host}"),
        None => format!("the host {host}"),
    }
}

fn parameter(spec: &str) -> String {
    let pair = spec.strip_prefix("param.").unwrap_or(spec);
    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
    let fits = if value.contains('*') { "fits" } else { "is" };
    format!("whose input has a \"{}\" that {fits} \"{}\"", key.trim(), value.trim())
}

fn command(spec: &str) -> String {
    if matches!(spec, "*" | ":*") {
        return "every command, each by itself, whatever it is".to_owned();
    }
    if let Some(start) = spec.strip_suffix(":*") {
        return format!("the command \"{start}\", with any arguments or none, and \"{start}:…\"");
    }
    if let Some(start) = spec.strip_suffix(" *") {
        let fits = if start.contains('*') { " (a * is any text)" } else { "" };
        return format!("commands that begin with \"{start}\"{fits}, with any further arguments or none");
    }
    if spec.contains('*') {
        return format!(
            "commands that fit \"{spec}\", where a * is any text, or words where it stands alone"
        );
    }
    format!("just the command \"{spec}\"")
}

fn path(spec: &str) -> String {
    let (place, rest) = if let Some(rest) = spec.strip_prefix("//") {
        ("on this machine, from its root", rest)
    } else if let Some(rest) = spec.strip_prefix('/') {
        ("beneath the folder of the settings file (in a workspace's own settings: of the workspace)", rest)
    } else if let Some(rest) = spec.strip_prefix("~/") {
        ("beneath your home", rest)
    } else if let Some(rest) = spec.strip_prefix("./") {
        ("beneath the workspace", rest)
    } else if spec.trim_end_matches('/').contains('/') {
        ("beneath the workspace", spec)
    } else {
        ("at any depth of the workspace", spec)
    };
    match rest {
        "" | "**" => format!("anything {place}"),
        rest => match rest.strip_suffix("/**") {
            Some(folder) => format!("anything in {folder}/ {place}"),
            None => format!("{rest} {place}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_rule_has_its_words() {
        let cases = [
            ("bash", "every command line, whatever it does"),
            ("read", "every call of every tool that reads files"),
            ("todo", "every call of the tool todo"),
            ("*", "every call of every tool"),
            ("git_*", "every call of every tool whose name fits git_*"),
            ("mcp__github", "every call of every tool of the MCP server github"),
            ("bash(git diff *)", "commands that begin with \"git diff\", with any further arguments or none"),
            ("bash(ls -la)", "just the command \"ls -la\""),
            ("bash(:*)", "every command, each by itself, whatever it is"),
            (
                "bash(npm run test:*)",
                "the command \"npm run test\", with any arguments or none, and \"npm run test:…\"",
            ),
            ("edit(./src/**)", "whatever tool writes anything in src/ beneath the workspace"),
            ("read(*.lock)", "whatever tool reads *.lock at any depth of the workspace"),
            ("read(~/.ssh/**)", "whatever tool reads anything in .ssh/ beneath your home"),
            ("read(//etc/passwd)", "whatever tool reads etc/passwd on this machine, from its root"),
            ("write(a/b)", "calls of the tool write that touch a/b beneath the workspace"),
            (
                "fetch(domain:*.example.com)",
                "calls of the tool fetch that contact a host beneath example.com (not example.com itself)",
            ),
            ("capability:fs.write", "every tool with the capability fs.write"),
            ("risk:destructive", "every call whose risk is destructive"),
            ("param.path=a*", "every call of any tool whose input has a \"path\" that fits \"a*\""),
        ];
        for (rule, words) in cases {
            assert_eq!(covers(rule), words, "{rule}");
        }
    }

    #[test]
    fn a_rule_for_paths_says_where_else_it_holds() {
        for (rule, part) in [
            ("read(secret/**)", Some("bash, diff, edit, patch")),
            ("edit(secret/**)", Some("bash, undo")),
            ("risk:destructive", Some("declare")),
            ("read", None),
            ("bash(ls)", None),
            ("read(param.path=a)", None),
            ("write(a)", None),
        ] {
            let said = beyond(rule);
            assert_eq!(said.is_some(), part.is_some(), "{rule}");
            assert!(said.unwrap_or_default().contains(part.unwrap_or_default()), "{rule}: {said:?}");
        }
    }

    #[test]
    fn a_parameter_is_known_by_all_its_names() {
        let mut spec = Spec::new("x", "Does something.").with_input_aliases("path", &["file_path"]);
        spec.input_schema = json!({"type": "object", "properties": {"path": {}}});
        assert!(takes(&spec, property("path=a*")) && takes(&spec, property("file_path.x=1")));
        assert!(!takes(&spec, property("command=a")));
    }
}
