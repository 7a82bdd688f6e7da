//! The exact values a configuration holds, in the forms they are written in.

use aho_corasick::{AhoCorasick, BuildError};
use base64::{Engine, engine::general_purpose};
use std::{ops::Range, sync::Arc};

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

/// The value itself, and as it stands in base64, in hex, in an address or a form, in JSON, in HTML and in a shell's
/// quotes.
fn forms(value: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![value.to_vec(), general_purpose::STANDARD.encode(value).into_bytes()];
    for before in 0..3 {
        forms.extend(encoded(&general_purpose::STANDARD_NO_PAD, before, value));
        forms.extend(encoded(&general_purpose::URL_SAFE_NO_PAD, before, value));
    }
    for hex in [Hex::Capital, Hex::Small] {
        forms.push(value.iter().map(|byte| hex.pair(*byte)).collect::<String>().into_bytes());
        for (plain, blank) in ADDRESSES.iter().flat_map(|plain| ["%20", "+"].map(|blank| (*plain, blank))) {
            forms.push(percent(value, hex, (plain, blank)));
        }
    }
    if let Ok(text) = std::str::from_utf8(value) {
        forms.extend(json_forms(text).into_iter().map(String::into_bytes));
        forms.push(text.replace('\'', "'\\''").into_bytes());
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        forms.push(escaped.replace('"', "&quot;").into_bytes());
        forms.push(escaped.replace('"', "&#34;").replace('\'', "&#39;").into_bytes());
        forms.push(escaped.replace('"', "&quot;").replace('\'', "&#39;").into_bytes());
        forms.push(escaped.replace('"', "&quot;").replace('\'', "&#x27;").into_bytes());
        forms.push(escaped.replace('"', "&quot;").replace('\'', "&apos;").into_bytes());
        forms.push(escaped.into_bytes());
    }
    forms.retain(|form| form.len() >= VALUE_MIN_BYTES);
    forms.sort();
    forms.dedup();
    forms
}

/// What encoders of addresses leave as it is beside letters and digits: RFC 3986, JavaScript's two, forms in
/// browsers, Python's default.
const ADDRESSES: [&str; 5] = ["-_.~", "-_.~!'()*", "-_.~!'()*;/?:@&=+$,#", "-_.*", "-_.~/"];
/// What encoders of JSON write as `\uXXXX` beside control characters: nothing, what HTML would read (Go), more of it
/// (Gson, PHP).
const GUARDED: [&str; 3] = ["", "<>&", "<>&='\""];
/// Backspace and form feed have short forms of their own, which some (Go, for long) don't write.
const LONG: [&str; 2] = ["", "\u{8}\u{c}"];
/// What they write so from DEL on: nothing, the control characters there, all that isn't ASCII, that and DEL (Python).
const BEYOND: [fn(char) -> bool; 4] = [
    |_| false,
    |letter| letter >= '\u{7f}' && letter.is_control(),
    |letter| !letter.is_ascii(),
    |letter| letter >= '\u{7f}',
];

/// As a JSON text holds it, without the quotes around; twice where JSON stands in JSON.
fn json_forms(text: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for hex in [Hex::Capital, Hex::Small] {
        for (guarded, long) in GUARDED.iter().flat_map(|guarded| LONG.map(|long| (*guarded, long))) {
            for beyond in BEYOND {
                let is_coded =
                    |letter: char| guarded.contains(letter) || long.contains(letter) || beyond(letter);
                forms.push(json(text, hex, is_coded));
            }
        }
        forms.push(json(text, hex, |_| true));
    }
    // Most texts have but a few.
    forms.sort();
    forms.dedup();
    let slashed: Vec<String> = forms.iter().map(|form| form.replace('/', "\\/")).collect();
    forms.extend(slashed);
    let twice: Vec<String> =
        forms.iter().map(|form| form.replace('\\', "\\\\").replace('"', "\\\"")).collect();
    forms.extend(twice);
    forms
}

/// JSON with the letters that `is_coded` names by their numbers.
fn json(text: &str, hex: Hex, is_coded: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        let short = match letter {
            '\n' => Some("\\n"),
            '\r' => Some("\\r"),
            '\t' => Some("\\t"),
            '\u{8}' => Some("\\b"),
            '\u{c}' => Some("\\f"),
            '"' => Some("\\\""),
            '\\' => Some("\\\\"),
            _ => None,
        };
        match short {
            Some(short) if !is_coded(letter) => out.push_str(short),
            None if letter >= ' ' && !is_coded(letter) => out.push(letter),
            _ => {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    let [high, low] = unit.to_be_bytes();
                    out.push_str("\\u");
                    out.push_str(&hex.pair(high));
                    out.push_str(&hex.pair(low));
                }
            }
        }
    }
    out
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

impl Hex {
    fn pair(self, byte: u8) -> String {
        match self {
            Self::Capital => format!("{byte:02X}"),
            Self::Small => format!("{byte:02x}"),
        }
    }
}

/// As an address holds it: what of it stays beside letters and digits, and what stands for a blank, are given.
fn percent(value: &[u8], hex: Hex, (plain, blank): (&str, &str)) -> Vec<u8> {
    let mut text = String::with_capacity(value.len());
    for byte in value {
        match *byte {
            b' ' => text.push_str(blank),
            byte if byte.is_ascii_alphanumeric() || plain.as_bytes().contains(&byte) => {
                text.push(char::from(byte));
            }
            byte => {
                text.push('%');
                text.push_str(&hex.pair(byte));
            }
        }
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
    fn encoders_of_addresses_and_of_json_differ_in_what_they_encode() {
        let known =
            Known::new([("db".to_owned(), "p s/<w\u{f6}rd>&'9\u{1f511}".as_bytes().to_vec())]).unwrap();
        for text in [
            // Addresses: RFC 3986, a form, JavaScript's encodeURIComponent, Python's quote.
            "p%20s%2F%3Cw%C3%B6rd%3E%26%279%F0%9F%94%91",
            "p+s%2f%3cw%c3%b6rd%3e%26%279%f0%9f%94%91",
            "p%20s%2F%3Cw%C3%B6rd%3E%26'9%F0%9F%94%91",
            "p%20s/%3Cw%C3%B6rd%3E%26%279%F0%9F%94%91",
            // JSON: ASCII alone, Go's, PHP's, all by number, JSON in JSON.
            r"p s/<w\u00f6rd>&'9\ud83d\udd11",
            r"p s/\u003cwörd\u003e\u0026'9🔑",
            r"p s\/<w\u00f6rd>&'9\ud83d\udd11",
            r"\u0070\u0020\u0073\u002F\u003C\u0077\u00F6\u0072\u0064\u003E\u0026\u0027\u0039\uD83D\uDD11",
            r"p s/<w\\u00f6rd>&'9\\ud83d\\udd11",
            // HTML, hex, a shell's quotes.
            "p s/&lt;wörd&gt;&amp;&#39;9🔑",
            "7020732f3c77c3b672643e262739f09f9491",
            r"p s/<wörd>&'\''9🔑",
        ] {
            assert!(known.find(text.as_bytes()).next().is_some(), "{text}");
        }
        assert!(known.find(b"p%20s%2F%3Cw").next().is_none());
    }

    #[test]
    fn control_characters_are_found_however_json_writes_them() {
        let known =
            Known::new([("db".to_owned(), "p\n\u{8}\u{c}\u{7f}\u{85}w9".as_bytes().to_vec())]).unwrap();
        for text in [
            "p\\n\\b\\f\u{7f}\u{85}w9",
            "p\\n\\u0008\\u000c\u{7f}\u{85}w9",
            "p\\n\\b\\f\u{7f}\\u0085w9",
            "p\\n\\b\\f\\u007f\\u0085w9",
            "p\\n\\u0008\\u000C\\u007F\\u0085w9",
            "p\\\\n\\\\b\\\\f\u{7f}\u{85}w9",
        ] {
            assert!(known.find(text.as_bytes()).next().is_some(), "{text:?}");
        }
        assert!(known.find("p\\n\\b\u{7f}\u{85}w9".as_bytes()).next().is_none());
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
