//! What a write must leave behind so that a kill at any moment can be mended at the next start.
//!
//! A file with several names can't be replaced, only written over; the journal holds both contents until
//! that is done. It also names temporary files, so that none stays in a workspace. Each entry is locked by
//! its living owner; what is found unlocked belongs to the dead.

mod content;
mod note;
mod recover;
mod temp;

pub(crate) use content::{is_mixture, overwrite, replace};
pub(crate) use note::{Note, read_path};
pub(crate) use recover::{place, recover};
pub(crate) use temp::{TEMP_SUFFIX, is_temp_name, temp_beside, temp_name};

use crate::fault;
use haft_core::Failure;
use note::encode;
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};
use temp::random_name;

const FOLDER: &str = "journal";

/// So often an entry is begun anew where a start beside it took it for a dead one.
const BEGIN_TRIES: usize = 16;

/// When a note replaces another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Durable {
    Now,
    Later,
}

/// An entry whose work is under way.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    /// Held for its lock.
    _file: File,
}

impl Journal {
    /// Writes an entry down; one for a write in place is on the disk when this returns.
    pub(crate) fn begin(state: &Path, note: &Note) -> Result<Self, Failure> {
        let folder = state.join(FOLDER);
        crate::state::make_folders(&folder)?;
        let path = folder.join(format!("{}.journal", random_name()));
        Self::write(path, note, if note.is_synced() { Durable::Now } else { Durable::Later })
    }

    /// Puts another note in the place of this one, at once; it is on the disk when this returns.
    ///
    /// # Errors
    /// Whatever the system says; this note then stands as before, and is given back.
    pub(crate) fn advance(self, note: &Note) -> Result<Self, (Self, Failure)> {
        // The old file keeps its lock until the new one has its name.
        Self::write(self.path.clone(), note, Durable::Now).map_err(|failure| (self, failure))
    }

    fn write(path: PathBuf, note: &Note, durable: Durable) -> Result<Self, Failure> {
        let unfinished = path.with_file_name(format!("{}.new", random_name()));
        Self::put(&unfinished, &path, &encode(note), durable)
            .inspect_err(|_| drop(fs::remove_file(&unfinished)))
            .map_err(|error| fault::io("write the journal", &path.to_string_lossy(), &error))
    }

    fn put(unfinished: &Path, path: &Path, bytes: &[u8], durable: Durable) -> io::Result<Self> {
        let mut file = locked(unfinished)?;
        file.write_all(bytes)?;
        if durable == Durable::Now {
            file.sync_all()?;
        }
        fs::rename(unfinished, path)?;
        if durable == Durable::Now
            && let Some(folder) = path.parent()
        {
            File::open(folder)?.sync_all()?;
        }
        Ok(Self { path: path.to_owned(), _file: file })
    }

    /// The work is done, or undone; the entry goes.
    pub(crate) fn done(self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// A new file that is locked and has its name. A start beside this one may have found it before it was locked,
/// and removed it.
fn locked(path: &Path) -> io::Result<File> {
    for _ in 0..BEGIN_TRIES {
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.lock()?;
        if file.metadata()?.nlink() > 0 {
            return Ok(file);
        }
    }
    Err(io::Error::other("other processes keep removing it"))
}
