//! Servers of the workspace's own list that Claude Code was told to keep off.
//!
//! haft reads that list itself, so all that is taken over of them is that they stay off.

use crate::app::{App, mcp::LIST};
use haft_os::host;
use haft_runtime::settings::{McpSetting, Scope, ServerListForm, SettingsSource, server_list, switched_off};
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

/// Where Claude Code keeps it in a workspace.
const IN_WORKSPACE: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];
/// And in a home.
const IN_HOME: [&str; 2] = [".claude/settings.json", ".claude.json"];

/// Those servers, switched off. What is wrong with the list itself is told where it is used.
///
/// # Errors
/// A file can't be read.
pub(super) fn servers(app: &App, problems: &mut Vec<String>) -> anyhow::Result<BTreeMap<String, McpSetting>> {
    let names = names(app, problems);
    let Some(list) = text(&app.workspace.join(LIST), Scope::Local)?.filter(|_| !names.is_empty()) else {
        return Ok(BTreeMap::new());
    };
    let mut servers = server_list(&list, ServerListForm::Json, &app.place).servers;
    servers.retain(|name, _| names.contains(name));
    for setting in servers.values_mut() {
        setting.enabled = false;
    }
    Ok(servers)
}

fn names(app: &App, problems: &mut Vec<String>) -> BTreeSet<String> {
    let here = IN_WORKSPACE.into_iter().map(|at| (Scope::Local, app.workspace.join(at)));
    let home = app
        .place
        .home
        .iter()
        .flat_map(|home| IN_HOME.into_iter().map(move |at| (Scope::User, Path::new(home).join(at))));
    let mut names = BTreeSet::new();
    for (scope, path) in here.chain(home) {
        let source = match text(&path, scope) {
            Ok(Some(source)) => source,
            Ok(None) => continue,
            Err(error) => {
                problems.push(format!(
                    "{}: which servers are switched off there isn't known: {error:#}",
                    path.display()
                ));
                continue;
            }
        };
        match switched_off(&source, &app.place) {
            Ok(off) => names.extend(off),
            Err(problem) => problems.push(problem.to_string()),
        }
    }
    names
}

/// A file's text; none where there is no such file, or it is no text, which is told where it is used.
fn text(path: &Path, scope: Scope) -> anyhow::Result<Option<SettingsSource>> {
    let bytes = host::read_file(path, super::FILE_MAX_BYTES)?;
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
    Ok(text.map(|text| SettingsSource::new(scope, path.to_string_lossy(), text)))
}
