//! Several replacements as one change of a file's bytes.

use super::{
    input::Replacement,
    matching::{Kind, Wanted, find},
    refusal::Refused,
};
use crate::text::{Coding, LineEnd, View, ends::with_feeds, splice::splice};
use haft_core::{Failure, Seen};
use sha2::{Digest, Sha256};
use std::ops::Range;

/// So many bytes of a change's own line, on each side, belong to what was agreed to.
const CONTEXT_BYTES: usize = 256;

/// One replacement in a file's bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Change {
    /// The bytes that are replaced.
    pub(crate) span: Range<usize>,
    /// The bytes put there.
    pub(crate) new: Vec<u8>,
    /// How the place was found.
    pub(crate) kind: Kind,
    /// The first and the last line of the span, from 1.
    pub(crate) lines: (u64, u64),
    /// How many lines are gained, negative where lines are lost.
    pub(crate) gained: i64,
}

/// Finds the place of every replacement in the same bytes.
///
/// # Errors
/// Where one has no place, two overlap, or the file's encoding can't hold new text; nothing is to be
/// changed then.
pub(crate) fn plan(path: &str, before: &[u8], edits: &[Replacement]) -> Result<Vec<Change>, Failure> {
    let coding = Coding::of(before);
    let view = View::of(before, coding);
    let text = view.text();
    let end = LineEnd::of(text);
    let feeds = with_feeds(text);
    let mut found = Vec::new();
    for (index, edit) in edits.iter().enumerate() {
        let number = (edits.len() > 1).then_some(index + 1);
        let wanted = Wanted { old: &edit.old, new: &edit.new, all: edit.all };
        let hits = find(text, &wanted).map_err(|miss| {
            let from_other = edits.iter().any(|other| other != edit && other.new.contains(&edit.old));
            let text = feeds.as_deref().unwrap_or(text);
            Refused { path, text, old: &edit.old, number, from_other }.explain(&miss)
        })?;
        found.extend(hits.into_iter().map(|hit| (index + 1, hit)));
    }
    found.sort_by_key(|(_, hit)| hit.span.start);

    let mut changes = Vec::with_capacity(found.len());
    let mut previous: Option<(usize, usize)> = None;
    let (mut at, mut line) = (0, 1);
    for (number, hit) in found {
        line += line_ends(end, text, &(at..hit.span.start));
        at = hit.span.start;
        if let Some((other, end)) = previous
            && hit.span.start < end
        {
            return Err(Failure::conflict(format!(
                "Edits {other} and {number} overlap at line {line} of {path}. Join them into one edit. \
                 Nothing was changed."
            )));
        }
        previous = Some((number, hit.span.end));
        let new = coding.encode(&hit.new).map_err(|error| {
            Failure::invalid(format!(
                "{path} wasn't changed: {error}. Use characters of that encoding, or convert the file \
                 to UTF-8 first, for example with iconv."
            ))
        })?;
        let inner = line_ends(end, text, &(hit.span.start..hit.span.end.saturating_sub(1)));
        let lost = line_ends(end, text, &hit.span);
        let fresh = line_ends(end, hit.new.as_bytes(), &(0..hit.new.len()));
        changes.push(Change {
            span: view.span(&hit.span),
            new,
            kind: hit.kind,
            lines: (line, line + inner),
            gained: i64::try_from(fresh).unwrap_or(i64::MAX) - i64::try_from(lost).unwrap_or(i64::MAX),
        });
    }
    Ok(changes)
}

/// The bytes after the changes, which are in order and apart from each other.
pub(crate) fn apply(before: &[u8], changes: &[Change]) -> Vec<u8> {
    splice(before, changes.iter().map(|change| (&change.span, change.new.as_slice())))
}

/// Stands for the spans' old and new bytes and what is left and right of them on their lines, and for nothing
/// else: a change elsewhere in the file keeps it.
pub(crate) fn digest(before: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut hasher = Sha256::new();
    let mut take = |part: &[u8]| {
        hasher.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_le_bytes());
        hasher.update(part);
    };
    let end = LineEnd::of(before).byte();
    for change in changes {
        let left = before.get(..change.span.start).unwrap_or_default();
        let left = left.get(memchr::memrchr(end, left).map_or(0, |at| at + 1)..).unwrap_or_default();
        // A span that takes its line end with it has nothing right of it on its line.
        let ends_line = before.get(change.span.clone()).is_some_and(|span| span.ends_with(b"\n"));
        let right = if ends_line { &[] } else { before.get(change.span.end..).unwrap_or_default() };
        let right = right.get(..memchr::memchr(end, right).unwrap_or(right.len())).unwrap_or_default();
        take(left.get(left.len().saturating_sub(CONTEXT_BYTES)..).unwrap_or_default());
        take(before.get(change.span.clone()).unwrap_or_default());
        take(right.get(..CONTEXT_BYTES).unwrap_or(right));
        take(&change.new);
    }
    hasher.finalize().to_vec()
}

/// What the model has seen of the new content, where it had seen the old one.
pub(crate) fn carry(seen: &Seen, changes: &[Change], hash: &str, total: u64) -> Seen {
    if seen.is_whole() {
        return Seen::whole(hash, total);
    }
    let moved = |line: u64, counts: &dyn Fn(&Change) -> bool| {
        let gained: i64 = changes.iter().filter(|change| counts(change)).map(|change| change.gained).sum();
        line.saturating_add_signed(gained).clamp(1, total.max(1))
    };
    let lines = seen.lines.iter().map(|(first, last)| {
        let start = moved(*first, &|change: &Change| change.lines.1 < *first);
        let end = moved(*last, &|change: &Change| change.lines.0 <= *last);
        (start, end.max(start))
    });
    Seen { hash: hash.into(), lines: lines.collect(), total }
}

fn line_ends(end: LineEnd, text: &[u8], span: &Range<usize>) -> u64 {
    let count = memchr::memchr_iter(end.byte(), text.get(span.clone()).unwrap_or_default()).count();
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(pairs: &[(&str, &str)]) -> Vec<Replacement> {
        pairs
            .iter()
            .map(|(old, new)| Replacement { old: (*old).into(), new: (*new).into(), all: false })
            .collect()
    }

    fn edited(before: &[u8], pairs: &[(&str, &str)]) -> Result<Vec<u8>, String> {
        let changes = plan("f", before, &edits(pairs)).map_err(|failure| failure.text)?;
        Ok(apply(before, &changes))
    }

    #[test]
    fn all_edits_are_matched_against_the_same_bytes() {
        assert_eq!(edited(b"a b c", &[("c", "a"), ("a", "b")]).unwrap(), b"b b a");
        assert!(edited(b"a b", &[("a", "x"), ("x", "y")]).unwrap_err().contains("as it is now"));
        let error = edited(b"abc\n", &[("ab", "x"), ("bc", "y")]).unwrap_err();
        assert!(error.starts_with("Edits 1 and 2 overlap at line 1 of f"), "{error}");
        assert!(edited(b"a b", &[("a", "x"), ("zzz", "y")]).unwrap_err().starts_with("Edit 2: "));
    }

    #[test]
    fn encodings_are_kept_and_what_they_cannot_hold_is_refused() {
        assert_eq!(
            edited(b"x = 1\nprice \xa2 40\n", &[("x = 1", "x = 2")]).unwrap(),
            b"x = 2\nprice \xa2 40\n"
        );
        let error = edited(b"x = 1\nprice \xa2 40\n", &[("x = 1", "\u{2603}")]).unwrap_err();
        assert!(error.contains("can't hold \u{2603} (U+2603)"), "{error}");
        let wide = |text: &str| -> Vec<u8> {
            [0xFF, 0xFE].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect()
        };
        assert_eq!(edited(&wide("a\r\nb\r\n"), &[("a\nb", "é\nc")]).unwrap(), wide("é\r\nc\r\n"));
        assert_eq!(edited(b"\xEF\xBB\xBFa", &[("a", "b")]).unwrap(), b"\xEF\xBB\xBFb");
    }

    #[test]
    fn a_digest_stands_for_the_change_and_its_line_only() {
        let digest_of = |before: &[u8]| digest(before, &plan("f", before, &edits(&[("b", "c")])).unwrap());
        let agreed = digest_of(b"1\na b a\n2\n");
        assert_eq!(agreed, digest_of(b"other\nlines\na b a\n3\n"));
        assert_ne!(agreed, digest_of(b"1\na b x\n2\n"));
        let of_line = |before: &[u8]| digest(before, &plan("f", before, &edits(&[("b\n", "c\n")])).unwrap());
        assert_eq!(of_line(b"a\nb\nd\n"), of_line(b"A\nb\nD\n"));
    }

    #[test]
    fn what_was_seen_moves_with_the_lines() {
        let before = b"1\n2\n3\n4\n5\n";
        let changes = plan("f", before, &edits(&[("2\n", "2\nnew\n"), ("4\n", "")])).unwrap();
        assert_eq!(
            changes.iter().map(|change| (change.lines, change.gained)).collect::<Vec<_>>(),
            [((2, 2), 1), ((4, 4), -1)]
        );
        let seen = Seen { hash: "old".into(), lines: vec![(1, 2), (5, 5)], total: 5 };
        let carried = carry(&seen, &changes, "new", 5);
        assert_eq!(carried.lines, [(1, 3), (5, 5)]);
        assert!(carry(&Seen::whole("old", 5), &changes, "new", 5).is_whole());
    }

    #[test]
    fn lines_that_end_with_carriage_returns_are_counted_too() {
        let before = b"1\r2\r3\r4\r";
        let changes = plan("f", before, &edits(&[("2\n", "2\nnew\n"), ("4\n", "")])).unwrap();
        assert_eq!(apply(before, &changes), b"1\r2\rnew\r3\r");
        assert_eq!(
            changes.iter().map(|change| (change.lines, change.gained)).collect::<Vec<_>>(),
            [((2, 2), 1), ((4, 4), -1)]
        );
        let error = edited(b"go = 1\rgo  = 2\r", &[("go = 2", "x")]).unwrap_err();
        assert!(error.contains("Nearest is line"), "{error}");
    }
}
