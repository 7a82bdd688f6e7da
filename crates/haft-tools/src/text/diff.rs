//! Unified diffs for people.

use super::{Coding, View, ends::with_feeds, visible};
use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices_deadline, group_diff_ops};
use std::{
    fmt::Write as _,
    ops::Range,
    time::{Duration, Instant},
};

/// Lines shown around a change.
const CONTEXT_LINES: usize = 3;
/// A longer diff is cut.
const DIFF_MAX_BYTES: usize = 64 * 1_024;
/// After so long the diff becomes coarser, never wrong.
const DIFF_TIMEOUT: Duration = Duration::from_millis(200);

/// A change as people read it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Diff {
    /// The unified form; empty where nothing changed.
    pub(crate) text: String,
    /// Lines that are new.
    pub(crate) added: usize,
    /// Lines that are gone.
    pub(crate) removed: usize,
}

/// Compares two files by line, each in its own encoding.
pub(crate) fn of_files(path: &str, before: &[u8], after: &[u8]) -> Diff {
    diff(path, View::of(before, Coding::of(before)).text(), View::of(after, Coding::of(after)).text())
}

/// Compares two texts by line; carriage returns part lines where neither text has anything else.
pub(crate) fn diff(path: &str, before: &[u8], after: &[u8]) -> Diff {
    if before == after {
        return Diff::default();
    }
    match (with_feeds(before), with_feeds(after)) {
        (Some(before), Some(after)) => by_line(path, &before, &after),
        _ => by_line(path, before, after),
    }
}

/// What is equal before the first and after the last change is passed over at the speed of a comparison, since
/// most changes to a long file are short.
fn by_line(path: &str, before: &[u8], after: &[u8]) -> Diff {
    let start = line_start(before, common_prefix(before, after));
    let (old, new) = (before.get(start..).unwrap_or_default(), after.get(start..).unwrap_or_default());
    let equal_end = whole_lines(old, common_suffix(old, new));
    let context_start = (0..CONTEXT_LINES).fold(start, |at, _| line_start(before, at.saturating_sub(1)));
    let context_end = (0..CONTEXT_LINES).fold(equal_end, |left, _| whole_lines(old, left));
    let first = memchr::memchr_iter(b'\n', before.get(..context_start).unwrap_or_default()).count() + 1;
    let old = lines(before.get(context_start..before.len() - context_end).unwrap_or_default());
    let new = lines(after.get(context_start..after.len() - context_end).unwrap_or_default());
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(Instant::now() + DIFF_TIMEOUT));

    // Behind "a/", a path from the root would have two slashes.
    let path = path.trim_start_matches('/');
    let mut out = Diff { text: format!("--- a/{path}\n+++ b/{path}\n"), ..Diff::default() };
    let mut left_out = 0;
    for group in group_diff_ops(ops, CONTEXT_LINES) {
        left_out +=
            write_hunk(&mut out, &group, &Sides { old: &old, new: &new, first, most: DIFF_MAX_BYTES });
    }
    if left_out > 0 {
        let _ = writeln!(out.text, "… {left_out} more lines of the diff");
    }
    out
}

/// The lines that are compared.
pub(crate) struct Sides<'a> {
    pub(crate) old: &'a [&'a [u8]],
    pub(crate) new: &'a [&'a [u8]],
    /// The number of the first of them.
    pub(crate) first: usize,
    /// How long the text of the diff may become.
    pub(crate) most: usize,
}

impl Sides<'_> {
    /// The number of the first line of a part; the one before where it has none, as diff counts.
    fn start(&self, part: &Range<usize>) -> usize {
        let first = self.first + part.start;
        if part.is_empty() { first - 1 } else { first }
    }
}

/// Writes one hunk; gives how many of its lines were left out.
pub(crate) fn write_hunk(out: &mut Diff, group: &[DiffOp], sides: &Sides<'_>) -> usize {
    let (Some(head), Some(tail)) = (group.first(), group.last()) else {
        return 0;
    };
    let (old, new) =
        (head.old_range().start..tail.old_range().end, head.new_range().start..tail.new_range().end);
    let _ =
        writeln!(out.text, "@@ -{},{} +{},{} @@", sides.start(&old), old.len(), sides.start(&new), new.len());
    let mut left_out = 0;
    for op in group {
        let (removed, added) = (
            sides.old.get(op.old_range()).unwrap_or_default(),
            sides.new.get(op.new_range()).unwrap_or_default(),
        );
        if op.tag() == DiffTag::Equal {
            left_out += write_lines(&mut out.text, ' ', removed, sides.most);
        } else {
            out.removed += removed.len();
            out.added += added.len();
            left_out += write_lines(&mut out.text, '-', removed, sides.most);
            left_out += write_lines(&mut out.text, '+', added, sides.most);
        }
    }
    left_out
}

fn write_lines(out: &mut String, sign: char, lines: &[&[u8]], most: usize) -> usize {
    let mut left_out = 0;
    for line in lines {
        if out.len() + line.len() > most {
            left_out += 1;
            continue;
        }
        let (content, end) = match line.strip_suffix(b"\n") {
            Some(content) => (content, ""),
            None => (*line, "\n\\ No newline at end of file"),
        };
        let _ = writeln!(out, "{sign}{}{end}", visible::line(&View::shown(content)));
    }
    left_out
}

/// The lines of a text that line feeds part, each with its own.
pub(crate) fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

const COMPARED_BYTES: usize = 4_096;

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let mut length = 0;
    for (x, y) in a.chunks(COMPARED_BYTES).zip(b.chunks(COMPARED_BYTES)) {
        if x != y {
            return length + x.iter().zip(y).take_while(|(x, y)| x == y).count();
        }
        length += x.len();
    }
    length
}

fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let mut length = 0;
    for (x, y) in a.rchunks(COMPARED_BYTES).zip(b.rchunks(COMPARED_BYTES)) {
        if x != y {
            return length + x.iter().rev().zip(y.iter().rev()).take_while(|(x, y)| x == y).count();
        }
        length += x.len();
    }
    length
}

/// The start of the line that holds the byte at `index`.
fn line_start(text: &[u8], index: usize) -> usize {
    memchr::memrchr(b'\n', text.get(..index).unwrap_or(text)).map_or(0, |newline| newline + 1)
}

/// Of the last `length` bytes, those after the first line end.
fn whole_lines(text: &[u8], length: usize) -> usize {
    let tail = text.get(text.len() - length.min(text.len())..).unwrap_or_default();
    memchr::memchr(b'\n', tail).map_or(0, |newline| tail.len() - newline - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_have_the_numbers_of_the_whole_file() {
        let before: String = (1..=20).map(|n| format!("l{n}\n")).collect();
        let after = before.replace("l10\n", "L10\nnew\n");
        let diff = diff("a", before.as_bytes(), after.as_bytes());
        assert_eq!(
            diff.text,
            "--- a/a\n+++ b/a\n@@ -7,7 +7,8 @@\n l7\n l8\n l9\n-l10\n+L10\n+new\n l11\n l12\n l13\n"
        );
        assert_eq!((diff.added, diff.removed), (2, 1));
    }

    #[test]
    fn a_missing_line_end_and_a_hidden_sign_are_shown() {
        let shown = diff("a", b"x\r\ny", b"x\ny").text;
        assert!(shown.contains("-x␍\n+x\n y\n\\ No newline at end of file\n"), "{shown}");
        assert_eq!(diff("a", b"x", b"x"), Diff::default());
        assert_eq!(diff("a", b"", b"x\n").text, "--- a/a\n+++ b/a\n@@ -0,0 +1,1 @@\n+x\n");
        assert!(diff("/tmp/a", b"", b"x\n").text.starts_with("--- a/tmp/a\n+++ b/tmp/a\n"));
        assert_eq!(diff("a", b"a\na\na\n", b"a\na\n").removed, 1);
        assert_eq!(diff("a", b"a\rb\r", b"a\rc\r").text, "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
        assert_eq!(diff("a", b"a\rb\r", b"a\nb\n").removed, 1);
    }
}
