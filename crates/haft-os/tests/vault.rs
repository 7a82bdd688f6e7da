//! Stored credentials in real files: whole or not at all, closed to whoever has no key, never written over unread.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use haft_core::{Credentials, Failure, FailureKind, Secret, SecretName};
use haft_os::{NewKey, OsVault, Passphrase, SealedWith};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};
use tempfile::TempDir;

const VALUE: &str = "k3y-of-the-house";

fn name(text: &str) -> SecretName {
    SecretName::parse(text).unwrap()
}

fn without_passphrase() -> Passphrase {
    Arc::new(|| Ok(None))
}

fn with(passphrase: &'static str) -> Passphrase {
    Arc::new(move || Ok(Some(Secret::new(passphrase))))
}

/// A folder that the vault makes by itself.
fn stage() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("vault");
    (folder, at)
}

fn vault(at: &Path) -> OsVault {
    OsVault::new(at, without_passphrase())
}

fn value(vault: &OsVault, text: &str) -> Option<String> {
    vault.get(&name(text)).unwrap().map(|secret| secret.reveal().to_owned())
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// The files with this ending.
fn files(at: &Path, ending: &str) -> Vec<PathBuf> {
    let all = fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path());
    all.filter(|path| path.extension().is_some_and(|found| found == ending)).collect()
}

#[test]
fn what_is_stored_is_there_for_the_next_process_and_gone_once_removed() {
    let (_folder, at) = stage();
    let first = vault(&at);
    assert_eq!((first.list().unwrap().len(), first.sealed_with().unwrap(), first.stamp()), (0, None, None));
    assert!(
        !first.remove(&name("a")).unwrap() && !at.exists(),
        "nothing is made where there is nothing to do"
    );
    first.put(&name("model:x"), &Secret::new(VALUE)).unwrap();
    first.put(&name("a"), &Secret::new("two\nlines")).unwrap();
    let next = vault(&at);
    assert_eq!(value(&next, "model:x").as_deref(), Some(VALUE));
    assert_eq!(value(&next, "a").as_deref(), Some("two\nlines"));
    let names: Vec<_> = next.list().unwrap().into_iter().map(|stored| stored.name.to_string()).collect();
    assert_eq!(names, ["a", "model:x"]);
    next.put(&name("a"), &Secret::new("new")).unwrap();
    assert_eq!(value(&first, "a").as_deref(), Some("new"));
    assert!(next.remove(&name("a")).unwrap());
    assert_eq!((value(&first, "a"), value(&first, "model:x").as_deref()), (None, Some(VALUE)));
}

#[test]
fn neither_names_nor_values_can_be_read_and_nobody_else_gets_at_the_files() {
    let (_folder, at) = stage();
    let vault = vault(&at);
    vault.put(&name("my-service"), &Secret::new(VALUE)).unwrap();
    for entry in fs::read_dir(&at).unwrap() {
        let path = entry.unwrap().path();
        let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
        assert!(!text.contains(VALUE) && !text.contains("my-service"), "{}", path.display());
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    assert_eq!((mode(&at), vault.exposed()), (0o700, Vec::new()));
    fs::set_permissions(vault.path(), fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(vault.exposed(), [vault.path()]);
    fs::set_permissions(&at, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(vault.exposed(), [at.clone(), vault.path()]);
    vault.put(&name("b"), &Secret::new(VALUE)).unwrap();
    assert_eq!(mode(&vault.path()), 0o600, "the next write closes the file again");
}

#[test]
fn a_damaged_file_is_told_and_never_written_over() {
    let (_folder, at) = stage();
    let own = vault(&at);
    own.put(&name("a"), &Secret::new(VALUE)).unwrap();
    let whole = fs::read(own.path()).unwrap();
    let mut damaged: Vec<Vec<u8>> = vec![Vec::new(), whole[..whole.len() - 1].to_vec(), b"{}".to_vec()];
    for byte in 0..whole.len() {
        let mut bent = whole.clone();
        bent[byte] ^= 0x10;
        damaged.push(bent);
    }
    for bytes in damaged {
        fs::write(own.path(), &bytes).unwrap();
        let vault = vault(&at);
        let told = [
            vault.get(&name("a")).map(drop),
            vault.put(&name("b"), &Secret::new("x")),
            vault.remove(&name("a")).map(drop),
            vault.list().map(drop),
            vault.rekey(&NewKey::File),
        ];
        for result in told {
            let failure = result.unwrap_err();
            assert_eq!(failure.kind, FailureKind::Unavailable, "{failure}");
            assert!(failure.text.contains("secrets.vault") && !failure.text.contains(VALUE), "{failure}");
        }
        assert_eq!(fs::read(own.path()).unwrap(), bytes, "it stays for whoever can mend it");
    }
    fs::write(own.path(), &whole).unwrap();
    assert_eq!(value(&own, "a").as_deref(), Some(VALUE), "put back, all is there");
    assert_eq!(files(&at, "key").len(), 1, "keys of writes that failed are gone");
}

#[test]
fn a_newer_form_is_told_from_damage() {
    let (_folder, at) = stage();
    fs::create_dir(&at).unwrap();
    fs::write(at.join("secrets.vault"), "haft vault 7\nkey of another kind\n\0\0").unwrap();
    let failure = vault(&at).list().unwrap_err();
    assert!(failure.text.contains("another version of haft, in form 7"), "{failure}");
}

#[test]
fn without_its_key_or_with_another_one_it_stays_closed() {
    let (_folder, at) = stage();
    let own = vault(&at);
    own.put(&name("a"), &Secret::new(VALUE)).unwrap();
    let key = files(&at, "key").remove(0);
    assert_eq!(own.sealed_with().unwrap(), Some(SealedWith::KeyFile(key.clone())));
    let whole = fs::read(&key).unwrap();
    for (bytes, says) in [(vec![7; 32], "doesn't open it"), (vec![7; 31], "another length")] {
        fs::write(&key, bytes).unwrap();
        let failure = own.get(&name("a")).unwrap_err();
        assert!(failure.text.contains(says), "{failure}");
    }
    fs::remove_file(&key).unwrap();
    let failure = own.put(&name("b"), &Secret::new("x")).unwrap_err();
    assert!(
        failure.text.contains(&key.display().to_string()) && failure.text.contains("isn't there"),
        "{failure}"
    );
    fs::write(&key, whole).unwrap();
    assert_eq!(value(&own, "a").as_deref(), Some(VALUE));
}

#[test]
fn writers_at_once_lose_nothing_of_each_other() {
    let (_folder, at) = stage();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let at = &at;
            scope.spawn(move || {
                // Of its own, as another process would have it.
                let vault = vault(at);
                for number in 0..6 {
                    vault
                        .put(
                            &name(&format!("w{writer}-{number}")),
                            &Secret::new(format!("{writer}/{number}")),
                        )
                        .unwrap();
                }
                vault.remove(&name(&format!("w{writer}-0"))).unwrap();
            });
        }
    });
    let vault = vault(&at);
    assert_eq!(vault.list().unwrap().len(), 8 * 5);
    assert_eq!(value(&vault, "w3-4").as_deref(), Some("3/4"));
    assert_eq!(files(&at, "key").len(), 1, "only the first of them has made a key");
}

#[test]
fn a_passphrase_is_asked_for_once_and_no_other_one_opens() {
    let (_folder, at) = stage();
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let own = OsVault::new(
        &at,
        Arc::new(move || {
            counter.fetch_add(1, Ordering::Relaxed);
            Ok(Some(Secret::new("correct horse")))
        }),
    );
    own.put(&name("a"), &Secret::new(VALUE)).unwrap();
    assert_eq!(own.sealed_with().unwrap(), Some(SealedWith::Passphrase));
    assert!(files(&at, "key").is_empty(), "there is no key beside it");
    assert_eq!(value(&own, "a").as_deref(), Some(VALUE));
    own.put(&name("b"), &Secret::new("x")).unwrap();
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    let wrong = OsVault::new(&at, with("wrong horse")).get(&name("a")).unwrap_err();
    assert_eq!(wrong.kind, FailureKind::Permission);
    let none = vault(&at).put(&name("c"), &Secret::new("x")).unwrap_err();
    assert!(none.text.contains("HAFT_VAULT_PASSPHRASE"), "{none}");
    assert_eq!(value(&OsVault::new(&at, with("correct horse")), "b").as_deref(), Some("x"));
}

#[test]
fn a_passphrase_that_comes_to_nothing_is_not_asked_for_again_at_each_look() {
    let (_folder, at) = stage();
    OsVault::new(&at, with("correct horse")).put(&name("a"), &Secret::new(VALUE)).unwrap();
    let failing: fn() -> Result<Option<Secret>, Failure> =
        || Err(Failure::new(FailureKind::Unavailable, "the keyring is locked"));
    let wrong: fn() -> Result<Option<Secret>, Failure> = || Ok(Some(Secret::new("wrong horse")));
    for (answer, says) in [(failing, "the keyring is locked"), (wrong, "doesn't open")] {
        let asked = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&asked);
        let own = OsVault::new(
            &at,
            Arc::new(move || {
                counter.fetch_add(1, Ordering::Relaxed);
                answer()
            }),
        );
        for _ in 0..3 {
            let failure = own.get(&name("a")).unwrap_err();
            assert!(failure.text.contains(says), "{failure}");
        }
        assert_eq!(asked.load(Ordering::Relaxed), 1, "{says}");
        // Written anew, it may open.
        OsVault::new(&at, with("correct horse")).put(&name("b"), &Secret::new(says)).unwrap();
        assert!(own.get(&name("a")).is_err());
        assert_eq!(asked.load(Ordering::Relaxed), 2, "{says}");
    }
}

#[test]
fn another_key_takes_the_place_of_the_old_one_and_all_stays() {
    let (_folder, at) = stage();
    let own = vault(&at);
    own.put(&name("a"), &Secret::new(VALUE)).unwrap();
    let first = files(&at, "key");
    own.rekey(&NewKey::File).unwrap();
    let second = files(&at, "key");
    assert!(second.len() == 1 && second != first, "{second:?}");
    own.rekey(&NewKey::Passphrase(Secret::new("correct horse"))).unwrap();
    assert!(files(&at, "key").is_empty());
    assert!(vault(&at).get(&name("a")).is_err());
    let again = OsVault::new(&at, with("correct horse"));
    assert_eq!(value(&again, "a").as_deref(), Some(VALUE));
    again.rekey(&NewKey::File).unwrap();
    assert_eq!(value(&vault(&at), "a").as_deref(), Some(VALUE));
}

#[test]
fn who_reads_while_the_key_changes_reads_on() {
    let (_folder, at) = stage();
    vault(&at).put(&name("a"), &Secret::new(VALUE)).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let vault = vault(&at);
            let mut reads = 0;
            while !done.load(Ordering::Acquire) || reads == 0 {
                assert_eq!(value(&vault, "a").as_deref(), Some(VALUE));
                reads += 1;
            }
        });
        let vault = vault(&at);
        for _ in 0..20 {
            vault.rekey(&NewKey::File).unwrap();
        }
        done.store(true, Ordering::Release);
        reader.join().unwrap();
    });
}

#[test]
fn each_write_shows_from_outside() {
    let (_folder, at) = stage();
    let vault = vault(&at);
    let mut seen = vec![vault.stamp()];
    for number in 0..3 {
        vault.put(&name("a"), &Secret::new(format!("value {number}"))).unwrap();
        assert_eq!(vault.stamp(), vault.stamp());
        assert!(!seen.contains(&vault.stamp()));
        seen.push(vault.stamp());
    }
}

#[test]
fn more_than_fits_is_refused_and_what_was_there_stays() {
    let (_folder, at) = stage();
    let vault = vault(&at);
    let long = Secret::new("x".repeat(60 * 1024));
    let refused = (0..100).find_map(|number| vault.put(&name(&format!("n{number}")), &long).err()).unwrap();
    assert_eq!(refused.kind, FailureKind::InvalidInput);
    let stored = vault.list().unwrap().len();
    assert!(stored > 50, "{stored}");
    assert_eq!(vault.values().unwrap().len(), stored);
}
