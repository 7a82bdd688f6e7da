//! git: which of its words are paths, and which files each of its actions reads or writes.

use super::Paths;
use crate::command::{
    Access, Cwd, Simple, Word, git,
    grammar::{Item, completed, items},
};

/// Options of git's actions whose value is a file that is read.
const GIT_FILES: &str = "--pathspec-from-file=@ --pathspec-file-nul";
const GIT_TEXTS: &str = "-aepqvsnoi -mcC: -S? -u? -F:@ -t:@ --file=@ --template=@ --message= --author= --date= \
    --reuse-message= --reedit-message= --fixup= --squash= --trailer= --cleanup= --amend --all --no-verify --no-edit";
const GIT_BLAMES: &str =
    "-lstfewnpcbkM -C? -L: -S:@ --ignore-revs-file=@ --contents=@ --ignore-rev= --date= --since=";

impl Paths<'_> {
    pub(super) fn git(&mut self, simple: &Simple) -> Access {
        let Some(call) = git::call(simple) else {
            simple.words.iter().skip(1).for_each(|word| self.named(word));
            return Access::Named;
        };
        let own = std::mem::replace(&mut self.cwd, moved(&simple.cwd, &call.folders));
        self.git_files(call.action, call.rest);
        let operands = call.rest.iter().filter(|word| !word.prefix().starts_with('-'));
        let is_deep = matches!(call.action, "clean" | "restore" | "rm" | "apply")
            || (call.action == "checkout"
                && !call.rest.iter().any(|word| matches!(word.text(), "-b" | "-B")));
        match call.action {
            "mv" => operands.for_each(|word| self.word(Access::WriteTree, word)),
            "rm" => operands.for_each(|word| self.word(Access::WriteTree, word)),
            "add" => operands.for_each(|word| self.word(Access::Read, word)),
            "grep" => {
                // Behind `--` stand the paths; elsewhere a word may be a pattern, a revision or a path.
                let paths = call.rest.iter().position(|word| word.exact() == Some("--"));
                match paths.and_then(|at| call.rest.get(at + 1..)).filter(|paths| !paths.is_empty()) {
                    Some(paths) => paths.iter().for_each(|word| self.word(Access::ReadTree, word)),
                    None => self.add(Access::ReadTree, "."),
                }
                operands.for_each(|word| self.named(word));
            }
            "diff" | "log" | "show" | "stash" | "format-patch" | "whatchanged"
                if shows_content(call.action, call.rest) =>
            {
                // Only what stands behind `--` is surely a path, and nothing else is shown then; a revision's path
                // counts from the top of the repository, wherever that is.
                match plain_paths(call.rest) {
                    Some(paths) => paths.iter().for_each(|word| self.word(Access::ReadTree, word)),
                    None => self.add(Access::Tracked, "."),
                }
                self.objects(operands);
            }
            "cat-file" if !call.rest.iter().any(|word| matches!(word.text(), "-t" | "-s" | "-e")) => {
                self.add(Access::Tracked, ".");
                self.objects(operands);
            }
            "log" | "show" | "diff" | "blame" | "cat-file" | "rev-list" | "rev-parse" | "branch" | "tag" => {
                self.objects(operands);
            }
            "config" if !git::only_asks_settings(call.rest) => {
                self.add(Access::Write, ".git/config");
                self.add(Access::Write, "~/.gitconfig");
            }
            "commit" => {
                call.rest.iter().filter(|word| word.text().contains('/')).for_each(|word| self.named(word));
            }
            "config" | "version" | "--version" => {}
            _ => call.rest.iter().for_each(|word| self.named(word)),
        }
        match call.action {
            "status" | "ls-files" => self.add(Access::Read, "."),
            _ if is_deep && !git_only_lists(call.rest) => self.add(Access::WriteTree, "."),
            _ => {}
        }
        self.cwd = own;
        Access::Named
    }

    /// Revisions and paths: `HEAD:path` and `:0:path` show a file as well.
    fn objects<'w>(&mut self, operands: impl Iterator<Item = &'w Word>) {
        for word in operands {
            match word.exact().and_then(|text| text.split_once(':')) {
                Some((_, path)) => {
                    let staged = ["0:", "1:", "2:", "3:"].iter().find_map(|stage| path.strip_prefix(stage));
                    self.word(Access::Read, &Word::known(staged.unwrap_or(path)));
                }
                None => self.named(word),
            }
        }
    }

    /// Options of git whose value is a file that is read, or one whose story is shown.
    fn git_files(&mut self, action: &str, words: &[Word]) {
        let own = match action {
            "commit" | "tag" | "merge" | "notes" => GIT_TEXTS,
            "blame" | "annotate" => GIT_BLAMES,
            "grep" => "-iIwvhHEGPFnlLzocpWqra -f:@ -eABCm:",
            _ => "",
        };
        let grammar = format!("{own} {GIT_FILES}");
        let words = completed(&grammar, words);
        for item in items(&grammar, &words) {
            if let Item::Option { value: Some(value), is_path: true, .. } = item {
                self.word(Access::Read, &value);
            }
        }
        // `--output=file`, however it is shortened.
        for (at, word) in words.iter().enumerate() {
            let text = word.text();
            let (option, value) =
                text.split_once('=').map_or((text, None), |(option, value)| (option, Some(value)));
            let is_output =
                option.len() > 4 && "--output".starts_with(option) || option == "--output-directory";
            match (is_output, value) {
                (false, _) => {}
                (true, Some(value)) if word.exact().is_some() => {
                    self.word(Access::Write, &Word::known(value));
                }
                (true, Some(value)) => self.unknown(Access::Write, value),
                (true, None) => {
                    if let Some(next) = words.get(at + 1) {
                        self.word(Access::Write, next);
                    }
                }
            }
        }
        if !matches!(action, "log" | "show" | "whatchanged") {
            return;
        }
        // `-L1,5:path`, `-L :function:path`.
        for (at, word) in words.iter().enumerate() {
            let ranges = match word.text() {
                "-L" => words.get(at + 1).map_or("", Word::text),
                text => text.strip_prefix("-L").unwrap_or_default(),
            };
            if let Some((_, path)) = ranges.rsplit_once(':') {
                self.word(Access::Read, &Word::known(path));
            }
        }
    }
}

/// The words behind `--`, where there are some and each is a path without any magic.
fn plain_paths(words: &[Word]) -> Option<&[Word]> {
    let at = words.iter().position(|word| word.exact() == Some("--"))?;
    let paths = words.get(at + 1..).filter(|paths| !paths.is_empty())?;
    paths.iter().all(|word| word.exact().is_some_and(|text| !text.starts_with(':'))).then_some(paths)
}

/// Whether git prints what changed in files, and not only which.
fn shows_content(action: &str, words: &[Word]) -> bool {
    let has = |wanted: &[&str]| {
        words.iter().any(|word| wanted.iter().any(|option| word.text().split('=').next() == Some(option)))
    };
    let only_names = has(&[
        "--stat",
        "--numstat",
        "--shortstat",
        "--name-only",
        "--name-status",
        "--dirstat",
        "--summary",
        "--check",
        "--quiet",
        "-s",
        "--no-patch",
        "--raw",
    ]);
    let asks =
        has(&["-p", "-u", "--patch", "--patch-with-stat", "--unified", "--word-diff", "-L", "-c", "--cc"])
            || words.iter().any(|word| word.text().starts_with("-U") || word.text().starts_with("-L"));
    match action {
        "diff" | "show" => !only_names || asks,
        "format-patch" => true,
        "stash" => words.first().and_then(Word::exact) == Some("show") && asks,
        _ => asks,
    }
}

/// `clean -n`: nothing is written.
fn git_only_lists(words: &[Word]) -> bool {
    words.iter().any(|word| matches!(word.text(), "-n" | "--dry-run" | "-nd"))
}

/// The folder after further steps.
fn moved(cwd: &Cwd, folders: &[&Word]) -> Cwd {
    if folders.is_empty() {
        return cwd.clone();
    }
    let mut steps = match cwd {
        Cwd::Start => Vec::new(),
        Cwd::Moved(steps) => steps.clone(),
        Cwd::Unknown if folders.first().is_some_and(|word| word.text().starts_with('/')) => Vec::new(),
        Cwd::Unknown => return Cwd::Unknown,
    };
    for folder in folders {
        match folder.exact() {
            Some(step) => steps.push(step.to_owned()),
            None => return Cwd::Unknown,
        }
    }
    Cwd::Moved(steps)
}
