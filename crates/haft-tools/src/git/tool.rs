//! The tool `git`.

use super::{
    act::act,
    input::GitInput,
    look,
    plan::Asked,
    refs,
    repository::{REMOTE_DEADLINE, Repository},
};
use haft_core::{
    Cx, Effects, Exposure, Failure, Flags, Output, PathArg, Permission, Preview, Risk, SessionView, Spec,
    Tool, Touch, shell_line,
};
use std::time::Duration;

/// Longer than what one action asks of git before and after.
const GRACE: Duration = Duration::from_secs(120);

/// Works with a repository.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GitTool;

impl Tool for GitTool {
    type Input = GitInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        Spec::new("git", include_str!("prompt.md").trim_end())
            .with_input_aliases("rev", &["ref", "commit", "revision"])
            .with_input_aliases("paths", &["files", "path"])
            .with_input_aliases("staged", &["cached"])
            .with_input_aliases("name", &["branch"])
            .with_category("git")
            .with_capabilities(&["shell.restricted", "fs.write"])
            .with_exposure(Exposure::Deferred)
            .with_timeout(REMOTE_DEADLINE + GRACE)
            .with_display("🌿", "Asking git")
            .long_running()
    }

    fn validate(&self, input: &GitInput) -> Result<(), Failure> {
        Asked::of(input).map(|_| ())
    }

    /// git, with nothing in it that runs further programs.
    fn starts_processes(&self) -> bool {
        true
    }

    /// What only asks states what it reads, so that denied files are left out. What changes something states the line
    /// that a person would type: it is judged as any other, with the workspace's root as its folder.
    fn effects(&self, input: &GitInput, _: &dyn SessionView) -> Effects {
        match Asked::of(input) {
            Err(_) => Effects::Everything,
            Ok(Asked::Change(change)) => {
                let words = change.words();
                let line = shell_line(std::iter::once("git").chain(words.iter().map(String::as_str)));
                Effects::Only(vec![Touch::Command(line.into()), Touch::Read(PathArg::from("."))])
            }
            Ok(Asked::File { path, .. } | Asked::Blame { path, .. }) => {
                Effects::Only(vec![Touch::Read(PathArg(path))])
            }
            Ok(_) => Effects::Only(vec![Touch::ReadTree(PathArg::from("."))]),
        }
    }

    fn flags(&self, input: &GitInput) -> Flags {
        let flags = |permission, asks, risk| Flags {
            permission: Some(permission),
            read_only: Some(asks),
            mutates: None,
            concurrency_safe: Some(asks),
            risk: Some(risk),
        };
        match Asked::of(input) {
            Ok(Asked::Change(change)) if change.is_destructive() => {
                flags(Permission::Confirm, false, Risk::Destructive)
            }
            Ok(Asked::Change(_)) => flags(Permission::Confirm, false, Risk::Standard),
            Ok(_) => flags(Permission::Auto, true, Risk::Safe),
            Err(_) => Flags::default(),
        }
    }

    /// The message, which the line doesn't show.
    async fn preview(&self, input: &GitInput, _: &Cx) -> Result<Preview, Failure> {
        let text = input.message.clone().unwrap_or_default();
        Ok(Preview { text, digest: Vec::new() })
    }

    async fn run(&self, input: GitInput, cx: &Cx) -> Result<Output, Failure> {
        let asked = Asked::of(&input)?;
        let git = Repository::open(cx).await?;
        match asked {
            Asked::Status { paths } => {
                let status = look::status(&git, &git.beneath(&paths)?).await?;
                Ok(Output::text(status.text()))
            }
            Asked::Diff { staged, rev, paths } => {
                look::diff(&git, staged, rev.as_deref(), &git.beneath(&paths)?).await
            }
            Asked::Log { rev, paths, limit } => {
                look::log(&git, rev.as_deref(), &git.beneath(&paths)?, limit).await
            }
            Asked::Commit { rev, paths } => look::commit(&git, &rev, &git.beneath(&paths)?).await,
            Asked::File { rev, path } => look::file(&git, &rev, &only(git.beneath(&[path])?)).await,
            Asked::Blame { path, rev, lines } => {
                look::blame(&git, &only(git.beneath(&[path])?), rev.as_deref(), lines).await
            }
            Asked::Branches => look::branches(&git).await,
            Asked::Stashes => look::listed(&git, refs::STASHES, refs::stashes).await,
            Asked::Worktrees => look::listed(&git, refs::WORKTREES, refs::worktrees).await,
            Asked::Change(change) => act(&git, &change).await,
        }
    }
}

fn only(paths: Vec<String>) -> String {
    paths.into_iter().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::NoSession;
    use serde_json::{Value, json};

    fn effects(value: Value) -> Vec<Touch<PathArg>> {
        let input: GitInput = serde_json::from_value(value).unwrap();
        GitTool.effects(&input, &NoSession).touches().to_vec()
    }

    fn line_of(value: Value) -> String {
        match effects(value).as_slice() {
            [Touch::Command(line), Touch::Read(at)] if at.0 == "." => line.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_asks_states_what_it_reads() {
        let tree = [Touch::ReadTree(PathArg::from("."))];
        for action in ["status", "diff", "log", "show", "branch", "stash", "worktree"] {
            assert_eq!(effects(json!({"action": action})), tree, "{action}");
            let input: GitInput = serde_json::from_value(json!({"action": action})).unwrap();
            assert_eq!(GitTool.flags(&input).permission, Some(Permission::Auto), "{action}");
        }
        let file = effects(json!({"action": "show", "rev": "HEAD:a/b"}));
        assert_eq!(file, [Touch::Read(PathArg::from("a/b"))]);
    }

    #[test]
    fn what_changes_states_its_line() {
        let cases = [
            (json!({"action": "push", "name": "x"}), "git push origin x"),
            (
                json!({"action": "push", "name": "main", "force": true}),
                "git push --force-with-lease origin main",
            ),
            (json!({"action": "commit", "message": "it's\nnew"}), "git commit -F -"),
            (json!({"action": "add", "paths": ["a b", "c"]}), "git add -- 'a b' c"),
            (json!({"action": "stash", "op": "remove", "name": "1"}), "git stash drop 'stash@{1}'"),
            (json!({"action": "branch", "op": "remove", "name": "x", "force": true}), "git branch -D x"),
        ];
        for (value, expected) in cases {
            assert_eq!(line_of(value), expected);
        }
        assert!(effects(json!({"action": "add", "paths": ["-x"]})).is_empty());
    }

    #[test]
    fn what_takes_away_is_destructive() {
        let risk = |value: Value| GitTool.flags(&serde_json::from_value(value).unwrap()).risk;
        for value in [
            json!({"action": "push", "name": "x", "force": true}),
            json!({"action": "commit", "amend": true}),
            json!({"action": "stash", "op": "remove"}),
            json!({"action": "branch", "op": "remove", "name": "x", "force": true}),
            json!({"action": "worktree", "op": "remove", "paths": ["w"], "force": true}),
        ] {
            assert_eq!(risk(value.clone()), Some(Risk::Destructive), "{value}");
        }
        assert_eq!(risk(json!({"action": "push"})), Some(Risk::Standard));
        assert_eq!(risk(json!({"action": "log"})), Some(Risk::Safe));
    }
}
