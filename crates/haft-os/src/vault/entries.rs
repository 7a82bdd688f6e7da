//! What is stored, as the bytes that are sealed: each entry a name, a time and a value.

use haft_core::{Secret, SecretName, StoredSecret};
use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use zeroize::Zeroizing;

/// Names and values, by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Entries(BTreeMap<SecretName, Entry>);

#[derive(Debug, PartialEq, Eq)]
struct Entry {
    value: Secret,
    /// In seconds since 1970.
    changed: u64,
}

impl Entries {
    /// A value.
    pub(super) fn get(&self, name: &SecretName) -> Option<&Secret> {
        self.0.get(name).map(|entry| &entry.value)
    }

    /// Puts a value in place of the former.
    pub(super) fn put(&mut self, name: &SecretName, value: &Secret, now: SystemTime) {
        let changed = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        self.0.insert(name.clone(), Entry { value: value.clone(), changed });
    }

    /// Takes a value away; says whether there was one.
    pub(super) fn remove(&mut self, name: &SecretName) -> bool {
        self.0.remove(name).is_some()
    }

    /// Names and times.
    pub(super) fn list(&self) -> Vec<StoredSecret> {
        let stored = |(name, entry): (&SecretName, &Entry)| StoredSecret {
            name: name.clone(),
            changed: UNIX_EPOCH.checked_add(Duration::from_secs(entry.changed)).unwrap_or(UNIX_EPOCH),
        };
        self.0.iter().map(stored).collect()
    }

    /// Names and values.
    pub(super) fn values(&self) -> Vec<(SecretName, Secret)> {
        self.0.iter().map(|(name, entry)| (name.clone(), entry.value.clone())).collect()
    }

    /// How long [`Entries::to_bytes`] is.
    pub(super) fn bytes(&self) -> usize {
        let one =
            |(name, entry): (&SecretName, &Entry)| 16 + name.as_str().len() + entry.value.reveal().len();
        self.0.iter().map(one).sum()
    }

    /// All of it, in one piece of memory that never moves, so that none is left behind.
    pub(super) fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(self.bytes()));
        for (name, entry) in &self.0 {
            push(&mut bytes, name.as_str());
            bytes.extend_from_slice(&entry.changed.to_le_bytes());
            push(&mut bytes, entry.value.reveal());
        }
        bytes
    }

    /// Reads it back; none where it isn't whole.
    pub(super) fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let mut entries = BTreeMap::new();
        while !bytes.is_empty() {
            let name = SecretName::parse(text(&mut bytes)?).ok()?;
            let changed = u64::from_le_bytes(take(&mut bytes, 8)?.try_into().ok()?);
            let value = Secret::new(text(&mut bytes)?);
            entries.insert(name, Entry { value, changed });
        }
        Some(Self(entries))
    }
}

fn push(bytes: &mut Vec<u8>, text: &str) {
    // Names and values are far shorter.
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

fn text<'a>(bytes: &mut &'a [u8]) -> Option<&'a str> {
    let length = u32::from_le_bytes(take(bytes, 4)?.try_into().ok()?);
    std::str::from_utf8(take(bytes, usize::try_from(length).ok()?)?).ok()
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let all = *bytes;
    let (taken, rest) = all.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Entries {
        let mut entries = Entries::default();
        let at = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        for (name, value) in [("b", "two\nlines"), ("a", "käse"), ("mcp:https://id.example.org/x", "t")] {
            entries.put(&SecretName::parse(name).unwrap(), &Secret::new(value), at);
        }
        entries
    }

    #[test]
    fn what_is_written_is_read_in_the_order_of_names() {
        let bytes = entries().to_bytes();
        assert_eq!((bytes.len(), bytes.capacity()), (entries().bytes(), entries().bytes()));
        let read = Entries::from_bytes(&bytes).unwrap();
        assert_eq!(read, entries());
        let names: Vec<_> = read.list().into_iter().map(|stored| stored.name.to_string()).collect();
        assert_eq!(names, ["a", "b", "mcp:https://id.example.org/x"]);
        assert_eq!(Entries::from_bytes(b""), Some(Entries::default()));
    }

    #[test]
    fn what_isnt_whole_is_nothing() {
        let bytes = entries().to_bytes();
        // Where an entry ends, what follows may be missing.
        let whole = [0, 22, 48];
        for end in (0..bytes.len()).filter(|end| !whole.contains(end)) {
            assert_eq!(Entries::from_bytes(&bytes[..end]), None, "cut at {end}");
        }
        assert_eq!(Entries::from_bytes(&[0xff; 32]), None);
    }
}
