//! Names of files as diffs write them: prefixed, quoted, followed by times.

use super::parse::Source;
use haft_core::Failure;

/// The prefixes that git puts before old and new names, with those of `diff.mnemonicPrefix`.
const PREFIXES: &[&str] = &["a/", "b/", "i/", "w/", "c/", "o/"];

/// A name from a `---` or `+++` line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Side {
    /// The name as it is written, unquoted.
    pub(super) name: String,
    /// Whether there is no file on this side: `/dev/null`, or the time that `diff -N` gives to none.
    pub(super) is_none: bool,
}

/// A name that can be a file's.
///
/// # Errors
/// Invalid input where it is empty, or leads to a folder.
pub(super) fn checked(source: &Source<'_>, at: usize, name: &str) -> Result<String, Failure> {
    let last = name.rsplit('/').next().unwrap_or_default();
    if matches!(last, "" | "." | "..") {
        return Err(source.wrong(at, "here must be the path of a file"));
    }
    Ok(name.to_owned())
}

/// Reads what stands after `--- ` or `+++ `. None where a quoted name is broken.
pub(super) fn side(written: &str) -> Option<Side> {
    let written = written.trim_end_matches('\r');
    let (name, time) = if written.starts_with('"') {
        let (name, rest) = unquote(written)?;
        (name, rest.trim_start())
    } else {
        let (name, time) = written.split_once('\t').unwrap_or((written, ""));
        (name.trim_end().to_owned(), time)
    };
    let is_none = name == "/dev/null" || is_epoch(time);
    Some(Side { name, is_none })
}

/// The name that both sides mean. None where they name two files.
pub(super) fn common(old: &Side, new: &Side) -> Option<String> {
    match (old.name == "/dev/null", new.name == "/dev/null") {
        (true, true) => return None,
        (true, false) => return Some(stripped(&new.name).to_owned()),
        (false, true) => return Some(stripped(&old.name).to_owned()),
        (false, false) => {}
    }
    let (old, new) = (old.name.as_str(), new.name.as_str());
    if old == new {
        return Some(new.to_owned());
    }
    // Two folders that hold the same tree, whatever they are called.
    if let (Some((_, one)), Some((_, other))) = (old.split_once('/'), new.split_once('/'))
        && one == other
    {
        return Some(one.to_owned());
    }
    let is_copy =
        |copy: &str| copy.strip_prefix(new).is_some_and(|end| matches!(end, ".orig" | ".old" | ".bak" | "~"));
    is_copy(old).then(|| new.to_owned())
}

/// The one name in what stands after `diff --git `, where both are the same.
pub(super) fn of_git(written: &str) -> Option<String> {
    let written = written.trim_end_matches('\r');
    if written.starts_with('"') {
        let (old, rest) = unquote(written)?;
        let rest = rest.strip_prefix(' ')?;
        let new = if rest.starts_with('"') { unquote(rest)?.0 } else { rest.to_owned() };
        return (stripped(&old) == stripped(&new)).then(|| stripped(&new).to_owned());
    }
    let mut gaps = written.match_indices(' ');
    gaps.find_map(|(at, _)| {
        let (old, new) = written.split_at_checked(at)?;
        let new = new.strip_prefix(' ')?;
        (stripped(old) == stripped(new)).then(|| stripped(new).to_owned())
    })
}

/// A name from a `rename` or `copy` line, which has no prefix.
pub(super) fn plain(written: &str) -> Option<String> {
    let written = written.trim_end_matches('\r');
    if written.starts_with('"') { unquote(written).map(|(name, _)| name) } else { Some(written.to_owned()) }
}

fn stripped(name: &str) -> &str {
    PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name)
}

/// A name in quotes as C has them, and what follows. None where it is broken, or no UTF-8.
fn unquote(written: &str) -> Option<(String, &str)> {
    let mut bytes = Vec::new();
    let body = written.strip_prefix('"')?;
    let mut chars = body.char_indices();
    while let Some((at, character)) = chars.next() {
        match character {
            '"' => {
                let rest = body.get(at + 1..)?;
                return Some((String::from_utf8(bytes).ok()?, rest));
            }
            '\\' => {
                let (_, escaped) = chars.next()?;
                bytes.push(match escaped {
                    'a' => 0x07,
                    'b' => 0x08,
                    't' => b'\t',
                    'n' => b'\n',
                    'v' => 0x0B,
                    'f' => 0x0C,
                    'r' => b'\r',
                    '"' | '\\' => u8::try_from(escaped).ok()?,
                    '0'..='3' => {
                        let digits = [escaped, chars.next()?.1, chars.next()?.1];
                        let digits: String = digits.iter().collect();
                        u8::from_str_radix(&digits, 8).ok()?
                    }
                    _ => return None,
                });
            }
            other => bytes.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    None
}

/// Whether a time is the first second of 1970, in whatever zone: `1970-01-01 01:00:00.000000000 +0100`.
fn is_epoch(time: &str) -> bool {
    let mut words = time.split_whitespace();
    let (Some(day), Some(clock), Some(zone)) = (words.next(), words.next(), words.next()) else {
        return false;
    };
    let day = match day {
        "1970-01-01" => 0,
        "1969-12-31" => -86_400,
        _ => return false,
    };
    let (whole, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    if !fraction.bytes().all(|digit| digit == b'0') {
        return false;
    }
    let parts: Option<Vec<i64>> =
        whole.split(':').map(|part| part.parse::<u8>().ok().map(i64::from)).collect();
    let Some([hours, minutes, seconds]) = parts.as_deref() else { return false };
    let Ok(zone) = zone.parse::<i16>().map(i64::from) else { return false };
    let offset = (zone / 100) * 3_600 + (zone % 100) * 60;
    day + hours * 3_600 + minutes * 60 + seconds == offset
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(old: &str, new: &str) -> Option<String> {
        common(&side(old).unwrap(), &side(new).unwrap())
    }

    #[test]
    fn prefixes_and_times_go() {
        for (old, new, name) in [
            ("a/src/x.rs", "b/src/x.rs", Some("src/x.rs")),
            ("x.rs\t2024-01-01 10:00:00.5 +0000", "x.rs\t2024-01-02 10:00:00.5 +0000", Some("x.rs")),
            ("old/x", "new/x", Some("x")),
            ("src/x", "src/x", Some("src/x")),
            ("x.orig", "x", Some("x")),
            ("/dev/null", "b/x y\t", Some("x y")),
            ("a/x", "/dev/null", Some("x")),
            ("i/x", "w/x", Some("x")),
            ("\"a/t\\303\\244b\\t.txt\"", "\"b/t\\303\\244b\\t.txt\"", Some("täb\t.txt")),
            ("x", "y", None),
        ] {
            assert_eq!(meant(old, new).as_deref(), name, "{old} {new}");
        }
        assert_eq!(side("\"broken"), None);
        assert_eq!(side("\"\\377\""), None);
    }

    #[test]
    fn a_git_line_names_one_file() {
        assert_eq!(of_git("a/x y b/x y").as_deref(), Some("x y"));
        assert_eq!(of_git("\"a/\\303\\244\" \"b/\\303\\244\"").as_deref(), Some("ä"));
        assert_eq!(of_git("x x").as_deref(), Some("x"));
        assert_eq!(of_git("a/x b/y"), None);
    }

    #[test]
    fn the_time_of_no_file_is_known_in_each_zone() {
        for (time, is_none) in [
            ("1970-01-01 00:00:00.000000000 +0000", true),
            ("1970-01-01 01:00:00.000000000 +0100", true),
            ("1969-12-31 19:00:00.000000000 -0500", true),
            ("1970-01-01 05:30:00.000000000 +0530", true),
            ("1970-01-01 00:00:01.000000000 +0000", false),
            ("2024-01-01 00:00:00.000000000 +0000", false),
            ("", false),
        ] {
            assert_eq!(is_epoch(time), is_none, "{time}");
        }
    }
}
