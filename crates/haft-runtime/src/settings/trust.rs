//! What the user said about a workspace: whether it is trusted, what may always run in it, and which foreign tools
//! were let run.
//!
//! One file a workspace, in the user's state folder and never in the workspace, so that no repository brings
//! its own. A damaged file grants nothing and says so; since it may have held refusals, every call asks until it is
//! mended. It isn't written over either: what it held can still be of use to a person.

mod file;
mod grant;

pub use file::TrustFile;
pub use grant::SavedGrant;

use super::pins::SavedPin;
use crate::catalogue::Problem;
use haft_policy::{Action, Grant, Rule, RuleOrigin};
use std::collections::{BTreeMap, BTreeSet};

/// What a trust file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trust {
    /// Whether the user trusts the workspace.
    pub trusted: bool,
    /// What may always run.
    pub saved: Vec<SavedGrant>,
    /// What must never run.
    pub denied: Vec<SavedGrant>,
    /// The foreign tools that were let run, as they were then, by owner and name with a slash between.
    pub pins: BTreeMap<String, SavedPin>,
    /// The servers of the workspace that may be started, as they were when the user approved them.
    pub servers: BTreeMap<String, SavedPin>,
    /// What the workspace brought when the user trusted it and that may do more than tighten only as it was then: its
    /// extensions and hooks, each a word for what it is with its hash.
    pub approved: BTreeSet<String>,
    /// Where it is.
    pub path: String,
    /// Why it says nothing, where it is damaged.
    pub problems: Vec<Problem>,
}

impl Trust {
    /// The grants as rules that allow. One that is no rule grants nothing, and is a problem.
    pub fn grants(&self, place: &super::Place) -> (Vec<Grant>, Vec<Problem>) {
        let at = place.rule_origin(Some(self.path.clone()));
        let (mut grants, mut problems) = (Vec::new(), Vec::new());
        for saved in &self.saved {
            match Rule::parse(Action::Allow, &saved.rule, &at) {
                Ok(rule) => grants.push(Grant { rule, tool_hash: saved.tool_hash.clone() }),
                Err(error) => problems.push(problem(
                    &self.path,
                    format!("the grant \"{}\" grants nothing: {error}", saved.rule),
                    "remove it from the file; haft asks again and saves a new one",
                )),
            }
        }
        (grants, problems)
    }

    /// The refusals as rules that deny. One that is no rule denies its tool, and is a problem. Of a damaged file, which
    /// may have held refusals, a rule that asks about everything.
    pub fn denials(&self, place: &super::Place) -> (Vec<Rule>, Vec<Problem>) {
        let at = place.rule_origin(Some(self.path.clone()));
        let (mut rules, mut problems) = (Vec::new(), Vec::new());
        if !self.problems.is_empty() {
            let source = Some(format!("{}; that file is damaged, so every call asks", self.path));
            rules.extend(Rule::parse(Action::Ask, "*", &RuleOrigin { source, ..at.clone() }).ok());
        }
        for denied in &self.denied {
            rules.push(Rule::parse(Action::Deny, &denied.rule, &at).unwrap_or_else(|error| {
                problems.push(problem(
                    &self.path,
                    format!("the refusal \"{}\" doesn't parse: {error}", denied.rule),
                    "remove it with `haft permissions revoke`, and write it anew with `haft permissions deny`",
                ));
                Rule::broken(Action::Deny, &denied.rule, &at, &error)
            }));
        }
        (rules, problems)
    }
}

fn problem(path: &str, text: String, fix: &str) -> Problem {
    Problem {
        source: "trust".to_owned(),
        path: Some(path.to_owned()),
        line: Some(1),
        text,
        fix: fix.to_owned(),
    }
}
