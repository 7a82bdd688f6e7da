//! Gives a thing a name under which nobody looks for it; nothing is lost.

use rustix::{
    fs::{CWD, RenameFlags, renameat_with},
    io::Errno,
};
use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

/// So many names are tried.
const NAMES_MAX: usize = 100;

/// Where it is now.
///
/// # Errors
/// It can't be renamed.
pub(super) fn set_aside(path: &Path) -> io::Result<PathBuf> {
    for number in 1..=NAMES_MAX {
        let mut name = OsString::from(path.file_name().unwrap_or_default());
        name.push(if number == 1 { ".set-aside".to_owned() } else { format!(".set-aside-{number}") });
        let to = path.with_file_name(name);
        match renameat_with(CWD, path, CWD, &to, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(to),
            Err(Errno::EXIST) => {}
            // Some file systems can't do it at once.
            Err(Errno::INVAL | Errno::NOSYS) if fs::symlink_metadata(&to).is_err() => {
                return fs::rename(path, &to).map(|()| to);
            }
            Err(Errno::INVAL | Errno::NOSYS) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_gets_a_name_that_was_free() {
        let folder = tempfile::tempdir().unwrap();
        for number in ["", "-2"] {
            fs::write(folder.path().join("x"), number).unwrap();
            let to = set_aside(&folder.path().join("x")).unwrap();
            assert_eq!(to, folder.path().join(format!("x.set-aside{number}")));
            assert_eq!(fs::read_to_string(to).unwrap(), number);
        }
        assert!(set_aside(&folder.path().join("x")).is_err());
    }
}
