//! The state folder: session logs, settings that haft itself writes, spilled results. Private to its user.
//!
//! Every name is relative and stays beneath the folder. Leaves what the files mean to the runtime.

use crate::{fault, host, journal};
use haft_core::Failure;
use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Component, Path, PathBuf},
    sync::OnceLock,
    time::{Duration, SystemTime},
};

const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;
/// A file that is kept need not be said to be in use again within so long.
const FRESH: Duration = Duration::from_secs(60);
/// A file that is read whole to be changed isn't longer than this.
const UPDATE_MAX_BYTES: u64 = 64 * 1024 * 1024;

/// Makes a folder and those above it, for its user alone.
pub(crate) fn make_folders(path: &Path) -> Result<(), Failure> {
    DirBuilder::new()
        .recursive(true)
        .mode(FOLDER_MODE)
        .create(path)
        .map_err(|error| fault::io("make the folder", &path.to_string_lossy(), &error))
}

/// A folder of haft's own.
#[derive(Debug, Clone)]
pub struct OsState {
    /// The absolute folder; it is made at the first write.
    pub root: PathBuf,
    /// Where times tell what was written there, the device.
    own_device: OnceLock<Option<u64>>,
}

impl OsState {
    /// The state in a folder.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), own_device: OnceLock::new() }
    }

    /// Where a name lies.
    ///
    /// # Errors
    /// Internal for a name that leads out of the folder.
    pub fn path(&self, rel: &str) -> Result<PathBuf, Failure> {
        let plain = Path::new(rel).components().all(|part| matches!(part, Component::Normal(_)));
        if !plain || rel.contains('\0') {
            return Err(Failure::internal(format!("\"{rel}\" is no name in the state folder")));
        }
        Ok(self.root.join(rel))
    }

    /// The whole content; none where there is no such file.
    ///
    /// # Errors
    /// Unavailable where it is longer than `max` bytes.
    pub fn read(&self, rel: &str, max: u64) -> Result<Option<Vec<u8>>, Failure> {
        host::read_file(&self.path(rel)?, max)
    }

    /// Puts a content in place of the former at once.
    ///
    /// # Errors
    /// Whatever the system says; the former content then stays.
    pub fn write_atomic(&self, rel: &str, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.writable(rel)?;
        put(&path, bytes, true)
    }

    /// Puts a content in place of nothing at once, whole or not at all; where a file is there, only its time is
    /// renewed, unless that is less than a minute ago. Not synced.
    ///
    /// # Errors
    /// What `content` answers, and whatever the system says.
    pub fn keep(&self, rel: &str, content: impl FnOnce() -> Result<Vec<u8>, Failure>) -> Result<(), Failure> {
        let path = self.path(rel)?;
        let modified = fs::metadata(&path).and_then(|meta| meta.modified());
        if modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age < FRESH)) {
            return Ok(());
        }
        if let Ok(file) = OpenOptions::new().append(true).open(&path) {
            // Best effort: with its old time it goes a little sooner.
            let _ = file.set_modified(SystemTime::now());
            return Ok(());
        }
        put(&self.writable(rel)?, &content()?, false)
    }

    /// Reads, changes and writes a file while no other process or session does.
    ///
    /// # Errors
    /// What `change` answers, and whatever the system says; the former content then stays.
    pub fn update(
        &self,
        rel: &str,
        change: impl FnOnce(Option<Vec<u8>>) -> Result<Vec<u8>, Failure>,
    ) -> Result<(), Failure> {
        let path = self.writable(&format!("{rel}.lock"))?;
        let lock = || -> io::Result<File> {
            let file =
                OpenOptions::new().write(true).create(true).truncate(false).mode(FILE_MODE).open(&path)?;
            file.lock()?;
            Ok(file)
        };
        let _held = lock().map_err(|error| trouble(&path, &error))?;
        let changed = change(self.read(rel, UPDATE_MAX_BYTES)?)?;
        self.write_atomic(rel, &changed)
    }

    /// The names in a folder (`""` for the state folder), sorted; none where there is no such folder.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn list(&self, rel: &str) -> Result<Vec<String>, Failure> {
        host::folder_names(&self.path(rel)?)
    }

    /// Removes a file, or a folder with all in it; it may be gone already.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn remove(&self, rel: &str) -> Result<(), Failure> {
        let path = self.path(rel)?;
        let removed = match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_dir() => fs::remove_dir_all(&path),
            Ok(_) => fs::remove_file(&path),
            Err(error) => Err(error),
        };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(fault::io("remove", &path.to_string_lossy(), &error))
            }
            _ => Ok(()),
        }
    }

    /// Opens a file for a long result, to be added to piece by piece.
    ///
    /// # Errors
    /// Whatever the system says.
    pub fn spill(&self, rel: &str) -> Result<Spill, Failure> {
        let path = self.writable(rel)?;
        let file = OpenOptions::new().append(true).create(true).mode(FILE_MODE).open(&path);
        let opened = file.and_then(|file| Ok((file.metadata()?.len(), file)));
        let (bytes, file) = opened.map_err(|error| trouble(&path, &error))?;
        Ok(Spill { path, file, bytes })
    }

    /// The device on which the times and the number of a file tell whether it was written: the folder's own, where only
    /// this machine writes to it. Elsewhere what others wrote is seen late, other than by opening the file; so it may be
    /// on another device, if a folder in this one is a mount or a link.
    pub(crate) fn own_device(&self) -> Option<u64> {
        if let Some(known) = self.own_device.get() {
            return *known;
        }
        // A folder that isn't there yet is looked at again.
        let (is_local, meta) = (is_local(&self.root)?, fs::metadata(&self.root).ok()?);
        *self.own_device.get_or_init(|| is_local.then(|| meta.dev()))
    }

    /// A path whose folder is there.
    pub(crate) fn writable(&self, rel: &str) -> Result<PathBuf, Failure> {
        let path = self.path(rel)?;
        if let Some(folder) = path.parent() {
            make_folders(folder)?;
        }
        Ok(path)
    }
}

/// Whether a path lies on a file system of this machine's own; none where that isn't known.
#[cfg(target_os = "linux")]
#[allow(clippy::useless_conversion, reason = "the number is narrower on some machines")]
fn is_local(path: &Path) -> Option<bool> {
    /// ext2 to ext4, XFS, Btrfs, F2FS, ZFS, tmpfs and overlayfs, by the numbers that statfs(2) gives.
    const LOCAL: [i64; 7] =
        [0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010, 0x2FC1_2FC1, 0x0102_1994, 0x794C_7630];
    let kind = i64::from(rustix::fs::statfs(path).ok()?.f_type);
    Some(LOCAL.contains(&kind))
}

/// The same elsewhere, where nobody asked yet.
#[cfg(not(target_os = "linux"))]
fn is_local(_: &Path) -> Option<bool> {
    Some(false)
}

/// Puts a content in place of the former at once, through a temporary file beside it.
fn put(path: &Path, bytes: &[u8], is_synced: bool) -> Result<(), Failure> {
    let temp = path.with_file_name(journal::temp_name());
    let write = || -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(&temp)?;
        file.write_all(bytes)?;
        if is_synced {
            file.sync_all()?;
        }
        fs::rename(&temp, path)?;
        match path.parent() {
            Some(folder) if is_synced => File::open(folder)?.sync_all(),
            _ => Ok(()),
        }
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&temp);
        trouble(path, &error)
    })
}

fn trouble(path: &Path, error: &io::Error) -> Failure {
    fault::io("write", &path.to_string_lossy(), error)
}

/// A file that a long result is written to as it comes.
#[derive(Debug)]
pub struct Spill {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl Spill {
    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a piece.
    ///
    /// # Errors
    /// Whatever the system says, for example that no space is left; a part of the piece may be there then.
    pub fn write(&mut self, piece: &[u8]) -> Result<(), Failure> {
        self.file.write_all(piece).map_err(|error| trouble(&self.path, &error))?;
        self.bytes = self.bytes.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
        Ok(())
    }
}
