//! A control group for each command: the kernel keeps all in it that the command starts, wherever that moves to, bounds
//! it where it can, and ends it at once.
//!
//! Only groups of the second kind (cgroup v2), and only beneath the group that haft is in, or beside it where a service
//! manager handed over the folder around it. Where there is none, the supervisor alone ends the tree. Keeps the
//! invariant "a group that was made is removed": what a killed haft left goes with the first command of the next.

use super::{fork::can_be_born_in, limits::Limits, stat::Stat};
use rustix::fs::{Access, Mode, OFlags, access, getxattr, open};
use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::fd::{AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
    sync::{
        LazyLock, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// How the names of groups begin: then the process that made it, when that began, and a number.
const PREFIX: &str = "haft-";
/// What a service manager marks a group with whose inside is somebody else's business.
const HANDED_OVER: &str = "user.delegate";
/// How long a group with processes that were just killed is waited for.
const EMPTY_WAIT: Duration = Duration::from_secs(5);
/// The first pause while that is waited for; it doubles.
const PAUSE_FIRST: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_millis(200);

/// What control groups do for commands here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ControlGroups {
    /// Each command has one, which ends it.
    Usable {
        /// Whether it bounds the number of processes.
        processes: bool,
        /// Whether it bounds their memory.
        memory: bool,
    },
    /// There are none for haft; why, as a part of a sentence.
    Missing(String),
}

impl ControlGroups {
    /// Looks once a process, and makes a group to try it. Blocking.
    pub fn detect() -> Self {
        match base() {
            Ok(base) => Self::Usable { processes: base.processes, memory: base.memory },
            Err(why) => Self::Missing(why.clone()),
        }
    }
}

/// Where groups are made, and what they can.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Base {
    folder: PathBuf,
    processes: bool,
    memory: bool,
}

fn base() -> &'static Result<Base, String> {
    static FOUND: OnceLock<Result<Base, String>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
        let own = own_folder(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"))
            .ok_or("cgroup v2 isn't mounted, or haft's own group lies outside of what is")?;
        let mut why = String::new();
        for folder in candidates(&own, is_handed_over) {
            match tried(&folder, folder != own) {
                Ok(base) => {
                    tidy(&folder);
                    return Ok(base);
                }
                Err(error) => why = format!("no group can be made in {}: {error}", folder.display()),
            }
        }
        Err(why)
    })
}

/// The folder of the group that this process is in.
fn own_folder(own: &str, mounts: &str) -> Option<PathBuf> {
    let group = own.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        if after.split(' ').next()? != "cgroup2" {
            return None;
        }
        let mut fields = before.split(' ').skip(3);
        let (root, point) = (unescaped(fields.next()?), unescaped(fields.next()?));
        // Of a hierarchy that is mounted in part, only what lies in that part has a folder.
        let beneath = group.strip_prefix(root.trim_end_matches('/'))?;
        if !beneath.is_empty() && !beneath.starts_with('/') {
            return None;
        }
        let parts = beneath.split('/').filter(|part| !part.is_empty());
        parts
            .clone()
            .all(|part| part != "..")
            .then(|| parts.fold(PathBuf::from(point), |at, part| at.join(part)))
    })
}

/// A path as the kernel writes it into its lists.
fn unescaped(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

/// Where groups may be made, the better place first: beside the own group they can be bounded, since no process is in
/// the group around them.
fn candidates(own: &Path, is_handed_over: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let around = own.parent().filter(|around| is_handed_over(around));
    around.into_iter().chain([own]).map(Path::to_owned).collect()
}

fn is_handed_over(folder: &Path) -> bool {
    let mut value = [0_u8; 8];
    let marked = getxattr(folder, HANDED_OVER, value.as_mut_slice())
        .is_ok_and(|length| value.get(..length) == Some(b"1".as_slice()));
    marked && fs::read_to_string(folder.join("cgroup.procs")).is_ok_and(|inside| inside.trim().is_empty())
}

/// Makes a group and looks at it. `is_ours` is a folder in which nobody else has groups or processes.
fn tried(folder: &Path, is_ours: bool) -> io::Result<Base> {
    if is_ours {
        for controller in ["+pids", "+memory"] {
            // What can't be bounded is bounded otherwise, or named.
            let _ = write(&folder.join("cgroup.subtree_control"), controller);
        }
    }
    let group = Group::made(folder)?;
    if fs::read_to_string(group.path.join("cgroup.type"))?.trim() != "domain" {
        return Err(io::Error::other("it is one for threads"));
    }
    access(group.path.join("cgroup.kill"), Access::WRITE_OK)?;
    if !group.handle().is_some_and(|handle| can_be_born_in(handle.as_raw_fd())) {
        return Err(io::Error::other("no process can be started in it"));
    }
    let has = |file: &str| access(group.path.join(file), Access::WRITE_OK).is_ok();
    Ok(Base { folder: folder.to_owned(), processes: has("pids.max"), memory: has("memory.max") })
}

/// Removes the empty groups of processes that are gone.
fn tidy(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().and_then(maker).is_some_and(|(process, began)| !is_there(process, began)) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Who made a group, by its name.
fn maker(name: &str) -> Option<(&str, u64)> {
    let mut parts = name.strip_prefix(PREFIX)?.split('-');
    let (process, began, number) = (parts.next()?, parts.next()?, parts.next()?);
    let is_whole =
        parts.next().is_none() && process.bytes().chain(number.bytes()).all(|byte| byte.is_ascii_digit());
    Some((process, began.parse().ok()?)).filter(|_| is_whole && !process.is_empty() && !number.is_empty())
}

fn is_there(process: &str, began: u64) -> bool {
    Stat::read(process).and_then(|stat| stat.started()) == Some(began)
}

/// The group of one command. Dropping it ends what is left in it and removes it.
#[derive(Debug)]
pub(super) struct Group {
    path: PathBuf,
    bounds_processes: bool,
    is_left: bool,
}

impl Group {
    /// A group with these bounds, as far as it can have them; none where there are no groups.
    pub(super) fn new(limits: Limits) -> Option<Self> {
        let base = base().as_ref().ok()?;
        let mut group = Self::made(&base.folder).ok()?;
        group.bound(limits);
        Some(group)
    }

    fn made(folder: &Path) -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        static BEGAN: LazyLock<u64> =
            LazyLock::new(|| Stat::read("self").and_then(|stat| stat.started()).unwrap_or(0));
        let began = *BEGAN;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("{PREFIX}{}-{began}-{number}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self { path, bounds_processes: false, is_left: false })
    }

    fn bound(&mut self, limits: Limits) {
        self.bounds_processes = write(&self.path.join("pids.max"), &limits.processes.to_string()).is_ok();
        if let Some(bytes) = limits.memory {
            let _ = write(&self.path.join("memory.max"), &bytes.to_string());
            // What is bounded isn't moved out to the disk instead, and ends whole.
            let _ = write(&self.path.join("memory.swap.max"), "0");
            let _ = write(&self.path.join("memory.oom.group"), "1");
        }
    }

    /// Whether the kernel counts its processes.
    pub(super) fn bounds_processes(&self) -> bool {
        self.bounds_processes
    }

    /// What stands for the group where a process is to be born into it.
    pub(super) fn handle(&self) -> Option<OwnedFd> {
        open(&self.path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()
    }

    /// Ends everything in it, whatever it did to get away. Nothing where the kernel can't.
    pub(super) fn kill(&self) {
        let _ = write(&self.path.join("cgroup.kill"), "1");
    }

    /// Lets it be, with what is in it; the next haft removes it once it is empty.
    pub(super) fn leave(mut self) {
        self.is_left = true;
    }

    /// What has to be said of the command's end.
    pub(super) fn last_words(&self) -> Option<String> {
        let events = fs::read_to_string(self.path.join("memory.events")).ok()?;
        let killed = events.lines().find_map(|line| line.strip_prefix("oom_kill "))?;
        (killed.trim() != "0").then(|| {
            "haft: the command needed more memory than memoryMiB under [sandbox] allows, and was ended"
                .to_owned()
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if is_removed(&self.path) || self.is_left {
            return;
        }
        self.kill();
        let path = std::mem::take(&mut self.path);
        // Apart: a killed process takes a moment to go, and whoever drops a call doesn't wait.
        let _ = thread::Builder::new().name("haft-cgroup".to_owned()).spawn(move || remove(&path));
    }
}

fn is_removed(path: &Path) -> bool {
    match fs::remove_dir(path) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Waits until a group is empty and removes it; where it doesn't get empty, it stays for the next haft.
fn remove(path: &Path) {
    let end = Instant::now().checked_add(EMPTY_WAIT);
    let mut pause = PAUSE_FIRST;
    while !is_removed(path) && end.is_some_and(|end| Instant::now() < end) {
        thread::sleep(pause);
        pause = pause.saturating_mul(2).min(PAUSE_MAX);
    }
}

/// Writes to a file that is there.
fn write(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HYBRID: &str = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                          39 31 0:36 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
                          41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

    #[test]
    fn the_own_group_is_found_however_the_hierarchy_is_mounted() {
        let unified = "25 1 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        let part = "25 1 0:22 /docker/ab /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        let odd = "25 1 0:22 / /mnt/c\\040g rw - cgroup2 none rw\n";
        let cases = [
            ("0::/user.slice/a.scope\n", unified, Some("/sys/fs/cgroup/user.slice/a.scope")),
            ("0::/\n", unified, Some("/sys/fs/cgroup")),
            ("9:name=systemd:/\n8:pids:/x\n0::/\n", HYBRID, Some("/sys/fs/cgroup/unified")),
            ("0::/docker/ab/c\n", part, Some("/sys/fs/cgroup/c")),
            ("0::/elsewhere\n", part, None),
            ("0::/docker/abc\n", part, None),
            ("0::/../x\n", unified, None),
            ("0::/a\n", odd, Some("/mnt/c g/a")),
            ("8:pids:/x\n", HYBRID, None),
            ("0::/\n", "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n", None),
            ("", "", None),
        ];
        for (own, mounts, expected) in cases {
            assert_eq!(own_folder(own, mounts).as_deref(), expected.map(Path::new), "{own:?} {mounts:?}");
        }
    }

    #[test]
    fn groups_are_made_beside_the_own_one_only_where_the_folder_was_handed_over() {
        let own = Path::new("/g/unit/main");
        assert_eq!(candidates(own, |_| false), [own]);
        let handed = candidates(own, |folder| folder == Path::new("/g/unit"));
        assert_eq!(handed, [Path::new("/g/unit"), own]);
        assert_eq!(candidates(Path::new("/"), |_| true), [Path::new("/")]);
    }

    #[test]
    fn only_groups_of_processes_that_are_gone_are_tidied_away() {
        let folder = tempfile::tempdir().unwrap();
        let own = std::process::id();
        let began = Stat::read("self").unwrap().started().unwrap();
        let stay = [
            format!("haft-{own}-{began}-0"),
            "haft-x-1-1".to_owned(),
            "other".to_owned(),
            "haft-1".to_owned(),
        ];
        let go = [format!("haft-{own}-{}-3", began + 1), "haft-999999999-1-0".to_owned()];
        for name in stay.iter().chain(&go) {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        tidy(folder.path());
        assert!(stay.iter().all(|name| folder.path().join(name).exists()));
        assert!(!go.iter().any(|name| folder.path().join(name).exists()));
    }

    /// A folder that looks like a group's.
    fn fake(files: &[(&str, &str)]) -> (tempfile::TempDir, Group) {
        let folder = tempfile::tempdir().unwrap();
        let group = Group::made(folder.path()).unwrap();
        for (name, text) in files {
            fs::write(group.path.join(name), text).unwrap();
        }
        (folder, group)
    }

    #[test]
    fn a_group_is_given_its_bounds_and_says_which_it_has() {
        let files = ["pids.max", "memory.max", "memory.swap.max", "memory.oom.group", "cgroup.kill"];
        let (_folder, mut group) = fake(&files.map(|name| (name, "max")));
        group.bound(Limits { processes: 50, memory: Some(1 << 20) });
        let text = |name: &str| fs::read_to_string(group.path.join(name)).unwrap();
        assert!(group.bounds_processes() && group.handle().is_some());
        assert!(text("pids.max").starts_with("50") && text("memory.max").starts_with("1048576"));
        assert_eq!(&text("memory.oom.group")[..1], "1");
        group.kill();
        assert!(text("cgroup.kill").starts_with('1'));
        let path = group.path.clone();
        fs::remove_dir_all(&path).unwrap();
        fs::create_dir(&path).unwrap();
        drop(group);
        assert!(!path.exists());

        let (_folder, mut bare) = fake(&[]);
        bare.bound(Limits { processes: 50, memory: Some(1 << 20) });
        assert!(!bare.bounds_processes() && !bare.path.join("memory.max").exists());
    }

    #[test]
    fn an_end_for_want_of_memory_is_told() {
        let (_one, calm) = fake(&[("memory.events", "low 0\noom 0\noom_kill 0\n")]);
        let (_two, killed) = fake(&[("memory.events", "low 0\noom 1\noom_kill 3\n")]);
        let (_three, unknown) = fake(&[]);
        assert!(calm.last_words().is_none() && unknown.last_words().is_none());
        assert!(killed.last_words().unwrap().contains("memoryMiB"));
        for group in [&calm, &killed] {
            fs::remove_file(group.path.join("memory.events")).unwrap();
        }
    }

    #[test]
    fn a_real_group_ends_what_is_in_it_and_goes() {
        if let ControlGroups::Missing(why) = ControlGroups::detect() {
            println!("left out: {why}");
            return;
        }
        let group = Group::new(Limits::default()).unwrap();
        let mut child = std::process::Command::new("sleep").arg("47120").spawn().unwrap();
        write(&group.path.join("cgroup.procs"), &child.id().to_string()).unwrap();
        let path = group.path.clone();
        drop(group);
        let status = child.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(libc::SIGKILL));
        remove(&path);
        assert!(!path.exists());
    }
}
