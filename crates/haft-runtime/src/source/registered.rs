//! Keeps the catalogue in step with what a source brings.

use crate::catalogue::{Catalogue, Handle, Problem, RegisterError};
use haft_core::AnyTool;
use std::{collections::BTreeMap, sync::Arc};

/// A tool that a source brings.
pub struct Found {
    /// The tool.
    pub tool: Arc<dyn AnyTool>,
    /// Hash of its definition and content.
    pub hash: Arc<str>,
    /// Where it is declared, as it is shown to people.
    pub path: String,
    /// The line of its name there.
    pub line: usize,
}

/// What a sync changed, by tool name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Synced {
    /// New tools.
    pub added: Vec<Arc<str>>,
    /// Tools whose content changed.
    pub changed: Vec<Arc<str>>,
    /// Tools that are gone, or can't be used any more.
    pub removed: Vec<Arc<str>>,
}

/// The registered tools of one owner. Dropping it takes them out of the catalogue.
#[derive(Default)]
pub struct Registered {
    kept: BTreeMap<Arc<str>, Kept>,
}

struct Kept {
    hash: Arc<str>,
    _handle: Handle,
}

impl Registered {
    /// Registers what is new or changed, drops what is gone, replaces the owner's problems.
    pub fn sync(
        &mut self,
        catalogue: &Catalogue,
        owner: &str,
        (found, mut problems): (Vec<Found>, Vec<Problem>),
    ) -> Synced {
        let mut before = std::mem::take(&mut self.kept);
        let mut synced = Synced::default();
        for found in found {
            let name = found.tool.spec().model_name();
            if self.kept.contains_key(&name) {
                problems.push(found.twice(owner, &name));
                continue;
            }
            let old = before.remove(&name);
            if old.as_ref().is_some_and(|kept| kept.hash == found.hash) {
                self.kept.extend(old.map(|kept| (name, kept)));
                continue;
            }
            let hash = Arc::clone(&found.hash);
            match catalogue.register_hashed(Arc::clone(&found.tool), owner, Some(Arc::clone(&hash))) {
                Ok(handle) => {
                    let list = if old.is_some() { &mut synced.changed } else { &mut synced.added };
                    list.push(Arc::clone(&name));
                    self.kept.insert(name, Kept { hash, _handle: handle });
                }
                Err(error) => {
                    synced.removed.extend(old.map(|_| name));
                    problems.push(found.refused(owner, &error));
                }
            }
        }
        synced.removed.extend(before.into_keys());
        catalogue.report(owner, problems);
        synced
    }
}

impl Found {
    /// Why the catalogue didn't take it.
    pub fn refused(&self, owner: &str, error: &RegisterError) -> Problem {
        let rename = "choose another name for the tool and its folder";
        let (text, fix) = match error {
            RegisterError::Taken { tool, owner } if owner == "core" => (
                format!("\"{tool}\" hides a built-in: the built-in wins, and this folder is set aside"),
                rename,
            ),
            RegisterError::Taken { .. } => (error.to_string(), rename),
            other => (other.to_string(), "correct the manifest"),
        };
        self.problem(owner, text, fix)
    }

    /// Why it isn't used where its owner has another tool of that name.
    pub fn twice(&self, owner: &str, name: &str) -> Problem {
        self.problem(
            owner,
            format!("there are two tools named \"{name}\" here; the other is used"),
            "rename one",
        )
    }

    fn problem(&self, owner: &str, text: String, fix: &str) -> Problem {
        Problem {
            source: owner.to_owned(),
            path: Some(self.path.clone()),
            line: Some(self.line),
            text,
            fix: fix.to_owned(),
        }
    }
}
