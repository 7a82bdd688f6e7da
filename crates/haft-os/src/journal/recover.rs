//! Mending what dead processes left.

use super::{
    FOLDER,
    content::{is_mixture, overwrite, to_u64},
    note::{Note, decode},
};
use crate::{
    root::{Beneath, Place, Root, split},
    undo,
};
use haft_core::RealPath;
use rustix::fs::OFlags;
use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::MetadataExt,
    path::Path,
    time::Duration,
};

/// What can't be reached for so long won't come back.
const UNREACHED_TIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Mends what dead processes left: removes their temporary files, and undoes half-done writes in place and sets of
/// changes.
///
/// Entries of living processes are left alone. A file that holds neither content nor a mixture of the two
/// was changed by somebody since: it stays as it is, and the entry is kept beside it as `.kept`.
pub(crate) fn recover(state: &Path) {
    let Ok(entries) = fs::read_dir(state.join(FOLDER)) else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let extension = path.extension().and_then(|extension| extension.to_str());
        // One bad entry mustn't keep the others, or the program, from going on.
        let _ = match extension {
            Some("journal") => recover_one(&path),
            Some("new") => remove_unfinished(&path),
            _ => Ok(()),
        };
    }
}

fn recover_one(path: &Path) -> io::Result<()> {
    let Some(mut file) = orphan(path)? else {
        return Ok(());
    };
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let mended = match decode(&bytes) {
        // Torn before it was renamed and synced: nothing had begun.
        None => true,
        Some(note) => match mend(&note) {
            // Only rubbish: its folder was removed with it long ago.
            Err(error)
                if error.kind() == io::ErrorKind::NotFound
                    && matches!(note, Note::Temp { .. } | Note::Staged { .. })
                    && is_old(&file) =>
            {
                true
            }
            mended => mended?,
        },
    };
    if mended { fs::remove_file(path) } else { fs::rename(path, path.with_extension("kept")) }
}

fn is_old(file: &File) -> bool {
    let age = file.metadata().and_then(|meta| meta.modified()).map(|since| since.elapsed());
    matches!(age, Ok(Ok(age)) if age > UNREACHED_TIME)
}

fn remove_unfinished(path: &Path) -> io::Result<()> {
    // What was begun but never got its name announces nothing.
    let Some(_held) = orphan(path)? else { return Ok(()) };
    fs::remove_file(path)
}

/// The entry, locked, where its owner is dead.
fn orphan(path: &Path) -> io::Result<Option<File>> {
    let file = File::open(path)?;
    // Removed means that its owner has just finished.
    let dead = file.try_lock().is_ok() && file.metadata()?.nlink() > 0;
    Ok(dead.then_some(file))
}

/// Whether nothing remains to be done for the note.
fn mend(note: &Note) -> io::Result<bool> {
    match note {
        Note::Temp { path } => undo::remove_temp(path).map(|()| true),
        Note::Staged { temps, folders } => undo::sweep(temps, folders).map(|()| true),
        Note::Set { steps, folders } => undo::roll_back(steps, folders),
        Note::InPlace { path, before, after } => {
            // A folder that can't be reached now may be on a drive that comes back: the entry waits for it.
            let place = place(path)?;
            if !place.look().is_ok_and(|meta| meta.is_file()) {
                return Ok(false);
            }
            let mut file = place.open(OFlags::RDWR)?;
            let longest = before.len().max(after.len());
            let mut now = Vec::new();
            Read::by_ref(&mut file).take(to_u64(longest)?.saturating_add(1)).read_to_end(&mut now)?;
            if now == *before || now == *after {
                return Ok(true);
            }
            if !is_mixture(&now, before, after) {
                return Ok(false);
            }
            overwrite(&file, before)?;
            Ok(true)
        }
    }
}

/// The open folder of a path, and its name there.
pub(crate) fn place(path: &RealPath) -> io::Result<Place> {
    let (parent, name) = split(&path.beneath);
    Ok(Place { folder: Root::open(&path.root)?.folder(parent, Beneath::detect())?, name: name.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{Journal, locked, temp_name};

    fn in_place(path: &Path) -> Note {
        let path = RealPath::new("/", path.to_str().unwrap().trim_start_matches('/'));
        Note::InPlace { path, before: b"old old".to_vec(), after: b"new".to_vec() }
    }

    #[test]
    fn an_entry_that_never_got_its_name_goes() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(FOLDER)).unwrap();
        let unfinished = folder.path().join(FOLDER).join("1.new");
        fs::write(&unfinished, "half").unwrap();
        let alive = locked(&unfinished.with_file_name("2.new")).unwrap();
        recover(folder.path());
        assert!(!unfinished.exists() && unfinished.with_file_name("2.new").exists());
        drop(alive);
    }

    #[test]
    fn a_half_done_write_is_undone_and_a_later_change_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        for (left, mended) in
            [("neo old", "neo old"), ("new old", "old old"), ("new", "new"), ("mine!", "mine!")]
        {
            let file = folder.path().join("f");
            fs::write(&file, left).unwrap();
            drop(Journal::begin(&state, &in_place(&file.canonicalize().unwrap())).unwrap());
            recover(&state);
            assert_eq!(fs::read_to_string(&file).unwrap(), mended);
        }
        let kept = fs::read_dir(state.join(FOLDER)).unwrap().count();
        assert_eq!(kept, 2, "the two changed by somebody else");
    }

    #[test]
    fn a_temporary_file_whose_folder_is_not_there_waits_for_it() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().canonicalize().unwrap();
        let (folder, moved) = (root.join("d"), root.join("elsewhere"));
        fs::create_dir(&folder).unwrap();
        let name = temp_name();
        fs::write(folder.join(&name), "half").unwrap();
        let temp = RealPath::new(root.to_str().unwrap(), &format!("d/{name}"));
        let unmade = RealPath::new(root.to_str().unwrap(), &format!("n/{name}"));
        let folders = vec![RealPath::new(root.to_str().unwrap(), "n")];
        for note in
            [Note::Temp { path: temp.clone() }, Note::Staged { temps: vec![temp.clone(), unmade], folders }]
        {
            fs::write(folder.join(&name), "half").unwrap();
            drop(Journal::begin(&root, &note).unwrap());
            fs::rename(&folder, &moved).unwrap();
            recover(&root);
            assert!(moved.join(&name).exists());
            fs::rename(&moved, &folder).unwrap();
            recover(&root);
            assert!(!folder.join(&name).exists());
            assert_eq!(fs::read_dir(root.join(FOLDER)).unwrap().count(), 0);
        }
    }

    #[test]
    fn a_living_owner_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().canonicalize().unwrap().join("f");
        fs::write(&file, "new old").unwrap();
        let alive = Journal::begin(folder.path(), &in_place(&file)).unwrap();
        recover(folder.path());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new old");
        alive.done();
    }

    #[test]
    fn a_dead_process_leaves_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let name = temp_name();
        fs::write(root.join(&name), "half").unwrap();
        let note = Note::Temp { path: RealPath::new(root.to_str().unwrap(), &name) };
        drop(Journal::begin(&root, &note).unwrap());
        recover(&root);
        assert!(!root.join(&name).exists());
    }
}
