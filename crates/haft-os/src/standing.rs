//! Whether what a walk came to by its path is what stands beneath the root: a folder may have been swapped for a link
//! meanwhile, and then the walk's names are those of another place.

use crate::{
    OsFiles,
    root::{Beneath, split},
};
use haft_core::RealPath;
use rustix::fs::{AtFlags, Stat, statat};
use std::{
    ffi::OsStr,
    os::fd::OwnedFd,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// Looks at one path after another; paths in one folder come together, so that its handle is kept.
pub(crate) struct Standing<'a> {
    files: &'a OsFiles,
    how: Beneath,
    near: Option<(String, OwnedFd)>,
}

impl<'a> Standing<'a> {
    pub(crate) fn new(files: &'a OsFiles, how: Beneath) -> Self {
        Self { files, how, near: None }
    }

    /// What stands there, where it is the file that the walk saw (by its number); else none.
    pub(crate) fn confirm(&mut self, at: &RealPath, (name, seen): (&OsStr, Option<u64>)) -> Option<Stat> {
        let (root, beneath) = self.files.root_of(at);
        let (parent, _) = split(&beneath);
        if self.near.as_ref().is_none_or(|(known, _)| known != parent) {
            self.near = Some((parent.to_owned(), root.folder(parent, self.how).ok()?));
        }
        let (_, folder) = self.near.as_ref()?;
        let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        seen.is_none_or(|seen| seen == stat.st_ino).then_some(stat)
    }
}

/// When a file's content last changed.
pub(crate) fn modified(stat: &Stat) -> Option<SystemTime> {
    let nanos = u32::try_from(stat.st_mtime_nsec).ok()?;
    match u64::try_from(stat.st_mtime) {
        Ok(secs) => UNIX_EPOCH.checked_add(Duration::new(secs, nanos)),
        Err(_) => UNIX_EPOCH
            .checked_sub(Duration::from_secs(stat.st_mtime.unsigned_abs()))?
            .checked_add(Duration::from_nanos(u64::from(nanos))),
    }
}
