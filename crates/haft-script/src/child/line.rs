//! The lines that the child says: each goes out whole, or not at all.

use crate::wire::LINE_MAX_BYTES;
use std::{
    borrow::Cow,
    io::{self, Write as _},
};

/// How many lists and objects may lie in one another: who reads the line takes few more.
const DEPTH_MAX: usize = 100;

/// Says one line of the script's; gives why not, and nothing where it did.
pub(super) fn offer(line: String) -> &'static str {
    if is_too_deep(&line) {
        "nested too deep: 100 lists and objects in one another are the most that leaves a script"
    } else if say(line) {
        ""
    } else {
        "too long: 16 MiB is the most that leaves a script at once"
    }
}

fn is_too_deep(line: &str) -> bool {
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    for byte in line.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            b'[' | b'{' if !is_text => {
                depth = depth.saturating_add(1);
                if depth > DEPTH_MAX {
                    return true;
                }
            }
            b']' | b'}' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// Says one line, where it isn't too long; whether it did. Waits while haft reads nothing; where haft is gone, the child
/// is too.
pub(super) fn say(line: String) -> bool {
    let mended = match mended(&line) {
        Cow::Owned(mended) => Some(mended),
        Cow::Borrowed(_) => None,
    };
    let mut line = mended.unwrap_or(line);
    if line.len() > LINE_MAX_BYTES {
        return false;
    }
    // With its end, so that it is one write, and wakes haft once.
    line.push('\n');
    let mut out = io::stdout().lock();
    let written = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    if written.is_err() {
        std::process::exit(0);
    }
    true
}

/// Halves of a character that stand alone, which JSON of the engine writes as escapes and no reader takes, become the
/// sign for a character that can't be shown.
fn mended(line: &str) -> Cow<'_, str> {
    if !line.contains("\\ud") {
        return Cow::Borrowed(line);
    }
    let mut mended = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('\\') {
        mended.push_str(rest.get(..at).unwrap_or_default());
        let escape = rest.get(at..).unwrap_or_default();
        let taken = match (half(escape), half(escape.get(6..).unwrap_or_default())) {
            (Some(Half::High), Some(Half::Low)) => 12,
            (Some(_), _) => {
                mended.push_str("\\ufffd");
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            // The backslash and what it escapes, one character of ASCII.
            (None, _) => 2,
        };
        mended.push_str(escape.get(..taken).unwrap_or(escape));
        rest = escape.get(taken..).unwrap_or_default();
    }
    mended.push_str(rest);
    Cow::Owned(mended)
}

enum Half {
    High,
    Low,
}

/// The half of a character that begins a text as an escape.
fn half(text: &str) -> Option<Half> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::High),
        0xdc00..=0xdfff => Some(Half::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_counts_outside_of_texts_only() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(!is_too_deep(&nested(DEPTH_MAX)) && is_too_deep(&nested(DEPTH_MAX + 1)));
        assert!(!is_too_deep(&"[{},[]],".repeat(1_000)));
        let text = serde_json::to_string(&format!("\\\"{}", nested(1_000))).unwrap();
        assert!(!is_too_deep(&text), "{text}");
        assert!(is_too_deep(&format!("[{text},{}]", nested(DEPTH_MAX))));
    }

    #[test]
    fn halves_that_stand_alone_are_mended_and_nothing_else() {
        for (line, expected) in [
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""a\ud800b""#, r#""a\ufffdb""#),
            (r#""\udc00\ud800""#, r#""\ufffd\ufffd""#),
            (r#""\ud800\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\\ud800""#, r#""\\ud800""#),
            (r#""\n\"\ud800""#, r#""\n\"\ufffd""#),
            ("plain", "plain"),
        ] {
            assert_eq!(mended(line), expected);
            assert!(
                !line.starts_with('"') || serde_json::from_str::<String>(&mended(line)).is_ok(),
                "{line}"
            );
        }
    }
}
