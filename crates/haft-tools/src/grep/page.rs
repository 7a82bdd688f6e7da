//! One page of matches: what is shown, and the true number of all; pure.

use super::input::GrepMode;
use haft_core::GrepHit;

/// Most bytes of lines in one page, so that what it says is shown really is.
const PAGE_MAX_BYTES: usize = 48 * 1024;
/// Most lines in one page, for the same reason.
const PAGE_MAX_LINES: usize = 1_900;

/// Which part of the matches to show, and how.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    /// Lines, files or counts.
    pub(super) mode: GrepMode,
    /// Lines of context on each side.
    pub(super) context: u64,
    /// Matches (or files) passed over first.
    pub(super) offset: u64,
    /// Most matches (or files) shown.
    pub(super) limit: u64,
}

/// Collects hits, keeps one window of them and counts all.
#[derive(Debug)]
pub(super) struct Page {
    /// What to show.
    pub(super) window: Window,
    /// The lines shown.
    pub(super) lines: Vec<String>,
    /// Matches (or files) shown.
    pub(super) shown: u64,
    /// Files that something is shown of.
    pub(super) shown_files: u64,
    /// All matching lines.
    pub(super) matches: u64,
    /// All files with a match.
    pub(super) files: u64,
    /// Matches (or files) that some page can show.
    pub(super) listable: u64,
    bytes: usize,
    full: bool,
}

impl Page {
    /// An empty page.
    pub(super) fn new(window: Window) -> Self {
        Self {
            window,
            lines: Vec::new(),
            shown: 0,
            shown_files: 0,
            matches: 0,
            files: 0,
            listable: 0,
            bytes: 0,
            full: false,
        }
    }

    /// Takes the matches of one more file.
    pub(super) fn add(&mut self, name: &str, hit: &GrepHit) {
        self.files += 1;
        self.matches += hit.count;
        match self.window.mode {
            GrepMode::Content => self.add_lines(name, hit),
            GrepMode::Files => self.add_file(name.to_owned()),
            GrepMode::Count => self.add_file(format!("{name}:{}", hit.count)),
        }
    }

    /// How many come after what is shown.
    pub(super) fn more(&self) -> u64 {
        self.listable.saturating_sub(self.window.offset).saturating_sub(self.shown)
    }

    /// Matches that no page can show, since only so many lines of a file are kept.
    pub(super) fn unlisted(&self) -> u64 {
        match self.window.mode {
            GrepMode::Content => self.matches.saturating_sub(self.listable),
            GrepMode::Files | GrepMode::Count => 0,
        }
    }

    fn add_file(&mut self, line: String) {
        let index = self.listable;
        self.listable += 1;
        if index >= self.window.offset && self.has_room() && self.push(line) {
            self.shown += 1;
            self.shown_files += 1;
        }
    }

    fn add_lines(&mut self, name: &str, hit: &GrepHit) {
        let window = self.window.offset..self.window.offset.saturating_add(self.window.limit);
        let mut wanted = Vec::new();
        for line in hit.lines.iter().filter(|line| line.matched) {
            if window.contains(&self.listable) {
                wanted.push(line.number);
            }
            self.listable += 1;
        }
        if wanted.is_empty() || !self.has_room() {
            return;
        }
        let before = self.shown;
        let mut last_number = None;
        for line in &hit.lines {
            let is_wanted = line.matched && wanted.binary_search(&line.number).is_ok();
            if !is_wanted && (line.matched || !is_near(line.number, &wanted, self.window.context)) {
                continue;
            }
            let follows = last_number.is_some_and(|last: u64| last + 1 == line.number);
            if self.window.context > 0 && !follows && !self.lines.is_empty() && !self.push("--".to_owned()) {
                break;
            }
            let mark = if is_wanted { ':' } else { '-' };
            if !self.push(format!("{name}{mark}{}{mark}{}", line.number, line.text)) {
                break;
            }
            last_number = Some(line.number);
            self.shown += u64::from(is_wanted);
        }
        if self.lines.last().is_some_and(|line| line == "--") {
            self.lines.pop();
        }
        self.shown_files += u64::from(self.shown > before);
    }

    fn has_room(&self) -> bool {
        !self.full && self.shown < self.window.limit
    }

    /// Adds a line unless the page is full; the first always fits.
    fn push(&mut self, line: String) -> bool {
        let bytes = self.bytes + line.len() + 1;
        if !self.lines.is_empty() && (bytes > PAGE_MAX_BYTES || self.lines.len() >= PAGE_MAX_LINES) {
            self.full = true;
            return false;
        }
        self.bytes = bytes;
        self.lines.push(line);
        true
    }
}

fn is_near(number: u64, wanted: &[u64], context: u64) -> bool {
    let from = wanted.partition_point(|one| one.saturating_add(context) < number);
    wanted.get(from).is_some_and(|one| one.abs_diff(number) <= context)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{GrepLine, RealPath};

    fn hit(lines: &[(u64, bool)]) -> GrepHit {
        let count = u64::try_from(lines.iter().filter(|(_, matched)| *matched).count()).unwrap();
        GrepHit {
            path: RealPath::new("/w", "a"),
            modified: None,
            count,
            lines: lines
                .iter()
                .map(|&(number, matched)| GrepLine {
                    number,
                    text: "x".to_owned(),
                    matched,
                    after_gap: false,
                })
                .collect(),
            left_out: 0,
        }
    }

    fn page(mode: GrepMode, context: u64, offset: u64, limit: u64) -> Page {
        Page::new(Window { mode, context, offset, limit })
    }

    #[test]
    fn a_page_shows_its_window_and_counts_all() {
        let mut page = page(GrepMode::Content, 0, 1, 2);
        page.add("a", &hit(&[(1, true), (4, true)]));
        page.add("b", &hit(&[(2, true), (3, true)]));
        page.add("c", &hit(&[(9, true)]));
        assert_eq!(page.lines, ["a:4:x", "b:2:x"]);
        assert_eq!((page.shown, page.shown_files, page.matches, page.files), (2, 2, 5, 3));
        assert_eq!(page.more(), 2);
    }

    #[test]
    fn pages_follow_each_other_without_gap_or_overlap() {
        let mut all = Vec::new();
        for offset in (0..9).step_by(2) {
            let mut page = page(GrepMode::Content, 0, offset, 2);
            page.add("a", &hit(&[(1, true), (2, true), (5, true)]));
            page.add("b", &hit(&[(1, true), (2, true)]));
            all.extend(page.lines);
        }
        assert_eq!(all, ["a:1:x", "a:2:x", "a:5:x", "b:1:x", "b:2:x"]);
    }

    #[test]
    fn context_is_marked_and_groups_are_parted() {
        let mut page = page(GrepMode::Content, 1, 0, 9);
        page.add("a", &hit(&[(1, false), (2, true), (3, false), (7, false), (8, true)]));
        page.add("b", &hit(&[(1, true)]));
        assert_eq!(page.lines, ["a-1-x", "a:2:x", "a-3-x", "--", "a-7-x", "a:8:x", "--", "b:1:x"]);
    }

    #[test]
    fn context_of_matches_outside_the_window_is_not_shown() {
        let mut page = page(GrepMode::Content, 1, 1, 9);
        page.add("a", &hit(&[(1, false), (2, true), (3, false), (7, false), (8, true)]));
        assert_eq!(page.lines, ["a-7-x", "a:8:x"]);
    }

    #[test]
    fn files_and_counts_page_by_file() {
        let mut counts = page(GrepMode::Count, 0, 0, 1);
        counts.add("a", &hit(&[(1, true), (2, true)]));
        counts.add("b", &hit(&[(1, true)]));
        assert_eq!((counts.lines.as_slice(), counts.more()), (["a:2".to_owned()].as_slice(), 1));
        let mut files = page(GrepMode::Files, 0, 1, 9);
        files.add("a", &hit(&[(1, true)]));
        files.add("b", &hit(&[(1, true)]));
        assert_eq!(files.lines, ["b"]);
    }

    #[test]
    fn a_page_that_is_too_long_ends_early_and_says_so() {
        let mut page = page(GrepMode::Content, 0, 0, 9_999);
        let lines: Vec<(u64, bool)> = (1..=3_000).map(|number| (number, true)).collect();
        page.add("a", &hit(&lines));
        assert_eq!((page.lines.len(), page.shown, page.more()), (1_900, 1_900, 1_100));
    }

    #[test]
    fn lines_that_no_page_can_show_are_counted_apart() {
        let mut page = page(GrepMode::Content, 0, 0, 9);
        page.add("a", &GrepHit { count: 50, left_out: 49, ..hit(&[(1, true)]) });
        assert_eq!((page.more(), page.unlisted()), (0, 49));
    }
}
