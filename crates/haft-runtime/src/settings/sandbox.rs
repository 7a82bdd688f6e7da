//! `[sandbox]`: what commands are kept from.

use super::{Place, Placed, Setting, load::placed, section::Section};
use haft_core::Reach;
use serde::Deserialize;

const KEYS: [&str; 6] = ["mode", "network", "writable", "hidden", "processes", "memoryMiB"];

/// Whether commands run in the sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxMode {
    /// They run with all rights of the user.
    Off,
    /// They run in it as far as the machine can; what is missing is named.
    #[default]
    Preferred,
    /// They run in it, or not at all.
    Required,
}

/// The settings of the sandbox.
#[derive(Debug, Clone, Default)]
pub struct SandboxSetting {
    /// Whether there is one.
    pub mode: Option<Setting<SandboxMode>>,
    /// Whom commands reach.
    pub network: Option<Setting<Reach>>,
    /// Further folders that they may change.
    pub writable: Vec<Setting<Placed>>,
    /// Further files and folders that they can't read.
    pub hidden: Vec<Setting<Placed>>,
    /// How many processes and threads a command may have at once, in the sandbox or not.
    pub processes: Option<Setting<u64>>,
    /// How much memory a command may use, in MiB.
    pub memory_mib: Option<Setting<u64>>,
}

impl SandboxSetting {
    /// Reads the section. From an untrusted workspace only what tightens counts: `required`, a closed network, hidden
    /// paths.
    pub(super) fn read(section: &Section<'_>, place: &Place) -> Self {
        section.only(&KEYS);
        let mode = section.word::<SandboxMode>("mode");
        let requires = mode.as_ref().is_some_and(|set| set.value == SandboxMode::Required);
        let network = network(section);
        let closes = network.as_ref().is_some_and(|set| set.value == Reach::Closed);
        Self {
            mode: mode.filter(|_| requires || section.counts("mode")),
            network: network.filter(|_| closes || section.counts("network")),
            writable: if section.counts("writable") {
                placed(section, "writable", place)
            } else {
                Vec::new()
            },
            hidden: placed(section, "hidden", place),
            processes: section.counts("processes").then(|| section.number("processes")).flatten(),
            memory_mib: section.counts("memoryMiB").then(|| section.number("memoryMiB")).flatten(),
        }
    }

    /// Adds what a weaker scope says; its `required` holds over a stronger scope's other word.
    pub(super) fn add_weaker(&mut self, mut weaker: Self) {
        let requires = weaker.mode.as_ref().is_some_and(|set| set.value == SandboxMode::Required);
        if requires || self.mode.is_none() {
            self.mode = weaker.mode.take().or(self.mode.take());
        }
        self.network = self.network.take().or(weaker.network);
        self.writable.append(&mut weaker.writable);
        self.hidden.append(&mut weaker.hidden);
        self.processes = self.processes.take().or(weaker.processes);
        self.memory_mib = self.memory_mib.take().or(weaker.memory_mib);
    }

    /// The mode, also where none is set.
    pub fn mode(&self) -> SandboxMode {
        self.mode.as_ref().map_or(SandboxMode::default(), |set| set.value)
    }

    /// The network, also where nothing is set.
    pub fn network(&self) -> Reach {
        self.network.as_ref().map_or(Reach::Closed, |set| set.value.clone())
    }
}

/// `"closed"`, `"open"`, or a list of hosts.
pub(super) fn network(section: &Section<'_>) -> Option<Setting<Reach>> {
    if !section.is_list("network") {
        let written = section.text("network")?;
        return match written.value.as_str() {
            "closed" => Some(written.map(|_| Reach::Closed)),
            "open" => Some(written.map(|_| Reach::Open)),
            other => {
                section.document.problem(
                    written.origin.line,
                    format!("\"{other}\" is no network of a sandbox"),
                    "write \"closed\", \"open\", or a list of hosts: [\"crates.io\", \"*.npmjs.org\", \"127.0.0.1:8080\"]",
                );
                None
            }
        };
    }
    let origin = section.origin("network");
    let list = section.texts("network");
    let mut hosts = Vec::new();
    for item in list.items {
        if Reach::is_host(&item.value) {
            hosts.push(item.value);
        } else {
            section.document.problem(
                item.origin.line,
                format!("\"{}\" is no host", item.value),
                "write a name (example.org), a domain (*.example.org), or name and port (127.0.0.1:8080); no https://, no path",
            );
        }
    }
    Some(Setting { value: Reach::Hosts(hosts), origin })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Scope, Settings, SettingsSource};

    fn read(trusted: bool, texts: &[(Scope, &str)]) -> SandboxSetting {
        let sources: Vec<_> =
            texts.iter().map(|(scope, text)| SettingsSource::new(*scope, scope.name(), *text)).collect();
        let place = Place { workspace: "/w".into(), home: Some("/home/u".into()), trusted };
        Settings::load(&sources, &place).sandbox
    }

    #[test]
    fn without_settings_commands_run_in_it_and_reach_nobody() {
        let none = read(true, &[]);
        assert_eq!((none.mode(), none.network()), (SandboxMode::Preferred, Reach::Closed));
    }

    #[test]
    fn an_untrusted_workspace_only_tightens() {
        let loose = "[sandbox]\nmode = 'off'\nnetwork = 'open'\nwritable = ['/']\nhidden = ['/x']";
        let ignored = read(false, &[(Scope::Workspace, loose)]);
        assert_eq!((ignored.mode(), ignored.network()), (SandboxMode::Preferred, Reach::Closed));
        assert_eq!((ignored.writable.len(), ignored.hidden.len()), (0, 1));
        let counts = read(true, &[(Scope::Workspace, loose)]);
        assert_eq!((counts.mode(), counts.network()), (SandboxMode::Off, Reach::Open));
        let strict = "[sandbox]\nmode = 'required'\nnetwork = 'closed'";
        let user = "[sandbox]\nmode = 'off'\nnetwork = ['crates.io']";
        let tightened = read(false, &[(Scope::Workspace, strict), (Scope::User, user)]);
        assert_eq!((tightened.mode(), tightened.network()), (SandboxMode::Required, Reach::Closed));
    }

    #[test]
    fn limits_are_numbers_of_whoever_is_trusted() {
        let text = "[sandbox]\nprocesses = 500\nmemoryMiB = 4_096";
        let set = read(true, &[(Scope::User, text)]);
        let numbers = (set.processes.map(|set| set.value), set.memory_mib.map(|set| set.value));
        assert_eq!(numbers, (Some(500), Some(4_096)));
        let ignored = read(false, &[(Scope::Workspace, text)]);
        assert!(ignored.processes.is_none() && ignored.memory_mib.is_none());
    }

    #[test]
    fn required_holds_whoever_says_it_and_of_hosts_the_strongest_list() {
        let off = "[sandbox]\nmode = 'off'\nnetwork = ['a.example', '*.b.example', '127.0.0.1:80']";
        let required = "[sandbox]\nmode = 'required'\nnetwork = 'open'";
        let both = read(true, &[(Scope::Workspace, off), (Scope::User, required)]);
        assert_eq!(both.mode(), SandboxMode::Required);
        assert!(matches!(both.network(), Reach::Hosts(hosts) if hosts.len() == 3));
    }
}
