//! A server written into a text of settings, or taken out of it; all else in the text stays as it stands.
//!
//! Pure. Leaves reading and writing files to the host. Keeps the invariant "no server takes another's place unless that
//! is asked for".

use super::{McpLaunch, McpSetting, Template, is_secret_header};
use crate::settings::edit::{EditError, parse_document};
use haft_core::Credential;
use toml_edit::{Array, InlineTable, Item, Table, TableLike, Value};

/// A server to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpEntry {
    /// Its name.
    pub name: String,
    /// What is written of it: how it is reached, and what isn't as usual.
    pub setting: McpSetting,
}

/// What a text of settings says of a server of that name, by its keys; none where it names no such server.
///
/// # Errors
/// The text isn't TOML.
pub fn server_keys(text: &str, name: &str) -> Result<Option<String>, EditError> {
    let document = parse_document(text)?;
    let within = |item: &Item, key: &str| item.as_table_like().and_then(|table| table.get(key)).cloned();
    let servers = within(document.as_item(), "mcp").and_then(|mcp| within(&mcp, "servers"));
    let server = servers.and_then(|servers| within(&servers, name));
    Ok(server.as_ref().and_then(Item::as_table_like).map(keys))
}

/// A change of the servers in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum McpChange {
    /// Puts a server in where there is none of its name.
    Add(Box<McpEntry>),
    /// Puts a server in, in place of one of its name.
    Put(Box<McpEntry>),
    /// Takes a server out.
    Remove(String),
}

impl McpChange {
    /// The changed text; none where nothing changes.
    ///
    /// # Errors
    /// The text isn't TOML, or holds something else at the place; to be added, it names another server of that name.
    pub fn apply_to(&self, text: &str) -> Result<Option<String>, EditError> {
        let mut document = parse_document(text)?;
        let root = document.as_table_mut();
        match self {
            Self::Add(entry) | Self::Put(entry) => {
                let servers = servers(root)?;
                let taken = servers.get(&entry.name).and_then(Item::as_table_like).map(keys);
                let mut table = table_of(&entry.setting);
                if let Some(Item::Table(before)) = servers.get(&entry.name) {
                    // Its comments stand above it.
                    *table.decor_mut() = before.decor().clone();
                    table.set_position(before.position());
                }
                servers.insert(&entry.name, Item::Table(table));
                let is_same = || document.to_string().trim_end() == text.trim_end();
                if let (Self::Add(_), Some(keys)) = (self, taken)
                    && !is_same()
                {
                    return Err(EditError::Named { name: entry.name.clone(), keys });
                }
            }
            Self::Remove(name) => {
                let found = root
                    .get_mut("mcp")
                    .and_then(Item::as_table_like_mut)
                    .and_then(|mcp| mcp.get_mut("servers"))
                    .and_then(Item::as_table_like_mut)
                    .and_then(|servers| servers.remove(name));
                if found.is_none() {
                    return Ok(None);
                }
            }
        }
        let mut changed = document.to_string();
        if !changed.is_empty() && !changed.ends_with('\n') {
            changed.push('\n');
        }
        Ok((changed != text).then_some(changed))
    }
}

/// What is written of a server.
fn keys(server: &dyn TableLike) -> String {
    let mut all = Vec::new();
    for (key, item) in server.iter() {
        match item.as_table_like().filter(|_| key == "tools") {
            Some(tools) => all.extend(tools.iter().map(|(tool, _)| format!("tools.{tool}"))),
            None => all.push(key.to_owned()),
        }
    }
    all.join(", ")
}

/// The table of all servers, made where there is none.
fn servers(root: &mut Table) -> Result<&mut Table, EditError> {
    let not_a =
        |key: &str| EditError::NotA { key: key.to_owned(), kind: "a table written as [mcp.servers.NAME]" };
    let unseen = || {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    };
    let mcp = root.entry("mcp").or_insert_with(unseen).as_table_mut().ok_or_else(|| not_a("mcp"))?;
    mcp.entry("servers").or_insert_with(unseen).as_table_mut().ok_or_else(|| not_a("mcp.servers"))
}

fn table_of(setting: &McpSetting) -> Table {
    let mut table = Table::new();
    let mut put = |key: &str, value: Value| {
        table.insert(key, Item::Value(value));
    };
    match &setting.launch {
        McpLaunch::Command { argv, folder, env } => {
            let mut words = argv.iter();
            put("command", Value::from(words.next().map_or("", |word| word.as_str())));
            if words.len() > 0 {
                put("args", Value::Array(words.map(|word| Value::from(word.as_str())).collect::<Array>()));
            }
            if let Some(folder) = folder {
                put("cwd", Value::from(folder.written.as_str()));
            }
            if !env.is_empty() {
                put("env", variables(env));
            }
        }
        McpLaunch::Url { url, headers, older } => {
            put("url", Value::from(url.as_str()));
            if *older {
                put("transport", Value::from("sse"));
            }
            // A secret that is written out has no place here and is left out; the host says so.
            let kept = headers.iter().filter(|(name, value)| !(value.is_plain() && is_secret_header(name)));
            let inline: InlineTable =
                kept.map(|(name, value)| (name.as_str(), Value::from(value.as_str()))).collect();
            if !inline.is_empty() {
                put("headers", Value::InlineTable(inline));
            }
        }
    }
    if !setting.enabled {
        put("enabled", Value::from(false));
    }
    if setting.eager {
        put("eager", Value::from(true));
    }
    if let Some(prefix) = &setting.prefix {
        put("prefix", Value::from(prefix.as_str()));
    }
    for (key, number) in [("timeoutMs", setting.timeout_ms), ("startTimeoutMs", setting.start_timeout_ms)] {
        if let Some(number) = number.and_then(|number| i64::try_from(number).ok()) {
            put(key, Value::from(number));
        }
    }
    if let Some(only) = &setting.only {
        put("only", Value::Array(only.iter().map(|tool| Value::from(tool.as_str())).collect::<Array>()));
    }
    let off: Vec<&str> = setting
        .tools
        .iter()
        .filter(|(_, tool)| tool.enabled == Some(false))
        .map(|(name, _)| name.as_str())
        .collect();
    if !off.is_empty() {
        let mut tools = Table::new();
        tools.set_implicit(true);
        for name in off {
            let mut tool = Table::new();
            tool.insert("enabled", Item::Value(Value::from(false)));
            tools.insert(name, Item::Table(tool));
        }
        table.insert("tools", Item::Table(tools));
    }
    table
}

/// A list of names where each variable keeps its own. What isn't just a name has no place here and is left out; the host
/// says so.
fn variables(env: &[(String, Template)]) -> Value {
    let named: Vec<(&str, String)> = env
        .iter()
        .filter_map(|(name, value)| {
            let from = match value.reference()? {
                Credential::Variable(from) => from,
                stored @ Credential::Stored(_) => stored.to_string(),
            };
            Some((name.as_str(), from))
        })
        .collect();
    if named.iter().all(|(name, from)| name == from) {
        return Value::Array(named.iter().map(|(name, _)| Value::from(*name)).collect::<Array>());
    }
    Value::InlineTable(named.into_iter().map(|(name, from)| (name, Value::from(from))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{McpToolSetting, Origin, Place, Scope, Settings, SettingsSource};

    fn origin() -> Origin {
        Origin { scope: Scope::User, path: "u".to_owned(), line: 1 }
    }

    fn files() -> McpChange {
        let argv = ["npx", "-y", "files", "."].map(Template::new).to_vec();
        let env = vec![("TOKEN".to_owned(), Template::new("${TOKEN}"))];
        let launch = McpLaunch::Command { argv, folder: None, env };
        let setting = McpSetting::new(launch, origin());
        McpChange::Put(Box::new(McpEntry { name: "files".to_owned(), setting }))
    }

    #[test]
    fn a_server_is_added_beneath_what_is_there_and_read_back() {
        let before = "# mine\n[permissions]\nmode = \"plan\" # careful\n";
        let after = files().apply_to(before).unwrap().unwrap();
        let added = "\n[mcp.servers.files]\ncommand = \"npx\"\nargs = [\"-y\", \"files\", \".\"]\nenv = [\"TOKEN\"]\n";
        assert_eq!(after, format!("{before}{added}"));
        assert_eq!(files().apply_to(&after).unwrap(), None);
        let place = Place { workspace: "/w".into(), home: None, trusted: true };
        let read = Settings::load(&[SettingsSource::new(Scope::User, "u", after)], &place);
        assert!(read.problems.is_empty() && read.mcp.contains_key("files"));
    }

    #[test]
    fn values_that_are_written_out_are_left_out() {
        let named = |name: &str, text: &str| (name.to_owned(), Template::new(text));
        let launch = |launch: McpLaunch| {
            let setting = McpSetting::new(launch, origin());
            let entry = McpEntry { name: "x".to_owned(), setting };
            McpChange::Put(Box::new(entry)).apply_to("").unwrap().unwrap()
        };
        let half = named("E", "Bearer ${B}");
        let env = vec![named("A", "${B}"), named("C", "${secret:c}"), named("D", "sk-secret"), half];
        let argv = vec![Template::new("x")];
        let text = launch(McpLaunch::Command { argv, folder: None, env });
        assert!(text.contains(r#"env = { A = "B", C = "secret:c" }"#) && !text.contains("sk-"), "{text}");
        let headers = vec![named("Authorization", "Bearer sk-secret"), named("X-Region", "eu")];
        let url = Template::new("https://x.example/mcp");
        let text = launch(McpLaunch::Url { url, headers, older: false });
        assert!(text.contains(r#"headers = { X-Region = "eu" }"#) && !text.contains("sk-"), "{text}");
    }

    #[test]
    fn a_server_is_not_added_in_anothers_place() {
        let text = "[mcp.servers.files]\ncommand = 'own'\nsandbox = true\n[mcp.servers.files.tools.write]\nenabled = false\n";
        let McpChange::Put(entry) = files() else { panic!("it puts") };
        let error = McpChange::Add(entry.clone()).apply_to(text).unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is a server \"files\" already, with command, sandbox, tools.write"
        );
        let added = McpChange::Add(entry.clone()).apply_to("").unwrap().unwrap();
        assert_eq!(
            McpChange::Add(entry.clone()).apply_to(&added).unwrap(),
            None,
            "the same again is no other"
        );
        let inline = "[mcp.servers]\nfiles = { command = 'own' }\n";
        assert!(McpChange::Add(entry).apply_to(inline).unwrap_err().to_string().ends_with("with command"));
        assert!(files().apply_to(text).unwrap().is_some());
        assert_eq!(server_keys(text, "files").unwrap().as_deref(), Some("command, sandbox, tools.write"));
        assert_eq!(server_keys(text, "other").unwrap(), None);
    }

    #[test]
    fn which_tools_are_used_is_written_and_read_back() {
        let argv = vec![Template::new("x")];
        let mut setting =
            McpSetting::new(McpLaunch::Command { argv, folder: None, env: Vec::new() }, origin());
        setting.only = Some(vec!["a".to_owned(), "b".to_owned()]);
        setting
            .tools
            .insert("b".to_owned(), McpToolSetting { enabled: Some(false), ..McpToolSetting::default() });
        let entry = McpEntry { name: "x".to_owned(), setting: setting.clone() };
        let text = McpChange::Add(Box::new(entry)).apply_to("").unwrap().unwrap();
        let place = Place { workspace: "/w".into(), home: None, trusted: true };
        let read = Settings::load(&[SettingsSource::new(Scope::User, "u", text)], &place);
        assert!(read.problems.is_empty(), "{:?}", read.problems);
        assert_eq!((&read.mcp["x"].only, &read.mcp["x"].tools), (&setting.only, &setting.tools));
    }

    #[test]
    fn a_server_is_taken_out_and_its_neighbours_stay() {
        let text = "[mcp.servers.a]\ncommand = 'a'\n\n# the other\n[mcp.servers.b]\ncommand = 'b' # here\n";
        let after = McpChange::Remove("a".to_owned()).apply_to(text).unwrap().unwrap();
        assert!(after.contains("# the other\n[mcp.servers.b]\ncommand = 'b' # here\n"), "{after}");
        assert!(!after.contains("servers.a"), "{after}");
        assert_eq!(McpChange::Remove("x".to_owned()).apply_to(text).unwrap(), None);
    }

    #[test]
    fn a_server_in_place_of_another_keeps_the_comment_above_it() {
        let text = "# why\n[mcp.servers.files]\ncommand = 'old'\n[tools.bash]\nenabled = false\n";
        let after = files().apply_to(text).unwrap().unwrap();
        assert!(after.starts_with("# why\n[mcp.servers.files]\ncommand = \"npx\"\n"), "{after}");
        assert!(after.contains("[tools.bash]") && !after.contains("old"), "{after}");
    }

    #[test]
    fn what_is_no_table_is_left_alone() {
        for (text, says) in [("mcp = 1", "\"mcp\" is not a table"), ("[mcp", "line 1 is not valid TOML")] {
            let error = files().apply_to(text).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
