//! From a path as the caller wrote it to the real one: all links followed, also dangling ones.
//!
//! Only names things; nothing is opened by what comes out of here except beneath a root handle.

use crate::{
    fault,
    root::Beneath,
    similar::{escaped, fold},
};
use haft_core::{Failure, FailureKind};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use std::{
    ffi::{OsStr, OsString},
    fs, io,
    path::{Component, Path, PathBuf},
};

/// As many links as the kernel follows.
const LINKS_MAX: usize = 40;
/// A folder with more names is not searched for one that looks like another.
const SIBLINGS_MAX: usize = 20_000;
/// How many names that look alike are listed.
const LISTED_MAX: usize = 5;

/// Where relative paths and `~/` start.
pub(crate) struct Start<'a> {
    /// The workspace's root.
    pub(crate) workspace: &'a Path,
    /// The home folder, where there is one.
    pub(crate) home: Option<&'a Path>,
}

/// Which names a written one may stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// Itself alone.
    Exact,
    /// Itself; where it doesn't exist, the only one that looks the same.
    OrAlike,
}

/// The real absolute path of what was written.
pub(crate) fn real(written: &str, start: &Start<'_>, names: Names) -> Result<String, Failure> {
    let path = absolute(written, start)?;
    let real = straight(&path).map_or_else(|| follow(&path, written, names), Ok)?;
    real.into_os_string().into_string().map_err(|real| {
        Failure::invalid(format!(
            "{written} leads to {}, whose name isn't UTF-8; rename it with a shell command first",
            real.to_string_lossy()
        ))
    })
}

fn absolute(written: &str, start: &Start<'_>) -> Result<PathBuf, Failure> {
    if written.is_empty() {
        return Err(Failure::invalid(
            "the path is empty; give one relative to the workspace, or `.` for its root",
        ));
    }
    if written.contains('\0') {
        return Err(Failure::invalid("the path has a NUL byte; leave it out"));
    }
    if written.starts_with("file://") {
        return Err(Failure::invalid(format!("{written} is a URL; give the plain path without `file://`")));
    }
    let Some(in_home) = written.strip_prefix("~/").or((written == "~").then_some("")) else {
        return Ok(start.workspace.join(written));
    };
    let home = start.home.ok_or_else(|| {
        Failure::invalid(format!(
            "{written} starts at the home folder, which isn't known; give an absolute path"
        ))
    })?;
    Ok(home.join(in_home.trim_start_matches('/')))
}

/// The path itself, where something is there and no link on the way: most are, and the kernel tells in one look. None
/// where it isn't so, or isn't known.
fn straight(path: &Path) -> Option<PathBuf> {
    if Beneath::detect() != Beneath::Kernel || path.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    let path: PathBuf = path.components().collect();
    // Without NOFOLLOW, with which a link at the end is opened itself.
    let place = OFlags::PATH | OFlags::CLOEXEC;
    rustix::fs::openat2(CWD, &path, place, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()?;
    Some(path)
}

/// What is still to be walked, the next part last.
enum Part {
    Up,
    Name(OsString),
}

fn push_parts(todo: &mut Vec<Part>, path: &Path) {
    todo.extend(path.components().rev().filter_map(|component| match component {
        Component::ParentDir => Some(Part::Up),
        Component::Normal(name) => Some(Part::Name(name.to_owned())),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    }));
}

fn follow(path: &Path, written: &str, names: Names) -> Result<PathBuf, Failure> {
    let mut todo = Vec::new();
    push_parts(&mut todo, path);
    let mut done = PathBuf::from("/");
    let (mut missing, mut links) = (false, 0);
    while let Some(part) = todo.pop() {
        let name = match part {
            Part::Up if missing => {
                return Err(Failure::invalid(format!(
                    "{written} goes up from {}, which doesn't exist; give the path without `..`",
                    done.display()
                )));
            }
            Part::Up => {
                done.pop();
                continue;
            }
            Part::Name(name) => name,
        };
        let next = done.join(&name);
        if missing {
            done = next;
            continue;
        }
        match fs::symlink_metadata(&next) {
            Ok(meta) if meta.is_symlink() => {
                links += 1;
                if links > LINKS_MAX {
                    return Err(Failure::invalid(format!(
                        "{written} leads through more than {LINKS_MAX} links, probably in a circle; name \
                         the real file"
                    )));
                }
                let target = fs::read_link(&next)
                    .map_err(|error| fault::io("follow the link", &next.to_string_lossy(), &error))?;
                if target.is_absolute() {
                    done = PathBuf::from("/");
                }
                push_parts(&mut todo, &target);
            }
            Ok(meta) if !meta.is_dir() && !todo.is_empty() => {
                return Err(Failure::invalid(format!(
                    "{written} goes on beneath {}, which is not a folder; correct the path",
                    next.display()
                )));
            }
            Ok(_) => done = next,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let alike = if names == Names::OrAlike { alike(&done, &name, written)? } else { None };
                if let Some(real) = alike {
                    todo.push(Part::Name(real));
                } else {
                    missing = true;
                    done = next;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Err(Failure::new(
                    FailureKind::Permission,
                    format!("{written} can't be resolved: the system denies a look into {}", done.display()),
                ));
            }
            Err(error) => return Err(fault::io("resolve", written, &error)),
        }
    }
    Ok(done)
}

/// The one name in a folder that looks like `name`, which isn't there.
fn alike(folder: &Path, name: &OsStr, written: &str) -> Result<Option<OsString>, Failure> {
    let (Some(name), Ok(entries)) = (name.to_str(), fs::read_dir(folder)) else {
        return Ok(None);
    };
    let wanted = fold(name);
    let mut found = Vec::new();
    for (index, entry) in entries.flatten().enumerate() {
        if index >= SIBLINGS_MAX {
            return Ok(None);
        }
        let real = entry.file_name();
        if real.to_str().is_some_and(|real| real != name && fold(real) == wanted) {
            found.push(real);
        }
    }
    if found.len() < 2 {
        return Ok(found.pop());
    }
    found.sort();
    let listed: Vec<String> = found
        .iter()
        .take(LISTED_MAX)
        .map(|real| format!("\"{}\"", escaped(&real.to_string_lossy())))
        .collect();
    let more = if found.len() > LISTED_MAX { " and further ones" } else { "" };
    Err(Failure::conflict(format!(
        "{written} doesn't exist, and {} names there look the same: {}{more}. Give one of them exactly; in JSON, \
         \\u{{202f}} is written \\u202f",
        found.len(),
        listed.join(", ")
    )))
}

/// The rest of `path` beneath `root`, compared part by part.
pub(crate) fn beneath<'a>(root: &str, path: &'a str) -> Option<&'a str> {
    if root == "/" {
        return path.strip_prefix('/');
    }
    let rest = path.strip_prefix(root)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namesake_is_not_beneath() {
        assert_eq!(beneath("/w", "/w/a"), Some("a"));
        assert_eq!(beneath("/w", "/w"), Some(""));
        assert_eq!(beneath("/w", "/w2/a"), None);
        assert_eq!(beneath("/", "/w2/a"), Some("w2/a"));
    }

    #[test]
    fn a_path_without_links_is_its_own_and_any_other_is_walked() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir(root.join("d")).unwrap();
        fs::write(root.join("d/f"), "").unwrap();
        std::os::unix::fs::symlink("d", root.join("link")).unwrap();
        std::os::unix::fs::symlink("d/f", root.join("end")).unwrap();
        std::os::unix::fs::symlink("none", root.join("lost")).unwrap();
        let is_known = Beneath::detect() == Beneath::Kernel;
        for (written, is_straight) in [
            ("d", true),
            ("d/f", true),
            ("d//./f", true),
            ("d/f/", true),
            ("", true),
            (".", true),
            ("/", true),
            ("//", true),
            ("link", false),
            ("link/", false),
            ("link/f", false),
            ("end", false),
            ("lost", false),
            ("d/../d/f", false),
            ("d/none", false),
            ("d/f/g", false),
        ] {
            let path = root.join(written);
            let found = straight(&path);
            assert_eq!(found.is_some(), is_straight && is_known, "{written}");
            if let Some(found) = found {
                // Byte by byte: paths are compared part by part, whatever stands between.
                let walked = follow(&path, written, Names::Exact).unwrap();
                assert_eq!(found.into_os_string(), walked.into_os_string(), "{written}");
            }
        }
    }

    #[test]
    fn case_f19_only_a_name_that_is_not_there_stands_for_one_that_looks_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let start = Start { workspace: &root, home: None };
        let real = |written: &str, names| {
            let real = real(written, &start, names).map_err(|failure| failure.text)?;
            Ok::<_, String>(Path::new(&real).strip_prefix(&root).unwrap().to_str().unwrap().to_owned())
        };
        fs::create_dir(root.join("My\u{a0}Folder")).unwrap();
        fs::write(root.join("My\u{a0}Folder/a\u{202f}b"), "").unwrap();
        let narrow = "My\u{a0}Folder/a\u{202f}b";
        assert_eq!(real("My Folder/a b", Names::OrAlike).unwrap(), narrow);
        assert_eq!(real("My Folder/a b", Names::Exact).unwrap(), "My Folder/a b");
        assert_eq!(real("My Folder/other", Names::OrAlike).unwrap(), "My\u{a0}Folder/other");
        fs::write(root.join("My\u{a0}Folder/a\u{2007}b"), "").unwrap();
        let refused = real("My Folder/a b", Names::OrAlike).unwrap_err();
        assert!(refused.contains("\"a\\u{2007}b\", \"a\\u{202f}b\""), "{refused}");
        fs::write(root.join("My\u{a0}Folder/a b"), "").unwrap();
        assert_eq!(real("My Folder/a b", Names::OrAlike).unwrap(), "My\u{a0}Folder/a b");
        // Composed and decomposed letters, both ways.
        fs::write(root.join("caf\u{e9}"), "").unwrap();
        fs::write(root.join("nai\u{308}ve"), "").unwrap();
        assert_eq!(real("cafe\u{301}", Names::OrAlike).unwrap(), "caf\u{e9}");
        assert_eq!(real("na\u{ef}ve", Names::OrAlike).unwrap(), "nai\u{308}ve");
    }
}
