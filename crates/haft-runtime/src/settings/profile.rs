//! `sandbox` of `[tools.NAME]`: how a tool that is somebody else's program is kept in.

use super::{Setting, sandbox::network, section::Section};
use haft_core::{Profile, WorkspaceUse};
use serde::Serialize;

const KEYS: [&str; 3] = ["network", "writable", "workspace"];

/// What the user wants of a tool's sandbox, whatever its manifest says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolSandbox {
    /// It runs outside, and isn't asked for it.
    Off,
    /// It gets what it declares that it needs, and nothing that it asks for besides.
    On,
    /// This.
    Like(Profile),
}

impl ToolSandbox {
    /// Reads `sandbox = "off"`, `sandbox = "on"`, or a table. From an untrusted workspace only `"on"` counts.
    pub(super) fn read(section: &Section<'_>) -> Option<Setting<Self>> {
        if section.is_table("sandbox") {
            return if section.counts("sandbox") { table(section) } else { None };
        }
        let written = section.text("sandbox")?;
        match written.value.as_str() {
            "on" => Some(written.map(|_| Self::On)),
            "off" => section.counts("sandbox").then(|| written.map(|_| Self::Off)),
            other => {
                section.document.problem(
                    written.origin.line,
                    format!("\"{other}\" is no sandbox of a tool"),
                    "write \"on\", \"off\", or { network = [\"api.example.com\"], writable = [\"~/.cache/x\"], workspace = \"read\" }",
                );
                None
            }
        }
    }

    /// What holds for a tool that has a profile of its own.
    pub fn profile(&self) -> Profile {
        match self {
            Self::Off => Profile::outside(),
            Self::On => Profile::default(),
            Self::Like(profile) => profile.clone(),
        }
    }
}

fn table(section: &Section<'_>) -> Option<Setting<ToolSandbox>> {
    let origin = section.origin("sandbox");
    let table = section.section("sandbox")?;
    table.only(&KEYS);
    let profile = Profile {
        network: network(&table).map(|set| set.value),
        writable: table.texts("writable").items.into_iter().map(|set| set.value).collect(),
        workspace: table.word::<WorkspaceUse>("workspace").map(|set| set.value),
        ..Profile::default()
    };
    match profile.checked() {
        Ok(profile) => Some(Setting { value: ToolSandbox::Like(profile), origin }),
        Err(why) => {
            section.document.problem(origin.line, why, "mend it; until then the tool's own sandbox holds");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Place, Scope, Settings, SettingsSource};
    use haft_core::Reach;

    fn read(trusted: bool, texts: &[(Scope, &str)]) -> Settings {
        let sources: Vec<_> =
            texts.iter().map(|(scope, text)| SettingsSource::new(*scope, scope.name(), *text)).collect();
        Settings::load(&sources, &Place { workspace: "/w".into(), home: None, trusted })
    }

    fn said(settings: &Settings) -> Option<ToolSandbox> {
        settings.tools["x"].sandbox.as_ref().map(|set| set.value.clone())
    }

    #[test]
    fn a_tools_sandbox_is_a_word_or_a_table() {
        for (text, expected) in [
            ("sandbox = 'off'", Profile::outside()),
            ("sandbox = 'on'", Profile::default()),
            (
                "[tools.x.sandbox]\nnetwork = ['a.example']\nwritable = ['~/y']\nworkspace = 'write'",
                Profile {
                    network: Some(Reach::Hosts(vec!["a.example".to_owned()])),
                    writable: vec!["~/y".to_owned()],
                    workspace: Some(WorkspaceUse::Write),
                    ..Profile::default()
                },
            ),
            (
                "sandbox = { network = 'closed' }",
                Profile { network: Some(Reach::Closed), ..Profile::default() },
            ),
        ] {
            let settings = read(true, &[(Scope::User, format!("[tools.x]\n{text}").as_str())]);
            assert!(settings.problems.is_empty(), "{text}: {:?}", settings.problems);
            assert_eq!(said(&settings).unwrap().profile(), expected, "{text}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_a_problem_with_its_line() {
        for (text, says) in [
            ("sandbox = 'none'", "no sandbox of a tool"),
            ("sandbox = { writable = ['/'] }", "too much"),
            ("sandbox = { network = 'all' }", "no network of a sandbox"),
            ("sandbox = { networks = [] }", "is not a setting"),
            ("sandbox = { workspace = 'all' }", "unknown variant"),
        ] {
            let settings = read(true, &[(Scope::User, format!("[tools.x]\n{text}").as_str())]);
            let found = settings
                .problems
                .iter()
                .any(|problem| problem.line == Some(2) && problem.text.contains(says));
            assert!(found, "{text}: {:#?}", settings.problems);
        }
    }

    #[test]
    fn an_untrusted_workspace_only_tightens() {
        let user = (Scope::User, "[tools.x]\nsandbox = 'off'");
        for loose in ["sandbox = 'off'", "sandbox = { network = 'open' }"] {
            let settings = read(false, &[(Scope::Workspace, format!("[tools.x]\n{loose}").as_str())]);
            assert_eq!(said(&settings), None, "{loose}");
            assert_eq!(settings.problems.len(), 1, "{loose}");
        }
        let tightened = read(false, &[(Scope::Workspace, "[tools.x]\nsandbox = 'on'"), user]);
        assert_eq!(said(&tightened), Some(ToolSandbox::On));
        let own = read(true, &[(Scope::Workspace, "[tools.x]\nsandbox = 'off'")]);
        assert_eq!(said(&own), Some(ToolSandbox::Off));
    }
}
