//! Lists of branches, stashes and worktrees; pure.

use crate::{program::Answer, text::visible};
use std::collections::BTreeMap;

/// How git lists branches: parts that end with NUL.
pub(super) const BRANCHES: &[&str] = &[
    "for-each-ref",
    "--format=%(refname)%00%(objectname:short)%00%(HEAD)%00%(upstream:short)%00%(upstream:track,nobracket)%00\
     %(contents:subject)%00",
    "refs/heads",
    "refs/remotes",
];
/// How git lists every name that it has for a commit.
pub(super) const ALL: &[&str] = &["for-each-ref", "--format=%(refname)%00%(objectname)%00"];
/// How git lists stashes.
pub(super) const STASHES: &[&str] = &["stash", "list", "-z", "--format=tformat:%gd%x00%cI%x00%gs"];
/// How git lists worktrees.
pub(super) const WORKTREES: &[&str] = &["worktree", "list", "--porcelain", "-z"];
/// So many lines are listed.
const LISTED_MAX: usize = 200;

/// The parts of an answer as text; a line end that stands before one goes.
fn texts(answer: &Answer) -> impl Iterator<Item = String> {
    answer.parts().map(|part| visible::line(String::from_utf8_lossy(part).trim_start_matches('\n')))
}

/// Branches, a line each, the one that is checked out marked.
pub(super) fn branches(answer: &Answer) -> String {
    let mut parts = texts(answer);
    let mut lines = Vec::new();
    loop {
        let next = (parts.next(), parts.next(), parts.next(), parts.next(), parts.next(), parts.next());
        let (Some(name), Some(at), Some(head), Some(upstream), Some(track), Some(subject)) = next else {
            break;
        };
        let name = name.trim_start_matches("refs/heads/").trim_start_matches("refs/").to_owned();
        let upstream = match (upstream.as_str(), track.as_str()) {
            ("", _) => String::new(),
            (upstream, "") => format!(" [{upstream}]"),
            (upstream, track) => format!(" [{upstream}: {track}]"),
        };
        let mark = if head == "*" { "*" } else { " " };
        lines.push(format!("{mark} {name} {at}{upstream}: {subject}"));
    }
    listed(lines, "There is no branch yet: the first commit makes it.")
}

/// Stashes, a line each.
pub(super) fn stashes(answer: &Answer) -> String {
    let mut parts = texts(answer);
    let mut lines = Vec::new();
    while let (Some(name), Some(date), Some(subject)) = (parts.next(), parts.next(), parts.next()) {
        lines.push(format!("{name} {}: {subject}", date.get(..10).unwrap_or(&date)));
    }
    listed(lines, "There is no stash.")
}

/// Worktrees, a line each.
pub(super) fn worktrees(answer: &Answer) -> String {
    let mut lines: Vec<String> = Vec::new();
    for part in texts(answer) {
        let (key, value) = part.split_once(' ').unwrap_or((&part, ""));
        match key {
            "worktree" => lines.push(value.to_owned()),
            "HEAD" => append(&mut lines, value.get(..7).unwrap_or(value)),
            "branch" => append(&mut lines, value.trim_start_matches("refs/heads/")),
            "detached" | "bare" | "locked" | "prunable" => append(&mut lines, key),
            _ => {}
        }
    }
    listed(lines, "There is no worktree.")
}

fn append(lines: &mut [String], word: &str) {
    if let Some(last) = lines.last_mut() {
        last.push(' ');
        last.push_str(word);
    }
}

fn listed(mut lines: Vec<String>, none: &str) -> String {
    if lines.is_empty() {
        return none.to_owned();
    }
    let more = lines.len().saturating_sub(LISTED_MAX);
    lines.truncate(LISTED_MAX);
    if more > 0 {
        lines.push(format!("(and {more} more)"));
    }
    lines.join("\n")
}

/// Every name with its commit.
pub(super) fn all(answer: &Answer) -> BTreeMap<String, String> {
    let mut parts = texts(answer);
    let mut all = BTreeMap::new();
    while let (Some(name), Some(commit)) = (parts.next(), parts.next()) {
        all.insert(name, commit);
    }
    all
}

/// What became of the names, a line each; none where all are as they were.
pub(super) fn moved(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> Option<String> {
    let short = |commit: &String| commit.get(..7).unwrap_or(commit).to_owned();
    let name = |name: &String| name.trim_start_matches("refs/heads/").trim_start_matches("refs/").to_owned();
    let mut lines = Vec::new();
    for (ref_name, commit) in after {
        match before.get(ref_name) {
            None => lines.push(format!("new {} {}", name(ref_name), short(commit))),
            Some(old) if old != commit => {
                lines.push(format!("{} {}..{}", name(ref_name), short(old), short(commit)));
            }
            Some(_) => {}
        }
    }
    for ref_name in before.keys().filter(|known| !after.contains_key(*known)) {
        lines.push(format!("gone {}", name(ref_name)));
    }
    (!lines.is_empty()).then(|| listed(lines, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(out: &[u8]) -> Answer {
        Answer { out: out.to_vec(), ..Answer::default() }
    }

    #[test]
    fn branches_tell_how_they_stand() {
        let out = b"refs/heads/main\0c7badb1\0*\0origin/main\0ahead 1\0Merge\0\n\
            refs/heads/x/y\x002035f3b\0 \0\0\0x: y\0\nrefs/remotes/origin/main\0a276013\0 \0\0\0second\0\n";
        assert_eq!(
            branches(&answer(out)),
            "* main c7badb1 [origin/main: ahead 1]: Merge\n  x/y 2035f3b: x: y\n  remotes/origin/main a276013: second"
        );
        assert!(branches(&answer(b"")).contains("no branch yet"));
    }

    #[test]
    fn stashes_and_worktrees_are_listed() {
        let out = b"stash@{0}\x002026-01-02T03:04:05Z\0On main: w ip\0";
        assert_eq!(stashes(&answer(out)), "stash@{0} 2026-01-02: On main: w ip");
        let out = b"worktree /w a\0HEAD c7badb139d2f\0branch refs/heads/main\0\0worktree /x\0HEAD 1234567890\0detached\0\0";
        assert_eq!(worktrees(&answer(out)), "/w a c7badb1 main\n/x 1234567 detached");
    }

    #[test]
    fn what_moved_is_told() {
        let map = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(name, at)| ((*name).to_owned(), (*at).to_owned())).collect()
        };
        let before = map(&[("refs/heads/a", "1111111x"), ("refs/remotes/o/b", "2"), ("refs/tags/t", "3")]);
        let after = map(&[("refs/heads/a", "4444444x"), ("refs/remotes/o/c", "5"), ("refs/tags/t", "3")]);
        let text = moved(&before, &after).unwrap();
        assert_eq!(text, "a 1111111..4444444\nnew remotes/o/c 5\ngone remotes/o/b");
        assert_eq!(moved(&before, &before), None);
    }
}
