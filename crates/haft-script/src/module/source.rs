//! The source files of modules, as they lie in a folder of tools.

use crate::{
    endings::{SOURCE_ENDINGS, bare, ways},
    wire::{SourceFile, StrippedFile},
};
use haft_core::{ContentHasher, Entry, FailureKind, FileKind, Files, PathArg, RealPath, without_bom};
use std::sync::{Arc, OnceLock};

/// The longest file.
const FILE_MAX_BYTES: usize = 1 << 20;
/// What all files of one module may have.
const ALL_MAX_BYTES: usize = 8 << 20;
const FILES_MAX: usize = 200;
const DEPTH_MAX: usize = 8;
/// How many entries of a folder of tools, or of one module's folder with all below it, are looked at.
const ENTRIES_MAX: usize = 1_000;
/// What would mend a module that can't be read.
const FIX: &str = "keep only the tool's own source there: at most 200 files, 1 MiB each, UTF-8";
/// A folder with this file holds a tool of another kind.
const MANIFEST: &str = "tool.json";

/// A module: one file, or a folder with an `index`.
#[derive(Debug, Clone)]
pub struct ScriptModule {
    /// The file or folder without its ending.
    pub name: String,
    /// Its main file, as it is shown to people.
    pub shown: String,
    /// A hash over names and contents of all its files.
    pub hash: Arc<str>,
    pub(crate) files: Vec<SourceFile>,
    pub(crate) entry: String,
    /// What the first child that loaded it made of them, for those after it.
    stripped: Arc<OnceLock<Vec<StrippedFile>>>,
}

impl ScriptModule {
    /// A module of files that were read. `shown` is the main file's path for people.
    pub(crate) fn new(name: &str, shown: String, (entry, mut files): (String, Vec<SourceFile>)) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let mut hasher = ContentHasher::default();
        for file in &files {
            hasher.update(format!("{} {}\0", file.path, file.text.len()).as_bytes());
            hasher.update(file.text.as_bytes());
        }
        Self { name: name.to_owned(), shown, hash: hasher.finish(), files, entry, stripped: Arc::default() }
    }

    /// Its files for a child: those to be stripped, and those that are.
    pub(crate) fn to_load(&self) -> (Vec<SourceFile>, Vec<StrippedFile>) {
        let stripped = self.stripped.get().cloned().unwrap_or_default();
        let is_left = |file: &&SourceFile| !stripped.iter().any(|one| one.path == file.path);
        let left = self.files.iter().filter(is_left).cloned().collect();
        (left, stripped)
    }

    /// Keeps what a child made of its files.
    pub(crate) fn keep_stripped(&self, files: Vec<StrippedFile>) {
        let is_own = |one: &StrippedFile| self.files.iter().any(|file| file.path == one.path);
        self.stripped.get_or_init(|| files.into_iter().filter(is_own).collect());
    }

    /// What it says, of its main file.
    pub fn text(&self) -> &str {
        self.files
            .iter()
            .find(|file| file.path == self.entry)
            .map(|file| file.text.as_str())
            .unwrap_or_default()
    }

    /// Each file with the hash of its content, to say what changed.
    pub(crate) fn parts(&self) -> Vec<(String, String)> {
        let hashed = |file: &SourceFile| haft_core::content_hash(file.text.as_bytes()).to_string();
        self.files.iter().map(|file| (format!("file {}", file.path), hashed(file))).collect()
    }
}

/// What a folder of tools holds.
#[derive(Debug, Default)]
pub struct Discovered {
    /// Its modules, by name.
    pub modules: Vec<ScriptModule>,
    /// What can't be read, each with its path for people, what is wrong, and what would mend it.
    pub faults: Vec<(String, String, String)>,
}

/// Finds the modules directly in a folder: `name.ts`, `name.js`, and folders with an `index.ts` or `index.js`. Blocking.
pub fn discover(files: &dyn Files, root: &RealPath, shown: &str) -> Discovered {
    let mut found = Discovered::default();
    // A folder that isn't there, or can't be read, is told of by whoever looks for tools of other kinds in it.
    let Ok(listing) = files.list(root, ENTRIES_MAX) else { return found };
    if listing.left_out > 0 {
        let left_out = listing.left_out;
        let text = format!(
            "{left_out} entries of this folder weren't looked at, since it has more than {ENTRIES_MAX}"
        );
        let fix = "keep only tools there, or move some to another folder of tools".to_owned();
        found.faults.push((shown.to_owned(), text, fix));
    }
    for entry in &listing.entries {
        let name = entry.path.file_name();
        if name.starts_with('.') || !is_source(entry) && !may_hold(files, entry) {
            continue;
        }
        match load_module(files, &entry.path, &format!("{shown}/{name}")) {
            Ok(module) => found.modules.extend(module),
            Err((path, text)) => found.faults.push((path, text, FIX.to_owned())),
        }
    }
    found
}

/// Reads one module; none where there is none at that path.
///
/// # Errors
/// The path as it is shown, and why it can't be read.
pub fn load_module(
    files: &dyn Files,
    at: &RealPath,
    shown: &str,
) -> Result<Option<ScriptModule>, (String, String)> {
    let fault = |text: String| (shown.to_owned(), text);
    let real = files.resolve(&PathArg(at.absolute())).map_err(|failure| fault(failure.text))?;
    let stat = match files.stat(&real) {
        Ok(stat) => stat,
        Err(failure) if failure.kind == FailureKind::NotFound => return Ok(None),
        Err(failure) => return Err(fault(failure.text)),
    };
    if stat.kind == FileKind::File {
        let path = at.file_name().to_owned();
        let text = read(files, &real).map_err(fault)?;
        let name = path.rsplit_once('.').map_or(path.as_str(), |(name, _)| name).to_owned();
        let all = vec![SourceFile { path: path.clone(), text }];
        return Ok(Some(ScriptModule::new(&name, shown.to_owned(), (path, all))));
    }
    let index = SOURCE_ENDINGS.map(|ending| format!("index.{ending}"));
    let Some(entry) = index.into_iter().find(|name| files.peek(&real.join(name)).is_some()) else {
        return Ok(None);
    };
    let found = Folder::read(files, &real).map_err(fault)?;
    let shown = format!("{shown}/{entry}");
    Ok(Some(ScriptModule::new(at.file_name(), shown, (entry, found))))
}

/// Reads the module of an extension: all source of its folder, with the main file that its manifest names. The manifest,
/// by name and text, is part of it as it was read, wherever its file lies.
///
/// # Errors
/// Why it can't be read.
pub fn load_main(
    files: &dyn Files,
    folder: &RealPath,
    (main, shown): (&str, &str),
    (manifest, text): (&str, &str),
) -> Result<ScriptModule, String> {
    let mut found = Folder::read(files, folder)?;
    found.retain(|file| file.path != manifest);
    found.push(SourceFile { path: manifest.to_owned(), text: text.to_owned() });
    let bare = main.trim_start_matches("./");
    let entry = ways(bare).into_iter().find(|path| found.iter().any(|file| file.path == *path));
    let entry = entry.ok_or_else(|| format!("there is no file {bare}, which \"main\" names"))?;
    Ok(ScriptModule::new(folder.file_name(), format!("{shown}/{entry}"), (entry, found)))
}

fn is_source(entry: &Entry) -> bool {
    matches!(entry.kind, FileKind::File | FileKind::Link) && has_ending(entry.path.file_name())
}

fn has_ending(name: &str) -> bool {
    // Types alone declare nothing that runs.
    bare(name).is_some_and(|bare| ending_of(bare) != Some("d"))
}

fn ending_of(name: &str) -> Option<&str> {
    name.rsplit_once('.').map(|(_, ending)| ending)
}

/// Whether a folder has no manifest of another kind of tool.
fn may_hold(files: &dyn Files, entry: &Entry) -> bool {
    matches!(entry.kind, FileKind::Folder | FileKind::Link)
        && files.peek(&entry.path.join(MANIFEST)).is_none()
}

fn read(files: &dyn Files, at: &RealPath) -> Result<String, String> {
    let bytes = files.read(at, 0, FILE_MAX_BYTES + 1).map_err(|failure| failure.text)?;
    if bytes.len() > FILE_MAX_BYTES {
        return Err(format!("{at} is longer than 1 MiB"));
    }
    let text = String::from_utf8(bytes).map_err(|error| format!("{at} is not UTF-8: {error}"))?;
    Ok(without_bom(&text).to_owned())
}

/// A folder of source being read.
struct Folder<'a> {
    files: &'a dyn Files,
    root: &'a RealPath,
    found: Vec<SourceFile>,
    bytes: usize,
    entries: usize,
}

impl<'a> Folder<'a> {
    /// All source in it; of a folder that has more than it may nothing, since a part of a module is none.
    fn read(files: &'a dyn Files, root: &'a RealPath) -> Result<Vec<SourceFile>, String> {
        let mut folder = Self { files, root, found: Vec::new(), bytes: 0, entries: 0 };
        folder.walk(root, 1)?;
        Ok(folder.found)
    }

    fn walk(&mut self, at: &RealPath, depth: usize) -> Result<(), String> {
        let listing = self.files.list(at, ENTRIES_MAX).map_err(|failure| failure.text)?;
        self.entries = self.entries.saturating_add(listing.entries.len());
        if listing.left_out > 0 || self.entries > ENTRIES_MAX {
            return Err(format!("there are more than {ENTRIES_MAX} files and folders in {}", self.root));
        }
        for entry in &listing.entries {
            let name = entry.path.file_name();
            if name.starts_with('.') || name == "node_modules" {
                continue;
            }
            match entry.kind {
                FileKind::Folder if depth < DEPTH_MAX => self.walk(&entry.path, depth + 1)?,
                FileKind::Folder => {
                    return Err(format!("{} lies deeper than {DEPTH_MAX} folders", entry.path));
                }
                FileKind::File if has_ending(name) || ending_of(name) == Some("json") => {
                    self.take(&entry.path)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn take(&mut self, at: &RealPath) -> Result<(), String> {
        let text = read(self.files, at)?;
        self.bytes = self.bytes.saturating_add(text.len());
        if self.found.len() >= FILES_MAX || self.bytes > ALL_MAX_BYTES {
            return Err(format!("there are more than {FILES_MAX} files or 8 MiB of source in {}", self.root));
        }
        let whole = at.absolute();
        let path =
            whole.strip_prefix(&self.root.absolute()).unwrap_or(&whole).trim_start_matches('/').to_owned();
        self.found.push(SourceFile { path, text });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module() -> ScriptModule {
        let file = |path: &str| SourceFile { path: path.to_owned(), text: format!("// {path}") };
        ScriptModule::new(
            "x",
            "t/x/index.ts".to_owned(),
            ("index.ts".to_owned(), vec![file("index.ts"), file("a.ts")]),
        )
    }

    fn stripped(path: &str, code: &str) -> StrippedFile {
        StrippedFile { path: path.to_owned(), code: code.to_owned(), places: Vec::new() }
    }

    #[test]
    fn what_a_child_stripped_is_sent_in_the_place_of_its_source() {
        let module = module();
        let paths = |(files, stripped): (Vec<SourceFile>, Vec<StrippedFile>)| {
            let files: Vec<String> = files.into_iter().map(|file| file.path).collect();
            (
                files,
                stripped.into_iter().map(|file| format!("{}: {}", file.path, file.code)).collect::<Vec<_>>(),
            )
        };
        assert_eq!(paths(module.to_load()), (vec!["a.ts".to_owned(), "index.ts".to_owned()], vec![]));
        module.keep_stripped(vec![stripped("a.ts", "1"), stripped("stranger.ts", "2")]);
        // A clone is the same module; the first word holds.
        module.clone().keep_stripped(vec![stripped("a.ts", "3"), stripped("index.ts", "4")]);
        assert_eq!(paths(module.to_load()), (vec!["index.ts".to_owned()], vec!["a.ts: 1".to_owned()]));
    }
}
