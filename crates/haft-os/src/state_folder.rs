//! The state folder as the runtime sees it.

use crate::{OsState, Spill, fault};
use haft_core::{Change, Counter, Failure, FileStamp, Held, LineLog, SpillFile, StateEntry, StateFolder};
use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

const FILE_MODE: u32 = 0o600;
/// No file system that counts here tells times less finely.
const TICK: Duration = Duration::from_secs(3);

impl StateFolder for OsState {
    fn path(&self, at: &str) -> String {
        self.root.join(at).to_string_lossy().into_owned()
    }

    fn read_tail(&self, at: &str, max: usize) -> Result<Option<Vec<u8>>, Failure> {
        let path = OsState::path(self, at)?;
        let wide = u64::try_from(max).unwrap_or(u64::MAX);
        read(&path, max, |len| len.saturating_sub(wide))
    }

    fn read_from(&self, at: &str, offset: u64, max: usize) -> Result<Option<Vec<u8>>, Failure> {
        read(&OsState::path(self, at)?, max, |_| offset)
    }

    fn stamp(&self, at: &str) -> Option<FileStamp> {
        let own = self.own_device()?;
        match fs::metadata(OsState::path(self, at).ok()?) {
            Ok(meta) if meta.dev() == own => stamp_of(&meta, SystemTime::now()),
            Ok(_) => None,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Some(FileStamp::default()),
            Err(_) => None,
        }
    }

    fn update(&self, at: &str, change: &mut Change<'_>) -> Result<(), Failure> {
        OsState::update(self, at, |before| change(before.as_deref()))
    }

    fn open_log(&self, at: &str) -> Result<Box<dyn LineLog>, Failure> {
        let path = self.writable(at)?;
        let log = Log::open(path.clone(), self.own_device());
        Ok(Box::new(log.map_err(|error| fault::io("open", &path.to_string_lossy(), &error))?))
    }

    fn open_counter(&self, at: &str) -> Result<Box<dyn Counter>, Failure> {
        let path = self.writable(at)?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(FILE_MODE)
            .open(&path);
        let file = file.map_err(|error| fault::io("open", &path.to_string_lossy(), &error))?;
        Ok(Box::new(Count { path, taken: Mutex::new(Taken { file, next: 0, left: 0, block: 1 }) }))
    }

    fn open_spill(&self, at: &str) -> Result<Box<dyn SpillFile>, Failure> {
        OsState::remove(self, at)?;
        Ok(Box::new(self.spill(at)?))
    }

    fn keep(&self, at: &str, content: &mut dyn FnMut() -> Result<Vec<u8>, Failure>) -> Result<(), Failure> {
        OsState::keep(self, at, content)
    }

    fn list(&self, at: &str) -> Vec<StateEntry> {
        let Ok(path) = OsState::path(self, at) else { return Vec::new() };
        let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
        let mut found: Vec<StateEntry> = entries
            .flatten()
            .filter_map(|entry| {
                let meta = entry.metadata().ok()?;
                Some(StateEntry {
                    name: entry.file_name().into_string().ok()?,
                    is_folder: meta.is_dir(),
                    len: meta.len(),
                    modified: meta.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                })
            })
            .collect();
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found
    }

    fn hold(&self, at: &str) -> Result<Box<dyn Held>, Failure> {
        let path = self.writable(at)?;
        let trouble = |error| fault::io("hold", &path.to_string_lossy(), &error);
        for _ in 0..HOLD_TRIES {
            let file =
                OpenOptions::new().write(true).create(true).truncate(false).mode(FILE_MODE).open(&path);
            let file = file.map_err(trouble)?;
            // Somebody who looks whether it is held holds it for a moment; somebody who tidies up may have taken the
            // name away between the two steps.
            if file.try_lock().is_ok() && has_name(&file, &path) {
                return Ok(Box::new(Holding { path, _file: file }));
            }
            std::thread::sleep(HOLD_WAIT);
        }
        Err(trouble(io::ErrorKind::ResourceBusy.into()))
    }

    fn is_held(&self, at: &str) -> bool {
        let Ok(path) = OsState::path(self, at) else { return false };
        File::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(fs::TryLockError::WouldBlock)))
    }

    fn remove(&self, at: &str) -> Result<(), Failure> {
        OsState::remove(self, at)
    }
}

/// What tells a file from what it is after the next write; none of one that was changed so lately, or so far in the
/// future, that the clock of its file system may give the next write the same time.
fn stamp_of(meta: &fs::Metadata, now: SystemTime) -> Option<FileStamp> {
    let now = now.duration_since(UNIX_EPOCH).ok()?;
    let changed = Duration::from_secs(u64::try_from(meta.ctime()).ok()?);
    (now.checked_sub(changed)? > TICK).then(|| FileStamp {
        identity: (meta.dev(), meta.ino()),
        len: meta.len(),
        modified: (meta.mtime(), meta.mtime_nsec()),
        changed: (meta.ctime(), meta.ctime_nsec()),
    })
}

/// At most `max` bytes from where `start` says, by the file's length; also where another process adds to it.
fn read(path: &Path, max: usize, start: impl FnOnce(u64) -> u64) -> Result<Option<Vec<u8>>, Failure> {
    let trouble = |error| fault::io("read", &path.to_string_lossy(), &error);
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(trouble(error)),
    };
    let read = || -> io::Result<Vec<u8>> {
        let len = file.metadata()?.len();
        let start = start(len);
        if start > 0 {
            file.seek(SeekFrom::Start(start))?;
        }
        // With room for all of it and the end, it is read at once.
        let expected = usize::try_from(len.saturating_sub(start)).unwrap_or(max).min(max);
        let mut bytes = Vec::with_capacity(expected.saturating_add(1));
        (&mut file).take(u64::try_from(max).unwrap_or(u64::MAX)).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map(Some).map_err(trouble)
}

/// How often, and how far apart, a file is tried to be held.
const HOLD_TRIES: u32 = 50;
const HOLD_WAIT: Duration = Duration::from_millis(1);

/// Whether the path still names that file.
fn has_name(file: &File, path: &Path) -> bool {
    let of = |meta: fs::Metadata| (meta.dev(), meta.ino());
    file.metadata().is_ok_and(|held| fs::metadata(path).is_ok_and(|named| of(named) == of(held)))
}

/// A file that grows by lines, kept open.
struct Log {
    path: PathBuf,
    writer: Mutex<Writer>,
}

struct Writer {
    file: File,
    /// Whether lines are written one at a time only where whoever writes has the lock: where several machines may add.
    is_locked: bool,
    /// The last line couldn't be written whole; the next one ends it first.
    is_torn: bool,
}

impl Log {
    /// Opens it and ends a line that a kill left without its end, so that it spoils only itself. One that is just being
    /// written looks torn too; what ends it then comes after it, as an empty line, which says nothing.
    fn open(path: PathBuf, own_device: Option<u64>) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).append(true).create(true).mode(FILE_MODE).open(&path)?;
        let is_locked = own_device != Some(file.metadata()?.dev());
        let writer = Writer { file, is_locked, is_torn: false };
        writer.alone(end_last_line)?;
        Ok(Self { path, writer: Mutex::new(writer) })
    }
}

fn end_last_line(mut file: &File) -> io::Result<()> {
    let Some(last) = file.metadata()?.len().checked_sub(1) else { return Ok(()) };
    let mut end = [0_u8];
    file.read_exact_at(&mut end, last)?;
    if end == *b"\n" { Ok(()) } else { file.write_all(b"\n") }
}

impl Writer {
    /// Does something to the file while nobody of another machine does.
    fn alone<T>(&self, act: impl FnOnce(&File) -> io::Result<T>) -> io::Result<T> {
        if !self.is_locked {
            return act(&self.file);
        }
        self.file.lock()?;
        let done = act(&self.file);
        self.file.unlock()?;
        done
    }

    /// One write to a file opened for appending: the kernel holds the file while it adds all of it, so lines of
    /// several processes never mix. Of several kernels each knows its own end of the file, unless it has the lock.
    fn add(&mut self, line: &[u8]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(line.len() + 2);
        if self.is_torn {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(line);
        bytes.push(b'\n');
        self.is_torn = self.alone(|mut file| file.write(&bytes))? != bytes.len();
        if self.is_torn { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

impl LineLog for Log {
    fn append(&self, line: &[u8]) -> Result<(), Failure> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        writer.add(line).map_err(|error| fault::io("write", &self.path.to_string_lossy(), &error))
    }
}

/// A counter as eight bytes, locked while it is read and written. A process that asks often takes numbers in
/// growing blocks; what is left of a block when it ends is never given.
struct Count {
    path: PathBuf,
    taken: Mutex<Taken>,
}

struct Taken {
    file: File,
    next: u64,
    left: u64,
    block: u64,
}

/// The largest block of numbers taken at once.
const BLOCK_MAX: u64 = 256;

impl Taken {
    fn take_block(&mut self) -> io::Result<()> {
        self.file.lock()?;
        let taken = self.take_locked();
        self.file.unlock()?;
        taken
    }

    fn take_locked(&mut self) -> io::Result<()> {
        let mut bytes = [0_u8; 8];
        let counted = match self.file.read_exact_at(&mut bytes, 0) {
            Ok(()) => u64::from_le_bytes(bytes),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => 0,
            Err(error) => return Err(error),
        };
        self.file.write_all_at(&counted.wrapping_add(self.block).to_le_bytes(), 0)?;
        (self.next, self.left) = (counted.wrapping_add(1), self.block);
        self.block = (self.block * 2).min(BLOCK_MAX);
        Ok(())
    }
}

impl Counter for Count {
    fn next(&self) -> Result<u64, Failure> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.left == 0 {
            let path = || self.path.to_string_lossy();
            taken.take_block().map_err(|error| fault::io("count in", &path(), &error))?;
        }
        let number = taken.next;
        taken.next = number.wrapping_add(1);
        taken.left -= 1;
        Ok(number)
    }
}

/// A file held by its lock; it goes with its holder.
struct Holding {
    path: PathBuf,
    _file: File,
}

impl Held for Holding {}

impl Drop for Holding {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl SpillFile for Spill {
    fn push(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.write(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_rests_has_a_stamp_and_one_just_written_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        fs::write(&path, "one").unwrap();
        let (meta, now) = (fs::metadata(&path).unwrap(), SystemTime::now());
        assert_eq!(stamp_of(&meta, now), None);
        assert_eq!(stamp_of(&meta, now - Duration::from_secs(60)), None, "its time is in the future");
        let later = now + Duration::from_secs(60);
        let before = stamp_of(&meta, later).unwrap();
        assert_eq!(stamp_of(&fs::metadata(&path).unwrap(), later), Some(before.clone()));
        fs::write(&path, "other").unwrap();
        assert_ne!(stamp_of(&fs::metadata(&path).unwrap(), later), Some(before.clone()));
        // Another file of the same length in its place.
        fs::write(folder.path().join("g"), "two").unwrap();
        fs::rename(folder.path().join("g"), &path).unwrap();
        assert_ne!(stamp_of(&fs::metadata(&path).unwrap(), later), Some(before));
    }

    #[test]
    fn lines_are_added_with_the_lock_and_without() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, "torn").unwrap();
        for is_locked in [true, false] {
            let own = (!is_locked).then(|| fs::metadata(folder.path()).unwrap().dev());
            let log = Log::open(path.clone(), own).unwrap();
            log.append(b"line").unwrap();
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "torn\nline\nline\n");
    }

    #[test]
    fn a_folder_of_this_machine_tells_what_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let state = OsState::new(folder.path());
        if state.own_device().is_none() {
            println!("left out: the temporary folder is on no file system that tells times");
            return;
        }
        assert_eq!(state.stamp("f"), Some(FileStamp::default()));
        fs::write(folder.path().join("f"), "").unwrap();
        assert_eq!(state.stamp("f"), None);
        // No file system of those that tell times, as a network's isn't.
        std::os::unix::fs::symlink("/proc", folder.path().join("elsewhere")).unwrap();
        assert_eq!(state.stamp("elsewhere/version"), None, "what others write there is seen late");
        let missing = OsState::new(folder.path().join("none"));
        assert_eq!(missing.stamp("f"), None, "it isn't known what is made there");
    }
}
