//! git: which of its actions only read, which can't be undone, and which pushes rewrite a protected branch.
//!
//! Whether its settings run programs of the workspace's choosing is found out by others ([`JudgedLine::neutral_git`]).

use super::{
    JudgedLine, Line, Simple, Word,
    grammar::{Item, items, names, operands},
    place::{Places, normal},
    read_only::is_among,
};
use crate::wild::Wild;

/// Options of everything that shows a diff.
const DIFF: &str = "-pustRabwWDz -MCB? -SGUlX: -# --patch --no-patch --unified= --raw --minimal --patience --histogram \
    --diff-algorithm= --stat[=] --numstat --shortstat --dirstat[=] --summary --name-only --name-status --submodule[=] \
    --color[=] --no-color --color-moved[=] --word-diff[=] --color-words[=] --word-diff-regex= --no-renames \
    --find-renames[=] --find-copies[=] --find-copies-harder --check --full-index --binary --abbrev[=] \
    --diff-filter= --pickaxe-all --pickaxe-regex --relative[=] --text --ignore-space-at-eol --ignore-space-change \
    --ignore-all-space --ignore-blank-lines --ignore-cr-at-eol --inter-hunk-context= --function-context \
    --exit-code --quiet --no-ext-diff --no-textconv --no-prefix --src-prefix= --dst-prefix= --compact-summary \
    --cached --staged --merge-base --no-index --ignore-submodules[=] --patch-with-stat --no-color-moved";

/// Options of everything that walks commits.
const LOG: &str = "-gicmEFPq -nL: --max-count= --skip= --since= --after= --until= --before= --author= --committer= \
    --grep= --all-match --invert-grep --regexp-ignore-case --merges --no-merges --first-parent --all --branches[=] \
    --tags[=] --remotes[=] --glob= --exclude= --reflog --walk-reflogs --cherry-pick --cherry-mark --left-right \
    --left-only --right-only --boundary --follow --no-follow --oneline --graph --no-graph --decorate[=] \
    --no-decorate --decorate-refs= --pretty[=] --format= --abbrev-commit --no-abbrev-commit --date= \
    --relative-date --reverse --topo-order --date-order --author-date-order --full-history --simplify-merges \
    --simplify-by-decoration --show-pulls --ancestry-path[=] --source --no-notes --count --objects --parents \
    --children --timestamp --no-walk[=] --log-size --no-mailmap --mailmap --use-mailmap --cc --diff-merges= --line-range= --stdin";

/// Actions that only read: their options, and what their operands may be.
static READING: &[(&str, &str, Operands)] = &[
    (
        "status",
        "-sbvz -u? --short --branch --porcelain[=] --long --show-stash --untracked-files[=] --ignored[=] \
      --column[=] --no-column --ahead-behind --no-ahead-behind --renames --no-renames --verbose \
      --ignore-submodules[=]",
        Operands::Any,
    ),
    ("diff", DIFF, Operands::Any),
    ("diff-tree", "-rtmsvc --root --stdin --no-commit-id --pretty[=] --format=", Operands::Any),
    ("diff-index", "-m --cached", Operands::Any),
    ("diff-files", "-012q", Operands::Any),
    ("log", LOG, Operands::Any),
    ("whatchanged", LOG, Operands::Any),
    ("show", LOG, Operands::Any),
    ("reflog", LOG, Operands::Words("show list exists HEAD")),
    ("rev-list", LOG, Operands::Any),
    (
        "blame",
        "-lstfewnpcbkMC -LS: --porcelain --line-porcelain --date= --since= --show-name --show-number \
      --show-email --abbrev= --ignore-rev= --ignore-revs-file=@ --root --color-lines --color-by-age",
        Operands::Any,
    ),
    ("annotate", "-lstfewnpcb -L:", Operands::Any),
    (
        "shortlog",
        "-nsecw --numbered --summary --email --group= --committer --format= --since= --until= --all \
      --no-merges --author=",
        Operands::Any,
    ),
    (
        "branch",
        "-arvilq --all --remotes --list --verbose --show-current --contains= --no-contains= --merged[=] \
      --no-merged[=] --points-at= --sort= --format= --column[=] --no-column --color[=] --no-color --abbrev[=] \
      --ignore-case",
        Operands::With("--list --merged --no-merged --contains --no-contains --points-at"),
    ),
    (
        "tag",
        "-li -n? --list --contains= --no-contains= --merged[=] --no-merged[=] --points-at= --sort= --format= \
      --column[=] --no-column --color[=] --ignore-case",
        Operands::With("-l --list --merged --no-merged --contains"),
    ),
    ("remote", "-v --verbose", Operands::None),
    ("remote show", "-n", Operands::With("-n")),
    ("remote get-url", "--push --all", Operands::Any),
    (
        "rev-parse",
        "-q --verify --quiet --abbrev-ref[=] --short[=] --symbolic --symbolic-full-name --show-toplevel \
      --show-prefix --show-cdup --git-dir --absolute-git-dir --git-common-dir --is-inside-work-tree \
      --is-inside-git-dir --is-bare-repository --is-shallow-repository --show-superproject-working-tree --all \
      --branches[=] --tags[=] --remotes[=] --git-path= --revs-only --no-revs --flags --no-flags --default= \
      --show-object-format",
        Operands::Any,
    ),
    (
        "ls-files",
        "-cdmosiktuvzfr -x: --cached --deleted --modified --others --ignored --stage --unmerged --killed \
      --exclude= --exclude-standard --full-name --error-unmatch --abbrev[=] --eol --directory --deduplicate \
      --recurse-submodules",
        Operands::Any,
    ),
    (
        "ls-tree",
        "-drtlz --long --name-only --name-status --object-only --full-name --full-tree --abbrev[=] \
      --format=",
        Operands::Any,
    ),
    ("cat-file", "-ptes --batch-check[=] --batch[=] --batch-all-objects --unordered", Operands::Any),
    (
        "describe",
        "--all --tags --contains --abbrev= --candidates= --exact-match --debug --long --match= --exclude= \
      --always --first-parent --dirty[=] --broken[=]",
        Operands::Any,
    ),
    ("stash list", LOG, Operands::None),
    ("stash show", "-u --include-untracked --only-untracked", Operands::Any),
    (
        "config get",
        "--all --global --local --system --show-origin --show-scope --regexp --default= --name-only \
      --null -z --type= --includes --no-includes",
        Operands::Any,
    ),
    (
        "config list",
        "--global --local --system --show-origin --show-scope --name-only --null -z --includes \
      --no-includes",
        Operands::None,
    ),
    (
        "config",
        "-lz --get= --get-all= --get-regexp= --list --global --local --system --show-origin --show-scope \
      --name-only --null --type= --bool --int --includes --no-includes --default=",
        Operands::None,
    ),
    ("worktree list", "-vz --verbose --porcelain", Operands::None),
    (
        "for-each-ref",
        "--count= --sort= --format= --points-at= --merged[=] --no-merged[=] --contains= --no-contains= \
      --ignore-case --color[=]",
        Operands::Any,
    ),
    ("name-rev", "--tags --refs= --all --name-only --no-undefined --always", Operands::Any),
    ("merge-base", "-a --all --octopus --independent --is-ancestor --fork-point", Operands::Any),
    (
        "grep",
        "-iIwvhHEGPFnlLzocpWqra -AeBCm: -f:@ -# --cached --untracked --no-index --no-exclude-standard \
      --exclude-standard --recurse-submodules --text --ignore-case --max-depth= --word-regexp --invert-match \
      --full-name --extended-regexp --basic-regexp --perl-regexp --fixed-strings --line-number --column \
      --files-with-matches --name-only --files-without-match --null --only-matching --count --color[=] --no-color \
      --break --heading --show-function --context= --after-context= --before-context= --function-context \
      --threads= --and --or --not --all-match --quiet --max-count=",
        Operands::Any,
    ),
    ("version", "--build-options", Operands::None),
    ("--version", "", Operands::None),
    ("check-ignore", "-qvzn --quiet --verbose --stdin --non-matching --no-index", Operands::Any),
    ("check-attr", "-az --all --stdin --cached --source=", Operands::Any),
    ("count-objects", "-vH --verbose --human-readable", Operands::None),
    ("cherry", "-v --abbrev[=]", Operands::Any),
    (
        "show-ref",
        "-qds --head --heads --branches --tags --dereference --hash[=] --verify --quiet --abbrev[=]",
        Operands::Any,
    ),
    ("show-branch", "-ar --all --remotes --current --list", Operands::Any),
    ("symbolic-ref", "-q --quiet --short", Operands::One),
    ("submodule status", "--cached --recursive", Operands::Any),
    ("bisect log", "", Operands::None),
];

/// Actions whose options are those of a diff too.
const SHOWS_DIFF: &str = "diff diff-tree diff-index diff-files log whatchanged show reflog stash";

/// What the operands of an action may be.
#[derive(Debug, Clone, Copy)]
enum Operands {
    None,
    One,
    Any,
    /// One of these first.
    Words(&'static str),
    /// Any, where one of these options is given.
    With(&'static str),
}

/// Global options with the next word as value.
const GLOBAL_VALUED: &str = "-C -c --git-dir --work-tree --namespace --config-env --attr-source --super-prefix \
    --exec-path --list-cmds";

/// Global options that change nothing of what is run or where.
const GLOBAL_PLAIN: &str =
    "--no-pager -P --no-optional-locks --literal-pathspecs --no-replace-objects --no-lazy-fetch --no-advice";

/// What git is told to do.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// The folders of `-C`, one after the other.
    pub(crate) folders: Vec<&'a Word>,
    /// Whether no other option stands before the action than those that are harmless.
    pub(crate) is_plain: bool,
    /// The action.
    pub(crate) action: &'a str,
    /// The words after it.
    pub(crate) rest: &'a [Word],
}

/// What git is told to do; none where that isn't known.
pub(crate) fn call(simple: &Simple) -> Option<Call<'_>> {
    if simple.program() != Some("git") {
        return None;
    }
    let mut words = simple.words.get(1..)?;
    let mut folders = Vec::new();
    let mut is_plain = true;
    loop {
        let (first, rest) = words.split_first()?;
        let text = first.exact()?;
        words = rest;
        if matches!(text, "--version" | "-v") || !text.starts_with('-') {
            let action = if text == "-v" { "--version" } else { text };
            return Some(Call { folders, is_plain, action, rest });
        }
        if is_among(GLOBAL_VALUED, text) {
            let (value, rest) = words.split_first()?;
            words = rest;
            if text == "-C" {
                folders.push(value);
                continue;
            }
        }
        is_plain &= is_among(GLOBAL_PLAIN, text);
    }
}

/// Ok where git surely only reads.
pub(super) fn read_only(line: &JudgedLine, at: usize) -> Result<(), String> {
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

/// The folder in which a git command looks for its repository, absolute and normalised by name; none where the
/// command isn't git, or that isn't known.
pub fn git_folder(line: &Line, at: usize, start: &str) -> Option<String> {
    let simple = line.commands.get(at).filter(|simple| simple.program() == Some("git"))?;
    let places = Places { start: Some(start), home: None };
    let mut folder = places.folder(&simple.cwd)?;
    for step in call(simple)?.folders {
        let step = step.exact()?;
        folder = if step.starts_with('/') { normal(step) } else { normal(&format!("{folder}/{step}")) };
    }
    Some(folder)
}

/// Whether `git config` only asks.
pub(super) fn only_asks_settings(words: &[Word]) -> bool {
    const ASKS: [&str; 10] = [
        "--get",
        "--get-all",
        "--get-regexp",
        "--get-urlmatch",
        "--list",
        "-l",
        "get",
        "list",
        "--get-color",
        "--get-colorbool",
    ];
    let mut plain = words.iter().filter_map(Word::exact);
    // One name alone is asked for as well.
    plain.clone().any(|word| ASKS.contains(&word))
        || (words.iter().all(|word| word.exact().is_some())
            && plain.by_ref().filter(|word| !word.starts_with('-')).count() == 1
            && !words.iter().any(|word| word.text().starts_with("--unset") || word.text() == "-e"))
}

/// Whether git, as it is set up where the command asks it, runs nothing of the workspace's choosing.
pub(super) fn is_neutral(line: &JudgedLine, at: usize) -> bool {
    let folder = line.start.as_deref().and_then(|start| git_folder(&line.line, at, start));
    folder.is_some_and(|folder| line.neutral_git.contains(&folder))
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

/// Whether the word is one of the long options, abbreviated or not, or a cluster with one of the letters.
fn is_given(word: &Word, long: &[&str], letters: &str) -> bool {
    let text = word.prefix();
    if let Some(name) = text.strip_prefix("--") {
        let name = name.split('=').next().unwrap_or(name);
        return name.len() > 1 && long.iter().any(|option| option.trim_start_matches('-').starts_with(name));
    }
    text.strip_prefix('-').is_some_and(|cluster| cluster.contains(|c: char| letters.contains(c)))
}

/// `checkout` that overwrites files: of paths, or forced.
fn throws_away(words: &[Word]) -> bool {
    let is_forced = words.iter().any(|word| is_given(word, &["--force"], "f"));
    let has_paths = words.iter().any(|word| matches!(word.text(), "--" | "." | "./" | ":/" | ".."));
    is_forced || has_paths || words.iter().any(|word| matches!(word, Word::Glob { .. }))
}

/// The options of `push`, as far as they tell options from operands.
const PUSH: &str = "-fdnqvu46 -o: --force --force-with-lease[=] --force-if-includes --no-force-with-lease --delete \
    --mirror --all --branches --tags --prune --follow-tags --no-follow-tags --atomic --push-option= --repo= \
    --receive-pack= --exec= --signed[=] --no-verify --verify --set-upstream --dry-run --progress --porcelain --thin \
    --no-thin --quiet --verbose --ipv4 --ipv6 --recurse-submodules=";

/// How a push treats what is there.
struct Push<'a> {
    is_forced: bool,
    deletes: bool,
    all: bool,
    refs: Vec<&'a str>,
}

fn push(words: &[Word]) -> Push<'_> {
    let items = items(PUSH, words);
    let strange = items.iter().filter_map(|item| match item {
        Item::Strange(word) => Some(word.text()),
        _ => None,
    });
    let given: Vec<&str> = names(&items).chain(strange).collect();
    // git completes abbreviations.
    let has = |option: &str, least: usize| {
        given.iter().any(|name| name.len() >= least && (option.starts_with(name) || *name == option))
    };
    let known = operands(&items).filter_map(Word::exact);
    Push {
        is_forced: given.iter().any(|name| *name == "-f" || name.starts_with("--force-with-lease"))
            || has("--force", 4)
            || has("--force-with-lease", 5),
        deletes: given.contains(&"-d") || has("--delete", 4),
        all: has("--all", 4) || has("--branches", 4) || has("--mirror", 3),
        refs: if given.contains(&"--repo") { known.collect() } else { known.skip(1).collect() },
    }
}

/// Whether a push may take something away from the other side.
fn rewrites(words: &[Word]) -> bool {
    let has = |long: &[&str]| words.iter().any(|word| is_given(word, long, ""));
    let push = push(words);
    push.is_forced
        || push.deletes
        || has(&["--mirror", "--prune"])
        || push.refs.iter().any(|reference| reference.starts_with(['+', ':']))
}

/// A push that rewrites or deletes a protected branch: `main`, `master`, `release/*` and those of the globs.
pub(crate) fn forced_protected_push(simple: &Simple, protected: &[String]) -> Option<String> {
    let call = call(simple).filter(|call| call.action == "push")?;
    let push = push(call.rest);
    if call.rest.iter().any(|word| is_given(word, &["--mirror"], "")) {
        return Some("git push --mirror rewrites every branch on the other side".to_owned());
    }
    if push.is_forced && push.all {
        return Some("a forced push of all branches rewrites the protected ones".to_owned());
    }
    push.refs.iter().find_map(|reference| {
        let (is_forced, reference) = match reference.strip_prefix('+') {
            Some(rest) => (true, rest),
            None => (push.is_forced || push.deletes, *reference),
        };
        let (source, branch) = reference.split_once(':').unwrap_or((reference, reference));
        let deletes = source.is_empty() && !branch.is_empty();
        let branch = branch.strip_prefix("refs/").unwrap_or(branch);
        let branch = branch.strip_prefix("heads/").unwrap_or(branch);
        let is_hit = (is_forced || deletes) && is_protected(branch, protected);
        is_hit.then(|| format!("a forced push would rewrite or delete the protected branch {branch}"))
    })
}

/// Whether the branch, or what a pattern for branches may name, is protected.
fn is_protected(branch: &str, protected: &[String]) -> bool {
    let named = ["main", "master"];
    let globs = std::iter::once("release/*").chain(protected.iter().map(String::as_str));
    // An empty side means all branches that are on both sides.
    branch.is_empty()
        || named.contains(&branch)
        || globs.clone().any(|glob| Wild::new(glob).matches(branch))
        || (branch.contains('*')
            && named.into_iter().chain(globs).any(|name| Wild::new(branch).matches(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
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

    #[test]
    fn a_protected_branch_is_never_force_pushed() {
        let protected = ["prod-*".to_owned()];
        let hit = |text: &str| forced_protected_push(&typed(text).line.commands[0], &protected).is_some();
        for text in [
            "git push --force origin main",
            "git push -f origin master",
            "git push origin main -f",
            "git push -uf origin main",
            "git push --forc origin main",
            "git push --force-with-lease origin main",
            "git push --force-with-lease=main origin main",
            "git push --force-w origin main",
            "git push origin +main",
            "git push origin +HEAD:main",
            "git push origin +refs/heads/main",
            "git push -f origin HEAD:refs/heads/main",
            "git push origin :main",
            "git push origin --delete main",
            "git push -d origin main",
            "git push --mirror",
            "git push --mir",
            "git push --all --force",
            "git push -f origin release/1.2",
            "git push -f origin x:prod-eu",
            "git push -f origin x main",
            "git push origin '+refs/heads/*:refs/heads/*'",
            "git push -f origin :",
            "git -C x push -f origin main",
            "git -c a.b=c push origin +main",
            "/usr/bin/git push -f origin main",
        ] {
            assert!(hit(text), "{text}");
        }
        for text in [
            "git push",
            "git push --force",
            "git push origin main",
            "git push origin HEAD:main",
            "git push -f origin feature/main",
            "git push -f origin main:x",
            "git push origin +x",
            "git push --follow-tags origin main",
            "git push --delete origin x",
            "git push --force-if-includes origin main",
            "git fetch -f origin main",
            "git push origin --all",
        ] {
            assert!(!hit(text), "{text}");
        }
    }
}
