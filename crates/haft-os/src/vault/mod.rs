//! Credentials in one encrypted file, sealed as a whole: neither names nor values can be read, changed, swapped or left
//! out without its key.
//!
//! The key lies in a file beside it, or is made of a passphrase. Keeps these invariants: a change is there whole or not
//! at all, also among processes that change it at once; what can't be opened is never written over; a key is removed
//! only after nothing is sealed with it any more.

mod cipher;
mod entries;
mod header;
mod unfit;

use crate::{OsState, host};
use cipher::Key;
use entries::Entries;
use haft_core::{
    Credentials, Failure, FailureKind, LastRead, Secret, SecretName, StateFolder as _, StoredSecret,
};
use header::{KeySource, Parts, Stretch};
use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};
use unfit::Unfit;
use zeroize::Zeroizing;

/// The file, in the vault's folder.
const FILE: &str = "secrets.vault";
/// How much can be stored in all.
const CONTENT_MAX_BYTES: usize = 4 * 1024 * 1024;
/// More than that is no vault.
const FILE_MAX_BYTES: u64 = 5 * 1024 * 1024;
/// A longer file is no key.
const KEY_MAX_BYTES: u64 = 64;
/// How often it is opened anew where somebody gave it another key meanwhile.
const OPEN_TRIES: usize = 10;
/// As long as what the cipher adds to prove that nothing was changed.
const STAMP_BYTES: usize = 16;

/// Gives the passphrase where one is needed; none where the operator has none.
pub type Passphrase = Arc<dyn Fn() -> Result<Option<Secret>, Failure> + Send + Sync>;

/// What seals a vault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SealedWith {
    /// The key in this file.
    KeyFile(PathBuf),
    /// A passphrase.
    Passphrase,
}

/// What shall seal a vault from now on.
#[derive(Debug, Clone)]
pub enum NewKey {
    /// A new key in a file beside it.
    File,
    /// This passphrase.
    Passphrase(Secret),
}

/// Tells one state of the file from another, without opening it: its last bytes, which no two writes have in common.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultStamp(Vec<u8>);

impl VaultStamp {
    fn of(file: &[u8]) -> Self {
        Self(file.get(file.len().saturating_sub(STAMP_BYTES)..).unwrap_or_default().to_vec())
    }
}

/// Stored credentials in a folder of haft's own.
pub struct OsVault {
    state: OsState,
    passphrase: Passphrase,
    /// The last key that was made of a passphrase and fitted: making it takes long.
    fitted: Mutex<Option<(Stretch, Key)>>,
    /// Why the last passphrase didn't open what there was.
    unfit: Mutex<Option<Unfit>>,
    /// Its end.
    last: LastRead,
}

/// A vault in memory.
struct Opened {
    source: KeySource,
    key: Key,
    entries: Entries,
}

impl OsVault {
    /// The vault in a folder, which is made at the first write.
    pub fn new(folder: impl Into<PathBuf>, passphrase: Passphrase) -> Self {
        let state = OsState::new(folder);
        Self {
            state,
            passphrase,
            fitted: Mutex::default(),
            unfit: Mutex::default(),
            last: LastRead::default(),
        }
    }

    /// Where the file is, or will be.
    pub fn path(&self) -> PathBuf {
        self.state.root.join(FILE)
    }

    /// All names and values.
    ///
    /// # Errors
    /// Unavailable where it can't be opened.
    pub fn values(&self) -> Result<Vec<(SecretName, Secret)>, Failure> {
        Ok(self.open()?.map(|opened| opened.entries.values()).unwrap_or_default())
    }

    /// Another one after each write; none where nothing is stored.
    pub fn stamp(&self) -> Option<VaultStamp> {
        let read = || self.state.read_tail(FILE, STAMP_BYTES);
        self.last.bytes(self.state.stamp(FILE), read).map(|end| VaultStamp(end.to_vec()))
    }

    /// What it is sealed with; none where nothing is stored. No key is asked for.
    ///
    /// # Errors
    /// Unavailable where the file's beginning can't be read.
    pub fn sealed_with(&self) -> Result<Option<SealedWith>, Failure> {
        let Some(bytes) = self.bytes()? else { return Ok(None) };
        let parts = KeySource::parse(&bytes).map_err(|error| self.damaged(&error.to_string()))?;
        Ok(Some(match parts.source {
            KeySource::File(id) => SealedWith::KeyFile(self.state.root.join(key_file(&id))),
            KeySource::Passphrase(_) => SealedWith::Passphrase,
        }))
    }

    /// What of it other users of this machine may get at by its mode.
    pub fn exposed(&self) -> Vec<PathBuf> {
        let names = host::folder_names(&self.state.root).unwrap_or_default();
        let files = names.iter().map(|name| self.state.root.join(name));
        let is_open = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|meta| meta.mode() & 0o077 != 0);
        std::iter::once(self.state.root.clone()).chain(files).filter(is_open).collect()
    }

    /// Seals all that is stored with another key. The old key file goes.
    ///
    /// # Errors
    /// Unavailable where it can't be opened or written; it then stays as it was.
    pub fn rekey(&self, with: &NewKey) -> Result<(), Failure> {
        let (mut old, mut made) = (None, None);
        let changed = self.state.update(FILE, |before| {
            let entries = match before {
                Some(bytes) => {
                    let opened = self.opened(&bytes)?;
                    old = Some(opened.source);
                    opened.entries
                }
                None => Entries::default(),
            };
            let (source, key) = match with {
                NewKey::File => self.new_key_file()?,
                NewKey::Passphrase(passphrase) => self.new_passphrase(passphrase)?,
            };
            made = Some(source.clone());
            Opened { source, key, entries }.sealed()
        });
        // Nothing is sealed with this one any more, or nothing ever was.
        let useless = if changed.is_ok() { old } else { made };
        let removed = match useless {
            Some(KeySource::File(id)) => self.state.remove(&key_file(&id)),
            _ => Ok(()),
        };
        changed.and(removed)
    }

    /// Opens it, also where it is given another key at that moment. None where nothing is stored.
    fn open(&self) -> Result<Option<Opened>, Failure> {
        let mut tries = 0;
        loop {
            let Some(bytes) = self.bytes()? else { return Ok(None) };
            tries += 1;
            match self.opened(&bytes) {
                Err(_) if tries < OPEN_TRIES && self.bytes()?.as_ref() != Some(&bytes) => {}
                opened => return opened.map(Some),
            }
        }
    }

    fn bytes(&self) -> Result<Option<Vec<u8>>, Failure> {
        self.state.read(FILE, FILE_MAX_BYTES)
    }

    fn opened(&self, bytes: &[u8]) -> Result<Opened, Failure> {
        let parts = KeySource::parse(bytes).map_err(|error| self.damaged(&error.to_string()))?;
        if matches!(parts.source, KeySource::File(_)) {
            return self.unsealed(parts);
        }
        if let Some(failure) = lock(&self.unfit).as_ref().and_then(|unfit| unfit.again(bytes)) {
            return Err(failure);
        }
        let opened = self.unsealed(parts);
        *lock(&self.unfit) = opened.as_ref().err().map(|failure| Unfit::new(bytes, failure.clone()));
        opened
    }

    fn unsealed(&self, parts: Parts<'_>) -> Result<Opened, Failure> {
        let key = self.key(&parts.source)?;
        let content = cipher::open(&key, parts.header, parts.sealed).ok_or_else(|| match parts.source {
            KeySource::File(_) => self.damaged("its key doesn't open it: either of them was changed"),
            KeySource::Passphrase(_) => Failure::new(
                FailureKind::Permission,
                format!(
                    "the passphrase doesn't open {}: give the one that it was sealed with (or the file was damaged: then \
                     put it back from a backup)",
                    self.path().display()
                ),
            ),
        })?;
        let entries =
            Entries::from_bytes(&content).ok_or_else(|| self.damaged("what is in it can't be read"))?;
        if let KeySource::Passphrase(stretch) = &parts.source {
            *lock(&self.fitted) = Some((*stretch, key.clone()));
        }
        Ok(Opened { source: parts.source, key, entries })
    }

    fn key(&self, source: &KeySource) -> Result<Key, Failure> {
        match source {
            KeySource::File(id) => self.key_of_file(id),
            KeySource::Passphrase(stretch) => {
                if let Some((known, key)) = lock(&self.fitted).as_ref()
                    && known == stretch
                {
                    return Ok(key.clone());
                }
                let passphrase = (self.passphrase)()?.ok_or_else(|| {
                    Failure::new(
                        FailureKind::Unavailable,
                        format!(
                            "{} is sealed with a passphrase, and there is none: set HAFT_VAULT_PASSPHRASE, or \
                             passphraseCommand under [secrets] in your own settings",
                            self.path().display()
                        ),
                    )
                })?;
                cipher::stretched(&passphrase, stretch)
            }
        }
    }

    fn key_of_file(&self, id: &str) -> Result<Key, Failure> {
        let name = key_file(id);
        let bytes = self.state.read(&name, KEY_MAX_BYTES)?.map(Zeroizing::new).ok_or_else(|| {
            let key = self.state.root.join(&name);
            self.damaged(&format!("its key {} isn't there", key.display()))
        })?;
        let key: Result<[u8; cipher::KEY_BYTES], _> = bytes.as_slice().try_into();
        key.map(Zeroizing::new)
            .map_err(|_| self.damaged(&format!("its key {name} has another length than a key")))
    }

    /// For a vault that isn't there yet.
    fn new_source(&self) -> Result<(KeySource, Key), Failure> {
        match (self.passphrase)()? {
            Some(passphrase) => self.new_passphrase(&passphrase),
            None => self.new_key_file(),
        }
    }

    /// A key file is there before anything is sealed with it.
    fn new_key_file(&self) -> Result<(KeySource, Key), Failure> {
        let id = crate::hash::hex(host::random()?.get(..8).unwrap_or_default());
        let key = cipher::random_key()?;
        self.state.write_atomic(&key_file(&id), key.as_slice())?;
        Ok((KeySource::File(id), key))
    }

    fn new_passphrase(&self, passphrase: &Secret) -> Result<(KeySource, Key), Failure> {
        let mut salt = [0; header::SALT_BYTES];
        for (byte, random) in salt.iter_mut().zip(host::random()?) {
            *byte = random;
        }
        let stretch = Stretch::new(salt);
        let key = cipher::stretched(passphrase, &stretch)?;
        *lock(&self.fitted) = Some((stretch, key.clone()));
        Ok((KeySource::Passphrase(stretch), key))
    }

    fn change<T>(&self, change: impl FnOnce(&mut Entries) -> Result<T, Failure>) -> Result<T, Failure> {
        let mut answer = None;
        self.state.update(FILE, |before| {
            let mut opened = if let Some(bytes) = before {
                self.opened(&bytes)?
            } else {
                let (source, key) = self.new_source()?;
                Opened { source, key, entries: Entries::default() }
            };
            answer = Some(change(&mut opened.entries)?);
            opened.sealed()
        })?;
        answer.ok_or_else(|| Failure::internal("the secrets weren't changed; try again"))
    }

    fn damaged(&self, why: &str) -> Failure {
        let path = self.path();
        Failure::new(
            FailureKind::Unavailable,
            format!(
                "the stored secrets in {} can't be opened: {why}. Nothing was changed. Put the folder back from a backup, or \
                 move it away and set them anew with haft secret set",
                path.display()
            ),
        )
    }
}

impl Opened {
    fn sealed(&self) -> Result<Vec<u8>, Failure> {
        cipher::seal(&self.key, self.source.header().as_bytes(), self.entries.to_bytes())
    }
}

impl Credentials for OsVault {
    fn get(&self, name: &SecretName) -> Result<Option<Secret>, Failure> {
        Ok(self.open()?.and_then(|opened| opened.entries.get(name).cloned()))
    }

    fn put(&self, name: &SecretName, value: &Secret) -> Result<(), Failure> {
        self.change(|entries| {
            entries.put(name, value, SystemTime::now());
            if entries.bytes() > CONTENT_MAX_BYTES {
                let mib = CONTENT_MAX_BYTES / 1024 / 1024;
                let text =
                    format!("no more than {mib} MiB are stored in all; remove what isn't needed any more");
                return Err(Failure::invalid(text));
            }
            Ok(())
        })
    }

    fn remove(&self, name: &SecretName) -> Result<bool, Failure> {
        // Nothing is written where there is nothing to take away.
        if self.get(name)?.is_none() {
            return Ok(false);
        }
        self.change(|entries| Ok(entries.remove(name)))
    }

    fn list(&self) -> Result<Vec<StoredSecret>, Failure> {
        Ok(self.open()?.map(|opened| opened.entries.list()).unwrap_or_default())
    }
}

fn key_file(id: &str) -> String {
    format!("{id}.key")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
