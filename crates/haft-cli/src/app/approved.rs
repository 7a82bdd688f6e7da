//! What of a trusted workspace counts in full only as it was when the user trusted it: its extensions and the hooks of
//! its settings, each by its hash. A workspace changes with every pull, and what came with one nobody has looked at.
//!
//! An extension that isn't approved as it is only tightens; a hook that isn't is held back, and what it guards goes by
//! its `onError`.

use super::settings::IN_WORKSPACE;
use haft_os::host;
use haft_runtime::{
    Problem,
    hooks::{Handler, Hook},
};
use sha2::{Digest, Sha256};
use std::{collections::BTreeSet, path::Path};

/// What would make it count.
pub(super) const FIX: &str = "look at what changed, and run `haft trust` again if it is what you want";
/// How much of a file that a line names is read.
const FILE_MAX_BYTES: u64 = 64 * 1024 * 1024;
/// What a line may call the workspace.
const WORKSPACES: [&str; 4] =
    ["$HAFT_WORKSPACE/", "${HAFT_WORKSPACE}/", "$CLAUDE_PROJECT_DIR/", "${CLAUDE_PROJECT_DIR}/"];
/// What parts the words of a line, as far as names of files are looked for in it.
const BETWEEN: &str = ";|&()<>=`";

/// How an extension of the workspace is remembered, as its files are.
pub(crate) fn of_extension(id: &str, hash: &str) -> String {
    format!("extension {id} {hash}")
}

/// How a hook of the workspace's settings is remembered, with the files of the workspace that its line names.
pub(crate) fn of_hook(hook: &Hook, workspace: &Path) -> String {
    let mut hasher = Sha256::new();
    hasher.update(hook.fingerprint());
    if let Handler::Command(line) = &hook.handler {
        for word in words(line) {
            // What is absolute stays so: a file elsewhere isn't the workspace's.
            let path = workspace.join(&word);
            if path.starts_with(workspace) && host::is_file(&path) {
                let bytes = host::read_file(&path, FILE_MAX_BYTES).ok().flatten().unwrap_or_default();
                hasher.update(format!("\0{word}\0{:x}", Sha256::digest(bytes)));
            }
        }
    }
    format!("hook {:x}", hasher.finalize())
}

/// Whether a hook stands in the workspace's own settings.
pub(super) fn is_own(hook: &Hook, workspace: &Path) -> bool {
    let source = hook.source.as_deref().unwrap_or_default();
    IN_WORKSPACE.iter().any(|at| source.starts_with(workspace.join(at).to_string_lossy().as_ref()))
}

/// Holds back those hooks of the workspace that aren't as the user saw them, and says so of each.
pub(super) fn hold_back(hooks: &mut [Hook], workspace: &Path, approved: &BTreeSet<String>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for hook in hooks.iter_mut().filter(|hook| is_own(hook, workspace)) {
        if !approved.contains(&of_hook(hook, workspace)) {
            problems.push(held(hook));
            *hook = hook.clone().held();
        }
    }
    problems
}

fn held(hook: &Hook) -> Problem {
    let source = hook.source.as_deref().unwrap_or_default();
    let (path, line) = source.rsplit_once(':').unwrap_or((source, ""));
    Problem {
        source: "trust".to_owned(),
        path: Some(path.to_owned()),
        line: line.parse().ok(),
        text: format!(
            "this {} hook isn't as it was when the workspace was trusted, so it isn't run",
            hook.event
        ),
        fix: FIX.to_owned(),
    }
}

/// The words of a line that may name files, without quotes and what stands for the workspace.
fn words(line: &str) -> Vec<String> {
    let bare = line.replace(['"', '\''], "");
    bare.split(|c: char| c.is_whitespace() || BETWEEN.contains(c))
        .map(|word| WORKSPACES.iter().find_map(|start| word.strip_prefix(*start)).unwrap_or(word))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the test makes the files that are named")]
mod tests {
    use super::*;
    use haft_runtime::hooks::HookEvent;
    use std::fs;

    #[test]
    fn a_hook_is_another_when_a_file_that_it_names_changes() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("guard.sh");
        for line in [
            "sh guard.sh",
            "./guard.sh --all",
            "\"$CLAUDE_PROJECT_DIR\"/guard.sh",
            "${HAFT_WORKSPACE}/guard.sh|cat",
        ] {
            let hook = Hook::new(HookEvent::PreToolUse, Handler::Command(line.to_owned()));
            fs::write(&at, "exit 2\n").unwrap();
            let before = of_hook(&hook, folder.path());
            assert_eq!(of_hook(&hook, folder.path()), before, "{line}");
            fs::write(&at, "exit 0\n").unwrap();
            assert_ne!(of_hook(&hook, folder.path()), before, "{line}");
        }
    }

    #[test]
    fn only_hooks_of_the_workspace_are_held_back_and_only_changed_ones() {
        let workspace = Path::new("/w");
        let hook = |line: &str, source: &str| Hook {
            source: Some(source.to_owned()),
            ..Hook::new(HookEvent::PreToolUse, Handler::Command(line.to_owned()))
        };
        let seen = hook("true seen", "/w/.haft/config.toml:3");
        let approved = BTreeSet::from([of_hook(&seen, workspace)]);
        let mut hooks =
            [seen, hook("true new", "/w/.haft/config.toml:5"), hook("true mine", "/home/u/config.toml:1")];
        let problems = hold_back(&mut hooks, workspace, &approved);
        let held: Vec<bool> = hooks.iter().map(|hook| matches!(hook.handler, Handler::Held)).collect();
        assert_eq!(held, [false, true, false]);
        assert_eq!((problems.len(), problems[0].line), (1, Some(5)));
    }
}
