//! Several changes to files, all or none.
//!
//! Everything is checked, then every new content is staged in a temporary file beside its target, then a journal
//! entry says how to take each step back, and only then the first file changes. The entry that replaces it is the
//! one moment at which the old turns into the new: a kill before it takes all back at the next start, one after it
//! only leaves tidying to do.

use crate::{
    OsFiles,
    files::sync_folder,
    hash,
    journal::{self, Journal, Note},
    root::{MadeFolders, Place, split},
    undo::{self, Step},
    write::{IN_PLACE_MAX_BYTES, keep_owner},
    xattr,
};
use haft_core::{Failure, FailureKind, FileChange, FileOp, FileTraits, RealPath, WriteMode};
use rustix::{
    fs::{Access, AtFlags, Mode, OFlags},
    io::Errno,
};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fs::{File, Metadata},
    io::{self, Write},
    os::unix::fs::MetadataExt,
    sync::Arc,
};

/// So many files change together at most.
const OPS_MAX: usize = 5_000;

/// One checked change to one file.
struct Planned<'a> {
    at: &'a RealPath,
    way: Way<'a>,
}

/// What becomes of permission bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bits {
    /// They stay, or are those of a new file; it may be run from now on, or not, where that is said.
    Run(Option<bool>),
    /// They are these.
    Exactly(u32),
}

impl Bits {
    /// The bits of a file that has these now.
    fn of(self, mode: u32) -> u32 {
        match self {
            Self::Run(None) => mode,
            Self::Run(Some(true)) => mode | ((mode & 0o444) >> 2),
            Self::Run(Some(false)) => mode & !0o111,
            // Those that give a program another user's rights stay as they are.
            Self::Exactly(bits) => (mode & !0o777) | (bits & 0o777),
        }
    }
}

/// How a change is made.
enum Way<'a> {
    /// A name that nothing has is taken; mode and attributes are those of `model`, where there is one.
    New {
        temp: RealPath,
        content: Cow<'a, [u8]>,
        model: Option<&'a RealPath>,
        traits: Option<&'a FileTraits>,
        bits: Bits,
    },
    /// The file's place is taken.
    Swap { temp: RealPath, content: &'a [u8], before: &'a Arc<str>, bits: Bits },
    /// The file is written over.
    InPlace { old: Vec<u8>, content: &'a [u8], mode: u32, bits: Bits },
    /// The file goes.
    Remove { temp: RealPath, before: &'a Arc<str> },
    /// The file takes another name.
    Rename { to: &'a RealPath, before: &'a Arc<str> },
}

/// How far the changes have come.
#[derive(Default)]
struct Making {
    /// The temporary files in the folders in which they were made, whatever these are called by now.
    temps: Vec<Place>,
    /// How many changes were begun, in their order.
    begun: usize,
    /// The files that hold something else already than what was written.
    overtaken: Vec<RealPath>,
}

/// What is known while the ops are checked.
#[derive(Default)]
struct Draft<'a> {
    planned: Vec<Planned<'a>>,
    /// Those that are missing.
    folders: BTreeSet<RealPath>,
    /// The ops on files with several names, by device and inode.
    shared: BTreeMap<(u64, u64), &'a FileOp>,
}

impl OsFiles {
    /// See [`haft_core::Files::apply`].
    pub(crate) fn apply_all(&self, ops: &[FileOp]) -> Result<Vec<FileChange>, Failure> {
        self.require_apart(ops)?;
        let mut draft = Draft::default();
        for op in ops {
            self.check(op, &mut draft)?;
        }
        let Draft { planned, folders, .. } = draft;
        let temps: Vec<RealPath> = planned.iter().filter_map(|one| one.temp().cloned()).collect();
        let folders: Vec<RealPath> = folders.into_iter().collect();
        let staged = Note::Staged { temps: temps.clone(), folders: folders.clone() };
        let journal = Journal::begin(&self.state, &staged)?;
        let mut making = Making::default();
        let steps = match self.stage(&planned, &mut making) {
            Ok(steps) => steps,
            Err(failure) => {
                // What can't be removed now is removed at the next start.
                if undo::sweep_places(&making.temps, &folders).is_ok() {
                    journal.done();
                }
                return Err(failure);
            }
        };
        let set = Note::Set { steps, folders };
        let (journal, made) = match journal.advance(&set) {
            Ok(journal) => (journal, self.make(&planned, &mut making)),
            Err((journal, failure)) => (journal, Err(failure)),
        };
        let journal = match made {
            Ok(()) => journal.advance(&Note::Staged { temps, folders: Vec::new() }),
            Err(failure) => Err((journal, failure)),
        };
        match journal {
            Ok(journal) => {
                if undo::sweep_places(&making.temps, &[]).is_ok() {
                    journal.done();
                }
                undo::remove_folders(&ops.iter().filter_map(tidied).cloned().collect::<Vec<_>>());
                let mut changes: Vec<FileChange> = ops.iter().flat_map(changes).collect();
                for change in &mut changes {
                    change.overtaken = making.overtaken.contains(&change.path);
                }
                Ok(changes)
            }
            Err((journal, failure)) => Err(take_back(journal, &set, &making, failure)),
        }
    }

    /// No path may be named twice: which of the two changes counted would be a guess.
    fn require_apart(&self, ops: &[FileOp]) -> Result<(), Failure> {
        if ops.len() > OPS_MAX {
            return Err(Failure::invalid(format!(
                "{} files are too many to change at once; change at most {OPS_MAX}, then the others",
                ops.len()
            )));
        }
        let mut named = BTreeSet::new();
        for at in ops.iter().flat_map(FileOp::paths) {
            if at.beneath.is_empty() {
                return Err(Failure::invalid(format!("{} is a folder; name a file in it", self.show(at))));
            }
            if !named.insert(at.absolute()) {
                return Err(Failure::invalid(format!(
                    "{} is named by two changes; nothing was changed. Join them, or make one after the other",
                    self.show(at)
                )));
            }
        }
        Ok(())
    }

    /// Checks all that must hold for an op, and decides how it is done.
    fn check<'a>(&self, op: &'a FileOp, draft: &mut Draft<'a>) -> Result<(), Failure> {
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
    fn standing(&self, at: &RealPath) -> Result<Place, Failure> {
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

    /// Writes every new content beside its target.
    fn stage(&self, planned: &[Planned<'_>], making: &mut Making) -> Result<Vec<Step>, Failure> {
        planned.iter().map(|one| self.stage_one(one, making)).collect()
    }

    fn stage_one(&self, planned: &Planned<'_>, making: &mut Making) -> Result<Step, Failure> {
        let at = planned.at;
        let trouble = |error: &io::Error| self.trouble("write", at, error);
        Ok(match &planned.way {
            Way::New { temp, content, model, traits, bits } => {
                self.make_folders_of(at)?;
                let old = match model {
                    Some(model) => {
                        let place = self.standing(model)?;
                        Some(self.open_regular(model, &place)?)
                    }
                    None => None,
                };
                let staged = Staged { temp, content, old: old.as_ref(), traits: *traits, bits: *bits };
                self.write_beside(&staged, making).map_err(|error| trouble(&error))?;
                Step::New { at: at.clone(), temp: temp.clone(), after: hash::of(content) }
            }
            Way::Swap { temp, content, before, bits } => {
                let place = self.standing(at)?;
                let old = self.present(at, &place, before)?;
                let staged = Staged { temp, content, old: Some(&old), traits: None, bits: *bits };
                let inode = self.write_beside(&staged, making).map_err(|error| trouble(&error))?;
                Step::Swap {
                    at: at.clone(),
                    temp: temp.clone(),
                    before: Arc::clone(before),
                    after: hash::of(content),
                    inode,
                }
            }
            Way::InPlace { old, content, mode, .. } => {
                Step::InPlace { at: at.clone(), before: old.clone(), after: content.to_vec(), mode: *mode }
            }
            Way::Remove { temp, .. } => Step::Remove { at: at.clone(), temp: temp.clone() },
            Way::Rename { to, before } => {
                self.make_folders_of(to)?;
                Step::Rename { from: at.clone(), to: (*to).clone(), before: Arc::clone(before) }
            }
        })
    }

    /// The journal names those that are missing, so they go again with it.
    fn make_folders_of(&self, at: &RealPath) -> Result<(), Failure> {
        let (root, beneath) = self.root_of(at);
        let mut made = MadeFolders::default();
        let folder = root.make_folders(split(&beneath).0, self.how, &mut made);
        made.keep();
        folder.map(drop).map_err(|error| self.trouble("write", at, &error))
    }

    /// Makes a temporary file and gives the number of its inode.
    fn write_beside(&self, staged: &Staged<'_>, making: &mut Making) -> io::Result<u64> {
        let place = self.place(staged.temp)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // The process's mask takes off what it takes off every new file.
        let is_exact = matches!(staged.bits, Bits::Exactly(_));
        let mode = if staged.old.is_some() || is_exact { 0o600 } else { 0o666 };
        let name = place.name.as_str();
        let mut file: File =
            rustix::fs::openat(&place.folder, name, flags, Mode::from_raw_mode(mode))?.into();
        making.temps.push(place);
        if let Some(traits) = staged.traits {
            xattr::give(&file, traits);
        }
        if let Some((old, meta)) = staged.old {
            if !keep_owner(meta, &file)? {
                return Err(Errno::PERM.into());
            }
            xattr::carry_over(old, &file);
        }
        let is = staged.old.map_or(file.metadata()?.mode(), |(_, meta)| meta.mode()) & 0o7777;
        let wanted = staged.bits.of(is);
        if staged.old.is_some() || wanted != is {
            rustix::fs::fchmod(&file, Mode::from_raw_mode(wanted))?;
        }
        file.write_all(staged.content)?;
        file.sync_all()?;
        Ok(file.metadata()?.ino())
    }

    /// Makes all changes: the journal says by now how each is taken back.
    fn make(&self, planned: &[Planned<'_>], making: &mut Making) -> Result<(), Failure> {
        for one in planned {
            self.make_one(one, making)?;
        }
        let mut synced = BTreeSet::new();
        for at in planned.iter().flat_map(Planned::paths) {
            let parent = at.absolute().rsplit_once('/').map(|(parent, _)| parent.to_owned());
            if synced.insert(parent)
                && let Ok(place) = self.place(at)
            {
                sync_folder(&place.folder);
            }
        }
        Ok(())
    }

    /// A failure before the change is begun leaves this file as it is; one after that is taken back.
    fn make_one(&self, planned: &Planned<'_>, making: &mut Making) -> Result<(), Failure> {
        let at = planned.at;
        let trouble = |error: &io::Error| self.trouble("write", at, error);
        let target = self.standing(at)?;
        let place = |temp: &RealPath| self.place(temp).map_err(|error| trouble(&error));
        let (stands, path, after) = match &planned.way {
            Way::New { temp, content, .. } => {
                self.take_free(&place(temp)?, (at, &target), making)?;
                (target, at, Some(hash::of(content)))
            }
            Way::Swap { temp, content, before, .. } => {
                self.present(at, &target, before)?;
                let temp = place(temp)?;
                making.begun += 1;
                undo::swap(&temp, &target).map_err(|error| trouble(&error))?;
                self.require_content(at, &temp, before)?;
                (target, at, Some(hash::of(content)))
            }
            Way::InPlace { old, content, mode, bits } => {
                let (file, _) = self.open_to_write(at, &target)?;
                making.begun += 1;
                if !journal::replace(&file, old, content).map_err(|error| trouble(&error))? {
                    making.begun -= 1;
                    return Err(self.changed(at));
                }
                let wanted = bits.of(*mode);
                if wanted != *mode {
                    rustix::fs::fchmod(&file, Mode::from_raw_mode(wanted))
                        .map_err(|error| trouble(&error.into()))?;
                }
                (target, at, Some(hash::of(content)))
            }
            Way::Remove { temp, before } => {
                self.present(at, &target, before)?;
                let temp = place(temp)?;
                self.take_free(&target, (at, &temp), making)?;
                let held = self.require_content(at, &temp, before);
                making.temps.push(temp);
                held?;
                (target, at, None)
            }
            Way::Rename { to, before } => {
                self.present(at, &target, before)?;
                let goal = self.standing(to)?;
                self.take_free(&target, (to, &goal), making)?;
                (goal, *to, Some(Arc::clone(before)))
            }
        };
        // What was written is read back. Where something else stands there by now, it was written all the same.
        let now = undo::content(&stands).map_err(|error| self.trouble("read back", path, &error))?;
        if now != after {
            making.overtaken.push(path.clone());
        }
        Ok(())
    }

    fn open_to_write(&self, at: &RealPath, place: &Place) -> Result<(File, Metadata), Failure> {
        let file = place.open(OFlags::RDWR).map_err(|error| self.trouble("write", at, &error))?;
        let meta = file.metadata().map_err(|error| self.trouble("write", at, &error))?;
        self.require_file(at, &meta)?;
        Ok((file, meta))
    }

    fn take_free(
        &self,
        from: &Place,
        (at, to): (&RealPath, &Place),
        making: &mut Making,
    ) -> Result<(), Failure> {
        making.begun += 1;
        undo::take_free_name(from, to).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                making.begun -= 1;
                self.exists(at)
            }
            _ => self.trouble("create", at, &error),
        })
    }

    /// Somebody else may have written the old file at the very moment of the change.
    fn require_content(&self, at: &RealPath, place: &Place, hash: &str) -> Result<(), Failure> {
        let now = undo::content(place).map_err(|error| self.trouble("read back", at, &error))?;
        if now.as_deref() == Some(hash) { Ok(()) } else { Err(self.changed(at)) }
    }
}

/// What is written beside a target.
struct Staged<'a> {
    temp: &'a RealPath,
    content: &'a [u8],
    /// The file whose owner, mode and attributes it gets.
    old: Option<&'a (File, Metadata)>,
    /// What it gets of one that was removed.
    traits: Option<&'a FileTraits>,
    bits: Bits,
}

impl<'a> Planned<'a> {
    fn new(at: &'a RealPath, content: Cow<'a, [u8]>, bits: Bits) -> Self {
        Self {
            at,
            way: Way::New { temp: journal::temp_beside(at), content, model: None, traits: None, bits },
        }
    }

    /// A new file with mode, owner and attributes of another.
    fn like(mut self, other: &'a RealPath) -> Self {
        if let Way::New { model, .. } = &mut self.way {
            *model = Some(other);
        }
        self
    }

    /// A new file with owner and attributes of one that was removed.
    fn with_traits(mut self, given: Option<&'a FileTraits>) -> Self {
        if let Way::New { traits, .. } = &mut self.way {
            *traits = given;
        }
        self
    }

    fn temp(&self) -> Option<&RealPath> {
        match &self.way {
            Way::New { temp, .. } | Way::Swap { temp, .. } | Way::Remove { temp, .. } => Some(temp),
            Way::InPlace { .. } | Way::Rename { .. } => None,
        }
    }

    fn paths(&self) -> impl Iterator<Item = &RealPath> {
        let to = if let Way::Rename { to, .. } = &self.way { Some(*to) } else { None };
        std::iter::once(self.at).chain(to)
    }
}

/// Whether names in the folder may be changed.
fn may_change(place: &Place) -> bool {
    let access = Access::WRITE_OK | Access::EXEC_OK;
    let may = rustix::fs::accessat(&place.folder, ".", access, AtFlags::EACCESS);
    !matches!(may, Err(Errno::ACCESS | Errno::PERM | Errno::ROFS))
}

/// The folder that goes at the end.
fn tidied(op: &FileOp) -> Option<&RealPath> {
    if let FileOp::Tidy { at } = op { Some(at) } else { None }
}

fn changes(op: &FileOp) -> Vec<FileChange> {
    let change = |path: &RealPath, before: Option<&Arc<str>>, after| FileChange {
        path: path.clone(),
        before: before.cloned(),
        after,
        overtaken: false,
    };
    match op {
        FileOp::Write { at, content, mode, .. } => {
            let before = match mode {
                WriteMode::New => None,
                WriteMode::Over { before } => Some(before),
            };
            vec![change(at, before, Some(hash::of(content)))]
        }
        FileOp::Restore { at, content, over, .. } => {
            vec![change(at, over.as_ref(), Some(hash::of(content)))]
        }
        FileOp::Remove { at, before } => vec![change(at, Some(before), None)],
        FileOp::Move { from, to, before, content, .. } => {
            let after = content.as_deref().map_or_else(|| Arc::clone(before), hash::of);
            vec![change(from, Some(before), None), change(to, None, Some(after))]
        }
        FileOp::Tidy { .. } => Vec::new(),
    }
}

/// Takes all back that was begun, and says so where it can't be.
fn take_back(journal: Journal, set: &Note, making: &Making, failure: Failure) -> Failure {
    let Note::Set { steps, folders } = set else { return failure };
    let begun = steps.get(..making.begun).unwrap_or(steps);
    match undo::roll_back(begun, &[]) {
        Ok(whole) => {
            // A temporary file holds nothing by now that isn't in its place.
            if undo::sweep_places(&making.temps, folders).is_ok() {
                journal.done();
            }
            if whole {
                return failure;
            }
            // Not to be tried again as if nothing had happened.
            let text = format!(
                "{}. What else was changed is put back, but something else wrote one of the files at the same \
                 moment: read them again",
                failure.text
            );
            Failure { kind: FailureKind::Internal, text, ..failure }
        }
        // The entry stays for the next start.
        Err(error) => {
            let text = format!(
                "{}. Not all of what else was changed could be put back ({error}); it will be at the next start",
                failure.text
            );
            Failure { kind: FailureKind::Internal, text, ..failure }
        }
    }
}
