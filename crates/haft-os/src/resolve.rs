//! From a path as the caller wrote it to the real one: all links followed, also dangling ones.
//!
//! Only names things; nothing is opened by what comes out of here except beneath a root handle.

use crate::fault;
use haft_core::{Failure, FailureKind};
use std::{
    ffi::OsString,
    fs, io,
    path::{Component, Path, PathBuf},
};

/// As many links as the kernel follows.
const LINKS_MAX: usize = 40;

/// Where relative paths and `~/` start.
pub(crate) struct Start<'a> {
    /// The workspace's root.
    pub(crate) workspace: &'a Path,
    /// The home folder, where there is one.
    pub(crate) home: Option<&'a Path>,
}

/// The real absolute path of what was written.
pub(crate) fn real(written: &str, start: &Start<'_>) -> Result<String, Failure> {
    let real = follow(&absolute(written, start)?, written)?;
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

fn follow(path: &Path, written: &str) -> Result<PathBuf, Failure> {
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
                missing = true;
                done = next;
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
}
