//! Two files compared by line.

use crate::text::{
    Coding, View, binary,
    diff::{Diff, Sides, lines, write_hunk},
    ends::with_feeds,
    size,
};
use similar::{Algorithm, capture_diff_slices_deadline, group_diff_ops};
use std::{
    borrow::Cow,
    fmt::Write as _,
    time::{Duration, Instant},
};

/// After so long the diff becomes coarser, never wrong.
const DIFF_TIMEOUT: Duration = Duration::from_millis(500);

/// One of two files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side<'a> {
    /// The path as it is written for readers.
    pub(crate) name: &'a str,
    pub(crate) bytes: &'a [u8],
}

/// Whether and how two files differ.
pub(crate) fn compare(a: Side<'_>, b: Side<'_>, context: usize) -> String {
    if a.bytes == b.bytes {
        return format!("{} and {} have the same content.", a.name, b.name);
    }
    let binaries: Vec<String> =
        [a, b].into_iter().filter(|side| is_binary(side.bytes)).map(described).collect();
    if !binaries.is_empty() {
        return format!("{} and {} differ. {}.", a.name, b.name, binaries.join("; "));
    }
    let (coding_a, coding_b) = (Coding::of(a.bytes), Coding::of(b.bytes));
    let (view_a, view_b) = (View::of(a.bytes, coding_a), View::of(b.bytes, coding_b));
    let diff = unified(a.name, b.name, [feeds(view_a.text()), feeds(view_b.text())], context);
    let mut text = match diff {
        Some(diff) => diff,
        None => format!("{} and {} have the same lines.\n", a.name, b.name),
    };
    if coding_a != coding_b {
        let (coding_a, coding_b) = (coding_a.name(), coding_b.name());
        let _ = writeln!(text, "(encodings differ: {} is {coding_a}, {} is {coding_b})", a.name, b.name);
    }
    text.truncate(text.trim_end_matches('\n').len());
    text
}

fn is_binary(bytes: &[u8]) -> bool {
    binary::is_binary(head(bytes)) || binary::wide(head(bytes)).is_some()
}

fn head(bytes: &[u8]) -> &[u8] {
    bytes.get(..binary::HEAD_BYTES).unwrap_or(bytes)
}

fn described(side: Side<'_>) -> String {
    let len = u64::try_from(side.bytes.len()).unwrap_or(u64::MAX);
    match binary::wide(head(side.bytes)) {
        Some(coding) => format!("{} is {coding} ({}); convert it to compare it", side.name, size(len)),
        None => format!("{} is binary ({}, {})", side.name, binary::kind(side.bytes), size(len)),
    }
}

/// Lines end with line feeds from here on, so that they can be parted.
fn feeds(text: &[u8]) -> Cow<'_, [u8]> {
    with_feeds(text).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The unified form; none where all lines are equal.
fn unified(name_a: &str, name_b: &str, texts: [Cow<'_, [u8]>; 2], context: usize) -> Option<String> {
    let [old, new] = &texts;
    let (old, new) = (lines(old), lines(new));
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(Instant::now() + DIFF_TIMEOUT));
    let groups = group_diff_ops(ops, context);
    if groups.is_empty() {
        return None;
    }
    let mut diff = Diff { text: format!("--- {name_a}\n+++ {name_b}\n"), ..Diff::default() };
    for group in &groups {
        write_hunk(&mut diff, group, &Sides { old: &old, new: &new, first: 1, most: usize::MAX });
    }
    Some(diff.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compared(a: &[u8], b: &[u8], context: usize) -> String {
        compare(Side { name: "a", bytes: a }, Side { name: "b", bytes: b }, context)
    }

    #[test]
    fn changes_are_shown_with_the_lines_around_them() {
        let before: String = (1..=9).map(|n| format!("l{n}\n")).collect();
        let after = before.replace("l5\n", "L5\n");
        assert_eq!(
            compared(before.as_bytes(), after.as_bytes(), 1),
            "--- a\n+++ b\n@@ -4,3 +4,3 @@\n l4\n-l5\n+L5\n l6"
        );
        assert_eq!(compared(b"x", b"x", 3), "a and b have the same content.");
        assert_eq!(compared(b"", b"x\n", 3), "--- a\n+++ b\n@@ -0,0 +1,1 @@\n+x");
        assert!(compared(b"x\r\n", b"x\n", 3).contains("-x␍\n+x"));
        assert!(compared(b"x", b"x\n", 3).contains("-x\n\\ No newline at end of file\n+x"));
    }

    #[test]
    fn encodings_and_binary_files_are_named() {
        let wide = [b"\xFF\xFE".as_slice(), b"x\0\n\0"].concat();
        let said = compared(&wide, b"x\n", 3);
        assert!(said.contains("the same lines") && said.contains("a is UTF-16LE, b is UTF-8"), "{said}");
        assert_eq!(compared(b"\0\x01", b"x", 3), "a and b differ. a is binary (unknown type, 2 B).");
        let said = compared(b"x\0\n\0", b"x\n", 3);
        assert!(said.contains("a is UTF-16LE without a byte order mark (4 B); convert it"), "{said}");
    }
}
