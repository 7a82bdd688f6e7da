//! Which layers work on this machine: each is tried on a process that does nothing.

use super::{Layers, Plan, landlock, sockets::Sockets};
use crate::process::try_out;
use haft_core::{Allowance, Confinement, Reach};
use std::{os::fd::OwnedFd, path::PathBuf};

const NONE: Layers =
    Layers { namespaces: false, bubblewrap: false, own_processes: false, landlock: false, seccomp: false };

/// The layers that work.
pub(super) fn layers() -> Layers {
    // Nearly always all of them work; only where they don't is each tried alone.
    let all =
        Layers { namespaces: true, bubblewrap: false, own_processes: true, landlock: true, seccomp: true };
    if landlock::version() > 0 && works(all) {
        return all;
    }
    let landlock = landlock::version() > 0 && works(Layers { landlock: true, ..NONE });
    let seccomp = works(Layers { seccomp: true, ..NONE });
    let namespaces = Layers { namespaces: true, ..NONE };
    let own_processes = works(Layers { own_processes: true, ..namespaces });
    let found = Layers { landlock, seccomp, ..NONE };
    if own_processes || works(namespaces) {
        return Layers { namespaces: true, own_processes, ..found };
    }
    by_bubblewrap(found)
}

/// The same with namespaces that bubblewrap puts up, where it can.
pub(super) fn by_bubblewrap(layers: Layers) -> Layers {
    let without = Layers { namespaces: false, bubblewrap: false, own_processes: false, ..layers };
    let through = Layers { namespaces: true, bubblewrap: true, ..without };
    let tries = [Layers { own_processes: true, ..through }, through];
    tries.into_iter().find(|layers| works(*layers)).unwrap_or(without)
}

fn works(layers: Layers) -> bool {
    // As strict as anything that is asked for later, and with somebody to hand the proxy's port to.
    let texts =
        |paths: Vec<PathBuf>| paths.iter().filter_map(|path| path.to_str().map(str::to_owned)).collect();
    let Sockets { hidden, shown, .. } = Sockets::folders_only();
    let confinement = Confinement {
        writable: vec!["/tmp".to_owned()],
        hidden: texts(hidden),
        shown: texts(shown),
        network: Reach::Hosts(Vec::new()),
        ..Confinement::default()
    };
    let Ok(root) = std::fs::File::open("/") else { return false };
    let folder = OwnedFd::from(root);
    let Ok((plan, _port)) = Plan::new(&confinement, &Allowance::default(), layers, ("/", &folder)) else {
        return false;
    };
    try_out(plan, &folder)
}
