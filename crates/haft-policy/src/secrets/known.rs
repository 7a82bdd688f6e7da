//! The exact values a configuration holds, in the forms they are written in.

use aho_corasick::{AhoCorasick, BuildError};
use base64::{Engine, engine::general_purpose};
use std::{fmt::Write, ops::Range, sync::Arc};

/// A shorter value is left alone: it would be found in the middle of words.
const VALUE_MIN_BYTES: usize = 6;
/// A shorter piece of base64 says too little.
const ENCODED_MIN_BYTES: usize = 8;

/// Finds exact values.
pub(super) struct Known {
    search: Option<AhoCorasick>,
    /// Of each pattern of `search`, the name of its value.
    names: Vec<Arc<str>>,
    longest: usize,
    spans_lines: bool,
}

impl Known {
    pub(super) fn new(values: impl IntoIterator<Item = (String, Vec<u8>)>) -> Result<Self, BuildError> {
        let (mut names, mut patterns) = (Vec::new(), Vec::new());
        for (name, value) in values {
            if value.len() < VALUE_MIN_BYTES {
                continue;
            }
            let name: Arc<str> = super::placeholder::kind_of(&name).into();
            for form in forms(&value) {
                names.push(Arc::clone(&name));
                patterns.push(form);
            }
        }
        let longest = patterns.iter().map(Vec::len).max().unwrap_or_default();
        let spans_lines = patterns.iter().any(|pattern| pattern.contains(&b'\n'));
        let search = if patterns.is_empty() { None } else { Some(AhoCorasick::new(&patterns)?) };
        Ok(Self { search, names, longest, spans_lines })
    }

    /// Where a value begins that is in the text as a whole, each with its name.
    pub(super) fn find(&self, text: &[u8]) -> impl Iterator<Item = (Range<usize>, Arc<str>)> {
        let hits = self.search.as_ref().map(|search| search.find_overlapping_iter(text));
        hits.into_iter().flatten().filter_map(|hit| {
            let name = self.names.get(hit.pattern().as_usize())?;
            Some((hit.start()..hit.end(), Arc::clone(name)))
        })
    }

    /// Up to where each value that begins there is whole, if more may follow. Lines end at `line`.
    pub(super) fn whole_until(&self, text: &[u8], line: usize) -> usize {
        if self.search.is_none() {
            return text.len();
        }
        let sure = (text.len() + 1).saturating_sub(self.longest);
        if self.spans_lines { sure } else { sure.max(line) }
    }
}

/// The value itself, and as it stands in base64, in an address and in JSON.
fn forms(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![value.to_vec(), general_purpose::STANDARD.encode(value).into_bytes()];
    for before in 0..3 {
        forms.extend(encoded(&general_purpose::STANDARD_NO_PAD, before, value));
        forms.extend(encoded(&general_purpose::URL_SAFE_NO_PAD, before, value));
    }
    forms.push(percent(value, Hex::Capital));
    forms.push(percent(value, Hex::Small));
    if let Some(escaped) = std::str::from_utf8(value).ok().and_then(|text| serde_json::to_string(text).ok()) {
        let inner = escaped.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or_default();
        forms.push(inner.as_bytes().to_vec());
        forms.push(inner.replace('/', "\\/").into_bytes());
    }
    forms.retain(|form| form.len() >= VALUE_MIN_BYTES);
    forms.sort();
    forms.dedup();
    forms
}

/// What of base64 depends on the value alone if so many bytes stand before it, modulo three.
///
/// Base64 writes three bytes in four characters, so that a value within a longer text, such as
/// `user:password`, has one of three forms.
fn encoded(engine: &general_purpose::GeneralPurpose, before: usize, value: &[u8]) -> Option<Vec<u8>> {
    let mut text = vec![0; before];
    text.extend_from_slice(value);
    let encoded = engine.encode(&text).into_bytes();
    // A character holds six bits: those that hold none of what stands before or after are kept.
    let start = (before * 8).div_ceil(6);
    let end = text.len() * 8 / 6;
    encoded.get(start..end).filter(|kept| kept.len() >= ENCODED_MIN_BYTES).map(<[u8]>::to_vec)
}

/// How the digits of `%3f` are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hex {
    Capital,
    Small,
}

fn percent(value: &[u8], hex: Hex) -> Vec<u8> {
    let mut text = String::with_capacity(value.len());
    for byte in value {
        // Writing to a string doesn't fail.
        let _ = match (*byte, hex) {
            (byte, _) if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) => {
                text.write_char(char::from(byte))
            }
            (byte, Hex::Capital) => write!(text, "%{byte:02X}"),
            (byte, Hex::Small) => write!(text, "%{byte:02x}"),
        };
    }
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> bool {
        let known = Known::new([("db".to_owned(), b"p/s\"w\xc3\xb6rd 9".to_vec())]).unwrap();
        known.find(text.as_bytes()).next().is_some()
    }

    #[test]
    fn a_value_is_found_in_each_of_its_forms() {
        for text in ["x p/s\"wörd 9", "{\"a\":\"p/s\\\"wörd 9\"}", "p\\/s\\\"wörd 9", "p%2Fs%22w%C3%B6rd%209"]
        {
            assert!(found(text), "{text}");
        }
        assert!(!found("p/s\"wörd 8"));
    }

    #[test]
    fn a_value_is_found_within_longer_base64() {
        for before in ["", "a", "me:", "user:"] {
            for after in ["", "!", "\n", "xyz"] {
                let encoded = general_purpose::STANDARD.encode(format!("{before}p/s\"wörd 9{after}"));
                assert!(found(&encoded), "{before} {after}");
            }
        }
    }

    #[test]
    fn short_values_are_left_alone() {
        let known = Known::new([("pin".to_owned(), b"12345".to_vec())]).unwrap();
        assert_eq!(known.find(b"12345").count(), 0);
        assert_eq!(known.whole_until(b"1234", 0), 4);
    }
}
