//! What a write must leave behind so that a kill at any moment can be mended at the next start.
//!
//! A file with several names can't be replaced, only written over; the journal holds both contents until
//! that is done. It also names temporary files, so that none stays in a workspace. Each entry is locked by
//! its living owner; what is found unlocked belongs to the dead.

use crate::{
    fault,
    root::{Beneath, Place, Root, split},
};
use haft_core::{Failure, RealPath};
use rustix::fs::{AtFlags, OFlags};
use std::{
    fs::{self, File, OpenOptions},
    hash::{BuildHasher, Hasher, RandomState},
    io::{self, Read, Write},
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

const FOLDER: &str = "journal";
const MAGIC: &str = "haft-journal-1";
/// What temporary files are called: `.haft-….tmp`.
const TEMP_PREFIX: &str = ".haft-";
const TEMP_SUFFIX: &str = ".tmp";
/// After this time an entry that was never finished has no owner any more.
const UNFINISHED_MAX_AGE: Duration = Duration::from_secs(3600);

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
        let name = random_name();
        let (unfinished, path) = (folder.join(format!("{name}.new")), folder.join(format!("{name}.journal")));
        Self::put(&unfinished, &path, note)
            .inspect_err(|_| drop(fs::remove_file(&unfinished)))
            .map_err(|error| fault::io("write the journal", &path.to_string_lossy(), &error))
    }

    fn put(unfinished: &Path, path: &Path, note: &Note) -> io::Result<Self> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(unfinished)?;
        file.lock()?;
        file.write_all(&encode(note))?;
        let sync = matches!(note, Note::InPlace { .. });
        if sync {
            file.sync_all()?;
        }
        fs::rename(unfinished, path)?;
        if sync && let Some(folder) = path.parent() {
            File::open(folder)?.sync_all()?;
        }
        Ok(Self { path: path.to_owned(), _file: file })
    }

    /// The work is done, or undone; the entry goes.
    pub(crate) fn done(self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// A name for a temporary file that nobody else will choose.
pub(crate) fn temp_name() -> String {
    format!("{TEMP_PREFIX}{}{TEMP_SUFFIX}", random_name())
}

pub(crate) fn random_name() -> String {
    // Each state has keys of its own, from the system's random numbers.
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    format!("{:016x}", hasher.finish())
}

/// Mends what dead processes left: removes their temporary files, and undoes a half-done write in place.
///
/// Entries of living processes are left alone. A file that holds neither content nor a mixture of the two
/// was changed by somebody since: it stays as it is, and the entry is kept beside it as `.kept`.
pub(crate) fn recover(state: &Path) {
    let Ok(entries) = fs::read_dir(state.join(FOLDER)) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let extension = path.extension().and_then(|extension| extension.to_str());
        // One bad entry mustn't keep the others, or the program, from going on.
        let _ = match extension {
            Some("journal") => recover_one(&path),
            Some("new") => remove_unfinished(&path),
            _ => Ok(()),
        };
    }
}

fn recover_one(path: &Path) -> io::Result<()> {
    let Some(mut file) = orphan(path)? else {
        return Ok(());
    };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let mended = match decode(&bytes) {
        // Torn before it was renamed and synced: nothing had begun.
        None => true,
        Some(note) => mend(&note)?,
    };
    if mended { fs::remove_file(path) } else { fs::rename(path, path.with_extension("kept")) }
}

fn remove_unfinished(path: &Path) -> io::Result<()> {
    let Some(file) = orphan(path)? else { return Ok(()) };
    let age = file.metadata()?.modified()?.elapsed().unwrap_or_default();
    if age > UNFINISHED_MAX_AGE { fs::remove_file(path) } else { Ok(()) }
}

/// The entry, locked, where its owner is dead.
fn orphan(path: &Path) -> io::Result<Option<File>> {
    let file = File::open(path)?;
    // Removed means that its owner has just finished.
    let dead = file.try_lock().is_ok() && file.metadata()?.nlink() > 0;
    Ok(dead.then_some(file))
}

/// Whether nothing remains to be done for the note.
fn mend(note: &Note) -> io::Result<bool> {
    match note {
        Note::Temp { path } => {
            let place = match place(path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
                other => other?,
            };
            let ours = place.name.starts_with(TEMP_PREFIX) && place.name.ends_with(TEMP_SUFFIX);
            if ours && place.look().is_ok_and(|meta| meta.is_file()) {
                rustix::fs::unlinkat(&place.folder, place.name.as_str(), AtFlags::empty())?;
            }
            Ok(true)
        }
        Note::InPlace { path, before, after } => {
            // A folder that can't be reached now may be on a drive that comes back: the entry waits for it.
            let place = place(path)?;
            if !place.look().is_ok_and(|meta| meta.is_file()) {
                return Ok(false);
            }
            let mut file = place.open(OFlags::RDWR)?;
            let longest = before.len().max(after.len());
            let mut now = Vec::new();
            Read::by_ref(&mut file).take(to_u64(longest)?.saturating_add(1)).read_to_end(&mut now)?;
            if now == *before || now == *after {
                return Ok(true);
            }
            if !is_mixture(&now, before, after) {
                return Ok(false);
            }
            overwrite(&file, before)?;
            Ok(true)
        }
    }
}

fn place(path: &RealPath) -> io::Result<Place> {
    let (parent, name) = split(&path.beneath);
    Ok(Place { folder: Root::open(&path.root)?.folder(parent, Beneath::detect())?, name: name.to_owned() })
}

/// Whether each byte comes from one of the contents: what an interrupted write leaves, in whatever order
/// the disk took its blocks.
fn is_mixture(now: &[u8], before: &[u8], after: &[u8]) -> bool {
    now.len() <= before.len().max(after.len())
        && now.len() >= before.len().min(after.len())
        && now.iter().enumerate().all(|(at, byte)| {
            before.get(at).is_some_and(|old| old == byte) || after.get(at).is_some_and(|new| new == byte)
        })
}

/// Puts a content into an open file, keeping its identity, and writes it out.
pub(crate) fn overwrite(file: &File, content: &[u8]) -> io::Result<()> {
    file.write_all_at(content, 0)?;
    file.set_len(to_u64(content.len())?)?;
    file.sync_all()
}

fn to_u64(len: usize) -> io::Result<u64> {
    u64::try_from(len).map_err(io::Error::other)
}

fn encode(note: &Note) -> Vec<u8> {
    let none: &[u8] = &[];
    let (kind, path, before, after) = match note {
        Note::Temp { path } => ("temp", path, none, none),
        Note::InPlace { path, before, after } => ("in-place", path, before.as_slice(), after.as_slice()),
    };
    let parts = [path.root.as_bytes(), path.beneath.as_bytes(), before, after];
    let lengths = parts.map(|part| part.len().to_string()).join(" ");
    let mut bytes = format!("{MAGIC} {kind} {lengths}\n").into_bytes();
    for part in parts {
        bytes.extend_from_slice(part);
    }
    bytes
}

fn decode(bytes: &[u8]) -> Option<Note> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (head, mut rest) = (bytes.get(..end)?, bytes.get(end + 1..)?);
    let mut words = std::str::from_utf8(head).ok()?.split(' ');
    if words.next()? != MAGIC {
        return None;
    }
    let kind = words.next()?;
    let mut part = || {
        let (part, after) = rest.split_at_checked(words.next()?.parse().ok()?)?;
        rest = after;
        Some(part)
    };
    let (root, beneath, before, after) = (part()?, part()?, part()?, part()?);
    let path = RealPath::new(std::str::from_utf8(root).ok()?, std::str::from_utf8(beneath).ok()?);
    match kind {
        "temp" => Some(Note::Temp { path }),
        "in-place" => Some(Note::InPlace { path, before: before.to_vec(), after: after.to_vec() }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_place(path: &Path) -> Note {
        let path = RealPath::new("/", path.to_str().unwrap().trim_start_matches('/'));
        Note::InPlace { path, before: b"old old".to_vec(), after: b"new".to_vec() }
    }

    #[test]
    fn an_entry_survives_its_encoding_and_a_torn_one_is_none() {
        let note = in_place(Path::new("/a b\n/c"));
        let bytes = encode(&note);
        assert_eq!(decode(&bytes), Some(note));
        assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
    }

    #[test]
    fn a_half_done_write_is_undone_and_a_later_change_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        for (left, mended) in
            [("neo old", "neo old"), ("new old", "old old"), ("new", "new"), ("mine!", "mine!")]
        {
            let file = folder.path().join("f");
            fs::write(&file, left).unwrap();
            drop(Journal::begin(&state, &in_place(&file.canonicalize().unwrap())).unwrap());
            recover(&state);
            assert_eq!(fs::read_to_string(&file).unwrap(), mended);
        }
        let kept = fs::read_dir(state.join(FOLDER)).unwrap().count();
        assert_eq!(kept, 2, "the two changed by somebody else");
    }

    #[test]
    fn a_living_owner_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().canonicalize().unwrap().join("f");
        fs::write(&file, "new old").unwrap();
        let alive = Journal::begin(folder.path(), &in_place(&file)).unwrap();
        recover(folder.path());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new old");
        alive.done();
    }

    #[test]
    fn a_dead_process_leaves_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let name = temp_name();
        fs::write(root.join(&name), "half").unwrap();
        let note = Note::Temp { path: RealPath::new(root.to_str().unwrap(), &name) };
        drop(Journal::begin(&root, &note).unwrap());
        recover(&root);
        assert!(!root.join(&name).exists());
    }
}
