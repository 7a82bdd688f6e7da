//! What a session takes in, kept where later calls, sessions and processes find it.
//!
//! The marks themselves are part of the session's policy, so that the gates see them, and of its state, so that they
//! last. Files that were written while a session bore marks bear them too: by path, and by content for copies.

use super::Session;
use haft_core::{Output, RealPath, StateFolder, Touch};
use haft_policy::{Access, Covered, Mark, Marks, Subject, Taint, TakenIn, taken_in};
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
/// More reasons for one mark aren't listed: it is set.
const REASONS_MAX: usize = 100;

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
            });
            at = session.parent();
        }
        // The next mark writes them down; until then they hold in this process, and a restart asks again.
    }

    /// Adds to the marks, in the sessions above too; what this session has now, where something came.
    fn add_marks(&self, subject: &Subject, taken: &TakenIn) -> Option<Marks> {
        let call = &subject.call;
        let adds = |marks: &Marks| {
            let is_new = |list: &[Mark], what: &Option<String>| {
                what.as_ref().is_some_and(|what| {
                    list.len() < REASONS_MAX && !list.iter().any(|mark| mark.what == *what)
                })
            };
            (is_new(&marks.private, &taken.private), is_new(&marks.untrusted, &taken.untrusted))
        };
        let mut own = None;
        let mut at = Some(self);
        while let Some(session) = at {
            let (private, untrusted) = adds(&session.policy().marks);
            if private || untrusted {
                session.change_policy(|policy| {
                    let mark =
                        |what: &Option<String>| what.clone().map(|what| Mark { call: call.clone(), what });
                    policy.marks.private.extend(mark(&taken.private).filter(|_| private));
                    policy.marks.untrusted.extend(mark(&taken.untrusted).filter(|_| untrusted));
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
        let Some(list) = self.marked_files() else { return };
        let hash_of = |path: &RealPath| {
            output.seen.iter().find(|(seen, _)| seen == path).map(|(_, seen)| Arc::clone(&seen.hash))
        };
        let mut found = |file: &MarkedFile, path: &str| {
            let what =
                |word: &Option<String>| word.as_ref().map(|word| format!("{path}, written after: {word}"));
            taken.private = taken.private.take().or_else(|| what(&file.private));
            taken.untrusted = taken.untrusted.take().or_else(|| what(&file.untrusted));
        };
        for (path, is_tree) in read(subject) {
            let name = path.absolute();
            let hash = hash_of(&path);
            for (marked, file) in &list.files {
                let is_it = *marked == name
                    || (is_tree && RealPath::new(&name, "").covers(&RealPath::new(marked, "")));
                let is_other_content = file.hash.is_some() && hash.is_some() && file.hash != hash;
                let is_copy = hash.is_some() && file.hash == hash;
                if (is_it && !is_other_content) || is_copy {
                    found(file, marked);
                }
            }
        }
    }

    /// Marks the files that a call wrote while the session bears marks.
    fn mark_written(&self, subject: &Subject, output: &Output) {
        let marks = self.policy().marks.clone();
        let word = |list: &[Mark]| list.last().map(|mark| mark.what.clone());
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
        // Best effort: where the list can't be written, the marks still hold in this session.
        let _ = state.update(at, &mut |before: Option<&[u8]>| {
            let mut list = before.map(parse).unwrap_or_default();
            let last = list.files.values().map(|file| file.at).max().unwrap_or(0);
            for ((path, hash), next) in files.iter().zip(last + 1..) {
                let file = MarkedFile {
                    at: next,
                    hash: hash.clone(),
                    private: private.clone(),
                    untrusted: untrusted.clone(),
                };
                list.files.insert(path.clone(), file);
            }
            while list.files.len() > FILES_MAX {
                let oldest = list.files.iter().min_by_key(|(_, file)| file.at).map(|(path, _)| path.clone());
                let Some(oldest) = oldest else { break };
                list.files.remove(&oldest);
            }
            serde_json::to_vec(&list).map_err(|error| {
                haft_core::Failure::internal("the marked files have no JSON form").diagnose(error.to_string())
            })
        });
    }

    fn marked_files(&self) -> Option<List> {
        let state: &Arc<dyn StateFolder> = self.state_folder()?;
        let bytes = state.read_tail(FILES, LIST_MAX_BYTES).ok()??;
        Some(parse(&bytes)).filter(|list| !list.files.is_empty())
    }
}

fn parse(bytes: &[u8]) -> List {
    serde_json::from_slice(bytes).unwrap_or_default()
}

/// The paths that a call may have read, and whether everything beneath counts.
fn read(subject: &Subject) -> Vec<(RealPath, bool)> {
    let stated = subject.effects.touches().iter().filter_map(|touch| match touch {
        Touch::Read(path) | Touch::Write(path) => Some((path.clone(), false)),
        Touch::ReadTree(path) | Touch::WriteTree(path) => Some((path.clone(), true)),
        Touch::Host(_) | Touch::Command(_) | Touch::Session(_) => None,
    });
    let named = subject.lines.iter().flat_map(|line| &line.paths).filter_map(|named| {
        let is_tree = matches!(named.word.access, Access::ReadTree | Access::WriteTree | Access::Named);
        named.path.as_ref().map(|path| (path.real.clone(), is_tree))
    });
    stated.chain(named).collect()
}
