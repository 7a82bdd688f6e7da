//! Plain questions to the machine, for the command line and for settings: these are the operator's own paths,
//! not a model's, so they aren't held beneath a root.

use crate::fault;
use haft_core::{Failure, FailureKind};
use rustix::{
    fs::Access,
    termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr},
};
use std::{
    fs::{self, OpenOptions},
    io::{self, IsTerminal, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// Whether a new file may be run as a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Executable {
    /// It may.
    Yes,
    /// It is only read.
    No,
}

/// The first file of that name in the folders that may be run.
pub fn find_program(name: &str, folders: &[PathBuf]) -> Option<PathBuf> {
    folders.iter().map(|folder| folder.join(name)).find(|file| is_executable(file))
}

/// Bytes that nobody can guess.
///
/// # Errors
/// Unavailable where the system has none.
pub fn random() -> Result<[u8; 32], Failure> {
    let mut bytes = [0; 32];
    let filled = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    match filled {
        Ok(32) => Ok(bytes),
        _ => Err(Failure::new(FailureKind::Unavailable, "the system has no random bytes; try again")),
    }
}

/// The whole content of a file; none where there is no such file.
///
/// # Errors
/// Unavailable where it is longer than `max` bytes; invalid input for a folder, pipe, socket or device.
pub fn read_file(path: &Path, max: u64) -> Result<Option<Vec<u8>>, Failure> {
    let shown = path.to_string_lossy();
    let flags = (rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY).bits();
    let flags = i32::try_from(flags).unwrap_or_default();
    let read = || -> io::Result<(fs::Metadata, Vec<u8>)> {
        let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let meta = file.metadata()?;
        let mut bytes = Vec::new();
        if meta.is_file() {
            file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
        }
        Ok((meta, bytes))
    };
    match read() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(fault::io("read", &shown, &error)),
        Ok((meta, _)) if !meta.is_file() => {
            Err(Failure::invalid(format!("{shown} is not a regular file; name another")))
        }
        Ok((_, bytes)) if u64::try_from(bytes.len()).is_ok_and(|len| len > max) => Err(Failure::new(
            FailureKind::Unavailable,
            format!("{shown} is longer than the {max} bytes that are read of it; shorten it"),
        )),
        Ok((_, bytes)) => Ok(Some(bytes)),
    }
}

/// Makes a file that must not be there yet.
///
/// # Errors
/// Conflict where something has that name.
pub fn write_new_file(path: &Path, bytes: &[u8], executable: Executable) -> Result<(), Failure> {
    let shown = path.to_string_lossy();
    let mode = match executable {
        Executable::Yes => 0o777,
        Executable::No => 0o666,
    };
    let write = || -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        file.write_all(bytes)?;
        file.sync_all()
    };
    write().map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::conflict(format!("{shown} exists already; remove it first or choose another name"))
        }
        _ => fault::io("write", &shown, &error),
    })
}

/// Makes a folder and those above it.
///
/// # Errors
/// Whatever the system says.
pub fn make_dirs(path: &Path) -> Result<(), Failure> {
    fs::create_dir_all(path).map_err(|error| fault::io("make the folder", &path.to_string_lossy(), &error))
}

/// A folder for temporary files that nobody else gets at: made where it is missing; none where somebody else's thing
/// has that name.
pub fn private_temp_dir(name: &str) -> Option<PathBuf> {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    let path = real_path(&std::env::temp_dir())?.join(name);
    // Fails where it is there already; what counts is what stands there then.
    let _ = fs::DirBuilder::new().mode(0o700).create(&path);
    let meta = fs::symlink_metadata(&path).ok()?;
    let is_own = meta.is_dir()
        && meta.uid() == rustix::process::geteuid().as_raw()
        && meta.mode().trailing_zeros() >= 6;
    is_own.then_some(path)
}

/// Whether this is a file that this user may run.
pub fn is_executable(path: &Path) -> bool {
    is_file(path) && rustix::fs::access(path, Access::EXEC_OK).is_ok()
}

/// Whether this is a regular file, or a link to one.
pub fn is_file(path: &Path) -> bool {
    path.is_file()
}

/// Whether this is a folder, or a link to one.
pub fn is_folder(path: &Path) -> bool {
    path.is_dir()
}

/// The path with all links followed; none where it isn't there.
pub fn real_path(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok()
}

/// The folder that the program was started in.
///
/// # Errors
/// Not found where it was removed since.
pub fn current_dir() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| fault::io("find", "the current folder", &error))
}

/// The user's home folder.
pub fn home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

/// Whether this process was started so that it outlives its terminal, as by `nohup`. False where the system
/// doesn't say.
pub fn ignores_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // The lowest bit is signal 1, the hang-up.
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

/// All of standard input.
///
/// # Errors
/// Invalid input where there are more than `max` bytes.
pub fn read_stdin(max: u64) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(max.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| fault::io("read", "standard input", &error))?;
    if u64::try_from(bytes.len()).is_ok_and(|len| len > max) {
        return Err(Failure::invalid(format!("standard input has more than {max} bytes; give less")));
    }
    Ok(bytes)
}

/// Forgets what was typed at the terminal on standard input and not read yet; does nothing where it is none.
pub fn discard_typed_ahead() {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        // A terminal that has gone has nothing left to forget.
        let _ = rustix::termios::tcflush(stdin, rustix::termios::QueueSelector::IFlush);
    }
}

/// Has the terminal on standard input show nothing of what is typed until the result is dropped; none where it is no
/// terminal. What was typed before is forgotten.
pub fn hide_typing() -> Option<HiddenTyping> {
    let before = tcgetattr(io::stdin()).ok()?;
    let mut hidden = before.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    // The line's end is still shown, so that what follows begins on a line of its own.
    hidden.local_modes.insert(LocalModes::ECHONL);
    tcsetattr(io::stdin(), OptionalActions::Flush, &hidden).ok()?;
    Some(HiddenTyping { before })
}

/// A terminal that shows nothing of what is typed; as it was, once this is dropped.
pub struct HiddenTyping {
    before: Termios,
}

impl Drop for HiddenTyping {
    fn drop(&mut self) {
        // A terminal that has gone shows nothing any more.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

/// The names in a folder that are UTF-8, sorted; none where there is no such folder.
///
/// # Errors
/// Whatever the system says.
pub fn folder_names(path: &Path) -> Result<Vec<String>, Failure> {
    let read = || -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(path)? {
            names.extend(entry?.file_name().into_string());
        }
        names.sort();
        Ok(names)
    };
    match read() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        other => other.map_err(|error| fault::io("list", &path.to_string_lossy(), &error)),
    }
}

/// The folder at or above `from` that holds `.git`.
pub fn find_git_root(from: &Path) -> Option<PathBuf> {
    from.ancestors().find(|folder| fs::symlink_metadata(folder.join(".git")).is_ok()).map(Path::to_owned)
}
