//! One content in the place of another in an open file, and what a kill in the middle of that leaves.

use std::{fs::File, io, os::unix::fs::FileExt};

/// How much is compared at once.
const PIECE_BYTES: usize = 64 * 1024;

/// Whether each byte comes from one of the contents: what an interrupted write leaves, in whatever order
/// the disk took its blocks.
pub(crate) fn is_mixture(now: &[u8], before: &[u8], after: &[u8]) -> bool {
    now.len() <= before.len().max(after.len())
        && now.len() >= before.len().min(after.len())
        && now.iter().enumerate().all(|(at, byte)| {
            before.get(at).is_some_and(|old| old == byte) || after.get(at).is_some_and(|new| new == byte)
        })
}

/// Puts a content in the place of another one in an open file, keeping its identity, and writes it out. False where
/// the other one doesn't stand there any more; then it is as it was.
///
/// Only bytes that differ are written, and nothing is cut off that somebody else adds meanwhile.
pub(crate) fn replace(file: &File, before: &[u8], after: &[u8]) -> io::Result<bool> {
    if !holds(file, before)? {
        return Ok(false);
    }
    let (old, new) = (to_u64(before.len())?, to_u64(after.len())?);
    let equal = |(old, new): &(&u8, &u8)| old == new;
    let shared = before.len().min(after.len());
    let first = before.iter().zip(after).take_while(equal).count();
    let tail =
        if old == new { before.iter().rev().zip(after.iter().rev()).take_while(equal).count() } else { 0 };
    let differing = first..first.max(shared - tail);
    let at = to_u64(first)?;
    file.write_all_at(after.get(differing.clone()).unwrap_or_default(), at)?;
    if file.metadata()?.len() != old {
        file.write_all_at(before.get(differing).unwrap_or_default(), at)?;
        file.sync_all()?;
        return Ok(false);
    }
    if new > old {
        file.write_all_at(after.get(shared..).unwrap_or_default(), old)?;
    } else if new < old {
        file.set_len(new)?;
    }
    file.sync_all()?;
    Ok(true)
}

/// Whether an open file has exactly this content.
fn holds(file: &File, content: &[u8]) -> io::Result<bool> {
    if file.metadata()?.len() != to_u64(content.len())? {
        return Ok(false);
    }
    let mut piece = vec![0; PIECE_BYTES];
    let (mut rest, mut offset) = (content, 0);
    while !rest.is_empty() {
        let read = file.read_at(&mut piece, offset)?;
        let (Some(found), Some((expected, after))) = (piece.get(..read), rest.split_at_checked(read)) else {
            return Ok(false);
        };
        if read == 0 || found != expected {
            return Ok(false);
        }
        rest = after;
        offset += to_u64(read)?;
    }
    Ok(true)
}

/// Puts a content into an open file, keeping its identity, and writes it out.
pub(crate) fn overwrite(file: &File, content: &[u8]) -> io::Result<()> {
    file.write_all_at(content, 0)?;
    file.set_len(to_u64(content.len())?)?;
    file.sync_all()
}

pub(super) fn to_u64(len: usize) -> io::Result<u64> {
    u64::try_from(len).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, OpenOptions};

    #[test]
    fn what_is_replaced_in_place_is_exact_and_never_cuts_off_what_others_wrote() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        for before in ["", "a", "abcabc", "abcdef"] {
            for after in ["", "a", "b", "abXabc", "abcabcabc", "abcxef"] {
                fs::write(&path, before).unwrap();
                let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
                assert!(replace(&file, before.as_bytes(), after.as_bytes()).unwrap());
                assert_eq!(fs::read_to_string(&path).unwrap(), after, "{before:?}");
                let grown = format!("{before}+more");
                fs::write(&path, &grown).unwrap();
                assert!(!replace(&file, before.as_bytes(), after.as_bytes()).unwrap());
                assert_eq!(fs::read_to_string(&path).unwrap(), grown);
            }
        }
    }
}
