//! A small file read once: both passes and the look at its kind see the same bytes, and the system is asked
//! only once.

use haft_core::{
    Cancel, Entry, Failure, FileChange, FileLock, Files, GrepHit, GrepQuery, Listing, PathArg, RealPath,
    Stat, WalkOptions, WalkReport, WriteMode,
};
use std::ops::ControlFlow;

/// A longer file is read block by block.
const HELD_MAX_BYTES: usize = 256 * 1024;

/// Files of which one is held in memory.
pub(super) struct Held<'a> {
    files: &'a dyn Files,
    at: &'a RealPath,
    stat: Stat,
    bytes: Vec<u8>,
}

impl<'a> Held<'a> {
    /// Holds the file, if it is short enough.
    ///
    /// # Errors
    /// What [`Files::read`] answers.
    pub(super) fn of(files: &'a dyn Files, at: &'a RealPath, stat: &Stat) -> Result<Option<Self>, Failure> {
        if usize::try_from(stat.len).map_or(true, |len| len > HELD_MAX_BYTES) {
            return Ok(None);
        }
        let bytes = files.read(at, 0, HELD_MAX_BYTES + 1)?;
        let held = Self { files, at, stat: stat.clone(), bytes };
        // It may have grown meanwhile.
        Ok(Some(held).filter(|held| held.bytes.len() <= HELD_MAX_BYTES))
    }
}

impl Files for Held<'_> {
    fn workspace(&self) -> RealPath {
        self.files.workspace()
    }

    fn resolve(&self, path: &PathArg) -> Result<RealPath, Failure> {
        self.files.resolve(path)
    }

    fn stat(&self, at: &RealPath) -> Result<Stat, Failure> {
        if at == self.at { Ok(self.stat.clone()) } else { self.files.stat(at) }
    }

    fn read(&self, at: &RealPath, offset: u64, max_bytes: usize) -> Result<Vec<u8>, Failure> {
        if at != self.at {
            return self.files.read(at, offset, max_bytes);
        }
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(self.bytes.len());
        let end = start.saturating_add(max_bytes).min(self.bytes.len());
        Ok(self.bytes.get(start..end).unwrap_or_default().to_vec())
    }

    fn list(&self, at: &RealPath, max: usize) -> Result<Listing, Failure> {
        self.files.list(at, max)
    }

    fn write(&self, at: &RealPath, content: &[u8], mode: &WriteMode) -> Result<FileChange, Failure> {
        self.files.write(at, content, mode)
    }

    fn walk(
        &self,
        tree: &RealPath,
        options: &WalkOptions,
        visit: &mut dyn FnMut(&Entry) -> ControlFlow<()>,
    ) -> Result<WalkReport, Failure> {
        self.files.walk(tree, options, visit)
    }

    fn grep(
        &self,
        tree: &RealPath,
        query: &GrepQuery,
        visit: &mut dyn FnMut(GrepHit) -> ControlFlow<()>,
    ) -> Result<WalkReport, Failure> {
        self.files.grep(tree, query, visit)
    }

    fn lock(&self, at: &RealPath, cancel: &Cancel) -> Result<Box<dyn FileLock>, Failure> {
        self.files.lock(at, cancel)
    }
}
