//! Where haft keeps its own files: session logs, spilled results, grants.
//!
//! Paths are relative to one folder and use `/`; folders are made as needed (0700), files are 0600.

use crate::{Failure, FileStamp};
use std::time::SystemTime;

/// A change to a file's whole content, from what was there before.
pub type Change<'a> = dyn FnMut(Option<&[u8]>) -> Result<Vec<u8>, Failure> + 'a;

/// A folder for haft's own files.
pub trait StateFolder: Send + Sync {
    /// The absolute path of a file in it.
    fn path(&self, at: &str) -> String;

    /// The last `max` bytes of a file, none where there is no such file.
    ///
    /// # Errors
    /// Unavailable where it can't be read.
    fn read_tail(&self, at: &str, max: usize) -> Result<Option<Vec<u8>>, Failure>;

    /// At most `max` bytes of a file from `offset`, none where there is no such file.
    ///
    /// # Errors
    /// Unavailable where it can't be read.
    fn read_from(&self, at: &str, offset: u64, max: usize) -> Result<Option<Vec<u8>>, Failure>;

    /// What is another one after each write of a file, however soon it follows; none where only reading tells.
    fn stamp(&self, at: &str) -> Option<FileStamp> {
        let _ = at;
        None
    }

    /// Reads, changes and replaces a file, locked across processes and atomic.
    ///
    /// # Errors
    /// What `change` answers; unavailable where it can't be written.
    fn update(&self, at: &str, change: &mut Change<'_>) -> Result<(), Failure>;

    /// Opens a file that only grows, by whole lines.
    ///
    /// # Errors
    /// Unavailable where it can't be opened.
    fn open_log(&self, at: &str) -> Result<Box<dyn LineLog>, Failure>;

    /// Opens a counter shared by all processes.
    ///
    /// # Errors
    /// Unavailable where it can't be opened.
    fn open_counter(&self, at: &str) -> Result<Box<dyn Counter>, Failure>;

    /// Starts a new file to be filled piece by piece, replacing an old one.
    ///
    /// # Errors
    /// Unavailable where it can't be made.
    fn open_spill(&self, at: &str) -> Result<Box<dyn SpillFile>, Failure>;

    /// Makes sure that there is a file whose name says what is in it: where it is there already, only its time is
    /// renewed if it is old, else `content` makes it. Whole or not at all, but not synced: a reader checks what it gets.
    ///
    /// # Errors
    /// What `content` answers; unavailable where it can't be written.
    fn keep(&self, at: &str, content: &mut dyn FnMut() -> Result<Vec<u8>, Failure>) -> Result<(), Failure> {
        if self.read_from(at, 0, 1)?.is_none() {
            self.open_spill(at)?.push(&content()?)?;
        }
        Ok(())
    }

    /// The files directly in a folder, with length and time; empty where there is no such folder.
    fn list(&self, at: &str) -> Vec<StateEntry>;

    /// Marks a file as held until the result is dropped or this process ends, however it ends.
    ///
    /// # Errors
    /// Unavailable where it can't be made, or somebody else holds it.
    fn hold(&self, at: &str) -> Result<Box<dyn Held>, Failure>;

    /// Whether some live process holds that file.
    fn is_held(&self, at: &str) -> bool;

    /// Removes a file; none there is no fault.
    ///
    /// # Errors
    /// Unavailable where it can't be removed.
    fn remove(&self, at: &str) -> Result<(), Failure>;
}

/// A file of a state folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateEntry {
    /// Its name.
    pub name: String,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Its length in bytes.
    pub len: u64,
    /// When it last changed.
    pub modified: SystemTime,
}

/// A file that only grows, by whole lines; several processes may write it.
pub trait LineLog: Send + Sync {
    /// Adds one line (without its line end), or several with line ends between them, in one write. A torn last line is
    /// closed first.
    ///
    /// # Errors
    /// Unavailable where it can't be written.
    fn append(&self, line: &[u8]) -> Result<(), Failure>;
}

/// Numbers from 1, each given once, to whichever process asks.
pub trait Counter: Send + Sync {
    /// The next number.
    ///
    /// # Errors
    /// Unavailable where it can't be written.
    fn next(&self) -> Result<u64, Failure>;
}

/// A file being filled.
pub trait SpillFile: Send {
    /// Adds bytes.
    ///
    /// # Errors
    /// Unavailable where it can't be written, for example on a full disk.
    fn push(&mut self, bytes: &[u8]) -> Result<(), Failure>;
}

/// Something held; given up when dropped.
pub trait Held: Send + Sync {}
