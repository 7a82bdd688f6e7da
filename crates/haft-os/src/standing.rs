//! Whether what a walk came to by its path is what stands beneath the root: a folder may have been swapped for a link
//! meanwhile, and then the walk's names are those of another place.
//!
//! Each name is looked up in a handle of its folder, which was opened beneath the root without following a link. So
//! whatever the walk was shown, only a name that is in that folder is told, and only what stands there is read. What
//! the walk saw and what stands there must be of one kind; numbers of files aren't compared, since those of a folder's
//! list and of the file itself differ where something is mounted.

use crate::{
    OsFiles,
    walk::{Filter, Seen},
};
use haft_core::FileKind;
use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, statat},
    io::Errno,
};
use std::{
    ffi::OsStr,
    fs::File,
    io,
    os::fd::OwnedFd,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// So many folders are held open: the last one and those that it is in.
const OPEN_MAX: usize = 16;

/// Looks at one path after another; paths in one folder come together, so that its handle is kept.
pub(crate) struct Standing<'a> {
    files: &'a OsFiles,
    filter: Arc<Filter>,
    /// Each is in the one before it.
    open: Vec<(PathBuf, OwnedFd)>,
}

impl<'a> Standing<'a> {
    pub(crate) fn new(files: &'a OsFiles, filter: Arc<Filter>) -> Self {
        Self { files, filter, open: Vec::new() }
    }

    /// What stands there, where it is what the walk saw; else none.
    pub(crate) fn confirm(&mut self, seen: &Seen) -> Option<Stat> {
        let (folder, name) = self.folder(seen)?;
        let stat = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        is_kind(&stat, seen.kind).then_some(stat)
    }

    /// The regular file that the walk saw, open; none where something else stands there now, which is let go without
    /// a read from it. Opening neither blocks nor follows a link.
    pub(crate) fn open(&mut self, seen: &Seen) -> io::Result<Option<(File, Stat)>> {
        const FLAGS: OFlags = OFlags::RDONLY
            .union(OFlags::NOFOLLOW)
            .union(OFlags::NONBLOCK)
            .union(OFlags::NOCTTY)
            .union(OFlags::CLOEXEC);
        let Some((folder, name)) = self.folder(seen) else {
            return Ok(None);
        };
        match openat(folder, name, FLAGS, Mode::empty()) {
            Ok(file) => {
                let stat = fstat(&file)?;
                Ok(is_kind(&stat, FileKind::File).then(|| (File::from(file), stat)))
            }
            Err(Errno::NOENT | Errno::LOOP | Errno::NXIO | Errno::NODEV) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The open folder of what the walk saw, and its name there.
    fn folder<'s>(&'s mut self, seen: &'s Seen) -> Option<(&'s OwnedFd, &'s OsStr)> {
        let (parent, name) = (seen.path.parent()?, seen.path.file_name()?);
        if self.open.last().is_none_or(|(known, _)| known.as_os_str() != parent.as_os_str()) {
            while self.open.last().is_some_and(|(known, _)| !parent.starts_with(known)) {
                self.open.pop();
            }
            if self.open.last().is_none_or(|(known, _)| known.as_path() != parent) {
                let at = self.filter.real(parent);
                let (root, beneath) = self.files.root_of(&at);
                let folder = root.folder(&beneath, self.files.how).ok()?;
                if self.open.len() >= OPEN_MAX {
                    self.open.remove(0);
                }
                self.open.push((parent.to_owned(), folder));
            }
        }
        self.open.last().map(|(_, folder)| (folder, name))
    }
}

fn is_kind(stat: &Stat, kind: FileKind) -> bool {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => kind == FileKind::File,
        FileType::Directory => kind == FileKind::Folder,
        FileType::Symlink => kind == FileKind::Link,
        _ => matches!(kind, FileKind::Special(_)),
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
