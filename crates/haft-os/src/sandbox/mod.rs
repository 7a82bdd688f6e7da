//! Keeps commands in: what they can change, read and reach is stated, and what of it can't be done is named.
//!
//! Layers, each tried for real before it is relied on: namespaces (an own view of the files, own process ids, own
//! network), Landlock, refused system calls, no special rights. Everything is prepared in [`Plan`] and done by raw
//! calls in the new process, so that an embedding program needs no second binary and no set-uid helper. Only where own
//! namespaces are refused, a bubblewrap that the machine has puts them up.

mod aside;
mod bubblewrap;
mod closed;
mod enter;
mod git_config;
mod hidden;
mod inventory;
mod landlock;
mod mounts;
mod own;
mod owner;
mod parts;
mod placeholder;
mod plan;
mod probe;
mod proxy;
mod repository;
mod request;
mod scene;
mod seatbelt;
mod seccomp;
mod sockets;
mod watch;

pub(crate) use bubblewrap::{INSIDE, Message, Through, serves};
pub use closed::close_off;
pub(crate) use enter::{build, clone_flags, give_up_rights, go_to_folder, listen, lock, map_ids};
pub(crate) use plan::{Layers, Plan};
pub(crate) use proxy::{Proxy, variables};
pub(crate) use scene::Scene;

use haft_core::{Allowance, Confined, Confinement, Failure, FailureKind, Layer};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};
use watch::Watch;

/// The sandbox that confined commands run in.
#[derive(Debug)]
pub struct Sandbox {
    confinement: Confinement,
    state: PathBuf,
    layers: OnceLock<Layers>,
    watch: Arc<Watch>,
    refusal: Option<String>,
}

impl Sandbox {
    /// A sandbox; `state` is a folder of haft's own, where it notes what it made for a while.
    pub fn new(confinement: Confinement, state: PathBuf) -> Self {
        // What may change everything is kept in by nothing.
        let is_all = confinement.writable.iter().any(|root| Path::new(root).parent().is_none());
        let refusal = is_all.then(|| {
            "commands may change the root folder, and no sandbox keeps anything then: work in a folder beneath it".to_owned()
        });
        Self { confinement, state, layers: OnceLock::new(), watch: Arc::default(), refusal }
    }

    /// The same, in which nothing runs, for a reason that is told.
    #[must_use]
    pub fn refuse(self, why: String) -> Self {
        Self { refusal: Some(why), ..self }
    }

    /// The same without a layer, as on a machine that hasn't got it. Blocking: the others are tried.
    #[must_use]
    pub fn without(self, layer: Layer) -> Self {
        let layers = self.layers();
        let layers = match layer {
            Layer::Namespaces => Layers { namespaces: false, bubblewrap: false, ..layers },
            Layer::Bubblewrap if layers.bubblewrap => {
                Layers { namespaces: false, bubblewrap: false, ..layers }
            }
            Layer::Bubblewrap => layers,
            Layer::Landlock => Layers { landlock: false, ..layers },
            Layer::Seccomp => Layers { seccomp: false, ..layers },
            Layer::Capabilities => layers,
        };
        Self { layers: OnceLock::from(layers), ..self }
    }

    /// The same with namespaces that bubblewrap puts up, also where own ones work; without any where it doesn't.
    /// Blocking: it is tried.
    #[must_use]
    pub fn by_bubblewrap(self) -> Self {
        let layers = probe::by_bubblewrap(self.layers());
        Self { layers: OnceLock::from(layers), ..self }
    }

    /// Where a bubblewrap lies that can be trusted, whether or not it works.
    pub fn bubblewrap() -> Option<&'static Path> {
        bubblewrap::program()
    }

    /// Which version of Landlock the kernel has; 0 where it has none, or it is switched off.
    pub fn landlock_version() -> i32 {
        landlock::version()
    }

    /// What commands may do.
    pub(crate) fn confinement(&self) -> &Confinement {
        &self.confinement
    }

    /// What keeps them in here, and what doesn't. Blocking at the first call, since each layer is tried.
    pub fn confined(&self) -> Confined {
        let mut confined = self.layers().confined(&self.confinement);
        confined.gaps.extend(self.refusal.clone().map(Into::into));
        confined
    }

    /// What holds for one command. Blocking.
    ///
    /// # Errors
    /// Nothing would keep any command in, or a folder that its tool's profile opens can't be made, stays closed or leads
    /// somewhere else.
    pub(crate) fn own(&self, allowance: &Allowance) -> Result<Confinement, Failure> {
        if let Some(why) = &self.refusal {
            return Err(Failure::new(
                FailureKind::Unavailable,
                format!(
                    "{why}; nothing ran. With outside=true it runs outside the sandbox, and the user is asked"
                ),
            ));
        }
        own::own(&self.confinement, allowance)
    }

    /// What keeps a command in for which this holds, and what doesn't.
    pub(crate) fn confined_as(&self, own: &Confinement) -> Confined {
        self.layers().confined(own)
    }

    pub(crate) fn layers(&self) -> Layers {
        *self.layers.get_or_init(probe::layers)
    }

    /// What stands around a command for which this holds and was approved.
    ///
    /// # Errors
    /// What has to be made for it can't be.
    pub(crate) fn scene(&self, own: &Confinement, allowance: &Allowance) -> Result<Scene, Failure> {
        Scene::set(self, own, allowance)
    }
}

/// # Errors
/// Unavailable where everything is required and something of what holds for a command is missing.
pub(crate) fn require(is_required: bool, confined: &Confined) -> Result<(), Failure> {
    if !is_required || confined.gaps.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        FailureKind::Unavailable,
        format!(
            "commands may only run in a sandbox here, and it isn't whole: {}; nothing ran. Tell the user that \
             `haft doctor` says how to mend it",
            confined.gaps.join("; ")
        ),
    ))
}
