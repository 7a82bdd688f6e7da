//! The newest few of many files, in flat memory.

use std::{cmp::Ordering, collections::BinaryHeap, time::SystemTime};

/// A file that matched; the smaller, the sooner it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hit {
    /// When its content last changed.
    pub(super) modified: Option<SystemTime>,
    /// How it is written for the model.
    pub(super) path: String,
}

impl Ord for Hit {
    fn cmp(&self, other: &Self) -> Ordering {
        other.modified.cmp(&self.modified).then_with(|| self.path.cmp(&other.path))
    }
}

impl PartialOrd for Hit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Keeps the newest and counts all.
#[derive(Debug)]
pub(super) struct Newest {
    limit: usize,
    kept: BinaryHeap<Hit>,
    total: u64,
}

impl Newest {
    /// Room for so many.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, kept: BinaryHeap::new(), total: 0 }
    }

    /// Counts one, and keeps it while it is among the newest.
    pub(super) fn push(&mut self, hit: Hit) {
        self.total += 1;
        self.kept.push(hit);
        if self.kept.len() > self.limit {
            self.kept.pop();
        }
    }

    /// How many are kept at most.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// How many there were.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The newest first, then by path.
    pub(super) fn into_sorted(self) -> Vec<Hit> {
        self.kept.into_sorted_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn hit(path: &str, seconds: Option<u64>) -> Hit {
        let modified = seconds.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        Hit { modified, path: path.to_owned() }
    }

    #[test]
    fn the_newest_come_first_then_by_path_and_all_are_counted() {
        let mut newest = Newest::new(3);
        for (path, seconds) in
            [("old", Some(1)), ("b", Some(5)), ("a", Some(5)), ("none", None), ("new", Some(9))]
        {
            newest.push(hit(path, seconds));
        }
        assert_eq!(newest.total(), 5);
        let paths: Vec<String> = newest.into_sorted().into_iter().map(|hit| hit.path).collect();
        assert_eq!(paths, ["new", "a", "b"]);
    }
}
