//! One change of several, as the journal keeps it, and the way back from it.
//!
//! Each step can be taken back any number of times and at any point of its being done: what stands in the folder
//! tells how far it came. Content that somebody else put there meanwhile is never touched. Leaves when to do so to
//! [`crate::apply`] and, after a kill, to [`crate::journal`].

use crate::{files::sync_folder, hash, journal, root::Place};
use haft_core::RealPath;
use rustix::{
    fs::{AtFlags, Mode, OFlags, RenameFlags},
    io::Errno,
};
use std::{
    fs::Metadata,
    io::{self, Read},
    os::unix::fs::MetadataExt,
    sync::Arc,
};

/// So many parts of a journal entry hold a step.
pub(crate) const PARTS: usize = 8;

/// One change to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// The temporary file takes the name, and the old file the temporary one's.
    Swap {
        /// The file.
        at: RealPath,
        /// The temporary file.
        temp: RealPath,
        /// The hash of the old content.
        before: Arc<str>,
        /// The hash of the new content.
        after: Arc<str>,
        /// The number of the temporary file's inode.
        inode: u64,
    },
    /// The temporary file takes a name that nothing has.
    New {
        /// The file.
        at: RealPath,
        /// The temporary file.
        temp: RealPath,
        /// The hash of the content.
        after: Arc<str>,
    },
    /// The file takes the name of a temporary one.
    Remove {
        /// The file.
        at: RealPath,
        /// The temporary file.
        temp: RealPath,
    },
    /// The file takes a name that nothing has.
    Rename {
        /// Where it was.
        from: RealPath,
        /// Where it goes.
        to: RealPath,
        /// The hash of its content.
        before: Arc<str>,
    },
    /// The file is written over.
    InPlace {
        /// The file.
        at: RealPath,
        /// Its old content.
        before: Vec<u8>,
        /// Its new content.
        after: Vec<u8>,
        /// Its old permission bits.
        mode: u32,
    },
}

/// What is known of a regular file by its content.
struct Found {
    hash: Arc<str>,
    inode: u64,
}

impl Step {
    /// The parts of a journal entry.
    pub(crate) fn parts(&self) -> [Vec<u8>; PARTS] {
        let none = RealPath::new("", "");
        let text = |text: &str| text.as_bytes().to_vec();
        let number = |number: u64| number.to_string().into_bytes();
        let (kind, at, other, before, after, extra) = match self {
            Self::Swap { at, temp, before, after, inode } => {
                ("swap", at, temp, text(before), text(after), number(*inode))
            }
            Self::New { at, temp, after } => ("new", at, temp, Vec::new(), text(after), Vec::new()),
            Self::Remove { at, temp } => ("remove", at, temp, Vec::new(), Vec::new(), Vec::new()),
            Self::Rename { from, to, before } => ("rename", from, to, text(before), Vec::new(), Vec::new()),
            Self::InPlace { at, before, after, mode } => {
                ("in-place", at, &none, before.clone(), after.clone(), number(u64::from(*mode)))
            }
        };
        let [root, beneath] = [text(&at.root), text(&at.beneath)];
        [text(kind), root, beneath, text(&other.root), text(&other.beneath), before, after, extra]
    }

    /// The step that was kept so.
    pub(crate) fn from_parts(parts: &[&[u8]; PARTS]) -> Option<Self> {
        let [kind, root, beneath, other_root, other_beneath, before, after, extra] = *parts;
        let at = journal::read_path(root, beneath)?;
        let other = journal::read_path(other_root, other_beneath)?;
        let text = |part: &[u8]| std::str::from_utf8(part).ok().map(Arc::<str>::from);
        Some(match kind {
            b"swap" => Self::Swap {
                at,
                temp: other,
                before: text(before)?,
                after: text(after)?,
                inode: text(extra)?.parse().ok()?,
            },
            b"new" => Self::New { at, temp: other, after: text(after)? },
            b"remove" => Self::Remove { at, temp: other },
            b"rename" => Self::Rename { from: at, to: other, before: text(before)? },
            b"in-place" => Self::InPlace {
                at,
                before: before.to_vec(),
                after: after.to_vec(),
                mode: text(extra)?.parse().ok()?,
            },
            _ => return None,
        })
    }

    /// Takes the step back, however far it came. False where somebody else's content stands in its place, which
    /// stays.
    pub(crate) fn undo(&self) -> io::Result<bool> {
        match self {
            Self::Swap { at, temp, before, after, inode } => {
                let now = Swapped { before, after, inode: *inode };
                now.undo(&journal::place(at)?, &journal::place(temp)?)
            }
            Self::New { at, temp, after } => undo_new(&journal::place(at)?, &journal::place(temp)?, after),
            Self::Remove { at, temp } => undo_remove(&journal::place(at)?, &journal::place(temp)?),
            Self::Rename { from, to, before } => {
                undo_rename(&journal::place(from)?, &journal::place(to)?, before)
            }
            Self::InPlace { at, before, after, mode } => {
                undo_in_place(&journal::place(at)?, before, after, *mode)
            }
        }
    }
}

struct Swapped<'a> {
    before: &'a str,
    after: &'a str,
    inode: u64,
}

impl Swapped<'_> {
    fn undo(&self, target: &Place, temp: &Place) -> io::Result<bool> {
        // Where two names can't be swapped at once, the old file is out of the way for a moment.
        let spare = spare(temp)?;
        if look(&spare)?.is_some() {
            if look(target)?.is_none() {
                take_free_name(&spare, target)?;
            } else if look(temp)?.is_none() {
                rename(&spare, temp)?;
            } else {
                remove(&spare)?;
            }
        }
        let (now, held) = (found(target)?, found(temp)?);
        let undone = match (&now, &held) {
            (_, None) => now.as_ref().is_some_and(|now| *now.hash == *self.before),
            (Some(now), Some(held))
                if *now.hash == *self.after && (now.inode == self.inode || *held.hash != *self.after) =>
            {
                rename(temp, target)?;
                true
            }
            (Some(now), Some(_)) => *now.hash == *self.before,
            // Nobody but somebody else removes it.
            (None, Some(_)) => false,
        };
        remove(temp)?;
        sync_folder(&target.folder);
        Ok(undone)
    }
}

fn undo_new(target: &Place, temp: &Place, after: &str) -> io::Result<bool> {
    let undone = match (found(target)?, look(temp)?) {
        (None, _) => true,
        // A second name was made, and the first is still there.
        (Some(now), Some(held)) if now.inode == held.ino() => {
            remove_any(target)?;
            true
        }
        (Some(_), Some(_)) => false,
        (Some(now), None) if *now.hash == *after => {
            remove_any(target)?;
            true
        }
        (Some(_), None) => false,
    };
    remove(temp)?;
    sync_folder(&target.folder);
    Ok(undone)
}

fn undo_remove(target: &Place, temp: &Place) -> io::Result<bool> {
    if look(temp)?.is_none() {
        return Ok(true);
    }
    let undone = match take_free_name(temp, target) {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
        Err(error) => return Err(error),
    };
    remove(temp)?;
    sync_folder(&target.folder);
    Ok(undone)
}

fn undo_rename(from: &Place, to: &Place, before: &str) -> io::Result<bool> {
    let (old, new) = (found(from)?, found(to)?);
    let undone = match (old, new) {
        (Some(old), Some(new)) if old.inode == new.inode => {
            remove_any(to)?;
            true
        }
        (Some(_), _) => true,
        (None, Some(new)) if *new.hash == *before => {
            take_free_name(to, from)?;
            true
        }
        (None, _) => false,
    };
    sync_folder(&from.folder);
    sync_folder(&to.folder);
    Ok(undone)
}

fn undo_in_place(place: &Place, before: &[u8], after: &[u8], mode: u32) -> io::Result<bool> {
    if !look(place)?.is_some_and(|meta| meta.is_file()) {
        return Ok(false);
    }
    let mut file = place.open(OFlags::RDWR)?;
    let longest = u64::try_from(before.len().max(after.len())).map_err(io::Error::other)?;
    let mut now = Vec::new();
    Read::by_ref(&mut file).take(longest.saturating_add(1)).read_to_end(&mut now)?;
    if now != before {
        if now != after && !journal::is_mixture(&now, before, after) {
            return Ok(false);
        }
        journal::overwrite(&file, before)?;
    }
    rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))?;
    Ok(true)
}

/// Takes all steps back, the last first, and removes the folders that were made for them. False where somebody
/// else's content stands in the place of one. What can't be reached now is an error, after all others were tried.
pub(crate) fn roll_back(steps: &[Step], folders: &[RealPath]) -> io::Result<bool> {
    let mut undone = true;
    let mut failed = None;
    for step in steps.iter().rev() {
        match step.undo() {
            Ok(whole) => undone &= whole,
            Err(error) => failed = Some(error),
        }
    }
    remove_folders(folders);
    failed.map_or(Ok(undone), Err)
}

/// Removes temporary files, and folders that were made and are empty. A temporary file in one of these that isn't
/// there never came to be.
pub(crate) fn sweep(temps: &[RealPath], folders: &[RealPath]) -> io::Result<()> {
    let mut failed = None;
    for temp in temps {
        match remove_temp(temp) {
            Err(error)
                if error.kind() == io::ErrorKind::NotFound
                    && folders.iter().any(|folder| folder.covers(temp)) => {}
            Err(error) => failed = Some(error),
            Ok(()) => {}
        }
    }
    remove_folders(folders);
    failed.map_or(Ok(()), Err)
}

/// Removes temporary files from the folders in which they were made, whatever these are called by now; and folders
/// that were made and are empty.
pub(crate) fn sweep_places(temps: &[Place], folders: &[RealPath]) -> io::Result<()> {
    let mut failed = None;
    for temp in temps {
        failed = remove(temp).err().or(failed);
    }
    remove_folders(folders);
    failed.map_or(Ok(()), Err)
}

/// Removes a temporary file. Where its folder isn't there, it may be so under another name: then it isn't removed.
pub(crate) fn remove_temp(path: &RealPath) -> io::Result<()> {
    remove(&journal::place(path)?)
}

/// Removes folders that are empty, the last first.
pub(crate) fn remove_folders(folders: &[RealPath]) {
    for folder in folders.iter().rev() {
        if let Ok(place) = journal::place(folder) {
            // One that isn't empty any more, or never came to be, stays as it is.
            let _ = rustix::fs::unlinkat(&place.folder, place.name.as_str(), AtFlags::REMOVEDIR);
        }
    }
}

/// Puts one file in the place of another, and that in the place of the first: at once where the file system can,
/// else with nothing there for a moment.
pub(crate) fn swap(temp: &Place, target: &Place) -> io::Result<()> {
    let (from, to) = (temp.name.as_str(), target.name.as_str());
    match rustix::fs::renameat_with(&temp.folder, from, &target.folder, to, RenameFlags::EXCHANGE) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            let spare = spare(temp)?;
            take_free_name(target, &spare)?;
            take_free_name(temp, target)?;
            rename(&spare, temp)
        }
        other => other.map_err(io::Error::from),
    }
}

/// Gives a file a name that nothing has.
pub(crate) fn take_free_name(from: &Place, to: &Place) -> io::Result<()> {
    let (old, new) = (from.name.as_str(), to.name.as_str());
    match rustix::fs::renameat_with(&from.folder, old, &to.folder, new, RenameFlags::NOREPLACE) {
        // Not every file system knows the flag; a second name refuses just as well.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            rustix::fs::linkat(&from.folder, old, &to.folder, new, AtFlags::empty())?;
            remove_any(from)
        }
        other => other.map_err(io::Error::from),
    }
}

/// The hash of the regular file that stands there.
pub(crate) fn content(place: &Place) -> io::Result<Option<Arc<str>>> {
    Ok(found(place)?.map(|found| found.hash))
}

fn found(place: &Place) -> io::Result<Option<Found>> {
    if !look(place)?.is_some_and(|meta| meta.is_file()) {
        return Ok(None);
    }
    let file = place.open(OFlags::RDONLY)?;
    let inode = file.metadata()?.ino();
    Ok(Some(Found { hash: hash::of_reader(&file)?, inode }))
}

/// What stands there, none where nothing does.
fn look(place: &Place) -> io::Result<Option<Metadata>> {
    match place.look() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        meta => meta.map(Some),
    }
}

/// The name that the old file has for a moment.
fn spare(temp: &Place) -> io::Result<Place> {
    let stem = temp.name.strip_suffix(journal::TEMP_SUFFIX).unwrap_or(&temp.name);
    Ok(Place { folder: temp.folder.try_clone()?, name: format!("{stem}-old{}", journal::TEMP_SUFFIX) })
}

/// Gives a file the name of another, which goes.
fn rename(from: &Place, to: &Place) -> io::Result<()> {
    rustix::fs::renameat(&from.folder, from.name.as_str(), &to.folder, to.name.as_str())
        .map_err(io::Error::from)
}

/// Removes a temporary file, and nothing else; it may be gone.
fn remove(temp: &Place) -> io::Result<()> {
    let is_ours = journal::is_temp_name(&temp.name) && look(temp)?.is_some_and(|meta| meta.is_file());
    if is_ours { remove_any(temp) } else { Ok(()) }
}

fn remove_any(place: &Place) -> io::Result<()> {
    match rustix::fs::unlinkat(&place.folder, place.name.as_str(), AtFlags::empty()) {
        Err(Errno::NOENT) => Ok(()),
        other => other.map_err(io::Error::from),
    }
}
