//! What is kept for one command: by its real place, with what stands for it where it isn't there, and the links that lead
//! to it.

use super::{
    placeholder::{Absent, StandIn},
    repository::Repository,
};
use haft_core::{Allowance, Kept};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// What is kept, as far as it lies where the command writes and wasn't approved.
pub(super) struct Parts<'a> {
    writable: &'a [PathBuf],
    allowance: &'a Allowance,
    seen: BTreeSet<PathBuf>,
    /// What is there.
    pub(super) kept: Vec<PathBuf>,
    /// What isn't there, or is but a stand-in.
    pub(super) absent: Vec<Absent>,
    /// What isn't there, and has nothing that could stand for it.
    pub(super) watched: Vec<PathBuf>,
    /// Links on the way to what is kept, and where they lead: no mount keeps a link.
    pub(super) links: BTreeMap<PathBuf, PathBuf>,
}

impl<'a> Parts<'a> {
    /// None yet, for a command that writes there.
    pub(super) fn new(writable: &'a [PathBuf], allowance: &'a Allowance) -> Self {
        let (kept, absent, watched) = (Vec::new(), Vec::new(), Vec::new());
        Self { writable, allowance, seen: BTreeSet::new(), kept, absent, watched, links: BTreeMap::new() }
    }

    /// Adds those of a repository. Without mounts nothing can stand for one.
    pub(super) fn add_repository(&mut self, repository: &Repository, has_mounts: bool) {
        for (path, stand_in) in repository.parts() {
            if self.add(&path) {
                match stand_in.filter(|_| has_mounts) {
                    Some(stand_in) => self.absent.push(Absent { path, stand_in }),
                    None if !is_there(&path) => self.watched.push(path),
                    None => {}
                }
            }
        }
    }

    /// Adds those that hold for all commands.
    pub(super) fn add_kept(&mut self, all: &[Kept], has_mounts: bool) {
        for kept in all {
            let path = PathBuf::from(&kept.path);
            let is_file = path.ends_with(".git/config");
            let stand_in = if is_file { StandIn::File("") } else { StandIn::Folder };
            if self.add(&path) && kept.even_absent && has_mounts {
                self.absent.push(Absent { path, stand_in });
            }
        }
    }

    /// Adds a path, which is kept where it is there; whether it is one that can be, and that is new.
    pub(super) fn add(&mut self, path: &Path) -> bool {
        let mut approved = self.allowance.writable.iter().chain(&self.allowance.files);
        if !self.is_in_reach(path)
            || approved.any(|approved| Path::new(approved) == path)
            || !self.seen.insert(path.to_owned())
        {
            return false;
        }
        if is_there(path) {
            self.add_real(path);
        }
        true
    }

    fn add_real(&mut self, path: &Path) {
        match fs::canonicalize(path) {
            Ok(real) if real == path => self.kept.push(real),
            Ok(real) => {
                self.add_link(path);
                if self.is_in_reach(&real) && self.seen.insert(real.clone()) {
                    self.kept.push(real);
                }
            }
            // A link that leads nowhere yet.
            Err(_) => self.add_link(path),
        }
    }

    /// Adds the first link on the way to a path.
    fn add_link(&mut self, path: &Path) {
        let mut way: Vec<&Path> = path.ancestors().take_while(|part| self.is_in_reach(part)).collect();
        way.reverse();
        let link = way.into_iter().find_map(|part| Some((part.to_owned(), fs::read_link(part).ok()?)));
        self.links.extend(link);
    }

    /// Whether a path can be written without any approval.
    pub(super) fn leave_free(&self, path: &Path, hidden: &[PathBuf]) -> bool {
        let mut closed = self.kept.iter().chain(self.absent.iter().map(|absent| &absent.path)).chain(hidden);
        self.writable.iter().any(|root| path.starts_with(root))
            && !closed.any(|closed| path.starts_with(closed))
    }

    fn is_in_reach(&self, path: &Path) -> bool {
        self.writable.iter().any(|root| path.starts_with(root) && path != *root)
    }
}

/// Whether a path names something, if only a link.
pub(super) fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}
