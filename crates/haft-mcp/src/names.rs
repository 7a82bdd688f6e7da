//! The names under which tools are listed: at most 40 characters of `[a-z0-9_]`, since clients put a prefix before them
//! and some take nothing else.
//!
//! Keeps "a tool's name depends on nothing but itself": it stays when other tools come and go.

use haft_core::Spec;
use serde_json::Value;
use std::borrow::Cow;

/// The longest name that is listed.
const NAME_MAX_CHARS: usize = 40;
/// How much of the hash tells changed names apart.
const HASH_CHARS: usize = 6;

/// The name under which a tool is listed. That of a tool of a server behind haft stays however long it is where it stands
/// in the catalogue as its server calls it: the user wants it without prefix.
pub(crate) fn of(spec: &Spec) -> Cow<'_, str> {
    let own = spec.foreign.as_ref().and_then(|own| own.get("name")).and_then(Value::as_str);
    if own == Some(spec.name.as_ref()) { Cow::Borrowed(spec.name.as_ref()) } else { listed(&spec.name) }
}

/// A name that fits. One that didn't ends in a hash of what it really is.
fn listed(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name.len() <= NAME_MAX_CHARS && name.chars().all(fits) {
        return Cow::Borrowed(name);
    }
    let hash = blake3::hash(name.as_bytes()).to_hex();
    let plain = name.chars().map(|c| {
        let c = c.to_ascii_lowercase();
        if fits(c) { c } else { '_' }
    });
    let mut short: String = plain.take(NAME_MAX_CHARS - HASH_CHARS - 1).collect();
    short.push('_');
    short.extend(hash.chars().take(HASH_CHARS));
    Cow::Owned(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_fits_stays() {
        let longest = "a".repeat(NAME_MAX_CHARS);
        for name in ["read", "mcp__time__now", "a1", longest.as_str()] {
            assert_eq!(listed(name), name);
        }
    }

    #[test]
    fn others_are_changed_each_in_its_own_way() {
        let long = format!("mcp__server__{}", "x".repeat(60));
        let names = ["word-count", "word.count", "Read", long.as_str(), "é"];
        let changed: Vec<String> = names.iter().map(|name| listed(name).into_owned()).collect();
        assert!(changed[0].starts_with("word_count_") && changed[2].starts_with("read_"), "{changed:?}");
        for (index, name) in changed.iter().enumerate() {
            assert!(name.len() <= NAME_MAX_CHARS, "{name}");
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'), "{name}");
            assert!(!changed[index + 1..].contains(name) && !names.contains(&name.as_str()), "{name}");
            assert_eq!(listed(name), name.as_str(), "a listed name stays");
        }
    }

    #[test]
    fn what_is_called_as_its_server_calls_it_stays_so() {
        let mut spec = Spec::new("Odd-Name", "is odd");
        assert_ne!(of(&spec), "Odd-Name");
        for (own, stays) in [("Odd-Name", true), ("Name", false)] {
            spec.foreign = Some(std::sync::Arc::new(serde_json::json!({"name": own})));
            assert_eq!(of(&spec) == "Odd-Name", stays, "{own}");
        }
    }
}
