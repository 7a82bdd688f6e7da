//! The confinement of one command: what holds for all, with what its call and its tool's profile change.

use super::hidden::real_places;
use crate::{fault, host};
use haft_core::{Allowance, Confinement, Failure, FailureKind};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// What holds for a command. Blocking: folders that it may change are made where they aren't there.
///
/// # Errors
/// A folder that can't be made, that stays closed to all commands, or that leads somewhere else than it says.
pub(super) fn own(all: &Confinement, allowance: &Allowance) -> Result<Confinement, Failure> {
    let mut own = all.clone();
    if let Some(network) = &allowance.network {
        own.network = network.clone();
    }
    for closed in &allowance.closed {
        // A folder around it goes too: nothing in a writable folder can be kept from being written by every layer.
        own.writable
            .retain(|root| !Path::new(root).starts_with(closed) && !Path::new(closed).starts_with(root));
    }
    for folder in &allowance.folders {
        own.writable.push(made(folder, all)?);
    }
    own.writable.sort();
    own.writable.dedup();
    // What can't be written anyway needs no keeping.
    let opened = || own.writable.iter().chain(&allowance.writable);
    let kept = |path: &str| opened().any(|root| Path::new(path).starts_with(root));
    let needed = all.kept.iter().filter(|one| kept(&one.path)).cloned().collect();
    let watched = all.watched.iter().filter(|path| kept(path)).cloned().collect();
    (own.kept, own.watched) = (needed, watched);
    Ok(own)
}

/// A folder of a profile, made where it isn't there, all links followed.
fn made(folder: &str, all: &Confinement) -> Result<String, Failure> {
    let path = Path::new(folder);
    // What commands can change they can put a link into, which must not open what it leads to.
    let strays = |real: &Path| {
        // Links may lead to the root itself.
        real.parent().is_none()
            || all.writable.iter().filter(|root| path.starts_with(root)).any(|root| !real.starts_with(root))
    };
    let standing = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(path);
    let rest = path.strip_prefix(standing).unwrap_or(Path::new(""));
    let joined = |real: PathBuf| if rest.as_os_str().is_empty() { real } else { real.join(rest) };
    let real = host::real_path(standing).map(joined).filter(|real| !strays(real));
    let Some((real, text)) = real.and_then(|real| real.to_str().map(str::to_owned).map(|text| (real, text)))
    else {
        return Err(Failure::new(
            FailureKind::Unavailable,
            format!(
                "the tool's sandbox is to open {folder}, which leads somewhere else; nothing ran. Tell the user to put \
                 a folder there, or to name another in its sandbox"
            ),
        ));
    };
    if is_closed(&real, all) {
        return Err(Failure::new(
            FailureKind::Unavailable,
            format!(
                "the tool's sandbox is to open {folder}, which is kept or hidden from all commands; nothing ran. Tell the \
                 user to name another folder in its sandbox, or to let it run outside (sandbox = \"off\")"
            ),
        ));
    }
    if rest.as_os_str().is_empty() {
        return Ok(text);
    }
    fs::create_dir_all(&real).map_err(|error| fault::io("make", folder, &error))?;
    Ok(text)
}

/// Whether a folder lies in what no command reads, or may make, or in what is kept where all write: that is for who runs a
/// command to approve by name, and for no profile.
fn is_closed(real: &Path, all: &Confinement) -> bool {
    let needed: Vec<PathBuf> = all.writable.iter().map(PathBuf::from).collect();
    let is_common = |path: &str| all.writable.iter().any(|root| Path::new(path).starts_with(root));
    let kept = all.kept.iter().filter(|kept| kept.even_absent || is_common(&kept.path));
    let mut closed = kept.map(|kept| &kept.path).chain(&all.hidden);
    closed.any(|closed| real.starts_with(closed))
        || real_places(&all.hidden, &needed).iter().any(|closed| real.starts_with(closed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{Kept, Reach};

    fn all(root: &Path) -> Confinement {
        let at = |name: &str| root.join(name).to_str().unwrap().to_owned();
        let kept = |name: &str| Kept { path: at(name), even_absent: true };
        Confinement {
            writable: vec![at("temp"), at("w")],
            kept: vec![kept("w/.git/hooks"), kept("w/.haft")],
            hidden: vec![at("home/.ssh")],
            ..Confinement::default()
        }
    }

    fn stage() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["w", "temp", "home", "elsewhere"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        (folder, root)
    }

    #[test]
    fn without_a_profile_all_is_as_it_is_for_everybody() {
        let (_folder, root) = stage();
        let opened = Allowance { writable: vec!["/opt/x".to_owned()], ..Allowance::default() };
        assert_eq!(own(&all(&root), &opened).unwrap(), all(&root));
    }

    #[test]
    fn what_is_closed_goes_with_what_is_in_it_and_around_it() {
        let (_folder, root) = stage();
        let at = |name: &str| root.join(name).to_str().unwrap().to_owned();
        let narrow = |closed: &str, writable: &[&str]| {
            let writable = writable.iter().map(|name| at(name)).collect();
            let allowance = Allowance { closed: vec![at(closed)], writable, ..Allowance::default() };
            own(&all(&root), &allowance).unwrap()
        };
        let narrowed = narrow("w", &[]);
        assert_eq!((narrowed.writable, narrowed.kept), (vec![at("temp")], Vec::new()));
        assert_eq!(narrow("", &[]).writable, Vec::<String>::new());
        assert_eq!(narrow("temp/w", &[]).writable, [at("w")]);
        // What was stated to be written keeps what is kept in it.
        let stated = narrow("w", &["w"]);
        assert_eq!((stated.writable, stated.kept.len()), (vec![at("temp")], 2));
    }

    #[test]
    fn folders_of_a_profile_are_made_and_lead_nowhere_else() {
        let (_folder, root) = stage();
        let at = |name: &str| root.join(name).to_str().unwrap().to_owned();
        let open = |folder: &str| {
            let network = Some(Reach::Hosts(vec!["a.example".to_owned()]));
            own(&all(&root), &Allowance { folders: vec![at(folder)], network, ..Allowance::default() })
        };
        let opened = open("home/.cache/x").unwrap();
        assert!(root.join("home/.cache/x").is_dir() && opened.writable.contains(&at("home/.cache/x")));
        assert_eq!(opened.network, Reach::Hosts(vec!["a.example".to_owned()]));
        std::os::unix::fs::symlink(root.join("elsewhere"), root.join("w/link")).unwrap();
        std::os::unix::fs::symlink(root.join("elsewhere"), root.join("home/link")).unwrap();
        let refused = open("w/link").unwrap_err();
        assert_eq!(refused.kind, FailureKind::Unavailable);
        assert!(refused.text.contains("leads somewhere else"), "{}", refused.text);
        assert!(
            open("home/link").unwrap().writable.contains(&at("elsewhere")),
            "the user's own link is followed"
        );
        fs::write(root.join("w/file"), "").unwrap();
        assert!(open("w/file/x").is_err());
        for closed in ["w/.git/hooks", "w/.haft/own", "home/.ssh/own"] {
            let refused = open(closed).unwrap_err();
            assert!(refused.text.contains("kept or hidden"), "{closed}: {}", refused.text);
            assert!(!root.join(closed).exists(), "{closed}");
        }
    }
}
