//! A whole file in memory, and the name of its content.

use super::{paths, size};
use haft_core::{Cancel, Failure, Files, RealPath};
use sha2::{Digest, Sha256};

/// The largest file that is held in memory whole, and the largest whose content gets a hash.
pub(crate) const WHOLE_MAX_BYTES: usize = 64 * 1_024 * 1_024;
/// How much is read at once.
const PIECE_BYTES: usize = 4 * 1_024 * 1_024;

/// All bytes of a file.
///
/// # Errors
/// What [`Files::read`] answers; invalid input where the file is longer than [`WHOLE_MAX_BYTES`].
pub(crate) fn read_whole(files: &dyn Files, at: &RealPath, cancel: &Cancel) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    loop {
        if cancel.is_fired() {
            return Err(Failure::cancelled());
        }
        let offset = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let piece = files.read(at, offset, PIECE_BYTES)?;
        if piece.is_empty() {
            return Ok(bytes);
        }
        bytes.extend_from_slice(&piece);
        if bytes.len() > WHOLE_MAX_BYTES {
            return Err(Failure::invalid(format!(
                "{} is longer than {}, the most that can be changed in one piece; use a command that \
                 works on streams, such as sed, through bash",
                paths::shown(at, &files.workspace()),
                size(u64::try_from(WHOLE_MAX_BYTES).unwrap_or(u64::MAX))
            )));
        }
    }
}

/// SHA-256 in hex.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// How many lines the bytes have; a last one without a line end counts.
pub(crate) fn count_lines(text: &[u8]) -> u64 {
    let ends = memchr::memchr_iter(b'\n', text).count();
    let open = usize::from(!text.is_empty() && !text.ends_with(b"\n"));
    u64::try_from(ends + open).unwrap_or(u64::MAX)
}

/// The number of the line that holds the byte at `index`, from 1.
pub(crate) fn line_at(text: &[u8], index: usize) -> u64 {
    let before = text.get(..index).unwrap_or(text);
    u64::try_from(memchr::memchr_iter(b'\n', before).count() + 1).unwrap_or(u64::MAX)
}
