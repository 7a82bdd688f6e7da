//! git: which of its actions only read, which can't be undone, and which pushes rewrite a protected branch.
//!
//! Whether its settings run programs of the workspace's choosing is found out by others ([`JudgedLine::neutral_git`]).

mod destructive;
mod push;
mod read_only;
mod table;

pub(crate) use destructive::destructive;
pub(crate) use push::forced_protected_push;
pub(super) use read_only::read_only;

use super::{
    JudgedLine, Line, Simple, Word,
    place::{Places, normal},
    read_only::is_among,
};

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

/// Whether the word is one of the long options, abbreviated or not, or a cluster with one of the letters.
fn is_given(word: &Word, long: &[&str], letters: &str) -> bool {
    let text = word.prefix();
    if let Some(name) = text.strip_prefix("--") {
        let name = name.split('=').next().unwrap_or(name);
        return name.len() > 1 && long.iter().any(|option| option.trim_start_matches('-').starts_with(name));
    }
    text.strip_prefix('-').is_some_and(|cluster| cluster.contains(|c: char| letters.contains(c)))
}
