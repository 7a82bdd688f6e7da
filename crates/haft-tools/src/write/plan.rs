//! What a write will do, found before it is done: for the question to a person and for the write itself.

use super::fit::fit;
use crate::{
    read::{COLUMNS_MAX, LINE_MAX_CHARS},
    text::{
        Coding, LineEnd, View, binary,
        diff::{self, Diff},
        grouped,
        names::{self, Alike},
        whole::{lines_of, read_whole},
    },
};
use haft_core::{Cancel, Failure, FailureKind, Files, PathArg, RealPath, Seen, WriteMode, content_hash};
use sha2::{Digest, Sha256};
use std::fmt;

/// One write, ready to happen.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The content that is replaced.
    pub(crate) before: Option<Vec<u8>>,
    /// The content to write.
    pub(crate) after: Vec<u8>,
    /// What a reader should know.
    pub(crate) notes: Vec<String>,
}

/// A text with placeholders turned back into the bytes of a file with this content.
type Unmask<'a> = &'a dyn Fn(&str, &[u8]) -> Result<String, Failure>;

/// What is to be written where, and what the session saw there.
pub(crate) struct Wanted<'a> {
    pub(crate) at: &'a RealPath,
    /// The path as it was written.
    pub(crate) written: &'a PathArg,
    /// The path as it is written for readers.
    pub(crate) name: &'a str,
    pub(crate) content: &'a str,
    pub(crate) seen: Option<&'a Seen>,
    /// Turns placeholders of masked secrets back.
    pub(crate) unmask: Unmask<'a>,
    /// Tells what somebody else changed since.
    pub(crate) foreign: &'a dyn Fn(&Seen, &[u8]) -> String,
}

impl Plan {
    /// Reads what is there and decides.
    ///
    /// # Errors
    /// A conflict where content would be lost that the session hasn't seen; invalid input where the file's
    /// encoding can't hold the text.
    pub(crate) fn of(files: &dyn Files, wanted: &Wanted<'_>, cancel: &Cancel) -> Result<Self, Failure> {
        let before = match read_whole(files, wanted.at, cancel) {
            Ok(bytes) => bytes,
            Err(failure) if failure.kind == FailureKind::NotFound => {
                let after = wanted.content.as_bytes().to_vec();
                let alike = names::alike(files, wanted.written, wanted.at);
                let notes = alike.iter().map(Alike::beside).collect();
                return Ok(Self { before: None, after, notes });
            }
            Err(failure) => return Err(failure),
        };
        let content = &*(wanted.unmask)(wanted.content, &before)?;
        let wanted = &Wanted { content, ..*wanted };
        let name = wanted.name;
        let coding = binary::wide(before.get(..binary::HEAD_BYTES).unwrap_or(&before));
        if let Some(coding) = coding.filter(|_| before != wanted.content.as_bytes()) {
            return Err(Failure::conflict(format!(
                "{name} is {coding}, which can't be kept, so it won't be overwritten. Write to another path, or \
                 convert it to UTF-8 first, for example with iconv."
            )));
        }
        if binary::is_binary(&before) && before != wanted.content.as_bytes() {
            return Err(Failure::conflict(format!(
                "{name} is binary ({}), so its content can't be shown and won't be overwritten. Write to \
                 another path, or move the file away first.",
                binary::kind(&before)
            )));
        }
        let fitted = fit(&before, wanted.content).map_err(|error| {
            Failure::invalid(format!(
                "{name} wasn't changed: {error}. Use characters of that encoding, or convert the file to \
                 UTF-8 first, for example with iconv."
            ))
        })?;
        let plan = Self { before: Some(before), after: fitted.bytes, notes: fitted.notes };
        plan.check_seen(wanted)?;
        Ok(plan)
    }

    /// Whether there is anything to do.
    pub(crate) fn is_change(&self) -> bool {
        self.before.as_ref() != Some(&self.after)
    }

    /// What must hold when the file is written.
    pub(crate) fn mode(&self) -> WriteMode {
        match &self.before {
            None => WriteMode::New,
            Some(before) => WriteMode::Over { before: content_hash(before) },
        }
    }

    /// Stands for exactly this change.
    pub(crate) fn digest(&self) -> Vec<u8> {
        let mut hasher = Sha256::new();
        match &self.before {
            None => hasher.update([0_u8]),
            Some(before) => {
                hasher.update([1_u8]);
                hasher.update(Sha256::digest(before));
            }
        }
        hasher.update(&self.after);
        hasher.finalize().to_vec()
    }

    /// The change for people.
    pub(crate) fn diff(&self, path: &str) -> Diff {
        let before = self.before.as_deref().unwrap_or_default();
        diff::of_files(path, before, &self.after)
    }

    /// The number of lines written.
    pub(crate) fn lines(&self) -> u64 {
        lines_of(&self.after)
    }

    fn check_seen(&self, wanted: &Wanted<'_>) -> Result<(), Failure> {
        let before = self.before.as_deref().unwrap_or_default();
        if before.is_empty() || !self.is_change() {
            return Ok(());
        }
        let name = wanted.name;
        let Some(seen) = wanted.seen else {
            return Err(Failure::conflict(format!(
                "{name} exists and hasn't been read, so nothing was written. Read it, then write it \
                 again; or change a part of it with edit."
            )));
        };
        if *seen.hash != *content_hash(before) {
            return Err(Failure::conflict(format!(
                "{name} has other content now than when it was last read or written, so nothing was written. \
                 Read it again and put what changed into the new content.{}",
                (wanted.foreign)(seen, before)
            )));
        }
        if !seen.is_whole() {
            let unseen = Unseen::of(seen, before);
            return Err(Failure::conflict(format!(
                "Only a part of {name} has been read, so nothing was written. {unseen}; or change a part of \
                 it with edit."
            )));
        }
        Ok(())
    }
}

/// The first line that wasn't shown.
fn first_unseen(seen: &Seen) -> u64 {
    let mut next = 1;
    for (first, last) in &seen.lines {
        if *first > next {
            break;
        }
        next = next.max(last.saturating_add(1));
    }
    next
}

/// What has still to be read of a file.
struct Unseen {
    /// The first line that wasn't shown whole.
    line: u64,
    /// How many characters it has.
    chars: usize,
    /// How many lines there are.
    total: u64,
}

impl Unseen {
    fn of(seen: &Seen, content: &[u8]) -> Self {
        let line = first_unseen(seen);
        let view = View::of(content, Coding::of(content));
        let before = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
        let end = LineEnd::of(view.text()).byte();
        let text = view.text().split(|byte| *byte == end).nth(before).unwrap_or_default();
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        Self { line, chars: View::shown(text).chars().count(), total: seen.total }
    }
}

impl fmt::Display for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, chars, total } = self;
        if *chars <= LINE_MAX_CHARS {
            write!(f, "Read the rest of its {total} lines, first with offset={line}")
        } else if *chars <= COLUMNS_MAX {
            write!(
                f,
                "Line {line} was shown only in part, if at all: read it with offset={line}, limit=1 and \
                 columns=\"1-{COLUMNS_MAX}\""
            )
        } else {
            write!(
                f,
                "Line {line} has {} characters, too many to be shown at once: write the file with a \
                 command through bash",
                grouped(u64::try_from(*chars).unwrap_or(u64::MAX))
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(seen: Option<&Seen>, before: &str, content: &str) -> Result<(), String> {
        let plan = Plan { before: Some(before.into()), after: content.into(), notes: Vec::new() };
        let (at, written) = (RealPath::new("/w", "a"), PathArg::from("a"));
        let foreign = |_: &Seen, _: &[u8]| " What changed".to_owned();
        let wanted = Wanted {
            at: &at,
            written: &written,
            name: "a",
            content,
            seen,
            unmask: &|text, _| Ok(text.to_owned()),
            foreign: &foreign,
        };
        plan.check_seen(&wanted).map_err(|failure| failure.text)
    }

    #[test]
    fn only_what_was_seen_whole_is_overwritten() {
        let hash = content_hash(b"1\n2\n3\n");
        let part = Seen { hash: hash.clone(), lines: vec![(1, 1), (3, 3)], total: 3 };
        assert!(check(None, "1\n2\n3\n", "x").unwrap_err().contains("hasn't been read"));
        let stale = check(Some(&Seen::whole("other", 3)), "1\n2\n3\n", "x").unwrap_err();
        assert!(stale.contains("Read it again") && stale.ends_with(" What changed"), "{stale}");
        assert!(check(Some(&part), "1\n2\n3\n", "x").unwrap_err().contains("offset=2"));
        for (length, advice) in [(2_001, "columns=\"1-10000\""), (10_001, "10,001 characters")] {
            let long = format!("1\n{}\n", "x".repeat(length));
            let part = Seen { hash: content_hash(long.as_bytes()), lines: vec![(1, 1)], total: 2 };
            let refused = check(Some(&part), &long, "x").unwrap_err();
            assert!(refused.contains("Line 2") && refused.contains(advice), "{refused}");
        }
        assert!(check(Some(&Seen::whole(&hash, 3)), "1\n2\n3\n", "x").is_ok());
        assert!(check(None, "same", "same").is_ok());
        assert!(check(None, "", "x").is_ok());
    }

    #[test]
    fn a_digest_stands_for_content_before_and_after() {
        let plan = |before: Option<&str>, after: &str| {
            Plan { before: before.map(Into::into), after: after.into(), notes: Vec::new() }.digest()
        };
        assert_eq!(plan(Some("a"), "b"), plan(Some("a"), "b"));
        assert_ne!(plan(Some("a"), "b"), plan(Some("c"), "b"));
        assert_ne!(plan(Some("a"), "b"), plan(Some("a"), "c"));
        assert_ne!(plan(None, "b"), plan(Some(""), "b"));
    }
}
