//! What a session takes in, kept where later calls, sessions and processes find it.
//!
//! The marks themselves are part of the session's policy, so that the gates see them, and of its state, so that they
//! last. Files that were written while a session bore marks bear them too: by path, and by content for copies.

use super::Session;
use haft_core::{Output, RealPath, StateFolder, Touch};
use haft_policy::{Access, Covered, Mark, Marks, Subject, Taint, TakenIn, covers, taken_in, ways_out};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::Arc};

/// The key of the session's state that holds its marks.
pub(super) const MARKS: &str = "marks";
/// Where the workspace's marked files are listed.
const FILES: &str = "marked-files.json";
/// More files aren't remembered; the ones marked longest ago go first.
const FILES_MAX: usize = 5_000;
/// A longer list isn't one of ours.
const LIST_MAX_BYTES: usize = 8 << 20;
/// What we write stays well below that.
const KEPT_MAX_BYTES: usize = 2 << 20;
/// What the form of the list adds to a file's own texts, at most.
const LAYOUT_BYTES: usize = 160;
/// More reasons for one mark aren't listed: it is set.
const REASONS_MAX: usize = 100;
/// More ways out aren't remembered as allowed; the one allowed longest ago asks again.
const COVERED_MAX: usize = 100;
/// A reason that came through a file: what the file holds follows its path.
const HOLDS: &str = " (holds: ";
/// How much is told of such a reason, and of what the file holds.
const THROUGH_MAX_CHARS: usize = 200;
const ORIGINAL_MAX_CHARS: usize = 100;
/// What reading brings where nobody can tell which files are marked.
const UNREADABLE: &str = "the list of marked files can't be read";

/// Files that one session marked itself, each with its number in the list.
pub(super) type OwnMarked = BTreeMap<String, u64>;

/// A file that bears marks.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct MarkedFile {
    /// When it was marked: a number that grows.
    at: u64,
    /// SHA-256 of its content then; none where it isn't known, and then any content counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hash: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    private: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    untrusted: Option<String>,
}

/// The list as it is kept: files by absolute path.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct List {
    files: BTreeMap<String, MarkedFile>,
    /// Whether an earlier list couldn't be read, so that any file may be marked. Holds until a person removes the list.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    lost: bool,
}

impl Session {
    /// Takes note of what a call that ran has brought in, here and in the sessions above, and marks what it wrote.
    pub(crate) fn take_in(&self, subject: &Subject, output: &mut Output) {
        // No tool writes the marks itself.
        output.session.retain(|(key, _)| key.as_ref() != MARKS);
        let policy = self.policy();
        if policy.taint == Taint::Off {
            return;
        }
        let mut taken = taken_in(subject, &policy);
        if taken.untrusted.is_some() {
            let ways = ways_out(subject);
            if !ways.is_empty() && ways.iter().all(|way| policy.marks.covers(way)) {
                // A person let it go there and back; else its own answer would take that back at once.
                taken.untrusted = None;
            }
        }
        if taken.private.is_none() || taken.untrusted.is_none() {
            self.add_marked_files(subject, output, &mut taken);
        }
        let marks = self.add_marks(subject, &taken);
        if let Some(marks) = marks.and_then(|marks| serde_json::to_value(marks).ok()) {
            output.session.push((MARKS.into(), marks));
        }
        self.mark_written(subject, output);
    }

    /// The marks that the session's state holds from before.
    pub(super) fn known_marks(state: &BTreeMap<Arc<str>, serde_json::Value>) -> Marks {
        state.get(MARKS).and_then(|marks| Marks::deserialize(marks).ok()).unwrap_or_default()
    }

    /// Lets what a person approved go out by this way, for just the marks there are now.
    pub(crate) fn cover(&self, ways: &[String]) {
        let mut at = Some(self);
        while let Some(session) = at {
            session.change_policy(|policy| {
                let marks = &mut policy.marks;
                let (private, untrusted) = (marks.private.len(), marks.untrusted.len());
                for way in ways {
                    marks.covered.retain(|covered| covered.way != *way);
                    marks.covered.push(Covered { way: way.clone(), private, untrusted });
                }
                let further = marks.covered.len().saturating_sub(COVERED_MAX);
                marks.covered.drain(..further);
            });
            at = session.parent();
        }
        // The next mark writes them down; until then they hold in this process, and a restart asks again.
    }

    /// Adds to the marks, in the sessions above too; what this session has now, where something came.
    fn add_marks(&self, subject: &Subject, taken: &TakenIn) -> Option<Marks> {
        let call = &subject.call;
        let is_new = |list: &[Mark], what: &Option<String>| {
            what.as_ref().is_some_and(|what| !list.iter().any(|mark| mark.what == *what))
        };
        let mut own = None;
        let mut at = Some(self);
        while let Some(session) = at {
            let known = session.policy();
            let private = is_new(&known.marks.private, &taken.private);
            let untrusted = is_new(&known.marks.untrusted, &taken.untrusted);
            if private || untrusted {
                session.change_policy(|policy| {
                    let marks = &mut policy.marks;
                    let lists = [
                        (&mut marks.private, taken.private.as_ref().filter(|_| private)),
                        (&mut marks.untrusted, taken.untrusted.as_ref().filter(|_| untrusted)),
                    ];
                    for (list, what) in lists {
                        let Some(what) = what else { continue };
                        if list.len() < REASONS_MAX {
                            list.push(Mark { call: call.clone(), what: what.clone() });
                        } else {
                            // What isn't listed can't be counted, so nothing that was allowed before it holds.
                            marks.covered.clear();
                        }
                    }
                });
                if own.is_none() && std::ptr::eq(session, self) {
                    own = Some(session.policy().marks.clone());
                }
            }
            at = session.parent();
        }
        own
    }

    /// Adds what the files that a call read bear.
    fn add_marked_files(&self, subject: &Subject, output: &Output, taken: &mut TakenIn) {
        let paths = read(subject);
        if paths.is_empty() {
            return;
        }
        let Some(list) = self.marked_files() else { return };
        let hash_of = |path: &RealPath| {
            output.seen.iter().find(|(seen, _)| seen == path).map(|(_, seen)| Arc::clone(&seen.hash))
        };
        let policy = self.policy();
        let own = self.own_marked();
        let mut found = |file: &MarkedFile, path: &str| {
            let is_own = own.get(path) == Some(&file.at);
            let what = |word: &Option<String>, held: &[Mark]| {
                let word = original(word.as_ref()?);
                // What the session wrote itself brings back nothing but what it holds.
                let is_held = || held.iter().any(|mark| original(&mark.what) == word);
                (!(is_own && is_held())).then(|| through(path, &word))
            };
            taken.private = taken.private.take().or_else(|| what(&file.private, &policy.marks.private));
            taken.untrusted =
                taken.untrusted.take().or_else(|| what(&file.untrusted, &policy.marks.untrusted));
        };
        for (path, is_tree) in &paths {
            let name = path.absolute();
            let hash = hash_of(path);
            for (marked, file) in &list.files {
                let is_it = *marked == name || (*is_tree && covers(&name, marked));
                // A byte more by somebody else doesn't make it another file.
                let is_copy = hash.is_some() && file.hash == hash;
                if is_it || is_copy {
                    found(file, marked);
                }
            }
        }
        if list.lost {
            let unknown = || Some(UNREADABLE.to_owned());
            taken.private = taken.private.take().or_else(unknown);
            taken.untrusted = taken.untrusted.take().or_else(unknown);
        }
    }

    /// Marks the files that a call wrote while the session bears marks.
    fn mark_written(&self, subject: &Subject, output: &Output) {
        let marks = self.policy().marks.clone();
        let word = |list: &[Mark]| list.last().map(|mark| original(&mark.what));
        let (private, untrusted) = (word(&marks.private), word(&marks.untrusted));
        if private.is_none() && untrusted.is_none() {
            return;
        }
        let mut files: BTreeMap<String, Option<Arc<str>>> = BTreeMap::new();
        for path in subject.lines.iter().flat_map(|line| &line.paths) {
            if let Some(real) = path.path.as_ref().filter(|_| path.word.access >= Access::Write) {
                files.insert(real.real.absolute(), None);
            }
        }
        for path in subject.effects.touches().iter().filter(|touch| touch.writes()).filter_map(Touch::path) {
            files.insert(path.absolute(), None);
        }
        files.extend(
            output.files.iter().filter_map(|change| {
                Some((change.path.absolute(), Some(Arc::clone(change.after.as_ref()?))))
            }),
        );
        // A long result lies in a file of its own.
        let spilled = output.truncation.as_ref().and_then(|cut| cut.path.clone());
        files.extend(spilled.map(|path| (path, None)));
        if files.is_empty() {
            return;
        }
        let (Some(state), at) = (self.state_folder(), FILES) else { return };
        let mut given = OwnMarked::new();
        // Best effort: where the list can't be written, the marks still hold in this session.
        let written = state.update(at, &mut |before: Option<&[u8]>| {
            let mut list = before.map(parse).unwrap_or_default();
            let last = list.files.values().map(|file| file.at).max().unwrap_or(0);
            given.clear();
            for ((path, hash), next) in files.iter().zip(last.saturating_add(1)..) {
                let file = MarkedFile {
                    at: next,
                    hash: hash.clone(),
                    private: private.clone(),
                    untrusted: untrusted.clone(),
                };
                list.files.insert(path.clone(), file);
                given.insert(path.clone(), next);
            }
            fit(&mut list.files);
            serde_json::to_vec(&list).map_err(|error| {
                haft_core::Failure::internal("the marked files have no JSON form").diagnose(error.to_string())
            })
        });
        if written.is_ok() {
            let mut own = self.own_marked();
            own.append(&mut given);
            if own.len() > FILES_MAX {
                own.clear();
            }
        }
    }

    /// The list as it is now; none where it has nothing to say.
    fn marked_files(&self) -> Option<List> {
        let state: &Arc<dyn StateFolder> = self.state_folder()?;
        let list = match state.read_tail(FILES, LIST_MAX_BYTES + 1) {
            Ok(None) => return None,
            Ok(Some(bytes)) if bytes.len() <= LIST_MAX_BYTES => parse(&bytes),
            Ok(Some(_)) | Err(_) => List { lost: true, ..List::default() },
        };
        Some(list).filter(|list| list.lost || !list.files.is_empty())
    }
}

/// The list in these bytes. One that can't be read has lost what it said.
fn parse(bytes: &[u8]) -> List {
    serde_json::from_slice(bytes).unwrap_or_else(|_| List { lost: true, ..List::default() })
}

/// Lets the files go that were marked longest ago, until the rest is few and short enough.
fn fit(files: &mut BTreeMap<String, MarkedFile>) {
    let text = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let mut all: Vec<(u64, usize, String)> = files
        .iter()
        .map(|(path, file)| {
            let size = path.len() + text(&file.private) + text(&file.untrusted) + LAYOUT_BYTES;
            (file.at, size, path.clone())
        })
        .collect();
    all.sort_by_key(|(at, ..)| std::cmp::Reverse(*at));
    let mut total = 0usize;
    for (number, (_, size, path)) in all.into_iter().enumerate() {
        total = total.saturating_add(size);
        if number >= FILES_MAX || total > KEPT_MAX_BYTES {
            files.remove(&path);
        }
    }
}

/// What set a mark first, whatever files it came through since.
fn original(what: &str) -> String {
    let inner = what.strip_suffix(')').and_then(|rest| rest.rsplit_once(HOLDS));
    let first = inner.map_or(what, |(_, held)| held);
    first.chars().take(ORIGINAL_MAX_CHARS).collect()
}

/// A reason that came through a file; of a long path its end is told.
fn through(path: &str, original: &str) -> String {
    let rest = original.chars().count() + HOLDS.len() + 2;
    let further = path.chars().count().saturating_sub(THROUGH_MAX_CHARS.saturating_sub(rest));
    let cut = if further > 0 { "…" } else { "" };
    let shown: String = path.chars().skip(further).collect();
    format!("{cut}{shown}{HOLDS}{original})")
}

/// The paths that a call may have read, and whether everything beneath counts.
fn read(subject: &Subject) -> Vec<(RealPath, bool)> {
    let stated = subject.effects.touches().iter().filter_map(|touch| match touch {
        Touch::Read(path) | Touch::Write(path) => Some((path.clone(), false)),
        Touch::ReadTree(path) | Touch::WriteTree(path) => Some((path.clone(), true)),
        Touch::Host(_)
        | Touch::Command(_)
        | Touch::Server(_)
        | Touch::Session(_)
        | Touch::Unconfined
        | Touch::Outlives => None,
    });
    let named = subject.lines.iter().flat_map(|line| &line.paths).filter_map(|named| {
        let is_tree = matches!(named.word.access, Access::ReadTree | Access::WriteTree | Access::Named);
        named.path.as_ref().map(|path| (path.real.clone(), is_tree))
    });
    stated.chain(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_stays_what_it_was_however_many_files_it_came_through() {
        let mut what = "web".to_owned();
        for number in 0..50 {
            what = through(&format!("/w/{}/{number}", "é".repeat(300)), &original(&what));
            assert_eq!(original(&what), "web");
            assert!(what.chars().count() <= THROUGH_MAX_CHARS, "{what}");
        }
        assert!(what.starts_with('…') && what.ends_with("/49 (holds: web)"), "{what}");
        assert_eq!(through("/w/a", "get (read(./x))"), "/w/a (holds: get (read(./x)))");
        assert_eq!(original("/w/a (holds: get (read(./x)))"), "get (read(./x))");
    }

    #[test]
    fn the_files_marked_longest_ago_go_where_there_are_too_many_or_too_much() {
        let of = |at: u64, text: usize| MarkedFile {
            at,
            hash: None,
            private: Some("x".repeat(text)),
            untrusted: None,
        };
        let numbered = |count: usize, text: usize| -> BTreeMap<String, MarkedFile> {
            (0..count)
                .map(|number| (format!("/w/{number:06}"), of(u64::try_from(number).unwrap(), text)))
                .collect()
        };
        let mut many = numbered(FILES_MAX + 3, 1);
        fit(&mut many);
        assert_eq!(many.len(), FILES_MAX);
        assert!(!many.contains_key("/w/000002") && many.contains_key("/w/000003"));
        let mut large = numbered(100, KEPT_MAX_BYTES / 10);
        fit(&mut large);
        assert_eq!(large.len(), 9);
        assert!(large.contains_key("/w/000099"));
    }

    #[test]
    fn a_list_that_is_no_list_has_lost_what_it_said() {
        assert!(parse(b"{").lost && parse(b"").lost);
        assert!(!parse(b"{\"files\":{}}").lost);
        let again = serde_json::to_vec(&parse(b"{")).unwrap();
        assert!(parse(&again).lost, "and that lasts");
    }
}
