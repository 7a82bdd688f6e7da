//! Values that are assigned to names such as `DB_PASSWORD`, `apiKey` or `<token>`.

use super::{
    kinds::Check,
    value::{self, Quotes},
};
use regex::bytes::Regex;
use std::{ops::Range, sync::LazyLock};

/// A longer value is masked in its first so many bytes.
pub(super) const VALUE_MAX_BYTES: usize = 2 * 1024;
/// So many bytes before the word are looked at for a name that isn't a credential's.
const NAME_BEFORE_MAX_BYTES: usize = 16;

/// What stands between the word and the value: the rest of the name, quotes and brackets around it, a type, what
/// assigns, and the quote before the value.
static ASSIGNMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let name = r#"([A-Za-z0-9_.\-]{0,32})\\{0,3}["'`]?[\])]{0,2}[ \t]{0,16}(?:is[ \t]{1,4})?"#;
    let of_type = r":[ \t]{0,4}&?(?:'[a-z]{1,8} )?[A-Za-z]{2,12}\??[ \t]{0,4}=";
    let assigns = r"=>|:=|\?=|!=|={1,3}|:";
    let opens = r#"[ \t]{0,16}(?:[brfuL@]{0,2}(\\{0,3}["'`]))?"#;
    let lists = r#",[ \t]{0,16}(\\{0,3}["'`])"#;
    let pattern = format!("^{name}(?:(?:{of_type}|{assigns}){opens}|{lists}|>)");
    regex::bytes::RegexBuilder::new(&pattern).unicode(false).build().ok()
});

/// A name that goes on so isn't the name of a credential but says something of one.
pub(super) const OF_CREDENTIALS: &[&str] = &[
    "id",
    "ids",
    "name",
    "names",
    "type",
    "kind",
    "url",
    "uri",
    "path",
    "file",
    "filename",
    "dir",
    "count",
    "len",
    "length",
    "size",
    "limit",
    "limits",
    "ttl",
    "expiry",
    "expires",
    "expiration",
    "expiresin",
    "expiresat",
    "issuedat",
    "createdat",
    "updatedat",
    "version",
    "arn",
    "ref",
    "index",
    "hint",
    "field",
    "label",
    "prompt",
    "header",
    "param",
    "format",
    "scope",
    "scopes",
    "policy",
    "class",
    "endpoint",
    "issuer",
    "audience",
    "usage",
    "budget",
    "address",
    "algorithm",
    "alg",
    "method",
    "mode",
    "status",
    "state",
    "error",
    "message",
    "enabled",
    "required",
    "regex",
    "pattern",
    "rules",
    "digest",
    "checksum",
    "fingerprint",
    "image",
    "tag",
    "commit",
    "rev",
    "time",
    "date",
    "symbol",
    "contract",
    "mint",
    "or",
    "ority",
    "ors",
    "ored",
];
/// The same for a name that begins so.
const NOT_CREDENTIALS: &[&str] = &[
    "page",
    "next",
    "continuation",
    "continue",
    "public",
    "cursor",
    "sync",
    "cancel",
    "cancellation",
    "max",
    "min",
];

/// The range, within `text`, of the value assigned to the name that `text` goes on with after its word.
pub(super) fn value_after(before: &[u8], text: &[u8], check: Check) -> Option<Range<usize>> {
    let found = ASSIGNMENT.as_ref()?.captures(text)?;
    let suffix = found.get(1).map(|rest| rest.as_bytes()).unwrap_or_default();
    let quote = found.get(2).or_else(|| found.get(3)).and_then(|quote| quote.as_bytes().last().copied());
    let start = found.get(0)?.end();
    if suffix.ends_with(b"-") || is_other_name(before, suffix) {
        return None;
    }
    let rest = text.get(start..)?;
    let rest = rest.get(..VALUE_MAX_BYTES).unwrap_or(rest);
    let (value, next) = match quote {
        Some(quote) => (quoted(rest, quote)?, None),
        None => bare(rest),
    };
    if next.is_some_and(|next| matches!(next, b'(' | b'[' | b'{')) || is_placeholder_end(value, next) {
        return None;
    }
    let quotes = if quote.is_some() { Quotes::Around } else { Quotes::None };
    let is_secret = match check {
        Check::Password => value::is_password(value, quotes),
        _ => value::is_token(value),
    };
    is_secret.then(|| start..start + value.len())
}

/// Whether the whole name speaks of something other than a credential.
pub(super) fn is_other_name(before: &[u8], suffix: &[u8]) -> bool {
    let suffix = plain(suffix);
    let from = before.len().saturating_sub(NAME_BEFORE_MAX_BYTES);
    let before = plain(before.get(from..).unwrap_or_default());
    OF_CREDENTIALS.iter().any(|name| suffix.ends_with(name.as_bytes()))
        || NOT_CREDENTIALS.iter().any(|name| before.ends_with(name.as_bytes()))
}

/// The small letters of a name without what parts its words.
fn plain(name: &[u8]) -> Vec<u8> {
    name.iter().filter(|byte| !b"_-.".contains(byte)).map(u8::to_ascii_lowercase).collect()
}

/// Up to the quote; nothing where there is white space, for that is prose.
fn quoted(text: &[u8], quote: u8) -> Option<&[u8]> {
    let end = text.iter().position(|byte| *byte == quote || byte.is_ascii_whitespace()).unwrap_or(text.len());
    if text.get(end).is_some_and(u8::is_ascii_whitespace) {
        return None;
    }
    let value = text.get(..end)?;
    let kept = value.iter().rposition(|byte| *byte != b'\\').map_or(0, |last| last + 1);
    value.get(..kept)
}

/// Up to white space or what ends a word in code or in an address, and the byte there.
fn bare(text: &[u8]) -> (&[u8], Option<u8>) {
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`\\<>()[]{},;|".contains(byte);
    let mut end = text.iter().position(ends).unwrap_or(text.len());
    // In an address `&` parts values, and in a shell `&&` commands; in a password it may stand too.
    if let Some(and) = text.get(..end).and_then(|value| value.iter().position(|byte| *byte == b'&')) {
        let after = text.get(and + 1..end).unwrap_or_default();
        if after.contains(&b'=') || after.starts_with(b"&") {
            end = and;
        }
    }
    let value = text.get(..end).unwrap_or_default();
    let kept = value.iter().rposition(|byte| !b".:".contains(byte)).map_or(0, |last| last + 1);
    (value.get(..kept).unwrap_or_default(), text.get(end).copied())
}

/// Whether the value is the end of a placeholder, which reads like an assignment to `secret`.
fn is_placeholder_end(value: &[u8], next: Option<u8>) -> bool {
    let hash_at = value.iter().rposition(|byte| *byte == b':').map_or(0, |colon| colon + 1);
    let hash = value.get(hash_at..).unwrap_or_default();
    next == Some(b']') && hash.len() == 8 && hash.iter().all(u8::is_ascii_hexdigit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value that is found after the word, which stands between two `|`.
    fn found(text: &str, check: Check) -> Option<String> {
        let (before, rest) = text.split_once('|').unwrap();
        let (_, after) = rest.split_once('|').unwrap();
        let range = value_after(before.as_bytes(), after.as_bytes(), check)?;
        Some(after[range].to_owned())
    }

    #[test]
    fn values_are_found_however_they_are_assigned() {
        for text in [
            "|token|=q8Zt3nV7cX1mK4wP",
            "\"|token|\": \"q8Zt3nV7cX1mK4wP\"",
            "let |token|: &str = \"q8Zt3nV7cX1mK4wP\";",
            "|token| := `q8Zt3nV7cX1mK4wP`",
            "<|token|>q8Zt3nV7cX1mK4wP</token>",
            "?|token|=q8Zt3nV7cX1mK4wP&x=1",
            "setenv(\"|TOKEN|\", \"q8Zt3nV7cX1mK4wP\")",
            "{\\\"|token|\\\":\\\"q8Zt3nV7cX1mK4wP\\\"}",
            "config['|token|'] = b'q8Zt3nV7cX1mK4wP'",
            "|token|_PROD: q8Zt3nV7cX1mK4wP.",
        ] {
            assert_eq!(found(text, Check::Token).as_deref(), Some("q8Zt3nV7cX1mK4wP"), "{text}");
        }
    }

    #[test]
    fn what_is_no_value_is_left_alone() {
        for text in [
            "|token|Id=q8Zt3nV7cX1mK4wP",
            "nextPage|Token|: \"q8Zt3nV7cX1mK4wP\"",
            "|token| = make2(q8Zt3nV7)",
            "|token|->q8Zt3nV7cX1mK4wP",
            "|token|: String",
            "|token|s: 4096",
            "[|secret|:ab3cd4ef5gh6:3f9a2c41]",
            "|token| is q8Zt3nV7cX1mK4wP",
        ] {
            assert_eq!(found(text, Check::Token), None, "{text}");
        }
    }

    #[test]
    fn a_long_value_is_masked_in_its_beginning() {
        let text = "a1B2c3D4".repeat(1_000);
        let range = value_after(b"", format!("={text}").as_bytes(), Check::Token);
        assert_eq!(range, Some(1..1 + VALUE_MAX_BYTES));
    }
}
