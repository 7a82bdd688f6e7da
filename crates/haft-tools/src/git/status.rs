//! The state of the working tree, as `git status --porcelain=v2 -z` tells it; pure.

use super::visible::named;
use crate::glob::counted;
use std::fmt::Write as _;

/// How git is asked.
pub(super) const ASKED: &[&str] =
    &["status", "--porcelain=v2", "-z", "--branch", "--show-stash", "--untracked-files=all"];
/// So many files are listed of each kind.
const LISTED_MAX: usize = 100;

/// One file that isn't as it was committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    /// From the top of the repository.
    pub(super) path: Vec<u8>,
    /// Where it was before, where it was renamed or copied.
    pub(super) from: Option<Vec<u8>>,
    pub(super) state: State,
}

/// What is the matter with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// A letter each against the last commit and against the index; `.` where nothing differs.
    Changed {
        staged: char,
        unstaged: char,
    },
    /// Both sides of a merge changed it.
    Conflict([char; 2]),
    Untracked,
}

/// All of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Status {
    /// None where a commit is checked out and no branch.
    pub(super) branch: Option<String>,
    /// None before the first commit.
    pub(super) commit: Option<String>,
    pub(super) upstream: Option<String>,
    pub(super) ahead: u64,
    pub(super) behind: u64,
    pub(super) stashes: u64,
    pub(super) entries: Vec<Entry>,
    /// Files that rules keep from being named.
    pub(super) denied: u64,
    /// git's list was too long.
    pub(super) is_cut: bool,
}

impl Status {
    /// Reads what git printed, part by part.
    pub(super) fn read<'p>(mut parts: impl Iterator<Item = &'p [u8]>, is_whole: bool) -> Self {
        let mut status = Self { is_cut: !is_whole, ..Self::default() };
        while let Some(part) = parts.next() {
            let Some((kind, rest)) = part.split_first() else { continue };
            match kind {
                b'#' => status.header(&String::from_utf8_lossy(rest)),
                b'?' => status.push(rest.get(1..), None, State::Untracked),
                b'1' => status.push(after(rest, 8), None, changed(rest)),
                b'2' => status.push(after(rest, 9), parts.next(), changed(rest)),
                b'u' => status.push(after(rest, 10), None, State::Conflict(letters(rest))),
                _ => {}
            }
        }
        status
    }

    fn push(&mut self, path: Option<&[u8]>, from: Option<&[u8]>, state: State) {
        if let Some(path) = path {
            self.entries.push(Entry { path: path.to_vec(), from: from.map(<[u8]>::to_vec), state });
        }
    }

    fn header(&mut self, line: &str) {
        let mut words = line.trim_start().splitn(2, ' ');
        let (Some(key), Some(value)) = (words.next(), words.next()) else { return };
        match key {
            "branch.oid" => self.commit = unless(value, "(initial)"),
            "branch.head" => self.branch = unless(value, "(detached)"),
            "branch.upstream" => self.upstream = Some(value.to_owned()),
            "branch.ab" => {
                let number = |word: Option<&str>| {
                    word.and_then(|word| word.trim_start_matches(['+', '-']).parse().ok()).unwrap_or(0)
                };
                let mut words = value.split(' ');
                (self.ahead, self.behind) = (number(words.next()), number(words.next()));
            }
            "stash" => self.stashes = value.parse().unwrap_or(0),
            _ => {}
        }
    }

    /// The first line: what is checked out, and how it stands to its upstream.
    pub(super) fn place(&self) -> String {
        let short = |oid: &String| oid.chars().take(7).collect::<String>();
        let mut text = match (&self.branch, &self.commit) {
            (Some(branch), None) => format!("On branch {branch}, without a commit yet"),
            (Some(branch), Some(_)) => format!("On branch {branch}"),
            (None, Some(oid)) => format!("No branch, detached at {}", short(oid)),
            (None, None) => "No branch and no commit".to_owned(),
        };
        if let Some(upstream) = &self.upstream {
            let how = match (self.ahead, self.behind) {
                (0, 0) => format!(", level with {upstream}"),
                (ahead, 0) => format!(", {ahead} ahead of {upstream}"),
                (0, behind) => format!(", {behind} behind {upstream}"),
                (ahead, behind) => format!(", {ahead} ahead of and {behind} behind {upstream}"),
            };
            text.push_str(&how);
        }
        text
    }

    /// Whether nothing is listed or left out.
    pub(super) fn is_clean(&self) -> bool {
        self.entries.is_empty() && self.denied == 0 && !self.is_cut
    }

    /// What is staged, a line a file.
    pub(super) fn staged(&self) -> Vec<String> {
        let line = |entry: &Entry| match entry.state {
            State::Changed { staged, .. } if staged != '.' => Some(format!("{staged} {}", entry.shown())),
            _ => None,
        };
        self.entries.iter().filter_map(line).collect()
    }

    /// All of it for readers.
    pub(super) fn text(&self) -> String {
        let mut text = self.place();
        let of = |line: &dyn Fn(&Entry) -> Option<String>| -> Vec<String> {
            self.entries.iter().filter_map(line).collect()
        };
        let conflicts = of(&|entry| match entry.state {
            State::Conflict([ours, theirs]) => Some(format!("{ours}{theirs} {}", entry.shown())),
            _ => None,
        });
        let unstaged = of(&|entry| match entry.state {
            State::Changed { unstaged, .. } if unstaged != '.' => {
                Some(format!("{unstaged} {}", named(&entry.path)))
            }
            _ => None,
        });
        let untracked = of(&|entry| (entry.state == State::Untracked).then(|| named(&entry.path)));
        let kinds = [
            ("In conflict (edit them, then add them)", conflicts),
            ("Staged", self.staged()),
            ("Not staged", unstaged),
            ("Untracked", untracked),
        ];
        for (title, lines) in &kinds {
            list(&mut text, title, lines);
        }
        if self.is_clean() {
            text.push_str("\nNothing has changed since the last commit.");
        }
        if self.stashes > 0 {
            let word = if self.stashes == 1 { "stash" } else { "stashes" };
            let _ = write!(text, "\n({} {word} put away)", self.stashes);
        }
        if self.denied > 0 {
            let _ = write!(text, "\n({} left out: rules deny reading them)", counted(self.denied, "file"));
        }
        if self.is_cut {
            text.push_str("\n(git's list was too long and is cut: name folders in paths)");
        }
        text
    }
}

impl Entry {
    fn shown(&self) -> String {
        match &self.from {
            Some(from) => format!("{} -> {}", named(from), named(&self.path)),
            None => named(&self.path),
        }
    }
}

/// A title and its lines, those that are too many counted.
pub(super) fn list(text: &mut String, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    let _ = write!(text, "\n{title}:");
    for line in lines.iter().take(LISTED_MAX) {
        let _ = write!(text, "\n  {line}");
    }
    if let Some(more) = lines.len().checked_sub(LISTED_MAX).filter(|more| *more > 0) {
        let _ = write!(text, "\n  (and {more} more; name folders in paths)");
    }
}

fn unless(value: &str, none: &str) -> Option<String> {
    (value != none).then(|| value.to_owned())
}

/// What stands behind so many blanks.
fn after(rest: &[u8], blanks: usize) -> Option<&[u8]> {
    let mut at = rest.iter().enumerate().filter(|(_, byte)| **byte == b' ').map(|(at, _)| at);
    rest.get(at.nth(blanks - 1)? + 1..)
}

/// The two letters of an entry.
fn letters(rest: &[u8]) -> [char; 2] {
    let letter = |at: usize| rest.get(at).copied().map_or('.', char::from);
    [letter(1), letter(2)]
}

fn changed(rest: &[u8]) -> State {
    let [staged, unstaged] = letters(rest);
    State::Changed { staged, unstaged }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(out: &[u8]) -> Status {
        Status::read(out.split(|byte| *byte == 0).filter(|part| !part.is_empty()), true)
    }

    const OUT: &[u8] = b"# branch.oid 587be6b4c3f93f93c489c0111bba5596147a26cb\0# branch.head main\0\
        # branch.upstream origin/main\0# branch.ab +2 -1\0# stash 3\0\
        1 M. N... 100644 100644 100644 587be6b 587be6c a b.txt\0\
        1 .D N... 100644 100644 000000 587be6b 587be6b gone\0\
        2 R. N... 100644 100644 100644 587be6b 587be6b R100 new name\0old name\0\
        u UU N... 100644 100644 100644 100644 587be6b 587be6c 587be6d both\0\
        ? x\ny\0? d\xffe\0? \"q\"\0";

    #[test]
    fn every_kind_of_entry_is_read_with_its_name_as_it_is() {
        let status = read(OUT);
        let paths: Vec<&[u8]> = status.entries.iter().map(|entry| entry.path.as_slice()).collect();
        let expected: [&[u8]; 7] = [b"a b.txt", b"gone", b"new name", b"both", b"x\ny", b"d\xffe", b"\"q\""];
        assert_eq!(paths, expected);
        assert_eq!(status.entries[2].from.as_deref(), Some(b"old name".as_slice()));
        assert_eq!(status.entries[3].state, State::Conflict(['U', 'U']));
        assert_eq!((status.ahead, status.behind, status.stashes), (2, 1, 3));
    }

    #[test]
    fn the_text_keeps_a_name_on_its_line() {
        let text = read(OUT).text();
        assert_eq!(
            text,
            "On branch main, 2 ahead of and 1 behind origin/main\n\
             In conflict (edit them, then add them):\n  UU both\n\
             Staged:\n  M a b.txt\n  R old name -> new name\n\
             Not staged:\n  D gone\n\
             Untracked:\n  x\\ny\n  d\\xffe (not UTF-8)\n  \"q\"\n\
             (3 stashes put away)"
        );
    }

    #[test]
    fn what_is_checked_out_is_told() {
        let place = |out: &str| read(out.as_bytes()).place();
        let first = "# branch.oid (initial)\0# branch.head main\0";
        assert_eq!(place(first), "On branch main, without a commit yet");
        let detached = "# branch.oid 587be6b4c3f9\0# branch.head (detached)\0";
        assert_eq!(place(detached), "No branch, detached at 587be6b");
        let level = "# branch.oid 1\0# branch.head x\0# branch.upstream o/x\0# branch.ab +0 -0\0";
        assert_eq!(place(level), "On branch x, level with o/x");
        assert!(read(level.as_bytes()).text().ends_with("Nothing has changed since the last commit."));
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let mut status = read(b"# branch.head x\0");
        status.entries = (0..130)
            .map(|number| Entry {
                path: format!("f{number}").into_bytes(),
                from: None,
                state: State::Untracked,
            })
            .collect();
        (status.denied, status.is_cut) = (2, true);
        let text = status.text();
        assert!(text.contains("f99\n  (and 30 more;") && !text.contains("f100"), "{text}");
        assert!(text.contains("(2 files left out: rules deny") && text.contains("too long"), "{text}");
    }
}
