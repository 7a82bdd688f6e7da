//! The hash of all that a folder holds: what a tool that was approved is recognised by.

use haft_core::{Entry, FileKind, Files, PathArg, RealPath};
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// The most that one tool's folder may hold; beyond it a tool can't be recognised.
const CONTENT_MAX_BYTES: u64 = 64 * 1024 * 1024;
const FILES_MAX: usize = 2_000;
const DEPTH_MAX: usize = 32;
const PIECE_BYTES: usize = 1024 * 1024;

/// SHA-256, in hex, over a manifest's text and over name, content and executable bit of every file.
///
/// # Errors
/// In words, what can't be read or is beyond the bounds.
pub(super) fn hash(files: &dyn Files, folder: &RealPath, manifest: &str) -> Result<Arc<str>, String> {
    let mut content = Content { files, folder, hasher: Sha256::new(), count: 0, bytes: 0 };
    content.add("manifest", &digest(manifest.as_bytes()), "");
    content.folder(folder, 1)?;
    Ok(format!("{:x}", content.hasher.finalize()).into())
}

struct Content<'a> {
    files: &'a dyn Files,
    folder: &'a RealPath,
    hasher: Sha256,
    count: usize,
    bytes: u64,
}

impl Content<'_> {
    /// One line an entry. Names can't hold a NUL, so that no two folders give the same lines.
    fn add(&mut self, kind: &str, what: &str, name: &str) {
        self.hasher.update(format!("{kind} {what} {name}\0"));
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
        let kind =
            self.files.stat(&target).ok().map(|stat| stat.kind).filter(|_| !self.folder.covers(&target));
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
        hash(tree, &RealPath::new("/w", "t/x"), "{}").unwrap()
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
        assert_ne!(hash(&tree, &RealPath::new("/w", "t/x"), "{ }").unwrap(), before);
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
