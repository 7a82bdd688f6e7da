//! The bytes of one file. A small one is read once: both passes and the look at its kind see the same bytes, and
//! the system is asked only once.

use haft_core::{Failure, Files, RealPath, Stat};

/// A longer file is read block by block.
const HELD_MAX_BYTES: usize = 256 * 1024;

/// A file to be read piece by piece.
pub(crate) struct Source<'a> {
    files: &'a dyn Files,
    at: &'a RealPath,
    stat: Stat,
    held: Option<Vec<u8>>,
}

impl<'a> Source<'a> {
    /// Opens a file that was found to be so; holds it, if it is short enough. `held` is all of it, where that was read.
    ///
    /// # Errors
    /// What [`Files::read`] answers.
    pub(crate) fn open(
        files: &'a dyn Files,
        at: &'a RealPath,
        stat: Stat,
        held: Option<Vec<u8>>,
    ) -> Result<Self, Failure> {
        if held.is_some() {
            return Ok(Self { files, at, stat, held });
        }
        let is_short = usize::try_from(stat.len).is_ok_and(|len| len <= HELD_MAX_BYTES);
        let held = if is_short { Some(files.read(at, 0, HELD_MAX_BYTES + 1)?) } else { None };
        // It may have grown meanwhile.
        Ok(Self { files, at, stat, held: held.filter(|bytes| bytes.len() <= HELD_MAX_BYTES) })
    }

    /// At most `max_bytes` from `offset`.
    ///
    /// # Errors
    /// What [`Files::read`] answers.
    pub(crate) fn read(&self, offset: u64, max_bytes: usize) -> Result<Vec<u8>, Failure> {
        let Some(bytes) = &self.held else { return self.files.read(self.at, offset, max_bytes) };
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        let end = start.saturating_add(max_bytes).min(bytes.len());
        Ok(bytes.get(start..end).unwrap_or_default().to_vec())
    }

    /// What stands there now; for a held file, what stood there when it was read.
    ///
    /// # Errors
    /// What [`Files::stat`] answers.
    pub(crate) fn stat(&self) -> Result<Stat, Failure> {
        if self.held.is_some() { Ok(self.stat.clone()) } else { self.files.stat(self.at) }
    }
}
