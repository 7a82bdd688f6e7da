//! What stands in a text for a secret, and the way back.

use memchr::memmem;
use std::{collections::BTreeMap, fmt, ops::Range};

const OPENS: &[u8] = b"[secret:";
/// Of the hash, in hex.
const HASH_CHARS: usize = 8;
const KIND_MAX_BYTES: usize = 64;

/// `[secret:github-token:3f9a2c41]`: a kind, and a hash that is the same for the same value in one session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Placeholder(String);

impl Placeholder {
    /// `kind` is one that [`kind_of`] gave.
    pub(super) fn new(kind: &str, hash: &[u8]) -> Self {
        let hash: String = hash.iter().take(HASH_CHARS / 2).map(|byte| format!("{byte:02x}")).collect();
        Self(format!("[secret:{kind}:{hash}]"))
    }

    /// As it stands in a text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What it stands for: the name of a kind or of a configured value.
    pub fn kind(&self) -> &str {
        self.0.split(':').nth(1).unwrap_or_default()
    }
}

impl fmt::Display for Placeholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A placeholder that stands for nothing in the text it is to be put back into.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} stands for nothing in this file")]
pub struct UnknownPlaceholder(pub Placeholder);

/// A name as it may stand in a placeholder: letters, digits, `.`, `_` and `-`, at most 64.
pub(super) fn kind_of(name: &str) -> String {
    let fit = |letter: char| if letter.is_ascii() && is_kind_byte(letter) { letter } else { '-' };
    let kind: String = name.chars().take(KIND_MAX_BYTES).map(fit).collect();
    if kind.is_empty() { "value".to_owned() } else { kind }
}

fn is_kind_byte(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-')
}

/// The placeholders of a text and where they stand.
pub fn placeholders(text: &[u8]) -> impl Iterator<Item = (Range<usize>, Placeholder)> {
    let starts = memmem::find_iter(text, OPENS).collect::<Vec<usize>>();
    starts.into_iter().filter_map(move |start| {
        let placeholder = parse(text.get(start..)?)?;
        Some((start..start + placeholder.0.len(), placeholder))
    })
}

/// The placeholder that a text begins with.
fn parse(text: &[u8]) -> Option<Placeholder> {
    let rest = text.strip_prefix(OPENS)?;
    let kind = rest.iter().take_while(|byte| is_kind_byte(char::from(**byte))).count();
    let length = OPENS.len() + kind + 1 + HASH_CHARS + 1;
    let hash = rest.get(kind + 1..kind + 1 + HASH_CHARS)?;
    let is_hash = hash.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_whole = (1..=KIND_MAX_BYTES).contains(&kind) && is_hash && rest.get(kind) == Some(&b':');
    let whole = text.get(..length).filter(|whole| is_whole && whole.last() == Some(&b']'))?;
    std::str::from_utf8(whole).ok().map(|whole| Placeholder(whole.to_owned()))
}

/// Puts what they stand for in the place of all placeholders of a text.
///
/// The map must come from the very file, as it is now, that the text is to be written to:
/// [`Masker::originals`](super::Masker::originals) makes it.
///
/// # Errors
/// If a placeholder isn't in the map: it came from elsewhere, or its secret has changed since.
pub fn restore(
    text: &[u8],
    originals: &BTreeMap<Placeholder, Vec<u8>>,
) -> Result<Vec<u8>, UnknownPlaceholder> {
    let mut restored = Vec::with_capacity(text.len());
    let mut at = 0;
    for (range, placeholder) in placeholders(text) {
        let Some(original) = originals.get(&placeholder) else { return Err(UnknownPlaceholder(placeholder)) };
        restored.extend_from_slice(text.get(at..range.start).unwrap_or_default());
        restored.extend_from_slice(original);
        at = range.end;
    }
    restored.extend_from_slice(text.get(at..).unwrap_or_default());
    Ok(restored)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_told_from_what_only_looks_like_one() {
        let text = b"[secret:a-b:3f9a2c41] [secret::3f9a2c41] [secret:a:3f9a2c4] [secret:a:3F9A2C41] \
            [secret:[secret:A.b_9:00000000]";
        let found: Vec<String> = placeholders(text).map(|(_, found)| found.to_string()).collect();
        assert_eq!(found, ["[secret:a-b:3f9a2c41]", "[secret:A.b_9:00000000]"]);
        assert!(placeholders(text).all(|(range, found)| &text[range] == found.as_str().as_bytes()));
    }

    #[test]
    fn a_name_is_made_fit() {
        assert_eq!(kind_of("servers.git hub:tökén"), "servers.git-hub-t-k-n");
        assert_eq!(kind_of(""), "value");
        assert_eq!(kind_of(&"x".repeat(100)).len(), KIND_MAX_BYTES);
    }

    #[test]
    fn an_unknown_placeholder_is_refused() {
        let known = Placeholder::new("a", &[1, 2, 3, 4]);
        let originals = BTreeMap::from([(known.clone(), b"\xff!".to_vec())]);
        let text = format!("x={known};");
        assert_eq!(restore(text.as_bytes(), &originals), Ok(b"x=\xff!;".to_vec()));
        let other = Placeholder::new("a", &[1, 2, 3, 5]);
        let text = format!("x={known};y={other}");
        assert_eq!(restore(text.as_bytes(), &originals), Err(UnknownPlaceholder(other)));
    }
}
