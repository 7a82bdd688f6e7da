//! Whether the settings of a repository make git run programs when it is only asked.
//!
//! What can be switched off by variables is ([`NEUTRAL`]); what can't (filters, drivers for diffs, included files)
//! is looked for in the repository's own settings. The user's own settings are trusted.

use haft_core::{FileKind, Files, PathArg, RealPath};

/// What git gets where a line only asks it: no hooks, no monitor, no pager, no writing of its index.
pub(crate) const NEUTRAL: [(&str, &str); 9] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
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
/// How many folders up a repository is looked for.
const ANCESTORS_MAX: usize = 64;
/// Sections that name programs or further files.
const SECTIONS: [&str; 3] = ["filter", "include", "includeif"];
/// Keys, in whatever section, whose values are programs that asking can start.
const KEYS: [&str; 9] = [
    "textconv",
    "command",
    "external",
    "program",
    "pager",
    "attributesfile",
    "sshcommand",
    "process",
    "clean",
];

/// Whether the repository around a folder names no program that asking could start.
pub(crate) fn is_neutral(folder: &str, files: &dyn Files) -> bool {
    let mut at = folder.to_owned();
    for _ in 0..ANCESTORS_MAX {
        if let Some(git) = standing(&format!("{}/.git", at.trim_end_matches('/')), files) {
            return repository(&git, files);
        }
        // A bare repository, or the inside of `.git`: its settings lie right here.
        let is_bare = |name: &str| standing(&format!("{at}/{name}"), files).is_some();
        if is_bare("HEAD") && is_bare("config") && is_bare("objects") {
            return resolved(&at, files).is_some_and(|at| settings(&at, files));
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

/// A repository by its `.git`: the folder, or the file of a worktree or submodule that says where it is.
fn repository(git: &RealPath, files: &dyn Files) -> bool {
    match files.stat(git).map(|stat| stat.kind) {
        Ok(FileKind::Folder) => settings(git, files),
        Ok(FileKind::File) => {
            let Some(pointer) = text(git, files) else { return false };
            let Some(target) = pointer.trim().strip_prefix("gitdir:").map(str::trim) else { return false };
            let Some(folder) = beside(git, target, files) else { return false };
            let common = text(&folder.join("commondir"), files)
                .and_then(|common| resolved_from(&folder, common.trim(), files));
            settings(&folder, files) && common.is_none_or(|common| settings(&common, files))
        }
        _ => false,
    }
}

/// The settings in a repository's folder; what isn't there says nothing, what can't be read is not neutral.
fn settings(folder: &RealPath, files: &dyn Files) -> bool {
    ["config", "config.worktree"].iter().all(|name| {
        let file = folder.join(name);
        files.stat(&file).is_err() || text(&file, files).is_some_and(|text| names_no_program(&text))
    })
}

/// Whether no line of the settings names a program.
fn names_no_program(text: &str) -> bool {
    text.lines().all(|line| {
        let line = line.trim().to_ascii_lowercase();
        if let Some(section) = line.strip_prefix('[') {
            let name: String =
                section.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
            // A key may follow on the same line; rare enough to be refused whole.
            let rest = section.rsplit_once(']').map_or("", |(_, rest)| rest).trim();
            return !SECTIONS.contains(&name.as_str()) && (rest.is_empty() || rest.starts_with(['#', ';']));
        }
        let key: String = line.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        // A value that goes on over lines could hide the next key from a reader of lines, but not add one.
        !KEYS.contains(&key.as_str())
    })
}

fn text(file: &RealPath, files: &dyn Files) -> Option<String> {
    let bytes = files.read(file, 0, CONFIG_MAX_BYTES + 1).ok()?;
    (bytes.len() <= CONFIG_MAX_BYTES).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

fn standing(path: &str, files: &dyn Files) -> Option<RealPath> {
    resolved(path, files).filter(|at| files.stat(at).is_ok())
}

fn resolved(path: &str, files: &dyn Files) -> Option<RealPath> {
    files.resolve(&PathArg(path.to_owned())).ok()
}

fn resolved_from(folder: &RealPath, target: &str, files: &dyn Files) -> Option<RealPath> {
    let whole =
        if target.starts_with('/') { target.to_owned() } else { format!("{}/{target}", folder.absolute()) };
    resolved(&whole, files)
}

/// A target written relative to the folder that holds `file`.
fn beside(file: &RealPath, target: &str, files: &dyn Files) -> Option<RealPath> {
    let whole = file.absolute();
    let folder = whole.rsplit_once('/').map_or("/", |(folder, _)| folder);
    let path = if target.starts_with('/') { target.to_owned() } else { format!("{folder}/{target}") };
    resolved(&path, files)
}

#[cfg(test)]
mod tests {
    use super::names_no_program;

    #[test]
    fn plain_settings_are_neutral_and_programs_are_not() {
        let plain = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = x\n\
                     \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tmerge = refs/heads/main\n\
                     [user]\n\temail = a@b\n";
        assert!(names_no_program(plain));
        for line in [
            "[filter \"x\"]\n\tclean = evil",
            "[diff \"x\"]\n\ttextconv = evil",
            "[DIFF]\n\texternal=evil",
            "[include]\n\tpath = other",
            "[includeIf \"gitdir:x\"]\n\tpath = other",
            "[core] pager = evil",
            "[core]\n\tPager = evil",
            "[gpg]\n\tprogram = evil",
            "[pager]\n\tlog = evil\n[diff]\n\tcommand = x",
        ] {
            assert!(!names_no_program(line), "{line}");
        }
    }
}
