//! The tool `diff`.

use super::{
    files::{Side, compare},
    input::{Compared, DiffInput},
};
use crate::{
    git::{DIFF, Repository, Sorted, beneath, sorted},
    glob::counted,
    text::{paths, size, whole::read_whole},
};
use haft_core::{
    Captured, Cx, Effects, Exposure, Failure, FailureKind, FileKind, Output, PathArg, Permission, Risk,
    SessionView, Shape, Spec, Tool, Touch,
};
use serde_json::json;
use std::sync::Arc;

/// A longer file isn't compared here.
const FILE_MAX_BYTES: u64 = 16 << 20;
/// So many names that nothing has are told.
const MISSING_MAX: usize = 5;

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

/// What changed, sorted by whether it may be shown.
#[derive(Debug, Default)]
struct Names {
    sorted: Sorted,
    /// Whether git's list was short enough.
    is_whole: bool,
    untracked: u64,
    /// What was asked for and is neither there nor changed.
    missing: Vec<String>,
}

async fn changes(cx: &Cx, staged: bool, wanted: &[String], context: usize) -> Result<Output, Failure> {
    let git = Repository::open(cx).await.map_err(|failure| match failure.kind {
        FailureKind::NotFound => {
            Failure { text: format!("{}; or give two files as a and b", failure.text), ..failure }
        }
        _ => failure,
    })?;
    let names = names(cx, &git, staged, wanted).await?;
    let (sorted, mut text, mut truncation) = (&names.sorted, String::new(), None);
    if !sorted.shown.is_empty() {
        let mut arguments: Vec<String> = words().map(str::to_owned).collect();
        arguments.push(format!("-U{context}"));
        arguments.extend(staged.then(|| "--cached".to_owned()));
        arguments.push("--".to_owned());
        arguments.extend(sorted.shown.iter().cloned());
        let mut capture = cx.sink.capture(Shape::Head);
        let mut take = |bytes: &[u8]| capture.push(bytes);
        git.stream(arguments, &mut take).await?;
        let captured: Captured = capture.finish();
        text = captured.text;
        truncation = captured.truncation;
    }
    let notes = notes(&names, staged);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&notes.join("\n"));
    text.truncate(text.trim_end_matches('\n').len());
    let metadata = json!({"files": sorted.shown, "denied": sorted.denied, "leftOut": sorted.left_out});
    Ok(Output { truncation, ..Output::text(text) }.with_metadata(metadata))
}

/// How every diff is asked for.
fn words() -> impl Iterator<Item = &'static str> {
    std::iter::once("diff").chain(DIFF.iter().copied())
}

/// Asks for the names of what changed and sorts them.
async fn names(cx: &Cx, git: &Repository<'_>, staged: bool, wanted: &[String]) -> Result<Names, Failure> {
    let mut arguments: Vec<&str> = words().chain(["--name-only", "-z", "--no-renames"]).collect();
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
        let mut missing = Vec::new();
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
                missing.push(plain);
            }
        }
        let sorted = sorted(changed.parts(), &*files, &cancel)?;
        Ok(Names { sorted, is_whole: changed.is_whole, untracked, missing })
    })
    .await
}

/// Whether the path of a file is this one, or lies beneath it.
fn is_within(name: &[u8], path: &str) -> bool {
    let rest = name.strip_prefix(path.as_bytes());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

fn notes(names: &Names, staged: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if names.sorted.is_empty() {
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
    notes.extend(names.sorted.notes(names.is_whole));
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
        let said = notes(&Names { missing, is_whole: true, ..Names::default() }, false).join("\n");
        assert!(said.contains("\n(nope0: nothing has that path") && !said.contains("nope5"), "{said}");
        assert!(said.ends_with("(2 further names in paths that nothing has)"), "{said}");
    }

    #[test]
    fn what_is_left_out_is_counted() {
        let sorted = Sorted { denied: 2, left_out: 3, ..Sorted::default() };
        let names = Names { sorted, is_whole: true, untracked: 1, ..Names::default() };
        let said = notes(&names, false).join("\n");
        assert!(said.contains("2 changed files left out") && said.contains("1 untracked file not"), "{said}");
        assert!(said.contains("3 further changed files left out"), "{said}");
        assert!(
            notes(&Names { is_whole: true, ..Names::default() }, true).join("").contains("Nothing is staged")
        );
    }
}
