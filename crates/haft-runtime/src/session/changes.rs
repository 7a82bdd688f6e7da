//! Which call changed which files, in order: what undo goes by. Filled by the calls of this process, and from the
//! log for those of others.

use haft_core::{CallId, ChangedBy, RealPath};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// So many steps are remembered; older calls go whole, the oldest first.
const STEPS_MAX: usize = 1_000;

/// The last changes of a session's calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Changes(VecDeque<ChangedBy>);

impl Changes {
    /// Adds what a call did now.
    pub(crate) fn add(&mut self, change: ChangedBy) {
        if change.files.is_empty() {
            return;
        }
        match self.0.back_mut() {
            Some(last) if last.call == change.call => last.files.extend(change.files),
            // Also where the call has an earlier entry: between the two another call changed something.
            _ => self.0.push_back(change),
        }
        while self.steps() > STEPS_MAX && self.forget_oldest() {}
    }

    /// Takes out the last steps of a call on these paths: they didn't happen.
    pub(crate) fn take_out(&mut self, call: &CallId, paths: &[RealPath]) {
        for path in paths {
            let own = self.0.iter_mut().rev().filter(|change| change.call == *call);
            for change in own {
                if let Some(at) = change.files.iter().rposition(|step| step.path == *path) {
                    change.files.remove(at);
                    break;
                }
            }
        }
        self.0.retain(|change| !change.files.is_empty());
    }

    /// All of them, oldest first.
    pub(crate) fn list(&self) -> Vec<ChangedBy> {
        self.0.iter().cloned().collect()
    }

    fn steps(&self) -> usize {
        self.0.iter().map(|change| change.files.len()).sum()
    }

    /// Lets the oldest call go, with all it did: half a call can't be undone. The newest call always stays.
    fn forget_oldest(&mut self) -> bool {
        let (Some(first), Some(last)) = (self.0.front(), self.0.back()) else { return false };
        if first.call == last.call {
            return false;
        }
        let call = first.call.clone();
        self.0.retain(|change| change.call != call);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{FileState, FileStep};

    fn changed(call: u64, files: &[&str]) -> ChangedBy {
        let state = FileState { hash: "h".into(), len: 1, mode: None, traits: None };
        let step = |name: &&str| FileStep {
            path: RealPath::new("/w", name),
            before: None,
            after: Some(state.clone()),
            seen: None,
            folders: Vec::new(),
            unkept: None,
        };
        let files = files.iter().map(step).collect();
        ChangedBy { call: CallId::outer(call), tool: "t".into(), turn: None, files }
    }

    fn shape(changes: &Changes) -> Vec<(String, usize)> {
        changes.0.iter().map(|change| (change.call.to_string(), change.files.len())).collect()
    }

    #[test]
    fn steps_keep_their_order_across_calls() {
        let mut changes = Changes::default();
        for (call, files) in
            [(1, &["a"][..]), (1, &["b"][..]), (2, &["a"][..]), (1, &["c"][..]), (3, &[][..])]
        {
            changes.add(changed(call, files));
        }
        assert_eq!(shape(&changes), [("1".into(), 2), ("2".into(), 1), ("1".into(), 1)]);
    }

    #[test]
    fn what_did_not_happen_is_taken_out_of_its_own_call_only() {
        let mut changes = Changes::default();
        changes.add(changed(1, &["a", "b"]));
        changes.add(changed(2, &["a"]));
        changes.take_out(&CallId::outer(1), &[RealPath::new("/w", "a")]);
        assert_eq!(shape(&changes), [("1".into(), 1), ("2".into(), 1)]);
        changes.take_out(&CallId::outer(2), &[RealPath::new("/w", "a")]);
        assert_eq!(shape(&changes), [("1".into(), 1)]);
    }

    #[test]
    fn the_oldest_calls_go_whole_and_the_newest_stays() {
        let mut changes = Changes::default();
        changes.add(changed(1, &["a"]));
        changes.add(changed(2, &["a"; 10]));
        changes.add(changed(1, &["b"]));
        changes.add(changed(3, &["a"; STEPS_MAX - 10]));
        assert_eq!(shape(&changes), [("2".into(), 10), ("3".into(), STEPS_MAX - 10)]);
        changes.add(changed(4, &["a"; STEPS_MAX + 1]));
        assert_eq!(shape(&changes), [("4".into(), STEPS_MAX + 1)]);
    }
}
