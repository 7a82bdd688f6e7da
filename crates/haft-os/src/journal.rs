//! What a write must leave behind so that a kill at any moment can be mended at the next start.
//!
//! A file with several names can't be replaced, only written over; the journal holds both contents until
//! that is done. It also names temporary files, so that none stays in a workspace. Each entry is locked by
//! its living owner; what is found unlocked belongs to the dead.

use crate::{
    fault,
    root::{Beneath, Place, Root, split},
    undo::{self, Step},
};
use haft_core::{Failure, RealPath};
use rustix::fs::OFlags;
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
pub(crate) const TEMP_SUFFIX: &str = ".tmp";
/// What can't be reached for so long won't come back.
const UNREACHED_TIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How much is compared at once.
const PIECE_BYTES: usize = 64 * 1024;
/// So often an entry is begun anew where a start beside it took it for a dead one.
const BEGIN_TRIES: usize = 16;

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
    fn is_synced(&self) -> bool {
        matches!(self, Self::InPlace { .. } | Self::Set { .. })
    }
}

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

/// A name for a temporary file that nobody else will choose.
pub(crate) fn temp_name() -> String {
    format!("{TEMP_PREFIX}{}{TEMP_SUFFIX}", random_name())
}

/// The path of a new temporary file in the same folder.
pub(crate) fn temp_beside(at: &RealPath) -> RealPath {
    let name = temp_name();
    let beneath = match at.beneath.rsplit_once('/') {
        Some((parent, _)) => format!("{parent}/{name}"),
        None => name,
    };
    RealPath::new(&at.root, &beneath)
}

/// Whether a name is one that only temporary files have.
pub(crate) fn is_temp_name(name: &str) -> bool {
    name.starts_with(TEMP_PREFIX) && name.ends_with(TEMP_SUFFIX)
}

pub(crate) fn random_name() -> String {
    // Each state has keys of its own, from the system's random numbers.
    let mut hasher = RandomState::new().build_hasher();
    hasher.write_u32(std::process::id());
    format!("{:016x}", hasher.finish())
}

/// Mends what dead processes left: removes their temporary files, and undoes half-done writes in place and sets of
/// changes.
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
        Some(note) => match mend(&note) {
            // Only rubbish: its folder was removed with it long ago.
            Err(error)
                if error.kind() == io::ErrorKind::NotFound
                    && matches!(note, Note::Temp { .. } | Note::Staged { .. })
                    && is_old(&file) =>
            {
                true
            }
            mended => mended?,
        },
    };
    if mended { fs::remove_file(path) } else { fs::rename(path, path.with_extension("kept")) }
}

fn is_old(file: &File) -> bool {
    let age = file.metadata().and_then(|meta| meta.modified()).map(|since| since.elapsed());
    matches!(age, Ok(Ok(age)) if age > UNREACHED_TIME)
}

fn remove_unfinished(path: &Path) -> io::Result<()> {
    // What was begun but never got its name announces nothing.
    let Some(_held) = orphan(path)? else { return Ok(()) };
    fs::remove_file(path)
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
        Note::Temp { path } => undo::remove_temp(path).map(|()| true),
        Note::Staged { temps, folders } => undo::sweep(temps, folders).map(|()| true),
        Note::Set { steps, folders } => undo::roll_back(steps, folders),
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

/// The open folder of a path, and its name there.
pub(crate) fn place(path: &RealPath) -> io::Result<Place> {
    let (parent, name) = split(&path.beneath);
    Ok(Place { folder: Root::open(&path.root)?.folder(parent, Beneath::detect())?, name: name.to_owned() })
}

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

fn to_u64(len: usize) -> io::Result<u64> {
    u64::try_from(len).map_err(io::Error::other)
}

fn encode(note: &Note) -> Vec<u8> {
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

fn decode(bytes: &[u8]) -> Option<Note> {
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

    #[test]
    fn an_entry_that_never_got_its_name_goes() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(FOLDER)).unwrap();
        let unfinished = folder.path().join(FOLDER).join("1.new");
        fs::write(&unfinished, "half").unwrap();
        let alive = locked(&unfinished.with_file_name("2.new")).unwrap();
        recover(folder.path());
        assert!(!unfinished.exists() && unfinished.with_file_name("2.new").exists());
        drop(alive);
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

    #[test]
    fn a_temporary_file_whose_folder_is_not_there_waits_for_it() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        let (folder, moved) = (root.join("d"), root.join("elsewhere"));
        fs::create_dir(&folder).unwrap();
        let name = temp_name();
        fs::write(folder.join(&name), "half").unwrap();
        let temp = RealPath::new(root.to_str().unwrap(), &format!("d/{name}"));
        let unmade = RealPath::new(root.to_str().unwrap(), &format!("n/{name}"));
        let folders = vec![RealPath::new(root.to_str().unwrap(), "n")];
        for note in
            [Note::Temp { path: temp.clone() }, Note::Staged { temps: vec![temp.clone(), unmade], folders }]
        {
            fs::write(folder.join(&name), "half").unwrap();
            drop(Journal::begin(&root, &note).unwrap());
            fs::rename(&folder, &moved).unwrap();
            recover(&root);
            assert!(moved.join(&name).exists());
            fs::rename(&moved, &folder).unwrap();
            recover(&root);
            assert!(!folder.join(&name).exists());
            assert_eq!(fs::read_dir(root.join(FOLDER)).unwrap().count(), 0);
        }
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
