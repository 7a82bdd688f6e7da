//! Root folders, and how folders are opened beneath them without following a link.
//!
//! A path is resolved once, judged, and opened later. Between the two anyone may swap a folder for a link;
//! opening beneath a handle refuses that, where comparing strings would follow it.

use crate::fault;
use haft_core::{Failure, RealPath};
use rustix::{
    fs::{AtFlags, Mode, OFlags, ResolveFlags},
    io::Errno,
};
use std::{
    fs::{File, Metadata},
    io,
    os::fd::OwnedFd,
    sync::{Arc, OnceLock},
};

/// Folders are opened as bare places: for looking things up in them, not for reading.
const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

const RESOLVE: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

/// How often the kernel is asked again when a rename elsewhere made it unsure.
const RACE_TRIES: usize = 16;

/// How folders are opened beneath a root; both ways refuse every link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beneath {
    /// One `openat2`, the kernel sees to the rest.
    Kernel,
    /// One part of the path after the other, for kernels and sandboxes without `openat2`.
    Walk,
}

impl Beneath {
    /// [`Beneath::Kernel`] where `openat2` works. Asked once a process: a later refusal may be the file's.
    pub fn detect() -> Self {
        static FOUND: OnceLock<Beneath> = OnceLock::new();
        *FOUND.get_or_init(|| {
            let tried = rustix::fs::open("/", FOLDER, Mode::empty())
                .and_then(|root| rustix::fs::openat2(&root, ".", FOLDER, Mode::empty(), RESOLVE));
            if tried.is_ok() { Self::Kernel } else { Self::Walk }
        })
    }
}

/// A folder held open, beneath which everything else is opened.
#[derive(Debug)]
pub(crate) struct Root {
    path: Arc<str>,
    handle: OwnedFd,
}

impl Root {
    /// Opens a root by its absolute path, whose links are followed already.
    pub(crate) fn open(path: &str) -> io::Result<Self> {
        let handle = rustix::fs::open(path, FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
        Ok(Self { path: path.into(), handle })
    }

    pub(crate) fn path(&self) -> &Arc<str> {
        &self.path
    }

    /// Whether the folder was removed since it was opened (its path may lead to a new one).
    pub(crate) fn is_gone(&self) -> bool {
        rustix::fs::fstat(&self.handle).is_ok_and(|stat| stat.st_nlink == 0)
    }

    /// Opens the folder at `beneath`; a link anywhere on the way is `ELOOP`.
    pub(crate) fn folder(&self, beneath: &str, how: Beneath) -> io::Result<OwnedFd> {
        if beneath.is_empty() {
            return self.handle.try_clone();
        }
        match how {
            Beneath::Kernel => self.by_kernel(beneath),
            Beneath::Walk => self.by_walk(beneath),
        }
    }

    /// As [`Root::folder`], and makes what is missing of it; what was made is added to `made`, also where the rest
    /// can't be.
    pub(crate) fn make_folders(
        &self,
        beneath: &str,
        how: Beneath,
        made: &mut MadeFolders,
    ) -> io::Result<OwnedFd> {
        match self.folder(beneath, how) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            other => return other,
        }
        let mut at = self.handle.try_clone()?;
        for name in beneath.split('/') {
            at = match step(&at, name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    match rustix::fs::mkdirat(&at, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) => made.0.push(Place { folder: at.try_clone()?, name: name.to_owned() }),
                        // Somebody else may have made it meanwhile.
                        Err(Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    step(&at, name)?
                }
                other => other?,
            };
        }
        Ok(at)
    }

    fn by_kernel(&self, beneath: &str) -> io::Result<OwnedFd> {
        for _ in 0..RACE_TRIES {
            match rustix::fs::openat2(&self.handle, beneath, FOLDER, Mode::empty(), RESOLVE) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(folder) => return Ok(folder),
            }
        }
        Err(Errno::AGAIN.into())
    }

    fn by_walk(&self, beneath: &str) -> io::Result<OwnedFd> {
        let mut at = self.handle.try_clone()?;
        for name in beneath.split('/') {
            at = step(&at, name)?;
        }
        Ok(at)
    }
}

/// Opens one folder in another.
fn step(folder: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    if matches!(name, "" | "." | "..") {
        return Err(Errno::XDEV.into());
    }
    match rustix::fs::openat(folder, name, FOLDER | OFlags::NOFOLLOW, Mode::empty()) {
        // A link isn't a folder either; which of the two it is matters to the caller.
        Err(Errno::NOTDIR) if look(folder, name).is_ok_and(|meta| meta.is_symlink()) => {
            Err(Errno::LOOP.into())
        }
        Err(error) => Err(error.into()),
        Ok(next) => Ok(next),
    }
}

/// Folders that were made for a file; when dropped they go again, as far as they are empty.
#[derive(Debug, Default)]
pub(crate) struct MadeFolders(Vec<Place>);

impl MadeFolders {
    /// The file came to be: they stay.
    pub(crate) fn keep(&mut self) {
        self.0.clear();
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        for place in self.0.iter().rev() {
            // One that somebody else put something into stays.
            let _ = rustix::fs::unlinkat(&place.folder, place.name.as_str(), AtFlags::REMOVEDIR);
        }
    }
}

/// One name in an open folder.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) folder: OwnedFd,
    pub(crate) name: String,
}

impl Place {
    /// What stands there, without opening it and without following a link.
    pub(crate) fn look(&self) -> io::Result<Metadata> {
        look(&self.folder, &self.name)
    }

    /// Opens what stands there; neither blocks nor follows a link.
    pub(crate) fn open(&self, flags: OFlags) -> io::Result<File> {
        open(&self.folder, &self.name, flags)
    }
}

/// What stands at a name in a folder. The handle is a bare place, so that not even a device notices.
pub(crate) fn look(folder: &OwnedFd, name: &str) -> io::Result<Metadata> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    File::from(rustix::fs::openat(folder, name, flags, Mode::empty())?).metadata()
}

/// Opens a name in a folder; neither blocks nor follows a link.
pub(crate) fn open(folder: &OwnedFd, name: &str, flags: OFlags) -> io::Result<File> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(folder, name, flags, Mode::empty())?))
}

/// The folder part and the name of a path beneath a root; the root itself is `.` in itself.
pub(crate) fn split(beneath: &str) -> (&str, &str) {
    match beneath.rsplit_once('/') {
        Some(parts) => parts,
        None if beneath.is_empty() => ("", "."),
        None => ("", beneath),
    }
}

/// Opens a folder by its real path, for a child process to start in.
pub(crate) fn open_folder(at: &RealPath) -> Result<OwnedFd, Failure> {
    Root::open(&at.root)
        .and_then(|root| root.folder(&at.beneath, Beneath::detect()))
        .map_err(|error| fault::io("open the folder", &at.absolute(), &error))
}
