//! One writer at a time for each file, across processes and across the sessions of one.
//!
//! Locks are files in the state folder, never in the workspace. The system frees them when a process dies.

use crate::fault;
use haft_core::{Cancel, Failure, FileLock, RealPath};
use std::{
    collections::{BTreeMap, BTreeSet},
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

/// Waits for the locks of some files: of each path, and of each file with several names too, that once.
///
/// All paths come before all files, and each kind in its order, so that two calls never wait for each other.
///
/// # Cancellation
/// Looks at `cancel` at least every 25 ms.
pub(crate) fn acquire(state: &Path, files: &[RealPath], cancel: &Cancel) -> Result<Held, Failure> {
    let folder = state.join(FOLDER);
    crate::state::make_folders(&folder)?;
    let take = |name: &str, shown: &str| {
        let lock = wait_for(folder.join(name), cancel);
        lock.map_err(|error| fault::io("make the lock of", shown, &error))?.ok_or_else(Failure::cancelled)
    };
    let paths: BTreeSet<String> = files.iter().map(RealPath::absolute).collect();
    let mut locks = Vec::new();
    for path in &paths {
        locks.push(take(&crate::hash::of(path.as_bytes()), path)?);
    }
    // Writing in place keeps the file, so its number stays good while the lock of its path is held.
    let mut named_twice = BTreeMap::new();
    for path in &paths {
        let meta = fs::symlink_metadata(path).ok().filter(|meta| meta.is_file() && meta.nlink() > 1);
        if let Some(meta) = meta {
            named_twice.entry((meta.dev(), meta.ino())).or_insert(path);
        }
    }
    for ((device, inode), path) in named_twice {
        locks.push(take(&format!("file-{device}-{inode}"), path)?);
    }
    Ok(Held { _locks: locks })
}

/// The locks of paths, and of the files among them that have several names.
#[derive(Debug)]
pub(crate) struct Held {
    _locks: Vec<Lock>,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_names_of_one_file_are_locked_together_and_keep_others_out() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| RealPath::new(folder.path().to_str().unwrap(), name);
        fs::write(folder.path().join("a"), "x").unwrap();
        fs::hard_link(folder.path().join("a"), folder.path().join("b")).unwrap();
        let state = folder.path().join("state");
        let (cancel, fired) = (Cancel::new(), Cancel::new());
        fired.fire();
        let held = acquire(&state, &[at("b"), at("a"), at("new"), at("a")], &cancel).unwrap();
        let names: Vec<PathBuf> =
            fs::read_dir(state.join(FOLDER)).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(names.len(), 4, "three paths and one file: {names:?}");
        for name in &names {
            assert!(attempt(name).unwrap().is_none(), "{}", name.display());
        }
        assert!(acquire(&state, &[at("b")], &fired).is_err());
        drop(held);
        assert_eq!(fs::read_dir(state.join(FOLDER)).unwrap().count(), 0);
        acquire(&state, &[at("b")], &cancel).unwrap();
    }
}
