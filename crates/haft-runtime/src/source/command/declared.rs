//! The declaration of a tool that a program gives as data: the fields of a manifest, without a command.

use super::{
    ManifestText, OutputForm,
    declaration::{check_output_schema, read_spec},
    fields::Fields,
};
use crate::catalogue::Problem;
use haft_core::{Spec, ToolName};
use serde_json::Value;

/// What is said of a field that is like none that is known.
pub(super) const LIKE_NONE: &str = "remove it;";

/// Reads such a declaration; `from` is the program's source, in which problems are placed as well as can be.
///
/// # Errors
/// All that is wrong with it, each with what would fix it.
pub fn declared(from: &ManifestText<'_>, data: Value) -> Result<(Spec, Vec<Problem>), Vec<Problem>> {
    let name = data.get("name").and_then(Value::as_str).map(str::to_owned).unwrap_or_default();
    let has_time = data.get("timeoutMs").is_some_and(|time| !time.is_null());
    let mut fields = Fields::new(from, data);
    if let Err(error) = ToolName::parse(&name) {
        fields.fault("/name", error.to_string(), "choose another name");
    }
    let mut spec = read_spec(&mut fields, &name);
    if !has_time {
        // A command's usual time isn't a program's.
        spec.timeout_ms = None;
    }
    if fields.pointer(&["runtime"]).is_some() {
        let text = "\"runtime\" is ignored here: this runs in haft's own engine";
        fields.warn(
            "/runtime",
            text,
            "for packages, put a tool.json with \"runtime\" beside the module, in a folder",
        );
    }
    // It starts no process of its own that could be kept in.
    spec.profile = None;
    if fields.pointer(&["sandbox"]).is_some() {
        let text = "\"sandbox\" is ignored here: this runs in haft's own engine, which is closed";
        fields.warn("/sandbox", text, "leave it out; \"capabilities\" say what it is lent");
    }
    let spec = check_output_schema(&mut fields, spec, OutputForm::Json);
    // Other hosts' fields are no mistakes; those that are like one of ours may be.
    fields.warnings.retain(|problem| !problem.fix.starts_with(LIKE_NONE));
    let line = line_of(from.text, &name);
    for problem in fields.faults.iter_mut().chain(&mut fields.warnings) {
        problem.line = Some(key_line(from.text, &problem.text, line));
    }
    if fields.faults.is_empty() {
        return Ok((spec, fields.warnings));
    }
    Err(fields.faults.into_iter().chain(fields.warnings).collect())
}

/// The line on which a tool is named, else the first.
pub fn line_of(text: &str, name: &str) -> usize {
    let is_named = |line: &str| line.contains("name") && line.contains(name);
    text.lines().position(is_named).map_or(1, |at| at + 1)
}

/// The line behind the tool's name with the key that a problem begins with.
fn key_line(text: &str, problem: &str, line: usize) -> usize {
    let key = problem.strip_prefix('"').and_then(|rest| rest.split_once('"')).map(|(key, _)| key);
    let key = key.map(|key| key.rsplit('.').next().unwrap_or(key));
    let is_key = |one: &str, key: &str| one.trim_start().trim_start_matches(['"', '\'']).starts_with(key);
    let mut lines = text.lines().enumerate().skip(line.saturating_sub(1));
    key.and_then(|key| lines.find(|(_, one)| is_key(one, key))).map_or(line, |(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::Duration;

    const TEXT: &str = "export default {\n  name: 'x',\n  description: 'd',\n  riskTier: 'high',\n};\n";

    fn read(data: Value) -> Result<(Spec, Vec<Problem>), Vec<Problem>> {
        declared(&ManifestText { text: TEXT, folder: "x", path: "t/x.ts", owner: "script:t" }, data)
    }

    #[test]
    fn fields_are_those_of_manifests_and_time_is_not_a_commands() {
        let (spec, problems) =
            read(json!({"name": "x", "description": "d", "mutating": true, "riskTier": "safe", "icon": "i"}))
                .unwrap();
        assert_eq!((spec.timeout(), spec.mutates()), (Duration::from_secs(60), true));
        assert!(problems.is_empty() && spec.profile.is_none(), "{problems:?}");
        let (spec, problems) =
            read(json!({"name": "x", "description": "d", "timeoutMs": 5, "reaOnly": true})).unwrap();
        assert_eq!(spec.timeout(), Duration::from_millis(5));
        assert!(problems[0].fix.contains("\"readOnly\""), "{problems:?}");
        let (_, problems) = read(json!({"name": "x", "description": "d", "runtime": "node"})).unwrap();
        assert!(problems[0].text.contains("own engine"), "{problems:?}");
        let (_, problems) = read(json!({"name": "x", "description": "d", "sandbox": {}})).unwrap();
        assert!(problems[0].text.contains("\"sandbox\" is ignored"), "{problems:?}");
    }

    #[test]
    fn problems_stand_at_their_line() {
        let problems = read(json!({"name": "x", "description": "d", "riskTier": "high"})).unwrap_err();
        assert_eq!((problems[0].line, problems[0].path.as_deref()), (Some(4), Some("t/x.ts")));
        let problems = read(json!({"name": "x.y", "description": "d"})).unwrap_err();
        assert!(problems[0].text.contains("Invalid tool name \"x.y\""), "{problems:?}");
        assert!(read(json!({"name": "x"})).unwrap_err()[0].text.contains("no description"));
    }
}
