//! The story of a branch, as `git log` tells it; pure.

use crate::{program::Answer, text::visible};

/// How git writes a commit: parts that end with NUL.
pub(super) const FORMAT: &str = "--format=tformat:%H%x00%h%x00%an%x00%aI%x00%D%x00%s";

/// One commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Commit {
    pub(super) hash: String,
    pub(super) short: String,
    pub(super) author: String,
    /// As ISO 8601.
    pub(super) date: String,
    /// Branches and tags that stand there.
    pub(super) refs: String,
    pub(super) subject: String,
}

/// The commits in an answer to `log -z` with [`FORMAT`].
pub(super) fn commits(answer: &Answer) -> Vec<Commit> {
    let mut parts = answer.parts().map(|part| visible::line(&String::from_utf8_lossy(part)));
    let mut all = Vec::new();
    loop {
        let next = (parts.next(), parts.next(), parts.next(), parts.next(), parts.next(), parts.next());
        let (Some(hash), Some(short), Some(author), Some(date), Some(refs), Some(subject)) = next else {
            return all;
        };
        all.push(Commit { hash, short, author, date, refs, subject });
    }
}

/// A line a commit.
pub(super) fn text(commits: &[Commit], limit: usize) -> String {
    let mut lines: Vec<String> = commits.iter().take(limit).map(Commit::line).collect();
    if commits.len() > limit {
        lines.push("(there are older ones; give a larger limit, or the last hash as rev)".to_owned());
    }
    if lines.is_empty() {
        lines.push("No commit fits.".to_owned());
    }
    lines.join("\n")
}

impl Commit {
    fn line(&self) -> String {
        let day = self.date.get(..10).unwrap_or(&self.date);
        let refs = if self.refs.is_empty() { String::new() } else { format!(" ({})", self.refs) };
        format!("{} {day} {}{refs}: {}", self.short, self.author, self.subject)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_parts_and_cut_ends_keep_their_place() {
        let out = b"1111\x0011\0t\x002026-01-02T03:04:05Z\0HEAD -> main\0first \x1b[1m\0\
            2222\x0022\0t\x002026-01-01T03:04:05Z\0\0second\x003333\x0033\0t";
        let found = commits(&Answer { out: out.to_vec(), ..Answer::default() });
        assert_eq!(found.len(), 2);
        assert_eq!(text(&found, 9), "11 2026-01-02 t (HEAD -> main): first ␛[1m\n22 2026-01-01 t: second");
        assert!(
            text(&found, 1).ends_with("there are older ones; give a larger limit, or the last hash as rev)")
        );
        assert_eq!(text(&[], 1), "No commit fits.");
    }
}
