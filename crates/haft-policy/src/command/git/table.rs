//! Actions of git that only read: a table with their options, and what their operands may be.

/// Options of everything that shows a diff.
pub(super) const DIFF: &str = "-pustRabwWDz -MCB? -SGUlX: -# --patch --no-patch --unified= --raw --minimal --patience --histogram \
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

/// One row: the action, its options, and what its operands may be.
pub(super) type Reading = (&'static str, &'static str, Operands);

/// All rows.
pub(super) static READING: &[Reading] = &[
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
pub(super) const SHOWS_DIFF: &str = "diff diff-tree diff-index diff-files log whatchanged show reflog stash";

/// What the operands of an action may be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Operands {
    None,
    One,
    Any,
    /// One of these first.
    Words(&'static str),
    /// Any, where one of these options is given.
    With(&'static str),
}
