//! Placeholders in the place of secrets.

use super::{Detector, Found, Placeholder, placeholders};
use sha2::{Digest, Sha256};
use std::{
    borrow::Cow,
    collections::{BTreeMap, btree_map::Entry},
    fmt,
    ops::Range,
    sync::Arc,
};

/// Masks the texts of one session.
pub struct Masker {
    detector: Arc<Detector>,
    key: [u8; 32],
}

/// A text with its secrets masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Masked<'a> {
    /// The text; borrowed if nothing was masked.
    pub text: Cow<'a, [u8]>,
    /// What was masked, in the order of the text.
    pub secrets: Vec<MaskedSecret>,
}

/// One secret that was masked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskedSecret {
    /// What stands in its place.
    pub placeholder: Placeholder,
    /// The name of its kind, or of the configured value.
    pub kind: Arc<str>,
    /// Where it stood in the text before.
    pub range: Range<usize>,
}

impl Masker {
    /// The key is made at random for a session: without it, a placeholder can't be tried against a guess.
    pub fn new(detector: Arc<Detector>, key: [u8; 32]) -> Self {
        Self { detector, key }
    }

    /// Masks a whole text.
    pub fn mask<'a>(&self, text: &'a [u8]) -> Masked<'a> {
        let found = self.detector.find(text);
        if found.is_empty() {
            return Masked { text: Cow::Borrowed(text), secrets: Vec::new() };
        }
        let mut masked = Vec::with_capacity(text.len());
        let secrets = self.write(&mut masked, text, 0..text.len(), found);
        Masked { text: Cow::Owned(masked), secrets }
    }

    /// What each placeholder stands for in a file with this content, for [`restore`](super::restore).
    ///
    /// Text that is written like a placeholder stands for itself. A placeholder that would stand for two values
    /// is left out, so that nothing is put back that may be wrong.
    pub fn originals(&self, content: &[u8]) -> BTreeMap<Placeholder, Vec<u8>> {
        let secrets = self.mask(content).secrets;
        let masked = secrets.into_iter().map(|secret| (secret.range, secret.placeholder));
        let mut originals: BTreeMap<Placeholder, Option<&[u8]>> = BTreeMap::new();
        for (range, placeholder) in masked.chain(placeholders(content)) {
            let value = content.get(range);
            match originals.entry(placeholder) {
                Entry::Vacant(free) => {
                    free.insert(value);
                }
                Entry::Occupied(mut taken) if *taken.get() != value => {
                    taken.insert(None);
                }
                Entry::Occupied(_) => {}
            }
        }
        originals
            .into_iter()
            .filter_map(|(placeholder, value)| Some((placeholder, value?.to_vec())))
            .collect()
    }

    pub(super) fn detector(&self) -> &Detector {
        &self.detector
    }

    /// Writes a part of a text with these secrets, which lie in it, masked.
    pub(super) fn write(
        &self,
        out: &mut Vec<u8>,
        text: &[u8],
        part: Range<usize>,
        found: Vec<Found>,
    ) -> Vec<MaskedSecret> {
        let mut at = part.start;
        let mut secrets = Vec::with_capacity(found.len());
        for Found { range, kind } in found {
            let placeholder = self.placeholder(&kind, text.get(range.clone()).unwrap_or_default());
            out.extend_from_slice(text.get(at..range.start).unwrap_or_default());
            out.extend_from_slice(placeholder.as_str().as_bytes());
            at = range.end;
            secrets.push(MaskedSecret { placeholder, kind, range });
        }
        out.extend_from_slice(text.get(at..part.end).unwrap_or_default());
        secrets
    }

    fn placeholder(&self, kind: &str, value: &[u8]) -> Placeholder {
        let mut hash = Sha256::new();
        hash.update(self.key);
        hash.update(value);
        Placeholder::new(kind, &hash.finalize())
    }
}

impl fmt::Debug for Masker {
    /// Without the key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Masker").field("detector", &self.detector).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::restore;
    use super::*;

    /// A token in form only, put together here so that no scanner takes this file for a leak.
    fn token() -> String {
        ["ghp", "_", "q8Zt3nV7cX1mK4wPx2Ld9sYtB6hR5jGfA0eU"].concat()
    }

    fn masker(key: u8) -> Masker {
        let known = [("db".to_owned(), b"hunter2 hunter2".to_vec())];
        Masker::new(Arc::new(Detector::new(known).unwrap()), [key; 32])
    }

    fn masked(text: &str) -> String {
        String::from_utf8(masker(1).mask(text.as_bytes()).text.into_owned()).unwrap()
    }

    #[test]
    fn a_secret_leaves_a_placeholder() {
        let text = masked(&format!("a {} b hunter2 hunter2.", token()));
        assert!(text.starts_with("a [secret:github-token:") && text.ends_with("]."), "{text}");
        assert!(text.contains("] b [secret:db:"), "{text}");
        assert!(matches!(masker(1).mask(b"plain").text, Cow::Borrowed(b"plain")));
    }

    #[test]
    fn a_placeholder_is_stable_in_its_session_only() {
        let text = token();
        let of = |key: u8| masker(key).mask(text.as_bytes()).secrets[0].placeholder.clone();
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    #[test]
    fn a_masked_text_is_not_masked_again() {
        let text =
            masked(&format!("password: \"hunter2 hunter2\"\nurl=https://me:k3ks@host/\ntoken={}\n", token()));
        assert_eq!(text.matches("[secret:").count(), 3, "{text}");
        assert_eq!(masked(&text), text);
    }

    #[test]
    fn a_file_gets_its_own_bytes_back() {
        let content = format!("key={}\nold=[secret:db:00000000]\n", token());
        let masker = masker(1);
        let shown = masker.mask(content.as_bytes()).text.into_owned();
        let edited = [b"# new line\n".as_slice(), &shown].concat();
        let restored = restore(&edited, &masker.originals(content.as_bytes())).unwrap();
        assert_eq!(restored, [b"# new line\n".as_slice(), content.as_bytes()].concat());
        assert!(restore(&edited, &masker.originals(b"another file")).is_err());
    }

    #[test]
    fn what_an_earlier_secret_leaves_of_a_later_one_is_masked_too() {
        let value = b"tail9x words go on".to_vec();
        let detector = Detector::new([("note".to_owned(), value)]).unwrap();
        let text = b"PASSWORD=Zq8!k3tail9x words go on";
        let ranges: Vec<Range<usize>> = detector.find(text).into_iter().map(|found| found.range).collect();
        assert_eq!(ranges, [9..21, 21..text.len()]);
    }
}
