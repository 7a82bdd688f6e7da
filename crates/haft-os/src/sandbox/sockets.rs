//! Sockets of local services, through which a confined process could have somebody outside act for it.
//!
//! Folders where they are kept are hidden whole, so that those which are made later are hidden too; of the others those
//! that are there. The kernel has no other way to keep a path of a socket from being connected to before Linux 7.1,
//! where Landlock does it.

use std::{
    ffi::OsStr,
    fs,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

/// So many are hidden one by one at most.
pub(super) const SOCKETS_MAX: usize = 512;
/// Folders of sockets: of the system and of desktops.
const FOLDERS: [&str; 5] = ["/run", "/var/run", "/tmp/.X11-unix", "/tmp/.ICE-unix", "/tmp/.XIM-unix"];
/// What programs need of them: a system's own programs where it keeps them there, and disks of the user.
const NEEDED: [&str; 6] = [
    "/run/current-system",
    "/run/booted-system",
    "/run/opengl-driver",
    "/run/opengl-driver-32",
    "/run/wrappers",
    "/run/media",
];
/// Files that commonly are links into them.
const LINKS: [&str; 5] =
    ["/etc/resolv.conf", "/etc/hosts", "/etc/hostname", "/etc/localtime", "/etc/machine-id"];

/// What is hidden to keep sockets out of reach.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sockets {
    /// Folders and sockets.
    pub(super) hidden: Vec<PathBuf>,
    /// What of these folders is shown all the same.
    pub(super) shown: Vec<PathBuf>,
    /// How many there are beyond the limit.
    pub(super) left_out: usize,
}

impl Sockets {
    /// What is there now, from the kernel's list and others that are known of.
    pub(super) fn of(list: &[u8], others: impl Iterator<Item = PathBuf>) -> Self {
        let folders = folders();
        let shown = shown();
        let is_in = |places: &[PathBuf], path: &Path| places.iter().any(|place| path.starts_with(place));
        let mut sockets: Vec<PathBuf> = listed(list).into_iter().chain(others).collect();
        sockets.retain(|path| !is_in(&folders, path) || is_in(&shown, path));
        sockets.sort();
        sockets.dedup();
        let left_out = sockets.len().saturating_sub(SOCKETS_MAX);
        sockets.truncate(SOCKETS_MAX);
        Self { hidden: folders.into_iter().chain(sockets).collect(), shown, left_out }
    }

    /// The folders alone.
    pub(super) fn folders_only() -> Self {
        Self { hidden: folders(), shown: shown(), left_out: 0 }
    }
}

/// The kernel's list.
pub(super) fn list() -> Vec<u8> {
    fs::read("/proc/net/unix").unwrap_or_default()
}

/// Folders of sockets that are there, by their real paths.
fn folders() -> Vec<PathBuf> {
    let own = [
        format!("/tmp/tmux-{}", rustix::process::geteuid().as_raw()),
        format!("/tmp/screens/S-{}", rustix::process::geteuid().as_raw()),
    ];
    let all = FOLDERS.iter().map(Path::new).chain(own.iter().map(Path::new));
    let mut found: Vec<PathBuf> = all.filter_map(|path| fs::canonicalize(path).ok()).collect();
    found.retain(|path| path.is_dir() && path.parent().is_some());
    found.sort();
    found.dedup();
    found
}

fn shown() -> Vec<PathBuf> {
    let needed = NEEDED.iter().map(PathBuf::from).filter(|path| path.exists());
    let linked = LINKS.iter().filter_map(|link| fs::canonicalize(link).ok());
    let mut all: Vec<PathBuf> = needed.chain(linked.filter(|path| path.starts_with("/run"))).collect();
    all.sort();
    all.dedup();
    all
}

/// The absolute names of a list; those that are relative to somebody's folder can't be told.
fn listed(list: &[u8]) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for line in list.split(|byte| *byte == b'\n').skip(1) {
        // Seven words, then the name, which may have spaces in it.
        let mut rest = line;
        for _ in 0..7 {
            rest = rest.trim_ascii_start();
            let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
            rest = rest.get(end..).unwrap_or_default();
        }
        let name = rest.strip_prefix(b" ").unwrap_or_default();
        if name.starts_with(b"/") {
            paths.push(PathBuf::from(OsStr::from_bytes(name)));
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_with_a_name_in_the_file_system_are_hidden_once() {
        let list = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
                    ffff: 00000002 00000000 00010000 0001 01     1 /srv/docker.sock\n\
                    ffff: 00000003 00000000 00000000 0001 03 20000 /srv/docker.sock\n\
                    ffff: 00000003 00000000 00000000 0001 03     3 @abstract\n\
                    ffff: 00000003 00000000 00000000 0001 03     4 /srv/with two  spaces \n\
                    ffff: 00000003 00000000 00000000 0001 03     4 relative\n\
                    ffff: 00000003 00000000 00000000 0001 03     5\n";
        let others = ["/w/s", "/srv/docker.sock"].map(PathBuf::from);
        let mut sockets = Sockets::of(list, others.into_iter());
        sockets.hidden.retain(|path| !folders().contains(path));
        assert_eq!(sockets.hidden, ["/srv/docker.sock", "/srv/with two  spaces ", "/w/s"].map(PathBuf::from));
    }

    #[test]
    fn those_in_a_folder_that_is_hidden_whole_need_nothing_more_and_those_beyond_the_limit_are_counted() {
        let mut list = b"head\n0: 0 0 0 0 0 0 /run/x/y\n".to_vec();
        for number in 0..SOCKETS_MAX + 3 {
            list.extend(format!("0: 0 0 0 0 0 0 /srv/{number}\n").bytes());
        }
        let sockets = Sockets::of(&list, std::iter::empty());
        let is_whole = folders().contains(&PathBuf::from("/run"));
        assert!(!is_whole || !sockets.hidden.contains(&PathBuf::from("/run/x/y")));
        assert_eq!(sockets.left_out, if is_whole { 3 } else { 4 });
    }
}
