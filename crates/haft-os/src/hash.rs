//! Hashes of what is read, and bytes in hex.

pub(crate) use haft_core::content_hash as of;

use haft_core::ContentHasher;
use std::{
    fmt::Write as _,
    io::{self, Read},
    sync::Arc,
};

/// Read at a time: long pieces are hashed several times as fast as short ones.
const PIECE_BYTES: usize = 256 * 1024;

/// The hash of all that a reader still has.
pub(crate) fn of_reader(mut reader: impl Read) -> io::Result<Arc<str>> {
    let mut hasher = ContentHasher::default();
    each_piece(&mut reader, |piece| {
        hasher.update(piece);
        true
    })?;
    Ok(hasher.finish())
}

/// Whether a reader has exactly these bytes left.
pub(crate) fn is_same(mut reader: impl Read, bytes: &[u8]) -> io::Result<bool> {
    let mut rest = bytes;
    let is_start = each_piece(&mut reader, |piece| match rest.strip_prefix(piece) {
        Some(left) => {
            rest = left;
            true
        }
        None => false,
    })?;
    Ok(is_start && rest.is_empty())
}

/// Hands on piece after piece until `take` has enough, and says whether it took all.
fn each_piece(reader: &mut impl Read, mut take: impl FnMut(&[u8]) -> bool) -> io::Result<bool> {
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        match reader.read(&mut piece) {
            Ok(0) => return Ok(true),
            Ok(count) if !take(piece.get(..count).unwrap_or_default()) => return Ok(false),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Bytes in lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        // Writing to a string can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_has_the_hash_of_its_bytes_and_is_the_same_as_nothing_else() {
        let long = vec![7; PIECE_BYTES + 3];
        for bytes in [&b""[..], b"abc", &long] {
            assert_eq!(of_reader(bytes).unwrap(), of(bytes));
            assert!(is_same(bytes, bytes).unwrap());
            assert!(!is_same(bytes, b"abd").unwrap());
            assert!(!is_same(&[bytes, b"x"].concat()[..], bytes).unwrap());
        }
        assert!(!is_same(&long[1..], &long).unwrap());
    }
}
