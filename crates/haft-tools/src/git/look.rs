//! The actions that only ask.

use super::{
    filters::has_filtered,
    log::{self, FORMAT},
    refs,
    repository::{DIFF, Repository},
    status::{ASKED, Status},
    visible::{Sorted, is_denied, sorted},
};
use haft_core::{Captured, Failure, Output, Shape};
use serde_json::json;
use std::sync::Arc;

/// How a commit is told before what it changed.
const COMMIT: &str = "--format=format:commit %H%nauthor %an, %aI%nrefs %D%n%n%B";

/// What isn't as it was committed.
///
/// # Errors
/// As [`Repository::list`].
pub(super) async fn status(git: &Repository<'_>, wanted: &[String]) -> Result<Status, Failure> {
    let mut words = ASKED.to_vec();
    words.push("--");
    // Only what lies in the workspace, also where the repository is larger.
    let whole = [".".to_owned()];
    let wanted = if wanted.is_empty() { &whole } else { wanted };
    words.extend(wanted.iter().map(String::as_str));
    let answer = git.list(&words).await?;
    let mut status = Status::read(answer.parts(), answer.is_whole);
    let prefix = git.prefix.as_bytes().to_vec();
    for entry in &mut status.entries {
        for path in std::iter::once(&mut entry.path).chain(entry.from.as_mut()) {
            if let Some(rest) = path.strip_prefix(prefix.as_slice()) {
                *path = rest.to_vec();
            }
        }
    }
    let (files, cancel) = (Arc::clone(&git.cx.world.files), git.cx.cancel.clone());
    git.cx
        .blocking(move || {
            let workspace = files.workspace();
            let before = status.entries.len();
            status.entries.retain(|entry| {
                let is_hidden = |path: &[u8]| {
                    std::str::from_utf8(path).is_ok_and(|name| is_denied(&workspace.join(name), &*files))
                };
                !is_hidden(&entry.path) && !entry.from.as_deref().is_some_and(is_hidden)
            });
            status.denied = u64::try_from(before - status.entries.len()).unwrap_or(u64::MAX);
            if cancel.is_fired() { Err(Failure::cancelled()) } else { Ok(status) }
        })
        .await
}

/// Something that git shows with its changes, by the words for it.
pub(super) struct Shown<'a> {
    /// `diff` or `show`.
    pub(super) action: &'a str,
    /// Further options.
    pub(super) options: &'a [&'a str],
    pub(super) rev: Option<&'a str>,
    pub(super) paths: &'a [String],
    /// What stands before the changes.
    pub(super) head: String,
}

/// The changes: names first, then the content of those that may be shown.
///
/// # Errors
/// As [`Repository::list`].
pub(super) async fn changes(git: &Repository<'_>, shown: Shown<'_>) -> Result<Output, Failure> {
    let words = |more: &[&str], paths: &[String]| -> Vec<String> {
        let mut words = vec![shown.action];
        words.extend(DIFF);
        words.extend(shown.options);
        words.extend(more);
        words.extend(shown.rev);
        words.push("--");
        words.extend(paths.iter().map(String::as_str));
        words.into_iter().map(str::to_owned).collect()
    };
    let names = words(&["--name-only", "-z", "--no-renames"], shown.paths);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let changed = git.list(&names).await?;
    let is_whole = changed.is_whole;
    let (files, cancel) = (Arc::clone(&git.cx.world.files), git.cx.cancel.clone());
    let sorted = git.cx.blocking(move || sorted(changed.parts(), &*files, &cancel)).await?;
    let mut capture = git.cx.sink.capture(Shape::Head);
    capture.push(shown.head.as_bytes());
    if !sorted.shown.is_empty() {
        let mut take = |bytes: &[u8]| capture.push(bytes);
        git.stream(words(&["--patch"], &sorted.shown), &mut take).await?;
    }
    let Captured { mut text, truncation } = capture.finish();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let is_filtered = has_filtered(git, &sorted.shown).await?;
    text.push_str(&notes(git, &sorted, is_whole, is_filtered).join("\n"));
    text.truncate(text.trim_end_matches('\n').len());
    let metadata = json!({"files": sorted.shown, "denied": sorted.denied, "leftOut": sorted.left_out});
    Ok(Output { truncation, ..Output::text(text) }.with_metadata(metadata))
}

fn notes(git: &Repository<'_>, sorted: &Sorted, is_whole: bool, is_filtered: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if sorted.is_empty() && is_whole {
        notes.push("No file differs.".to_owned());
    }
    notes.extend(sorted.notes(is_whole));
    if !git.prefix.is_empty() {
        notes.push("(only what lies in the workspace is shown; the repository is larger)".to_owned());
    }
    if is_filtered {
        notes.push(
            "(some of these files pass through filters, which aren't run here: they may show as changed, or as they \
             are stored)"
                .to_owned(),
        );
    }
    notes
}

/// What differs between the working tree, the index and commits.
///
/// # Errors
/// As [`Repository::list`].
pub(super) async fn diff(
    git: &Repository<'_>,
    staged: bool,
    rev: Option<&str>,
    paths: &[String],
) -> Result<Output, Failure> {
    let options: &[&str] = if staged { &["--cached"] } else { &[] };
    changes(git, Shown { action: "diff", options, rev, paths, head: String::new() }).await
}

/// A commit and what it changed against its first parent.
///
/// # Errors
/// As [`Repository::list`].
pub(super) async fn commit(git: &Repository<'_>, rev: &str, paths: &[String]) -> Result<Output, Failure> {
    let head = git.list(&["log", "-1", "--no-color", "--decorate=short", COMMIT, rev, "--"]).await?;
    // What a message holds that a terminal would take for itself is cleaned by whoever shows it.
    let head = format!("{}\n\n", head.text().trim_end());
    let options = &["--format=", "--diff-merges=first-parent"];
    changes(git, Shown { action: "show", options, rev: Some(rev), paths, head }).await
}

/// A file as it was in a commit; as it is staged where no commit is named.
///
/// # Errors
/// As [`Repository::list`]; invalid input where it is no file.
pub(super) async fn file(git: &Repository<'_>, rev: &str, path: &str) -> Result<Output, Failure> {
    // `./` makes it count from the workspace, as all other paths do.
    let object = format!("{rev}:./{}", path.trim_start_matches("./"));
    let kind = git.list(&["cat-file", "-t", &object]).await?.text();
    if kind != "blob" {
        return Err(Failure::invalid(format!(
            "{path} is no file there but a {kind}; name a file in it, or give the commit alone"
        )));
    }
    streamed(git, ["cat-file", "blob", &object].map(str::to_owned).to_vec()).await
}

/// Who wrote which line.
///
/// # Errors
/// As [`Repository::list`].
pub(super) async fn blame(
    git: &Repository<'_>,
    path: &str,
    rev: Option<&str>,
    lines: Option<(u64, u64)>,
) -> Result<Output, Failure> {
    let mut words = ["blame", "--no-textconv", "--date=short", "--abbrev=7"].map(str::to_owned).to_vec();
    words.extend(lines.map(|(first, last)| format!("-L{first},{last}")));
    words.extend(rev.map(str::to_owned));
    words.extend(["--".to_owned(), path.to_owned()]);
    streamed(git, words).await
}

async fn streamed(git: &Repository<'_>, words: Vec<String>) -> Result<Output, Failure> {
    let mut capture = git.cx.sink.capture(Shape::Head);
    let mut take = |bytes: &[u8]| capture.push(bytes);
    git.stream(words, &mut take).await?;
    let Captured { text, truncation } = capture.finish();
    Ok(Output { truncation, ..Output::text(text) })
}

/// The story of what is checked out, or of a revision.
///
/// # Errors
/// As [`Repository::list`].
pub(super) async fn log(
    git: &Repository<'_>,
    rev: Option<&str>,
    paths: &[String],
    limit: usize,
) -> Result<Output, Failure> {
    // One more tells whether there are more.
    let count = format!("--max-count={}", limit + 1);
    let mut words = vec!["log", "-z", "--no-color", "--decorate=short", FORMAT, &count];
    words.extend(rev);
    words.push("--");
    words.extend(paths.iter().map(String::as_str));
    let commits = log::commits(&git.list(&words).await?);
    let hashes: Vec<&str> = commits.iter().take(limit).map(|commit| commit.hash.as_str()).collect();
    Ok(Output::text(log::text(&commits, limit)).with_metadata(json!({"commits": hashes})))
}

/// Branches, stashes or worktrees.
///
/// # Errors
/// As [`Repository::list`].
pub(super) async fn listed(
    git: &Repository<'_>,
    words: &[&str],
    text: fn(&crate::program::Answer) -> String,
) -> Result<Output, Failure> {
    let answer = git.list(words).await?;
    if !answer.is_whole {
        return Err(Failure::conflict(
            "git's list is too long to be shown; ask for a part of it through bash",
        ));
    }
    Ok(Output::text(text(&answer)))
}

/// As [`listed`], by the list's own words.
///
/// # Errors
/// As [`Repository::list`].
pub(super) async fn branches(git: &Repository<'_>) -> Result<Output, Failure> {
    listed(git, refs::BRANCHES, refs::branches).await
}
