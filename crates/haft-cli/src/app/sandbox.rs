//! The sandbox that commands of this workspace run in.

use super::{App, real_text};
use haft_core::{Confined, Confinement, Kept, Reach};
use haft_os::{Limits, Sandbox};
use haft_policy::{Confines, Policy, hidden_in, kept_in, watched_in};
use haft_runtime::{
    SPILL_FOLDER,
    settings::{McpSandbox, SandboxMode},
};
use std::path::{Path, PathBuf};

/// Folders for temporary files, which commands may write. Shared memory is a command's own where it has its own view of
/// the files.
const TEMP: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];
/// Variables that lead to sockets of the user's services, behind what stands before the path.
const SOCKETS: [(&str, &str); 5] = [
    ("SSH_AUTH_SOCK", ""),
    ("TMUX", ""),
    ("DOCKER_HOST", "unix://"),
    ("CONTAINER_HOST", "unix://"),
    ("DBUS_SESSION_BUS_ADDRESS", "unix:path="),
];
const MIB_BYTES: u64 = 1 << 20;

impl App {
    /// The sandbox, unless the settings switch it off; what the policy denies to be read is hidden in it.
    pub(crate) fn sandbox(&self, policy: &Policy) -> Option<Sandbox> {
        let setting = &self.settings.sandbox;
        let mode = setting.mode();
        if mode == SandboxMode::Off {
            return None;
        }
        let roots = self.inner_roots();
        let further = setting.writable.iter().map(|set| set.value.absolute.as_str());
        let mut writable = roots.clone();
        writable.extend(further.filter_map(|folder| real_text(Path::new(folder))));
        let confinement = Confinement {
            network: setting.network(),
            required: mode == SandboxMode::Required,
            ..self.confinement(policy, writable)
        };
        Some(self.sandbox_of(confinement, &roots))
    }

    /// The sandbox of a server that the settings put into one: it changes what they name and reaches whom they name, and
    /// doesn't run where the machine can't keep it to that.
    pub(super) fn server_sandbox(&self, setting: &McpSandbox) -> Sandbox {
        let named = setting.writable.iter().filter_map(|placed| real_text(Path::new(&placed.absolute)));
        let named: Vec<String> = named.collect();
        let confinement = Confinement {
            network: setting.network.clone(),
            required: true,
            ..self.confinement(&self.policy(), named.clone())
        };
        self.sandbox_of(confinement, &named)
    }

    /// A sandbox in which nothing runs where these folders hold what haft itself goes by.
    fn sandbox_of(&self, confinement: Confinement, roots: &[String]) -> Sandbox {
        let sandbox = Sandbox::new(confinement, self.state_root());
        match self.refusal(roots) {
            Some(why) => sandbox.refuse(why),
            None => sandbox,
        }
    }

    /// The folders that count as inside.
    fn inner_roots(&self) -> Vec<String> {
        let mut roots = vec![self.place.workspace.clone()];
        roots.extend(self.extra_roots().iter().filter_map(|root| real_text(root)));
        roots
    }

    /// What is kept and hidden from everything, where these folders and those for temporary files may be changed.
    fn confinement(&self, policy: &Policy, mut writable: Vec<String>) -> Confinement {
        let setting = &self.settings.sandbox;
        let roots = self.inner_roots();
        let home = self.place.home.as_deref().and_then(|home| real_text(Path::new(home)));
        let kept = self.kept(&roots, home.as_deref());
        let mut watched = home.as_deref().map(|home| watched_at_home(home, &roots)).unwrap_or_default();
        watched.extend(roots.iter().flat_map(|root| watched_in(root)));
        let temp = TEMP.iter().copied().chain(self.environment.get("TMPDIR"));
        writable.extend(temp.filter_map(|folder| real_text(Path::new(folder))));
        writable.sort();
        writable.dedup();
        let mut hidden: Vec<String> = home.as_deref().map(hidden_in).unwrap_or_default();
        hidden.extend(setting.hidden.iter().map(|set| set.value.absolute.clone()));
        // What no rule lets a command read by name, no program reads by itself.
        hidden.extend(policy.hidden_places());
        // What haft knows of this and other workspaces; this one's long results stay in reach.
        hidden.extend(real_or_written(&self.home.state));
        hidden.extend(self.sockets(&writable, home.as_deref()));
        let mut shown: Vec<String> =
            real_or_written(&self.state_root().join(SPILL_FOLDER)).into_iter().collect();
        // Some keep the programs of a session among its sockets.
        let path = self.environment.get("PATH").unwrap_or_default();
        shown.extend(
            std::env::split_paths(path)
                .filter(|folder| folder.starts_with("/run"))
                .filter_map(|folder| real_text(&folder)),
        );
        Confinement { writable, kept, hidden, shown, watched, ..Confinement::default() }
    }

    /// What stays as it is: what makes programs run in the folders of work and, where some of it can be written, in the
    /// home; and what haft itself goes by.
    fn kept(&self, roots: &[String], home: Option<&str>) -> Vec<Kept> {
        let mut kept: Vec<Kept> = roots.iter().flat_map(|root| kept_in(root)).collect();
        let in_home = home.filter(|home| !roots.iter().any(|root| root == home)).map(kept_in);
        kept.extend(in_home.into_iter().flatten().map(|kept| Kept { even_absent: false, ..kept }));
        let own = [self.own_folder(), self.home.tools.clone()];
        let own = own.iter().filter_map(|path| real_or_written(path));
        kept.extend(own.map(|path| Kept { path, even_absent: true }));
        kept
    }

    /// Why no command runs here: what haft goes by would be a command's to change.
    fn refusal(&self, roots: &[String]) -> Option<String> {
        let own = real_or_written(&self.own_folder())?;
        let state = real_or_written(&self.home.state)?;
        let is_own = |root: &&String| **root == own || Path::new(root).starts_with(&state);
        roots.iter().find(is_own).map(|root| {
            format!(
                "commands may change {root}, and haft's own files lie there: work in another folder, or set HAFT_HOME to one \
                 that isn't a workspace"
            )
        })
    }

    /// Where the user's settings lie.
    fn own_folder(&self) -> PathBuf {
        self.home.config.parent().map_or_else(|| self.home.config.clone(), Path::to_owned)
    }

    /// Folders of sockets that the environment names; of one that holds more than these, just the socket.
    fn sockets(&self, writable: &[String], home: Option<&str>) -> Vec<String> {
        let is_private = |folder: &Path| {
            let mut needed = writable.iter().map(String::as_str).chain(home);
            folder.parent().is_some() && !needed.any(|needed| Path::new(needed).starts_with(folder))
        };
        let runtime = self.environment.get("XDG_RUNTIME_DIR").map(PathBuf::from);
        let mut found: Vec<PathBuf> = runtime.into_iter().filter(|folder| is_private(folder)).collect();
        for (variable, before) in SOCKETS {
            let Some(value) = self.environment.get(variable).and_then(|value| value.strip_prefix(before))
            else {
                continue;
            };
            let socket = Path::new(value.split([',', ';']).next().unwrap_or_default());
            let folder = socket.parent().filter(|folder| is_private(folder) && is_of_sockets(folder));
            found.push(folder.unwrap_or(socket).to_owned());
        }
        found
            .iter()
            .filter(|path| path.is_absolute())
            .filter_map(|path| path.to_str().map(str::to_owned))
            .collect()
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

/// What makes programs run in a home that commands may write: what isn't there can't be made, not even for a while, since
/// logins read it.
fn watched_at_home(home: &str, roots: &[String]) -> Vec<String> {
    if !roots.iter().any(|root| Path::new(home).starts_with(root)) {
        return Vec::new();
    }
    kept_in(home).into_iter().filter(|kept| !kept.even_absent).map(|kept| kept.path).collect()
}

/// Whether a folder is one that programs make for their sockets alone.
fn is_of_sockets(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    ["ssh-", "tmux-", "agent"].iter().any(|start| name.starts_with(start))
}

fn real_or_written(path: &Path) -> Option<String> {
    real_text(path).or_else(|| path.to_str().map(str::to_owned))
}
