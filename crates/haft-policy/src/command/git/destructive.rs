//! What git would do that can't be put right again.

use super::{call, is_given, push::rewrites};
use crate::command::{Simple, Word};

/// What git would do that can't be put right again.
pub(crate) fn destructive(simple: &Simple) -> Option<String> {
    let call = call(simple)?;
    let has = |long: &[&str], letters: &str| call.rest.iter().any(|word| is_given(word, long, letters));
    let first = call.rest.iter().find_map(|word| word.exact().filter(|text| !text.starts_with('-')));
    let what = match call.action {
        "reset" if has(&["--hard"], "") => "throws away what isn't committed",
        "clean" if has(&["--force"], "f") && !has(&["--dry-run"], "n") => "removes untracked files",
        "checkout" if throws_away(call.rest) => "throws away what isn't committed",
        "restore" if !has(&["--staged"], "S") || has(&["--worktree"], "W") => {
            "throws away what isn't committed"
        }
        "switch" if has(&["--force", "--discard-changes"], "f") => "throws away what isn't committed",
        "branch" if (has(&["--delete"], "d") && has(&["--force"], "f")) || has(&[], "D") => {
            "deletes a branch"
        }
        "stash" if matches!(first, Some("drop" | "clear")) => "drops a stash",
        "push" if rewrites(call.rest) => "rewrites or deletes a branch elsewhere",
        "rebase" if !has(&["--abort", "--quit", "--show-current-patch"], "") => "rewrites history",
        "filter-branch" | "filter-repo" => "rewrites history",
        "reflog" if matches!(first, Some("expire" | "delete")) => "forgets where branches were",
        "gc" if call.rest.iter().any(|word| word.text().starts_with("--prune")) => {
            "removes unreachable commits"
        }
        "prune" => "removes unreachable commits",
        "update-ref" if has(&["--delete", "--stdin"], "d") => "deletes a reference",
        "tag" if has(&["--delete", "--force"], "df") => "deletes or moves a tag",
        "worktree" if first == Some("remove") && has(&["--force"], "f") => "removes a worktree",
        "submodule" if first == Some("deinit") && has(&["--force"], "f") => "removes a submodule's files",
        "rm" if has(&["--force"], "f") && !has(&["--cached"], "") => "removes files",
        _ => return None,
    };
    Some(format!("git {} {what}", call.action))
}

/// `checkout` that overwrites files: of paths, or forced.
fn throws_away(words: &[Word]) -> bool {
    let is_forced = words.iter().any(|word| is_given(word, &["--force"], "f"));
    let has_paths = words.iter().any(|word| matches!(word.text(), "--" | "." | "./" | ":/" | ".."));
    is_forced || has_paths || words.iter().any(|word| matches!(word, Word::Glob { .. }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::typed::typed;

    #[test]
    fn what_can_not_be_undone_is_told() {
        let risky = |text: &str| destructive(&typed(text).line.commands[0]).is_some();
        for text in [
            "git reset --hard",
            "git reset --har HEAD~1",
            "git -C x reset --hard",
            "git clean -fd",
            "git clean -xdf",
            "git clean --force",
            "git checkout -- x",
            "git checkout .",
            "git checkout -f main",
            "git restore x",
            "git restore --staged --worktree x",
            "git branch -D x",
            "git branch -d -f x",
            "git stash drop",
            "git stash clear",
            "git push -f",
            "git push --force-with-lease",
            "git push -uf origin x",
            "git push origin +x",
            "git push origin :x",
            "git push --delete origin x",
            "git push --mirror",
            "git rebase main",
            "git filter-branch x",
            "git reflog expire --all",
            "git gc --prune=now",
            "git update-ref -d x",
            "git tag -d x",
            "git worktree remove --force x",
        ] {
            assert!(risky(text), "{text}");
        }
        for text in [
            "git reset",
            "git reset --soft HEAD~1",
            "git clean -n",
            "git clean -nfd",
            "git checkout main",
            "git checkout -b x",
            "git restore --staged x",
            "git branch -d x",
            "git stash",
            "git push",
            "git push -u origin x",
            "git push --follow-tags",
            "git rebase --abort",
            "git gc",
            "git tag v1",
            "git commit --amend",
            "git status",
        ] {
            assert!(!risky(text), "{text}");
        }
    }
}
