//! Entries of a walk as an indented tree.

use crate::text::{grouped, names::escaped, size};
use haft_core::FileKind;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

/// One entry beneath the folder shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    /// Its path beneath the folder, parts joined by `/`.
    pub(crate) path: String,
    /// What it is.
    pub(crate) kind: FileKind,
    /// Its length in bytes.
    pub(crate) len: u64,
}

/// How to show them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    /// Levels shown; deeper entries are only counted.
    pub(crate) depth: usize,
    /// Entries shown at most.
    pub(crate) limit: usize,
    /// Whether files have their size.
    pub(crate) sizes: bool,
}

/// A tree as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tree {
    /// One line for each entry, and one for what a folder leaves out.
    pub(crate) text: String,
    /// How many entries aren't shown though they aren't too deep.
    pub(crate) left_out: usize,
}

/// Shows the entries, higher ones first where there are too many; entries of a folder by name.
pub(crate) fn render(mut nodes: Vec<Node>, style: Style) -> Tree {
    nodes.sort_by(|a, b| level(&a.path).cmp(&level(&b.path)).then_with(|| a.path.cmp(&b.path)));
    let within = nodes.partition_point(|node| level(&node.path) <= style.depth);
    let shown = within.min(style.limit);
    let mut hidden: BTreeMap<&str, usize> = BTreeMap::new();
    for node in nodes.iter().skip(shown) {
        *hidden.entry(parent(&node.path)).or_default() += 1;
    }
    let mut children: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (index, node) in nodes.iter().take(shown).enumerate() {
        children.entry(parent(&node.path)).or_default().insert(index);
    }
    let mut writer =
        Writer { nodes: &nodes, children: &children, hidden: &hidden, style, text: String::new() };
    writer.folder("", 0);
    Tree { text: writer.text, left_out: within - shown }
}

struct Writer<'a> {
    nodes: &'a [Node],
    children: &'a BTreeMap<&'a str, BTreeSet<usize>>,
    hidden: &'a BTreeMap<&'a str, usize>,
    style: Style,
    text: String,
}

impl Writer<'_> {
    /// The entries of one folder. Goes no deeper than [`Style::depth`].
    fn folder(&mut self, path: &str, indent: usize) {
        let (nodes, children) = (self.nodes, self.children.get(path));
        for node in children.into_iter().flatten().filter_map(|index| nodes.get(*index)) {
            self.entry(node, indent);
        }
        if let Some(hidden) = self.hidden.get(path).filter(|_| children.is_some()) {
            let _ = writeln!(self.text, "{:indent$}… {hidden} more", "");
        }
    }

    fn entry(&mut self, node: &Node, indent: usize) {
        let name = node.path.rsplit('/').next().unwrap_or_default();
        let _ = write!(self.text, "{:indent$}{}", "", escaped(name));
        let _ = match node.kind {
            FileKind::Folder => self.text.write_char('/'),
            FileKind::File if self.style.sizes => write!(self.text, "  {}", size(node.len)),
            FileKind::File => Ok(()),
            FileKind::Link => self.text.write_str("  (link)"),
            FileKind::Special(kind) => write!(self.text, "  ({kind})"),
        };
        let is_open = self.children.contains_key(node.path.as_str());
        if let Some(hidden) = self.hidden.get(node.path.as_str()).filter(|_| !is_open) {
            let _ = write!(self.text, "  ({} inside)", grouped(u64::try_from(*hidden).unwrap_or(u64::MAX)));
        }
        self.text.push('\n');
        if is_open {
            self.folder(&node.path, indent + 2);
        }
    }
}

fn level(path: &str) -> usize {
    path.bytes().filter(|byte| *byte == b'/').count() + 1
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes(paths: &[&str]) -> Vec<Node> {
        let node = |path: &&str| match path.strip_suffix('/') {
            Some(folder) => Node { path: folder.to_owned(), kind: FileKind::Folder, len: 0 },
            None => Node { path: (*path).to_owned(), kind: FileKind::File, len: 1_024 },
        };
        paths.iter().map(node).collect()
    }

    #[test]
    fn entries_stand_beneath_their_folder() {
        let tree = render(
            nodes(&["src/", "a.txt", "src/lib.rs", "src/deep/", "src/deep/x.rs"]),
            Style { depth: 2, limit: 100, sizes: true },
        );
        assert_eq!(tree.text, "a.txt  1.0 KiB\nsrc/\n  deep/  (1 inside)\n  lib.rs  1.0 KiB\n");
        assert_eq!(tree.left_out, 0);
    }

    #[test]
    fn what_lies_higher_is_shown_first_and_the_rest_is_counted() {
        let tree = render(
            nodes(&["a/", "a/1", "a/2", "a/3", "b/", "b/1", "c"]),
            Style { depth: 3, limit: 4, sizes: false },
        );
        assert_eq!(tree.text, "a/\n  1\n  … 2 more\nb/  (1 inside)\nc\n");
        assert_eq!(tree.left_out, 3);
    }
}
