//! What `git` takes.

use haft_core::Failure;
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Action {
    Status,
    Diff,
    Log,
    Show,
    Blame,
    Branch,
    Add,
    Commit,
    Stash,
    Switch,
    Worktree,
    Fetch,
    Push,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum Op {
    List,
    Add,
    Remove,
    Pop,
    Apply,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GitInput {
    pub(crate) action: Action,
    /// Of branch, stash, worktree (default list); switch add makes it
    pub(crate) op: Option<Op>,
    /// Branch, or stash number
    pub(crate) name: Option<String>,
    /// Commit, range or COMMIT:FILE
    pub(crate) rev: Option<String>,
    pub(crate) paths: Option<Vec<String>>,
    pub(crate) message: Option<String>,
    pub(crate) staged: Option<bool>,
    pub(crate) amend: Option<bool>,
    /// Push with lease, or drop work
    pub(crate) force: Option<bool>,
    pub(crate) remote: Option<String>,
    #[schemars(range(min = 1, max = 200))]
    pub(crate) limit: Option<u32>,
    /// Of blame: "10-20"
    pub(crate) lines: Option<String>,
}

impl Action {
    /// As git calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Diff => "diff",
            Self::Log => "log",
            Self::Show => "show",
            Self::Blame => "blame",
            Self::Branch => "branch",
            Self::Add => "add",
            Self::Commit => "commit",
            Self::Stash => "stash",
            Self::Switch => "switch",
            Self::Worktree => "worktree",
            Self::Fetch => "fetch",
            Self::Push => "push",
        }
    }

    /// The fields that it takes.
    fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Status => &["paths"],
            Self::Diff => &["staged", "rev", "paths"],
            Self::Log => &["rev", "paths", "limit"],
            Self::Show => &["rev", "paths"],
            Self::Blame => &["rev", "paths", "lines"],
            Self::Branch => &["op", "name", "rev", "force"],
            Self::Add => &["paths"],
            Self::Commit => &["message", "amend"],
            Self::Stash => &["op", "name", "message", "paths"],
            Self::Switch => &["op", "name", "rev"],
            Self::Worktree => &["op", "paths", "name", "rev", "force"],
            Self::Fetch => &["remote", "name"],
            Self::Push => &["remote", "name", "force"],
        }
    }
}

impl GitInput {
    /// Checks that no field is given that the action doesn't take: it would be passed over in silence.
    ///
    /// # Errors
    /// Invalid input that names the field and those that there are.
    pub(super) fn check_fields(&self) -> Result<(), Failure> {
        let taken = self.action.fields();
        match self.given().into_iter().find(|field| !taken.contains(field)) {
            None => Ok(()),
            Some(field) => Err(Failure::invalid(format!(
                "/{field} is not a field of git {}; it takes {}",
                self.action.name(),
                taken.join(", ")
            ))),
        }
    }

    fn given(&self) -> Vec<&'static str> {
        let is_set = |flag: Option<bool>| flag == Some(true);
        [
            ("op", self.op.is_some()),
            ("name", self.name.is_some()),
            ("rev", self.rev.is_some()),
            ("paths", self.paths.as_ref().is_some_and(|paths| !paths.is_empty())),
            ("message", self.message.is_some()),
            ("staged", is_set(self.staged)),
            ("amend", is_set(self.amend)),
            ("force", is_set(self.force)),
            ("remote", self.remote.is_some()),
            ("limit", self.limit.is_some()),
            ("lines", self.lines.is_some()),
        ]
        .into_iter()
        .filter_map(|(field, is_given)| is_given.then_some(field))
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn input(value: Value) -> GitInput {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_field_of_another_action_is_refused() {
        assert!(input(json!({"action": "log", "limit": 3})).check_fields().is_ok());
        assert!(input(json!({"action": "log", "force": false, "paths": []})).check_fields().is_ok());
        let failure = input(json!({"action": "log", "force": true})).check_fields().unwrap_err();
        assert_eq!(failure.text, "/force is not a field of git log; it takes rev, paths, limit");
        assert!(input(json!({"action": "commit", "paths": ["a"]})).check_fields().is_err());
    }
}
