//! What an undo does to each file, or why it can't: pure.

use super::target::NAME;
use haft_core::{CallId, ChangedBy, FileState, FileStep, RealPath, Seen};
use sha2::{Digest, Sha256};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// What stands at a path now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Now {
    /// Nothing.
    Nothing,
    /// A file.
    File(FileState),
    /// Something else, or what can't be looked at, in words.
    Other(String),
}

/// All that is to be done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// By path.
    pub(crate) restores: Vec<Restore>,
    /// Files that are as they were before already.
    pub(crate) already: Vec<RealPath>,
    /// Folders that the calls made, each after the one it is in.
    pub(crate) folders: Vec<RealPath>,
    /// Changes that it would lose. Where there are any, nothing may be done.
    pub(crate) lost: Vec<Lost>,
}

/// One file to be put back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Restore {
    pub(crate) path: RealPath,
    /// How it is now; none where it isn't there.
    pub(crate) now: Option<FileState>,
    /// How it is to be; none where it is to be removed.
    pub(crate) to: Option<FileState>,
    /// What the model had been shown of that.
    pub(crate) seen: Option<Seen>,
    /// Why the content to be isn't kept, where that was known from the first.
    pub(crate) unkept: Option<String>,
}

/// A change, by others than the calls that are undone, that would be lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) path: RealPath,
    /// What a call had left.
    pub(crate) left: Option<FileState>,
    /// What became of it.
    pub(crate) found: Now,
    /// The calls that made it; none where haft knows of none.
    pub(crate) by: Vec<(CallId, Arc<str>)>,
}

/// A step, and its place among all.
type Placed<'a> = (usize, &'a FileStep);

/// The paths that these calls changed, and the folders that they made.
pub(crate) fn paths(changes: &[ChangedBy], calls: &BTreeSet<CallId>) -> Vec<RealPath> {
    let own = changes.iter().filter(|change| calls.contains(&change.call));
    let steps = own.flat_map(|change| &change.files);
    let mut paths: Vec<RealPath> =
        steps.flat_map(|step| step.folders.iter().chain([&step.path])).cloned().collect();
    paths.sort_by_key(RealPath::absolute);
    paths.dedup_by_key(|path| path.absolute());
    paths
}

/// Finds out what is to be done; `now` looks at a file.
pub(crate) fn plan(
    changes: &[ChangedBy],
    calls: &BTreeSet<CallId>,
    now: &mut dyn FnMut(&RealPath) -> Now,
) -> Plan {
    let mut chains: BTreeMap<String, Vec<Placed<'_>>> = BTreeMap::new();
    for (place, change) in changes.iter().enumerate().filter(|(_, change)| calls.contains(&change.call)) {
        for step in &change.files {
            chains.entry(step.path.absolute()).or_default().push((place, step));
        }
    }
    let mut plan = Plan { folders: folders(chains.values().flatten()), ..Plan::default() };
    for chain in chains.values() {
        let (Some((_, first)), Some((place, last))) = (chain.first(), chain.last()) else { continue };
        let found = now(&last.path);
        if is_as(&found, first.before.as_ref()) && !differs_in_mode(&found, chain) {
            plan.already.push(last.path.clone());
            continue;
        }
        let gaps = chain.windows(2).filter_map(|pair| gap(changes, calls, pair));
        let before = plan.lost.len();
        plan.lost.extend(gaps);
        let is_known = is_as(&found, last.after.as_ref()) || is_as(&found, first.before.as_ref());
        if !is_known {
            let by = authors(changes, calls, &last.path, (*place, usize::MAX));
            let (path, left) = (last.path.clone(), last.after.clone());
            plan.lost.push(Lost { path, left, found, by });
        } else if plan.lost.len() == before {
            plan.restores.push(restore(found, (first, last), chain));
        }
    }
    plan
}

/// The folders that were made, each once.
fn folders<'a>(steps: impl Iterator<Item = &'a Placed<'a>>) -> Vec<RealPath> {
    let all = steps.flat_map(|(_, step)| &step.folders);
    let by_path: BTreeMap<String, &RealPath> = all.map(|folder| (folder.absolute(), folder)).collect();
    by_path.into_values().cloned().collect()
}

/// What happened between two steps of the calls, if anything.
fn gap(changes: &[ChangedBy], calls: &BTreeSet<CallId>, pair: &[Placed<'_>]) -> Option<Lost> {
    let [(from, left), (to, found)] = pair else { return None };
    let (after, before) = (left.after.as_ref(), found.before.as_ref());
    if after.map(|state| &state.hash) == before.map(|state| &state.hash) {
        return None;
    }
    let by = authors(changes, calls, &left.path, (*from, *to));
    let found = found.before.clone().map_or(Now::Nothing, Now::File);
    Some(Lost { path: left.path.clone(), left: left.after.clone(), found, by })
}

/// The other calls that changed a path between two places.
fn authors(
    changes: &[ChangedBy],
    calls: &BTreeSet<CallId>,
    path: &RealPath,
    (from, to): (usize, usize),
) -> Vec<(CallId, Arc<str>)> {
    let path = path.absolute();
    let between = changes.iter().enumerate().filter(|(place, _)| *place > from && *place < to);
    let others = between.map(|(_, change)| change).filter(|change| {
        !calls.contains(&change.call) && change.files.iter().any(|step| step.path.absolute() == path)
    });
    let mut by: Vec<(CallId, Arc<str>)> =
        others.map(|change| (change.call.clone(), Arc::clone(&change.tool))).collect();
    by.dedup();
    by
}

fn is_as(now: &Now, state: Option<&FileState>) -> bool {
    match (now, state) {
        (Now::Nothing, None) => true,
        (Now::File(now), Some(state)) => now.hash == state.hash,
        _ => false,
    }
}

/// Whether the calls changed the mode, and it still is what they made of it.
fn differs_in_mode(now: &Now, chain: &[Placed<'_>]) -> bool {
    let Now::File(now) = now else { return false };
    mode_to(Some(now), chain).is_some_and(|mode| Some(mode) != now.mode)
}

/// The mode to give a file that stays, where the calls changed it; somebody else's change of it stays. A file that
/// went and was made anew has that of a new file, which isn't known before it is made.
fn mode_to(now: Option<&FileState>, chain: &[Placed<'_>]) -> Option<u32> {
    let (first, last) = (chain.first()?.1, chain.last()?.1);
    let (now, before) = (now?.mode?, first.before.as_ref()?.mode?);
    match last.after.as_ref()?.mode {
        Some(after) => (before != after && now == after).then_some(before),
        None => chain.iter().any(|(_, step)| step.after.is_none()).then_some(before),
    }
}

fn restore(now: Now, (first, last): (&FileStep, &FileStep), chain: &[Placed<'_>]) -> Restore {
    let now = match now {
        Now::File(state) => Some(state),
        Now::Nothing | Now::Other(_) => None,
    };
    let to = first.before.clone().map(|before| match &now {
        None => before,
        Some(state) => FileState { mode: mode_to(now.as_ref(), chain).or(state.mode), ..before },
    });
    let (seen, unkept) = (first.seen.clone(), first.unkept.clone());
    Restore { path: last.path.clone(), now, to, seen, unkept }
}

impl Plan {
    /// Stands for exactly these changes.
    pub(crate) fn digest(&self) -> Vec<u8> {
        let mut hasher = Sha256::new();
        for restore in &self.restores {
            hasher.update(restore.path.absolute());
            for state in [&restore.now, &restore.to] {
                hasher.update([0_u8]);
                if let Some(state) = state {
                    hasher.update(state.hash.as_bytes());
                    hasher.update(state.mode.unwrap_or_default().to_le_bytes());
                }
            }
            hasher.update([0_u8]);
        }
        hasher.finalize().to_vec()
    }
}

impl Lost {
    /// Calls of `undo` are named as what they are.
    pub(crate) fn authors(&self) -> String {
        let named = self.by.iter().map(|(call, tool)| match &**tool {
            NAME => format!("the undo {call}"),
            tool => format!("call {call} ({tool})"),
        });
        named.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(content: &str) -> Option<FileState> {
        let len = u64::try_from(content.len()).unwrap();
        let state = FileState { hash: content.into(), len, mode: Some(0o644), traits: None };
        (!content.is_empty()).then_some(state)
    }

    /// Calls as `(id, before, after)`, all of one file; an empty content is none.
    fn changes(steps: &[(u64, &str, &str)]) -> Vec<ChangedBy> {
        let each = steps.iter().map(|(call, before, after)| ChangedBy {
            call: CallId::outer(*call),
            tool: "edit".into(),
            turn: None,
            files: vec![FileStep {
                path: RealPath::new("/w", "f"),
                before: state(before),
                after: state(after),
                seen: None,
                folders: Vec::new(),
                unkept: None,
            }],
        });
        each.collect()
    }

    /// What becomes of the file: `to …`, `already`, or `lost … by …`.
    fn outcome(steps: &[(u64, &str, &str)], calls: &[u64], now: &str) -> String {
        let calls: BTreeSet<CallId> = calls.iter().map(|call| CallId::outer(*call)).collect();
        let plan = plan(&changes(steps), &calls, &mut |_| state(now).map_or(Now::Nothing, Now::File));
        let name = |state: Option<&FileState>| state.map_or("-", |state| &*state.hash).to_owned();
        let to = plan.restores.iter().map(|file| format!("to {}", name(file.to.as_ref())));
        let already = plan.already.iter().map(|_| "already".to_owned());
        let lost =
            plan.lost.iter().map(|lost| format!("lost {} by {}", name(lost.left.as_ref()), lost.authors()));
        let said: Vec<String> = to.chain(already).chain(lost).collect();
        said.join("; ")
    }

    #[test]
    fn a_file_goes_back_through_all_its_steps() {
        let steps = [(1, "", "a"), (2, "a", "b"), (3, "b", "c"), (4, "c", "")];
        assert_eq!(outcome(&steps, &[1, 2, 3, 4], ""), "already", "made and removed again");
        assert_eq!(outcome(&steps, &[4], ""), "to c");
        assert_eq!(outcome(&steps, &[2, 3, 4], ""), "to a");
        assert_eq!(outcome(&steps[..3], &[3], "c"), "to b");
        assert_eq!(outcome(&steps[..3], &[1, 2, 3], "c"), "to -");
    }

    #[test]
    fn a_change_since_is_never_lost() {
        let steps = [(1, "a", "b"), (2, "b", "c")];
        assert_eq!(outcome(&steps, &[1], "c"), "lost b by call 2 (edit)");
        assert_eq!(outcome(&steps, &[1, 2], "x"), "lost c by ");
        assert_eq!(outcome(&steps, &[2], ""), "lost c by ");
        assert_eq!(outcome(&[(1, "a", "")], &[1], "x"), "lost - by ");
    }

    #[test]
    fn a_change_between_is_never_lost() {
        let steps = [(1, "a", "b"), (2, "b", "c"), (3, "c", "d")];
        assert_eq!(outcome(&steps, &[1, 3], "d"), "lost b by call 2 (edit)");
        assert_eq!(outcome(&[(1, "a", "b"), (3, "c", "d")], &[1, 3], "d"), "lost b by ");
        assert_eq!(outcome(&steps, &[1, 2, 3], "d"), "to a");
    }

    #[test]
    fn what_others_have_taken_back_is_no_loss() {
        assert_eq!(outcome(&[(1, "a", "b"), (2, "b", "c"), (3, "c", "b")], &[1], "b"), "to a");
        assert_eq!(outcome(&[(1, "a", "b"), (2, "b", "c")], &[1, 2], "a"), "already");
    }

    #[test]
    fn a_mode_that_the_call_changed_goes_back_and_anothers_stays() {
        let with = |mode: u32| state("x").map(|state| FileState { mode: Some(mode), ..state });
        let mut changes = changes(&[(1, "x", "x")]);
        changes[0].files[0].after = with(0o755);
        let calls = BTreeSet::from([CallId::outer(1)]);
        let to = |now: u32| {
            let plan = plan(&changes, &calls, &mut |_| Now::File(with(now).unwrap()));
            plan.restores.first().map(|restore| restore.to.as_ref().unwrap().mode.unwrap())
        };
        assert_eq!(to(0o755), Some(0o644));
        assert_eq!(to(0o700), None, "somebody set it since");
        assert_eq!(to(0o644), None);
    }

    #[test]
    fn a_file_made_anew_gets_its_old_mode_back() {
        let with = |content: &str, mode: Option<u32>| state(content).map(|state| FileState { mode, ..state });
        let mut changes = changes(&[(1, "x", ""), (2, "", "y"), (3, "y", "y")]);
        changes[0].files[0].before = with("x", Some(0o755));
        changes[1].files[0].after = with("y", None);
        changes[2].files[0].after = with("y", Some(0o744));
        let to = |calls: &[u64], now: (&str, u32)| {
            let calls = calls.iter().map(|call| CallId::outer(*call)).collect();
            let plan = plan(&changes, &calls, &mut |_| Now::File(with(now.0, Some(now.1)).unwrap()));
            plan.restores.first().map(|restore| restore.to.as_ref().unwrap().mode.unwrap())
        };
        assert_eq!(to(&[1, 2], ("y", 0o644)), Some(0o755));
        assert_eq!(to(&[1, 2], ("x", 0o644)), Some(0o755), "the content is as it was already");
        assert_eq!(to(&[1, 2], ("x", 0o755)), None);
        assert_eq!(to(&[1, 2, 3], ("y", 0o744)), Some(0o755));
        assert_eq!(to(&[1, 2, 3], ("y", 0o700)), Some(0o700), "somebody set it since");
    }

    #[test]
    fn a_digest_stands_for_what_is_and_what_is_to_be() {
        let digest = |now: &str| {
            let steps = changes(&[(1, "a", now)]);
            plan(&steps, &BTreeSet::from([CallId::outer(1)]), &mut |_| Now::File(state(now).unwrap()))
                .digest()
        };
        assert_eq!(digest("b"), digest("b"));
        assert_ne!(digest("b"), digest("c"));
    }
}
