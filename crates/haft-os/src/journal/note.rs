//! What an entry says, and its bytes.

use crate::undo::{self, Step};
use haft_core::RealPath;

const MAGIC: &str = "haft-journal-1";

/// What is about to happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Note {
    /// A temporary file is made here.
    Temp {
        /// The temporary file.
        path: RealPath,
    },
    /// A file is written over.
    InPlace {
        /// The file.
        path: RealPath,
        /// Its content until now.
        before: Vec<u8>,
        /// Its content to be.
        after: Vec<u8>,
    },
    /// Temporary files are made for several changes, and folders for new files. Also what remains to be tidied once
    /// all changes are done: then no folder is named.
    Staged {
        /// The temporary files.
        temps: Vec<RealPath>,
        /// The folders, each after the one it is in.
        folders: Vec<RealPath>,
    },
    /// Several changes are made; until this is replaced by a [`Note::Staged`] they are taken back.
    Set {
        /// The changes, in order.
        steps: Vec<Step>,
        /// The folders made for them, each after the one it is in.
        folders: Vec<RealPath>,
    },
}

impl Note {
    /// Whether it must be on the disk before what it announces.
    pub(super) fn is_synced(&self) -> bool {
        matches!(self, Self::InPlace { .. } | Self::Set { .. })
    }
}

pub(super) fn encode(note: &Note) -> Vec<u8> {
    let (kind, parts) = match note {
        Note::Temp { path } => ("temp", path_parts(path).to_vec()),
        Note::InPlace { path, before, after } => {
            let [root, beneath] = path_parts(path);
            ("in-place", vec![root, beneath, before.clone(), after.clone()])
        }
        Note::Staged { temps, folders } => ("staged", list_parts(folders, temps.iter().flat_map(path_parts))),
        Note::Set { steps, folders } => ("set", list_parts(folders, steps.iter().flat_map(Step::parts))),
    };
    let lengths = parts.iter().map(|part| part.len().to_string()).collect::<Vec<_>>().join(" ");
    let mut bytes = format!("{MAGIC} {kind} {lengths}\n").into_bytes();
    for part in &parts {
        bytes.extend_from_slice(part);
    }
    bytes
}

fn path_parts(path: &RealPath) -> [Vec<u8>; 2] {
    [path.root.as_bytes().to_vec(), path.beneath.as_bytes().to_vec()]
}

/// How many folders there are, the folders, and the rest.
fn list_parts(folders: &[RealPath], rest: impl Iterator<Item = Vec<u8>>) -> Vec<Vec<u8>> {
    let count = folders.len().to_string().into_bytes();
    std::iter::once(count).chain(folders.iter().flat_map(path_parts)).chain(rest).collect()
}

pub(super) fn decode(bytes: &[u8]) -> Option<Note> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (head, mut rest) = (bytes.get(..end)?, bytes.get(end + 1..)?);
    let mut words = std::str::from_utf8(head).ok()?.split(' ');
    if words.next()? != MAGIC {
        return None;
    }
    let kind = words.next()?;
    let mut parts = Vec::new();
    for length in words {
        let (part, after) = rest.split_at_checked(length.parse().ok()?)?;
        rest = after;
        parts.push(part);
    }
    match (kind, parts.as_slice()) {
        ("temp", [root, beneath, ..]) => Some(Note::Temp { path: read_path(root, beneath)? }),
        ("in-place", [root, beneath, before, after]) => {
            let path = read_path(root, beneath)?;
            Some(Note::InPlace { path, before: before.to_vec(), after: after.to_vec() })
        }
        ("staged", [count, lists @ ..]) => {
            let (folders, temps) = read_folders(count, lists)?;
            Some(Note::Staged { temps: read_paths(temps)?, folders })
        }
        ("set", [count, lists @ ..]) => {
            let (folders, steps) = read_folders(count, lists)?;
            let (steps, []) = steps.as_chunks::<{ undo::PARTS }>() else { return None };
            let steps: Option<Vec<Step>> = steps.iter().map(Step::from_parts).collect();
            Some(Note::Set { steps: steps?, folders })
        }
        _ => None,
    }
}

pub(crate) fn read_path(root: &[u8], beneath: &[u8]) -> Option<RealPath> {
    Some(RealPath::new(std::str::from_utf8(root).ok()?, std::str::from_utf8(beneath).ok()?))
}

fn read_paths(parts: &[&[u8]]) -> Option<Vec<RealPath>> {
    let (pairs, []) = parts.as_chunks::<2>() else { return None };
    pairs.iter().map(|[root, beneath]| read_path(root, beneath)).collect()
}

/// The folders, and the parts after them.
fn read_folders<'a, 'b>(count: &[u8], parts: &'a [&'b [u8]]) -> Option<(Vec<RealPath>, &'a [&'b [u8]])> {
    let count: usize = std::str::from_utf8(count).ok()?.parse().ok()?;
    let (folders, rest) = parts.split_at_checked(count.checked_mul(2)?)?;
    Some((read_paths(folders)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_survives_its_encoding_and_a_torn_one_is_none() {
        let path = RealPath::new("/", "a b\n/c");
        let note = Note::InPlace { path, before: b"old old".to_vec(), after: b"new".to_vec() };
        let bytes = encode(&note);
        assert_eq!(decode(&bytes), Some(note));
        assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
    }

    #[test]
    fn lists_survive_their_encoding() {
        let path = |name: &str| RealPath::new("/w", name);
        for note in [
            Note::Staged { temps: vec![path("a"), path("b c")], folders: vec![path("d"), path("d/e")] },
            Note::Staged { temps: Vec::new(), folders: Vec::new() },
            Note::Set {
                steps: vec![
                    Step::New { at: path("n"), temp: path("t"), after: "1".into() },
                    Step::InPlace {
                        at: path("p"),
                        before: b"\n \xff".to_vec(),
                        after: Vec::new(),
                        mode: 0o644,
                    },
                ],
                folders: vec![path("d")],
            },
        ] {
            assert_eq!(decode(&encode(&note)), Some(note));
        }
    }
}
