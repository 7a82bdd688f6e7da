//! One writer at a time for each file, across processes and across the sessions of one.
//!
//! Locks are files in the state folder, never in the workspace. The system frees them when a process dies.

use crate::fault;
use haft_core::{Cancel, Failure, FileLock, RealPath};
use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

const FOLDER: &str = "locks";
const WAIT_FIRST: Duration = Duration::from_millis(1);
const WAIT_LONGEST: Duration = Duration::from_millis(25);

/// A held lock.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    /// Held for its lock, which goes with it.
    _file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While the lock is still held, so that whoever gets it next sees that the name has gone.
        let _ = fs::remove_file(&self.path);
    }
}

/// Waits for the lock of a file: of its path, and where it has several names, of the file itself too.
///
/// # Cancellation
/// Looks at `cancel` at least every 25 ms.
pub(crate) fn acquire(state: &Path, at: &RealPath, cancel: &Cancel) -> Result<Held, Failure> {
    let folder = state.join(FOLDER);
    crate::state::make_folders(&folder)?;
    let absolute = at.absolute();
    let trouble = |error| fault::io("make the lock of", &absolute, &error);
    let path =
        wait_for(folder.join(crate::hash::of(absolute.as_bytes()).as_ref()), cancel).map_err(trouble)?;
    let path = path.ok_or_else(Failure::cancelled)?;
    // Writing in place keeps the file, so its number stays good while the lock is held.
    let named_twice = fs::symlink_metadata(&absolute).ok().filter(|meta| meta.is_file() && meta.nlink() > 1);
    let file = match named_twice {
        None => None,
        Some(meta) => {
            let lock = wait_for(folder.join(format!("file-{}-{}", meta.dev(), meta.ino())), cancel);
            Some(lock.map_err(trouble)?.ok_or_else(Failure::cancelled)?)
        }
    };
    Ok(Held { _file: file, _path: path })
}

/// The lock of a path and, where it has several names, of the file.
#[derive(Debug)]
pub(crate) struct Held {
    _file: Option<Lock>,
    _path: Lock,
}

impl FileLock for Held {}

/// None where it was cancelled.
fn wait_for(path: PathBuf, cancel: &Cancel) -> io::Result<Option<Lock>> {
    let mut wait = WAIT_FIRST;
    while !cancel.is_fired() {
        if let Some(file) = attempt(&path)? {
            return Ok(Some(Lock { path, _file: file }));
        }
        std::thread::sleep(wait);
        wait = (wait * 2).min(WAIT_LONGEST);
    }
    Ok(None)
}

/// The lock, if it is free and its file still has its name.
fn attempt(path: &Path) -> io::Result<Option<File>> {
    let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let held = file.metadata()?;
    let named = fs::metadata(path).is_ok_and(|named| (named.dev(), named.ino()) == (held.dev(), held.ino()));
    Ok(named.then_some(file))
}
