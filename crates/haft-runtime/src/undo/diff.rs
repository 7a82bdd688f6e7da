//! What a restored file loses and gets, for people and as numbers: pure.

use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices_deadline, group_diff_ops};
use std::{
    fmt::{self, Write},
    time::{Duration, Instant},
};

/// Lines shown around a change.
const CONTEXT_LINES: usize = 3;
/// After so long the diff becomes coarser, never wrong.
const DIFF_TIMEOUT: Duration = Duration::from_millis(200);
/// Longer diffs are cut.
const DIFF_MAX_BYTES: usize = 64 * 1024;

/// The difference between two contents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Diff {
    /// In unified form, or a line that says why not.
    pub(crate) text: String,
    /// Lines that are new and lines that are gone; none where they aren't counted.
    pub(crate) lines: Option<(usize, usize)>,
    /// Why they aren't counted.
    uncounted: &'static str,
}

impl Diff {
    /// Compares what is with what is to be.
    pub(crate) fn of(name: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Self {
        let (Some(from), Some(to)) = (text_of(old), text_of(new)) else {
            let length =
                |side: Option<&[u8]>| side.map_or("none".to_owned(), |side| format!("{} bytes", side.len()));
            let (old, new) = (length(old), length(new));
            let text = format!("{name}: no UTF-8 text, not shown ({old} now, {new} then)\n");
            return Self { text, lines: None, uncounted: "not text" };
        };
        let (from, to): (Vec<&str>, Vec<&str>) =
            (from.split_inclusive('\n').collect(), to.split_inclusive('\n').collect());
        let deadline = Some(Instant::now() + DIFF_TIMEOUT);
        let ops = capture_diff_slices_deadline(Algorithm::Myers, &from, &to, deadline);
        let (mut added, mut removed) = (0, 0);
        for op in ops.iter().filter(|op| op.tag() != DiffTag::Equal) {
            removed += op.old_range().len();
            added += op.new_range().len();
        }
        let name = name.trim_start_matches('/');
        let mut text = match (old, new) {
            (None, _) => format!("--- /dev/null\n+++ b/{name}\n"),
            (_, None) => format!("--- a/{name}\n+++ /dev/null\n"),
            _ => format!("--- a/{name}\n+++ b/{name}\n"),
        };
        let left_out: usize =
            group_diff_ops(ops, CONTEXT_LINES).iter().map(|group| hunk(&mut text, group, &from, &to)).sum();
        if left_out > 0 {
            let _ = writeln!(text, "… {left_out} more lines of the diff");
        }
        Self { text, lines: Some((added, removed)), uncounted: "" }
    }

    /// For contents that are too long to be compared.
    pub(crate) fn too_long(name: &str) -> Self {
        let text = format!("{name}: too long for a diff\n");
        Self { text, lines: None, uncounted: "too long to compare" }
    }
}

/// As `+3 −1 lines`.
impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lines {
            Some((added, removed)) => write!(f, "+{added} −{removed} lines"),
            None => f.write_str(self.uncounted),
        }
    }
}

/// What isn't there is empty; what has a NUL byte is no text.
fn text_of(bytes: Option<&[u8]>) -> Option<&str> {
    std::str::from_utf8(bytes.unwrap_or_default()).ok().filter(|text| !text.contains('\0'))
}

/// Writes one hunk; gives how many of its lines were left out.
fn hunk(out: &mut String, group: &[DiffOp], old: &[&str], new: &[&str]) -> usize {
    let (Some(head), Some(tail)) = (group.first(), group.last()) else { return 0 };
    let from = head.old_range().start..tail.old_range().end;
    let to = head.new_range().start..tail.new_range().end;
    let _ = writeln!(out, "@@ -{},{} +{},{} @@", from.start + 1, from.len(), to.start + 1, to.len());
    let mut left_out = 0;
    for op in group {
        let gone = old.get(op.old_range()).unwrap_or_default();
        if op.tag() == DiffTag::Equal {
            left_out += lines(out, ' ', gone);
        } else {
            left_out += lines(out, '-', gone);
            left_out += lines(out, '+', new.get(op.new_range()).unwrap_or_default());
        }
    }
    left_out
}

fn lines(out: &mut String, sign: char, lines: &[&str]) -> usize {
    let mut left_out = 0;
    for line in lines {
        if out.len() + line.len() > DIFF_MAX_BYTES {
            left_out += 1;
            continue;
        }
        match line.strip_suffix('\n') {
            Some(line) => {
                let _ = writeln!(out, "{sign}{line}");
            }
            None => {
                let _ = writeln!(out, "{sign}{line}\n\\ No newline at end of file");
            }
        }
    }
    left_out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_shown_and_counted() {
        let diff = Diff::of("a", Some(b"1\n2\n3\n4\n5\n"), Some(b"1\n2\n3\n4\nfive\nsix"));
        let expected =
            "--- a/a\n+++ b/a\n@@ -2,4 +2,5 @@\n 2\n 3\n 4\n-5\n+five\n+six\n\\ No newline at end of file\n";
        assert_eq!((diff.text.as_str(), diff.to_string().as_str()), (expected, "+2 −1 lines"));
    }

    #[test]
    fn a_side_that_is_not_there_is_named() {
        assert!(Diff::of("/w/a", None, Some(b"x\n")).text.starts_with("--- /dev/null\n+++ b/w/a\n"));
        assert!(Diff::of("a", Some(b"x\n"), None).text.starts_with("--- a/a\n+++ /dev/null\n"));
    }

    #[test]
    fn what_is_no_text_is_only_measured() {
        for bytes in [&b"\xff\xfe"[..], b"a\0"] {
            let diff = Diff::of("a", Some(bytes), None);
            assert_eq!((diff.lines, diff.to_string().as_str()), (None, "not text"));
            assert!(diff.text.contains("2 bytes now, none then"), "{}", diff.text);
        }
    }

    #[test]
    fn what_is_too_long_is_not_called_no_text() {
        assert_eq!(Diff::too_long("a").to_string(), "too long to compare");
    }

    #[test]
    fn a_long_diff_is_cut_and_counted() {
        let long = "line\n".repeat(100_000);
        let diff = Diff::of("a", None, Some(long.as_bytes()));
        assert_eq!(diff.lines, Some((100_000, 0)));
        assert!(diff.text.len() < DIFF_MAX_BYTES + 100);
        assert!(diff.text.ends_with("more lines of the diff\n"));
    }
}
