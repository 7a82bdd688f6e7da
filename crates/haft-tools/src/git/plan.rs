//! The fields of a call, read together.

use super::{
    change::Change,
    input::{Action, GitInput, Op},
    name,
};
use haft_core::Failure;

/// Commits that `log` lists unless told.
const LOG_COMMITS: u32 = 20;
/// And at most.
const LOG_MAX_COMMITS: u32 = 200;
/// So many paths are named in one call.
const PATHS_MAX: usize = 500;
/// The longest message.
const MESSAGE_MAX_BYTES: usize = 64 << 10;

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asked {
    Status {
        paths: Vec<String>,
    },
    Diff {
        staged: bool,
        rev: Option<String>,
        paths: Vec<String>,
    },
    Log {
        rev: Option<String>,
        paths: Vec<String>,
        limit: usize,
    },
    /// A commit with what it changed.
    Commit {
        rev: String,
        paths: Vec<String>,
    },
    /// A file as it was.
    File {
        rev: String,
        path: String,
    },
    Blame {
        path: String,
        rev: Option<String>,
        lines: Option<(u64, u64)>,
    },
    Branches,
    Stashes,
    Worktrees,
    Change(Change),
}

impl Asked {
    /// Reads the fields.
    ///
    /// # Errors
    /// Invalid input where they don't go together, or one isn't what it has to be.
    pub(super) fn of(input: &GitInput) -> Result<Self, Failure> {
        input.check_fields()?;
        let paths = paths(input)?;
        if let Some(rev) = input.rev.as_deref().filter(|_| input.action != Action::Show) {
            name::revision("rev", rev)?;
        }
        if let Some(name) = input.name.as_deref().filter(|_| input.action != Action::Stash) {
            name::branch("name", name)?;
        }
        let rev = input.rev.clone();
        Ok(match input.action {
            Action::Status => Self::Status { paths },
            Action::Diff => Self::Diff { staged: is_set(input.staged), rev, paths },
            Action::Log => {
                let limit = input.limit.unwrap_or(LOG_COMMITS).clamp(1, LOG_MAX_COMMITS);
                Self::Log { rev, paths, limit: usize::try_from(limit).unwrap_or_default() }
            }
            Action::Show => show(rev.as_deref().unwrap_or("HEAD"), paths)?,
            Action::Blame => {
                Self::Blame { path: only(&paths, "blame", "one file")?, rev, lines: lines(input)? }
            }
            Action::Add => {
                if paths.is_empty() {
                    return Err(Failure::invalid(
                        "/paths is missing: name the files or folders to stage, [\".\"] for all of the workspace",
                    ));
                }
                Self::Change(Change::Add { paths })
            }
            Action::Commit => Self::Change(commit(input)?),
            Action::Branch => branch(input)?,
            Action::Stash => stash(input, paths)?,
            Action::Switch => Self::Change(switch(input)?),
            Action::Worktree => worktree(input, &paths)?,
            Action::Fetch => Self::Change(Change::Fetch { remote: remote(input)?, name: input.name.clone() }),
            Action::Push => Self::Change(push(input)?),
        })
    }
}

fn is_set(flag: Option<bool>) -> bool {
    flag == Some(true)
}

fn paths(input: &GitInput) -> Result<Vec<String>, Failure> {
    let paths = input.paths.clone().unwrap_or_default();
    if paths.len() > PATHS_MAX {
        return Err(Failure::invalid(format!("/paths names more than {PATHS_MAX}; name folders")));
    }
    for path in &paths {
        name::path("paths", path)?;
    }
    Ok(paths)
}

fn only(paths: &[String], action: &str, what: &str) -> Result<String, Failure> {
    match paths {
        [path] => Ok(path.clone()),
        _ => Err(Failure::invalid(format!("/paths must name {what} for git {action}"))),
    }
}

/// `COMMIT`, or `COMMIT:FILE` for the file itself.
fn show(rev: &str, paths: Vec<String>) -> Result<Asked, Failure> {
    let Some((rev, path)) = rev.split_once(':') else {
        name::revision("rev", rev)?;
        if rev.contains("..") {
            return Err(Failure::invalid(
                "/rev must be one commit for git show; a range is for diff and log",
            ));
        }
        return Ok(Asked::Commit { rev: rev.to_owned(), paths });
    };
    // ":FILE" is what is staged; ":/text" and ":1:FILE" mean something else.
    if !rev.is_empty() {
        name::revision("rev", rev)?;
    }
    name::path("rev", path)?;
    if path.starts_with('/') || path.contains(':') || !paths.is_empty() {
        return Err(Failure::invalid(
            "/rev must be COMMIT:FILE with FILE relative to the workspace, and no /paths beside it",
        ));
    }
    Ok(Asked::File { rev: rev.to_owned(), path: path.to_owned() })
}

fn lines(input: &GitInput) -> Result<Option<(u64, u64)>, Failure> {
    let Some(written) = &input.lines else { return Ok(None) };
    let (first, last) = written.split_once('-').unwrap_or((written, written));
    match (first.trim().parse::<u64>(), last.trim().parse::<u64>()) {
        (Ok(first), Ok(last)) if 1 <= first && first <= last => Ok(Some((first, last))),
        _ => Err(Failure::invalid("/lines must be lines from 1, as \"10-20\"")),
    }
}

fn message(input: &GitInput) -> Result<Option<String>, Failure> {
    match &input.message {
        None => Ok(None),
        Some(text) if text.trim().is_empty() => {
            Err(Failure::invalid("/message is empty; write what changes and why"))
        }
        Some(text) if text.contains('\0') || text.len() > MESSAGE_MAX_BYTES => {
            Err(Failure::invalid("/message must be text of at most 64 KiB"))
        }
        Some(text) => Ok(Some(text.clone())),
    }
}

fn commit(input: &GitInput) -> Result<Change, Failure> {
    let (message, amend) = (message(input)?, is_set(input.amend));
    if message.is_none() && !amend {
        return Err(Failure::invalid("/message is missing; write what changes and why"));
    }
    Ok(Change::Commit { message, amend })
}

fn needed(input: &GitInput) -> Result<String, Failure> {
    input.name.clone().ok_or_else(|| Failure::invalid("/name is missing; name the branch"))
}

fn unfit(input: &GitInput, ops: &str) -> Failure {
    Failure::invalid(format!("/op must be {ops} for git {}", input.action.name()))
}

fn branch(input: &GitInput) -> Result<Asked, Failure> {
    let force = is_set(input.force);
    Ok(match input.op.unwrap_or(Op::List) {
        Op::List if input.name.is_none() => Asked::Branches,
        // A name alone may have been meant either way.
        Op::List => return Err(Failure::invalid("/op must be add or remove where /name is given")),
        Op::Add => Asked::Change(Change::BranchAdd { name: needed(input)?, rev: input.rev.clone() }),
        Op::Remove => Asked::Change(Change::BranchRemove { name: needed(input)?, force }),
        Op::Pop | Op::Apply => return Err(unfit(input, "list, add or remove")),
    })
}

fn stash(input: &GitInput, paths: Vec<String>) -> Result<Asked, Failure> {
    let at = || -> Result<String, Failure> {
        let number = input.name.as_deref().unwrap_or("0");
        let digits = number.strip_prefix("stash@{").and_then(|rest| rest.strip_suffix('}')).unwrap_or(number);
        match digits.parse::<u32>() {
            Ok(number) => Ok(format!("stash@{{{number}}}")),
            Err(_) => Err(Failure::invalid("/name must be the number of a stash, as \"0\"")),
        }
    };
    let change = match input.op.unwrap_or(Op::List) {
        Op::List => return Ok(Asked::Stashes),
        Op::Add => {
            // Without a path git would take all of the repository, also what lies outside the workspace.
            let paths = if paths.is_empty() { vec![".".to_owned()] } else { paths };
            Change::StashAdd { message: message(input)?, paths }
        }
        Op::Remove => Change::StashRemove { at: at()? },
        Op::Pop => Change::StashApply { at: at()?, drop: true },
        Op::Apply => Change::StashApply { at: at()?, drop: false },
    };
    Ok(Asked::Change(change))
}

fn switch(input: &GitInput) -> Result<Change, Failure> {
    let make = match input.op {
        None => false,
        Some(Op::Add) => true,
        Some(_) => return Err(unfit(input, "add")),
    };
    let (name, rev) = (input.name.clone(), input.rev.clone());
    match (&name, &rev, make) {
        (None, None, _) => Err(Failure::invalid("/name is missing; name the branch, or a commit as /rev")),
        (None, Some(_), true) => Err(Failure::invalid("/name is missing; name the branch to be made")),
        (Some(_), Some(_), false) => Err(Failure::invalid(
            "/name and /rev go together only with op=add, which makes a branch at a commit",
        )),
        _ => Ok(Change::Switch { name, make, rev }),
    }
}

fn worktree(input: &GitInput, paths: &[String]) -> Result<Asked, Failure> {
    let force = is_set(input.force);
    let path = || only(paths, "worktree", "its folder");
    Ok(match input.op.unwrap_or(Op::List) {
        Op::List => Asked::Worktrees,
        Op::Add => {
            let (name, rev) = (input.name.clone(), input.rev.clone());
            Asked::Change(Change::WorktreeAdd { path: path()?, name, rev })
        }
        Op::Remove => Asked::Change(Change::WorktreeRemove { path: path()?, force }),
        Op::Pop | Op::Apply => return Err(unfit(input, "list, add or remove")),
    })
}

fn remote(input: &GitInput) -> Result<String, Failure> {
    let remote = input.remote.clone().unwrap_or_else(|| "origin".to_owned());
    name::remote(&remote)?;
    Ok(remote)
}

fn push(input: &GitInput) -> Result<Change, Failure> {
    let force = is_set(input.force);
    if force && input.name.is_none() {
        // The gates have to know which branch would be rewritten.
        return Err(Failure::invalid("/name is missing: a forced push must name its branch"));
    }
    Ok(Change::Push { remote: remote(input)?, name: input.name.clone(), force })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn asked(value: Value) -> Result<Asked, String> {
        Asked::of(&serde_json::from_value(value).unwrap()).map_err(|failure| failure.text)
    }

    #[test]
    fn fields_are_read_together() {
        let file = asked(json!({"action": "show", "rev": "HEAD~1:src/a.rs"})).unwrap();
        assert_eq!(file, Asked::File { rev: "HEAD~1".into(), path: "src/a.rs".into() });
        let staged = asked(json!({"action": "show", "rev": ":a"})).unwrap();
        assert_eq!(staged, Asked::File { rev: String::new(), path: "a".into() });
        let blame = asked(json!({"action": "blame", "paths": ["a"], "lines": "3-5"})).unwrap();
        assert_eq!(blame, Asked::Blame { path: "a".into(), rev: None, lines: Some((3, 5)) });
        assert_eq!(asked(json!({"action": "branch"})), Ok(Asked::Branches));
        let pop = asked(json!({"action": "stash", "op": "pop", "name": "stash@{2}"})).unwrap();
        assert_eq!(pop, Asked::Change(Change::StashApply { at: "stash@{2}".into(), drop: true }));
        let push = asked(json!({"action": "push"})).unwrap();
        assert_eq!(push, Asked::Change(Change::Push { remote: "origin".into(), name: None, force: false }));
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        for (value, says) in [
            (json!({"action": "push", "force": true}), "must name its branch"),
            (json!({"action": "push", "name": "+main"}), "/name must be a branch's name"),
            (json!({"action": "push", "remote": "https://h/x"}), "/remote must be the name"),
            (json!({"action": "push", "remote": "--exec=x"}), "/remote must be the name"),
            (json!({"action": "diff", "rev": "--output=x"}), "/rev must be a commit"),
            (json!({"action": "log", "rev": "-p"}), "/rev must be a commit"),
            (json!({"action": "show", "rev": "a..b"}), "one commit"),
            (json!({"action": "show", "rev": ":/fix"}), "COMMIT:FILE"),
            (json!({"action": "show", "rev": ":1:a"}), "COMMIT:FILE"),
            (json!({"action": "add"}), "/paths is missing"),
            (json!({"action": "add", "paths": ["--force"]}), "/paths must be a path"),
            (json!({"action": "commit"}), "/message is missing"),
            (json!({"action": "commit", "message": " "}), "/message is empty"),
            (json!({"action": "branch", "name": "x"}), "/op must be add or remove"),
            (json!({"action": "branch", "op": "pop"}), "/op must be list, add or remove"),
            (json!({"action": "stash", "op": "pop", "name": "x"}), "number of a stash"),
            (json!({"action": "switch"}), "/name is missing"),
            (json!({"action": "switch", "name": "x", "rev": "y"}), "only with op=add"),
            (json!({"action": "worktree", "op": "add"}), "/paths must name its folder"),
            (json!({"action": "blame"}), "/paths must name one file"),
            (json!({"action": "blame", "paths": ["a"], "lines": "5-3"}), "/lines must be"),
        ] {
            let text = asked(value.clone()).unwrap_err();
            assert!(text.contains(says), "{value}: {text}");
        }
    }
}
