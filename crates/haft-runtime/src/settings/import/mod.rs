//! Settings of Claude Code as haft's own: permission rules, mode, folders and hooks.
//!
//! Pure: a text in, what it comes to out; nothing is written here. Keeps the invariant "a rule that denies or
//! asks is never dropped silently": what can't be said exactly is said wider, and where that isn't possible
//! either it is reported loudly.

mod hooks;
mod rules;

pub use hooks::{HookFate, ImportedHook};
pub use rules::ImportedRule;

use super::{Additions, Place, Scope, SettingsSource};
use haft_core::without_bom;
use haft_policy::{Action, Mode};
use serde_json::{Map, Value};

/// How many names of settings are listed.
const NAMES_MAX: usize = 12;

/// Something to tell whoever imports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportNote {
    /// In words.
    pub text: String,
    /// Whether something protects less than before.
    pub is_loud: bool,
}

/// What one file comes to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    /// Rules in the order in which they are written.
    pub rules: Vec<ImportedRule>,
    /// Hooks.
    pub hooks: Vec<ImportedHook>,
    /// The approval mode: as it was written, and as it is here.
    pub mode: Option<(String, Mode)>,
    /// Further folders.
    pub roots: Vec<String>,
    /// What else is to be said.
    pub notes: Vec<ImportNote>,
}

/// Why a file can't be imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{line}: {message}")]
pub struct ImportError {
    /// The file.
    pub path: String,
    /// Where, from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl Imported {
    /// Reads settings of Claude Code. The scope of `source` says whose they are; `place` is the workspace.
    ///
    /// # Errors
    /// The text is no JSON object.
    pub fn claude_code(source: &SettingsSource, place: &Place) -> Result<Self, ImportError> {
        let fault = |line: usize, message: String| ImportError { path: source.path.clone(), line, message };
        let read: Value = serde_json::from_str(without_bom(&source.text))
            .map_err(|error| fault(error.line().max(1), format!("not valid JSON: {error}")))?;
        let Value::Object(root) = read else {
            return Err(fault(1, "settings have to be a JSON object".to_owned()));
        };
        let mut imported = Self::default();
        match root.get("permissions") {
            None | Some(Value::Null) => {}
            Some(Value::Object(permissions)) => imported.read_permissions(permissions, source.scope, place),
            Some(_) => {
                imported.loud("\"permissions\" is no object: none of its rules is imported".to_owned());
            }
        }
        imported.read_hooks(&root);
        imported.name_the_rest(&root);
        Ok(imported)
    }

    /// What is to be written.
    pub fn additions(&self) -> Additions {
        Additions {
            rules: self.rules.iter().flat_map(|rule| rule.becomes.iter().cloned()).collect(),
            mode: self.mode.as_ref().map(|(_, mode)| *mode),
            roots: self.roots.clone(),
            hooks: self.hooks.iter().filter_map(|hook| hook.fate.entry().cloned()).collect(),
        }
    }

    fn read_permissions(&mut self, permissions: &Map<String, Value>, scope: Scope, place: &Place) {
        for (key, action) in [("deny", Action::Deny), ("ask", Action::Ask), ("allow", Action::Allow)] {
            let is_loud = action != Action::Allow;
            match permissions.get(key) {
                None | Some(Value::Null) => {}
                Some(Value::Array(list)) => {
                    for item in list {
                        match item.as_str() {
                            Some(text) => self.rules.push(ImportedRule::of(action, text, scope, place)),
                            None => self.note(format!("{item} under {key} is no rule"), is_loud),
                        }
                    }
                }
                Some(_) => {
                    self.note(
                        format!("\"permissions.{key}\" is no list: nothing of it is imported"),
                        is_loud,
                    );
                }
            }
        }
        self.read_mode(permissions);
        match permissions.get("additionalDirectories") {
            None | Some(Value::Null) => {}
            Some(Value::Array(list)) => {
                self.roots.extend(list.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            Some(_) => self.note("\"permissions.additionalDirectories\" is no list".to_owned(), false),
        }
        let known = ["allow", "ask", "deny", "defaultMode", "additionalDirectories"];
        let rest: Vec<&str> =
            permissions.keys().map(String::as_str).filter(|key| !known.contains(key)).collect();
        if rest.contains(&"disableBypassPermissionsMode") {
            self.loud(
                "\"permissions.disableBypassPermissionsMode\" has no counterpart: haft's mode full isn't locked"
                    .to_owned(),
            );
        }
        let others: Vec<&str> =
            rest.into_iter().filter(|key| *key != "disableBypassPermissionsMode").collect();
        if !others.is_empty() {
            self.note(format!("not imported from permissions: {}", listed(&others)), false);
        }
    }

    fn read_mode(&mut self, permissions: &Map<String, Value>) {
        let Some(written) = permissions.get("defaultMode").filter(|mode| !mode.is_null()) else { return };
        match written.as_str().map(|name| (name, name.parse::<Mode>())) {
            Some((name, Ok(mode))) => {
                self.mode = Some((name.to_owned(), mode));
                match mode {
                    Mode::Auto => self.note(
                        "haft's mode auto runs all that isn't on its dangerous list, and asks for the rest"
                            .to_owned(),
                        true,
                    ),
                    Mode::Full => self.note(
                        "mode full asks nothing at all; only deny rules and the hard-deny list hold"
                            .to_owned(),
                        true,
                    ),
                    _ => {}
                }
            }
            Some((name, Err(error))) => {
                self.note(format!("the mode \"{name}\" isn't imported: {error}"), false);
            }
            None => self.note("\"permissions.defaultMode\" is no text".to_owned(), false),
        }
    }

    fn read_hooks(&mut self, root: &Map<String, Value>) {
        let Some(hooks) = root.get("hooks").filter(|hooks| !hooks.is_null()) else { return };
        if root.get("disableAllHooks").and_then(Value::as_bool) == Some(true) {
            self.note(
                "hooks are switched off there (disableAllHooks), so none is imported".to_owned(),
                false,
            );
            return;
        }
        match hooks.as_object() {
            Some(hooks) => self.hooks = ImportedHook::all(hooks),
            None => self.loud("\"hooks\" is no object: none is imported".to_owned()),
        }
    }

    fn name_the_rest(&mut self, root: &Map<String, Value>) {
        let known = ["permissions", "hooks", "disableAllHooks", "$schema"];
        let rest: Vec<&str> = root.keys().map(String::as_str).filter(|key| !known.contains(key)).collect();
        if !rest.is_empty() {
            self.note(
                format!("not imported, as it has nothing to do with permission: {}", listed(&rest)),
                false,
            );
        }
    }

    fn loud(&mut self, text: String) {
        self.notes.push(ImportNote { text, is_loud: true });
    }

    fn note(&mut self, text: String, is_loud: bool) {
        self.notes.push(ImportNote { text, is_loud });
    }
}

fn listed(names: &[&str]) -> String {
    let shown: Vec<&str> = names.iter().take(NAMES_MAX).copied().collect();
    let more = names.len().saturating_sub(shown.len());
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn import(text: &str) -> Result<Imported, ImportError> {
        let place = Place { workspace: "/w".into(), home: Some("/home/u".into()), trusted: true };
        Imported::claude_code(
            &SettingsSource::new(Scope::Workspace, "/w/.claude/settings.json", text),
            &place,
        )
    }

    #[test]
    fn everything_that_permits_comes_over() {
        let text = r#"{
            "model": "x",
            "permissions": {
                "allow": ["Bash(npm run test:*)"], "deny": ["Read(./.env)"], "defaultMode": "acceptEdits",
                "additionalDirectories": ["../docs/"]
            },
            "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "./c.sh"}]}]}
        }"#;
        let imported = import(text).unwrap();
        let additions = imported.additions();
        let expected =
            [(Action::Deny, "read(./.env)".to_owned()), (Action::Allow, "bash(npm run test:*)".to_owned())];
        assert_eq!(additions.rules, expected);
        assert_eq!(
            (additions.mode, additions.roots.as_slice()),
            (Some(Mode::AcceptEdits), &["../docs/".to_owned()][..])
        );
        assert_eq!(additions.hooks.len(), 1);
        assert_eq!(imported.notes.len(), 1);
        assert!(imported.notes[0].text.ends_with(": model"), "{:?}", imported.notes);
        let written = additions.add_to("").unwrap();
        assert!(additions.add_to(&written.text).unwrap().new.is_empty());
    }

    #[test]
    fn what_is_no_settings_file_says_where() {
        assert_eq!(import("{\n\"a\": }").unwrap_err().line, 2);
        assert_eq!(
            import("[]").unwrap_err().to_string(),
            "/w/.claude/settings.json:1: settings have to be a JSON object"
        );
    }

    #[test]
    fn what_protects_less_is_loud() {
        let cases = [
            r#"{"permissions": {"deny": "Bash"}}"#,
            r#"{"permissions": {"ask": [3]}}"#,
            r#"{"permissions": []}"#,
            r#"{"permissions": {"defaultMode": "bypassPermissions"}}"#,
            r#"{"permissions": {"disableBypassPermissionsMode": "disable"}}"#,
            r#"{"hooks": []}"#,
        ];
        for text in cases {
            let notes = import(text).unwrap().notes;
            assert!(notes.iter().any(|note| note.is_loud), "{text}: {notes:?}");
        }
        let off = import(r#"{"disableAllHooks": true, "hooks": {"Stop": []}}"#).unwrap();
        assert!(off.hooks.is_empty() && !off.notes[0].is_loud);
    }
}
