//! What a patch did, for the model and for people.

use super::{
    plan::{Done, FilePlan, Plan},
    splice::Splice,
};
use crate::{
    glob::counted,
    text::{
        diff::{self, Diff},
        whole::lines_of,
    },
};
use haft_core::{Seen, content_hash};
use std::fmt::Write as _;

/// So many files are listed.
const LISTED_MAX: usize = 200;
/// All diffs of a patch together; the rest is counted.
const DIFFS_MAX_BYTES: usize = 128 * 1_024;

impl FilePlan {
    /// The change for people.
    pub(super) fn diff(&self) -> Diff {
        let (before, after) =
            (self.before.as_deref().unwrap_or_default(), self.after.as_deref().unwrap_or_default());
        let name = if let Done::Moved(_, to) = &self.done { to } else { &self.name };
        diff::of_files(name, before, after)
    }

    /// What was done, in a line.
    fn line(&self, diff: &Diff) -> String {
        let name = &self.name;
        let mut line = match &self.done {
            Done::Added => {
                let after = self.after.as_deref().unwrap_or_default();
                format!("added {name} ({})", counted(lines_of(after), "line"))
            }
            Done::Deleted => format!("deleted {name}"),
            Done::Updated => format!("updated {name}{}", self.hunk_count(diff)),
            Done::Moved(_, to) => format!("moved {name} to {to}{}", self.hunk_count(diff)),
            Done::Copied(from) => format!("copied {from} to {name}{}", self.hunk_count(diff)),
        };
        match self.executable {
            Some(true) => line.push_str(", may be run now"),
            Some(false) => line.push_str(", may not be run now"),
            None => {}
        }
        if !self.by_line_ends.is_empty() {
            let numbers: Vec<String> = self.by_line_ends.iter().map(ToString::to_string).collect();
            let _ = write!(line, "; by other line ends: hunk {}", numbers.join(", "));
        }
        line
    }

    fn hunk_count(&self, diff: &Diff) -> String {
        if self.hunks == 0 {
            return String::new();
        }
        let hunks = counted(u64::try_from(self.hunks).unwrap_or(u64::MAX), "hunk");
        if matches!(self.done, Done::Copied(_)) {
            return format!(" ({hunks})");
        }
        format!(" ({hunks}, +{} −{})", diff.added, diff.removed)
    }

    /// What the model has seen of the file from now on, by what it had seen before.
    pub(super) fn seen(&self, earlier: Option<&Seen>) -> Option<Seen> {
        let after = self.after.as_deref()?;
        let hash = content_hash(after);
        let total = lines_of(after);
        let Some(before) = self.before.as_deref() else {
            return (self.done == Done::Added).then(|| Seen::whole(&hash, total));
        };
        let seen = earlier.filter(|seen| *seen.hash == *content_hash(before))?;
        if seen.is_whole() {
            return Some(Seen::whole(&hash, total));
        }
        let lines = carried(seen, self.splices.as_deref()?, total);
        Some(Seen { hash, lines, total })
    }
}

/// The lines that were seen, moved by those that went and came.
fn carried(seen: &Seen, splices: &[Splice], total: u64) -> Vec<(u64, u64)> {
    let wide = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let moved = |line: u64, counts: &dyn Fn(&Splice) -> bool| {
        let gained: i64 = splices
            .iter()
            .filter(|splice| counts(splice))
            .map(|splice| wide(splice.added).saturating_sub(wide(splice.removed)))
            .sum();
        line.saturating_add_signed(gained).clamp(1, total.max(1))
    };
    let ranges = seen.lines.iter().map(|(first, last)| {
        let is_before = |line: u64, index: usize| u64::try_from(index).is_ok_and(|index| index < line);
        let start = moved(*first, &|splice: &Splice| is_before(*first, splice.first + splice.removed));
        let end = moved(*last, &|splice: &Splice| is_before(*last, splice.first));
        (start, end.max(start))
    });
    ranges.collect()
}

/// All changes for people.
pub(super) struct Shown {
    /// The diffs, and a line for what has none.
    pub(super) text: String,
    /// Lines that came.
    pub(super) added: usize,
    /// Lines that went.
    pub(super) removed: usize,
    /// For each file a line.
    pub(super) lines: Vec<String>,
}

impl Plan {
    /// The changes for people.
    pub(super) fn shown(&self) -> Shown {
        let mut shown = Shown { text: String::new(), added: 0, removed: 0, lines: Vec::new() };
        let mut left_out = 0;
        for file in &self.files {
            let diff = file.diff();
            let line = file.line(&diff);
            shown.added += diff.added;
            shown.removed += diff.removed;
            if shown.text.len() + diff.text.len() > DIFFS_MAX_BYTES && !shown.text.is_empty() {
                left_out += 1;
            } else {
                let says_more =
                    file.done != Done::Updated || diff.text.is_empty() || file.executable.is_some();
                if says_more {
                    shown.text.push_str(&line);
                    shown.text.push('\n');
                }
                shown.text.push_str(&diff.text);
            }
            shown.lines.push(line);
        }
        if left_out > 0 {
            let _ = writeln!(shown.text, "… the diffs of {left_out} more files");
        }
        shown
    }
}

/// What the model reads.
pub(super) fn describe(shown: &Shown, notes: &[String]) -> String {
    let count = u64::try_from(shown.lines.len()).unwrap_or(u64::MAX);
    let mut text = format!("Patched {}:", counted(count, "file"));
    for line in shown.lines.iter().take(LISTED_MAX) {
        let _ = write!(text, "\n{line}");
    }
    if shown.lines.len() > LISTED_MAX {
        let _ = write!(text, "\n… {} more files", shown.lines.len() - LISTED_MAX);
    }
    for note in notes {
        let _ = write!(text, "\n{note}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_moves_with_the_lines() {
        let splice = |first, removed, added| Splice { span: 0..0, new: String::new(), first, removed, added };
        // Two lines come after the first, and the fourth goes.
        let splices = [splice(1, 0, 2), splice(3, 1, 0)];
        let seen = Seen { hash: "x".into(), lines: vec![(1, 2), (5, 5)], total: 5 };
        assert_eq!(carried(&seen, &splices, 6), [(1, 4), (6, 6)]);
    }
}
