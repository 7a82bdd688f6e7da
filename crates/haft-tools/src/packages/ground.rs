//! The project's folder: what stands in it, and what of it a call has changed.

use super::manager::Manager;
use crate::text::whole::read_whole;
use haft_core::{Cx, Failure, FailureKind, RealPath};
use std::{collections::BTreeMap, sync::Arc};

/// So many names of a folder are looked at.
const NAMES_MAX: usize = 10_000;

/// The contents of the files that a manager keeps, by their names; those that aren't there are left out.
pub(super) type Kept = BTreeMap<String, Vec<u8>>;

/// The names in a folder.
///
/// # Errors
/// As [`haft_core::Files::list`].
pub(super) async fn names(cx: &Cx, folder: &RealPath) -> Result<Vec<String>, Failure> {
    let (files, folder) = (Arc::clone(&cx.world.files), folder.clone());
    cx.blocking(move || {
        let listing = files.list(&folder, NAMES_MAX)?;
        Ok(listing.entries.iter().map(|entry| entry.path.file_name().to_owned()).collect())
    })
    .await
}

/// Files beneath a folder, as far as they are there.
///
/// # Errors
/// What reading one answers.
pub(super) async fn read(cx: &Cx, folder: &RealPath, names: Vec<String>) -> Result<Kept, Failure> {
    let (files, folder, cancel) = (Arc::clone(&cx.world.files), folder.clone(), cx.cancel.clone());
    cx.blocking(move || {
        let mut kept = Kept::new();
        for name in names {
            match read_whole(&*files, &folder.join(&name), &cancel) {
                Ok(bytes) => {
                    kept.insert(name, bytes);
                }
                Err(failure) if failure.kind == FailureKind::NotFound => {}
                Err(failure) => return Err(failure),
            }
        }
        Ok(kept)
    })
    .await
}

/// What a manager keeps in a folder.
///
/// # Errors
/// As [`read`].
pub(super) async fn kept(cx: &Cx, folder: &RealPath, manager: Manager) -> Result<Kept, Failure> {
    read(cx, folder, manager.files().iter().map(|name| (*name).to_owned()).collect()).await
}

/// The names of what differs.
pub(super) fn changed(before: &Kept, after: &Kept) -> Vec<String> {
    let names = before.keys().chain(after.keys().filter(|name| !before.contains_key(*name)));
    names.filter(|name| before.get(*name) != after.get(*name)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_changed_or_removed_is_named() {
        let kept = |pairs: &[(&str, &str)]| -> Kept {
            pairs.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec())).collect()
        };
        let before = kept(&[("a", "1"), ("b", "1"), ("c", "1")]);
        let after = kept(&[("a", "1"), ("b", "2"), ("d", "1")]);
        assert_eq!(changed(&before, &after), ["b", "c", "d"]);
    }
}
