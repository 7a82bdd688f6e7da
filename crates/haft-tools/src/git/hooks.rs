//! Hooks that git would have run: they aren't here, and whoever relies on them is told.

use super::{change::Change, repository::Repository};
use haft_core::{Failure, PathArg};
use std::sync::Arc;

/// More files among the hooks aren't looked at.
const HOOKS_MAX: usize = 200;

/// The hooks that a change would run.
fn hooks_of(change: &Change) -> &'static [&'static str] {
    match change {
        Change::Commit { .. } => &["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"],
        Change::Push { .. } => &["pre-push"],
        Change::Switch { .. } | Change::WorktreeAdd { .. } => &["post-checkout"],
        _ => &[],
    }
}

/// What is said of hooks that are set up and weren't run; none where there are none.
///
/// # Errors
/// Cancelled.
pub(super) async fn passed_over(git: &Repository<'_>, change: &Change) -> Result<Option<String>, Failure> {
    let wanted = hooks_of(change);
    if wanted.is_empty() {
        return Ok(None);
    }
    let folder = match git.setting("core.hookspath") {
        Some(path) if path.starts_with(['/', '~']) => path.to_owned(),
        Some(path) => format!("{}/{path}", git.top),
        None => {
            let common = git.list(&["-C", &git.top, "rev-parse", "--git-common-dir"]).await?.text();
            let common = if common.starts_with('/') { common } else { format!("{}/{common}", git.top) };
            format!("{common}/hooks")
        }
    };
    let files = Arc::clone(&git.cx.world.files);
    let found = git
        .cx
        .blocking(move || {
            let Ok(at) = files.resolve(&PathArg(folder)) else { return Ok(Vec::new()) };
            let Ok(listing) = files.list(&at, HOOKS_MAX) else { return Ok(Vec::new()) };
            let runs = |name: &str| files.peek(&at.join(name)).is_some_and(|stat| stat.mode & 0o111 != 0);
            let names = listing.entries.iter().map(|entry| entry.path.file_name().to_owned());
            Ok(names.filter(|name| wanted.contains(&name.as_str()) && runs(name)).collect::<Vec<String>>())
        })
        .await?;
    if found.is_empty() {
        return Ok(None);
    }
    let (hooks, were) = if found.len() == 1 { ("hook", "was") } else { ("hooks", "were") };
    Ok(Some(format!(
        "(the {hooks} {} {were} not run; where they matter, run them through bash)",
        found.join(", ")
    )))
}
