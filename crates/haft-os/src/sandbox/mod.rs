//! Keeps commands in: what they can change, read and reach is stated, and what of it can't be done is named.
//!
//! Layers, each tried for real before it is relied on: namespaces (an own view of the files, own process ids, own
//! network), Landlock, refused system calls, no special rights. Everything is prepared in [`Plan`] and done by raw
//! calls in the new process, so that an embedding program needs no second binary and no set-uid helper.

mod closed;
mod enter;
mod landlock;
mod mounts;
mod placeholder;
mod plan;
mod probe;
mod proxy;
mod seccomp;
mod sockets;

pub use closed::close_off;
pub(crate) use enter::{build, clone_flags, give_up_rights, go_to_folder, lock};
pub(crate) use placeholder::Placeholders;
pub(crate) use plan::{Layers, Plan};
pub(crate) use proxy::{Proxy, variables};

use haft_core::{Confined, Confinement, Failure, FailureKind, Layer};
use std::{
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// The sandbox that confined commands run in.
#[derive(Debug)]
pub struct Sandbox {
    confinement: Confinement,
    state: PathBuf,
    layers: OnceLock<Layers>,
}

impl Sandbox {
    /// A sandbox; `state` is a folder of haft's own, where it notes what it made for a while.
    pub fn new(confinement: Confinement, state: PathBuf) -> Self {
        Self { confinement, state, layers: OnceLock::new() }
    }

    /// The same without a layer, as on a machine that hasn't got it. Blocking: the others are tried.
    #[must_use]
    pub fn without(self, layer: Layer) -> Self {
        let layers = self.layers();
        let layers = match layer {
            Layer::Namespaces => Layers { namespaces: false, ..layers },
            Layer::Landlock => Layers { landlock: false, ..layers },
            Layer::Seccomp => Layers { seccomp: false, ..layers },
            Layer::Capabilities => layers,
        };
        Self { layers: OnceLock::from(layers), ..self }
    }

    /// What commands may do.
    pub(crate) fn confinement(&self) -> &Confinement {
        &self.confinement
    }

    /// What keeps them in here, and what doesn't. Blocking at the first call, since each layer is tried.
    pub fn confined(&self) -> Confined {
        self.layers().confined(&self.confinement)
    }

    pub(crate) fn layers(&self) -> Layers {
        *self.layers.get_or_init(probe::layers)
    }

    /// Where what was made for a while is noted.
    pub(crate) fn placeholders(&self) -> Result<Placeholders, Failure> {
        Placeholders::make(&self.confinement.kept, &self.state)
    }

    /// # Errors
    /// Unavailable where everything is required and something is missing.
    pub(crate) fn require(&self) -> Result<(), Failure> {
        let gaps = if self.confinement.required { self.confined().gaps } else { Vec::new() };
        if gaps.is_empty() {
            return Ok(());
        }
        Err(Failure::new(
            FailureKind::Unavailable,
            format!(
                "commands may only run in a sandbox here, and it isn't whole: {}; nothing ran. Tell the user that \
                 `haft doctor` says how to mend it",
                gaps.join("; ")
            ),
        ))
    }
}

/// What has to be writable so that a path is: a file that isn't there yet is made in its folder.
fn standing(path: &Path) -> &Path {
    if path.exists() { path } else { path.parent().unwrap_or(path) }
}
