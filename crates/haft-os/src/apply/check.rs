//! What must hold before anything is changed, and how each change is then made.

use super::planned::{Bits, Planned, Way};
use crate::{
    OsFiles, hash, journal,
    root::{Place, split},
    write::IN_PLACE_MAX_BYTES,
};
use haft_core::{Failure, FailureKind, FileOp, RealPath, WriteMode};
use rustix::{
    fs::{Access, AtFlags},
    io::Errno,
};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fs::{File, Metadata},
    io,
    os::unix::fs::MetadataExt,
    sync::Arc,
};

/// What is known while the ops are checked.
#[derive(Default)]
pub(super) struct Draft<'a> {
    pub(super) planned: Vec<Planned<'a>>,
    /// Those that are missing.
    pub(super) folders: BTreeSet<RealPath>,
    /// The ops on files with several names, by device and inode.
    shared: BTreeMap<(u64, u64), &'a FileOp>,
}

impl OsFiles {
    /// Checks all that must hold for an op, and decides how it is done.
    pub(super) fn check<'a>(&self, op: &'a FileOp, draft: &mut Draft<'a>) -> Result<(), Failure> {
        let Draft { planned, folders, shared } = draft;
        match op {
            FileOp::Write { at, content, mode: WriteMode::New, executable } => {
                self.require_free(at, folders)?;
                let content = Cow::Borrowed(content.as_slice());
                planned.push(Planned::new(at, content, Bits::Run(*executable)));
            }
            FileOp::Write { at, content, mode: WriteMode::Over { before }, executable } => {
                let (way, meta) = self.over(at, content, (before, Bits::Run(*executable)))?;
                if self.is_own(op, &meta, shared)? {
                    planned.push(Planned { at, way });
                }
            }
            FileOp::Remove { at, before } => {
                let (_, meta) = self.require_removable(at, before)?;
                self.is_own(op, &meta, shared)?;
                planned.push(Planned { at, way: Way::Remove { temp: journal::temp_beside(at), before } });
            }
            FileOp::Restore { at, content, mode, over: None, traits } => {
                self.require_free(at, folders)?;
                let content = Cow::Borrowed(content.as_slice());
                planned.push(Planned::new(at, content, Bits::Exactly(*mode)).with_traits(traits.as_ref()));
            }
            FileOp::Restore { at, content, mode, over: Some(before), .. } => {
                let (way, meta) = self.over(at, content, (before, Bits::Exactly(*mode)))?;
                if self.is_own(op, &meta, shared)? {
                    planned.push(Planned { at, way });
                }
            }
            FileOp::Move { from, to, before, content, executable } => {
                let (old, meta) = self.require_removable(from, before)?;
                self.is_own(op, &meta, shared)?;
                self.require_free(to, folders)?;
                let content = match content {
                    Some(content) => Cow::Borrowed(content.as_slice()),
                    None if executable.is_none() && self.device_for(to) == Some(meta.dev()) => {
                        planned.push(Planned { at: from, way: Way::Rename { to, before } });
                        return Ok(());
                    }
                    None => Cow::Owned(self.whole(from, &old, &meta)?),
                };
                planned.push(Planned::new(to, content, Bits::Run(*executable)).like(from));
                planned.push(Planned {
                    at: from,
                    way: Way::Remove { temp: journal::temp_beside(from), before },
                });
            }
            // Done at the end, and no fault where it can't be.
            FileOp::Tidy { .. } => {}
        }
        Ok(())
    }

    /// Whether no op before changes the same file by another name. False where one does so in the same way: then the
    /// file is changed once.
    fn is_own<'a>(
        &self,
        op: &'a FileOp,
        meta: &Metadata,
        shared: &mut BTreeMap<(u64, u64), &'a FileOp>,
    ) -> Result<bool, Failure> {
        if meta.nlink() < 2 {
            return Ok(true);
        }
        let Some(other) = shared.insert((meta.dev(), meta.ino()), op) else { return Ok(true) };
        match (other, op) {
            (
                FileOp::Write { content: one, executable: first, .. },
                FileOp::Write { content: two, executable: second, .. },
            ) if one == two && first == second => Ok(false),
            (
                FileOp::Restore { content: one, mode: first, .. },
                FileOp::Restore { content: two, mode: second, .. },
            ) if one == two && first == second => Ok(false),
            // Names come and go without the file.
            (FileOp::Remove { .. } | FileOp::Move { .. }, FileOp::Remove { .. } | FileOp::Move { .. }) => {
                Ok(true)
            }
            _ => {
                let names: Vec<String> =
                    [other, op].iter().filter_map(|op| op.paths().next()).map(|at| self.show(at)).collect();
                Err(Failure::invalid(format!(
                    "{} are names of one file, and are to be changed differently; nothing was changed. Change it by \
                     one of them, or make one change after the other",
                    names.join(" and ")
                )))
            }
        }
    }

    fn over<'a>(
        &self,
        at: &'a RealPath,
        content: &'a [u8],
        (before, bits): (&'a Arc<str>, Bits),
    ) -> Result<(Way<'a>, Metadata), Failure> {
        let place = self.standing(at)?;
        let (old, meta) = self.present(at, &place, before)?;
        self.require_writable(at, &place)?;
        let own = rustix::process::geteuid();
        let keeps_owner = own.is_root() || meta.uid() == own.as_raw();
        if meta.nlink() == 1 && keeps_owner && may_change(&place) {
            return Ok((Way::Swap { temp: journal::temp_beside(at), content, before, bits }, meta));
        }
        let old = self.whole(at, &old, &meta)?;
        if hash::of(&old) != *before {
            return Err(self.changed(at));
        }
        Ok((Way::InPlace { old, content, mode: meta.mode() & 0o7777, bits }, meta))
    }

    /// The place of something that must stand there.
    pub(super) fn standing(&self, at: &RealPath) -> Result<Place, Failure> {
        match self.place(at) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(self.removed(at)),
            place => place.map_err(|error| self.trouble("write", at, &error)),
        }
    }

    fn require_removable(&self, at: &RealPath, before: &str) -> Result<(File, Metadata), Failure> {
        let place = self.standing(at)?;
        let present = self.present(at, &place, before)?;
        if !may_change(&place) {
            return Err(Failure::new(
                FailureKind::Permission,
                format!(
                    "{} can't be removed: its folder is read-only; have the folder's mode changed first \
                     (chmod u+w)",
                    self.show(at)
                ),
            ));
        }
        Ok(present)
    }

    /// Nothing may stand there; the folders that are missing are added.
    fn require_free(&self, at: &RealPath, folders: &mut BTreeSet<RealPath>) -> Result<(), Failure> {
        let (root, beneath) = self.root_of(at);
        let (parent, name) = split(&beneath);
        let mut path = String::new();
        let mut missing = false;
        for part in parent.split('/').filter(|part| !part.is_empty()) {
            if !path.is_empty() {
                path.push('/');
            }
            path.push_str(part);
            missing = missing
                || match root.folder(&path, self.how) {
                    Ok(_) => false,
                    Err(error) if error.kind() == io::ErrorKind::NotFound => true,
                    Err(error) => return Err(self.trouble("create", at, &error)),
                };
            if missing {
                folders.insert(RealPath::new(root.path(), &path));
            }
        }
        if missing {
            return Ok(());
        }
        let folder = root.folder(parent, self.how).map_err(|error| self.trouble("create", at, &error))?;
        let place = Place { folder, name: name.to_owned() };
        match place.look() {
            Ok(meta) => Err(self.occupied(at, &meta)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(self.trouble("create", at, &error)),
        }
    }

    /// The device of the nearest folder above that is there.
    fn device_for(&self, at: &RealPath) -> Option<u64> {
        let (root, beneath) = self.root_of(at);
        let mut parent = split(&beneath).0;
        loop {
            match root.folder(parent, self.how) {
                Ok(folder) => return File::from(folder).metadata().ok().map(|meta| meta.dev()),
                Err(_) if parent.is_empty() => return None,
                Err(_) => parent = split(parent).0,
            }
        }
    }

    /// A whole content that is held in memory.
    fn whole(&self, at: &RealPath, file: &File, meta: &Metadata) -> Result<Vec<u8>, Failure> {
        if meta.len() > IN_PLACE_MAX_BYTES {
            return Err(Failure::invalid(format!(
                "{} has to be written in place or copied, which is only done up to {} MiB; use a shell command",
                self.show(at),
                IN_PLACE_MAX_BYTES / 1024 / 1024
            )));
        }
        // The handle has been read to its end for the hash.
        let mut bytes = Vec::new();
        let mut offset = 0;
        let mut piece = vec![0; 64 * 1024];
        loop {
            let read = std::os::unix::fs::FileExt::read_at(file, &mut piece, offset)
                .map_err(|error| self.trouble("read", at, &error))?;
            bytes.extend_from_slice(piece.get(..read).unwrap_or_default());
            offset += u64::try_from(read).unwrap_or_default();
            if read == 0 || offset > IN_PLACE_MAX_BYTES {
                return Ok(bytes);
            }
        }
    }
}

/// Whether names in the folder may be changed.
fn may_change(place: &Place) -> bool {
    let access = Access::WRITE_OK | Access::EXEC_OK;
    let may = rustix::fs::accessat(&place.folder, ".", access, AtFlags::EACCESS);
    !matches!(may, Err(Errno::ACCESS | Errno::PERM | Errno::ROFS))
}
