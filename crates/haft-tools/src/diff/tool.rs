//! The tool `diff`.

use super::{
    files::{Side, compare},
    git::{DIFF, Git},
    input::{Compared, DiffInput},
};
use crate::{
    glob::counted,
    text::{paths, size, whole::read_whole},
};
use haft_core::{
    Captured, Cx, Effects, Exposure, Failure, FailureKind, FileKind, Output, PathArg, Permission, RealPath,
    Risk, SessionView, Shape, Spec, Tool, Touch,
};
use serde_json::json;
use std::sync::Arc;

/// A longer file isn't compared here.
const FILE_MAX_BYTES: u64 = 16 << 20;
/// So many changed files are shown in one call.
const NAMES_MAX: usize = 500;
/// So many names that nothing has are told.
const MISSING_MAX: usize = 5;
/// So long may their names be together: they are handed over as arguments.
const NAMES_MAX_BYTES: usize = 100_000;

/// Shows differences.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DiffTool;

impl Tool for DiffTool {
    type Input = DiffInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        Spec::new("diff", include_str!("prompt.md").trim_end())
            .with_input_aliases("a", &["old", "file_a", "from"])
            .with_input_aliases("b", &["new", "file_b", "to"])
            .with_input_aliases("staged", &["cached"])
            .with_category("files")
            .with_permission(Permission::Auto)
            .with_risk(Risk::Safe)
            .read_only()
            .concurrency_safe()
            .idempotent()
            .with_capabilities(&["fs.read"])
            .with_exposure(Exposure::Deferred)
            .with_display("🔀", "Comparing")
    }

    fn validate(&self, input: &DiffInput) -> Result<(), Failure> {
        input.compared().map(|_| ())
    }

    /// git, with nothing in it that runs further programs.
    fn starts_processes(&self) -> bool {
        true
    }

    fn effects(&self, input: &DiffInput, _: &dyn SessionView) -> Effects {
        match input.compared() {
            Ok(Compared::Files(a, b)) => Effects::Only(vec![Touch::Read(a.clone()), Touch::Read(b.clone())]),
            Ok(Compared::Git { .. }) => Effects::Only(vec![Touch::ReadTree(PathArg::from("."))]),
            Err(_) => Effects::Everything,
        }
    }

    async fn run(&self, input: DiffInput, cx: &Cx) -> Result<Output, Failure> {
        match input.compared()? {
            Compared::Files(a, b) => files(cx, a, b, input.context()).await,
            Compared::Git { staged, paths } => {
                let wanted = beneath(paths, &cx.world.files.workspace())?;
                changes(cx, staged, &wanted, input.context()).await
            }
        }
    }
}

async fn files(cx: &Cx, a: &PathArg, b: &PathArg, context: usize) -> Result<Output, Failure> {
    let sides = [cx.path(a)?, cx.path(b)?];
    let (files, cancel) = (Arc::clone(&cx.world.files), cx.cancel.clone());
    cx.blocking(move || {
        let workspace = files.workspace();
        let mut read = Vec::with_capacity(2);
        for at in &sides {
            let name = paths::shown(at, &workspace);
            let stat = files.stat(at)?;
            if stat.kind == FileKind::Folder {
                return Err(Failure::invalid(format!(
                    "{name} is a folder, and only files are compared; list both folders and name two files"
                )));
            }
            if stat.len > FILE_MAX_BYTES {
                return Err(Failure::invalid(format!(
                    "{name} is longer than {}; compare it with cmp or diff through bash",
                    size(FILE_MAX_BYTES)
                )));
            }
            read.push((name, read_whole(&*files, at, &cancel)?));
        }
        let [(a, before), (b, after)] = read.as_slice() else {
            return Err(Failure::internal("two files were to be read"));
        };
        let text = compare(Side { name: a, bytes: before }, Side { name: b, bytes: after }, context);
        Ok(Output::text(text).with_metadata(json!({"a": a, "b": b})))
    })
    .await
}

/// The paths as git takes them: beneath the workspace, nothing else.
fn beneath(paths: &[String], workspace: &RealPath) -> Result<Vec<String>, Failure> {
    let root = workspace.absolute();
    paths
        .iter()
        .map(|path| {
            let rest = path.strip_prefix(&root).filter(|rest| rest.is_empty() || rest.starts_with('/'));
            let rest = rest.map_or(path.as_str(), |rest| rest.trim_start_matches('/'));
            let is_beneath = !rest.starts_with('/') && !rest.split('/').any(|part| part == "..");
            if !is_beneath || path.contains('\0') || path.is_empty() {
                return Err(Failure::invalid(format!(
                    "/paths must lie in the workspace and be written without \"..\", and one is \"{path}\""
                )));
            }
            Ok(if rest.is_empty() { ".".to_owned() } else { rest.to_owned() })
        })
        .collect()
}

/// What changed, sorted by whether it may be shown.
#[derive(Debug, Default)]
struct Names {
    shown: Vec<String>,
    denied: u64,
    unnamed: u64,
    left_out: u64,
    /// git's list was too long.
    is_cut: bool,
    untracked: u64,
    /// What was asked for and is neither there nor changed.
    missing: Vec<String>,
}

async fn changes(cx: &Cx, staged: bool, wanted: &[String], context: usize) -> Result<Output, Failure> {
    let git = Git::open(cx).await?;
    let names = names(cx, &git, staged, wanted).await?;
    let mut text = String::new();
    let mut truncation = None;
    if !names.shown.is_empty() {
        let mut arguments: Vec<String> = DIFF.iter().map(|word| (*word).to_owned()).collect();
        arguments.push(format!("-U{context}"));
        arguments.extend(staged.then(|| "--cached".to_owned()));
        arguments.push("--".to_owned());
        arguments.extend(names.shown.iter().cloned());
        let mut capture = cx.sink.capture(Shape::Head);
        let mut take = |bytes: &[u8]| capture.push(bytes);
        git.stream(arguments, &mut take).await?;
        let captured: Captured = capture.finish();
        text = captured.text;
        truncation = captured.truncation;
    }
    let is_unchanged = names.shown.is_empty() && names.denied + names.unnamed == 0;
    let notes = notes(&names, staged, is_unchanged);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&notes.join("\n"));
    text.truncate(text.trim_end_matches('\n').len());
    let metadata = json!({"files": names.shown, "denied": names.denied, "leftOut": names.left_out});
    Ok(Output { truncation, ..Output::text(text) }.with_metadata(metadata))
}

/// Asks for the names of what changed and sorts them.
async fn names(cx: &Cx, git: &Git<'_>, staged: bool, wanted: &[String]) -> Result<Names, Failure> {
    let mut arguments = [DIFF, ["--name-only", "-z", "--no-renames"].as_slice()].concat();
    if staged {
        arguments.push("--cached");
    }
    arguments.push("--");
    arguments.extend(wanted.iter().map(String::as_str));
    let changed = git.list(&arguments).await?;
    let mut untracked = 0;
    if !staged {
        let mut arguments = vec!["ls-files", "--others", "--exclude-standard", "-z", "--"];
        arguments.extend(wanted.iter().map(String::as_str));
        untracked = u64::try_from(git.list(&arguments).await?.parts().count()).unwrap_or(u64::MAX);
    }
    let (files, cancel, wanted) = (Arc::clone(&cx.world.files), cx.cancel.clone(), wanted.to_vec());
    cx.blocking(move || {
        let mut names = Names { is_cut: !changed.is_whole, untracked, ..Names::default() };
        let workspace = files.workspace();
        for path in wanted.into_iter().filter(|_| changed.is_whole) {
            if cancel.is_fired() {
                return Err(Failure::cancelled());
            }
            let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
            let plain = parts.join("/");
            let is_changed = || changed.parts().any(|name| is_within(name, &plain));
            let at = if plain.is_empty() { workspace.clone() } else { workspace.join(&plain) };
            if files.stat(&at).is_err_and(|failure| failure.kind == FailureKind::NotFound) && !is_changed() {
                names.missing.push(plain);
            }
        }
        let mut bytes = 0;
        for name in changed.parts() {
            if cancel.is_fired() {
                return Err(Failure::cancelled());
            }
            let Ok(name) = std::str::from_utf8(name) else {
                names.unnamed += 1;
                continue;
            };
            // A file with a conflict is named more than once.
            if names.shown.last().is_some_and(|last| last == name) {
                continue;
            }
            if names.shown.len() >= NAMES_MAX || bytes + name.len() > NAMES_MAX_BYTES {
                names.left_out += 1;
                continue;
            }
            match files.read(&workspace.join(name), 0, 1) {
                // The handle refuses what a rule denies as something that wasn't stated.
                Err(failure) if matches!(failure.kind, FailureKind::Internal | FailureKind::Permission) => {
                    names.denied += 1;
                }
                // What is removed, a link or a submodule has no content to be read and may be shown.
                _ => {
                    bytes += name.len();
                    names.shown.push(name.to_owned());
                }
            }
        }
        Ok(names)
    })
    .await
}

/// Whether the path of a file is this one, or lies beneath it.
fn is_within(name: &[u8], path: &str) -> bool {
    let rest = name.strip_prefix(path.as_bytes());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

fn notes(names: &Names, staged: bool, is_unchanged: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if is_unchanged && names.left_out == 0 {
        notes.push(if staged {
            "Nothing is staged; changes that aren't show without staged.".to_owned()
        } else {
            "Nothing has changed against the index; what is staged shows with staged=true.".to_owned()
        });
    }
    for path in names.missing.iter().take(MISSING_MAX) {
        notes.push(format!("({path}: nothing has that path, and no change of it is listed; check the name)"));
    }
    if let Some(more) = names.missing.len().checked_sub(MISSING_MAX).filter(|more| *more > 0) {
        let names = counted(u64::try_from(more).unwrap_or(u64::MAX), "further name");
        notes.push(format!("({names} in paths that nothing has)"));
    }
    if names.denied > 0 {
        let files = counted(names.denied, "changed file");
        notes.push(format!("({files} left out: they may hold secrets, or rules deny reading them)"));
    }
    if names.unnamed > 0 {
        let files = counted(names.unnamed, "changed file");
        notes.push(format!("({files} left out: the name isn't UTF-8)"));
    }
    if names.left_out > 0 || names.is_cut {
        let least = if names.is_cut { "at least " } else { "" };
        let files = counted(names.left_out, "further changed file");
        notes.push(format!("({least}{files} left out; name files or folders in paths)"));
    }
    if names.untracked > 0 {
        let files = counted(names.untracked, "untracked file");
        notes.push(format!("({files} not part of the diff: git doesn't know them yet)"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_in_the_workspace() {
        let workspace = RealPath::new("/w", "");
        let paths = |path: &str| beneath(&[path.to_owned()], &workspace).map_err(|failure| failure.text);
        assert_eq!(paths("src/a.rs").unwrap(), ["src/a.rs"]);
        assert_eq!(paths("/w/src").unwrap(), ["src"]);
        assert_eq!(paths("/w").unwrap(), ["."]);
        for outside in ["/w2/a", "../a", "a/../../b", "/etc/passwd", ""] {
            assert!(paths(outside).unwrap_err().contains("/paths must lie"), "{outside}");
        }
    }

    #[test]
    fn a_path_holds_what_lies_beneath_it() {
        for (name, path, within) in
            [("a/b", "a", true), ("a/b", "a/b", true), ("ab", "a", false), ("a", "a/b", false)]
        {
            assert_eq!(is_within(name.as_bytes(), path), within, "{name} in {path}");
        }
    }

    #[test]
    fn paths_that_nothing_has_are_named() {
        let missing = (0..7).map(|number| format!("nope{number}")).collect();
        let said = notes(&Names { missing, ..Names::default() }, false, false).join("\n");
        assert!(said.starts_with("(nope0: nothing has that path") && !said.contains("nope5"), "{said}");
        assert!(said.ends_with("(2 further names in paths that nothing has)"), "{said}");
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let names = Names { denied: 2, untracked: 1, left_out: 3, ..Names::default() };
        let said = notes(&names, false, false).join("\n");
        assert!(said.contains("2 changed files left out") && said.contains("1 untracked file not"), "{said}");
        assert!(said.contains("3 further changed files left out"), "{said}");
        assert!(notes(&Names::default(), true, true).join("").contains("Nothing is staged"));
    }
}
