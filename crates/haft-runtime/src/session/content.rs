//! The session's content store: what files held before and after they were changed, by hash, compressed.
//!
//! Bounded in bytes and age. What is in it is exact, so it is never masked: its files are their user's alone. Leaves
//! to [`super::Keeper`] what is kept and when.

use haft_core::{Failure, StateFolder, content_hash};
use std::{
    io::Read,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

/// Longer contents aren't kept.
pub(crate) const CONTENT_MAX_BYTES: usize = 64 * 1024 * 1024;
/// Most bytes, compressed, that one session's contents take; beyond it the oldest go.
const SESSION_MAX_BYTES: u64 = 256 * 1024 * 1024;
/// From this length on, speed counts for more than size.
const FAST_FROM_BYTES: usize = 1024 * 1024;
const LEVEL: i32 = 1;
const FAST_LEVEL: i32 = -5;
/// The longest frame that a content of [`CONTENT_MAX_BYTES`] can become: what can't be compressed grows a little.
const PACKED_MAX_BYTES: usize = CONTENT_MAX_BYTES + CONTENT_MAX_BYTES / 128;

/// One session's contents.
pub(crate) struct ContentStore {
    state: Option<Arc<dyn StateFolder>>,
    folder: String,
    max_bytes: u64,
    /// Counted at the first use, since a long session has many.
    used: OnceLock<AtomicU64>,
}

impl ContentStore {
    pub(crate) fn new(state: Option<Arc<dyn StateFolder>>, session: &str) -> Self {
        Self { state, folder: content_folder(session), max_bytes: SESSION_MAX_BYTES, used: OnceLock::new() }
    }

    /// Keeps a content under its hash; gives how many older ones had to go for it.
    ///
    /// # Errors
    /// Invalid input for what is no hash; unavailable where it can't be written.
    pub(crate) fn keep(&self, hash: &str, bytes: &[u8]) -> Result<usize, Failure> {
        let Some(state) = &self.state else { return Ok(0) };
        let at = self.at(hash)?;
        let used = self.used.get_or_init(|| AtomicU64::new(total(state.as_ref(), &self.folder)));
        let mut added = 0;
        state.keep(&at, &mut || {
            let packed = pack(bytes)?;
            added = u64::try_from(packed.len()).unwrap_or(u64::MAX);
            Ok(packed)
        })?;
        let now = used.fetch_add(added, Ordering::Relaxed).saturating_add(added);
        if now <= self.max_bytes { Ok(0) } else { Ok(self.shrink(state.as_ref(), used, hash)) }
    }

    /// The content with that hash; none where it isn't kept, or not whole.
    pub(crate) fn get(&self, hash: &str) -> Option<Vec<u8>> {
        let state = self.state.as_ref()?;
        let at = self.at(hash).ok()?;
        let packed = state.read_from(&at, 0, PACKED_MAX_BYTES).ok()??;
        let bytes = unpack(&packed);
        if let Some(bytes) = bytes
            && *content_hash(&bytes) == *hash
        {
            return Some(bytes);
        }
        // It would only stand in the way of the right one.
        let _ = state.remove(&at);
        None
    }

    fn at(&self, hash: &str) -> Result<String, Failure> {
        let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hash {
            return Ok(format!("{}/{hash}", self.folder));
        }
        Err(Failure::invalid("a content is kept under its hash: 64 hex digits").diagnose(hash))
    }

    /// Lets the oldest go until a quarter is free, so that it isn't needed again at once.
    fn shrink(&self, state: &dyn StateFolder, used: &AtomicU64, newest: &str) -> usize {
        let mut entries = state.list(&self.folder);
        entries.sort_by_key(|entry| entry.modified);
        let mut left: u64 = entries.iter().map(|entry| entry.len).sum();
        let mut gone = 0;
        for entry in entries.iter().filter(|entry| entry.name != newest) {
            if left <= self.max_bytes / 4 * 3 {
                break;
            }
            if state.remove(&format!("{}/{}", self.folder, entry.name)).is_ok() {
                left = left.saturating_sub(entry.len);
                gone += 1;
            }
        }
        used.store(left, Ordering::Relaxed);
        gone
    }
}

/// The folder of one session's contents in the state folder.
pub(crate) fn content_folder(session: &str) -> String {
    format!("sessions/{session}/content")
}

fn total(state: &dyn StateFolder, folder: &str) -> u64 {
    state.list(folder).iter().map(|entry| entry.len).sum()
}

fn pack(bytes: &[u8]) -> Result<Vec<u8>, Failure> {
    let level = if bytes.len() < FAST_FROM_BYTES { LEVEL } else { FAST_LEVEL };
    zstd::bulk::compress(bytes, level)
        .map_err(|error| Failure::internal("a content couldn't be compressed").diagnose(error.to_string()))
}

/// None for what isn't whole, or longer than anything that is kept.
fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let reader = zstd::stream::read::Decoder::new(packed).ok()?;
    let mut bytes = Vec::new();
    let max = u64::try_from(CONTENT_MAX_BYTES).unwrap_or(u64::MAX);
    reader.take(max.saturating_add(1)).read_to_end(&mut bytes).ok()?;
    (bytes.len() <= CONTENT_MAX_BYTES).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{Change, Counter, Held, LineLog, SpillFile, StateEntry};
    use sha2::{Digest, Sha256};
    use std::{
        collections::BTreeMap,
        sync::Mutex,
        time::{Duration, SystemTime},
    };

    /// Files in memory; each new one is a second younger than the last.
    #[derive(Default)]
    struct Shelf(Mutex<BTreeMap<String, (u64, Vec<u8>)>>);

    fn unused<T>() -> Result<T, Failure> {
        Err(Failure::internal("unused"))
    }

    impl StateFolder for Shelf {
        fn path(&self, at: &str) -> String {
            at.to_owned()
        }

        fn read_tail(&self, _: &str, _: usize) -> Result<Option<Vec<u8>>, Failure> {
            unused()
        }

        fn read_from(&self, at: &str, _: u64, _: usize) -> Result<Option<Vec<u8>>, Failure> {
            Ok(self.0.lock().unwrap().get(at).map(|(_, bytes)| bytes.clone()))
        }

        fn update(&self, _: &str, _: &mut Change<'_>) -> Result<(), Failure> {
            unused()
        }

        fn open_log(&self, _: &str) -> Result<Box<dyn LineLog>, Failure> {
            unused()
        }

        fn open_counter(&self, _: &str) -> Result<Box<dyn Counter>, Failure> {
            unused()
        }

        fn open_spill(&self, _: &str) -> Result<Box<dyn SpillFile>, Failure> {
            unused()
        }

        fn keep(
            &self,
            at: &str,
            content: &mut dyn FnMut() -> Result<Vec<u8>, Failure>,
        ) -> Result<(), Failure> {
            let mut files = self.0.lock().unwrap();
            let age = files.values().map(|(age, _)| age + 1).max().unwrap_or_default();
            match files.get_mut(at) {
                Some(known) => known.0 = age,
                None => drop(files.insert(at.to_owned(), (age, content()?))),
            }
            Ok(())
        }

        fn list(&self, at: &str) -> Vec<StateEntry> {
            let files = self.0.lock().unwrap();
            let beneath = files.iter().filter_map(|(path, (age, bytes))| {
                let name = path.strip_prefix(at)?.strip_prefix('/')?;
                let (name, is_folder) = match name.split_once('/') {
                    Some((folder, _)) => (folder, true),
                    None => (name, false),
                };
                let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(*age);
                let len = u64::try_from(bytes.len()).unwrap();
                Some(StateEntry { name: name.to_owned(), is_folder, len, modified })
            });
            let mut entries: Vec<StateEntry> = beneath.collect();
            entries.dedup_by(|a, b| a.name == b.name);
            entries
        }

        fn hold(&self, _: &str) -> Result<Box<dyn Held>, Failure> {
            unused()
        }

        fn is_held(&self, _: &str) -> bool {
            false
        }

        fn remove(&self, at: &str) -> Result<(), Failure> {
            self.0.lock().unwrap().remove(at);
            Ok(())
        }
    }

    fn store(max_bytes: u64) -> (Arc<Shelf>, ContentStore) {
        let shelf = Arc::new(Shelf::default());
        let state: Arc<dyn StateFolder> = shelf.clone();
        (shelf, ContentStore { max_bytes, ..ContentStore::new(Some(state), "s") })
    }

    /// Bytes that don't compress.
    fn noise(seed: u8, length: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut block = Sha256::digest([seed]);
        while bytes.len() < length {
            bytes.extend_from_slice(&block);
            block = Sha256::digest(block);
        }
        bytes
    }

    #[test]
    fn what_is_kept_comes_back_exactly_and_is_held_once() {
        let (shelf, store) = store(SESSION_MAX_BYTES);
        let long = b"same line\n".repeat(200_000);
        for bytes in [&b""[..], b"a", b"\0\xff\r\n", long.as_slice()] {
            let hash = content_hash(bytes);
            store.keep(&hash, bytes).unwrap();
            store.keep(&hash, bytes).unwrap();
            assert!(store.get(&hash).as_deref() == Some(bytes));
        }
        assert_eq!(shelf.0.lock().unwrap().len(), 4);
        assert!(total(&*shelf, "sessions/s/content") < 10_000, "it is compressed");
    }

    #[test]
    fn the_oldest_go_first_and_are_counted() {
        let (_, store) = store(10_000);
        let all: Vec<Vec<u8>> = (0..12).map(|seed| noise(seed, 1_000)).collect();
        let mut gone = 0;
        for bytes in &all {
            // In use again all the time, so that it is never the oldest.
            store.keep(&content_hash(&all[0]), &all[0]).unwrap();
            gone += store.keep(&content_hash(bytes), bytes).unwrap();
        }
        let kept: Vec<bool> = all.iter().map(|bytes| store.get(&content_hash(bytes)).is_some()).collect();
        assert!(gone > 0 && gone == kept.iter().filter(|kept| !**kept).count(), "{gone} {kept:?}");
        assert!(kept[0] && !kept[1] && kept[11], "{kept:?}");
    }

    #[test]
    fn a_damaged_content_is_none_and_can_be_kept_anew() {
        let (shelf, store) = store(SESSION_MAX_BYTES);
        let hash = content_hash(b"text");
        let at = format!("sessions/s/content/{hash}");
        for damaged in [b"text".to_vec(), pack(b"other").unwrap(), Vec::new()] {
            shelf.0.lock().unwrap().insert(at.clone(), (0, damaged));
            assert_eq!(store.get(&hash), None);
            store.keep(&hash, b"text").unwrap();
            assert_eq!(store.get(&hash).as_deref(), Some(&b"text"[..]));
        }
    }

    #[test]
    fn only_a_hash_names_a_content() {
        let (shelf, store) = store(SESSION_MAX_BYTES);
        for name in ["", "../../x", "abc", "g".repeat(64).as_str()] {
            assert!(store.keep(name, b"x").is_err() && store.get(name).is_none());
        }
        assert!(shelf.0.lock().unwrap().is_empty());
    }
}
