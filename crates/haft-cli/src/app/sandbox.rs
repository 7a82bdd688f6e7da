//! The sandbox that commands of this workspace run in.

use super::App;
use haft_core::{Confined, Confinement, Reach};
use haft_os::{Limits, Sandbox, host};
use haft_policy::{Confines, Policy, hidden_in, kept_in};
use haft_runtime::settings::SandboxMode;
use std::path::Path;

/// Folders for temporary files, which commands may write.
const TEMP: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
const MIB_BYTES: u64 = 1 << 20;

impl App {
    /// The sandbox, unless the settings switch it off; what the policy denies to be read is hidden in it.
    pub(crate) fn sandbox(&self, policy: &Policy) -> Option<Sandbox> {
        let setting = &self.settings.sandbox;
        let mode = setting.mode();
        if mode == SandboxMode::Off {
            return None;
        }
        let mut roots = vec![self.place.workspace.clone()];
        roots.extend(self.extra_roots().iter().filter_map(|root| real(root)));
        let kept = roots.iter().flat_map(|root| kept_in(root)).collect();
        let temp = TEMP.iter().copied().chain(self.environment.get("TMPDIR"));
        let further = setting.writable.iter().map(|set| set.value.absolute.as_str());
        let mut writable = roots;
        writable.extend(temp.chain(further).filter_map(|folder| real(Path::new(folder))));
        writable.sort();
        writable.dedup();
        let home = self.place.home.as_deref().and_then(|home| real(Path::new(home)));
        let mut hidden: Vec<String> = home.as_deref().map(hidden_in).unwrap_or_default();
        hidden.extend(setting.hidden.iter().map(|set| set.value.absolute.clone()));
        // What no rule lets a command read by name, no program reads by itself.
        hidden.extend(policy.hidden_places());
        // What haft knows of this and other workspaces; long results stay in reach.
        let state = self.state_root();
        hidden.extend(
            [self.home.state.join("trust"), state.join("sessions")]
                .iter()
                .filter_map(|path| path.to_str().map(str::to_owned)),
        );
        let confinement = Confinement {
            writable,
            kept,
            hidden,
            network: setting.network(),
            required: mode == SandboxMode::Required,
        };
        Some(Sandbox::new(confinement, state))
    }

    /// What each command may use at most.
    pub(crate) fn limits(&self) -> Limits {
        let setting = &self.settings.sandbox;
        let usual = Limits::default();
        Limits {
            processes: setting.processes.as_ref().map_or(usual.processes, |set| set.value),
            memory: setting.memory_mib.as_ref().map(|set| set.value.saturating_mul(MIB_BYTES)),
        }
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
