//! Looks at processes from outside: which there are beneath a supervisor, and a signal for each.
//!
//! Good for names and for asking politely. It may miss what is being forked meanwhile, so that certainty is
//! left to the supervisor.

use super::stat::Stat;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use std::collections::{HashMap, HashSet};

/// A process as it was when looked at.
#[derive(Debug, Clone)]
pub(super) struct Process {
    /// Its id.
    pub(super) pid: i32,
    /// What else is known.
    pub(super) stat: Stat,
}

impl Process {
    /// Sends a signal, unless the id means another process by now.
    pub(super) fn signal(&self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else {
            return;
        };
        let handle = pidfd_open(pid, PidfdFlags::empty());
        // The handle stands for whoever had the id when it was opened: look once more who that is.
        let now = Stat::read(&self.pid.to_string()).and_then(|stat| stat.started());
        if now.is_none() || now != self.stat.started() {
            return;
        }
        // It may have ended, or be another user's by now.
        let _ = match handle {
            Ok(handle) => pidfd_send_signal(handle, signal),
            Err(rustix::io::Errno::NOSYS) => kill_process(pid, signal),
            Err(gone) => Err(gone),
        };
    }
}

/// What lives beneath a process, parents first; the process itself isn't part of it.
pub(super) fn living_beneath(root: i32) -> Vec<Process> {
    let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
    for process in all() {
        children.entry(process.stat.parent().unwrap_or(0)).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut met = HashSet::from([root]);
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for process in children.remove(&parent).unwrap_or_default() {
            if met.insert(process.pid) {
                parents.push(process.pid);
                found.push(process);
            }
        }
    }
    found.retain(|process| process.stat.is_living());
    found
}

/// What lives in a session.
pub(super) fn living_in_session(session: i32) -> Vec<Process> {
    let mut found = all();
    found.retain(|process| process.stat.is_living() && process.stat.session() == Some(session));
    found
}

/// Every process this one may see.
fn all() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| {
            let name = entry.ok()?.file_name();
            let name = name.to_str()?;
            let pid = name.parse().ok()?;
            Some(Process { pid, stat: Stat::read(name)? })
        })
        .collect()
}
