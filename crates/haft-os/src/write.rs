//! Whole files written so that a kill at any moment leaves the old content or the new.
//!
//! A temporary file beside the target takes its place by one rename. Where that would cut a file off from
//! its other names or its owner, the file is written over instead, with a [`Journal`] for the kill.

use crate::{
    OsFiles, fault,
    files::{kind, sync_folder},
    hash,
    journal::{self, Journal, Note},
    root::{MadeFolders, Place, split},
    xattr,
};
use haft_core::{Failure, FailureKind, FileChange, FileKind, RealPath, WriteMode};
use rustix::{
    fs::{Access, AtFlags, Gid, Mode, OFlags, RenameFlags, Uid},
    io::Errno,
};
use std::{
    fs::{File, Metadata},
    io::{self, Read, Write},
    os::{fd::OwnedFd, unix::fs::MetadataExt},
    sync::Arc,
};

/// Files written in place are held in memory and in the journal, old and new.
pub(crate) const IN_PLACE_MAX_BYTES: u64 = 256 * 1024 * 1024;

impl OsFiles {
    pub(crate) fn write_file(
        &self,
        at: &RealPath,
        content: &[u8],
        mode: &WriteMode,
    ) -> Result<FileChange, Failure> {
        if at.beneath.is_empty() {
            return Err(Failure::invalid(format!("{} is a folder; name a file in it", self.show(at))));
        }
        match mode {
            WriteMode::New => self.create(at, content),
            WriteMode::Over { before } => self.replace(at, content, before),
        }
    }

    fn create(&self, at: &RealPath, content: &[u8]) -> Result<FileChange, Failure> {
        let trouble = |error: &io::Error| self.trouble("create", at, error);
        let (root, beneath) = self.root_of(at);
        let (parent, name) = split(&beneath);
        let mut made = MadeFolders::default();
        let folder = root.make_folders(parent, self.how, &mut made).map_err(|error| trouble(&error))?;
        let place = Place { folder, name: name.to_owned() };
        match place.look() {
            Ok(meta) => return Err(self.occupied(at, &meta)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(trouble(&error)),
        }
        // The process's mask takes off what it takes off every new file.
        let mut temp = Temp::make(self, at, &place.folder, 0o666).map_err(|error| trouble(&error))?;
        temp.fill(content).map_err(|error| trouble(&error))?;
        self.require_folder(at, &place)?;
        match temp.take_free_name(&place.name) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Err(self.exists(at)),
            Err(error) => return Err(trouble(&error.into())),
        }
        made.keep();
        drop(temp);
        sync_folder(&place.folder);
        self.read_back(at, &place, content, None)
    }

    fn replace(&self, at: &RealPath, content: &[u8], before: &Arc<str>) -> Result<FileChange, Failure> {
        let trouble = |error: &io::Error| self.trouble("write", at, error);
        let place = match self.place(at) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(self.removed(at)),
            other => other.map_err(|error| trouble(&error))?,
        };
        // Whether its content is still the one that was read is looked at last, right before the rename.
        let (old, meta) = self.standing_file(at, &place)?;
        self.require_writable(at, &place)?;
        if meta.nlink() > 1 {
            return self.write_over(at, &place, content, before);
        }
        let mut temp = match Temp::make(self, at, &place.folder, 0o600) {
            // The file may be written though nothing may be made beside it.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return self.write_over(at, &place, content, before);
            }
            other => other.map_err(|error| trouble(&error))?,
        };
        if !keep_owner(&meta, &temp.file).map_err(|error| trouble(&error))? {
            drop(temp);
            return self.write_over(at, &place, content, before);
        }
        xattr::carry_over(&old, &temp.file);
        // Last, since a change of owner takes bits off; and an access list's mask is the group's bits.
        rustix::fs::fchmod(&temp.file, Mode::from_raw_mode(meta.mode()))
            .map_err(|error| trouble(&error.into()))?;
        temp.fill(content).map_err(|error| trouble(&error))?;
        self.require_folder(at, &place)?;
        self.present(at, &place, before)?;
        temp.take_name(&place.name).map_err(|error| trouble(&error.into()))?;
        drop(temp);
        sync_folder(&place.folder);
        self.read_back(at, &place, content, Some(Arc::clone(before)))
    }

    /// Writes over the very file, since a rename would part it from its other names or its owner.
    fn write_over(
        &self,
        at: &RealPath,
        place: &Place,
        content: &[u8],
        before: &Arc<str>,
    ) -> Result<FileChange, Failure> {
        let trouble = |error: &io::Error| self.trouble("write", at, error);
        let mut file = place.open(OFlags::RDWR).map_err(|error| trouble(&error))?;
        let meta = file.metadata().map_err(|error| trouble(&error))?;
        self.require_file(at, &meta)?;
        let longest = meta.len().max(u64::try_from(content.len()).unwrap_or(u64::MAX));
        if longest > IN_PLACE_MAX_BYTES {
            return Err(Failure::invalid(format!(
                "{} has to be written in place (it has other names or another owner), which is only done \
                 up to {} MiB; use a shell command",
                self.show(at),
                IN_PLACE_MAX_BYTES / 1024 / 1024
            )));
        }
        let mut old = Vec::new();
        Read::by_ref(&mut file)
            .take(IN_PLACE_MAX_BYTES + 1)
            .read_to_end(&mut old)
            .map_err(|error| trouble(&error))?;
        if hash::of(&old) != *before {
            return Err(self.changed(at));
        }
        self.require_folder(at, place)?;
        let note = Note::InPlace { path: at.clone(), before: old, after: content.to_vec() };
        let journal = Journal::begin(&self.state, &note)?;
        let old: &[u8] = if let Note::InPlace { before, .. } = &note { before } else { &[] };
        match journal::replace(&file, old, content) {
            Ok(true) => journal.done(),
            // While the entry was written out, somebody else wrote the file.
            Ok(false) => {
                journal.done();
                return Err(self.changed(at));
            }
            Err(error) if journal::overwrite(&file, old).is_ok() => {
                journal.done();
                return Err(trouble(&error));
            }
            Err(error) => {
                return Err(Failure::internal(format!(
                    "{} could be neither written nor put back ({error}); it will be put back at the next start",
                    self.show(at)
                )));
            }
        }
        self.read_back(at, place, content, Some(Arc::clone(before)))
    }

    /// The file as it stands, whose content must still be the one that was read.
    pub(crate) fn present(
        &self,
        at: &RealPath,
        place: &Place,
        before: &str,
    ) -> Result<(File, Metadata), Failure> {
        let (file, meta) = self.standing_file(at, place)?;
        let now = hash::of_reader(&file).map_err(|error| self.trouble("read", at, &error))?;
        if *now == *before { Ok((file, meta)) } else { Err(self.changed(at)) }
    }

    /// The file as it stands, whatever it holds.
    fn standing_file(&self, at: &RealPath, place: &Place) -> Result<(File, Metadata), Failure> {
        if place.look().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Err(self.removed(at));
        }
        self.open_regular(at, place)
    }

    /// A rename asks only the folder; a file that says it is not to be written means it.
    pub(crate) fn require_writable(&self, at: &RealPath, place: &Place) -> Result<(), Failure> {
        let may =
            rustix::fs::accessat(&place.folder, place.name.as_str(), Access::WRITE_OK, AtFlags::EACCESS);
        if matches!(may, Err(Errno::ACCESS | Errno::PERM | Errno::ROFS)) {
            return Err(Failure::new(
                FailureKind::Permission,
                match may {
                    Err(Errno::ROFS) => format!("{} is on a file system that is read-only", self.show(at)),
                    Err(Errno::PERM) => fault::immutable(&self.show(at)),
                    _ => format!("{} is read-only; have its mode changed first (chmod u+w)", self.show(at)),
                },
            ));
        }
        Ok(())
    }

    /// The path must still lead to the folder that is open.
    fn require_folder(&self, at: &RealPath, place: &Place) -> Result<(), Failure> {
        let identity = |folder: &OwnedFd| rustix::fs::fstat(folder).map(|stat| (stat.st_dev, stat.st_ino));
        let now = self.place(at).map_err(|error| self.trouble("write", at, &error))?;
        match (identity(&now.folder), identity(&place.folder)) {
            (Ok(now), Ok(then)) if now == then => Ok(()),
            _ => Err(Failure::conflict(format!(
                "the folder of {} was replaced while it was written; nothing was changed, try again",
                self.show(at)
            ))),
        }
    }

    /// Whether what was written stands there. It was written whatever stands there now, so nothing here is a reason
    /// to write it again.
    fn read_back(
        &self,
        at: &RealPath,
        place: &Place,
        content: &[u8],
        before: Option<Arc<str>>,
    ) -> Result<FileChange, Failure> {
        let is_ours = match self.open_regular(at, place) {
            Ok((file, _)) => {
                hash::is_same(&file, content).map_err(|error| self.trouble("read back", at, &error))?
            }
            // Removed since, or something that is no file has its name.
            Err(_) => false,
        };
        let (after, overtaken) = (hash::of(content), !is_ours);
        Ok(FileChange { path: at.clone(), before, after: Some(after), overtaken })
    }

    pub(crate) fn occupied(&self, at: &RealPath, meta: &Metadata) -> Failure {
        match kind(meta.file_type()) {
            FileKind::File => self.exists(at),
            _ => self.require_file(at, meta).err().unwrap_or_else(|| self.exists(at)),
        }
    }

    pub(crate) fn exists(&self, at: &RealPath) -> Failure {
        let shown = self.show(at);
        Failure::conflict(format!(
            "{shown} exists already; nothing was written. Read it first, then change it"
        ))
    }

    pub(crate) fn removed(&self, at: &RealPath) -> Failure {
        Failure::conflict(format!(
            "{} was removed since it was read; nothing was written. Create it anew if it should be there",
            self.show(at)
        ))
    }

    pub(crate) fn changed(&self, at: &RealPath) -> Failure {
        Failure::conflict(format!(
            "{} changed since it was read; nothing was written. Read it again, then repeat the change",
            self.show(at)
        ))
    }
}

/// Whether the new file could be given the old one's owner and group.
pub(crate) fn keep_owner(old: &Metadata, new: &File) -> io::Result<bool> {
    let made = new.metadata()?;
    if (made.uid(), made.gid()) == (old.uid(), old.gid()) {
        return Ok(true);
    }
    Ok(rustix::fs::fchown(new, Some(Uid::from_raw(old.uid())), Some(Gid::from_raw(old.gid()))).is_ok())
}

/// A temporary file beside the target; removed unless it took the target's name.
struct Temp<'a> {
    folder: &'a OwnedFd,
    name: String,
    file: File,
    note: Option<Journal>,
    moved: bool,
}

impl<'a> Temp<'a> {
    fn make(files: &OsFiles, target: &RealPath, folder: &'a OwnedFd, mode: u32) -> io::Result<Self> {
        let path = journal::temp_beside(target);
        let name = path.file_name().to_owned();
        // Before the file, so that a kill between the two leaves nothing. Without it the write is as safe,
        // only its rubbish would stay.
        let note = Journal::begin(&files.state, &Note::Temp { path }).ok();
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match rustix::fs::openat(folder, name.as_str(), flags, Mode::from_raw_mode(mode)) {
            Ok(file) => Ok(Self { folder, name, file: file.into(), note, moved: false }),
            Err(error) => {
                if let Some(note) = note {
                    note.done();
                }
                Err(error.into())
            }
        }
    }

    fn fill(&mut self, content: &[u8]) -> io::Result<()> {
        self.file.write_all(content)?;
        self.file.sync_all()
    }

    /// Takes the place of what has the name.
    fn take_name(&mut self, name: &str) -> rustix::io::Result<()> {
        rustix::fs::renameat(self.folder, self.name.as_str(), self.folder, name)?;
        self.moved = true;
        Ok(())
    }

    /// Takes a name that nothing has; `EXIST` where something has it.
    fn take_free_name(&mut self, name: &str) -> rustix::io::Result<()> {
        let from = self.name.as_str();
        match rustix::fs::renameat_with(self.folder, from, self.folder, name, RenameFlags::NOREPLACE) {
            Ok(()) => {
                self.moved = true;
                Ok(())
            }
            // Not every file system knows the flag; a second name refuses just as well, and the first goes
            // with the drop.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                rustix::fs::linkat(self.folder, from, self.folder, name, AtFlags::empty())
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        let is_gone = self.moved
            || matches!(
                rustix::fs::unlinkat(self.folder, self.name.as_str(), AtFlags::empty()),
                Ok(()) | Err(Errno::NOENT)
            );
        // What can't be removed now is removed at the next start.
        if let Some(note) = self.note.take().filter(|_| is_gone) {
            note.done();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{Files as _, PathArg};
    use std::fs;

    #[test]
    fn what_somebody_else_wrote_right_after_is_no_failure() {
        let folder = tempfile::tempdir().unwrap();
        let files = OsFiles::new(folder.path(), &[], &folder.path().join("state")).unwrap();
        let at = files.resolve(&PathArg("f".to_owned())).unwrap();
        let place = files.place(&at).unwrap();
        for (now, overtaken) in [(Some("ours"), false), (Some("ours+theirs"), true), (None, true)] {
            match now {
                Some(now) => fs::write(folder.path().join("f"), now).unwrap(),
                None => fs::remove_file(folder.path().join("f")).unwrap(),
            }
            let change = files.read_back(&at, &place, b"ours", None).unwrap();
            assert_eq!((change.overtaken, change.after), (overtaken, Some(hash::of(b"ours"))), "{now:?}");
        }
    }

    #[test]
    fn a_file_with_several_names_is_written_over_exactly() {
        let folder = tempfile::tempdir().unwrap();
        let files = OsFiles::new(folder.path(), &[], &folder.path().join("state")).unwrap();
        fs::write(folder.path().join("f"), "one two").unwrap();
        fs::hard_link(folder.path().join("f"), folder.path().join("g")).unwrap();
        let at = files.resolve(&PathArg("f".to_owned())).unwrap();
        for (before, after) in [("one two", "one"), ("one", "one three"), ("one three", "two three")] {
            let mode = WriteMode::Over { before: hash::of(before.as_bytes()) };
            assert!(!files.write(&at, after.as_bytes(), &mode).unwrap().overtaken);
            assert_eq!(fs::read_to_string(folder.path().join("g")).unwrap(), after);
        }
    }
}
