//! A hunk at its place as changes of a text: only the lines that go or come, never those that stay.
//!
//! A hunk that carries carriage returns of its own means them, where its old lines have them too; any other takes the
//! line ends of the lines that it replaces. Whether the file's last line has an end changes only where the hunk's old
//! and new lines differ in that.

use super::{
    lines::FileLines,
    place::Place,
    section::{Hunk, Line, Sign},
};
use crate::text::splice::splice;
use std::ops::Range;

/// Some lines of a text replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Splice {
    /// The bytes of the text that go.
    pub(super) span: Range<usize>,
    /// What comes.
    pub(super) new: String,
    /// The index of the first line that goes, or before which something comes.
    pub(super) first: usize,
    /// How many lines go.
    pub(super) removed: usize,
    /// How many come.
    pub(super) added: usize,
}

/// Lines that go and come together.
#[derive(Default)]
struct Run<'h> {
    first: usize,
    removed: usize,
    new: Vec<&'h Line>,
}

/// How the new lines of a hunk end.
struct Style<'l, 'a> {
    lines: &'l FileLines<'a>,
    /// Carriage returns are as the hunk has them.
    is_verbatim: bool,
    /// Whether the file's last line has no line end afterwards.
    is_open: bool,
}

/// The changes of a hunk, in order.
pub(super) fn splices(lines: &FileLines<'_>, hunk: &Hunk, place: Place) -> Vec<Splice> {
    let style = Style::of(lines, hunk, place);
    let mut splices = Vec::new();
    let mut run = Run { first: place.at, ..Run::default() };
    let mut at = place.at;
    for line in &hunk.lines {
        match line.sign {
            Sign::Context => {
                at += 1;
                let done = std::mem::replace(&mut run, Run { first: at, ..Run::default() });
                splices.extend(done.splice(&style));
            }
            Sign::Old => {
                at += 1;
                run.removed += 1;
            }
            Sign::New => run.new.push(line),
        }
    }
    splices.extend(run.splice(&style));
    splices
}

impl<'l, 'a> Style<'l, 'a> {
    fn of(lines: &'l FileLines<'a>, hunk: &Hunk, place: Place) -> Self {
        let carries = hunk.lines.iter().any(|line| line.text.ends_with('\r'));
        let is_as_found = || {
            let mut old = hunk.old().enumerate();
            old.all(|(index, line)| lines.raw(place.at + index) == line.text.as_bytes())
        };
        let is_verbatim = carries && lines.plain_end() == "\n" && is_as_found();
        let (was, will) = (is_open(hunk.old().last()), is_open(hunk.new_lines().last()));
        Self { lines, is_verbatim, is_open: if was == will { lines.is_open() } else { will } }
    }
}

fn is_open(last: Option<&Line>) -> bool {
    last.is_some_and(|line| line.is_open)
}

impl Run<'_> {
    fn splice(self, style: &Style<'_, '_>) -> Option<Splice> {
        if self.removed == 0 && self.new.is_empty() {
            return None;
        }
        let lines = style.lines;
        let end = self.first + self.removed;
        let is_last = end >= lines.len();
        let mut new = String::new();
        // After a last line without a line end, the new ones need one before them.
        if is_last && lines.is_open() && self.removed == 0 {
            new.push_str(self.end_for(0, lines));
        }
        for (index, line) in self.new.iter().enumerate() {
            let is_final = is_last && index + 1 == self.new.len();
            let text = line.text.as_str();
            new.push_str(if style.is_verbatim { text } else { text.trim_end_matches('\r') });
            if is_final && style.is_open {
                continue;
            }
            new.push_str(if style.is_verbatim { lines.plain_end() } else { self.end_for(index, lines) });
        }
        let (first, removed, added) = (self.first, self.removed, self.new.len());
        Some(Splice { span: lines.span(first..end), new, first, removed, added })
    }

    /// The line end of the line that goes for this one, else of the nearest.
    fn end_for(&self, index: usize, lines: &FileLines<'_>) -> &'static str {
        let nearest = if self.removed > 0 {
            self.first + index.min(self.removed - 1)
        } else {
            self.first.saturating_sub(1)
        };
        // The last line may have none; then the one before it has.
        let ends = [Some(nearest), nearest.checked_sub(1)].into_iter().flatten();
        ends.map(|line| lines.end_of(line)).find(|end| !end.is_empty()).unwrap_or(lines.plain_end())
    }
}

/// The text after the changes, which are in order and apart from each other.
pub(super) fn apply(text: &[u8], changes: &[(Range<usize>, Vec<u8>)]) -> Vec<u8> {
    splice(text, changes.iter().map(|(span, new)| (span, new.as_slice())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::patch::{parse::parse, place::find};

    fn applied(text: &str, patch: &str) -> String {
        let patch = parse(patch).unwrap();
        let lines = FileLines::of(text.as_bytes());
        let hunk = &patch.sections[0].hunks[0];
        let place = find(&lines, hunk, 0).unwrap();
        let changes: Vec<_> = splices(&lines, hunk, place)
            .into_iter()
            .map(|splice| (splice.span, splice.new.into_bytes()))
            .collect();
        String::from_utf8(apply(text.as_bytes(), &changes)).unwrap()
    }

    fn envelope(text: &str, body: &str) -> String {
        applied(text, &format!("*** Begin Patch\n*** Update File: f\n{body}\n*** End Patch\n"))
    }

    fn unified(text: &str, body: &str) -> String {
        applied(text, &format!("--- a/f\n+++ b/f\n{body}"))
    }

    #[test]
    fn case_f01_new_lines_take_the_line_end_of_those_they_replace() {
        assert_eq!(envelope("k=1\r\nm=2\nz=3", "-m=2\n+m=20"), "k=1\r\nm=20\nz=3");
        assert_eq!(envelope("k=1\r\nm=2\nz=3", "-k=1\n+k=10\n+l=1"), "k=10\r\nl=1\r\nm=2\nz=3");
        assert_eq!(envelope("a\r\nb\r\n", " a\n+x\n b"), "a\r\nx\r\nb\r\n");
        assert_eq!(envelope("a\rb\r", " a\n+x\n b"), "a\rx\rb\r");
        assert_eq!(envelope("a\r\nb\r\n", "+x"), "a\r\nb\r\nx\r\n");
    }

    #[test]
    fn a_missing_last_line_end_stays_missing_unless_stated() {
        assert_eq!(envelope("a\nz", "-z\n+y"), "a\ny");
        assert_eq!(envelope("a\nz", " z\n+y"), "a\nz\ny");
        assert_eq!(envelope("a\nz", "+y"), "a\nz\ny");
        assert_eq!(envelope("", "+y"), "y\n");
        let mark = "\\ No newline at end of file";
        assert_eq!(unified("a\nz", &format!("@@ -2 +2 @@\n-z\n{mark}\n+y\n")), "a\ny\n");
        assert_eq!(unified("a\nz\n", &format!("@@ -2 +2 @@\n-z\n+y\n{mark}\n")), "a\ny");
        // The mark was forgotten.
        assert_eq!(unified("a\nz", "@@ -2 +2 @@\n-z\n+y\n"), "a\ny");
    }

    #[test]
    fn a_diff_that_changes_line_ends_does_so() {
        assert_eq!(unified("a\r\nb\r\n", "@@ -1,2 +1,2 @@\n-a\r\n+a\n b\r\n"), "a\nb\r\n");
        assert_eq!(unified("a\nb\n", "@@ -1,2 +1,2 @@\n-a\n+a\r\n b\n"), "a\r\nb\n");
    }

    #[test]
    fn carriage_returns_of_the_hunk_itself_are_meant() {
        let mark = "\\ No newline at end of file";
        assert_eq!(unified("", &format!("@@ -0,0 +1 @@\n+a\n{mark}\n")), "a");
        assert_eq!(unified("", &format!("@@ -0,0 +1,2 @@\n+}}\r\n+}}\n{mark}\n")), "}\r\n}");
        assert_eq!(unified("x\r\nz", &format!("@@ -1,2 +1,3 @@\n x\r\n+y\n z\n{mark}\n")), "x\r\ny\nz");
        let open = format!("@@ -1,2 +1,2 @@\n x\r\n-z\n{mark}\n+z\r\n");
        assert_eq!(unified("x\r\nz", &open), "x\r\nz\r\n");
        // The mark was forgotten.
        assert_eq!(unified("x\r\nz", "@@ -1,2 +1,3 @@\n x\r\n+y\n z\n"), "x\r\ny\nz");
        // The file has other line ends than the hunk thinks.
        assert_eq!(unified("x\ny\n", "@@ -1,2 +1,2 @@\n x\r\n-y\r\n+z\r\n"), "x\nz\n");
        // All lines of the patch have one: it came so.
        let patch = "--- a/f\r\n+++ b/f\r\n@@ -1 +1 @@\r\n-x\r\n+y\r\n";
        assert_eq!(applied("x\n", patch), "y\n");
        assert_eq!(applied("x\r\n", patch), "y\r\n");
    }

    #[test]
    fn a_last_line_end_goes_or_comes_though_the_others_differ() {
        let mark = "\\ No newline at end of file";
        let gone = format!("@@ -1,2 +1,2 @@\n a\n-z\n+y\n{mark}\n");
        assert_eq!(unified("a\r\nz\r\n", &gone), "a\r\ny");
        let comes = format!("@@ -1,2 +1,2 @@\n a\n-z\n{mark}\n+y\n");
        assert_eq!(unified("a\r\nz", &comes), "a\r\ny\r\n");
    }

    #[test]
    fn only_lines_that_go_or_come_are_touched() {
        let text = "one\ntwo\nthree\nfour\n";
        assert_eq!(envelope(text, "-one\n two\n-three\n+3\n+3b\n four"), "two\n3\n3b\nfour\n");
    }
}
