//! The changes themselves, once the journal says how each is taken back.

use super::{
    Making,
    planned::{Planned, Way},
};
use crate::{OsFiles, files::sync_folder, hash, journal, root::Place, undo};
use haft_core::{Failure, RealPath};
use rustix::fs::{Mode, OFlags};
use std::{
    collections::BTreeSet,
    fs::{File, Metadata},
    io,
    sync::Arc,
};

impl OsFiles {
    /// Makes all changes: the journal says by now how each is taken back.
    pub(super) fn make(&self, planned: &[Planned<'_>], making: &mut Making) -> Result<(), Failure> {
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
