//! The names in git's index, as its format is published (versions 2, 3 and 4).

/// Bytes of an entry before its name, up to the flags.
const FIXED_BYTES: usize = 62;
/// Where the low bytes of an entry's mode are.
const MODE_AT: usize = 26;
/// The mode of an entry that is a repository of its own.
const LINK_MODE: [u8; 2] = [0xe0, 0x00];
/// Set in the flags where two more bytes of flags follow.
const EXTENDED: u8 = 0x40;

/// Which entries are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entries {
    All,
    /// Those that are repositories of their own: submodules.
    Repositories,
}

/// The paths of entries in the work tree; none for an index that can't be read whole, also where a part of it lies in
/// another file.
pub(super) fn entries(index: &[u8], which: Entries) -> Option<Vec<String>> {
    let rest = index.strip_prefix(b"DIRC")?;
    let (version, rest) = number(rest)?;
    let (count, mut rest) = number(rest)?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut found = Vec::new();
    let mut last: Vec<u8> = Vec::new();
    for _ in 0..count {
        let flags = *rest.get(FIXED_BYTES - 2)?;
        let is_link = rest.get(MODE_AT..)?.starts_with(&LINK_MODE);
        let fixed = if version >= 3 && flags & EXTENDED != 0 { FIXED_BYTES + 2 } else { FIXED_BYTES };
        let body = rest.get(fixed..)?;
        if version == 4 {
            // The name is given by how much of the last one goes, and what comes instead.
            let (cut, body) = varint(body)?;
            let end = body.iter().position(|byte| *byte == 0)?;
            last.truncate(last.len().checked_sub(cut)?);
            last.extend_from_slice(body.get(..end)?);
            rest = body.get(end + 1..)?;
        } else {
            let end = body.iter().position(|byte| *byte == 0)?;
            last = body.get(..end)?.to_vec();
            // One to eight zeros, so that the next entry begins at a multiple of eight.
            let whole = (fixed + end + 8) & !7;
            rest = rest.get(whole..)?;
        }
        if is_link || which == Entries::All {
            found.push(String::from_utf8_lossy(&last).into_owned());
        }
    }
    // An extension of that name says that the index goes on in a shared one; it comes first.
    (!rest.starts_with(b"link")).then_some(found)
}

fn number(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (head, rest) = bytes.split_first_chunk::<4>()?;
    Some((u32::from_be_bytes(*head), rest))
}

/// Seven bits a byte, the highest first; each further byte counts from one more.
fn varint(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (first, mut rest) = bytes.split_first()?;
    let mut value = usize::from(first & 0x7f);
    let mut goes_on = first & 0x80 != 0;
    while goes_on {
        let (next, after) = rest.split_first()?;
        value = value.checked_add(1)?.checked_mul(128)?.checked_add(usize::from(next & 0x7f))?;
        goes_on = next & 0x80 != 0;
        rest = after;
    }
    Some((value, rest))
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the test looks at what a real git writes")]
mod tests {
    use super::{Entries, entries};
    use std::process::Command;

    fn git(folder: &std::path::Path, args: &[&str]) -> Option<()> {
        Command::new("git").arg("-C").arg(folder).args(args).output().ok()?.status.success().then_some(())
    }

    fn names(index: &[u8]) -> Option<Vec<String>> {
        entries(index, Entries::All)
    }

    #[test]
    fn a_repository_within_is_told_from_a_file_and_a_split_index_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        if git(folder.path(), &["init", "-q"]).is_none() {
            println!("skipped: there is no git here");
            return;
        }
        std::fs::write(folder.path().join("a"), "a").unwrap();
        git(folder.path(), &["add", "a"]).unwrap();
        let link = "160000,1234567890123456789012345678901234567890,sub";
        git(folder.path(), &["update-index", "--add", "--cacheinfo", link]).unwrap();
        let read = |which| entries(&std::fs::read(folder.path().join(".git/index")).unwrap(), which);
        assert_eq!(read(Entries::All), Some(vec!["a".to_owned(), "sub".to_owned()]));
        assert_eq!(read(Entries::Repositories), Some(vec!["sub".to_owned()]));
        git(folder.path(), &["update-index", "--split-index"]).unwrap();
        assert_eq!(read(Entries::All), None);
        assert_eq!(read(Entries::Repositories), None);
    }

    #[test]
    fn what_git_wrote_is_read_in_every_version() {
        let folder = tempfile::tempdir().unwrap();
        if git(folder.path(), &["init", "-q"]).is_none() {
            println!("skipped: there is no git here");
            return;
        }
        let mut all = Vec::new();
        for name in ["a", "dir/b", "dir/bb", "dir/sub/a rather long name for an entry.txt", "ü", "z"] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
            all.push(name.to_owned());
        }
        all.sort();
        git(folder.path(), &["add", "-A"]).unwrap();
        for version in ["2", "3", "4"] {
            if version == "3" {
                // Flags that only version 3 has.
                git(folder.path(), &["update-index", "--skip-worktree", "dir/b"]).unwrap();
            }
            git(folder.path(), &["update-index", "--index-version", version]).unwrap();
            let index = std::fs::read(folder.path().join(".git/index")).unwrap();
            let mut found = names(&index).unwrap();
            found.sort();
            assert_eq!(found, all, "version {version}");
            for cut in [0, 3, 11, 40, index.len() / 2] {
                assert!(names(&index[..cut]).is_none_or(|names| names.len() < all.len()), "{cut}");
            }
        }
    }
}
