//! `tool.json`: a tool described by data, read into the declaration that all tools have.

use super::{
    CommandLine, Hosted, JsRuntime,
    declaration::{check_output_schema, read_spec},
    declared::LIKE_NONE,
    fields::Fields,
    lines::Repeated,
};
use crate::catalogue::Problem;
use haft_core::{NAME_MAX_CHARS, Spec, ToolName, without_bom};
use serde::Deserialize;
use serde_json::Value;

const TEXT: &str = "a string";

/// The text of a manifest, and where it is.
#[derive(Debug, Clone, Copy)]
pub struct ManifestText<'a> {
    /// What it says.
    pub text: &'a str,
    /// The name of the folder it is in.
    pub folder: &'a str,
    /// The file, as it is shown to people.
    pub path: &'a str,
    /// Whose problem it is.
    pub owner: &'a str,
}

impl ManifestText<'_> {
    pub(in crate::source) fn problem(&self, line: usize, text: String, fix: String) -> Problem {
        Problem::at_line(self.owner, self.path, line, text, fix)
    }

    /// A key that its object has already.
    pub(in crate::source) fn repeated(&self, key: &Repeated) -> Problem {
        self.problem(key.line, key.text(), Repeated::FIX.to_owned())
    }
}

/// How stdout is understood.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutputForm {
    /// As text.
    #[default]
    Text,
    /// As one JSON value.
    Json,
    /// As lines of JSON, each an event; the last is `final`.
    Events,
}

/// A manifest that can be used.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// The declaration.
    pub spec: Spec,
    /// What runs.
    pub command: CommandLine,
    /// How its output is understood.
    pub output: OutputForm,
    /// What is odd about it, but no reason to set the tool aside.
    pub warnings: Vec<Problem>,
    /// The line of the name.
    pub name_line: usize,
    /// The line of the command.
    pub command_line: usize,
}

/// Reads a manifest.
///
/// # Errors
/// All that is wrong with it, each with its line and what would fix it.
pub fn parse(from: &ManifestText<'_>) -> Result<Manifest, Vec<Problem>> {
    let root: Value = serde_json::from_str(without_bom(from.text)).map_err(|error| {
        let fix =
            "mend the JSON at this line; names and texts stand in double quotes, and no comma ends a list";
        vec![from.problem(error.line().max(1), format!("not valid JSON: {error}"), fix.to_owned())]
    })?;
    if !root.is_object() {
        let fix = "write {\"name\": …, \"description\": …, \"parameters\": …, \"command\": …}";
        return Err(vec![from.problem(1, "the manifest must be one JSON object".to_owned(), fix.to_owned())]);
    }
    let mut fields = Fields::new(from, root);
    fields.refuse_repeated();
    let name = read_name(&mut fields, from.folder);
    read(fields, &name)
}

/// Reads what an extension's manifest says of a tool that its main file registers: by the name in place of the folder's,
/// which may be whatever tools are called, and with whatever other hosts read of it.
pub(super) fn parse_registered(from: &ManifestText<'_>, data: Value) -> Result<Manifest, Vec<Problem>> {
    let mut fields = Fields::new(from, data);
    if let Err(error) = ToolName::parse(from.folder) {
        fields.fault("/name", error.to_string(), "choose another name");
    }
    fields.warnings.retain(|problem| !problem.fix.starts_with(LIKE_NONE));
    read(fields, from.folder)
}

fn read(mut fields: Fields<'_>, name: &str) -> Result<Manifest, Vec<Problem>> {
    let mut spec = read_spec(&mut fields, name);
    let command = read_command(&mut fields, &spec);
    let is_module = matches!(command, Some(CommandLine::Module(_)));
    // Code of many strangers: what it may change holds for it, whatever it is.
    spec.confined |= is_module;
    let output = read_output(&mut fields, is_module);
    let spec = check_output_schema(&mut fields, spec, output);
    let command_at = if is_module { "/runtime" } else { "/command" };
    let (name_line, command_line) = (fields.line("/name"), fields.line(command_at));
    match command {
        Some(command) if fields.faults.is_empty() => {
            Ok(Manifest { spec, command, output, warnings: fields.warnings, name_line, command_line })
        }
        _ => Err(fields.faults.into_iter().chain(fields.warnings).collect()),
    }
}

/// The name, checked; where it is missing, the folder's stands in so that the rest can be read.
fn read_name(fields: &mut Fields<'_>, folder: &str) -> String {
    let given = fields.pointer(&["name"]).is_some();
    let Some(name) = fields.take::<String>(&["name"], TEXT) else {
        if !given {
            fields.fault("/name", "\"name\" is missing", format!("add \"name\": \"{folder}\""));
        }
        return folder.to_owned();
    };
    let rename = format!("rename tool and folder, for example to \"{}\"", kebab(&name));
    if let Err(error) = ToolName::parse(&name) {
        fields.fault("/name", error.to_string(), rename);
    } else if kebab(&name) != name {
        let text = format!(
            "Invalid tool name \"{name}\" — a command folder's name is kebab-case: small letters, digits, \
             single hyphens"
        );
        fields.fault("/name", text, rename);
    } else if name != folder {
        let text = format!("the name \"{name}\" differs from the folder's, \"{folder}\"");
        fields.fault(
            "/name",
            text,
            format!("write \"name\": \"{folder}\", or rename the folder to \"{name}\""),
        );
    }
    name
}

/// The nearest name that the rule allows.
fn kebab(name: &str) -> String {
    let letters = |c: char| {
        if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }
    };
    let spaced: String = name.chars().map(letters).collect();
    let parts: Vec<&str> = spaced.split('-').filter(|part| !part.is_empty()).collect();
    let joined: String = parts.join("-").chars().take(NAME_MAX_CHARS).collect();
    let trimmed = joined.trim_end_matches('-');
    if trimmed.is_empty() { "my-tool".to_owned() } else { trimmed.to_owned() }
}

/// A module speaks in events, by what stands around it.
fn read_output(fields: &mut Fields<'_>, is_module: bool) -> OutputForm {
    let given: Option<OutputForm> = fields.take(&["output"], "\"text\", \"json\" or \"events\"");
    if !is_module {
        return given.unwrap_or_default();
    }
    if given.is_some_and(|given| given != OutputForm::Events) {
        let text = "\"output\" is ignored, since a module returns its result";
        fields.warn("/output", text, "remove it");
    }
    OutputForm::Events
}

fn read_command(fields: &mut Fields<'_>, spec: &Spec) -> Option<CommandLine> {
    let example = "a string for the shell, or a list like [\"./run.sh\"]";
    if fields.pointer(&["runtime"]).is_some() {
        return read_module(fields, spec);
    }
    if fields.pointer(&["main"]).is_some() {
        fields.warn(
            "/main",
            "\"main\" is only read beside \"runtime\"",
            "add \"runtime\": \"node\", or remove it",
        );
    }
    if fields.pointer(&["command"]).is_none() {
        fields.fault("/command", "\"command\" is missing", format!("add it: {example}"));
        return None;
    }
    let command = fields.take::<CommandLine>(&["command"], example)?;
    let is_empty = match &command {
        CommandLine::Shell(line) => line.trim().is_empty(),
        CommandLine::Argv(words) => words.first().is_none_or(|program| program.trim().is_empty()),
        CommandLine::Module(_) => false,
    };
    if is_empty {
        fields.fault("/command", "\"command\" names nothing to run", format!("make it {example}"));
        return None;
    }
    Some(command)
}

fn read_module(fields: &mut Fields<'_>, spec: &Spec) -> Option<CommandLine> {
    if let Some(pointer) = fields.pointer(&["command"]) {
        fields.fault(&pointer, "\"command\" and \"runtime\" both say what runs", "keep one of them");
    }
    let main: Option<String> = fields.take(&["main"], "the name of a file, as \"index.mjs\"");
    let runtime: JsRuntime = fields.take(&["runtime"], "\"node\", \"deno\" or \"bun\"")?;
    Some(CommandLine::Module(Hosted::new(runtime, main, spec)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{Exposure, Permission, Risk};
    use std::time::Duration;

    fn read(text: &str) -> Result<Manifest, Vec<Problem>> {
        parse(&ManifestText { text, folder: "word-stats", path: "t/word-stats/tool.json", owner: "folder:t" })
    }

    fn with(fields: &str) -> String {
        format!("{{\n\"name\": \"word-stats\",\n\"description\": \"d\",\n\"command\": \"cat\",\n{fields}\n}}")
    }

    /// A manifest (or fields for one that is good otherwise), the line of its fault, what is said, what would fix it.
    const FAULTS: [(&str, usize, &str, &str); 30] = [
        ("{\n\"name\": \"word-stats\",\n}", 3, "not valid JSON", "mend the JSON"),
        ("[]", 1, "one JSON object", "\"command\""),
        (r#"{"description":"d","command":"x"}"#, 1, "\"name\" is missing", "\"word-stats\""),
        ("{\n\"name\":\"other\"}", 2, "differs from the folder's, \"word-stats\"", "rename the folder"),
        (
            "{\"description\":\"d\",\n\"name\":\"x.y\"}",
            2,
            "Invalid tool name \"x.y\" — use only letters, numbers, underscores, hyphens",
            "\"x-y\"",
        ),
        (r#"{"name":"Word_Stats"}"#, 1, "kebab-case", "\"word-stats\""),
        (r#"{"name":"word-stats","command":"x"}"#, 1, "has no description", "what it does"),
        ("{\"name\":\"word-stats\",\n\"description\":\" \"}", 2, "has no description", "what it does"),
        (r#"{"name":"word-stats","description":"d"}"#, 1, "\"command\" is missing", "./run.sh"),
        ("{\"name\":\"word-stats\",\n\"command\":[]}", 2, "names nothing to run", "./run.sh"),
        ("{\"name\":\"word-stats\",\n\"command\":{}}", 2, "\"command\" can't be used", "./run.sh"),
        (
            "\"parameters\": {\n\"properties\": {\"a\":\n{\n\"type\": 3}}}",
            8,
            "Invalid inputSchema for tool \"word-stats\": ",
            "JSON Schema",
        ),
        ("\"inputSchema\": {\n\"type\": \"string\"}", 6, "its root must have", "JSON Schema"),
        (r#""parameters": []"#, 5, "\"parameters\" can't be used", "JSON Schema"),
        (r#""outputSchema": {"type": 3}, "output": "json""#, 5, "Invalid outputSchema", "JSON Schema"),
        ("\"readOnly\": true,\n\"readOnly\": false", 6, "\"readOnly\" stands twice", "keep one of them"),
        (r#""readOnly": "yes""#, 5, "\"readOnly\" can't be used", "true or false"),
        ("\"policy\": {\n\"readOnly\": true}, \"readOnly\": false", 6, "say different things", "keep one"),
        (r#""policy": 1"#, 5, "\"policy\" must be an object", "readOnly"),
        (r#""timeoutMs": 0"#, 5, "\"timeoutMs\" can't be used", "above 0"),
        (r#""risk": "high""#, 5, "unknown variant `high`", "\"destructive\""),
        (r#""output": "xml""#, 5, "unknown variant `xml`", "\"events\""),
        ("\"effects\": {\n\"reads\": [\"{pth}\"]}", 6, "names {pth}", "property of \"parameters\""),
        (r#""effects": {"writes": ["x"]}, "readOnly": true"#, 5, "says that it writes", "drop one"),
        ("\"readOnly\": true,\n\"mutates\": true", 6, "so is that it mutates", "drop \"readOnly\""),
        (
            "\"readOnly\": true, \"policy\": {\n\"mutating\": true}",
            6,
            "so is that it mutates",
            "drop \"readOnly\"",
        ),
        (r#""sandbox": "off""#, 5, "\"sandbox\" can't be used", "\"network\""),
        ("\"sandbox\": {\n\"network\": [\"https://a.b/\"]}", 5, "is no host", "api.example.com"),
        (r#""sandbox": {"writable": ["~"]}"#, 5, "too much", "~/.cache/x"),
        (r#""namespace": "a b""#, 5, "Invalid tool name \"a b\"", "dotted parts"),
    ];

    #[test]
    fn every_fault_has_its_line_and_what_would_fix_it() {
        for (text, line, says, fix) in FAULTS {
            let text = if text.starts_with('"') { with(text) } else { text.to_owned() };
            let problems = read(&text).unwrap_err();
            let found = problems.iter().any(|problem| {
                problem.line == Some(line) && problem.text.contains(says) && problem.fix.contains(fix)
            });
            assert!(found, "{text} gave {problems:#?}");
        }
        let long = format!("{{\"name\": \"{}\"}}", "a".repeat(65));
        assert!(read(&long).unwrap_err()[0].text.contains("at most 64 characters"));
    }

    #[test]
    fn an_unknown_field_is_named_and_no_reason_to_set_the_tool_aside() {
        let manifest =
            read(&with("\"reaOnly\": true,\n\"policy\": {\"longrunning\": true}, \"secrets\": [\"K\"]"))
                .unwrap();
        let shown: Vec<_> =
            manifest.warnings.iter().map(|problem| (problem.line, problem.fix.as_str())).collect();
        assert_eq!(shown[0], (Some(5), "write \"readOnly\", or remove it"));
        assert_eq!(shown[1], (Some(6), "write \"longRunning\", or remove it"));
        assert!(manifest.warnings[2].fix.contains("[tools.NAME]"));
    }

    #[test]
    fn remarks_may_have_one_key_over_and_over() {
        let text =
            "\"//\": \"a\", \"//\": \"b\",\n\"$comment\": 1, \"$comment\": 2, \"x\": {\"y\": 1, \"y\": 2}";
        let manifest = read(&with(text)).unwrap();
        assert!(manifest.warnings.iter().all(|problem| problem.text.contains("is ignored")));
    }

    #[test]
    fn a_module_under_a_runtime_speaks_in_events_and_is_kept_in() {
        let text = "{\"name\": \"word-stats\", \"description\": \"d\",\n\"runtime\": \"node\", \"output\": \"json\"}";
        let manifest = read(text).unwrap();
        assert!(matches!(manifest.command, CommandLine::Module(_)) && manifest.spec.confined);
        assert_eq!((manifest.output, manifest.command_line), (OutputForm::Events, 2));
        assert!(manifest.warnings[0].text.contains("\"output\" is ignored"));
        let both = read(&with("\"runtime\": \"bun\"")).unwrap_err();
        assert!(both[0].text.contains("both say what runs"), "{both:?}");
        let perl = text.replace("node", "perl");
        assert!(read(&perl).unwrap_err()[0].fix.contains("\"deno\""));
        assert!(!read(&with("\"main\": \"a.mjs\"")).unwrap().spec.confined);
    }

    #[test]
    fn a_manifest_that_says_little_is_careful() {
        let manifest = read(&with("\"enabled\": true")).unwrap();
        let spec = manifest.spec;
        assert_eq!((spec.permission(), spec.risk()), (Permission::Confirm, Risk::Standard));
        assert_eq!(spec.timeout(), Duration::from_secs(25));
        assert_eq!(spec.input_schema, serde_json::json!({"type": "object", "properties": {}}));
        assert_eq!((manifest.output, manifest.name_line, manifest.command_line), (OutputForm::Text, 2, 4));
        assert_eq!(manifest.command, CommandLine::Shell("cat".to_owned()));
        assert_eq!(spec.profile, Some(haft_core::Profile::default()));
    }

    #[test]
    fn every_field_arrives_flat_or_nested() {
        let text = with(
            "\"namespace\": \"acme.text\", \"aliases\": [\"ws\"], \"usageHint\": \"u\", \"category\": \"text\",
             \"parameters\": {\"type\": \"object\", \"properties\": {\"path\": {\"type\": \"string\"}}},
             \"inputAliases\": {\"path\": [\"file\"]}, \"outputSchema\": {\"type\": \"object\"}, \"output\": \"json\",
             \"permission\": \"deny\", \"riskTier\": \"destructive\", \"mutating\": true, \"concurrencySafe\": true,
             \"capabilities\": [\"fs.read\"], \"effects\": {\"reads\": [\"{path}\"]}, \"estimatedDurationMs\": 5,
             \"policy\": {\"longRunning\": true, \"compactable\": true, \"persistenceQuota\": 9, \"untrustedSource\": true},
             \"maxOutputBytes\": 100, \"exposure\": \"deferred\", \"alwaysLoad\": true, \"codeMode\": false,
             \"idempotent\": true, \"display\": {\"icon\": \"W\", \"activityVerb\": \"Counting\"},
             \"sandbox\": {\"network\": [\"a.example\"], \"writable\": [\"~/.cache/x\"], \"workspace\": \"read\"},
             \"examples\": [{\"input\": {\"path\": \"a\"}, \"expect\": {\"n\": 1}}]",
        );
        let manifest = read(&text).unwrap();
        assert!(manifest.warnings.is_empty(), "{:#?}", manifest.warnings);
        let spec = manifest.spec;
        assert_eq!(spec.model_name().as_ref(), "acme_text_word-stats");
        assert_eq!(
            (spec.permission(), spec.risk(), spec.exposure),
            (Permission::Deny, Risk::Destructive, Exposure::Deferred)
        );
        assert!(spec.mutates() && spec.concurrency_safe && spec.compactable() && spec.untrusted_source);
        assert!(spec.always_load && !spec.code_mode && spec.idempotent && spec.output_schema.is_some());
        assert_eq!(spec.timeout(), haft_core::LONG_TIMEOUT);
        assert_eq!((spec.persistence_quota, spec.max_output_bytes), (Some(9), 100));
        assert_eq!(spec.examples.len(), 1);
        assert_eq!(spec.profile.unwrap().asks().unwrap(), "to reach a.example and to change ~/.cache/x");
        assert_eq!(spec.effects.unwrap().reads, ["{path}"]);
    }
}
