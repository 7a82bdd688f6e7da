//! Whether the settings of a repository make git run programs when it is only asked.
//!
//! What can be switched off by variables is ([`NEUTRAL`]); what can't (filters, drivers for diffs, included files)
//! is looked for in the repository's own settings. The user's own settings are trusted.

use super::{
    index::{self, Entries},
    lines::parent,
};
use haft_core::{FileKind, Files, PathArg, RealPath};

/// What git gets where a line only asks it: no hooks, no monitor, no pager, no writing of its index, no
/// fetching of what isn't there.
pub(crate) const NEUTRAL: [(&str, &str); 10] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_PAGER", "cat"),
    ("GIT_CONFIG_COUNT", "3"),
    ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
    ("GIT_CONFIG_VALUE_0", "false"),
    ("GIT_CONFIG_KEY_1", "core.hooksPath"),
    ("GIT_CONFIG_VALUE_1", "/dev/null"),
    ("GIT_CONFIG_KEY_2", "log.showSignature"),
    ("GIT_CONFIG_VALUE_2", "false"),
];

/// Settings files are read so far; a longer one counts as not neutral.
const CONFIG_MAX_BYTES: usize = 256 * 1024;
/// A longer index isn't read.
const INDEX_MAX_BYTES: usize = 64 << 20;
/// How many folders up a repository is looked for.
const ANCESTORS_MAX: usize = 64;
/// Sections that name programs or further files.
const SECTIONS: [&str; 3] = ["filter", "include", "includeif"];
/// Keys, in whatever section, whose values are programs that asking can start, or places that it can fetch from.
const KEYS: [&str; 19] = [
    "textconv",
    "command",
    "external",
    "program",
    "pager",
    "attributesfile",
    "sshcommand",
    "process",
    "clean",
    "promisor",
    "partialclone",
    "partialclonefilter",
    "uploadpack",
    "receivepack",
    "vcs",
    "gitproxy",
    "askpass",
    "helper",
    "alternaterefscommand",
];
/// Hooks that git never runs where it is only asked; any other one may.
const UNASKED: [&str; 21] = [
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "post-rewrite",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "push-to-checkout",
    "pre-auto-gc",
    "sendemail-validate",
];
/// More files among the hooks aren't looked at.
const HOOKS_MAX: usize = 200;
/// So many repositories within one are looked at.
const WITHIN_MAX: usize = 64;

/// How git runs where it is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Care {
    /// With [`NEUTRAL`].
    Guarded,
    /// Within a submodule: git keeps settings that come by variables from it, other variables not.
    Within,
    /// Just as it is.
    Bare,
}

/// The files that the repository around a folder tracks, absolute; none where that can't be told. Where there is no
/// repository, or nothing was added yet, there are none.
pub(crate) fn tracked(folder: &str, files: &dyn Files) -> Option<Vec<String>> {
    let mut at = folder.trim_end_matches('/').to_owned();
    for _ in 0..ANCESTORS_MAX {
        if let Some(git) = standing(&format!("{at}/.git"), files) {
            let folder = match files.peek(&git)?.kind {
                FileKind::Folder => git,
                FileKind::File => linked(&git, files)?,
                _ => return None,
            };
            let found = entries_of(&folder, Entries::All, files)?;
            return Some(found.into_iter().map(|name| format!("{at}/{name}")).collect());
        }
        at = match at.rsplit_once('/') {
            Some((above, _)) => above.to_owned(),
            None => return Some(Vec::new()),
        };
    }
    None
}

/// Whether the repository around a folder names no program that asking could start.
pub(super) fn is_neutral(folder: &str, care: Care, files: &dyn Files) -> bool {
    let mut at = folder.to_owned();
    let mut left = WITHIN_MAX;
    for _ in 0..ANCESTORS_MAX {
        let tree = at.trim_end_matches('/');
        if let Some(git) = standing(&format!("{tree}/.git"), files) {
            return repository(&git, tree, (care, &mut left), files);
        }
        // A bare repository, or the inside of `.git`: its settings lie right here.
        let is_bare = |name: &str| standing(&format!("{at}/{name}"), files).is_some();
        let has_parts = ["config", "objects", "refs", "commondir"].into_iter().any(is_bare);
        if is_bare("HEAD") && has_parts {
            if is_bare("commondir") {
                // Its settings lie elsewhere; nobody but git itself makes such a folder in a workspace.
                return false;
            }
            return resolved(&at, files).is_some_and(|at| is_quiet(&at, care, files));
        }
        let above = match at.rsplit_once('/') {
            Some(("", "")) | None => return true,
            Some(("", _)) => "/".to_owned(),
            Some((above, _)) => above.to_owned(),
        };
        at = above;
    }
    false
}

/// A repository by its `.git` (the folder, or the file of a worktree or submodule that says where it is), with those
/// that lie in its work tree. At most `left` further ones are looked at.
fn repository(git: &RealPath, tree: &str, (care, left): (Care, &mut usize), files: &dyn Files) -> bool {
    let (folder, common) = match files.peek(git).map(|stat| stat.kind) {
        // A folder that shares another's settings is made by nobody but git, and then `.git` is a file.
        Some(FileKind::Folder) if files.peek(&git.join("commondir")).is_some() => return false,
        Some(FileKind::Folder) => (git.clone(), None),
        Some(FileKind::File) => {
            let Some(folder) = linked(git, files) else { return false };
            let common = text(&folder.join("commondir"), files)
                .and_then(|common| resolved_from(&folder, common.trim(), files));
            (folder, common)
        }
        _ => return false,
    };
    if !is_quiet(&folder, care, files) || common.is_some_and(|common| !is_quiet(&common, care, files)) {
        return false;
    }
    if is_elsewhere(&folder, tree, files) {
        return false;
    }
    // git looks into submodules as well.
    let Some(links) = entries_of(&folder, Entries::Repositories, files) else { return false };
    let care = if care == Care::Guarded { Care::Within } else { care };
    for name in links {
        let within = format!("{tree}/{name}");
        let Some(git) = standing(&format!("{within}/.git"), files) else { continue };
        if *left == 0 {
            return false;
        }
        *left -= 1;
        if !repository(&git, &within, (care, &mut *left), files) {
            return false;
        }
    }
    true
}

/// Whether a repository's settings put its work tree elsewhere than where it was found.
fn is_elsewhere(folder: &RealPath, tree: &str, files: &dyn Files) -> bool {
    let whole = if tree.is_empty() { "/" } else { tree };
    let Some(here) = resolved(whole, files) else { return true };
    ["config", "config.worktree"].iter().filter_map(|name| text(&folder.join(name), files)).any(|text| {
        let stated = text.lines().filter_map(|line| line.split_once('='));
        stated.filter(|(key, _)| key.trim().eq_ignore_ascii_case("worktree")).any(|(_, value)| {
            let at = resolved_from(folder, value.trim().trim_matches('"'), files);
            at.is_none_or(|at| at.absolute() != here.absolute())
        })
    })
}

/// Whether neither settings nor hooks in a repository's folder start a program.
fn is_quiet(folder: &RealPath, care: Care, files: &dyn Files) -> bool {
    settings(folder, care, files) && (care != Care::Bare || !has_hook(folder, files))
}

/// Whether there is a hook that git may run where it is only asked.
fn has_hook(folder: &RealPath, files: &dyn Files) -> bool {
    let Ok(hooks) = files.resolve(&PathArg(folder.join("hooks").absolute())) else { return true };
    if files.peek(&hooks).is_none() {
        return false;
    }
    let Ok(listing) = files.list(&hooks, HOOKS_MAX) else { return true };
    let is_other = |name: &str| !name.ends_with(".sample") && !UNASKED.contains(&name);
    // git passes by what can't be run; what a link leads to isn't looked at here.
    let runs = |at: &RealPath| files.peek(at).is_none_or(|stat| stat.mode & 0o111 != 0);
    let mut entries = listing.entries.iter().map(|entry| &entry.path);
    listing.left_out > 0 || entries.any(|at| is_other(at.file_name()) && runs(at))
}

/// What the index in a repository's folder lists; nothing where nothing was added yet.
fn entries_of(folder: &RealPath, which: Entries, files: &dyn Files) -> Option<Vec<String>> {
    let at = folder.join("index");
    let Some(stat) = files.peek(&at) else { return Some(Vec::new()) };
    let len = usize::try_from(stat.len).ok().filter(|len| *len <= INDEX_MAX_BYTES)?;
    index::entries(&files.read(&at, 0, len).ok()?, which)
}

/// The folder that the `.git` file of a worktree or submodule names.
fn linked(git: &RealPath, files: &dyn Files) -> Option<RealPath> {
    let pointer = text(git, files)?;
    resolved_from(&parent(git)?, pointer.trim().strip_prefix("gitdir:")?.trim(), files)
}

/// The settings in a repository's folder; what isn't there says nothing, what can't be read is not neutral.
fn settings(folder: &RealPath, care: Care, files: &dyn Files) -> bool {
    ["config", "config.worktree"].iter().all(|name| {
        let file = folder.join(name);
        files.peek(&file).is_none() || text(&file, files).is_some_and(|text| names_no_program(&text, care))
    })
}

/// Whether no line of the settings names a program.
fn names_no_program(text: &str, care: Care) -> bool {
    text.trim_start_matches('\u{feff}').lines().all(|line| {
        let line = line.trim().to_ascii_lowercase();
        if let Some(section) = line.strip_prefix('[') {
            let name: String =
                section.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
            // A key may follow on the same line; rare enough to be refused whole.
            let rest = section.rsplit_once(']').map_or("", |(_, rest)| rest).trim();
            return !SECTIONS.contains(&name.as_str()) && (rest.is_empty() || rest.starts_with(['#', ';']));
        }
        let key: String = line.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        let value = line.split_once('=').map_or("true", |(_, value)| value.trim());
        // A value that goes on over lines could hide the next key from a reader of lines, but not add one.
        match key.as_str() {
            "fsmonitor" => care == Care::Guarded || matches!(value, "true" | "false"),
            "hookspath" => care == Care::Guarded,
            key => !KEYS.contains(&key),
        }
    })
}

fn text(file: &RealPath, files: &dyn Files) -> Option<String> {
    let bytes = files.read(file, 0, CONFIG_MAX_BYTES + 1).ok()?;
    (bytes.len() <= CONFIG_MAX_BYTES).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

fn standing(path: &str, files: &dyn Files) -> Option<RealPath> {
    resolved(path, files).filter(|at| files.peek(at).is_some())
}

fn resolved(path: &str, files: &dyn Files) -> Option<RealPath> {
    files.resolve(&PathArg(path.to_owned())).ok()
}

fn resolved_from(folder: &RealPath, target: &str, files: &dyn Files) -> Option<RealPath> {
    let whole =
        if target.starts_with('/') { target.to_owned() } else { format!("{}/{target}", folder.absolute()) };
    resolved(&whole, files)
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "the test asks a real git for repositories")]
mod tests {
    use super::{Care, is_neutral, names_no_program};
    use haft_os::OsFiles;
    use std::{os::unix::fs::PermissionsExt, path::Path, process::Command};

    #[test]
    fn plain_settings_are_neutral_and_programs_are_not() {
        let plain = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = x\n\
                     \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tmerge = refs/heads/main\n\
                     [user]\n\temail = a@b\n";
        assert!(names_no_program(plain, Care::Guarded) && names_no_program(plain, Care::Bare));
        for line in [
            "[filter \"x\"]\n\tclean = evil",
            "[diff \"x\"]\n\ttextconv = evil",
            "[DIFF]\n\texternal=evil",
            "[include]\n\tpath = other",
            "\u{feff}[include]\n\tpath = other",
            "[includeIf \"gitdir:x\"]\n\tpath = other",
            "[core] pager = evil",
            "[core]\n\tPager = evil",
            "[gpg]\n\tprogram = evil",
            "[pager]\n\tlog = evil\n[diff]\n\tcommand = x",
            "[remote \"o\"]\n\tpromisor = true",
            "[remote \"o\"]\n\tuploadpack = evil",
            "[remote \"o\"]\n\tvcs = evil",
            "[extensions]\n\tpartialClone = o",
            "[core]\n\tsshCommand = evil",
            "[core]\n\tgitProxy = evil",
            "[core]\n\taskPass = evil",
            "[credential]\n\thelper = !evil",
        ] {
            assert!(!names_no_program(line, Care::Guarded), "{line}");
        }
    }

    #[test]
    fn what_variables_switch_off_counts_where_git_does_not_get_them() {
        let cases = [
            ("[core]\n\tfsmonitor = .git/evil", false),
            ("[core]\n\tfsmonitor = tr\\\nue", false),
            ("[core]\n\thooksPath = .husky", false),
            ("[core]\n\tfsmonitor = true", true),
            ("[core]\n\tfsmonitor", true),
            ("[core]\n\tFSMonitor = false", true),
        ];
        for (text, expected) in cases {
            assert!(names_no_program(text, Care::Guarded), "{text}");
            assert_eq!(names_no_program(text, Care::Within), expected, "{text}");
            assert_eq!(names_no_program(text, Care::Bare), expected, "{text}");
        }
    }

    fn git(folder: &Path, args: &[&str]) -> Option<()> {
        Command::new("git").arg("-C").arg(folder).args(args).output().ok()?.status.success().then_some(())
    }

    #[test]
    fn hooks_count_where_git_runs_as_it_is_and_submodules_count_always() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (workspace, sub) = (root.join("ws"), root.join("ws/sub"));
        std::fs::create_dir_all(&sub).unwrap();
        if git(&workspace, &["init", "-q"]).is_none() || git(&sub, &["init", "-q"]).is_none() {
            println!("skipped: there is no git here");
            return;
        }
        let files = OsFiles::new(&workspace, &[], &root.join("state")).unwrap();
        let neutral = |care| is_neutral(workspace.to_str().unwrap(), care, &files);
        let hooks = workspace.join(".git/hooks");
        std::fs::create_dir_all(&hooks).unwrap();
        std::fs::write(hooks.join("pre-commit"), "#!/bin/sh\n").unwrap();
        assert!(neutral(Care::Guarded) && neutral(Care::Bare), "a hook that asking never runs");
        let hook = hooks.join("post-index-change");
        std::fs::write(&hook, "#!/bin/sh\n").unwrap();
        assert!(neutral(Care::Bare), "what can't be run isn't");
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(neutral(Care::Guarded) && !neutral(Care::Bare));
        std::fs::remove_file(&hook).unwrap();
        git(&sub, &["config", "core.fsmonitor", "./evil"]).unwrap();
        assert!(neutral(Care::Guarded), "a repository that isn't tracked isn't looked into");
        let link = "160000,1234567890123456789012345678901234567890,sub";
        git(&workspace, &["update-index", "--add", "--cacheinfo", link]).unwrap();
        assert!(!neutral(Care::Guarded) && !neutral(Care::Bare));
        git(&sub, &["config", "core.fsmonitor", "false"]).unwrap();
        assert!(neutral(Care::Guarded) && neutral(Care::Bare));
        git(&workspace, &["config", "core.worktree", ".."]).unwrap();
        assert!(neutral(Care::Guarded), "named, but where it is");
        std::fs::create_dir_all(root.join("ws/q")).unwrap();
        git(&workspace, &["config", "core.worktree", "../q"]).unwrap();
        assert!(!neutral(Care::Guarded));
    }
}
