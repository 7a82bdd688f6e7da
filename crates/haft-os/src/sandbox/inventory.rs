//! What stands in the folders that commands work in and matters to the sandbox: repositories, and sockets.
//!
//! All folders are gone through once; later only those that changed are listed again, since the time at which a folder
//! got or lost a name can't be set back. Those nearest to the root come first, and what is beyond the limit is counted.

use super::repository::Repository;
use std::{
    collections::{HashMap, VecDeque},
    fs::{self, Metadata},
    os::unix::fs::{FileTypeExt as _, MetadataExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// So many folders are gone through.
const FOLDERS_MAX: usize = 2_000;
/// Folders of a repository that hold nothing but what it keeps.
const OWN: [&str; 4] = ["objects", "refs", "logs", "lfs"];
/// A folder that changed so short a time before it was listed is listed again: the next change may have the same time.
const COARSE: Duration = Duration::from_millis(50);

/// Which thing it is that a path names, whatever its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    /// What a path names; links aren't followed.
    pub(super) fn of(path: &Path) -> Option<Self> {
        fs::symlink_metadata(path).ok().map(|meta| Self::from(&meta))
    }
}

impl From<&Metadata> for Identity {
    fn from(meta: &Metadata) -> Self {
        Self { device: meta.dev(), inode: meta.ino() }
    }
}

/// A repository that was found.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) repository: Repository,
    /// The number of the look at which it was new.
    pub(super) since: u64,
    identity: Identity,
}

/// What was found so far.
#[derive(Debug, Default)]
pub(super) struct Inventory {
    folders: HashMap<PathBuf, Folder>,
    repositories: Vec<Found>,
    looks: u64,
    /// How many folders are known and weren't gone through.
    pub(super) left_out: usize,
}

/// A folder as it was listed.
#[derive(Debug)]
struct Folder {
    identity: Identity,
    changed: SystemTime,
    is_fresh: bool,
    folders: Vec<PathBuf>,
    /// What git may find in it.
    entries: Vec<PathBuf>,
    sockets: Vec<PathBuf>,
}

impl Inventory {
    /// Looks again: at the first `closely` folders for what changed, and at those that are new. What is new has
    /// [`Inventory::looks`] as its number.
    pub(super) fn look(&mut self, roots: &[PathBuf], closely: usize) {
        self.looks += 1;
        let mut before = std::mem::take(&mut self.folders);
        let mut waiting: VecDeque<PathBuf> = roots.iter().cloned().collect();
        let mut entries = Vec::new();
        while let Some(path) = waiting.pop_front() {
            if self.folders.len() >= FOLDERS_MAX {
                waiting.push_front(path);
                break;
            }
            if self.folders.contains_key(&path) {
                continue;
            }
            let known = before.remove(&path);
            let folder = match known {
                Some(known) if self.folders.len() >= closely => known,
                known => {
                    let Ok(meta) = fs::symlink_metadata(&path) else { continue };
                    if !meta.is_dir() {
                        continue;
                    }
                    known.filter(|known| known.is_still(&meta)).unwrap_or_else(|| Folder::list(&path, &meta))
                }
            };
            waiting.extend(folder.folders.iter().cloned());
            entries.extend(folder.entries.iter().cloned());
            self.folders.insert(path, folder);
        }
        self.left_out = waiting.len();
        self.find(entries);
    }

    /// How often was looked.
    pub(super) fn looks(&self) -> u64 {
        self.looks
    }

    /// The repositories, those nearest to a root first.
    pub(super) fn repositories(&self) -> &[Found] {
        &self.repositories
    }

    /// The sockets.
    pub(super) fn sockets(&self) -> impl Iterator<Item = &PathBuf> {
        self.folders.values().flat_map(|folder| &folder.sockets)
    }

    /// Which of the entries are repositories; of those that are the same as ever nothing is asked again.
    fn find(&mut self, entries: Vec<PathBuf>) {
        let mut before: HashMap<PathBuf, Found> =
            self.repositories.drain(..).map(|found| (found.repository.entry.clone(), found)).collect();
        for entry in entries {
            let Some(identity) = Identity::of(&entry) else { continue };
            let known = before.remove(&entry).filter(|known| known.identity == identity);
            let found = known
                .or_else(|| Some(Found { repository: Repository::at(&entry)?, since: self.looks, identity }));
            self.repositories.extend(found);
        }
    }
}

impl Folder {
    fn list(path: &Path, meta: &Metadata) -> Self {
        let changed = changed(meta);
        let is_settled = SystemTime::now().duration_since(changed).is_ok_and(|age| age > COARSE);
        let mut folder = Self {
            identity: Identity::from(meta),
            changed,
            is_fresh: !is_settled,
            folders: Vec::new(),
            entries: Vec::new(),
            sockets: Vec::new(),
        };
        let mut parts = Parts::default();
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else { continue };
            parts.note(&name.to_string_lossy());
            if name.eq_ignore_ascii_case(".git") {
                folder.entries.push(entry.path());
            }
            if kind.is_dir() {
                folder.folders.push(entry.path());
            } else if kind.is_socket() {
                folder.sockets.push(entry.path());
            }
        }
        if parts.make_a_repository() {
            // What its own folders hold is git's; of the others those of submodules matter, and of working folders.
            let is_own =
                |path: &PathBuf| path.file_name().is_some_and(|name| OWN.iter().any(|own| name == *own));
            folder.folders.retain(|path| !is_own(path));
            if !path.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git")) {
                folder.entries.push(path.to_owned());
            }
        }
        folder
    }

    fn is_still(&self, meta: &Metadata) -> bool {
        !self.is_fresh && self.identity == Identity::from(meta) && self.changed == changed(meta)
    }
}

/// When something about a file changed last, by a clock that its owner can't set.
fn changed(meta: &Metadata) -> SystemTime {
    let seconds = Duration::from_secs(u64::try_from(meta.ctime()).unwrap_or(0));
    UNIX_EPOCH + seconds + Duration::from_nanos(u64::try_from(meta.ctime_nsec()).unwrap_or(0))
}

/// The names by which git takes a folder for a repository.
#[derive(Default)]
struct Parts {
    head: bool,
    objects: bool,
    refs: bool,
    common: bool,
}

impl Parts {
    fn note(&mut self, name: &str) {
        match name {
            "HEAD" => self.head = true,
            "objects" => self.objects = true,
            "refs" => self.refs = true,
            "commondir" => self.common = true,
            _ => {}
        }
    }

    fn make_a_repository(&self) -> bool {
        self.head && (self.common || (self.objects && self.refs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice::from_ref;

    fn repository(path: &Path) {
        fs::create_dir_all(path.join("objects")).unwrap();
        fs::create_dir_all(path.join("refs")).unwrap();
        fs::write(path.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    }

    fn names(inventory: &Inventory, root: &Path) -> Vec<(String, u64)> {
        let shown = |found: &Found| {
            let entry = found.repository.entry.strip_prefix(root).unwrap();
            (entry.to_str().unwrap().to_owned(), found.since)
        };
        let mut all: Vec<_> = inventory.repositories().iter().map(shown).collect();
        all.sort();
        all
    }

    #[test]
    fn repositories_of_every_kind_are_found_once_each() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        repository(&root.join(".git"));
        repository(&root.join(".git/modules/a/b"));
        repository(&root.join("deep/in/it/.git"));
        repository(&root.join("bare"));
        repository(&root.join("bare/objects/no"));
        fs::create_dir_all(root.join("empty/.git")).unwrap();
        fs::create_dir_all(root.join("linked")).unwrap();
        fs::write(root.join("linked/.git"), "gitdir: ../.git\n").unwrap();
        let mut inventory = Inventory::default();
        inventory.look(from_ref(&root), usize::MAX);
        let expected = [".git", ".git/modules/a/b", "bare", "deep/in/it/.git", "linked/.git"];
        assert_eq!(names(&inventory, &root), expected.map(|name| (name.to_owned(), 1)));
        // One that becomes one later, though its folder's names are the same as ever; one in another's place.
        repository(&root.join("empty/.git"));
        fs::remove_dir_all(root.join("bare")).unwrap();
        fs::rename(root.join("deep"), root.join("bare")).unwrap();
        inventory.look(from_ref(&root), usize::MAX);
        let expected = [
            (".git", 1),
            (".git/modules/a/b", 1),
            ("bare/in/it/.git", 2),
            ("empty/.git", 2),
            ("linked/.git", 1),
        ];
        assert_eq!(names(&inventory, &root), expected.map(|(name, since)| (name.to_owned(), since)));
        assert_eq!(inventory.left_out, 0);
    }

    #[test]
    fn a_repository_that_replaces_another_is_new() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        repository(&root.join("a/.git"));
        let mut inventory = Inventory::default();
        inventory.look(from_ref(&root), usize::MAX);
        fs::rename(root.join("a/.git"), root.join("old")).unwrap();
        repository(&root.join("a/.git"));
        inventory.look(from_ref(&root), usize::MAX);
        assert_eq!(names(&inventory, &root), [("a/.git".to_owned(), 2), ("old".to_owned(), 2)]);
    }

    #[test]
    fn what_is_beyond_the_limit_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..FOLDERS_MAX + 10 {
            fs::create_dir(folder.path().join(number.to_string())).unwrap();
        }
        let mut inventory = Inventory::default();
        inventory.look(&[folder.path().to_owned()], usize::MAX);
        assert_eq!(inventory.left_out, 11);
    }
}
