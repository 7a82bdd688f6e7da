//! One settings file that a command adds to: locked, changed and written whole, with all else in it left
//! alone.

use crate::{app::App, trouble::Trouble};
use haft_core::{Cancel, Files, PathArg, RealPath, WriteMode, content_hash};
use haft_os::host;
use haft_runtime::settings::{Added, Additions, EditError, McpChange, Scope, server_keys};
use std::{
    fmt::Display,
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
        self.rewrite(|text| {
            let added = self.added(text, additions)?;
            let after = (!added.new.is_empty()).then(|| added.text.clone());
            Ok((after, added))
        })
    }

    /// Changes the servers in it, while nobody else writes; says whether anything changed.
    ///
    /// # Errors
    /// As [`SettingsFile::preview`]; a server that is to be added has another in its place; it can't be written.
    pub(super) fn change(&self, change: &McpChange) -> anyhow::Result<bool> {
        self.rewrite(|text| {
            let after = change.apply_to(text).map_err(|error| self.refused(&error))?;
            let is_changed = after.is_some();
            Ok((after, is_changed))
        })
    }

    /// What it says of a server, by its keys; none where it names no such server.
    ///
    /// # Errors
    /// As [`SettingsFile::preview`].
    pub(super) fn server(&self, name: &str) -> anyhow::Result<Option<String>> {
        let text = self.text()?.unwrap_or_default();
        Ok(server_keys(&text, name).map_err(|error| self.damaged(&error))?)
    }

    /// Writes what `make` makes of its text, where it makes anything, while nobody else writes.
    fn rewrite<T>(
        &self,
        make: impl FnOnce(&str) -> anyhow::Result<(Option<String>, T)>,
    ) -> anyhow::Result<T> {
        let _lock = self.files.lock(&self.at, &Cancel::new())?;
        let before = self.text()?;
        let (after, made) = make(before.as_deref().unwrap_or_default())?;
        if let Some(after) = after {
            let mode =
                before.map_or(WriteMode::New, |text| WriteMode::Over { before: content_hash(text.as_ref()) });
            self.files.write(&self.at, after.as_bytes(), &mode)?;
        }
        Ok(made)
    }

    fn added(&self, text: &str, additions: &Additions) -> anyhow::Result<Added> {
        Ok(additions.add_to(text).map_err(|error| self.damaged(&error))?)
    }

    fn refused(&self, error: &EditError) -> Trouble {
        let EditError::Named { name, .. } = error else { return self.damaged(error) };
        let fix = format!(
            "change it there, or put the new one in its place and lose all of that: haft mcp add --replace {name} …"
        );
        Trouble::usage(format!("{}: {error}", self.shown), fix)
    }

    fn damaged(&self, error: &impl Display) -> Trouble {
        Trouble::failed(format!("{}: {error}", self.shown), "mend the file there; nothing was written")
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
