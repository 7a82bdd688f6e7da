//! Whether git surely only reads: its action is in the table, and its words fit it.

use super::{
    call, is_neutral,
    table::{DIFF, Operands, READING, SHOWS_DIFF},
};
use crate::command::{
    JudgedLine, Word,
    grammar::{Item, items, names, operands},
    read_only::is_among,
};

/// Ok where git surely only reads.
pub(crate) fn read_only(line: &JudgedLine, at: usize) -> Result<(), String> {
    let simple = line.line.commands.get(at).ok_or("there is no such command")?;
    let call = call(simple).ok_or("what git is to do isn't known")?;
    if !call.is_plain {
        return Err("git gets options that may change what it runs".to_owned());
    }
    if !matches!(call.action, "version" | "--version") && !is_neutral(line, at) {
        return Err("git, as it is set up there, may run programs".to_owned());
    }
    let second = call.rest.first().and_then(Word::exact).unwrap_or_default();
    let long = format!("{} {second}", call.action);
    let row = |name: &str| READING.iter().find(|(action, ..)| *action == name);
    let (row, words) = match row(&long) {
        Some(row) => (Some(row), call.rest.get(1..).unwrap_or_default()),
        None => (row(call.action), call.rest),
    };
    let (_, options, may) = row.ok_or_else(|| format!("git {} isn't known to only read", call.action))?;
    let options =
        if is_among(SHOWS_DIFF, call.action) { format!("{options} {DIFF}") } else { (*options).to_owned() };
    fits(call.action, &options, *may, words)
}

/// Whether the words fit an action that only reads.
fn fits(action: &str, options: &str, may: Operands, words: &[Word]) -> Result<(), String> {
    let refuse = |word: &Word| format!("git {action} may do more than read with {}", word.text());
    let items = items(options, words);
    for item in &items {
        match item {
            // These placeholders have a signature checked by a program.
            Item::Option { name, value: Some(value), .. }
                if matches!(name.as_str(), "--format" | "--pretty") =>
            {
                if value.exact().is_none_or(|format| format.contains("%G")) {
                    return Err(refuse(value));
                }
            }
            Item::Option { .. } | Item::Operand { is_sure: true, .. } => {}
            Item::Operand { word, .. } => return Err(refuse(word)),
            Item::Strange(word) => return Err(refuse(word)),
        }
    }
    let mut words = operands(&items);
    let extra = match may {
        Operands::Any => None,
        Operands::None => words.next(),
        Operands::One => words.nth(1),
        Operands::Words(first) => {
            words.next().filter(|word| !word.exact().is_some_and(|word| is_among(first, word)))
        }
        Operands::With(needed) => words.next().filter(|_| !names(&items).any(|name| is_among(needed, name))),
    };
    extra.map_or(Ok(()), |word| Err(refuse(word)))
}

#[cfg(test)]
mod tests {
    use crate::command::{read_only::read_only, typed::typed};

    fn verdict(text: &str) -> Result<(), String> {
        let line = typed(text);
        (0..line.line.commands.len()).try_for_each(|at| read_only(&line, at))
    }

    #[test]
    fn asking_git_only_reads() {
        for text in [
            "git status",
            "git status --short -b",
            "git status -sb",
            "git --no-pager diff",
            "git diff HEAD~1 -- src",
            "git diff --stat --cached",
            "git diff --name-only main...HEAD",
            "git log --oneline -5",
            "git log -n 5 --graph --all",
            "git log -p src/lib.rs",
            "git log --format=%h --since=yesterday",
            "git show HEAD:src/lib.rs",
            "git show --stat",
            "git blame -L 1,5 x",
            "git branch",
            "git branch -a -vv",
            "git branch --show-current",
            "git branch --merged main",
            "git branch --list 'f*'",
            "git tag",
            "git tag -l 'v*'",
            "git remote -v",
            "git remote show -n origin",
            "git remote get-url origin",
            "git rev-parse --abbrev-ref HEAD",
            "git rev-list --count HEAD",
            "git ls-files",
            "git ls-files '*.rs'",
            "git ls-tree -r HEAD --name-only",
            "git cat-file -p HEAD",
            "git describe --tags --always",
            "git shortlog -sn",
            "git stash list",
            "git stash show -p",
            "git reflog",
            "git reflog -5",
            "git config --get user.name",
            "git config --list",
            "git config get user.name",
            "git worktree list",
            "git merge-base main HEAD",
            "git grep -n x",
            "git version",
            "git --version",
            "git check-ignore -v x",
            "git symbolic-ref HEAD",
            "git submodule status",
            "git -C . status",
            "git -C /w status",
            "cd /w && git status",
            "GIT_PAGER=cat git log",
        ] {
            assert_eq!(verdict(text), Ok(()), "{text}");
        }
    }

    #[test]
    fn what_writes_or_runs_is_not_read_only() {
        for text in [
            "git",
            "git $X",
            "git push",
            "git commit -m x",
            "git -c core.pager=sh log",
            "git -ccore.pager=sh log",
            "git -p log",
            "git --paginate log",
            "git --exec-path=x status",
            "git --exec-p=x status",
            "git --config-env=core.pager=X log",
            "git --git-dir=x status",
            "git --git-dir x status",
            "git --work-tree x status",
            "git -C \"$X\" status",
            "git diff --output=x",
            "git diff --output x",
            "git diff --outp=x",
            "git log --output=x",
            "git diff --ext-diff",
            "git log -p --ext-diff",
            "git show --textconv",
            "git diff -Ox",
            "git grep -O x",
            "git grep -Osh x",
            "git grep --open-files-in-pager=sh x",
            "git log --show-signature",
            "git log --format=%GG",
            "git log --pretty=format:%G?",
            "git log --format=\"$X\"",
            "git branch x",
            "git branch -d x",
            "git branch -D x",
            "git branch -m x y",
            "git branch -v x",
            "git branch -a x",
            "git branch --edit-description",
            "git tag v1",
            "git tag -d v1",
            "git tag -v v1",
            "git remote add x y",
            "git remote show origin",
            "git remote update",
            "git stash",
            "git stash pop",
            "git reflog expire --all",
            "git config user.name x",
            "git config x",
            "git config --unset x",
            "git config -e",
            "git config --global core.pager sh",
            "git config --get x --file y",
            "git worktree add x",
            "git symbolic-ref HEAD refs/heads/x",
            "git bisect run sh",
            "git submodule foreach sh",
            "git ls-remote",
            "git fetch",
            "git archive --exec=x HEAD",
            "git help -a",
            "git foo",
            "git log $X",
            "git show \"$X\"",
            "git cat-file --textconv HEAD:x",
            "git cat-file --filters HEAD:x",
            "GIT_EXTERNAL_DIFF=x git diff",
            "GIT_PAGER=sh git log",
        ] {
            assert!(verdict(text).is_err(), "{text} is taken for read-only");
        }
        let mut line = typed("git status");
        line.neutral_git.clear();
        assert!(read_only(&line, 0).is_err());
    }
}
