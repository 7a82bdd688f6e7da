//! Command lines: read once, their paths and programs looked up, so that the gates judge plain data.

use super::git;
use crate::session::Pins;
use haft_core::{FileKind, Files, PathArg, Processes, RealPath, SessionView, Shell, Touch};
use haft_policy::{
    Access, Cwd, Dialect, HookWord, JudgedLine, JudgedPath, Line, LinePath, PathWord, Simple, git_folder,
    path_words, read_line,
};
use std::sync::Arc;

/// The key of the session's state that holds the shell's working directory.
const CWD: &str = "cwd";
/// More paths than that in one line are left unresolved, and so asked.
const PATHS_MAX: usize = 2_000;

/// Where lines are looked at.
#[derive(Clone, Copy)]
pub(crate) struct Around<'a> {
    pub(crate) files: &'a dyn Files,
    pub(crate) processes: &'a dyn Processes,
    pub(crate) session: &'a dyn SessionView,
    /// How often the session's state has changed.
    pub(crate) epoch: u64,
    /// Where writing is free.
    pub(crate) temp: &'a [String],
    /// What hooks said to this input.
    pub(crate) hooks: &'a [HookWord],
    /// Which foreign tools the user knows.
    pub(crate) pins: Option<&'a dyn Pins>,
}

/// The command lines among the touches, in their order.
pub(crate) fn judged_lines(touches: &[Touch<RealPath>], around: Around<'_>) -> Vec<JudgedLine> {
    let texts: Vec<&Arc<str>> = touches
        .iter()
        .filter_map(|touch| if let Touch::Command(text) = touch { Some(text) } else { None })
        .collect();
    if texts.is_empty() {
        return Vec::new();
    }
    let start = start(touches, around);
    let dialect = match around.processes.shell() {
        Shell::Bash => Dialect::Bash,
        Shell::Posix => Dialect::Posix,
    };
    texts.into_iter().map(|text| judged_line(text, dialect, &start, around)).collect()
}

fn judged_line(text: &Arc<str>, dialect: Dialect, start: &RealPath, around: Around<'_>) -> JudgedLine {
    let line = read_line(text, dialect);
    let start = start.absolute();
    let words = path_words(&line);
    let paths = words
        .into_iter()
        .enumerate()
        .map(|(at, word)| {
            let path = if at < PATHS_MAX { resolve(&word, &start, around.files) } else { None };
            let has_parent = path.as_ref().is_some_and(|path| may_be_path(&word, path, around.files));
            LinePath { word, path, has_parent }
        })
        .collect();
    let programs = line.commands.iter().map(|command| program(command, &start, around)).collect();
    let neutral_git = neutral_git(&line, &start, around.files);
    JudgedLine {
        text: Arc::clone(text),
        line: Arc::new(line),
        start: Some(start),
        paths,
        programs,
        neutral_git,
    }
}

/// The folder in which a line starts: what stands beside it among the touches, else the session's, else the root.
fn start(touches: &[Touch<RealPath>], around: Around<'_>) -> RealPath {
    let stated =
        touches.iter().find_map(|touch| if let Touch::Read(path) = touch { Some(path) } else { None });
    let last = || {
        let state = around.session.state(CWD)?;
        let at = around.files.resolve(&PathArg(state.as_str()?.to_owned())).ok()?;
        around.files.stat(&at).is_ok_and(|stat| stat.kind == FileKind::Folder).then_some(at)
    };
    stated.cloned().or_else(last).unwrap_or_else(|| around.files.workspace())
}

/// What a word stands for; none where its folder isn't known.
fn resolve(word: &PathWord, start: &str, files: &dyn Files) -> Option<JudgedPath> {
    if word.text.is_empty() || word.text.contains('\0') {
        return None;
    }
    let folder = folder(&word.cwd, start)?;
    let whole = joined(&folder, &word.text);
    let real = files.resolve(&PathArg(whole.clone())).ok()?;
    let written = if whole.starts_with('~') { real.absolute() } else { normal(&whole) };
    Some(JudgedPath { written, real })
}

/// The folder of a command, as the shell counts it: `..` goes back by name.
fn folder(cwd: &Cwd, start: &str) -> Option<String> {
    match cwd {
        Cwd::Start => Some(start.to_owned()),
        Cwd::Moved(steps) => {
            let moved = steps.iter().fold(start.to_owned(), |at, step| {
                let next = joined(&at, step);
                if next.starts_with('~') { next } else { normal(&next) }
            });
            Some(moved)
        }
        Cwd::Unknown => None,
    }
}

fn joined(folder: &str, text: &str) -> String {
    if text.starts_with('/') || text == "~" || text.starts_with("~/") {
        return text.to_owned();
    }
    format!("{}/{text}", folder.trim_end_matches('/'))
}

/// Without `.` and `..`, by name alone.
pub(crate) fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// Whether a word that is just handed to a program can well be a path: something is there, or it is written like one
/// and its folder is there.
fn may_be_path(word: &PathWord, path: &JudgedPath, files: &dyn Files) -> bool {
    if word.access != Access::Named || files.stat(&path.real).is_ok() {
        return true;
    }
    let is_written_like_one = word.text.contains('/') || word.text.starts_with('.');
    is_written_like_one && parent(&path.real).is_none_or(|parent| files.stat(&parent).is_ok())
}

fn parent(path: &RealPath) -> Option<RealPath> {
    let beneath = path.beneath.as_ref();
    match beneath.rsplit_once('/') {
        Some((folder, _)) => Some(RealPath::new(&path.root, folder)),
        None if beneath.is_empty() => None,
        None => Some(RealPath::new(&path.root, "")),
    }
}

/// The file that a command's program is.
fn program(command: &Simple, start: &str, around: Around<'_>) -> Option<String> {
    let word = command.words.first()?.exact()?;
    if !word.contains('/') {
        return around.processes.locate(word);
    }
    let whole = joined(&folder(&command.cwd, start)?, word);
    around.files.resolve(&PathArg(whole)).ok().map(|real| real.absolute())
}

/// The folders in which the line asks git, as far as it is neutral there.
fn neutral_git(line: &Line, start: &str, files: &dyn Files) -> Vec<String> {
    let mut folders: Vec<String> =
        (0..line.commands.len()).filter_map(|at| git_folder(line, at, start)).collect();
    folders.sort();
    folders.dedup();
    folders.retain(|folder| git::is_neutral(folder, files));
    folders
}
