//! Where what is to be hidden really lies: links are followed, also those in a hidden folder.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// So many names of a hidden folder are looked at for links.
const NAMES_MAX: usize = 256;

/// What there is to hide, by its real paths. What one of `needed` lies in, or the whole system, is never hidden by a
/// link to it.
pub(super) fn real_places(hidden: &[String], needed: &[PathBuf]) -> Vec<PathBuf> {
    let mut places = BTreeSet::new();
    let is_too_much =
        |place: &Path| place.parent().is_none() || needed.iter().any(|needed| needed.starts_with(place));
    for path in hidden.iter().map(Path::new) {
        let Ok(meta) = fs::symlink_metadata(path) else { continue };
        let Ok(real) = fs::canonicalize(path) else { continue };
        if meta.is_symlink() && is_too_much(&real) {
            continue;
        }
        let links =
            linked_from(&real).into_iter().filter(|place| !is_too_much(place) && !place.starts_with(&real));
        places.extend(links);
        places.insert(real);
    }
    places.into_iter().collect()
}

/// What the links of a folder lead to.
fn linked_from(folder: &Path) -> Vec<PathBuf> {
    let names = fs::read_dir(folder).into_iter().flatten().take(NAMES_MAX).flatten();
    let links = names.filter(|name| name.file_type().is_ok_and(|kind| kind.is_symlink()));
    links.filter_map(|link| fs::canonicalize(link.path()).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_to_secrets_and_links_among_secrets_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let at = |name: &str| root.join(name);
        for name in ["home/.aws", "keys", "work"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        fs::write(at("keys/id"), "").unwrap();
        fs::write(at("dot-netrc"), "").unwrap();
        symlink(at("keys"), at("home/.ssh")).unwrap();
        symlink("../dot-netrc", at("home/.netrc")).unwrap();
        symlink(at("keys/id"), at("home/.aws/key")).unwrap();
        symlink(at("work"), at("home/.kube")).unwrap();
        symlink("/", at("home/.gnupg")).unwrap();
        symlink("nowhere", at("home/.azure")).unwrap();
        let names = [".ssh", ".netrc", ".aws", ".kube", ".gnupg", ".azure", ".none"];
        let hidden = names.map(|name| at("home").join(name).to_str().unwrap().to_owned());
        let places = real_places(&hidden, &[at("work/project")]);
        assert_eq!(places, ["dot-netrc", "home/.aws", "keys", "keys/id"].map(at));
    }
}
