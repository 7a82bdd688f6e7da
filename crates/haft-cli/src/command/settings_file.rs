//! One settings file that a command adds to: locked, changed and written whole, with all else in it left
//! alone.

use crate::{app::App, trouble::Trouble};
use haft_core::{Cancel, Files, PathArg, RealPath, WriteMode, content_hash};
use haft_os::host;
use haft_runtime::settings::{Added, Additions, McpChange, Scope};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// More than that is no settings file.
const FILE_MAX_BYTES: u64 = 4 * 1024 * 1024;

/// The file of one scope.
pub(super) struct SettingsFile {
    /// The file, as it is shown to people.
    pub(super) shown: String,
    files: Arc<dyn Files>,
    at: RealPath,
}

impl SettingsFile {
    /// The file of a scope that a user writes to.
    ///
    /// # Errors
    /// The file can't be reached, or that of the workspace lies outside of it.
    pub(super) fn of(app: &App, scope: Scope) -> anyhow::Result<Self> {
        let path = path_of(app, scope);
        let shown = path.to_string_lossy().into_owned();
        let files = app.world(None)?.files;
        let at = files.resolve(&PathArg(shown.clone()))?;
        if scope.is_in_workspace() && !files.workspace().covers(&at) {
            let what = format!("{shown} leads out of the workspace, to {}", at.absolute());
            return Err(Trouble::failed(what, "make it a file of the workspace itself").into());
        }
        Ok(Self { shown, files, at })
    }

    /// What it says now; none where there is no such file.
    ///
    /// # Errors
    /// It can't be read, or isn't UTF-8.
    pub(super) fn text(&self) -> anyhow::Result<Option<String>> {
        let Some(bytes) = host::read_file(Path::new(&self.at.absolute()), FILE_MAX_BYTES)? else {
            return Ok(None);
        };
        let text = String::from_utf8(bytes)
            .map_err(|_| Trouble::failed(format!("{} is not UTF-8", self.shown), "save it as UTF-8"))?;
        Ok(Some(text))
    }

    /// What adding would make of it; nothing is written.
    ///
    /// # Errors
    /// As [`SettingsFile::text`]; the file is damaged.
    pub(super) fn preview(&self, additions: &Additions) -> anyhow::Result<Added> {
        self.added(&self.text()?.unwrap_or_default(), additions)
    }

    /// Adds what isn't there yet, while nobody else writes.
    ///
    /// # Errors
    /// As [`SettingsFile::preview`]; it can't be written.
    pub(super) fn add(&self, additions: &Additions) -> anyhow::Result<Added> {
        let _lock = self.files.lock(&self.at, &Cancel::new())?;
        let before = self.text()?;
        let added = self.added(before.as_deref().unwrap_or_default(), additions)?;
        if added.new.is_empty() {
            return Ok(added);
        }
        let mode =
            before.map_or(WriteMode::New, |text| WriteMode::Over { before: content_hash(text.as_ref()) });
        self.files.write(&self.at, added.text.as_bytes(), &mode)?;
        Ok(added)
    }

    /// Changes the servers in it, while nobody else writes; says whether anything changed.
    ///
    /// # Errors
    /// As [`SettingsFile::preview`]; it can't be written.
    pub(super) fn change(&self, change: &McpChange) -> anyhow::Result<bool> {
        let _lock = self.files.lock(&self.at, &Cancel::new())?;
        let before = self.text()?;
        let changed = change.apply_to(before.as_deref().unwrap_or_default()).map_err(|error| {
            let fix = "mend the file there; nothing was written";
            Trouble::failed(format!("{}: {error}", self.shown), fix)
        })?;
        let Some(text) = changed else { return Ok(false) };
        let mode =
            before.map_or(WriteMode::New, |text| WriteMode::Over { before: content_hash(text.as_ref()) });
        self.files.write(&self.at, text.as_bytes(), &mode)?;
        Ok(true)
    }

    fn added(&self, text: &str, additions: &Additions) -> anyhow::Result<Added> {
        additions.add_to(text).map_err(|error| {
            let fix = "mend the file there; nothing was written";
            Trouble::failed(format!("{}: {error}", self.shown), fix).into()
        })
    }
}

/// Where the settings of a scope are; those that nobody writes to count as the user's.
fn path_of(app: &App, scope: Scope) -> PathBuf {
    match scope {
        Scope::Local => app.workspace.join(".haft/config.local.toml"),
        Scope::Workspace => app.workspace.join(".haft/config.toml"),
        Scope::User | Scope::Managed | Scope::Flags => app.home.config.clone(),
    }
}
