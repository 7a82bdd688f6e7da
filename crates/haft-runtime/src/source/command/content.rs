//! The hash of all that a folder holds: what a tool that was approved is recognised by, and entry by entry, to say
//! what changed.

use haft_core::{Entry, FileKind, Files, PathArg, RealPath};
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, sync::Arc};

/// The most that one tool's folder may hold; beyond it a tool can't be recognised.
const CONTENT_MAX_BYTES: u64 = 64 * 1024 * 1024;
const FILES_MAX: usize = 2_000;
const DEPTH_MAX: usize = 32;
const PIECE_BYTES: usize = 1024 * 1024;
/// How many entries of a folder are parts of their own.
const PARTS_MAX: usize = 64;

/// A folder's hash and what it was taken of.
#[derive(Debug)]
pub(super) struct Hashed {
    pub(super) hash: Arc<str>,
    /// Name and digest of every entry; the name of a folder ends with a slash.
    pub(super) entries: Vec<(String, String)>,
}

/// SHA-256, in hex, over a manifest's text and over name, content and executable bit of every file.
///
/// # Errors
/// In words, what can't be read or is beyond the bounds.
pub(super) fn hash(files: &dyn Files, folder: &RealPath, manifest: &str) -> Result<Hashed, String> {
    let entries = Vec::new();
    let mut content = Content { files, folder, hasher: Sha256::new(), entries, count: 0, bytes: 0 };
    content.line("manifest", &digest(manifest.as_bytes()), "");
    content.folder(folder, 1)?;
    Ok(Hashed { hash: format!("{:x}", content.hasher.finalize()).into(), entries: content.entries })
}

/// The hash of a manifest's text and of all that its folder holds: names, contents, executable bits. Blocking.
///
/// # Errors
/// In words, what can't be read or is beyond the bounds.
pub fn folder_hash(files: &dyn Files, folder: &RealPath, manifest: &str) -> Result<Arc<str>, String> {
    hash(files, folder, manifest).map(|hashed| hashed.hash)
}

/// The parts of a tool that its folder's entries are. Of many, those in one folder count as one.
pub(super) fn parts(entries: &[(String, String)]) -> Vec<(String, String)> {
    if entries.len() <= PARTS_MAX {
        return entries.iter().map(|(name, what)| (format!("file {name}"), what.clone())).collect();
    }
    let mut groups: BTreeMap<&str, Sha256> = BTreeMap::new();
    for (name, what) in entries {
        let top = name.split_inclusive('/').next().unwrap_or(name);
        groups.entry(top).or_default().update(format!("{what} {name}\0"));
    }
    let further = groups.len().saturating_sub(PARTS_MAX);
    let (mut parts, mut rest) = (Vec::new(), Sha256::new());
    for (top, hasher) in groups {
        let digest = format!("{:x}", hasher.finalize());
        if parts.len() < PARTS_MAX {
            parts.push((format!("file {top}"), digest));
        } else {
            rest.update(format!("{digest} {top}\0"));
        }
    }
    if further > 0 {
        parts.push(("further files".to_owned(), format!("{further}, together {:x}", rest.finalize())));
    }
    parts
}

struct Content<'a> {
    files: &'a dyn Files,
    folder: &'a RealPath,
    hasher: Sha256,
    entries: Vec<(String, String)>,
    count: usize,
    bytes: u64,
}

impl Content<'_> {
    /// One line an entry. Names can't hold a NUL, so that no two folders give the same lines.
    fn line(&mut self, kind: &str, what: &str, name: &str) {
        self.hasher.update(format!("{kind} {what} {name}\0"));
    }

    fn add(&mut self, kind: &str, what: &str, name: &str) {
        self.line(kind, what, name);
        let slash = if kind == "folder" { "/" } else { "" };
        let what = if kind == "file" { what.to_owned() } else { format!("{kind} {what}") };
        self.entries.push((format!("{name}{slash}"), what));
    }

    fn folder(&mut self, at: &RealPath, depth: usize) -> Result<(), String> {
        if depth > DEPTH_MAX {
            return Err(format!("{at} is more than {DEPTH_MAX} folders deep"));
        }
        let listing = self.files.list(at, FILES_MAX).map_err(|failure| failure.text)?;
        self.count += listing.entries.len();
        if self.count > FILES_MAX || listing.left_out > 0 {
            return Err(format!("there are more than {FILES_MAX} files in {}", self.folder));
        }
        for entry in &listing.entries {
            self.entry(entry, depth)?;
        }
        Ok(())
    }

    fn entry(&mut self, entry: &Entry, depth: usize) -> Result<(), String> {
        let whole = entry.path.absolute();
        let name =
            whole.strip_prefix(&self.folder.absolute()).unwrap_or(&whole).trim_start_matches('/').to_owned();
        match entry.kind {
            FileKind::File => {
                let (digest, is_executable) = self.file(&entry.path)?;
                self.add(if is_executable { "program" } else { "file" }, &digest, &name);
                Ok(())
            }
            FileKind::Folder => {
                self.add("folder", "", &name);
                self.folder(&entry.path, depth + 1)
            }
            FileKind::Link => self.link(&whole, &name),
            FileKind::Special(kind) => {
                self.add("special", kind, &name);
                Ok(())
            }
        }
    }

    /// A link counts by where it leads; outside the folder also by what is there, since nothing else does.
    fn link(&mut self, whole: &str, name: &str) -> Result<(), String> {
        let target = self.files.resolve(&PathArg(whole.to_owned())).map_err(|failure| failure.text)?;
        let kind = self.files.peek(&target).map(|stat| stat.kind).filter(|_| !self.folder.covers(&target));
        if kind == Some(FileKind::Folder) {
            return Err(format!(
                "{name} is a link to a folder outside, which can't be recognised; copy it in"
            ));
        }
        let what = if kind == Some(FileKind::File) { self.file(&target)?.0 } else { String::new() };
        self.add("link", &format!("{what} {target}\0"), name);
        Ok(())
    }

    fn file(&mut self, at: &RealPath) -> Result<(String, bool), String> {
        let stat = self.files.stat(at).map_err(|failure| failure.text)?;
        let mut hasher = Sha256::new();
        let mut offset = 0_u64;
        loop {
            // The length may have been understated, so that what was read counts too.
            if self.bytes.saturating_add(stat.len.max(offset)) > CONTENT_MAX_BYTES {
                return Err(format!("there are more than 64 MiB in {}", self.folder));
            }
            let piece = self.files.read(at, offset, PIECE_BYTES).map_err(|failure| failure.text)?;
            if piece.is_empty() {
                self.bytes = self.bytes.saturating_add(offset);
                return Ok((format!("{:x}", hasher.finalize()), stat.mode & 0o111 != 0));
            }
            offset = offset.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
            hasher.update(&piece);
        }
    }
}

fn digest(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::super::fake::Tree;
    use super::*;

    fn hashed(tree: &Tree) -> Arc<str> {
        hash(tree, &RealPath::new("/w", "t/x"), "{}").unwrap().hash
    }

    #[test]
    fn any_change_in_the_folder_changes_the_hash_and_none_outside() {
        let tree = Tree::default().with("/w/t/x/tool.json", "{}", 0o644).with("/w/t/x/lib/a.py", "1", 0o644);
        let before = hashed(&tree);
        assert_eq!(before.len(), 64);
        assert_eq!(hashed(&tree.clone().with("/w/t/y/a.py", "2", 0o644)), before);
        assert_eq!(hashed(&tree.clone().with("/w/t/x/lib/a.py", "1", 0o600)), before);
        let changed = [
            tree.clone().with("/w/t/x/lib/a.py", "2", 0o644),
            tree.clone().with("/w/t/x/lib/a.py", "1", 0o755),
            tree.clone().with("/w/t/x/lib/b.py", "", 0o644),
            Tree::default().with("/w/t/x/tool.json", "{}", 0o644).with("/w/t/x/lib/b.py", "1", 0o644),
        ];
        for (index, tree) in changed.iter().enumerate() {
            assert_ne!(hashed(tree), before, "{index}");
        }
        assert_ne!(hash(&tree, &RealPath::new("/w", "t/x"), "{ }").unwrap().hash, before);
    }

    #[test]
    fn every_entry_is_a_part_and_of_many_every_folder() {
        let tree = Tree::default()
            .with("/w/t/x/tool.json", "{}", 0o644)
            .with("/w/t/x/run.sh", "", 0o755)
            .with("/w/t/x/lib/a.py", "1", 0o644);
        let at = RealPath::new("/w", "t/x");
        let of = |tree: &Tree| parts(&hash(tree, &at, "{}").unwrap().entries);
        let few = of(&tree);
        let names: Vec<&str> = few.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["file lib/", "file lib/a.py", "file run.sh", "file tool.json"]);
        assert_eq!(few[1].1, digest(b"1"));
        assert_ne!(of(&tree.clone().with("/w/t/x/run.sh", "", 0o644))[2], few[2]);

        let full = |tree: Tree| {
            (0..PARTS_MAX).fold(tree, |tree, number| tree.with(&format!("/w/t/x/lib/{number}"), "", 0o644))
        };
        let changed = tree.clone().with("/w/t/x/lib/a.py", "2", 0o644);
        let (before, after) = (of(&full(tree.clone())), of(&full(changed)));
        let names: Vec<&str> = before.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["file lib/", "file run.sh", "file tool.json"]);
        assert!(before[0] != after[0] && before[1..] == after[1..]);

        let wide =
            (0..PARTS_MAX).fold(tree, |tree, number| tree.with(&format!("/w/t/x/{number}"), "", 0o644));
        let parts = of(&wide);
        assert_eq!(parts.len(), PARTS_MAX + 1);
        assert!(parts[PARTS_MAX].1.starts_with("3, together "), "{:?}", parts[PARTS_MAX]);
    }

    #[test]
    fn a_folder_beyond_the_bounds_is_refused() {
        let many = (0..=FILES_MAX)
            .fold(Tree::default(), |tree, number| tree.with(&format!("/w/t/x/{number}"), "", 0o644));
        assert!(hash(&many, &RealPath::new("/w", "t/x"), "{}").unwrap_err().contains("more than 2000 files"));
        let mut large = Tree::default();
        let bytes = vec![0; usize::try_from(CONTENT_MAX_BYTES).unwrap() + 1];
        large.0.insert("/w/t/x/big".to_owned(), (bytes, 0o644));
        assert!(hash(&large, &RealPath::new("/w", "t/x"), "{}").unwrap_err().contains("64 MiB"));
    }
}
