//! Which servers of a workspace's own list Claude Code keeps off: `disabledMcpjsonServers`, and `disabledMcpServers` of the
//! workspace, which is of all servers.
//!
//! The other half, `enabledMcpjsonServers`, has no counterpart: what came with a workspace waits for the user's word here.

use super::{names, project, without_comments};
use crate::{
    catalogue::Problem,
    settings::{Place, SettingsSource},
};
use haft_core::without_bom;
use serde_json::Value;
use std::collections::BTreeSet;

/// The list of those that are off.
const OFF: &str = "disabledMcpjsonServers";
/// The list of those that are off in a workspace, wherever they come from.
const OFF_HERE: &str = "disabledMcpServers";

/// The servers of the workspace's `.mcp.json` that settings of Claude Code switch off, for all or for this workspace.
///
/// # Errors
/// The file is no JSON object, so that nobody knows what it switches off.
pub fn switched_off(source: &SettingsSource, place: &Place) -> Result<BTreeSet<String>, Problem> {
    let problem = |line: usize, why: &str| Problem {
        source: source.scope.name().to_owned(),
        path: Some(source.path.clone()),
        line: Some(line),
        text: format!("which servers of .mcp.json it switches off isn't known: {why}"),
        fix: "mend the file".to_owned(),
    };
    let plain = without_comments(without_bom(&source.text));
    let read: Value =
        serde_json::from_str(&plain).map_err(|error| problem(error.line().max(1), &error.to_string()))?;
    let Value::Object(root) = read else {
        return Err(problem(1, "settings are an object"));
    };
    let here = |list: &str| project(&root, place).and_then(|own| own.get(list));
    Ok([root.get(OFF), here(OFF), here(OFF_HERE)].into_iter().filter_map(names).flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Scope;

    fn read(text: &str) -> Result<Vec<String>, Problem> {
        let place = Place { workspace: "/w".into(), home: None, trusted: false };
        let source = SettingsSource::new(Scope::User, "/h/.claude.json", text);
        switched_off(&source, &place).map(|names| names.into_iter().collect())
    }

    #[test]
    fn what_is_off_for_all_and_for_this_workspace_counts_and_no_other() {
        let text = r#"{"disabledMcpjsonServers": ["b", "a"], "enabledMcpjsonServers": ["d"], // by hand
            "projects": {"/w": {"disabledMcpjsonServers": ["c"], "disabledMcpServers": ["f", 7]},
                "/v": {"disabledMcpjsonServers": ["e"]}}, "disabledMcpServers": ["g"]}"#;
        assert_eq!(read(text).unwrap(), ["a", "b", "c", "f"]);
        assert!(read("{}").unwrap().is_empty());
        let broken = read("{\n\"a\" }").unwrap_err();
        assert_eq!(broken.line, Some(2));
        assert!(read("[]").is_err());
    }
}
