//! Looks at processes from outside: which there are beneath a supervisor, and a signal for each.
//!
//! Good for names and for asking politely. It may miss what is being forked meanwhile, so that certainty is
//! left to the supervisor.

use super::stat::Stat;
use rustix::{
    io::Errno,
    process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal},
};
use std::{
    collections::{HashMap, HashSet},
    fs::{self, File},
    io::Read as _,
    path::Path,
    sync::LazyLock,
};

/// How often a tree that changes is walked again.
const WALKS_AGAIN: usize = 3;
/// A tree of more processes isn't walked: to go through all of the machine's costs no more then.
const WALKED_MAX: usize = 4_096;
/// A list of some five hundred children.
const LIST_BYTES: usize = 4_096;
/// Whether the system lists the children of each thread.
static LISTS_CHILDREN: LazyLock<bool> = LazyLock::new(|| Path::new("/proc/thread-self/children").exists());

/// A process as it was when looked at.
#[derive(Debug, Clone)]
pub(super) struct Process {
    /// Its id.
    pub(super) pid: i32,
    /// What else is known.
    pub(super) stat: Stat,
}

impl Process {
    /// Whether both are one process, and not two with one id.
    pub(super) fn is(&self, other: &Self) -> bool {
        self.pid == other.pid && self.stat.started() == other.stat.started()
    }

    /// Sends signals, one after the other, unless the id means another process by now.
    pub(super) fn signal(&self, signals: &[Signal]) {
        let Some(pid) = Pid::from_raw(self.pid) else {
            return;
        };
        let handle = pidfd_open(pid, PidfdFlags::empty());
        // The handle stands for whoever had the id when it was opened: look once more who that is.
        let now = Stat::read(&self.pid.to_string()).and_then(|stat| stat.started());
        if now.is_none() || now != self.stat.started() {
            return;
        }
        for &signal in signals {
            // It may have ended, or be another user's by now.
            let _ = match &handle {
                Ok(handle) => pidfd_send_signal(handle, signal),
                Err(Errno::NOSYS) => kill_process(pid, signal),
                Err(gone) => Err(*gone),
            };
        }
    }
}

/// What lives beneath a process, parents first; the process itself isn't part of it.
pub(super) fn living_beneath(root: i32) -> Vec<Process> {
    let mut found = settled(root).unwrap_or_else(|| sorted_out(all(), root));
    found.retain(|process| process.stat.is_living());
    found
}

/// What is beneath a process, found from child to child, which takes as long as the tree is large, whatever else runs on
/// the machine. None where the system keeps no lists of children, or the tree is too large to be walked.
///
/// A process whose parent ends goes to another that may have been passed already. So it is walked again until two walks
/// meet the same.
fn settled(root: i32) -> Option<Vec<Process>> {
    if !*LISTS_CHILDREN {
        return None;
    }
    let mut found = walked(root)?;
    for _ in 0..WALKS_AGAIN {
        let again = walked(root)?;
        let is_settled = ids(&found).eq(ids(&again));
        found = again;
        if is_settled {
            break;
        }
    }
    Some(found)
}

fn ids(processes: &[Process]) -> impl Iterator<Item = i32> {
    processes.iter().map(|process| process.pid)
}

fn walked(root: i32) -> Option<Vec<Process>> {
    let threads = Stat::read(&root.to_string())?.threads();
    let mut found = Vec::new();
    let mut met = HashSet::from([root]);
    let mut parents = vec![(root, threads)];
    while let Some((parent, threads)) = parents.pop() {
        for pid in children(parent, threads) {
            if found.len() >= WALKED_MAX {
                return None;
            }
            let stat = Stat::read(&pid.to_string());
            // Else it went to another parent, or its id to another process.
            let Some(stat) = stat.filter(|stat| stat.parent() == Some(parent)) else { continue };
            if met.insert(pid) {
                parents.push((pid, stat.threads()));
                found.push(Process { pid, stat });
            }
        }
    }
    Some(found)
}

/// The children of a process, of all its threads.
fn children(process: i32, threads: Option<u64>) -> Vec<i32> {
    let folder = format!("/proc/{process}/task");
    if threads == Some(1) {
        return numbers(&list(format!("{folder}/{process}/children").as_ref()));
    }
    let threads = fs::read_dir(folder).into_iter().flatten().flatten();
    threads.flat_map(|thread| numbers(&list(&thread.path().join("children")))).collect()
}

/// A list of the system's, in one piece if it isn't long: between two pieces it may change. Empty for a thread that has
/// ended, which left its children to another.
fn list(path: &Path) -> Vec<u8> {
    let mut list = Vec::with_capacity(LIST_BYTES);
    let _ = File::open(path).and_then(|mut file| file.read_to_end(&mut list));
    list
}

/// The numbers of a list as the system writes it: each with a blank after it.
fn numbers(list: &[u8]) -> Vec<i32> {
    let list = String::from_utf8_lossy(list);
    list.split_ascii_whitespace().filter_map(|number| number.parse().ok()).collect()
}

/// What of all processes is beneath one.
fn sorted_out(all: Vec<Process>, root: i32) -> Vec<Process> {
    let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
    for process in all {
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
    let Ok(entries) = fs::read_dir("/proc") else {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        io::{BufRead as _, BufReader},
        process::{Child, Command, Stdio},
        time::{Duration, Instant},
    };

    const LIMIT: Duration = Duration::from_secs(20);

    /// A shell, which has read its line when this returns.
    fn shell(script: &str) -> Child {
        let mut shell = Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(shell.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        shell
    }

    fn pid(child: &Child) -> i32 {
        i32::try_from(child.id()).unwrap()
    }

    /// Ends what the shell started, and the shell.
    fn end(mut shell: Child) {
        for process in living_beneath(pid(&shell)) {
            process.signal(&[Signal::KILL]);
        }
        shell.kill().unwrap();
        shell.wait().unwrap();
    }

    #[test]
    fn a_walk_meets_what_a_look_at_all_processes_finds_parents_first() {
        if !*LISTS_CHILDREN {
            println!("left out: the system doesn't list children");
            return;
        }
        // The inner shell waits, so that it stays the parent of the last one.
        let shell = shell("sleep 47131 & sh -c 'setsid sleep 47131 & echo up; wait; :'; :");
        let root = pid(&shell);
        let began = Instant::now();
        // The children may still be on their way to what they execute.
        let found = loop {
            let found = settled(root);
            let names: Vec<String> =
                found.iter().flatten().map(|process| process.stat.name.clone()).collect();
            if names.iter().filter(|name| *name == "sleep").count() == 2 {
                break found.unwrap();
            }
            assert!(began.elapsed() < LIMIT, "{names:?}");
        };
        let sorted = |processes: &[Process]| {
            let mut all: Vec<i32> = ids(processes).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(found.len(), 3);
        assert_eq!(sorted(&found), sorted(&sorted_out(all(), root)));
        let mut met = vec![root];
        for process in &found {
            assert!(met.contains(&process.stat.parent().unwrap()), "{found:?}");
            met.push(process.pid);
        }
        end(shell);
    }

    #[test]
    fn children_of_every_thread_are_met_and_those_of_others_are_not() {
        if !*LISTS_CHILDREN {
            println!("left out: the system doesn't list children");
            return;
        }
        let (told, hear) = std::sync::mpsc::channel();
        let (end_it, ends) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let child = shell("echo up; exec sleep 47132");
            told.send(pid(&child)).unwrap();
            let _ = ends.recv();
            end(child);
        });
        let child = hear.recv().unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        let is_met = |root: i32| ids(&walked(root).unwrap()).any(|pid| pid == child);
        assert!(is_met(own) && !is_met(child));
        drop(end_it);
        thread.join().unwrap();
    }

    #[test]
    fn what_was_stopped_ends_by_the_signals_of_one_look() {
        let mut shell = shell("echo up; kill -STOP $$; exec sleep 47133");
        let process = Process { pid: pid(&shell), stat: Stat::read(&shell.id().to_string()).unwrap() };
        let began = Instant::now();
        let is_stopped = || {
            let stat = fs::read_to_string(format!("/proc/{}/stat", process.pid)).unwrap();
            stat.contains(") T ")
        };
        while !is_stopped() {
            assert!(began.elapsed() < LIMIT);
        }
        process.signal(&[Signal::TERM, Signal::CONT]);
        let status = shell.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(libc::SIGTERM));
    }

    #[test]
    fn lists_of_children_are_read_whatever_is_in_them() {
        assert_eq!(numbers(b"12 345 6 "), [12, 345, 6]);
        assert_eq!(numbers(b"\n12 x -\xff 99999999999 7"), [12, 7]);
        assert!(numbers(b"").is_empty());
    }

    #[test]
    fn nothing_is_beneath_what_is_gone() {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert!(settled(pid(&child)).is_none());
        assert!(living_beneath(pid(&child)).is_empty());
    }
}
