//! Which calls an undo takes back: pure.

use haft_core::{CallId, ChangedBy};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The name of the tool, by which its own calls are told from others.
pub(crate) const NAME: &str = "undo";
/// Where the session remembers what was undone.
pub(crate) const UNDONE: &str = "undone";
/// So many undos are remembered.
const UNDOS_MAX: usize = 1_000;

/// What is to be undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// The last call that changed files and isn't undone.
    Last,
    /// One call, with those made inside it.
    Call(CallId),
    /// The calls of a turn.
    Turn(u64),
    /// All calls of the session.
    Session,
}

/// By undo, the calls that it took back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Undone(BTreeMap<CallId, Vec<CallId>>);

impl Undone {
    /// From the session's state; what doesn't have that form counts as nothing.
    pub(crate) fn of(state: Option<&Value>) -> Self {
        let known = state.and_then(|state| serde_json::from_value(state.clone()).ok());
        Self(known.unwrap_or_default())
    }

    /// From what all processes of the session share.
    pub(crate) fn shared(bytes: Option<&[u8]>) -> Self {
        Self::of(bytes.and_then(|bytes| serde_json::from_slice(bytes).ok()).as_ref())
    }

    /// With what another account says. What one of them knows to be taken back itself took nothing back.
    #[must_use]
    pub(crate) fn joined(mut self, other: Self) -> Self {
        for (undo, calls) in other.0 {
            self.0.entry(undo).or_insert(calls);
        }
        let taken: BTreeSet<CallId> = self.0.values().flatten().cloned().collect();
        self.0.retain(|undo, _| !taken.contains(undo));
        self
    }

    /// The undo that took the call back.
    pub(crate) fn by(&self, call: &CallId) -> Option<&CallId> {
        self.0.iter().find(|(_, undone)| undone.contains(call)).map(|(undo, _)| undo)
    }

    /// For the session's state.
    pub(crate) fn value(&self) -> Value {
        let entries = self.0.iter().map(|(undo, calls)| {
            let calls = calls.iter().map(|call| Value::String(call.to_string())).collect();
            (undo.to_string(), Value::Array(calls))
        });
        Value::Object(entries.collect())
    }

    /// Whether the call was taken back.
    pub(crate) fn has(&self, call: &CallId) -> bool {
        self.0.values().flatten().any(|undone| undone == call)
    }

    /// The same after one more undo. An undo among the calls is undone itself, so what it took back counts again.
    #[must_use]
    pub(crate) fn and(mut self, undo: &CallId, calls: &BTreeSet<CallId>) -> Self {
        self.0.retain(|earlier, _| !calls.contains(earlier));
        self.0.insert(undo.clone(), calls.iter().cloned().collect());
        while self.0.len() > UNDOS_MAX {
            self.0.pop_first();
        }
        self
    }
}

/// The calls that are meant; none where nothing is.
pub(crate) fn chosen(target: &Target, changes: &[ChangedBy], undone: &Undone) -> BTreeSet<CallId> {
    let open = || changes.iter().filter(|change| is_open(change, undone));
    match target {
        Target::Last => match open().next_back().map(|change| outermost(&change.call)) {
            Some(last) => ids(open().filter(|change| outermost(&change.call) == last)),
            None => BTreeSet::new(),
        },
        // Named, it is taken back whatever it is: so an undo is undone.
        Target::Call(call) => {
            ids(changes.iter().filter(|change| change.call == *call || change.call.is_inside(call)))
        }
        Target::Turn(turn) => ids(open().filter(|change| change.turn == Some(*turn))),
        Target::Session => ids(open()),
    }
}

fn ids<'a>(changes: impl Iterator<Item = &'a ChangedBy>) -> BTreeSet<CallId> {
    changes.map(|change| change.call.clone()).collect()
}

/// Whether the call is no undo, and wasn't undone.
fn is_open(change: &ChangedBy, undone: &Undone) -> bool {
    &*change.tool != NAME && !undone.has(&change.call)
}

/// The calls that can still be undone, oldest first; those made inside another belong to it.
pub(crate) fn open(changes: &[ChangedBy], undone: &Undone) -> Vec<ChangedBy> {
    let mut all: BTreeMap<CallId, ChangedBy> = BTreeMap::new();
    for change in changes.iter().filter(|change| is_open(change, undone)) {
        let call = outermost(&change.call);
        match all.get_mut(&call) {
            Some(known) => {
                if !known.tool.split(", ").any(|tool| *tool == *change.tool) {
                    known.tool = format!("{}, {}", known.tool, change.tool).into();
                }
                known.files.extend(change.files.iter().cloned());
            }
            None => drop(all.insert(call.clone(), ChangedBy { call, ..change.clone() })),
        }
    }
    all.into_values().collect()
}

/// The call of the model or host that led to this one.
fn outermost(call: &CallId) -> CallId {
    CallId(Arc::from(call.0.get(..1).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::{FileStep, RealPath};
    use serde_json::json;

    fn call(text: &str) -> CallId {
        CallId::parse(text).unwrap()
    }

    fn changes(calls: &[(&str, &str, u64)]) -> Vec<ChangedBy> {
        let step = FileStep {
            path: RealPath::new("/w", "a"),
            before: None,
            after: None,
            seen: None,
            folders: Vec::new(),
            unkept: None,
        };
        let each = calls.iter().map(|(id, tool, turn)| ChangedBy {
            call: call(id),
            tool: (*tool).into(),
            turn: Some(*turn),
            files: vec![step.clone()],
        });
        each.collect()
    }

    fn names(calls: &BTreeSet<CallId>) -> String {
        calls.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_target_means_its_calls() {
        let changes = changes(&[
            ("1", "edit", 1),
            ("2.1", "write", 1),
            ("2.2", "edit", 1),
            ("3", "edit", 2),
            ("4", NAME, 2),
        ]);
        let undone = Undone::default().and(&call("4"), &BTreeSet::from([call("3")]));
        let cases = [
            (Target::Last, "2.1 2.2"),
            (Target::Call(call("2")), "2.1 2.2"),
            (Target::Call(call("2.2")), "2.2"),
            (Target::Call(call("3")), "3"),
            (Target::Call(call("4")), "4"),
            (Target::Call(call("9")), ""),
            (Target::Turn(1), "1 2.1 2.2"),
            (Target::Turn(2), ""),
            (Target::Session, "1 2.1 2.2"),
        ];
        for (target, expected) in cases {
            assert_eq!(names(&chosen(&target, &changes, &undone)), expected, "{target:?}");
        }
        let open: Vec<(String, String)> =
            open(&changes, &undone).iter().map(|by| (by.call.to_string(), by.tool.to_string())).collect();
        assert_eq!(open, [("1".into(), "edit".into()), ("2".into(), "write, edit".into())]);
    }

    #[test]
    fn an_undone_undo_gives_back_what_it_took() {
        let first = Undone::default().and(&call("4"), &BTreeSet::from([call("3")]));
        assert!(first.has(&call("3")));
        let second = first.and(&call("5"), &BTreeSet::from([call("4")]));
        assert!(!second.has(&call("3")) && second.has(&call("4")));
    }

    #[test]
    fn two_accounts_are_joined() {
        let first = Undone::default().and(&call("4"), &BTreeSet::from([call("3")]));
        let other = Undone::shared(Some(br#"{"5":["2"]}"#));
        let both = first.clone().joined(other);
        assert_eq!((both.by(&call("3")), both.by(&call("2"))), (Some(&call("4")), Some(&call("5"))));
        let later = first.clone().and(&call("6"), &BTreeSet::from([call("4")]));
        assert!(!first.joined(later).has(&call("3")), "its undo was undone");
        assert_eq!(Undone::shared(Some(b"{")), Undone::default());
    }

    #[test]
    fn what_was_undone_survives_the_sessions_state() {
        let undone = Undone::default().and(&call("4"), &BTreeSet::from([call("3"), call("2.1")]));
        assert_eq!(undone.value(), json!({"4": ["2.1", "3"]}));
        assert_eq!(Undone::of(Some(&undone.value())), undone);
        assert_eq!(Undone::of(Some(&json!({"x": 1}))), Undone::default());
        assert_eq!(Undone::of(None), Undone::default());
    }
}
