//! What is known of the folders that commands work in, over all commands of a session: so that repositories are kept
//! that were there when a command began, and those are looked at that a command made.
//!
//! Nothing keeps a command from making a repository, and git would run what its settings name as soon as somebody asks
//! for its state. So what a command made is looked at when it has ended: one that is just a repository stays, one that
//! has git run programs is set aside.

use super::{
    aside::set_aside,
    inventory::{Found, Inventory},
    repository::Repository,
};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// So many repositories are kept at once.
pub(super) const REPOSITORIES_MAX: usize = 64;
/// So many folders are looked at again before a command; after it all are.
const BEFORE_MAX: usize = 256;

/// What is known, and how many commands run.
#[derive(Debug, Default)]
pub(super) struct Watch(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    inventory: Inventory,
    running: usize,
    /// Whether a command was dropped before it was looked at what it made.
    is_unsure: bool,
}

/// Where commands work and write.
#[derive(Debug, Clone, Default)]
pub(super) struct Ground {
    /// The folders that are gone through, the same for each command.
    pub(super) roots: Vec<PathBuf>,
    /// All that commands write.
    pub(super) writable: Vec<PathBuf>,
    /// What the one that begins writes.
    pub(super) own: Vec<PathBuf>,
}

/// A command that runs.
#[derive(Debug)]
pub(super) struct Running {
    watch: Arc<Watch>,
    ground: Ground,
    /// The repositories that are kept from it.
    kept: BTreeSet<PathBuf>,
    since: u64,
    has_ended: bool,
}

/// What a command begins with.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) running: Running,
    pub(super) repositories: Vec<Repository>,
    pub(super) sockets: Vec<PathBuf>,
    /// What has to be told.
    pub(super) noticed: Vec<String>,
}

impl Watch {
    /// A command begins.
    pub(super) fn begin(self: &Arc<Self>, ground: Ground) -> Begun {
        let mut state = self.state();
        let is_first = state.inventory.looks() == 0;
        state.inventory.look(&ground.roots, BEFORE_MAX);
        let since = state.inventory.looks();
        // While no command runs it is the user who makes repositories.
        let is_suspect = !is_first && (state.running > 0 || state.is_unsure);
        let mut noticed = Vec::new();
        if is_suspect {
            let new = |found: &Found| found.since == since;
            noticed = state.judge(&ground, &BTreeSet::new(), new);
        }
        state.is_unsure = false;
        state.running += 1;
        let found = state.inventory.repositories();
        let repositories: Vec<Repository> =
            found.iter().take(REPOSITORIES_MAX).map(|found| found.repository.clone()).collect();
        if found.len() > REPOSITORIES_MAX {
            noticed.push(format!(
                "{} more repositories in the workspace aren't kept from it: look at their settings before git is used there",
                found.len() - REPOSITORIES_MAX
            ));
        }
        let running = Running {
            watch: Arc::clone(self),
            ground,
            kept: repositories.iter().map(|repository| repository.entry.clone()).collect(),
            since,
            has_ended: false,
        };
        let sockets = state.inventory.sockets().cloned().collect();
        Begun { running, repositories, sockets, noticed }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    /// It has ended: what it made is looked at. How many folders weren't gone through comes second.
    pub(super) fn end(mut self) -> (Vec<String>, usize) {
        self.has_ended = true;
        let mut state = self.watch.state();
        state.running = state.running.saturating_sub(1);
        state.inventory.look(&self.ground.roots, usize::MAX);
        let (since, kept, own) = (self.since, &self.kept, &self.ground.own);
        // What another made, or the user, is looked at when that one ends, or is the user's.
        let is_meant = |found: &Found| {
            found.since > since && own.iter().any(|root| found.repository.entry.starts_with(root))
        };
        let noticed = state.judge(&self.ground, kept, is_meant);
        (noticed, state.inventory.left_out)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.has_ended {
            let mut state = self.watch.state();
            state.running = state.running.saturating_sub(1);
            state.is_unsure = true;
        }
    }
}

impl State {
    /// Looks at repositories, and sets those aside that have git run programs; `kept` can't have been changed.
    fn judge(
        &self,
        ground: &Ground,
        kept: &BTreeSet<PathBuf>,
        is_meant: impl Fn(&Found) -> bool,
    ) -> Vec<String> {
        let mut noticed = Vec::new();
        let all = self.inventory.repositories();
        let trusted: Vec<&Repository> =
            all.iter().map(|found| &found.repository).filter(|known| kept.contains(&known.entry)).collect();
        for found in all.iter().filter(|found| is_meant(found)) {
            let repository = &found.repository;
            let is_kept = |part: &Path| {
                let is_trusted = |known: &&Repository| known.ends().contains(&part.parent().unwrap_or(part));
                !ground.writes(part) || trusted.iter().any(is_trusted)
            };
            let mut dangers = repository.dangers(is_kept);
            let is_unseen =
                |end: &&Path| ground.writes(end) && !ground.roots.iter().any(|root| end.starts_with(root));
            let unseen = repository.ends().into_iter().find(is_unseen);
            dangers.extend(unseen.map(|end| format!("what {} holds", end.display())));
            if dangers.is_empty() {
                continue;
            }
            noticed.push(told(&repository.entry, &dangers));
        }
        noticed
    }
}

impl Ground {
    /// Whether commands write there.
    fn writes(&self, path: &Path) -> bool {
        self.writable.iter().any(|root| path.starts_with(root))
    }
}

/// Sets aside what git finds at an entry: without its head it takes a folder for no repository, whatever its name.
fn told(entry: &Path, dangers: &[String]) -> String {
    let is_folder = fs::symlink_metadata(entry).is_ok_and(|meta| meta.is_dir());
    let away = if is_folder { entry.join("HEAD") } else { entry.to_owned() };
    let why = format!("{} would make git run programs ({})", entry.display(), dangers.join(", "));
    match set_aside(&away) {
        Ok(to) => format!(
            "{why}, so {} was set aside as {}: whoever trusts it gives it its name back, outside the sandbox",
            away.display(),
            to.display()
        ),
        Err(error) => {
            format!("{why} and can't be set aside ({error}): don't use git there before that is mended")
        }
    }
}
