//! Whose files a command works on: where haft is root and they are somebody else's, it needs the least rights that let it
//! write them.
//!
//! Without special rights root is a user like others. What is left to it then reaches only files of the users that are
//! mapped into its namespace, and writes nothing that isn't writable by its mounts.

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    io::{self, PipeReader, PipeWriter},
    os::unix::fs::MetadataExt as _,
};

/// `CAP_CHOWN`, `CAP_DAC_OVERRIDE`, `CAP_FOWNER`: to give files away as programs that unpack do, to write them whatever
/// their mode says, and to set their modes and times.
const RIGHTS: u32 = 0b1011;
/// `CAP_SETGID` and `CAP_SETUID`, without which nobody maps more than itself.
const MAPPING: u32 = 0b1100_0000;

/// Through which the first process of new namespaces is told that its ids are mapped.
#[derive(Debug)]
pub(super) struct Gate {
    pub(super) inner: PipeReader,
    pub(super) outer: PipeWriter,
}

/// Which users there are for a command, and what it may do as one of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Owners {
    users: BTreeSet<u32>,
    groups: BTreeSet<u32>,
    /// The rights that are left, as the kernel numbers them.
    pub(super) rights: u32,
}

impl Owners {
    /// Those of the folders that commands write.
    pub(super) fn of(writable: &[String]) -> Self {
        let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let mut owners = Self { users: [user].into(), groups: [group].into(), rights: 0 };
        let has = || own_rights() & (RIGHTS | MAPPING) == RIGHTS | MAPPING;
        if user != 0 {
            return owners;
        }
        let others =
            writable.iter().filter_map(|folder| fs::metadata(folder).ok()).filter(|meta| meta.uid() != 0);
        let others: Vec<(u32, u32)> = others.map(|meta| (meta.uid(), meta.gid())).collect();
        if !others.is_empty() && has() {
            owners.users.extend(others.iter().map(|(user, _)| user));
            owners.groups.extend(others.iter().map(|(_, group)| group));
            owners.rights = RIGHTS;
        }
        owners
    }

    /// A gate where there is more than one, since then a process can't map them itself.
    ///
    /// # Errors
    /// No more files can be opened.
    pub(super) fn gate(&self) -> io::Result<Option<Gate>> {
        let is_own = self.users.len() < 2 && self.groups.len() < 2;
        if is_own {
            return Ok(None);
        }
        io::pipe().map(|(inner, outer)| Some(Gate { inner, outer }))
    }

    /// The maps of users and groups as the kernel wants them: each is itself.
    pub(super) fn maps(&self) -> [Vec<u8>; 2] {
        [&self.users, &self.groups].map(|ids| {
            let lines = ids.iter().fold(String::new(), |mut text, id| {
                let _ = writeln!(text, "{id} {id} 1");
                text
            });
            lines.into_bytes()
        })
    }
}

/// The rights that this process has; of those that can be told in 32 bits.
fn own_rights() -> u32 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let rights = line.and_then(|line| u64::from_str_radix(line.trim(), 16).ok()).unwrap_or(0);
    u32::try_from(rights & u64::from(u32::MAX)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_works_on_own_files_keeps_no_right_and_maps_itself() {
        let folder = tempfile::tempdir().unwrap();
        let owners = Owners::of(&[folder.path().to_str().unwrap().to_owned(), "/none".to_owned()]);
        assert_eq!((owners.rights, owners.users.len(), owners.groups.len()), (0, 1, 1));
        assert!(owners.gate().unwrap().is_none());
        let user = rustix::process::geteuid().as_raw();
        assert_eq!(owners.maps()[0], format!("{user} {user} 1\n").into_bytes());
    }

    #[test]
    fn root_keeps_just_what_files_of_others_need() {
        if !rustix::process::geteuid().is_root() || own_rights() & (RIGHTS | MAPPING) != RIGHTS | MAPPING {
            println!("left out: only root works on files of others");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::chown(folder.path(), Some(4_711), Some(4_712)).unwrap();
        let owners = Owners::of(&[folder.path().to_str().unwrap().to_owned()]);
        assert_eq!(owners.rights, 0b1011);
        assert!(owners.gate().unwrap().is_some());
        assert_eq!(
            owners.maps(),
            ["0 0 1\n4711 4711 1\n", "0 0 1\n4712 4712 1\n"].map(|text| text.as_bytes().to_vec())
        );
    }
}
