//! Command lines: read once, their paths and programs looked up, so that the gates judge plain data.

use super::{
    git::{self, Care},
    pattern,
};
use crate::session::Pins;
use haft_core::{FileKind, Files, PathArg, Processes, RealPath, SHELL_FOLDER, SessionView, Shell, Touch};
use haft_policy::{
    Access, Cwd, Dialect, HookWord, JudgedLine, JudgedPath, Line, LinePath, PathWord, Simple, git_folder,
    normal, path_words, read_line, reads_only,
};
use std::sync::Arc;

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
    /// Whether rules restrict what may be read; asked only where it matters.
    pub(crate) guards_paths: &'a dyn Fn() -> bool,
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
    let mut lines: Vec<JudgedLine> =
        texts.into_iter().map(|text| judged_line(text, dialect, &start, around)).collect();
    // git is kept from running programs only where all of the call just reads.
    let does_more = touches.iter().any(|touch| touch.writes() || matches!(touch, Touch::Host(_)));
    let asks_git = lines.iter().any(|line| !line.neutral_git.is_empty());
    if asks_git && (does_more || lines.iter().any(|line| reads_only(line).is_err())) {
        for line in lines.iter_mut().filter(|line| !line.neutral_git.is_empty()) {
            line.neutral_git.retain(|folder| git::is_neutral(folder, Care::Bare, around.files));
        }
    }
    lines
}

fn judged_line(text: &Arc<str>, dialect: Dialect, start: &RealPath, around: Around<'_>) -> JudgedLine {
    let line = read_line(text, dialect);
    let start = start.absolute();
    let mut paths = Vec::new();
    for word in path_words(&line) {
        if word.is_pattern {
            paths.extend(matches_of(&word, &start, PATHS_MAX.saturating_sub(paths.len()), around.files));
        } else {
            let is_looked_up = paths.len() < PATHS_MAX;
            paths.push(line_path(word, &start, is_looked_up, around));
        }
    }
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

/// What one word that is no pattern stands for.
fn line_path(word: PathWord, start: &str, is_looked_up: bool, around: Around<'_>) -> LinePath {
    let mut path = if is_looked_up { resolve(&word, start, around.files) } else { None };
    let has_parent = path.as_ref().is_some_and(|path| may_be_path(&word, path, around.files));
    let mut tracked = Vec::new();
    if word.access == Access::Tracked && (around.guards_paths)() {
        let folder = folder(&word.cwd, start);
        match folder.and_then(|folder| git::tracked(&folder, around.files)) {
            Some(files) => tracked = files,
            // What git tracks isn't known, so it may be anything.
            None => path = None,
        }
    }
    LinePath { word, path, has_parent, tracked: tracked.into() }
}

/// A path for each match of a pattern; one that nobody knows where they can't be told, or are more than `max`.
fn matches_of(word: &PathWord, start: &str, max: usize, files: &dyn Files) -> Vec<LinePath> {
    let named = |path: Option<JudgedPath>| LinePath {
        word: word.clone(),
        has_parent: path.is_some(),
        path,
        tracked: Arc::from([]),
    };
    let found = folder(&word.cwd, start)
        .filter(|_| !word.text.is_empty() && !word.text.contains('\0'))
        .and_then(|folder| pattern::expanded(&folder, &word.text, word.access, files))
        .filter(|found| found.len() <= max);
    match found {
        Some(found) => found.into_iter().map(|path| named(judged_path(&path, files))).collect(),
        None => vec![named(None)],
    }
}

/// The folder in which a line starts: what stands beside it among the touches, else the session's, else the root.
fn start(touches: &[Touch<RealPath>], around: Around<'_>) -> RealPath {
    let stated =
        touches.iter().find_map(|touch| if let Touch::Read(path) = touch { Some(path) } else { None });
    let last = || {
        let state = around.session.state(SHELL_FOLDER)?;
        let at = around.files.resolve(&PathArg(state.as_str()?.to_owned())).ok()?;
        around.files.peek(&at).is_some_and(|stat| stat.kind == FileKind::Folder).then_some(at)
    };
    stated.cloned().or_else(last).unwrap_or_else(|| around.files.workspace())
}

/// What a word stands for; none where its folder isn't known.
fn resolve(word: &PathWord, start: &str, files: &dyn Files) -> Option<JudgedPath> {
    if word.text.is_empty() || word.text.contains('\0') {
        return None;
    }
    let folder = folder(&word.cwd, start)?;
    judged_path(&joined(&folder, &word.text)?, files)
}

fn judged_path(whole: &str, files: &dyn Files) -> Option<JudgedPath> {
    // What these stand for depends on who looks: haft itself would see its own.
    let plain = if whole.starts_with('/') { normal(whole) } else { String::new() };
    if ["/proc/self", "/proc/thread-self", "/dev/fd"].iter().any(|own| plain.starts_with(own)) {
        return None;
    }
    let real = files.resolve(&PathArg(whole.to_owned())).ok()?;
    let written = if whole.starts_with('~') { real.absolute() } else { normal(whole) };
    Some(JudgedPath { written, real })
}

/// The folder of a command, as the shell counts it: `..` goes back by name.
fn folder(cwd: &Cwd, start: &str) -> Option<String> {
    match cwd {
        Cwd::Start => Some(start.to_owned()),
        Cwd::Moved(steps) => steps.iter().try_fold(start.to_owned(), |at, step| {
            let next = joined(&at, step)?;
            Some(if next.starts_with('~') { next } else { normal(&next) })
        }),
        Cwd::Unknown => None,
    }
}

/// A text in a folder. Only `~` and what is beneath it is the home folder; what else a tilde means isn't known.
fn joined(folder: &str, text: &str) -> Option<String> {
    if text.starts_with('/') || text == "~" || text.starts_with("~/") {
        return Some(text.to_owned());
    }
    (!text.starts_with('~')).then(|| format!("{}/{text}", folder.trim_end_matches('/')))
}

/// Whether a word that is just handed to a program can well be a path: something is there, or it is written like one
/// and its folder is there.
fn may_be_path(word: &PathWord, path: &JudgedPath, files: &dyn Files) -> bool {
    if word.access != Access::Named || files.peek(&path.real).is_some() {
        return true;
    }
    let is_written_like_one = word.text.contains('/') || word.text.starts_with('.');
    is_written_like_one && parent(&path.real).is_none_or(|parent| files.peek(&parent).is_some())
}

/// The folder that holds a path; none above a root.
pub(super) fn parent(path: &RealPath) -> Option<RealPath> {
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
    let whole = joined(&folder(&command.cwd, start)?, word)?;
    around.files.resolve(&PathArg(whole)).ok().map(|real| real.absolute())
}

/// The folders in which the line asks git, as far as it is neutral there for a call that only reads.
fn neutral_git(line: &Line, start: &str, files: &dyn Files) -> Vec<String> {
    let mut folders: Vec<String> =
        (0..line.commands.len()).filter_map(|at| git_folder(line, at, start)).collect();
    folders.sort();
    folders.dedup();
    folders.retain(|folder| git::is_neutral(folder, Care::Guarded, files));
    folders
}

#[cfg(test)]
mod tests {
    use super::{folder, joined};
    use haft_policy::Cwd;

    #[test]
    fn only_the_two_plain_tildes_are_home() {
        let cases = [
            ("a", Some("/w/a")),
            ("/a", Some("/a")),
            ("~", Some("~")),
            ("~/a", Some("~/a")),
            ("./~root", Some("/w/./~root")),
            ("~root/x", None),
            ("~+/x", None),
            ("~-", None),
            ("~0", None),
        ];
        for (text, expected) in cases {
            assert_eq!(joined("/w", text).as_deref(), expected, "{text}");
        }
        assert_eq!(folder(&Cwd::Moved(vec!["~+".to_owned(), "a".to_owned()]), "/w"), None);
        assert_eq!(folder(&Cwd::Moved(vec!["a".to_owned(), "..".to_owned()]), "/w").as_deref(), Some("/w"));
    }
}
