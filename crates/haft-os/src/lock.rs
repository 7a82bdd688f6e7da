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

impl FileLock for Lock {}

impl Drop for Lock {
    fn drop(&mut self) {
        // While the lock is still held, so that whoever gets it next sees that the name has gone.
        let _ = fs::remove_file(&self.path);
    }
}

/// Waits for the lock of a file.
///
/// # Cancellation
/// Looks at `cancel` at least every 25 ms.
pub(crate) fn acquire(state: &Path, at: &RealPath, cancel: &Cancel) -> Result<Lock, Failure> {
    let folder = state.join(FOLDER);
    crate::state::make_folders(&folder)?;
    let path = folder.join(crate::hash::of(at.absolute().as_bytes()).as_ref());
    let mut wait = WAIT_FIRST;
    loop {
        if cancel.is_fired() {
            return Err(Failure::cancelled());
        }
        match attempt(&path) {
            Ok(Some(file)) => return Ok(Lock { path, _file: file }),
            Ok(None) => {}
            Err(error) => return Err(fault::io("make the lock of", &at.absolute(), &error)),
        }
        std::thread::sleep(wait);
        wait = (wait * 2).min(WAIT_LONGEST);
    }
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
