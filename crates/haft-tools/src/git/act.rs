//! The actions that change something: done, then read back.

use super::{
    change::Change,
    filters::{Passed, refuse_filtered},
    hooks::passed_over,
    look, refs,
    remote::{Pushed, Remote, advice, pushed},
    repository::{Call, Repository, refused},
    status::list,
    visible::named,
};
use crate::{glob::counted, program::Answer, text::visible};
use haft_core::{Failure, Output};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Does it and tells what is now.
///
/// # Errors
/// A conflict where git refuses, with its words; whatever keeps it from being read back.
pub(super) async fn act(git: &Repository<'_>, change: &Change) -> Result<Output, Failure> {
    match change {
        Change::Add { paths } => add(git, paths).await,
        Change::Commit { message, amend } => commit(git, change, message.as_deref(), *amend).await,
        Change::BranchAdd { name, .. } => branch_add(git, change, name).await,
        Change::BranchRemove { name, .. } => branch_remove(git, change, name).await,
        Change::StashAdd { message, paths } => stash_add(git, message.as_deref(), paths).await,
        Change::StashApply { at, .. } => stash_apply(git, change, at).await,
        Change::StashRemove { at } => stash_remove(git, change, at).await,
        Change::Switch { name, rev, .. } => {
            let target = rev.as_deref().or(name.as_deref());
            switch(git, change, target).await
        }
        Change::WorktreeAdd { path, name, rev } => {
            let new = NewWorktree { path, name: name.as_deref(), rev: rev.as_deref() };
            worktree_add(git, change, new).await
        }
        Change::WorktreeRemove { .. } => worktrees_after(git, change).await,
        Change::Fetch { remote, name } => fetch(git, remote, name.as_deref()).await,
        Change::Push { remote, name, force } => {
            push(git, change, Pushing { remote, name: name.as_deref(), force: *force }).await
        }
    }
}

/// Runs the words of a change as they were judged; it has to succeed.
async fn done(git: &Repository<'_>, change: &Change) -> Result<Answer, Failure> {
    succeeded(git, change.action(), Call::new(change.words())).await
}

async fn succeeded(git: &Repository<'_>, action: &str, call: Call) -> Result<Answer, Failure> {
    let answer = git.call(call).await?;
    if answer.is_ok() { Ok(answer) } else { Err(refused(&[action], &answer)) }
}

/// The commit that a name stands for now.
async fn commit_of(git: &Repository<'_>, name: &str) -> Result<Option<String>, Failure> {
    let answer = git.ask(&["rev-parse", "--quiet", "--verify", name]).await?;
    Ok(Some(answer.text()).filter(|text| answer.is_ok() && !text.is_empty()))
}

fn short(commit: &str) -> &str {
    commit.get(..7).unwrap_or(commit)
}

fn unseen(what: &str) -> Failure {
    Failure::internal(format!(
        "git says that it is done, but {what}; look at it with action status or branch"
    ))
}

async fn add(git: &Repository<'_>, paths: &[String]) -> Result<Output, Failure> {
    let paths = git.beneath(paths)?;
    refuse_filtered(git, Passed::Paths(&paths)).await?;
    done(git, &Change::Add { paths }).await?;
    let status = look::status(git, &[]).await?;
    let staged = status.staged();
    let mut text = status.place();
    list(&mut text, "Staged now", &staged);
    if staged.is_empty() {
        text.push_str("\nNothing is staged: what was named is as it was committed, or ignored.");
    }
    Ok(Output::text(text).with_metadata(json!({"staged": staged.len()})))
}

async fn commit(
    git: &Repository<'_>,
    change: &Change,
    message: Option<&str>,
    amend: bool,
) -> Result<Output, Failure> {
    for who in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
        if !git.ask(&["var", who]).await?.is_ok() {
            return Err(Failure::conflict(
                "git doesn't know whose commit this is, so nothing was committed; the user has to set a name and an \
                 address: git config user.name \"…\" and git config user.email \"…\"",
            ));
        }
    }
    let before = commit_of(git, "HEAD").await?;
    let is_merge = commit_of(git, "MERGE_HEAD").await?.is_some();
    let staged = git.ask(&["diff", "--cached", "--quiet", "--no-ext-diff", "--no-textconv"]).await?;
    if staged.is_ok() && !amend && !is_merge {
        return Err(Failure::conflict(
            "nothing is staged, so there is nothing to commit; stage files with action add first",
        ));
    }
    if staged.is_ok() && amend && message.is_none() && !is_merge && before.is_some() {
        return Err(Failure::conflict(
            "nothing is staged and there is no message, so the last commit would stay as it is; stage files with action \
             add, or give a message",
        ));
    }
    let call = Call::new(change.words()).with_stdin(message.unwrap_or_default().as_bytes().to_vec());
    succeeded(git, "commit", call).await?;
    let after = commit_of(git, "HEAD").await?;
    let Some(after) = after.filter(|after| amend || before.as_ref() != Some(after)) else {
        return Err(unseen("no new commit stands there"));
    };
    if before.as_ref() == Some(&after) {
        // The same files and words, within the same second.
        let text = format!("{} is as it was: neither its files nor its message changed.", short(&after));
        return Ok(Output::text(text).with_metadata(json!({"commit": after, "files": 0})));
    }
    let told = git
        .list(&[
            "show",
            "--no-ext-diff",
            "--no-textconv",
            "--no-renames",
            "--diff-merges=first-parent",
            "--format=tformat:%s%x00",
            "--numstat",
            "-z",
            &after,
            "--",
        ])
        .await?;
    let (mut text, count) = committed(&told, &after);
    if amend && let Some(before) = before {
        let _ = write!(text, "\n(in place of {}, which git keeps for a while)", short(&before));
    }
    let signs = git.setting("commit.gpgsign").is_some_and(|value| value == "true");
    if signs {
        text.push_str("\n(not signed: signing is switched off here, though commit.gpgSign is set)");
    }
    if let Some(note) = passed_over(git, change).await? {
        let _ = write!(text, "\n{note}");
    }
    Ok(Output::text(text).with_metadata(json!({"commit": after, "files": count})))
}

/// A commit as it stands there now: hash, subject, what it changed.
fn committed(told: &Answer, hash: &str) -> (String, usize) {
    let mut parts = told.parts();
    let subject = parts.next().map(|part| visible::line(&String::from_utf8_lossy(part))).unwrap_or_default();
    let (mut added, mut removed, mut files) = (0, 0, Vec::new());
    for part in parts {
        let part = part.strip_prefix(b"\n").unwrap_or(part);
        let mut fields = part.splitn(3, |byte| *byte == b'\t');
        let (Some(plus), Some(minus), Some(name)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        // A binary file has dashes.
        let number = |field: &[u8]| std::str::from_utf8(field).ok().and_then(|text| text.parse::<u64>().ok());
        let (plus, minus) = (number(plus), number(minus));
        added += plus.unwrap_or(0);
        removed += minus.unwrap_or(0);
        files.push(match (plus, minus) {
            (Some(plus), Some(minus)) => format!("+{plus} -{minus} {}", named(name)),
            _ => format!("binary {}", named(name)),
        });
    }
    let count = files.len();
    let counted = counted(u64::try_from(count).unwrap_or(u64::MAX), "file");
    let mut text = format!("{} {subject}\n{counted}, +{added} -{removed}", short(hash));
    list(&mut text, "Changed", &files);
    (text, count)
}

async fn branch_add(git: &Repository<'_>, change: &Change, name: &str) -> Result<Output, Failure> {
    done(git, change).await?;
    match commit_of(git, &format!("refs/heads/{name}")).await? {
        Some(at) => Ok(Output::text(format!(
            "Branch {name} stands at {}; it isn't checked out (action switch does that).",
            short(&at)
        ))),
        None => Err(unseen("no such branch is there")),
    }
}

async fn branch_remove(git: &Repository<'_>, change: &Change, name: &str) -> Result<Output, Failure> {
    let full = format!("refs/heads/{name}");
    let before = commit_of(git, &full).await?;
    done(git, change).await?;
    if commit_of(git, &full).await?.is_some() {
        return Err(unseen("the branch is still there"));
    }
    let at = before.unwrap_or_default();
    Ok(Output::text(format!("Branch {name} is gone; it stood at {at}, from where it can be made again.")))
}

async fn stash_add(git: &Repository<'_>, message: Option<&str>, paths: &[String]) -> Result<Output, Failure> {
    let paths = git.beneath(paths)?;
    refuse_filtered(git, Passed::Paths(&paths)).await?;
    let before = commit_of(git, "refs/stash").await?;
    done(git, &Change::StashAdd { message: message.map(str::to_owned), paths }).await?;
    let after = commit_of(git, "refs/stash").await?;
    if after == before {
        return Err(Failure::conflict(
            "there was nothing to put away: no tracked file has changed (new files have to be added first)",
        ));
    }
    let stashes = refs::stashes(&git.list(refs::STASHES).await?);
    let status = look::status(git, &[]).await?;
    Ok(Output::text(format!("Put away as {}\n{}", stashes.lines().next().unwrap_or_default(), status.text())))
}

async fn stash_apply(git: &Repository<'_>, change: &Change, at: &str) -> Result<Output, Failure> {
    if commit_of(git, at).await?.is_none() {
        return Err(no_stash(at));
    }
    refuse_filtered(git, Passed::Tracked).await?;
    let answer = git.call(Call::new(change.words())).await?;
    let status = look::status(git, &[]).await?.text();
    if !answer.is_ok() {
        // A merge that didn't come out leaves its marks in the files, and the stash where it was.
        return Err(refused(&["stash"], &answer).with_partial(Output::text(status)));
    }
    Ok(Output::text(format!("{at} is back.\n{status}")))
}

fn no_stash(at: &str) -> Failure {
    Failure::not_found(format!("there is no {at}; list them with op=list"))
}

async fn stash_remove(git: &Repository<'_>, change: &Change, at: &str) -> Result<Output, Failure> {
    let Some(commit) = commit_of(git, at).await? else { return Err(no_stash(at)) };
    done(git, change).await?;
    let left = refs::stashes(&git.list(refs::STASHES).await?);
    Ok(Output::text(format!(
        "{at} ({commit}) is dropped; for a while git still finds it by that hash.\n{left}"
    )))
}

async fn switch(git: &Repository<'_>, change: &Change, target: Option<&str>) -> Result<Output, Failure> {
    refuse_filtered(git, Passed::Tracked).await?;
    if let Some(target) = target
        && let Some(commit) = meant(git, target).await?
    {
        refuse_filtered(git, Passed::Of(&commit)).await?;
    }
    done(git, change).await?;
    let status = look::status(git, &[]).await?;
    let is_there = match change {
        Change::Switch { name: Some(name), .. } => status.branch.as_ref() == Some(name),
        _ => status.branch.is_none(),
    };
    if !is_there {
        return Err(unseen("something else is checked out"));
    }
    let mut text = status.text();
    if let Some(note) = passed_over(git, change).await? {
        let _ = write!(text, "\n{note}");
    }
    Ok(Output::text(text).with_metadata(json!({"branch": status.branch})))
}

/// The commit that git means by a name: where it has none, a branch that one remote alone has under it.
async fn meant(git: &Repository<'_>, name: &str) -> Result<Option<String>, Failure> {
    if let Some(commit) = commit_of(git, &format!("{name}^{{commit}}")).await? {
        return Ok(Some(commit));
    }
    let listed =
        git.list(&["for-each-ref", "--format=%(objectname)%00", &format!("refs/remotes/*/{name}")]).await?;
    let mut found = listed.parts().map(|part| String::from_utf8_lossy(part).trim().to_owned());
    Ok(found.next().filter(|_| found.next().is_none()))
}

async fn worktree_add(
    git: &Repository<'_>,
    change: &Change,
    new: NewWorktree<'_>,
) -> Result<Output, Failure> {
    let NewWorktree { path, name, rev } = new;
    if let Some(name) = name
        && commit_of(git, &format!("refs/heads/{name}")).await?.is_some()
    {
        return Err(Failure::conflict(format!(
            "there is a branch {name} already, so it can't be made; to check it out there, name it as rev and leave \
             name out"
        )));
    }
    // Without either git takes the branch that is called like the folder, if there is one.
    let folder = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let start = match (rev, name) {
        (Some(rev), _) => meant(git, rev).await?,
        (None, Some(_)) => None,
        (None, None) => commit_of(git, &format!("refs/heads/{folder}")).await?,
    };
    refuse_filtered(git, Passed::Of(start.as_deref().unwrap_or("HEAD"))).await?;
    let output = worktrees_after(git, change).await?;
    let Some(note) = passed_over(git, change).await? else { return Ok(output) };
    Ok(Output::text(format!("{}\n{note}", output.joined_text())))
}

async fn worktrees_after(git: &Repository<'_>, change: &Change) -> Result<Output, Failure> {
    let before = git.list(refs::WORKTREES).await?;
    done(git, change).await?;
    let after = git.list(refs::WORKTREES).await?;
    if before.out == after.out {
        return Err(unseen("the worktrees are as they were"));
    }
    Ok(Output::text(format!("Worktrees now:\n{}", refs::worktrees(&after))))
}

async fn fetch(git: &Repository<'_>, remote: &str, name: Option<&str>) -> Result<Output, Failure> {
    let at = Remote::find(git, remote, false).await?;
    let before = refs::all(&git.list(refs::ALL).await?);
    let mut words = ["fetch", "--no-recurse-submodules", "--no-auto-maintenance"].map(str::to_owned).to_vec();
    words.extend(at.quiet("upload-pack"));
    words.push(remote.to_owned());
    words.extend(name.map(|name| format!("refs/heads/{name}")));
    succeeded(git, "fetch", Call::new(words).with_remote()).await?;
    let after = refs::all(&git.list(refs::ALL).await?);
    let told = refs::moved(&before, &after).unwrap_or_else(|| "Nothing is new.".to_owned());
    Ok(Output::text(format!("Fetched from {remote} ({})\n{told}", at.url)))
}

/// Where a worktree is to be, and with what.
struct NewWorktree<'a> {
    path: &'a str,
    name: Option<&'a str>,
    rev: Option<&'a str>,
}

/// What is pushed.
struct Pushing<'a> {
    remote: &'a str,
    name: Option<&'a str>,
    force: bool,
}

async fn push(git: &Repository<'_>, change: &Change, push: Pushing<'_>) -> Result<Output, Failure> {
    let Pushing { remote, name, force } = push;
    let at = Remote::find(git, remote, true).await?;
    let branch = if let Some(name) = name {
        name.to_owned()
    } else {
        let head = git.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"]).await?;
        if !head.is_ok() {
            return Err(Failure::conflict(
                "no branch is checked out, so it isn't clear what to push; switch to one, or name it",
            ));
        }
        head.text()
    };
    // Both sides in full: a setting of the repository's would else choose another branch to push to.
    let full = format!("refs/heads/{branch}");
    let Some(commit) = commit_of(git, &full).await? else {
        return Err(Failure::not_found(format!("there is no branch {branch}; list them with action branch")));
    };
    let mut words = ["push", "--porcelain", "--no-signed", "--no-follow-tags", "--recurse-submodules=no"]
        .map(str::to_owned)
        .to_vec();
    words.extend(force.then(|| "--force-with-lease".to_owned()));
    words.extend(at.quiet("receive-pack"));
    words.extend([remote.to_owned(), format!("{full}:{full}")]);
    let answer = git.call(Call::new(words).with_remote()).await?;
    // A line for each address that the remote has, and for each name that went along.
    let told = pushed(&answer.text());
    let place = |one: &Pushed| if one.to.is_empty() { at.url.clone() } else { one.to.clone() };
    let taken = told.iter().filter(|one| one.is_taken).map(|one| {
        let at = if one.name == branch { format!(" at {}", short(&commit)) } else { String::new() };
        format!("{remote} ({}) has {}{at}: {}", place(one), one.name, one.summary)
    });
    let mut text = taken.collect::<Vec<_>>().join("\n");
    if let Some(one) = told.iter().find(|one| !one.is_taken) {
        let also = if text.is_empty() { String::new() } else { format!("\nTaken was this:\n{text}") };
        return Err(Failure::conflict(format!(
            "{remote} ({}) refused {}: {}; {}{also}",
            place(one),
            one.name,
            one.summary,
            advice(&one.summary)
        ))
        .diagnose(answer.diagnostic()));
    }
    if !answer.is_ok() || !told.iter().any(|one| one.name == branch) {
        let failure = refused(&["push"], &answer);
        let also = if text.is_empty() { String::new() } else { format!("\nTaken was this:\n{text}") };
        return Err(Failure { text: format!("{}{also}", failure.text), ..failure });
    }
    if let Some(note) = passed_over(git, change).await? {
        let _ = write!(text, "\n{note}");
    }
    let metadata: Value = json!({"remote": remote, "branch": branch, "commit": commit});
    Ok(Output::text(text).with_metadata(metadata))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_told_as_it_stands_there() {
        let out = b"second \x1b\0\n1\t2\ta.txt\x00-\t-\tpic\n.png\0";
        let (text, count) = committed(&Answer { out: out.to_vec(), ..Answer::default() }, "a276013f0cb1");
        assert_eq!(text, "a276013 second ␛\n2 files, +1 -2\nChanged:\n  +1 -2 a.txt\n  binary pic\\n.png");
        assert_eq!(count, 2);
    }
}
