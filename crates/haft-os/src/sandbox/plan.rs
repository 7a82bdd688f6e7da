//! Everything that a confined process needs, made ready before it is forked.

use super::{
    bubblewrap::Through,
    landlock, mounts,
    mounts::Step,
    owner::{Gate, Owners},
    seccomp,
};
use haft_core::{Allowance, Confined, Confinement, Failure, FailureKind, Layer, Reach};
use rustix::fs::fstat;
use seccompiler::BpfProgram;
use std::{
    borrow::Cow,
    ffi::CString,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::Path,
};

/// Which layers are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layers {
    /// Mounts, process ids and network of its own.
    pub(crate) namespaces: bool,
    /// Whether bubblewrap puts those up.
    pub(crate) bubblewrap: bool,
    /// Whether the new process ids can be seen in `/proc`.
    pub(crate) own_processes: bool,
    /// Landlock.
    pub(crate) landlock: bool,
    /// Refused system calls.
    pub(crate) seccomp: bool,
}

impl Layers {
    /// What commands aren't kept from with these layers; empty where nothing is missing.
    pub(crate) fn gaps(self, confinement: &Confinement) -> Vec<Cow<'static, str>> {
        let mut gaps: Vec<Cow<'static, str>> = Vec::new();
        if self.namespaces && !self.own_processes {
            gaps.push("the processes outside and their command lines can be seen".into());
        }
        if self.namespaces
            && confinement.network == Reach::Open
            && (!self.landlock || landlock::version() < 6)
        {
            gaps.push("sockets of local services that have no path can be reached".into());
        }
        if !self.namespaces {
            if self.landlock {
                gaps.push("protected paths inside the workspace can be changed".into());
                gaps.push("modes and times of files outside the workspace can be changed".into());
                let is_within = |hidden: &String| {
                    confinement.writable.iter().any(|root| Path::new(hidden).starts_with(root))
                };
                if confinement.hidden.iter().any(is_within) {
                    gaps.push("what is hidden in folders that can be written can be read and changed".into());
                }
            } else {
                gaps.push("files outside the workspace can be changed".into());
                gaps.push("secrets in the home folder can be read".into());
            }
            gaps.push("sockets of local services can be reached".into());
            if !self.landlock || landlock::version() < 6 {
                gaps.push("other processes of the user can be signalled".into());
            }
            match &confinement.network {
                Reach::Open => {}
                Reach::Closed if self.seccomp => {}
                Reach::Hosts(_) if self.seccomp => {
                    gaps.push("no host can be reached, also no allowed one".into());
                }
                Reach::Closed | Reach::Hosts(_) => {
                    gaps.push("the network can be reached".into());
                }
            }
        }
        if !self.seccomp {
            gaps.push("no system calls are refused".into());
        }
        gaps
    }

    /// What is in place with them.
    pub(crate) fn confined(self, confinement: &Confinement) -> Confined {
        let layers = [
            (self.namespaces, Layer::Namespaces),
            (self.bubblewrap, Layer::Bubblewrap),
            (self.landlock, Layer::Landlock),
            (self.seccomp, Layer::Seccomp),
            (true, Layer::Capabilities),
        ];
        let layers = layers.into_iter().filter(|(is_used, _)| *is_used).map(|(_, layer)| layer).collect();
        Confined { layers, gaps: self.gaps(confinement), ..Confined::default() }
    }
}

/// What is done between `fork` and `exec`.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(super) namespaces: Option<Namespaces>,
    /// What bubblewrap is started with, where it puts those up.
    pub(super) through: Option<Through>,
    pub(super) landlock: Option<OwnedFd>,
    /// What these rules are about, as the kernel numbers it.
    pub(super) landlock_rights: u64,
    /// The special rights that are left.
    pub(super) rights: u32,
    pub(super) seccomp: &'static [BpfProgram],
    pub(super) folder: CString,
    pub(super) folder_identity: (libc::dev_t, libc::ino_t),
}

/// What namespaces are made of.
#[derive(Debug)]
pub(super) struct Namespaces {
    pub(super) uid_map: Vec<u8>,
    pub(super) gid_map: Vec<u8>,
    /// Who waits at it is mapped from outside.
    pub(super) gate: Option<Gate>,
    pub(super) steps: Vec<Step>,
    /// Room for the copies that are taken.
    pub(super) taken: Vec<libc::c_int>,
    pub(super) own_network: bool,
    pub(super) own_processes: bool,
    /// Where the proxy's listening socket goes.
    pub(super) handover: Option<libc::c_int>,
    /// Keeps the descriptor open until the process is there.
    _handover: Option<UnixStream>,
}

impl Plan {
    /// A plan, and the other end of the socket by which the proxy's port comes, where there is a proxy.
    ///
    /// # Errors
    /// Unavailable where a layer can't be prepared.
    pub(crate) fn new(
        confinement: &Confinement,
        allowance: &Allowance,
        layers: Layers,
        (path, folder): (&str, &OwnedFd),
    ) -> Result<(Self, Option<UnixStream>), Failure> {
        if layers.bubblewrap {
            return Self::by_bubblewrap(confinement, allowance, layers, (path, folder));
        }
        let failed = |what: &str, why: String| {
            Failure::new(
                FailureKind::Unavailable,
                format!("the sandbox can't be prepared: {what}; nothing ran"),
            )
            .diagnose(why)
        };
        let is_open = confinement.network == Reach::Open;
        let owners = Owners::of(&confinement.writable);
        let mut ours = None;
        let namespaces = if layers.namespaces {
            let handover = match &confinement.network {
                Reach::Hosts(_) => {
                    let (here, there) = UnixStream::pair()
                        .map_err(|error| failed("no socket for its proxy", error.to_string()))?;
                    ours = Some(here);
                    Some(there)
                }
                Reach::Closed | Reach::Open => None,
            };
            let steps = mounts::steps(confinement, allowance);
            let taken = steps.iter().filter(|step| matches!(step, Step::Take(_))).count();
            let [uid_map, gid_map] = owners.maps();
            let gate = owners.gate().map_err(|error| failed("no pipe for its users", error.to_string()))?;
            Some(Namespaces {
                uid_map,
                gid_map,
                gate,
                steps,
                taken: vec![-1; taken],
                own_network: !is_open,
                own_processes: layers.own_processes,
                handover: handover.as_ref().map(AsRawFd::as_raw_fd),
                _handover: handover,
            })
        } else {
            None
        };
        let closes_by_rules = !is_open && !layers.namespaces;
        let landlock = if layers.landlock {
            // In namespaces what is hidden is hidden by mounts.
            let hidden: &[String] = if layers.namespaces { &[] } else { &confinement.hidden };
            landlock::rules(confinement, hidden, allowance, (closes_by_rules, !layers.namespaces))
                .map_err(|error| failed("the kernel refuses its rules for files", error.to_string()))?
        } else {
            None
        };
        let seccomp = if layers.seccomp {
            seccomp::programs(closes_by_rules).map_err(|why| failed("no rules for system calls", why))?
        } else {
            &[]
        };
        let stat =
            fstat(folder).map_err(|error| failed("the folder can't be looked at", error.to_string()))?;
        let folder = CString::new(path).map_err(|error| failed("the folder's name", error.to_string()))?;
        let plan = Self {
            namespaces,
            through: None,
            landlock,
            landlock_rights: landlock::rights(),
            rights: owners.rights,
            seccomp,
            folder,
            folder_identity: (stat.st_dev, stat.st_ino),
        };
        Ok((plan, ours))
    }

    /// Whether the program is the child of a first process of its own namespaces.
    pub(crate) fn has_namespaces(&self) -> bool {
        self.namespaces.is_some()
    }
}
