//! What stands around one confined command: what it may do with all that was looked up for it, and what is looked at
//! when it has ended.

use super::{
    Sandbox,
    aside::set_aside,
    hidden::real_places,
    inventory::Identity,
    parts::{Parts, is_there},
    placeholder::{Placeholders, is_untouched},
    repository::{Repository, harmful_in},
    sockets::{self, Sockets},
    watch::{Ground, Running},
};
use haft_core::{Allowance, Confined, Confinement, Failure, Kept};
use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs, io,
    os::{fd::OwnedFd, unix::fs::symlink},
    path::{Path, PathBuf},
};

/// So many things are told of one command.
const NOTICES_MAX: usize = 8;

/// The scene of a command, until it has ended.
#[derive(Debug)]
pub(crate) struct Scene {
    /// What holds for it, with the parts of repositories and other places by their real names.
    pub(crate) confinement: Confinement,
    /// What was approved for it and is there.
    pub(crate) allowed: Allowance,
    placeholders: Placeholders,
    running: Running,
    /// What is kept, as it was.
    kept: Vec<(PathBuf, Identity)>,
    /// Links on the way to what is kept, and where they lead.
    links: BTreeMap<PathBuf, PathBuf>,
    /// What wasn't there and mustn't be made.
    watched: Vec<PathBuf>,
    noticed: Vec<String>,
}

impl Scene {
    /// Looks up what there is, and makes what stands for what there isn't.
    ///
    /// # Errors
    /// Something can't be made or noted.
    pub(super) fn set(sandbox: &Sandbox, own: &Confinement, allowance: &Allowance) -> Result<Self, Failure> {
        let has_mounts = sandbox.layers().namespaces;
        let ground = ground(&sandbox.confinement, own, allowance);
        let mut needed = ground.writable.clone();
        let begun = sandbox.watch.begin(ground);
        let mut noticed = begun.noticed;
        let mut writable = paths(&own.writable);
        let of_roots = begun.repositories.iter().filter(|repository| {
            own.writable.iter().any(|root| repository.entry.parent() == Some(Path::new(root)))
        });
        let (elsewhere, others): (Vec<PathBuf>, Vec<Vec<PathBuf>>) =
            of_roots.filter_map(Repository::elsewhere).unzip();
        writable.extend(elsewhere);
        needed.extend(writable.iter().cloned());
        // A folder that was approved opens nothing of what is kept in it.
        let approved = paths(&allowance.writable).into_iter().filter(|path| is_there(path));
        let reach: Vec<PathBuf> = writable.iter().cloned().chain(approved).collect();
        let mut parts = Parts::new(&reach, allowance);
        for repository in &begun.repositories {
            parts.add_repository(repository, has_mounts);
        }
        for other in others.iter().flatten() {
            parts.add(other);
        }
        parts.add_kept(&own.kept, has_mounts);
        // What was approved by its name may be made.
        let approved: Vec<PathBuf> =
            paths(&allowance.files).into_iter().chain(paths(&allowance.writable)).collect();
        let is_approved = |path: &PathBuf| approved.iter().any(|approved| approved.starts_with(path));
        let watched = paths(&own.watched).into_iter().filter(|path| !is_there(path) && !is_approved(path));
        parts.watched.extend(watched);
        let hidden = real_places(&own.hidden, &needed);
        let files = paths(&allowance.files).into_iter().filter(|path| !parts.leave_free(path, &hidden));
        let (files, new): (Vec<PathBuf>, Vec<PathBuf>) =
            files.partition(|path| is_there(path) && !is_untouched(path));
        let placeholders = Placeholders::make(&parts.absent, &new, &sandbox.state)?;
        let kept: BTreeSet<&PathBuf> = parts.kept.iter().chain(&placeholders.kept).collect();
        let mut confinement = own.clone();
        confinement.kept =
            kept.iter().filter_map(|path| Some(Kept { path: text(path)?, even_absent: false })).collect();
        let named: BTreeSet<&String> = allowance.writable.iter().chain(&allowance.files).collect();
        confinement.hidden = texts(&hidden);
        let shown = own.shown.iter().filter_map(|path| fs::canonicalize(path).ok());
        confinement.shown = texts(&shown.collect::<Vec<_>>());
        if has_mounts {
            let sockets = Sockets::of(&sockets::list(), begun.sockets.into_iter());
            if sockets.left_out > 0 {
                noticed.push(format!(
                    "{} sockets of local services could be reached: they are too many to hide",
                    sockets.left_out
                ));
            }
            confinement.hidden.extend(texts(&sockets.hidden));
            confinement.shown.extend(texts(&sockets.shown));
        }
        confinement.hidden.retain(|path| !named.contains(path));
        let kept = if has_mounts { kept } else { BTreeSet::new() };
        let kept = kept.into_iter().filter_map(|path| Some((path.clone(), Identity::of(path)?))).collect();
        confinement.writable = texts(&writable);
        let mut allowed = allowance.clone();
        allowed.writable.retain(|path| is_there(Path::new(path)));
        let files = files.iter().filter(|path| !path.is_dir()).chain(&placeholders.opened);
        allowed.files = files.filter_map(|path| text(path)).collect();
        Ok(Self {
            confinement,
            allowed,
            placeholders,
            running: begun.running,
            kept,
            links: if has_mounts { parts.links } else { BTreeMap::new() },
            watched: parts.watched,
            noticed,
        })
    }

    /// What a process that outlives haft holds, so that what was made for it stays.
    ///
    /// # Errors
    /// Whatever the system says.
    pub(crate) fn held_apart(&self) -> io::Result<Option<OwnedFd>> {
        self.placeholders.held_apart()
    }

    /// The command has ended, and nothing of it is left. Adds to what held it in what has to be told. Blocking.
    pub(crate) fn end(self, confined: &mut Confined) {
        let Self { placeholders, running, kept, links, watched, mut noticed, .. } = self;
        let is_other = |(path, before): &(PathBuf, Identity)| {
            Identity::of(path).is_some_and(|now| now != *before) && !is_plain_config(path)
        };
        noticed.extend(kept.iter().filter(|kept| is_other(kept)).map(|(path, _)| {
            format!(
                "{} was replaced from outside while this ran, and from then on it wasn't kept: look at it",
                path.display()
            )
        }));
        noticed.extend(links.iter().filter_map(|(path, to)| put_back(path, to)));
        noticed.extend(watched.iter().filter(|path| is_there(path)).map(|path| put_away(path)));
        let (made, unsearched) = running.end();
        noticed.extend(made);
        drop(placeholders);
        let more = noticed.len().saturating_sub(NOTICES_MAX);
        if more > 0 {
            noticed.truncate(NOTICES_MAX);
            noticed.push(format!("{more} more of the kind"));
        }
        confined.noticed = noticed;
        confined.unsearched = unsearched;
    }
}

/// Where all commands work, and one for which `own` holds: the folders in which hooks are kept are those of repositories.
fn ground(all: &Confinement, own: &Confinement, allowance: &Allowance) -> Ground {
    let mut writable = paths(&all.writable);
    let is_work = |root: &&PathBuf| {
        let hooks = root.join(".git/hooks");
        all.kept.iter().any(|kept| Path::new(&kept.path) == hooks)
    };
    let roots = writable.iter().filter(is_work).cloned().collect();
    let mut own = paths(&own.writable);
    writable.extend(own.iter().cloned());
    own.extend(paths(&allowance.writable));
    Ground { roots, writable, own }
}

/// Makes a link lead where it did again, and tells it; none where it still does.
fn put_back(path: &Path, to: &Path) -> Option<String> {
    if fs::read_link(path).is_ok_and(|now| now == to) {
        return None;
    }
    let away = if is_there(path) { set_aside(path).map(Some) } else { Ok(None) };
    let back = away.and_then(|away| symlink(to, path).map(|()| away));
    let why = format!("{} leads to what makes programs run, and was replaced", path.display());
    Some(match back {
        Ok(Some(away)) => {
            format!("{why}; what stood there was set aside as {}, the link is back", away.display())
        }
        Ok(None) => format!("{why}; the link is back"),
        Err(error) => format!("{why}, and the link can't be made again ({error}): look at it"),
    })
}

/// Sets aside what mustn't be made, and tells it.
fn put_away(path: &Path) -> String {
    let why = format!("{} makes programs run and mustn't be made in the sandbox", path.display());
    match set_aside(path) {
        Ok(to) => format!("{why}; it was set aside as {}", to.display()),
        Err(error) => format!("{why}, and it can't be set aside ({error}): look at it"),
    }
}

/// Whether it holds settings of git that run nothing: git itself puts a new file in the place of the old one.
fn is_plain_config(path: &Path) -> bool {
    path.file_name() == Some(OsStr::new("config"))
        && harmful_in(path).is_some_and(|harmful| harmful.is_empty())
}

fn paths(texts: &[String]) -> Vec<PathBuf> {
    texts.iter().map(PathBuf::from).collect()
}

/// Paths that aren't UTF-8 can't be named; there are none that matter but those of repositories.
fn texts(paths: &[PathBuf]) -> Vec<String> {
    paths.iter().filter_map(|path| text(path)).collect()
}

fn text(path: &Path) -> Option<String> {
    path.to_str().map(str::to_owned)
}
