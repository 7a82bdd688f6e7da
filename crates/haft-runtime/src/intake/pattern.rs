//! Which paths a pattern of a shell line stands for: what is there now, as the shell would find it.
//!
//! What one name matches is known to the policy's crate; this walks the folders. Keeps the invariant "nothing but what
//! the pattern can match is left out": where that can't be told, or there is too much, there is no answer.

use haft_core::{FileKind, Files, PathArg};
use haft_policy::{Access, matches_name, pattern_parts};

/// More matches than that aren't told one by one.
const MATCHES_MAX: usize = 1_000;
/// So many names are looked at for one pattern.
const LOOKED_MAX: usize = 4_000;

/// The paths, absolute or beneath `~`, that a pattern stands for in a folder; none where that can't be told.
///
/// A pattern without a match is left by the shell as it is written, and so it is here where that can matter.
pub(super) fn expanded(folder: &str, text: &str, access: Access, files: &dyn Files) -> Option<Vec<String>> {
    let mut parts = pattern_parts(text)?;
    let base = if text.starts_with('/') {
        String::new()
    } else if text.starts_with('~') {
        if parts.first() != Some(&"~") {
            return None;
        }
        parts.remove(0);
        "~".to_owned()
    } else {
        folder.trim_end_matches('/').to_owned()
    };
    let mut look = Look { files, is_tree: matches!(access, Access::ReadTree | Access::WriteTree), looked: 0 };
    let mut found = vec![base.clone()];
    let mut is_wild = false;
    for part in parts.iter().filter(|part| !part.is_empty() && **part != ".") {
        is_wild = part.contains(['*', '?', '[']);
        found = if is_wild {
            look.beneath(&found, part)?
        } else {
            found.into_iter().map(|at| format!("{at}/{part}")).collect()
        };
    }
    if !is_wild {
        // What follows the last wildcard need not be there.
        found.retain(|path| look.is_there(path));
    }
    if found.is_empty() {
        let literal =
            parts.iter().filter(|part| !part.is_empty()).fold(base, |at, part| format!("{at}/{part}"));
        let matters = matches!(access, Access::Write | Access::WriteTree) || look.is_there(&literal);
        found.extend(matters.then_some(literal));
    }
    Some(found)
}

struct Look<'a> {
    files: &'a dyn Files,
    /// Whether whole folders are meant: then some shells find `.` and `..` too.
    is_tree: bool,
    looked: usize,
}

impl Look<'_> {
    /// What matches directly in each of the folders.
    fn beneath(&mut self, folders: &[String], pattern: &str) -> Option<Vec<String>> {
        let mut found = Vec::new();
        for folder in folders {
            let whole = if folder.is_empty() { "/" } else { folder.as_str() };
            let Ok(real) = self.files.resolve(&PathArg(whole.to_owned())) else { continue };
            if self.files.peek(&real).is_none_or(|stat| stat.kind != FileKind::Folder) {
                continue;
            }
            // A folder that can't be listed here may still be one that the shell lists.
            let listing = self.files.list(&real, LOOKED_MAX.saturating_sub(self.looked)).ok()?;
            if listing.left_out > 0 {
                return None;
            }
            self.looked = self.looked.saturating_add(listing.entries.len());
            let names = listing.entries.iter().map(|entry| entry.path.file_name());
            let own = [".", ".."].into_iter().filter(|_| self.is_tree);
            found.extend(
                names
                    .chain(own)
                    .filter(|name| matches_name(pattern, name))
                    .map(|name| format!("{folder}/{name}")),
            );
            if found.len() > MATCHES_MAX {
                return None;
            }
        }
        Some(found)
    }

    fn is_there(&self, path: &str) -> bool {
        let Ok(real) = self.files.resolve(&PathArg(path.to_owned())) else { return false };
        // A link that leads nowhere is there as well.
        self.files.peek(&real).is_some() || path.rsplit('/').next() != Some(real.file_name())
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the test makes the files that are found")]
mod tests {
    use super::*;
    use haft_os::OsFiles;

    fn stage() -> (tempfile::TempDir, OsFiles, String) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["ws/src/a.rs", "ws/src/b.rs", "ws/src/.hidden.rs", "ws/sub/x", "ws/.env", "ws/README.md"]
        {
            let path = root.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        }
        let files = OsFiles::new(&root.join("ws"), &[], &root.join("state")).unwrap();
        let workspace = root.join("ws").to_str().unwrap().to_owned();
        (folder, files, workspace)
    }

    #[test]
    fn a_pattern_stands_for_what_is_there() {
        let (_folder, files, workspace) = stage();
        let cases: [(&str, Access, Option<&[&str]>); 12] = [
            ("src/*.rs", Access::Read, Some(&["src/a.rs", "src/b.rs"])),
            ("*/*.rs", Access::Read, Some(&["src/a.rs", "src/b.rs"])),
            (".e*", Access::Read, Some(&[".env"])),
            ("./.e*", Access::Read, Some(&[".env"])),
            ("*/x", Access::Read, Some(&["sub/x"])),
            ("*.md", Access::Read, Some(&["README.md"])),
            ("*.none", Access::Read, Some(&[])),
            ("*.none", Access::Write, Some(&["*.none"])),
            ("src/[ab].rs", Access::Read, Some(&["src/a.rs", "src/b.rs"])),
            ("src/?.rs", Access::Read, Some(&["src/a.rs", "src/b.rs"])),
            ("**/x", Access::Read, None),
            ("~root/*", Access::Read, None),
        ];
        for (text, access, expected) in cases {
            let found = expanded(&workspace, text, access, &files).map(|mut found| {
                found.sort();
                found
            });
            let expected = expected
                .map(|names| names.iter().map(|name| format!("{workspace}/{name}")).collect::<Vec<String>>());
            assert_eq!(found, expected, "{text}");
        }
        let whole = format!("{workspace}/sub/*");
        assert_eq!(
            expanded("/", &whole, Access::Read, &files),
            Some(vec![format!("{workspace}/sub/x")]),
            "an absolute pattern"
        );
    }

    #[test]
    fn too_many_names_have_no_answer() {
        let (folder, files, workspace) = stage();
        let many = folder.path().join("ws/many");
        std::fs::create_dir_all(&many).unwrap();
        for number in 0..=MATCHES_MAX {
            std::fs::write(many.join(format!("f{number}")), "").unwrap();
        }
        assert_eq!(expanded(&workspace, "many/*", Access::Read, &files), None);
        let some = expanded(&workspace, "many/f99*", Access::Read, &files);
        assert_eq!(some.map(|found| found.len()), Some(11));
    }
}
