//! Where settings of Claude Code are.

use crate::{app::App, trouble::Trouble};
use haft_os::host;
use haft_runtime::settings::{Scope, SettingsSource};
use std::path::{Path, PathBuf};

/// The folder of settings in a workspace, and in a home.
const FOLDER: &str = ".claude";
/// What all who work there share, or a user's own for all workspaces.
const SHARED: &str = "settings.json";
/// A user's own for one workspace.
const LOCAL: &str = "settings.local.json";
/// Where a user has moved the folder to.
const MOVED: &str = "CLAUDE_CONFIG_DIR";
/// More than that is no settings file.
const FILE_MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The files that are there, read: those of the workspace and of the user, or those that were named.
///
/// # Errors
/// A named file isn't there; one can't be read, or isn't UTF-8.
pub(super) fn sources(app: &App, from: Option<&Path>) -> anyhow::Result<Vec<SettingsSource>> {
    let usual = user_folder(app);
    let places: Vec<(Scope, PathBuf)> = match from {
        None => {
            let own = app.workspace.join(FOLDER);
            let mut places = vec![(Scope::Workspace, own.join(SHARED)), (Scope::Local, own.join(LOCAL))];
            // In the home itself the two are one file, and it is the user's.
            places.retain(|(_, path)| usual.as_deref().is_none_or(|user| path.parent() != Some(user)));
            places.extend(usual.map(|folder| (Scope::User, folder.join(SHARED))));
            places
        }
        Some(from) => named(&host::current_dir()?.join(from), usual.as_deref())?,
    };
    let mut sources = Vec::new();
    for (scope, path) in places {
        if let Some(bytes) = host::read_file(&path, FILE_MAX_BYTES)? {
            let shown = path.to_string_lossy().into_owned();
            let text = String::from_utf8(bytes)
                .map_err(|_| Trouble::failed(format!("{shown} is not UTF-8"), "save it as UTF-8"))?;
            sources.push(SettingsSource::new(scope, shown, text));
        }
    }
    Ok(sources)
}

fn user_folder(app: &App) -> Option<PathBuf> {
    let moved = app.environment.get(MOVED).map(PathBuf::from).filter(|path| path.is_absolute());
    moved.or_else(|| Some(Path::new(app.place.home.as_deref()?).join(FOLDER)))
}

/// The files that a path names: itself, or those in it.
fn named(path: &Path, user: Option<&Path>) -> Result<Vec<(Scope, PathBuf)>, Trouble> {
    let scope_of = |file: &Path| {
        if file.file_name().is_some_and(|name| name == LOCAL) {
            Scope::Local
        } else if user.is_some_and(|user| file.parent() == Some(user)) {
            Scope::User
        } else {
            Scope::Workspace
        }
    };
    let files: Vec<PathBuf> = if host::is_file(path) {
        vec![path.to_owned()]
    } else {
        let folders = [path.join(FOLDER), path.to_owned()];
        let files = folders.iter().flat_map(|folder| [folder.join(SHARED), folder.join(LOCAL)]);
        files.filter(|file| host::is_file(file)).collect()
    };
    if files.is_empty() {
        let what = format!("{} is no settings file of Claude Code and holds none", path.display());
        let fix = "name a settings.json, or a folder with one or with .claude in it";
        return Err(Trouble::usage(what, fix));
    }
    Ok(files.into_iter().map(|file| (scope_of(&file), file)).collect())
}
