//! The sandbox that commands of this workspace run in.

use super::App;
use haft_core::{Confined, Confinement, Reach};
use haft_os::{Sandbox, host};
use haft_policy::{Confines, Policy, hidden_in, kept_in};
use haft_runtime::settings::{McpSandbox, SandboxMode};
use std::path::Path;

/// Folders for temporary files, which commands may write.
const TEMP: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

impl App {
    /// The sandbox, unless the settings switch it off; what the policy denies to be read is hidden in it.
    pub(crate) fn sandbox(&self, policy: &Policy) -> Option<Sandbox> {
        let setting = &self.settings.sandbox;
        let mode = setting.mode();
        if mode == SandboxMode::Off {
            return None;
        }
        let further = setting.writable.iter().map(|set| set.value.absolute.as_str());
        let mut writable = self.inner_roots();
        writable.extend(further.filter_map(|folder| real(Path::new(folder))));
        let confinement = Confinement {
            network: setting.network(),
            required: mode == SandboxMode::Required,
            ..self.confinement(policy, writable)
        };
        Some(Sandbox::new(confinement, self.state_root()))
    }

    /// The sandbox of a server that the settings put into one: it changes what they name and reaches whom they name, and
    /// doesn't run where the machine can't keep it to that.
    pub(super) fn server_sandbox(&self, setting: &McpSandbox) -> Sandbox {
        let named = setting.writable.iter().filter_map(|placed| real(Path::new(&placed.absolute)));
        let confinement = Confinement {
            network: setting.network.clone(),
            required: true,
            ..self.confinement(&self.policy(), named.collect())
        };
        Sandbox::new(confinement, self.state_root())
    }

    /// The folders that count as inside.
    fn inner_roots(&self) -> Vec<String> {
        let mut roots = vec![self.place.workspace.clone()];
        roots.extend(self.extra_roots().iter().filter_map(|root| real(root)));
        roots
    }

    /// What is kept and hidden from everything, where these folders and those for temporary files may be changed.
    fn confinement(&self, policy: &Policy, mut writable: Vec<String>) -> Confinement {
        let setting = &self.settings.sandbox;
        let kept = self.inner_roots().iter().flat_map(|root| kept_in(root)).collect();
        let temp = TEMP.iter().copied().chain(self.environment.get("TMPDIR"));
        writable.extend(temp.filter_map(|folder| real(Path::new(folder))));
        writable.sort();
        writable.dedup();
        let home = self.place.home.as_deref().and_then(|home| real(Path::new(home)));
        let mut hidden: Vec<String> = home.as_deref().map(hidden_in).unwrap_or_default();
        hidden.extend(setting.hidden.iter().map(|set| set.value.absolute.clone()));
        // What no rule lets a command read by name, no program reads by itself.
        hidden.extend(policy.hidden_places());
        // What haft knows of this and other workspaces; long results stay in reach.
        hidden.extend(
            [self.home.state.join("trust"), self.state_root().join("sessions")]
                .iter()
                .filter_map(|path| path.to_str().map(str::to_owned)),
        );
        Confinement { writable, kept, hidden, network: Reach::Closed, required: false }
    }

    /// What the gates may rely on.
    pub(super) fn confines(&self, confined: Option<&Confined>) -> Confines {
        match confined {
            None => Confines::Nothing,
            Some(confined) if confined.is_whole() && self.settings.sandbox.network() != Reach::Open => {
                Confines::Wholly
            }
            Some(_) => Confines::Partly,
        }
    }
}

fn real(path: &Path) -> Option<String> {
    host::real_path(path)?.to_str().map(str::to_owned)
}
