//! Lists of servers that other tools wrote: `.mcp.json` and its kin, with any of the keys they put around it.
//!
//! Read as they are meant, so that a list that works elsewhere works here. What of an entry isn't understood is a problem
//! with its line and the entry is used without it; one that can't be used without is left out, and says why.

mod choices;
mod launch;

pub use choices::switched_off;

use super::{McpSetting, McpToolSetting, read::wrong_name};
use crate::{
    catalogue::Problem,
    settings::{Origin, Place, SettingsSource},
};
use haft_core::without_bom;
use launch::{Unfit, launch};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The keys around a list.
const WRAPPERS: [&str; 3] = ["mcpServers", "servers", "mcp"];
/// What of an entry is understood.
const KEYS: [&str; 29] = [
    "type",
    "transport",
    "url",
    "httpUrl",
    "serverUrl",
    "headers",
    "http_headers",
    "env_http_headers",
    "bearer_token_env_var",
    "command",
    "args",
    "env",
    "environment",
    "env_vars",
    "cwd",
    "enabled",
    "disabled",
    "timeout",
    "tool_timeout_sec",
    "startupTimeout",
    "startup_timeout_ms",
    "startup_timeout_sec",
    "includeTools",
    "enabled_tools",
    "tools",
    "excludeTools",
    "disabled_tools",
    "disabledTools",
    "$schema",
];
/// What of an entry is for people only.
const FOR_PEOPLE: [&str; 10] = [
    "name",
    "title",
    "displayName",
    "description",
    "comment",
    "note",
    "icon",
    "version",
    "gallery",
    "homepage",
];
/// What may stand in `mcp` beside a list, and is no server: which servers are used, and how they are started.
const CHOICES: [&str; 3] = ["allowed", "excluded", "serverCommand"];
/// Lists of the tools that are used, and of those that aren't.
const ONLY: [&str; 3] = ["includeTools", "enabled_tools", "tools"];
const EXCEPT: [&str; 3] = ["excludeTools", "disabled_tools", "disabledTools"];
/// What lets tools run unasked.
const UNASKED: [&str; 3] = ["alwaysAllow", "autoApprove", "trust"];
/// How many servers one list may have.
const SERVERS_MAX: usize = 200;

/// How a list is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerListForm {
    /// JSON, with comments and commas too many.
    Json,
    /// TOML with a table `mcp_servers`.
    Toml,
}

/// What a list comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ForeignServers {
    /// The servers, by name.
    pub servers: BTreeMap<String, McpSetting>,
    /// What can't be used.
    pub problems: Vec<Problem>,
}

/// Reads a list.
pub fn server_list(source: &SettingsSource, form: ServerListForm, place: &Place) -> ForeignServers {
    let mut list = List { source, place, found: ForeignServers::default() };
    let read = match form {
        ServerListForm::Json => {
            let plain = without_comments(without_bom(&source.text));
            serde_json::from_str::<Value>(&plain).map_err(|error| (error.line().max(1), error.to_string()))
        }
        ServerListForm::Toml => toml::from_str::<Value>(&source.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            (crate::settings::edit::line_of(&source.text, at), error.message().to_owned())
        }),
    };
    match read {
        Ok(Value::Object(root)) => list.root(&root),
        Ok(_) => list.problem(1, "a list of servers is an object", "write {\"mcpServers\": { … }}"),
        Err((line, why)) => {
            list.problem(line, &format!("the list can't be read: {why}"), "mend the file");
        }
    }
    list.found
}

struct List<'a> {
    source: &'a SettingsSource,
    place: &'a Place,
    found: ForeignServers,
}

impl List<'_> {
    fn root(&mut self, root: &Map<String, Value>) {
        let mut is_list = false;
        for key in WRAPPERS.into_iter().chain(["mcp_servers"]) {
            let Some(Value::Object(inner)) = root.get(key) else { continue };
            is_list = true;
            // Editors put their list into a section of its own.
            match inner.get("servers") {
                Some(Value::Object(servers)) if key == "mcp" && !is_entry(servers) => self.servers(servers),
                // What stands beside a list says which of its servers are used.
                _ if key == "mcp" && CHOICES.iter().any(|choice| inner.contains_key(*choice)) => {
                    let is_server = |(name, _): &(&String, &Value)| !CHOICES.contains(&name.as_str());
                    let servers =
                        inner.iter().filter(is_server).map(|(name, entry)| (name.clone(), entry.clone()));
                    self.servers(&servers.collect());
                }
                _ => self.servers(inner),
            }
        }
        let own = project(root, self.place).and_then(|own| own.get("mcpServers"));
        if let Some(Value::Object(servers)) = own {
            is_list = true;
            self.servers(servers);
        }
        self.leave_out(root);
        let is_bare = || root.values().all(|value| value.as_object().is_some_and(is_entry));
        if !is_list && !root.is_empty() && is_bare() {
            self.servers(root);
        }
    }

    /// Switches off what the list itself keeps out.
    fn leave_out(&mut self, root: &Map<String, Value>) {
        let choice = |name: &str| names(root.get("mcp").and_then(|choices| choices.get(name)));
        let (allowed, excluded) = (choice("allowed"), choice("excluded").unwrap_or_default());
        let off = names(project(root, self.place).and_then(|own| own.get("disabledMcpServers")));
        let off = off.unwrap_or_default();
        for (name, setting) in &mut self.found.servers {
            let is_out = excluded.contains(name)
                || off.contains(name)
                || allowed.as_ref().is_some_and(|all| !all.contains(name));
            setting.enabled &= !is_out;
        }
        let is_everywhere = |name: &str| root.get("mcpServers").is_some_and(|all| all.get(name).is_some());
        for name in off.iter().filter(|name| is_everywhere(name)) {
            let text = format!(
                "the server \"{name}\" is off in this workspace only; taken over it is off in all of them"
            );
            let fix = format!("to have it on, write enabled = true under [mcp.servers.{name}]");
            self.problem(line_of(&self.source.text, name), &text, &fix);
        }
    }

    fn servers(&mut self, servers: &Map<String, Value>) {
        for (name, entry) in servers.iter().take(SERVERS_MAX) {
            let line = line_of(&self.source.text, name);
            if let Some(why) = wrong_name(name) {
                self.problem(line, &format!("\"{name}\" is no name for a server: {why}"), "rename it");
                continue;
            }
            let Value::Object(entry) = entry else {
                self.problem(line, &format!("the server \"{name}\" is no object"), "write {\"command\": …}");
                continue;
            };
            match launch(entry, self.place) {
                Ok(launch) => {
                    let (scope, path) = (self.source.scope, self.source.path.clone());
                    let mut setting = McpSetting::new(launch, Origin { scope, path, line });
                    setting.foreign = true;
                    setting.enabled = is_enabled(entry);
                    setting.timeout_ms = millis(entry, "timeout", "tool_timeout_sec");
                    setting.start_timeout_ms = millis(entry, "startupTimeout", "startup_timeout_sec")
                        .or_else(|| millis(entry, "startup_timeout_ms", "startup_timeout_sec"));
                    setting.only = only(entry);
                    for tool in EXCEPT.iter().filter_map(|key| names(entry.get(*key))).flatten() {
                        let off = McpToolSetting { enabled: Some(false), ..McpToolSetting::default() };
                        setting.tools.insert(tool, off);
                    }
                    self.losses(name, entry, line);
                    self.found.servers.entry(name.clone()).or_insert(setting);
                }
                Err(Unfit { why, fix }) => {
                    self.problem(line, &format!("the server \"{name}\" can't be used: {why}"), fix);
                }
            }
        }
        let further = servers.len().saturating_sub(SERVERS_MAX);
        if further > 0 {
            self.problem(1, &format!("{further} servers are left out"), "keep at most 200 in one list");
        }
    }

    /// Names what of an entry has no place here, so that nobody takes it for heard.
    fn losses(&mut self, name: &str, entry: &Map<String, Value>, line: usize) {
        for (key, _) in entry.iter().filter(|(_, value)| says_something(value)) {
            let key = key.as_str();
            let is_understood = KEYS.contains(&key) && (key != "tools" || names(entry.get(key)).is_some());
            if is_understood || FOR_PEOPLE.contains(&key) {
                continue;
            }
            let fix = if key == "envFile" {
                "name its variables in `env`, and set them in your environment or store them".to_owned()
            } else if UNASKED.contains(&key) {
                format!("its tools ask; let one run by a rule: haft permissions allow 'mcp__{name}__TOOL'")
            } else {
                format!(
                    "see whether it matters; what haft knows stands under [mcp.servers.{name}] in its settings"
                )
            };
            self.problem(line, &format!("the server \"{name}\" is used without its \"{key}\""), &fix);
        }
    }

    fn problem(&mut self, line: usize, text: &str, fix: &str) {
        self.found.problems.push(Problem {
            source: self.source.scope.name().to_owned(),
            path: Some(self.source.path.clone()),
            line: Some(line),
            text: text.to_owned(),
            fix: fix.to_owned(),
        });
    }
}

/// What a file for all workspaces says of this one.
fn project<'a>(root: &'a Map<String, Value>, place: &Place) -> Option<&'a Value> {
    root.get("projects")?.get(&place.workspace)
}

/// Whether an object is a server and not a list of them.
fn is_entry(object: &Map<String, Value>) -> bool {
    ["command", "url", "httpUrl", "serverUrl"]
        .iter()
        .any(|key| object.get(*key).is_some_and(|at| !at.is_object()))
}

fn is_enabled(entry: &Map<String, Value>) -> bool {
    let flag = |name: &str| entry.get(name).and_then(Value::as_bool);
    flag("enabled").unwrap_or(true) && !flag("disabled").unwrap_or(false)
}

fn millis(entry: &Map<String, Value>, millis: &str, seconds: &str) -> Option<u64> {
    let number = |name: &str| entry.get(name).and_then(Value::as_u64).filter(|number| *number > 0);
    number(millis).or_else(|| number(seconds).map(|seconds| seconds.saturating_mul(1_000)))
}

/// Whether a value isn't just the absence of one.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => true,
    }
}

/// A list of names.
fn names(value: Option<&Value>) -> Option<Vec<String>> {
    let names = value?.as_array()?.iter().filter_map(Value::as_str);
    Some(names.map(str::to_owned).collect())
}

/// The tools that are used; none for all.
fn only(entry: &Map<String, Value>) -> Option<Vec<String>> {
    let listed = ONLY.iter().find_map(|key| names(entry.get(*key)))?;
    (!listed.iter().any(|name| name == "*")).then_some(listed)
}

/// The line on which a key stands; the first where it isn't found.
fn line_of(text: &str, key: &str) -> usize {
    let quoted = Value::String(key.to_owned()).to_string();
    let is_key =
        |at: &usize| text.get(at + quoted.len()..).is_some_and(|rest| rest.trim_start().starts_with(':'));
    let at = text.match_indices(&quoted).map(|(at, _)| at).find(is_key);
    at.map_or(1, |at| crate::settings::edit::line_of(text, at))
}

/// JSON without comments, and without commas before a closing bracket; lines stay where they are.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    let mut is_text = false;
    while let Some(c) = letters.next() {
        match (c, letters.peek().copied()) {
            ('\\', Some(next)) if is_text => {
                plain.push(c);
                plain.push(next);
                letters.next();
            }
            ('"', _) => {
                is_text = !is_text;
                plain.push(c);
            }
            _ if is_text => plain.push(c),
            ('/', Some('/')) => {
                while letters.peek().is_some_and(|next| *next != '\n') {
                    letters.next();
                }
            }
            ('/', Some('*')) => {
                letters.next();
                let mut last = ' ';
                for inner in letters.by_ref() {
                    if inner == '\n' {
                        plain.push('\n');
                    }
                    if last == '*' && inner == '/' {
                        break;
                    }
                    last = inner;
                }
            }
            (']' | '}', _) => {
                let kept = plain.trim_end().len();
                if plain.get(..kept).is_some_and(|before| before.ends_with(',')) {
                    plain.remove(kept - 1);
                }
                plain.push(c);
            }
            _ => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Scope;

    fn read_as(text: &str, form: ServerListForm) -> ForeignServers {
        let place = Place { workspace: "/w".into(), home: None, trusted: false };
        server_list(&SettingsSource::new(Scope::Workspace, "/w/.mcp.json", text), form, &place)
    }

    fn read(text: &str) -> ForeignServers {
        read_as(text, ServerListForm::Json)
    }

    fn parts(list: &ForeignServers, name: &str) -> String {
        let parts = list.servers[name].parts();
        parts.iter().map(|(name, text)| format!("{name}={text}")).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn each_wrapper_is_understood() {
        let entry = r#"{"command": "npx", "args": ["-y", "x"], "env": {"KEY": "${KEY}", "N": 1}}"#;
        for text in [
            format!(r#"{{"mcpServers": {{"x": {entry}}}}}"#),
            format!(r#"{{"servers": {{"x": {entry}}}, "inputs": []}}"#),
            format!(r#"{{"mcp": {{"x": {entry}}}}}"#),
            format!(r#"{{"mcp": {{"servers": {{"x": {entry}}}}}}}"#),
            format!(r#"{{"x": {entry}}}"#),
            format!(r#"{{"projects": {{"/w": {{"mcpServers": {{"x": {entry}}}}}}}, "n": 1}}"#),
            format!("{{\n// a comment\n\"mcpServers\": {{\"x\": {entry}, /* more */ }},\n}}"),
        ] {
            let list = read(&text);
            assert!(list.problems.is_empty(), "{text}: {:?}", list.problems);
            assert_eq!(parts(&list, "x"), "command=npx -y x; variable KEY=${KEY}; variable N=1", "{text}");
        }
    }

    #[test]
    fn each_kind_of_entry_is_understood() {
        let list = read(
            r#"{"mcpServers": {
                "a": {"type": "http", "url": "https://a.example/mcp", "headers": {"X": "Bearer ${T}"}},
                "b": {"type": "sse", "url": "https://b.example/sse", "disabled": true},
                "c": {"type": "local", "command": ["bun", "x"], "environment": {"A": "1"}, "enabled": false},
                "d": {"httpUrl": "https://d.example", "timeout": 5000},
                "e": {"command": "x", "cwd": "${workspaceFolder}/sub"}
            }}"#,
        );
        assert_eq!(parts(&list, "a"), "url=https://a.example/mcp; header X=Bearer ${T}");
        assert_eq!(parts(&list, "b"), "url=https://b.example/sse; transport=sse");
        assert_eq!(parts(&list, "c"), "command=bun x; variable A=1");
        assert_eq!(parts(&list, "e"), "command=x; folder=/w/sub");
        assert!(!list.servers["b"].enabled && !list.servers["c"].enabled);
        assert_eq!(list.servers["d"].timeout_ms, Some(5_000));
        assert!(list.servers.values().all(|server| server.foreign && server.needs_approval()));
    }

    #[test]
    fn which_tools_are_used_is_kept_and_what_has_no_place_is_named() {
        let list = read(
            r#"{"mcpServers": {
                "a": {"command": "a", "includeTools": ["x", "y"], "excludeTools": ["y"], "trust": false},
                "b": {"command": "b", "tools": ["*"], "alwaysAllow": ["x"], "description": "for people"},
                "c": {"command": "c", "envFile": ".env", "disabledTools": ["z"], "autoApprove": []}
            }}"#,
        );
        assert_eq!(list.servers["a"].only.as_deref(), Some(&["x".to_owned(), "y".to_owned()][..]));
        assert_eq!(list.servers["a"].tools["y"].enabled, Some(false));
        assert_eq!(list.servers["b"].only, None);
        assert_eq!(list.servers["c"].tools["z"].enabled, Some(false));
        let said: Vec<&str> = list.problems.iter().map(|problem| problem.text.as_str()).collect();
        assert_eq!(
            said,
            [
                r#"the server "b" is used without its "alwaysAllow""#,
                r#"the server "c" is used without its "envFile""#
            ]
        );
        assert!(list.problems[0].fix.contains("haft permissions allow 'mcp__b__TOOL'"));
    }

    #[test]
    fn what_other_tools_fill_in_is_written_as_here_or_the_server_left_out() {
        let list = read(
            r#"{"mcpServers": {
                "a": {"command": "a", "args": ["${workspaceFolder}/x", "${userHome}", "{env:TOKEN}", "{\"k\": {env}}", "${N:-d}"],
                      "env": {"A": "{env:B}", "C": "${env:D}"}},
                "b": {"command": "b", "env": {"KEY": "${input:key}"}},
                "c": {"url": "https://c.example", "headers": {"X": "{file:~/.key}"}}
            }}"#,
        );
        let words = r#"command=a '${workspaceFolder}/x' '${HOME}' '${TOKEN}' '{"k": {env}}' '${N:-d}'"#;
        assert_eq!(parts(&list, "a"), format!("{words}; variable A=${{B}}; variable C=${{env:D}}"));
        assert_eq!(list.servers.len(), 1);
        let said: Vec<&str> = list.problems.iter().map(|problem| problem.text.as_str()).collect();
        assert!(said[0].contains("\"b\" can't be used: it needs ${input:key}"), "{said:?}");
        assert!(said[1].contains("{file:~/.key}"), "{said:?}");
        assert!(list.problems[0].fix.contains("${secret:NAME}"));
    }

    #[test]
    fn what_a_list_switches_off_elsewhere_is_off() {
        let list = read(
            r#"{"mcpServers": {"a": {"command": "a", "env": {"K": "$KEY", "P": "$5"}}, "b": {"command": "b"}, "c": {"command": "c"}},
                "mcp": {"allowed": ["a", "b"], "excluded": ["b"], "serverCommand": "x"}}"#,
        );
        assert!(list.problems.is_empty(), "{:?}", list.problems);
        let used: Vec<bool> = ["a", "b", "c"].iter().map(|name| list.servers[*name].enabled).collect();
        assert_eq!(used, [true, false, false]);
        assert_eq!(parts(&list, "a"), "command=a; variable K=${KEY}; variable P=$5");
    }

    #[test]
    fn what_a_workspace_switches_off_comes_over_as_off() {
        let list = read(
            r#"{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}},
                "projects": {
                    "/w": {"mcpServers": {"c": {"command": "c"}, "d": {"command": "d"}},
                           "disabledMcpServers": ["b", "d", "gone"]},
                    "/v": {"disabledMcpServers": ["a"]}}}"#,
        );
        let used: Vec<bool> = list.servers.values().map(|server| server.enabled).collect();
        assert_eq!(used, [true, false, true, false]);
        let said: Vec<&str> = list.problems.iter().map(|problem| problem.text.as_str()).collect();
        assert_eq!(
            said,
            [r#"the server "b" is off in this workspace only; taken over it is off in all of them"#]
        );
    }

    #[test]
    fn a_table_of_servers_in_toml_is_understood() {
        let list = read_as(
            "model = 'x'\n[mcp_servers.a]\ncommand = 'npx'\nargs = ['a']\nenv = { K = 'v' }\nstartup_timeout_sec = 7\n\
             [mcp_servers.b]\nurl = 'https://b.example'\nbearer_token_env_var = 'B_TOKEN'\n",
            ServerListForm::Toml,
        );
        assert!(list.problems.is_empty(), "{:?}", list.problems);
        assert_eq!(parts(&list, "a"), "command=npx a; variable K=v");
        assert_eq!(list.servers["a"].start_timeout_ms, Some(7_000));
        assert_eq!(parts(&list, "b"), "url=https://b.example; header Authorization=Bearer ${B_TOKEN}");
    }

    #[test]
    fn one_bad_entry_is_a_problem_with_its_line_and_takes_no_other_down() {
        let list =
            read("{\"mcpServers\": {\n\"a\": {\"args\": []},\n\"b\": 3,\n\"c\": {\"command\": \"c\"}\n}}");
        assert_eq!(list.servers.keys().collect::<Vec<_>>(), ["c"]);
        assert_eq!(list.problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [Some(2), Some(3)]);
        assert_eq!(list.servers["c"].origin.line, 4);
        let broken = read("{\"mcpServers\": {\n\"a\" }");
        assert!(broken.servers.is_empty() && broken.problems[0].line == Some(2), "{:?}", broken.problems);
        assert_eq!(read("[]").problems.len(), 1);
        assert_eq!(read("{}"), ForeignServers::default());
    }
}
