//! Lists of servers that other tools wrote: `.mcp.json` and its kin, with any of the keys they put around it.
//!
//! Read as they are meant, so that a list that works elsewhere works here. What isn't understood of an entry is passed
//! over, since it is another tool's business; an entry that can't be used is a problem with its line.

use super::{McpLaunch, McpSetting, Template, read::wrong_name};
use crate::{
    catalogue::Problem,
    settings::{Origin, Place, Placed, SettingsSource},
};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// The keys around a list.
const WRAPPERS: [&str; 3] = ["mcpServers", "servers", "mcp"];
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
            let plain = without_comments(source.text.trim_start_matches('\u{feff}'));
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
                _ => self.servers(inner),
            }
        }
        let own = root.get("projects").and_then(|all| all.get(&self.place.workspace));
        if let Some(Value::Object(servers)) = own.and_then(|project| project.get("mcpServers")) {
            is_list = true;
            self.servers(servers);
        }
        let is_bare = || root.values().all(|value| value.as_object().is_some_and(is_entry));
        if !is_list && !root.is_empty() && is_bare() {
            self.servers(root);
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
            match self.launch(entry) {
                Ok(launch) => {
                    let (scope, path) = (self.source.scope, self.source.path.clone());
                    let mut setting = McpSetting::new(launch, Origin { scope, path, line });
                    setting.foreign = true;
                    setting.enabled = is_enabled(entry);
                    setting.timeout_ms = millis(entry, "timeout", "tool_timeout_sec");
                    setting.start_timeout_ms = millis(entry, "startupTimeout", "startup_timeout_sec");
                    self.found.servers.entry(name.clone()).or_insert(setting);
                }
                Err(why) => {
                    let fix = "write a command with its args, or a url";
                    self.problem(line, &format!("the server \"{name}\" can't be used: {why}"), fix);
                }
            }
        }
        let further = servers.len().saturating_sub(SERVERS_MAX);
        if further > 0 {
            self.problem(1, &format!("{further} servers are left out"), "keep at most 200 in one list");
        }
    }

    fn launch(&self, entry: &Map<String, Value>) -> Result<McpLaunch, String> {
        let text = |names: &[&str]| names.iter().find_map(|name| entry.get(*name)?.as_str());
        let kind = text(&["type", "transport"]).unwrap_or_default().to_ascii_lowercase();
        let url = text(&["url", "httpUrl", "serverUrl"]);
        if let Some(url) = url.filter(|_| !entry.contains_key("command")) {
            let mut headers = Vec::new();
            for key in ["headers", "http_headers"] {
                headers.extend(texts(entry.get(key)));
            }
            for (name, variable) in texts(entry.get("env_http_headers")) {
                headers.push((name, Template::new(format!("${{{variable}}}"))));
            }
            if let Some(variable) = text(&["bearer_token_env_var"]) {
                headers.push(("Authorization".to_owned(), Template::new(format!("Bearer ${{{variable}}}"))));
            }
            let older = kind == "sse";
            return Ok(McpLaunch::Url { url: Template::new(url), headers, older });
        }
        let mut argv: Vec<Template> = match entry.get("command") {
            Some(Value::String(program)) => vec![Template::new(program.as_str())],
            Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).map(Template::new).collect(),
            _ => return Err("it has neither a command nor a url".to_owned()),
        };
        match entry.get("args") {
            None | Some(Value::Null) => {}
            Some(Value::Array(words)) => {
                for word in words {
                    let word = word.as_str().ok_or("its args are no texts")?;
                    argv.push(Template::new(word));
                }
            }
            Some(_) => return Err("its args are no list".to_owned()),
        }
        if argv.first().is_none_or(|program| program.as_str().trim().is_empty()) {
            return Err("its command is empty".to_owned());
        }
        let mut env = Vec::new();
        for key in ["env", "environment"] {
            env.extend(texts(entry.get(key)));
        }
        if let Some(Value::Array(names)) = entry.get("env_vars") {
            env.extend(
                names
                    .iter()
                    .filter_map(Value::as_str)
                    .map(|name| (name.to_owned(), Template::new(format!("${{{name}}}")))),
            );
        }
        Ok(McpLaunch::Command { argv, folder: self.folder(text(&["cwd"])), env })
    }

    fn folder(&self, written: Option<&str>) -> Option<Placed> {
        let written = written?.replace("${workspaceFolder}", &self.place.workspace);
        self.place.absolute(&written)
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

/// Names with their texts; numbers and flags are written out.
fn texts(value: Option<&Value>) -> Vec<(String, Template)> {
    let Some(Value::Object(fields)) = value else { return Vec::new() };
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    };
    fields.iter().filter_map(|(name, value)| Some((name.clone(), Template::new(text(value)?)))).collect()
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
