//! What stands in the place of paths that aren't there while a command runs: so that kept ones can't be made from
//! inside, and that a new file outside can be written without its folder being open.
//!
//! A mount needs something to stand on. What is made for that is noted in haft's own folder and goes when the last
//! command that needs it has ended; what a killed haft left goes with the next command. Each command also holds a lock
//! on what it needs, so that a haft with another folder of its own doesn't tidy it away meanwhile.

use super::{inventory::Identity, parts::is_there};
use crate::fault;
use haft_core::Failure;
use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    os::{
        fd::OwnedFd,
        unix::{
            ffi::OsStrExt as _,
            fs::{MetadataExt as _, OpenOptionsExt as _},
        },
    },
    path::{Path, PathBuf},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// How often, and how far apart, it is tried to hold what another is just tidying away.
const HOLD_TRIES: u32 = 20;
const HOLD_WAIT: Duration = Duration::from_millis(1);
/// The content of a file that stands for one is no longer.
const CONTENT_MAX_BYTES: u64 = 2;
/// The time that is given to what was made, by which it is known as nobody's work as long as nobody wrote it: none at
/// which anything else was written.
const UNTOUCHED: Duration = Duration::from_secs(4_711);

/// What stands for something that isn't there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StandIn {
    /// An empty folder.
    Folder,
    /// A file with a content that says nothing to whoever reads it.
    File(&'static str),
}

/// Something that may not be there, or be what stands for it already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Absent {
    pub(super) path: PathBuf,
    pub(super) stand_in: StandIn,
}

/// What was made, until it is dropped.
#[derive(Debug, Default)]
pub(super) struct Placeholders {
    /// What stands for something that isn't there, to be kept as it is.
    pub(super) kept: Vec<PathBuf>,
    /// Files that were made to be written.
    pub(super) opened: Vec<PathBuf>,
    held: Vec<File>,
    note: Option<Note>,
}

impl Placeholders {
    /// Makes what isn't there: `absent` to be kept as it is, `files` to be written. A file that can't be made is passed
    /// over; whoever wants to write it is told.
    ///
    /// # Errors
    /// Something can't be made, or not be noted.
    pub(super) fn make(absent: &[Absent], files: &[PathBuf], state: &Path) -> Result<Self, Failure> {
        if absent.is_empty() && files.is_empty() {
            return Ok(Self::default());
        }
        let path = state.join("sandbox");
        let trouble = |error: io::Error| fault::io("note", &path.to_string_lossy(), &error);
        let note = Note::open(state, &path).map_err(trouble)?;
        let mut made = Self { kept: Vec::new(), opened: Vec::new(), held: Vec::new(), note: Some(note) };
        let mut kept = BTreeSet::new();
        for Absent { path, stand_in } in absent {
            // What stands for the folder around it stands for it too.
            let stands = made.stand(path, *stand_in, path.parent());
            kept.extend(stands.map_err(|error| fault::io("make", &path.to_string_lossy(), &error))?);
        }
        made.kept = kept.into_iter().collect();
        for file in files.iter().filter(|file| file.parent().is_some_and(Path::is_dir)) {
            if let Ok(Some(_)) = made.stand(file, StandIn::File(""), None) {
                made.opened.push(file.clone());
            }
        }
        Ok(made)
    }

    /// Has something stand for a path, or for the folder around it; what that is, or none where the path is there by
    /// itself or can't be there.
    fn stand(
        &mut self,
        path: &Path,
        stand_in: StandIn,
        folder: Option<&Path>,
    ) -> io::Result<Option<PathBuf>> {
        for _ in 0..HOLD_TRIES {
            let Some(note) = &mut self.note else { return Ok(None) };
            // Made by this haft or by another.
            let mut places = [Some(path), folder].into_iter().flatten();
            if let Some(other) = places.find(|place| note.knows(place) || is_untouched(place)) {
                match hold(other) {
                    Hold::Held(file) => self.held.push(file),
                    Hold::Gone => continue,
                    Hold::Impossible => {}
                }
                note.add(other)?;
                return Ok(Some(other.to_owned()));
            }
            if is_there(path) {
                return Ok(None);
            }
            let Some(missing) = first_missing(path) else { return Ok(None) };
            let stand_in = if missing == path { stand_in } else { StandIn::Folder };
            // Before it is made, so that a kill in between leaves nothing that isn't known.
            note.add(&missing)?;
            match make(&missing, stand_in) {
                Ok(()) => {}
                Err(error) => match error.kind() {
                    io::ErrorKind::AlreadyExists => {}
                    // No command makes it either, then.
                    io::ErrorKind::PermissionDenied
                    | io::ErrorKind::ReadOnlyFilesystem
                    | io::ErrorKind::Unsupported => return Ok(None),
                    _ => return Err(error),
                },
            }
        }
        Ok(None)
    }

    /// The lock once more, by a file of its own that is closed and never unlocked: for a process that outlives haft,
    /// and needs what was made for as long.
    ///
    /// # Errors
    /// Whatever the system says.
    pub(super) fn held_apart(&self) -> io::Result<Option<OwnedFd>> {
        let Some(note) = &self.note else { return Ok(None) };
        let file = OpenOptions::new().read(true).open(&note.path)?;
        file.lock_shared()?;
        Ok(Some(file.into()))
    }
}

impl Drop for Placeholders {
    /// The last one tidies up.
    fn drop(&mut self) {
        // Closing isn't enough: a process that is just being forked has a copy for a moment.
        for file in self.held.drain(..) {
            let _ = file.unlock();
        }
        if let Some(note) = self.note.take() {
            note.close();
        }
    }
}

/// The list of what was made, held by all commands that need something of it.
#[derive(Debug)]
struct Note {
    path: PathBuf,
    file: File,
    made: BTreeSet<PathBuf>,
}

impl Note {
    fn open(state: &Path, path: &Path) -> io::Result<Self> {
        fs::create_dir_all(state)?;
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
        file.lock_shared()?;
        let made = names(&fs::read(path)?);
        Ok(Self { path: path.to_owned(), file, made })
    }

    fn knows(&self, path: &Path) -> bool {
        self.made.contains(path) && is_there(path)
    }

    fn add(&mut self, path: &Path) -> io::Result<()> {
        if self.made.insert(path.to_owned()) {
            // Names may hold anything else, also the end of a line.
            self.file.write_all(&[path.as_os_str().as_bytes(), b"\0"].concat())?;
        }
        Ok(())
    }

    /// Takes away what nobody needs any more. What somebody else holds stays noted.
    fn close(self) {
        let _ = self.file.unlock();
        drop(self.file);
        let Ok(mut file) = OpenOptions::new().read(true).write(true).open(&self.path) else { return };
        if let Err(TryLockError::WouldBlock | TryLockError::Error(_)) = file.try_lock() {
            return;
        }
        let mut noted = Vec::new();
        if file.read_to_end(&mut noted).is_ok() {
            // What lies in a folder goes before it.
            let needed: Vec<u8> = names(&noted)
                .iter()
                .rev()
                .filter(|path| !tidy(path))
                .flat_map(|path| [path.as_os_str().as_bytes(), b"\0"].concat())
                .collect();
            if file.set_len(0).and_then(|()| file.rewind()).is_ok() {
                let _ = file.write_all(&needed);
            }
        }
        let _ = file.unlock();
    }
}

fn names(noted: &[u8]) -> BTreeSet<PathBuf> {
    let names = noted.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect()
}

fn untouched() -> SystemTime {
    UNIX_EPOCH + UNTOUCHED
}

/// Whether something was made by a haft, and nobody wrote it.
pub(super) fn is_untouched(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| bears_mark(&meta))
}

fn bears_mark(meta: &fs::Metadata) -> bool {
    let is_small = meta.is_dir() || (meta.is_file() && meta.len() <= CONTENT_MAX_BYTES && meta.nlink() == 1);
    is_small && meta.modified().is_ok_and(|time| time == untouched())
}

fn make(path: &Path, stand_in: StandIn) -> io::Result<()> {
    let file = match stand_in {
        StandIn::Folder => {
            fs::create_dir(path)?;
            File::open(path)?
        }
        StandIn::File(content) => {
            let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
            file.write_all(content.as_bytes())?;
            file
        }
    };
    let marked = file.set_modified(untouched()).and_then(|()| file.metadata());
    if matches!(stand_in, StandIn::File(_)) && !marked.is_ok_and(|meta| bears_mark(&meta)) {
        // Nobody could tell it from a file that somebody wrote.
        fs::remove_file(path)?;
        return Err(io::ErrorKind::Unsupported.into());
    }
    Ok(())
}

/// What comes of trying to hold something.
enum Hold {
    Held(File),
    Gone,
    /// It is there, and can't be held.
    Impossible,
}

/// Has a path stay as long as what comes back does.
fn hold(path: &Path) -> Hold {
    for _ in 0..HOLD_TRIES {
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
        let file = match OpenOptions::new().read(true).custom_flags(flags).open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Hold::Gone,
            Err(_) => return Hold::Impossible,
        };
        match file.try_lock_shared() {
            // Somebody who tidies up may have taken the name away between the two steps.
            Ok(()) if has_name(&file, path) => return Hold::Held(file),
            Ok(()) => return Hold::Gone,
            Err(TryLockError::WouldBlock) => thread::sleep(HOLD_WAIT),
            Err(TryLockError::Error(_)) => return Hold::Impossible,
        }
    }
    Hold::Impossible
}

fn has_name(file: &File, path: &Path) -> bool {
    file.metadata().is_ok_and(|held| Identity::of(path) == Some(Identity::from(&held)))
}

/// Whether a path needn't be noted any more: it is gone, or is somebody's now.
fn tidy(path: &Path) -> bool {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let Ok(file) = OpenOptions::new().read(true).custom_flags(flags).open(path) else { return true };
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        return false;
    }
    match file.metadata() {
        // Goes only where it is empty; where somebody filled it, it is theirs.
        Ok(meta) if meta.is_dir() => drop(fs::remove_dir(path)),
        Ok(meta) if bears_mark(&meta) => drop(fs::remove_file(path)),
        _ => {}
    }
    let _ = file.unlock();
    true
}

/// The first part of a path that isn't there, where all before it is a folder.
fn first_missing(path: &Path) -> Option<PathBuf> {
    let mut ancestors: Vec<&Path> = path.ancestors().collect();
    ancestors.reverse();
    for ancestor in ancestors {
        match fs::symlink_metadata(ancestor) {
            Ok(meta) if meta.is_dir() => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Some(ancestor.to_owned()),
            _ => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice::from_ref;

    fn folders(paths: &[PathBuf]) -> Vec<Absent> {
        paths.iter().map(|path| Absent { path: path.clone(), stand_in: StandIn::Folder }).collect()
    }

    #[test]
    fn what_was_made_goes_with_the_last_that_needs_it() {
        let folder = tempfile::tempdir().unwrap();
        // Also where a name ends a line.
        let (root, state) = (folder.path().join("w\nw"), folder.path().join("s"));
        fs::create_dir_all(root.join("a")).unwrap();
        let absent = folders(&[".git/hooks", ".x", "a"].map(|name| root.join(name)));
        let one = Placeholders::make(&absent, &[], &state).unwrap();
        let two = Placeholders::make(&absent, &[], &state).unwrap();
        let expected = [".git", ".x"].map(|name| root.join(name));
        assert_eq!((&one.kept[..], &two.kept[..]), (&expected[..], &expected[..]));
        assert!(root.join(".git").is_dir() && !root.join(".git/hooks").exists() && root.join(".x").is_dir());
        drop(one);
        assert!(root.join(".git").is_dir());
        fs::write(root.join(".x/f"), "").unwrap();
        drop(two);
        assert!(!root.join(".git").exists() && root.join(".x/f").exists() && root.join("a").is_dir());
    }

    #[test]
    fn what_outlives_haft_keeps_what_was_made_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let made = folder.path().join(".haft");
        let absent = folders(from_ref(&made));
        let one = Placeholders::make(&absent, &[], folder.path()).unwrap();
        let apart = one.held_apart().unwrap().unwrap();
        drop(one);
        assert!(made.is_dir());
        drop(apart);
        drop(Placeholders::make(&absent, &[], folder.path()).unwrap());
        assert!(!made.exists());
    }

    #[test]
    fn what_a_haft_with_another_folder_needs_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (ours, theirs) = (folder.path().join("ours"), folder.path().join("theirs"));
        let absent = folders(&[folder.path().join(".haft")]);
        let one = Placeholders::make(&absent, &[], &ours).unwrap();
        let two = Placeholders::make(&absent, &[], &theirs).unwrap();
        assert_eq!(one.kept, two.kept);
        drop(one);
        assert!(folder.path().join(".haft").is_dir(), "the second one still needs it");
        drop(two);
        assert!(!folder.path().join(".haft").exists());
    }

    #[test]
    fn what_a_killed_process_left_goes_with_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(".haft");
        let mut killed = Placeholders::make(&folders(from_ref(&left)), &[], folder.path()).unwrap();
        // Its locks went with the process; the note didn't.
        for file in &killed.held {
            file.unlock().unwrap();
        }
        killed.note.take().unwrap().file.unlock().unwrap();
        std::mem::forget(killed);
        drop(Placeholders::make(&folders(from_ref(&left)), &[], folder.path()).unwrap());
        assert!(!left.exists());
        assert_eq!(fs::read(folder.path().join("sandbox")).unwrap(), b"");
    }

    #[test]
    fn a_file_in_a_folder_that_was_made_goes_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let (kept, file) = (folder.path().join(".vscode"), folder.path().join(".vscode/settings.json"));
        let made =
            Placeholders::make(&folders(from_ref(&kept)), from_ref(&file), &folder.path().join("s")).unwrap();
        assert!(file.is_file() && made.opened == [file]);
        drop(made);
        assert!(!kept.exists());
    }

    #[test]
    fn a_file_that_was_made_to_be_written_goes_where_nobody_did() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let files = ["written", "emptied", "left", "none/x"].map(at);
        let made = Placeholders::make(&[], &files, &at("state")).unwrap();
        // Nothing is made for a file in a folder that isn't there.
        assert_eq!(made.opened, files[..3]);
        fs::write(at("written"), "x").unwrap();
        File::create(at("emptied")).unwrap();
        drop(made);
        assert!(
            at("written").exists() && at("emptied").exists() && !at("left").exists() && !at("none").exists()
        );
    }
}
