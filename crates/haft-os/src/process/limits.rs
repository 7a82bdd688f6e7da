//! What the tree of one command may use at most, and who sees to it.
//!
//! Of processes: the command's control group where the kernel counts in it, else the kernel's count of the user's
//! processes where the command is a user of its own, else [`super::storm`]. Of memory only a control group.

use super::cgroup::{ControlGroups, Group};
use haft_core::Confined;
use std::os::fd::OwnedFd;

/// So many processes and threads a command may have at once, where nobody says otherwise: more than builds on large
/// machines have, and far fewer than would take a machine down.
const PROCESSES: u64 = 4_096;

/// What the tree of one command may use at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Processes and threads at once.
    pub processes: u64,
    /// Bytes of memory; none is no limit.
    pub memory: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { processes: PROCESSES, memory: None }
    }
}

impl Limits {
    /// What holds a command in, with what of this can't be seen to. Blocking at the first call.
    #[must_use]
    pub fn named_in(self, mut confined: Confined) -> Confined {
        let can = || matches!(ControlGroups::detect(), ControlGroups::Usable { memory: true, .. });
        if self.memory.is_some() && !can() {
            confined.gaps.push("memory isn't limited".into());
        }
        confined
    }
}

/// What a new process does for its limits, before it becomes the program.
#[derive(Debug, Default)]
pub(super) struct Bounds {
    /// The control group that it is born into.
    pub(super) group: Option<OwnedFd>,
    /// How many processes its user may have.
    pub(super) processes: Option<u64>,
}

impl Bounds {
    /// For a command in this group. `is_own_user` says that in its namespaces nobody else's processes count as its
    /// user's; those of root aren't counted at all.
    pub(super) fn new(limits: Limits, group: Option<&Group>, is_own_user: bool) -> Self {
        let is_counted = is_own_user && !rustix::process::geteuid().is_root();
        Self { group: group.and_then(Group::handle), processes: is_counted.then_some(limits.processes) }
    }

    /// Whether nobody but haft counts the processes.
    pub(super) fn are_loose(&self, group: Option<&Group>) -> bool {
        let is_bounded = self.group.is_some() && group.is_some_and(Group::bounds_processes);
        self.processes.is_none() && !is_bounded
    }
}
