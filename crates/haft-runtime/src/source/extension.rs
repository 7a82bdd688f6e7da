//! `extension.json`: what an extension says of itself before any of its code runs.
//!
//! Only data: whether its code may run, what it registers and what it is lent is decided elsewhere. What other hosts
//! write in it and haft doesn't know is no fault.

use super::command::{JsRuntime, KeyLines, ManifestText, Repeated};
use crate::{
    catalogue::Problem,
    hooks::Hook,
    settings::{WrittenHooks, unread_hooks, written_hooks},
};
use haft_core::without_bom;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Hooks that it declares as settings do.
const HOOKS: &str = "hooks";
/// Its folders of skills.
const SKILLS: &str = "skills";
/// Servers that it lists; whoever starts servers reads them.
const SERVERS: &str = "mcpServers";
/// What is read of it; what else is in it is for other hosts, or a remark.
const READ: &str = "activationEvents commandTools contributes description hooks main mcpServers name permissions \
                    runtime skills toolMutateCapabilities version";
/// What wakes an extension at once.
const AT_ONCE: [&str; 3] = ["onStartupFinished", "onStartup", "*"];
const ON_TOOL: &str = "onTool:";
const ON_COMMAND: &str = "onCommand:";
/// How a main file is called where nothing is said.
const MAIN: &str = "main";

/// What an extension says of itself.
#[derive(Debug, Clone, Default)]
pub struct ExtensionManifest {
    /// Its folder's name.
    pub id: String,
    /// Free text for people; the id where there is none.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it does.
    pub description: String,
    /// Its main file, relative to its folder; none where it has no code.
    pub main: Option<String>,
    /// What its main file runs under; none for haft's own engine.
    pub runtime: Option<JsRuntime>,
    /// What it asks to be granted.
    pub permissions: BTreeSet<String>,
    /// Whether its code isn't needed before one of its tools is called.
    pub is_lazy: bool,
    /// Tools that wake it.
    pub wakes: BTreeSet<String>,
    /// Commands that wake it.
    pub commands: BTreeSet<String>,
    /// What it says of its tools, by name; it holds over what the code says.
    pub metadata: BTreeMap<String, Map<String, Value>>,
    /// Capabilities whose tools it wants to change.
    pub mutates: BTreeSet<String>,
    /// Folders of command tools in it.
    pub command_tools: Vec<String>,
    /// Hooks that it declares as settings do.
    pub hooks: Vec<Hook>,
    /// Files in it that declare further ones.
    pub hook_files: Vec<String>,
    /// Skills in it, or folders of them.
    pub skills: Vec<String>,
    /// What is odd about it, but no reason to set it aside.
    pub warnings: Vec<Problem>,
}

impl ExtensionManifest {
    /// Whether more of it counts than its source: its hooks run programs in it, its skills are read by models.
    pub fn needs_its_files(&self) -> bool {
        !self.hooks.is_empty() || !self.hook_files.is_empty() || !self.skills.is_empty()
    }

    /// What the code says of one of its tools, with what the manifest says over it.
    pub fn over(&self, said: &Value) -> Value {
        let mut data = said.clone();
        let name = said.get("name").and_then(Value::as_str).unwrap_or_default();
        if let Some(fields) = self.metadata.get(name)
            && let Some(own) = data.as_object_mut()
        {
            for (key, value) in fields {
                // Two names of one field would contradict each other.
                for other in other_names(key) {
                    own.remove(*other);
                }
                own.insert(key.clone(), value.clone());
            }
        }
        data
    }

    /// What is known of its tools before its code runs, for an extension that waits to be woken.
    pub fn asleep(&self) -> Vec<Value> {
        let names: BTreeSet<&String> = self.wakes.iter().chain(self.metadata.keys()).collect();
        let description =
            format!("A tool of the extension {}, which says nothing of it before its first call.", self.name);
        names.into_iter().map(|name| json!({"name": name, "description": description})).collect()
    }
}

/// What else a field is called.
fn other_names(key: &str) -> &'static [&'static str] {
    match key {
        "risk" => &["riskTier"],
        "riskTier" => &["risk"],
        "mutates" => &["mutating"],
        "mutating" => &["mutates"],
        "parameters" => &["inputSchema"],
        "inputSchema" => &["parameters"],
        "readOnly" => &["mutates", "mutating"],
        _ => &[],
    }
}

/// Reads a manifest.
///
/// # Errors
/// All that is wrong with it, each with its line and what would fix it.
pub fn parse_extension(from: &ManifestText<'_>) -> Result<ExtensionManifest, Vec<Problem>> {
    let root: Value = serde_json::from_str(without_bom(from.text)).map_err(|error| {
        let fix = "mend the JSON at this line".to_owned();
        vec![from.problem(error.line().max(1), format!("not valid JSON: {error}"), fix)]
    })?;
    let Value::Object(root) = root else {
        let fix = "write {\"name\": …, \"main\": …, \"activationEvents\": […]}".to_owned();
        return Err(vec![from.problem(1, "the manifest must be one JSON object".to_owned(), fix)]);
    };
    let mut reader = Reader { from, root, lines: KeyLines::scan(from.text), faults: Vec::new() };
    let manifest = reader.manifest();
    if reader.faults.is_empty() { Ok(manifest) } else { Err(reader.faults) }
}

/// Reads the hooks of a file that a manifest names: by event, or all of them under `hooks`. For a file that
/// can't be read stands one that never works, since it may have declared guards.
pub fn hooks_of_file(from: &ManifestText<'_>) -> (Vec<Hook>, Vec<Problem>) {
    let unread = |line: usize, text: String, fix: &str| {
        let unread = unread_hooks(format!("{}:{line}", from.path), text.clone());
        (vec![unread], vec![from.problem(line, text, fix.to_owned())])
    };
    let root: Value = match serde_json::from_str(without_bom(from.text)) {
        Ok(root) => root,
        Err(error) => {
            let text = format!("not valid JSON: {error}");
            return unread(error.line().max(1), text, "mend the JSON at this line");
        }
    };
    let lines = KeyLines::scan(from.text);
    // What stands under the first of the two may be a guard.
    if let Some(key) = lines.repeated().first() {
        return unread(key.line, key.text(), Repeated::FIX);
    }
    let (table, at) = root.get(HOOKS).map_or((&root, String::new()), |table| (table, format!("/{HOOKS}")));
    let written = WrittenHooks { table, path: from.path, owner: from.owner };
    written_hooks(&written, &|below| lines.line(&format!("{at}{below}")))
}

struct Reader<'a> {
    from: &'a ManifestText<'a>,
    root: Map<String, Value>,
    lines: KeyLines,
    faults: Vec<Problem>,
}

impl Reader<'_> {
    fn manifest(&mut self) -> ExtensionManifest {
        let id = self.from.folder.to_owned();
        let events = self.texts("activationEvents");
        let named = |before: &str| -> BTreeSet<String> {
            events.iter().filter_map(|event| event.strip_prefix(before)).map(str::to_owned).collect()
        };
        let (wakes, commands) = (named(ON_TOOL), named(ON_COMMAND));
        let runtime = self.runtime(&wakes);
        let is_woken = !wakes.is_empty() && !events.iter().any(|event| AT_ONCE.contains(&event.as_str()));
        let command_tools = self.texts("commandTools");
        let has_more = !command_tools.is_empty()
            || [SERVERS, HOOKS, SKILLS].iter().any(|key| self.root.contains_key(*key));
        let main = self.text("main").or_else(|| (!has_more).then(|| MAIN.to_owned()));
        let (hooks, hook_files, mut warnings) = self.hooks();
        let repeated =
            self.lines.repeated().iter().filter(|key| READ.split(' ').any(|read| read == key.field));
        warnings.extend(repeated.map(|key| self.from.repeated(key)));
        ExtensionManifest {
            // Under a runtime of the user's nothing of it runs before a call of one of its tools was allowed.
            is_lazy: is_woken || runtime.is_some(),
            runtime,
            name: self.text("name").filter(|name| !name.trim().is_empty()).unwrap_or_else(|| id.clone()),
            id,
            version: self.text("version").unwrap_or_default(),
            description: self.text("description").unwrap_or_default(),
            main,
            permissions: self.texts("permissions").into_iter().collect(),
            wakes,
            commands,
            metadata: self.metadata(),
            mutates: self.texts("toolMutateCapabilities").into_iter().collect(),
            command_tools,
            hooks,
            hook_files,
            skills: self.skills(),
            warnings,
        }
    }

    /// Its hooks, the files that declare further ones, and what is wrong with them: no reason to set its tools aside.
    fn hooks(&self) -> (Vec<Hook>, Vec<String>, Vec<Problem>) {
        // What stands under the first of the two may be a guard.
        if let Some(key) = self.lines.repeated().iter().find(|key| key.field == HOOKS) {
            let place = format!("{}:{}", self.from.path, key.line);
            return (vec![unread_hooks(place, key.text())], Vec::new(), Vec::new());
        }
        let at = format!("/{HOOKS}");
        match self.root.get(HOOKS) {
            None | Some(Value::Null) => (Vec::new(), Vec::new(), Vec::new()),
            Some(Value::String(file)) => (Vec::new(), vec![file.clone()], Vec::new()),
            Some(Value::Array(files)) if files.iter().all(Value::is_string) => {
                let files = files.iter().filter_map(Value::as_str).map(str::to_owned).collect();
                (Vec::new(), files, Vec::new())
            }
            Some(table) => {
                let from = WrittenHooks { table, path: self.from.path, owner: self.from.owner };
                let (hooks, problems) =
                    written_hooks(&from, &|below| self.lines.line(&format!("{at}{below}")));
                (hooks, Vec::new(), problems)
            }
        }
    }

    /// One folder may stand without a list around it.
    fn skills(&mut self) -> Vec<String> {
        if let Some(Value::String(one)) = self.root.get(SKILLS) {
            return vec![one.clone()];
        }
        self.texts(SKILLS)
    }

    /// What its main file runs under.
    fn runtime(&mut self, wakes: &BTreeSet<String>) -> Option<JsRuntime> {
        let given = self.root.get("runtime").filter(|given| !given.is_null())?;
        let Ok(runtime) = serde_json::from_value(given.clone()) else {
            let text = "\"runtime\" names no runtime for JavaScript";
            self.fault("/runtime", text, "write \"node\", \"deno\" or \"bun\", or leave it out");
            return None;
        };
        let is_silent = wakes.is_empty() && self.at("/contributes/toolMetadata").is_none();
        if is_silent {
            let text = "an extension with a \"runtime\" has no tools but those that its manifest names";
            self.fault("/runtime", text, "add \"contributes\": {\"toolMetadata\": [{\"id\": \"…\", …}]}");
        }
        Some(runtime)
    }

    /// `contributes.toolMetadata`: a list whose entries have an `id`, or a table by id.
    fn metadata(&mut self) -> BTreeMap<String, Map<String, Value>> {
        let pointer = "/contributes/toolMetadata";
        let entries: Vec<(String, Value)> = match self.at(pointer) {
            None => Vec::new(),
            Some(Value::Array(list)) => list
                .into_iter()
                .map(|entry| {
                    let word = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
                    (word("id").or_else(|| word("name")).unwrap_or_default(), entry.clone())
                })
                .collect(),
            Some(Value::Object(table)) => table.into_iter().collect(),
            Some(_) => {
                self.fault(
                    pointer,
                    "\"toolMetadata\" can't be used",
                    "make it a list: [{\"id\": \"tool\", …}]",
                );
                Vec::new()
            }
        };
        let mut all = BTreeMap::new();
        for (index, (id, entry)) in entries.into_iter().enumerate() {
            match entry {
                Value::Object(mut fields) if !id.is_empty() => {
                    fields.remove("id");
                    fields.insert("name".to_owned(), Value::from(id.as_str()));
                    all.insert(id, fields);
                }
                _ => {
                    let at = format!("{pointer}/{index}");
                    self.fault(
                        &at,
                        "an entry of \"toolMetadata\" has no \"id\"",
                        "add \"id\": the tool's name",
                    );
                }
            }
        }
        all
    }

    fn text(&mut self, key: &str) -> Option<String> {
        match self.root.get(key) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(_) => {
                self.fault(&format!("/{key}"), &format!("\"{key}\" must be a string"), "write it in quotes");
                None
            }
        }
    }

    /// A list of texts; of objects their `id` counts, as other hosts write permissions.
    fn texts(&mut self, key: &str) -> Vec<String> {
        let pointer = format!("/{key}");
        let list = match self.root.get(key) {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(list)) => list.clone(),
            Some(Value::Object(table)) => {
                return table
                    .iter()
                    .filter(|(_, on)| **on != Value::Bool(false))
                    .map(|(key, _)| key.clone())
                    .collect();
            }
            Some(_) => {
                self.fault(&pointer, &format!("\"{key}\" must be a list of strings"), "write [\"…\"]");
                return Vec::new();
            }
        };
        let mut texts = Vec::with_capacity(list.len());
        for item in list {
            match item.as_str().or_else(|| item.get("id")?.as_str()) {
                Some(text) => texts.push(text.to_owned()),
                None => {
                    self.fault(&pointer, &format!("\"{key}\" must be a list of strings"), "write [\"…\"]");
                }
            }
        }
        texts
    }

    fn at(&self, pointer: &str) -> Option<Value> {
        let mut keys = pointer.trim_start_matches('/').split('/');
        let first = self.root.get(keys.next()?)?;
        keys.try_fold(first, |value, key| value.get(key)).filter(|value| !value.is_null()).cloned()
    }

    fn fault(&mut self, pointer: &str, text: &str, fix: &str) {
        let line = self.lines.line(pointer);
        self.faults.push(self.from.problem(line, text.to_owned(), fix.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::Handler;

    fn read(text: &str) -> Result<ExtensionManifest, Vec<Problem>> {
        let path = ".haft/extensions/pack/extension.json";
        parse_extension(&ManifestText { text, folder: "pack", path, owner: "extension:pack" })
    }

    #[test]
    fn a_pack_of_another_host_is_read() {
        let manifest = read(
            r#"{"name": "My Pack", "version": "1.2", "main": "dist/main.js", "icon": "i.png",
                "engines": {"other": "^1"}, "activationEvents": ["onTool:one", "onCommand:x"],
                "permissions": ["storage", {"id": "http"}], "toolMutateCapabilities": ["fs.read"],
                "contributes": {"toolMetadata": [{"id": "one", "description": "d", "readOnly": true}]}}"#,
        )
        .unwrap();
        assert_eq!((manifest.id.as_str(), manifest.name.as_str()), ("pack", "My Pack"));
        assert_eq!(manifest.main.as_deref(), Some("dist/main.js"));
        assert!(manifest.is_lazy && manifest.wakes.contains("one") && manifest.mutates.contains("fs.read"));
        assert!(manifest.permissions.contains("storage") && manifest.permissions.contains("http"));
        assert_eq!(manifest.metadata["one"]["description"], "d");
        assert_eq!(manifest.metadata["one"]["name"], "one");
    }

    #[test]
    fn who_waits_for_the_start_is_not_lazy_and_little_is_enough() {
        let both = read(r#"{"activationEvents": ["onTool:one", "onStartupFinished"]}"#).unwrap();
        assert!(!both.is_lazy);
        let little = read("{}").unwrap();
        assert_eq!(
            (little.name.as_str(), little.main.as_deref(), little.is_lazy),
            ("pack", Some("main"), false)
        );
        assert_eq!(read(r#"{"commandTools": ["tools"]}"#).unwrap().main, None);
        let marked = read("\u{feff}{\"name\": \"Marked\",\n\"hooks\": 3}").unwrap();
        assert_eq!((marked.name.as_str(), marked.warnings[0].line), ("Marked", Some(2)));
    }

    #[test]
    fn one_under_a_runtime_is_known_by_its_manifest_alone() {
        let manifest = read(
            r#"{"runtime": "bun", "activationEvents": ["onStartupFinished"],
                "contributes": {"toolMetadata": [{"id": "one", "description": "d"}]}}"#,
        )
        .unwrap();
        assert_eq!((manifest.runtime, manifest.is_lazy), (Some(JsRuntime::Bun), true));
    }

    #[test]
    fn what_it_says_of_a_tool_holds_over_what_the_code_says() {
        let manifest = read(
            r#"{"name": "Pack", "activationEvents": ["onTool:two"],
                "contributes": {"toolMetadata": {"one": {"description": "m", "riskTier": "safe", "readOnly": true}}}}"#,
        )
        .unwrap();
        let said =
            json!({"name": "one", "description": "c", "risk": "destructive", "mutating": true, "icon": "i"});
        let expected =
            json!({"name": "one", "description": "m", "riskTier": "safe", "readOnly": true, "icon": "i"});
        assert_eq!(manifest.over(&said), expected);
        let other = json!({"name": "other", "risk": "safe"});
        assert_eq!(manifest.over(&other), other);
        let names: Vec<Value> = manifest.asleep().iter().map(|tool| tool["name"].clone()).collect();
        assert_eq!(names, ["one", "two"]);
        assert!(manifest.asleep()[0]["description"].as_str().unwrap().contains("the extension Pack"));
    }

    #[test]
    fn hooks_skills_and_commands_are_known_from_the_manifest_alone() {
        let manifest = read(
            "{\"activationEvents\": [\"onTool:t\", \"onCommand:greet\"], \"skills\": [\"skills\"],\n\"hooks\": {\n\"PreToolUse\": [\n\
             {\"matcher\": \"bash\", \"command\": \"./guard.sh\"},\n{\"matcher\": \"read\"}]}}",
        )
        .unwrap();
        assert_eq!(
            (manifest.main.as_deref(), manifest.skills.as_slice()),
            (None, &["skills".to_owned()][..])
        );
        assert!(manifest.commands.contains("greet") && manifest.needs_its_files());
        let places: Vec<_> = manifest.hooks.iter().filter_map(|hook| hook.source.as_deref()).collect();
        let path = ".haft/extensions/pack/extension.json";
        assert_eq!(places, [format!("{path}:4"), format!("{path}:5")]);
        assert_eq!(manifest.warnings[0].line, Some(5));
        assert_eq!(read("{\"hooks\": \"hooks.json\"}").unwrap().hook_files, ["hooks.json"]);
        assert!(read("{\"hooks\": 3}").unwrap().warnings[0].text.contains("by event"));
        assert!(!read("{}").unwrap().needs_its_files());
    }

    #[test]
    fn a_file_of_hooks_has_them_bare_or_under_their_name() {
        for text in [
            "{\"Stop\": [\n{\"command\": \"./done.sh\"}]}",
            "\u{feff}{\"Stop\": [\n{\"command\": \"./done.sh\"}]}",
            "{\"hooks\": {\"Stop\": [\n{\"command\": \"./done.sh\"}]}}",
        ] {
            let from =
                ManifestText { text, folder: "pack", path: "pack/hooks.json", owner: "extension:pack" };
            let (hooks, problems) = hooks_of_file(&from);
            assert!(problems.is_empty(), "{problems:?}");
            assert_eq!(hooks[0].source.as_deref(), Some("pack/hooks.json:2"));
        }
        for text in ["{\n,", "{\"PreToolUse\": [{\"command\": \"./guard.sh\"}],\n\"PreToolUse\": []}"] {
            let from =
                ManifestText { text, folder: "pack", path: "pack/hooks.json", owner: "extension:pack" };
            let (hooks, problems) = hooks_of_file(&from);
            assert_eq!(problems[0].line, Some(2), "{text}");
            assert!(matches!(&hooks[..], [Hook { handler: Handler::Broken(_), .. }]), "{hooks:?}");
        }
    }

    #[test]
    fn a_key_that_stands_twice_takes_no_guard_away() {
        let guard = "\"hooks\": {\"PreToolUse\": [{\"command\": \"./guard.sh\"}]}";
        let text = format!("{{\"//\": 1, \"//\": 2, \"version\": \"1\",\n\"version\": \"2\", {guard}}}");
        let kept = read(&text).unwrap();
        assert_eq!((kept.version.as_str(), kept.warnings.len(), kept.hooks.len()), ("2", 1, 1));
        assert!(kept.warnings[0].text.contains("\"version\" stands twice"), "{:?}", kept.warnings);
        assert_eq!(kept.warnings[0].line, Some(2));
        assert!(!matches!(kept.hooks[0].handler, Handler::Broken(_)));
        let within = "{\"hooks\": {\"PreToolUse\": [{\"command\": \"./guard.sh\"}],\n\"PreToolUse\": []}}";
        for text in [format!("{{{guard},\n\"hooks\": {{}}}}"), within.to_owned()] {
            let manifest = read(&text).unwrap();
            assert!(matches!(&manifest.hooks[..], [Hook { handler: Handler::Broken(_), .. }]), "{text}");
            assert!(manifest.warnings[0].text.contains("stands twice"), "{text}");
        }
    }

    #[test]
    fn faults_have_their_line() {
        for (text, line, says) in [
            ("{\n,}", 2, "not valid JSON"),
            ("[]", 1, "one JSON object"),
            ("{\n\"main\": 3}", 2, "\"main\" must be a string"),
            ("{\"name\": \"a\",\n\"permissions\": [1]}", 2, "list of strings"),
            ("{\n\"runtime\": \"python\"}", 2, "names no runtime"),
            ("{\n\"runtime\": \"node\"}", 2, "no tools but those that its manifest names"),
            ("{\"contributes\": {\n\"toolMetadata\": [\n{\"description\": \"d\"}]}}", 3, "has no \"id\""),
        ] {
            let problem = read(text).unwrap_err().remove(0);
            assert_eq!(problem.line, Some(line), "{text}");
            assert!(problem.text.contains(says), "{text}: {problem}");
        }
        let servers = read("{\"mcpServers\": {}}").unwrap();
        assert!(servers.warnings.is_empty() && servers.main.is_none());
    }
}
