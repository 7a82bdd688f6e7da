//! One text with settings, and the workspace it is read for.

use super::Scope;
use haft_policy::RuleOrigin;
use serde::Serialize;

/// A text with settings in TOML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsSource {
    /// Whose it is.
    pub scope: Scope,
    /// The file, as it is shown to people; absolute where paths in it are to be relative to its folder.
    pub path: String,
    /// What it says.
    pub text: String,
}

impl SettingsSource {
    /// A text of one scope.
    pub fn new(scope: Scope, path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { scope, path: path.into(), text: text.into() }
    }

    /// The folder that a rule's `/` stands for. Files in the workspace's `.haft` speak of the workspace: nobody
    /// means the settings folder itself.
    fn folder(&self, place: &Place) -> String {
        let own = self.path.rsplit_once('/').map(|(folder, _)| folder).filter(|_| self.path.starts_with('/'));
        match own {
            Some(folder) if !self.scope.is_in_workspace() => folder.to_owned(),
            _ => place.workspace.clone(),
        }
    }

    /// Where a rule on that line stands.
    pub(super) fn rule_origin(&self, line: usize, place: &Place) -> RuleOrigin {
        let source = Some(format!("{}:{line}", self.path));
        RuleOrigin { folder: self.folder(place), ..place.rule_origin(source) }
    }
}

/// What settings are read for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The workspace's absolute path.
    pub workspace: String,
    /// The user's home, where known.
    pub home: Option<String>,
    /// Whether the user said `haft trust` for the workspace.
    pub trusted: bool,
}

/// A path from settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Placed {
    /// As it was written.
    pub written: String,
    /// Absolute and free of `.` and `..`; links aren't followed.
    pub absolute: String,
}

impl Place {
    /// Where a rule stands that counts from the workspace; `source` is what people are told.
    pub fn rule_origin(&self, source: Option<String>) -> RuleOrigin {
        RuleOrigin {
            source,
            workspace: self.workspace.clone(),
            home: self.home.clone(),
            folder: self.workspace.clone(),
        }
    }

    /// A path as somebody typed it.
    ///
    /// # Errors
    /// It starts at the home folder, which isn't known.
    pub fn placed(&self, written: &str) -> Result<Placed, String> {
        self.absolute(written)
            .ok_or_else(|| format!("\"{written}\" starts at the home folder, which isn't known here"))
    }

    /// Makes a path absolute: `~/` is the home, anything else relative is beneath the workspace.
    /// None where `~` is used and the home isn't known.
    pub(super) fn absolute(&self, written: &str) -> Option<Placed> {
        let whole = if written == "~" || written.starts_with("~/") {
            format!("{}/{}", self.home.as_deref()?, written.trim_start_matches('~'))
        } else if written.starts_with('/') {
            written.to_owned()
        } else {
            format!("{}/{written}", self.workspace)
        };
        let mut parts: Vec<&str> = Vec::new();
        for part in whole.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop();
                }
                other => parts.push(other),
            }
        }
        Some(Placed { written: written.to_owned(), absolute: format!("/{}", parts.join("/")) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        Place { workspace: "/w".into(), home: Some("/home/u".into()), trusted: true }
    }

    #[test]
    fn paths_become_absolute() {
        let cases = [
            (".pequenin/tools", "/w/.pequenin/tools"),
            ("../other/./x", "/other/x"),
            ("~/tools", "/home/u/tools"),
            ("~", "/home/u"),
            ("/opt/../etc", "/etc"),
            ("../../..", "/"),
        ];
        for (written, absolute) in cases {
            assert_eq!(place().absolute(written).unwrap().absolute, absolute, "{written}");
        }
        assert_eq!(Place { home: None, ..place() }.absolute("~/tools"), None);
    }

    #[test]
    fn a_slash_stands_for_the_rule_files_folder_or_the_workspace() {
        let cases = [
            (Scope::User, "/home/u/.config/haft/config.toml", "/home/u/.config/haft"),
            (Scope::Workspace, "/w/.haft/config.toml", "/w"),
            (Scope::Local, ".haft/config.local.toml", "/w"),
            (Scope::Flags, "--allow", "/w"),
        ];
        for (scope, path, folder) in cases {
            let origin = SettingsSource::new(scope, path, "").rule_origin(3, &place());
            assert_eq!(origin.folder, folder, "{path}");
            assert_eq!(origin.source, Some(format!("{path}:3")));
        }
    }
}
