//! The tool `tree`.

use super::{
    hidden::Hidden,
    input::TreeInput,
    render::{Node, Style, render},
};
use crate::text::{grouped, paths};
use haft_core::{
    Cx, Effects, Exposure, Failure, Output, Permission, RealPath, Risk, SessionView, Spec, Tool, Touch,
    WalkOptions, WalkReport,
};
use serde_json::json;
use std::{collections::HashSet, fmt::Write as _, ops::ControlFlow, sync::Arc};

/// Levels shown unless given.
const DEPTH: usize = 3;
/// Entries shown unless given.
const LIMIT: usize = 200;
/// Entries shown at most, so that the text fits.
const LIMIT_MAX: usize = 1_500;
/// Entries looked at.
const ENTRIES_MAX: usize = 100_000;

/// Shows folders as a tree.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TreeTool;

impl Tool for TreeTool {
    type Input = TreeInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        Spec::new("tree", include_str!("prompt.md").trim_end())
            .with_input_aliases("path", &["dir", "directory", "folder"])
            .with_category("files")
            .with_permission(Permission::Auto)
            .with_risk(Risk::Safe)
            .read_only()
            .concurrency_safe()
            .idempotent()
            .with_capabilities(&["fs.read"])
            .with_exposure(Exposure::Deferred)
            .with_display("🌳", "Looking around")
    }

    fn effects(&self, input: &TreeInput, _: &dyn SessionView) -> Effects {
        Effects::Only(vec![Touch::ReadTree(input.path.clone())])
    }

    async fn run(&self, input: TreeInput, cx: &Cx) -> Result<Output, Failure> {
        let at = cx.path(&input.path)?;
        let style = Style {
            depth: input.depth.unwrap_or(DEPTH).max(1),
            limit: input.limit.unwrap_or(LIMIT).clamp(1, LIMIT_MAX),
            sizes: input.sizes.unwrap_or(false),
        };
        let files = Arc::clone(&cx.world.files);
        let name = paths::shown(&at, &files.workspace());
        let options = WalkOptions {
            // One level more than shown, to count what is in the deepest folders.
            depth: Some(style.depth.saturating_add(1)),
            ignored: input.ignored.unwrap_or(false),
            cancel: cx.cancel.clone(),
            ..WalkOptions::default()
        };
        cx.blocking(move || {
            let mut nodes = Vec::new();
            let report = files.walk(&at, &options, &mut |entry| {
                if let Some(path) = beneath(&at, &entry.path) {
                    nodes.push(Node { path, kind: entry.kind, len: entry.len });
                }
                if nodes.len() < ENTRIES_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
            if options.cancel.is_fired() {
                return Err(Failure::cancelled());
            }
            let mut hidden = Hidden::default();
            if !options.ignored && nodes.len() < ENTRIES_MAX {
                let shown: HashSet<&str> = nodes.iter().map(|node| node.path.as_str()).collect();
                hidden = Hidden::count(&*files, &at, style.depth, &shown, &options.cancel);
                if options.cancel.is_fired() {
                    return Err(Failure::cancelled());
                }
            }
            Ok(output(&Top { at, name, hidden }, nodes, style, &report))
        })
        .await
    }
}

/// The folder shown.
struct Top {
    at: RealPath,
    /// The path as it is written for readers.
    name: String,
    /// What isn't shown of it by ignore rules and leading dots.
    hidden: Hidden,
}

/// The path of an entry beneath the folder.
pub(super) fn beneath(folder: &RealPath, entry: &RealPath) -> Option<String> {
    let (folder, entry) = (folder.absolute(), entry.absolute());
    let rest = entry.strip_prefix(folder.trim_end_matches('/'))?.trim_start_matches('/');
    (!rest.is_empty()).then(|| rest.to_owned())
}

fn output(top: &Top, nodes: Vec<Node>, style: Style, report: &WalkReport) -> Output {
    let found = nodes.len();
    let tree = render(nodes, style);
    let mut text = format!("{}/\n{}", top.name.trim_end_matches('/'), tree.text);
    if found == 0 {
        text.push_str("(nothing, or nothing that isn't hidden)\n");
    }
    let count = |number: usize| grouped(u64::try_from(number).unwrap_or(u64::MAX));
    if tree.left_out > 0 {
        let raise = if style.limit < LIMIT_MAX { ", or raise limit" } else { "" };
        let _ = writeln!(
            text,
            "… {} entries of these levels aren't shown; show a folder of them by path{raise}",
            count(tree.left_out)
        );
    }
    if found >= ENTRIES_MAX {
        let _ =
            writeln!(text, "… only the first {} entries were looked at; give a deeper path", count(found));
    }
    if let Some(note) = top.hidden.note() {
        let _ = writeln!(text, "… {note}");
    }
    for (number, what) in [(report.denied, "that rules deny"), (report.error_count, "that couldn't be read")]
    {
        if number > 0 {
            let (paths, are) = if number == 1 { ("path", "is") } else { ("paths", "are") };
            let _ = writeln!(text, "… {} {paths} {what} {are} left out", grouped(number));
        }
    }
    Output::text(text.trim_end_matches('\n')).with_metadata(json!({
        "path": top.at.absolute(),
        "entries": found,
        "leftOut": tree.left_out,
        "hidden": top.hidden.count,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shown_beneath_the_folder() {
        let folder = RealPath::new("/w", "src");
        assert_eq!(beneath(&folder, &RealPath::new("/w", "src/a/b")).as_deref(), Some("a/b"));
        assert_eq!(beneath(&folder, &folder), None);
        assert_eq!(beneath(&RealPath::new("/", ""), &RealPath::new("/", "etc")).as_deref(), Some("etc"));
    }

    #[test]
    fn what_is_left_out_is_said() {
        let node = |path: &str| Node { path: path.to_owned(), kind: haft_core::FileKind::File, len: 0 };
        let style = Style { depth: 1, limit: 1, sizes: false };
        let report = WalkReport { denied: 2, error_count: 1, ..WalkReport::default() };
        let hidden = Hidden { count: 3, at_least: false };
        let top = Top { at: RealPath::new("/w", "x"), name: "x".to_owned(), hidden };
        let text = output(&top, vec![node("a"), node("b")], style, &report).joined_text();
        assert_eq!(
            text,
            "x/\na\n… 1 more\n… 1 entries of these levels aren't shown; show a folder of them by path, \
             or raise limit\n\
             … 3 paths hidden by ignore rules or leading dots; ignored=true shows them\n\
             … 2 paths that rules deny are left out\n\
             … 1 path that couldn't be read is left out"
        );
    }
}
