//! Empty folders in the place of kept paths that aren't there, so that they can't be made from inside.
//!
//! A mount needs something to stand on. What is made for that is noted in haft's own folder and goes when the last
//! command that needs it has ended; what a killed haft left goes with the next command.

use crate::fault;
use haft_core::{Confinement, Failure, Kept};
use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    os::{fd::OwnedFd, unix::fs::OpenOptionsExt as _},
    path::{Path, PathBuf},
};

/// What was made, until it is dropped.
#[derive(Debug)]
pub(crate) struct Placeholders {
    /// What stands for something that isn't there, to be kept as it is.
    pub(crate) paths: Vec<String>,
    note: PathBuf,
    shared: Option<File>,
}

impl Placeholders {
    /// Makes what isn't there.
    ///
    /// # Errors
    /// A folder can't be made, or not be noted.
    pub(crate) fn make(kept: &[Kept], state: &Path) -> Result<Self, Failure> {
        let note = state.join("sandbox");
        let trouble = |error: io::Error| fault::io("note", &note.to_string_lossy(), &error);
        if !kept.iter().any(|kept| kept.even_absent) {
            return Ok(Self { paths: Vec::new(), note, shared: None });
        }
        fs::create_dir_all(state).map_err(trouble)?;
        let mut file =
            OpenOptions::new().append(true).create(true).mode(0o600).open(&note).map_err(trouble)?;
        file.lock_shared().map_err(trouble)?;
        let mut made: BTreeSet<PathBuf> =
            fs::read_to_string(&note).unwrap_or_default().lines().map(PathBuf::from).collect();
        let mut paths = BTreeSet::new();
        for kept in kept.iter().filter(|kept| kept.even_absent) {
            let path = Path::new(&kept.path);
            if let Some(other) =
                path.ancestors().find(|ancestor| made.contains(*ancestor) && ancestor.is_dir())
            {
                paths.insert(other.to_string_lossy().into_owned());
                continue;
            }
            let Some(missing) = first_missing(path) else { continue };
            // Before it is made, so that a kill in between leaves nothing that isn't known.
            writeln!(file, "{}", missing.display()).map_err(trouble)?;
            match fs::create_dir(&missing) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(fault::io("make", &missing.to_string_lossy(), &error));
                }
                _ => {}
            }
            paths.insert(missing.to_string_lossy().into_owned());
            made.insert(missing);
        }
        Ok(Self { paths: paths.into_iter().collect(), note, shared: Some(file) })
    }
}

impl Placeholders {
    /// The confinement, which keeps these as well.
    pub(crate) fn kept_too(&self, confinement: &Confinement) -> Confinement {
        let mut all = confinement.clone();
        all.kept.extend(self.paths.iter().map(|path| Kept { path: path.clone(), even_absent: false }));
        all
    }

    /// The lock once more, by a file of its own that is closed and never unlocked: for a process that outlives haft,
    /// and needs what was made for as long.
    ///
    /// # Errors
    /// Whatever the system says.
    pub(crate) fn held_apart(&self) -> io::Result<Option<OwnedFd>> {
        if self.shared.is_none() {
            return Ok(None);
        }
        let file = OpenOptions::new().read(true).open(&self.note)?;
        file.lock_shared()?;
        Ok(Some(file.into()))
    }
}

impl Drop for Placeholders {
    /// The last one tidies up.
    fn drop(&mut self) {
        let Some(file) = self.shared.take() else { return };
        // Closing it isn't enough: a process that is just being forked has a copy of it for a moment.
        let _ = file.unlock();
        drop(file);
        let Ok(file) = OpenOptions::new().read(true).write(true).open(&self.note) else { return };
        if let Err(TryLockError::WouldBlock | TryLockError::Error(_)) = file.try_lock() {
            return;
        }
        let made = fs::read_to_string(&self.note).unwrap_or_default();
        for path in made.lines() {
            // Goes only where it is empty; where somebody filled it, it is theirs.
            let _ = fs::remove_dir(path);
        }
        let _ = file.set_len(0);
        let _ = file.unlock();
    }
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

    #[test]
    fn what_was_made_goes_with_the_last_that_needs_it() {
        let folder = tempfile::tempdir().unwrap();
        let (root, state) = (folder.path().join("w"), folder.path().join("s"));
        fs::create_dir_all(root.join("a")).unwrap();
        let kept = |name: &str, even_absent| Kept {
            path: root.join(name).to_str().unwrap().to_owned(),
            even_absent,
        };
        let kept = [kept(".git/hooks", true), kept(".x", true), kept(".y", false), kept("a", true)];
        let one = Placeholders::make(&kept, &state).unwrap();
        let two = Placeholders::make(&kept, &state).unwrap();
        let expected = [".git", ".x"].map(|name| root.join(name).to_str().unwrap().to_owned());
        assert_eq!((&one.paths[..], &two.paths[..]), (&expected[..], &expected[..]));
        assert!(root.join(".git").is_dir() && !root.join(".git/hooks").exists() && root.join(".x").is_dir());
        assert!(!root.join(".y").exists());
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
        let kept = [Kept { path: made.to_str().unwrap().to_owned(), even_absent: true }];
        let one = Placeholders::make(&kept, folder.path()).unwrap();
        let apart = one.held_apart().unwrap().unwrap();
        drop(one);
        assert!(made.is_dir());
        drop(apart);
        drop(Placeholders::make(&kept, folder.path()).unwrap());
        assert!(!made.exists());
    }

    #[test]
    fn what_a_killed_process_left_goes_with_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let left = folder.path().join(".haft");
        let kept = [Kept { path: left.to_str().unwrap().to_owned(), even_absent: true }];
        std::mem::forget(Placeholders::make(&kept, folder.path()).unwrap().shared.take());
        fs::create_dir_all(&left).unwrap();
        // The lock went with the process; the note didn't.
        let copy = folder.path().join("copy");
        fs::create_dir(&copy).unwrap();
        fs::copy(folder.path().join("sandbox"), copy.join("sandbox")).unwrap();
        drop(Placeholders::make(&kept, &copy).unwrap());
        assert!(!left.exists());
    }
}
