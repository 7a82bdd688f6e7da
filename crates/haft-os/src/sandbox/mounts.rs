//! The steps that make a process's own view of the files: everything read-only, some folders writable, some things in
//! them kept, some hidden.

use super::standing;
use haft_core::{Confinement, Kept};
use std::{
    collections::BTreeSet,
    ffi::CString,
    fs,
    os::unix::fs::FileTypeExt as _,
    path::{Path, PathBuf},
};

/// One step, in the new process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Takes a copy of what is mounted at a path, before everything is made read-only.
    Take(CString),
    /// Everything that is mounted becomes read-only.
    AllReadOnly,
    /// Puts the next of the copies that were taken to where it was taken from.
    Put(CString),
    /// Makes a path a mount of its own, so that neither it nor what it lies in can be renamed away.
    Fasten(CString),
    /// The same, read-only.
    Keep(CString),
    /// An empty folder in the place of a folder.
    Empty(CString),
    /// Nothing in the place of a file.
    Blank(CString),
    /// The processes of the new namespace in the place of all.
    Processes,
}

/// The steps for a confinement. `opened` was approved to be written; `sockets` are hidden where they are there.
pub(super) fn steps(confinement: &Confinement, opened: &[String], sockets: &[String]) -> Vec<Step> {
    let inside = |path: &Path| confinement.writable.iter().any(|root| path.starts_with(root));
    let outside = opened.iter().map(Path::new).filter(|path| !inside(path)).map(standing);
    let all = confinement.writable.iter().map(Path::new).chain(outside);
    let mut writable: Vec<PathBuf> = all.filter(|path| path.exists()).map(Path::to_owned).collect();
    writable.sort();
    writable.dedup();
    // An approval opens what is kept where it names that or something in it, never by a folder around it.
    let is_opened = |path: &Path| opened.iter().any(|open| Path::new(open).starts_with(path));
    let mut kept = BTreeSet::new();
    let mut fastened = BTreeSet::new();
    for Kept { path, .. } in &confinement.kept {
        let path = Path::new(path);
        // A link can't be fastened; what it leads to is kept where that is named.
        let is_there = fs::symlink_metadata(path).is_ok_and(|meta| !meta.file_type().is_symlink());
        let root = writable.iter().filter(|root| path.starts_with(root) && path != root.as_path()).max();
        let Some(root) = root.filter(|_| is_there && !is_opened(path)) else { continue };
        kept.insert(path.to_owned());
        let folders = path.ancestors().skip(1).take_while(|folder| *folder != root.as_path());
        fastened.extend(folders.map(Path::to_owned));
    }
    // What lies in a kept folder is kept with it.
    let all = kept.clone();
    kept.retain(|path| !path.ancestors().skip(1).any(|folder| all.contains(folder)));
    fastened.retain(|path| !path.ancestors().any(|folder| all.contains(folder)));
    let mut steps: Vec<Step> = writable.iter().filter_map(|path| step(Step::Take, path)).collect();
    steps.push(Step::AllReadOnly);
    steps.extend(writable.iter().filter_map(|path| step(Step::Put, path)));
    // Parents first: sets are sorted.
    steps.extend(fastened.iter().filter_map(|path| step(Step::Fasten, path)));
    steps.extend(kept.iter().filter_map(|path| step(Step::Keep, path)));
    steps.push(Step::Processes);
    let hidden = confinement.hidden.iter().chain(sockets).map(Path::new).filter(|path| !is_opened(path));
    steps.extend(hidden.filter_map(hide));
    steps
}

fn hide(path: &Path) -> Option<Step> {
    let kind = fs::symlink_metadata(path).ok()?.file_type();
    if kind.is_dir() {
        step(Step::Empty, path)
    } else if kind.is_file() || kind.is_socket() {
        step(Step::Blank, path)
    } else {
        None
    }
}

fn step(make: fn(CString) -> Step, path: &Path) -> Option<Step> {
    use std::os::unix::ffi::OsStrExt as _;
    CString::new(path.as_os_str().as_bytes()).ok().map(make)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_fastened_up_to_the_writable_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("w/.git/hooks")).unwrap();
        fs::write(root.join("w/.git/config"), "").unwrap();
        fs::create_dir(root.join("w/secret")).unwrap();
        let at = |name: &str| root.join(name).to_str().unwrap().to_owned();
        let kept = |name: &str| Kept { path: at(name), even_absent: true };
        let confinement = Confinement {
            writable: vec![at("w"), at("missing")],
            kept: vec![kept("w/.git/hooks"), kept("w/.git/config"), kept("w/none"), kept("elsewhere/.git")],
            hidden: vec![at("w/secret"), at("w/none")],
            ..Confinement::default()
        };
        let c = |name: &str| CString::new(at(name)).unwrap();
        let expected = [
            Step::Take(c("w")),
            Step::AllReadOnly,
            Step::Put(c("w")),
            Step::Fasten(c("w/.git")),
            Step::Keep(c("w/.git/config")),
            Step::Keep(c("w/.git/hooks")),
            Step::Processes,
            Step::Empty(c("w/secret")),
        ];
        assert_eq!(steps(&confinement, &[], &[]), expected);
        let opened = steps(&confinement, &[at("w/.git/config")], &[]);
        assert!(
            !opened.contains(&Step::Keep(c("w/.git/config")))
                && opened.contains(&Step::Keep(c("w/.git/hooks")))
        );
        assert_eq!(steps(&confinement, &[at("w")], &[]), expected);
        let outside = steps(&confinement, &[at("new")], &[]);
        assert_eq!(outside[0], Step::Take(CString::new(root.to_str().unwrap()).unwrap()));
    }
}
