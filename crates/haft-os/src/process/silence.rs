//! Notices a tree of processes that prints nothing and uses no processor.
//!
//! It only says so: whether that is a fault is for others to judge. Looks are rare, and none is made while the command
//! prints.

use super::{
    stat::Stat,
    tree::{self, Process},
};
use haft_core::{Quiet, Survivor, Tether};
use std::{collections::HashSet, time::Duration};
use tokio::time::Instant;

/// So many looks are made before silence is told.
const LOOKS: u32 = 6;
/// Looks are at least so far apart.
const LOOK_MIN: Duration = Duration::from_millis(50);
/// Between looks that are so far apart a process may wake just to wait on: one tick of the processor is no work then.
const LOOK_LONG: Duration = Duration::from_secs(1);
/// How many processes are named.
const NAMED_MAX: usize = 4;

/// The silence of one command.
pub(super) struct Silence {
    tether: Tether,
    after: Duration,
    since: Instant,
    next: Instant,
    used: Option<u64>,
    is_told: bool,
}

impl Silence {
    /// To be told to `tether` after so long.
    pub(super) fn new(tether: Tether, after: Duration) -> Self {
        let now = Instant::now();
        let next = now.checked_add(gap(after)).unwrap_or(now);
        Self { tether, after, since: now, next, used: None, is_told: false }
    }

    /// When to look.
    pub(super) fn next(&self) -> Instant {
        self.next
    }

    /// The command printed something.
    pub(super) fn broken(&mut self) {
        self.since = Instant::now();
        if std::mem::take(&mut self.is_told) {
            self.tether.set_quiet(None);
        }
    }

    /// Whether a look can say anything yet; else the next one is later.
    pub(super) fn is_due(&mut self) -> bool {
        let now = Instant::now();
        let gap = gap(self.after);
        let is_due = now.saturating_duration_since(self.since) >= gap;
        if !is_due {
            self.next = now.checked_add(gap).unwrap_or(now);
        }
        is_due
    }

    /// Takes what was found.
    pub(super) fn take(&mut self, found: &Found, first: Option<i32>) {
        let now = Instant::now();
        let work = if gap(self.after) < LOOK_LONG { 1 } else { 2 };
        let before = self.used.replace(found.used);
        let is_idle = before.is_some_and(|before| found.used.abs_diff(before) < work);
        if !is_idle {
            self.broken();
        }
        let time = now.saturating_duration_since(self.since);
        if time >= self.after && !self.is_told {
            self.is_told = true;
            self.tether.set_quiet(Some(Quiet { time, waiting: found.waiting(first) }));
        }
        self.next = now.checked_add(gap(self.after)).unwrap_or(now);
    }
}

/// Between two looks.
fn gap(after: Duration) -> Duration {
    after.checked_div(LOOKS).unwrap_or(after).max(LOOK_MIN)
}

/// What a look found beneath a supervisor.
#[derive(Default)]
pub(super) struct Found {
    processes: Vec<Process>,
    used: u64,
}

impl Found {
    /// Looks. Blocking.
    pub(super) fn beneath(supervisor: i32) -> Self {
        let processes = tree::living_beneath(supervisor);
        // What has ended and was reaped by the supervisor counts too.
        let reaped = Stat::read(&supervisor.to_string()).map_or(0, |stat| stat.used());
        let used = processes.iter().map(|process| process.stat.used()).fold(reaped, u64::saturating_add);
        Self { processes, used }
    }

    /// Those that wait for no other: the ends of the tree. `first` isn't named where it only holds namespaces.
    fn waiting(&self, first: Option<i32>) -> Vec<Survivor> {
        let parents: HashSet<i32> =
            self.processes.iter().filter_map(|process| process.stat.parent()).collect();
        self.processes
            .iter()
            .filter(|process| !parents.contains(&process.pid) && Some(process.pid) != first)
            .take(NAMED_MAX)
            .map(|process| Survivor { pid: process.pid, name: process.stat.name.clone() })
            .collect()
    }
}
