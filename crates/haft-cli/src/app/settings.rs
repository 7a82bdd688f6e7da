//! The texts of settings, from the strongest scope to the weakest.

use super::Home;
use crate::cli::Common;
use haft_os::host;
use haft_runtime::{
    Problem,
    settings::{Place, Scope, Settings, SettingsSource},
};
use std::path::Path;

/// The administrator's settings.
const MANAGED: &str = "/etc/haft/config.toml";
/// Where the administrator's settings are.
pub(super) const MANAGED_FOLDER: &str = "/etc/haft";
/// A workspace's own settings: one person's for it, then everybody's.
pub(super) const IN_WORKSPACE: [&str; 2] = [".haft/config.local.toml", ".haft/config.toml"];
/// More than that is no settings file.
const FILE_MAX_BYTES: u64 = 4 * 1024 * 1024;

/// Reads and joins the settings of all scopes.
pub(super) fn load(home: &Home, workspace: &Path, place: &Place, common: &Common) -> Settings {
    let [local, shared] = IN_WORKSPACE.map(|at| workspace.join(at));
    let files = [
        (Scope::Managed, Path::new(MANAGED).to_owned()),
        (Scope::Local, local),
        (Scope::Workspace, shared),
        (Scope::User, home.config.clone()),
    ];
    let mut problems = Vec::new();
    let mut sources: Vec<SettingsSource> =
        files.iter().filter_map(|(scope, path)| read(*scope, path, &mut problems)).collect();
    if let Some(mode) = common.mode {
        let text = format!("[permissions]\nmode = \"{mode}\"\n");
        sources.push(SettingsSource::new(Scope::Flags, "--mode", text));
    }
    let mut settings = Settings::load(&sources, place);
    settings.problems.extend(problems);
    settings
}

/// A file that is there and can't be read may hold rules that deny; so it counts as one that is damaged,
/// under which every call asks.
fn read(scope: Scope, path: &Path, problems: &mut Vec<Problem>) -> Option<SettingsSource> {
    let shown = path.to_string_lossy().into_owned();
    let mut damaged = |why: String, fix: &str| {
        problems.push(Problem {
            source: scope.name().to_owned(),
            path: Some(shown.clone()),
            line: None,
            text: format!("these settings can't be read: {why}"),
            fix: fix.to_owned(),
        });
        SettingsSource::new(scope, shown.clone(), "unreadable")
    };
    match host::read_file(path, FILE_MAX_BYTES) {
        Ok(None) => None,
        Ok(Some(bytes)) => Some(match String::from_utf8(bytes) {
            Ok(text) => SettingsSource::new(scope, path.to_string_lossy(), text),
            Err(error) => damaged(error.to_string(), "save the file as UTF-8"),
        }),
        Err(failure) => Some(damaged(failure.text, "make it a readable file, or remove it")),
    }
}
