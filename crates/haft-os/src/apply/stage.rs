//! Every new content is written beside its target, and it is said how each change is taken back.

use super::{
    Making,
    planned::{Bits, Planned, Way},
};
use crate::{
    OsFiles, hash,
    root::{MadeFolders, split},
    undo::Step,
    write::keep_owner,
    xattr,
};
use haft_core::{Failure, FileTraits, RealPath};
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};
use std::{
    fs::{File, Metadata},
    io::{self, Write},
    os::unix::fs::MetadataExt,
    sync::Arc,
};

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

impl OsFiles {
    /// Writes every new content beside its target.
    pub(super) fn stage(&self, planned: &[Planned<'_>], making: &mut Making) -> Result<Vec<Step>, Failure> {
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
}
