//! One repository of git: where its parts lie, which of them make git run programs, and what was made so that it would.
//!
//! Whoever can write a repository's settings, its hooks, or what leads git to others of both, has git run a program the
//! next time its user runs it there: a mere `git status` is enough. Leaves to the sandbox what is done about it.

use super::{
    git_config::{CONFIG_MAX_BYTES, GitConfig},
    placeholder::StandIn,
};
use std::{
    ffi::OsStr,
    fs::{self, File},
    io::Read as _,
    os::unix::{ffi::OsStrExt as _, fs::PermissionsExt as _},
    path::{Path, PathBuf},
};

/// A file that leads git elsewhere is no longer.
const POINTER_MAX_BYTES: u64 = 8 * 1024;
/// So many hooks are named.
const HOOKS_NAMED: usize = 4;
/// What all working folders of a repository write.
const SHARED: [&str; 6] = ["objects", "refs", "logs", "reftable", "packed-refs", "worktrees"];
/// Says that the folder itself is what it would lead to, and thereby nothing.
const NOWHERE_ELSE: &str = ".\n";

/// A repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    /// What git finds: `.git` as a folder, a file or a link; or the folder itself where that looks like one.
    pub(super) entry: PathBuf,
    /// Where what belongs to this working folder lies.
    git_dir: PathBuf,
    /// Where settings, hooks and objects lie.
    common: PathBuf,
    /// Whether it is there.
    is_whole: bool,
}

/// A part of a repository that makes programs run, and what stands for it where it isn't there; nothing can for some.
pub(super) type Part = (PathBuf, Option<StandIn>);

impl Repository {
    /// The repository that something is or leads to. A file or link that leads to none counts as one of which nothing is
    /// known, since its end can be made later; any other thing that git finds no repository in is none.
    pub(super) fn at(entry: &Path) -> Option<Self> {
        let to = git_dir(entry);
        if let Some(whole) = to.as_deref().and_then(|to| Self::whole(entry, to)) {
            return Some(whole);
        }
        let is_folder = fs::symlink_metadata(entry).is_ok_and(|meta| meta.is_dir());
        let to = to.and_then(|to| placed(Path::new("/"), &to)).unwrap_or_else(|| entry.to_owned());
        (!is_folder).then(|| Self {
            entry: entry.to_owned(),
            git_dir: to.clone(),
            common: to,
            is_whole: false,
        })
    }

    fn whole(entry: &Path, to: &Path) -> Option<Self> {
        let git_dir = fs::canonicalize(to).ok()?;
        let has = |name: &str| fs::symlink_metadata(git_dir.join(name)).is_ok();
        let pointer = pointer(&git_dir.join("commondir"));
        if !has("HEAD") || (pointer.is_none() && !(has("objects") && has("refs"))) {
            return None;
        }
        let common = match pointer {
            Some(to) => fs::canonicalize(git_dir.join(to)).ok()?,
            None => git_dir.clone(),
        };
        Some(Self { entry: entry.to_owned(), git_dir, common, is_whole: true })
    }

    /// Its settings.
    fn config(&self) -> GitConfig {
        read_config(&self.common.join("config")).unwrap_or_default()
    }

    /// The folder whose files it tracks.
    fn work_folder(&self) -> &Path {
        self.entry.parent().unwrap_or(&self.entry)
    }

    fn is_linked(&self) -> bool {
        self.git_dir != self.common
    }

    /// What makes git run programs, here or where it is led to.
    pub(super) fn parts(&self) -> Vec<Part> {
        if !self.is_whole {
            return vec![(self.entry.clone(), None)];
        }
        let config = self.config();
        let mut parts = vec![
            (self.common.join("config"), Some(StandIn::File(""))),
            (self.common.join("hooks"), Some(StandIn::Folder)),
        ];
        if fs::symlink_metadata(&self.entry).is_ok_and(|meta| meta.is_file()) {
            parts.push((self.entry.clone(), None));
        }
        // git takes no word on bareness and folders where it is led elsewhere, even to where it is.
        let is_plain = !config.is_on("core", "bare") && self.works_where_it_is_found(&config);
        let is_read = config.is_on("extensions", "worktreeconfig");
        parts.push((self.common.join("commondir"), is_plain.then_some(StandIn::File(NOWHERE_ELSE))));
        parts.push((self.common.join("config.worktree"), is_read.then_some(StandIn::File(""))));
        if self.is_linked() {
            parts.push((self.git_dir.join("commondir"), None));
            parts.push((self.git_dir.join("gitdir"), None));
            parts.push((self.git_dir.join("config.worktree"), is_read.then_some(StandIn::File(""))));
        }
        let hooks =
            config.values("core", "hookspath").map(|path| (self.work_folder(), path, StandIn::Folder));
        let included =
            ["include", "includeif"].into_iter().flat_map(|section| config.values(section, "path"));
        let included = included.map(|path| (self.common.as_path(), path, StandIn::File("")));
        // What begins with `~` lies in the home.
        let named = hooks.chain(included).filter(|(_, path, _)| !path.is_empty() && !path.starts_with('~'));
        parts.extend(
            named.filter_map(|(from, path, stand_in)| Some((placed(from, Path::new(path))?, Some(stand_in)))),
        );
        parts
    }

    /// The folder elsewhere that has to be writable so that commits can be made here, and what in it isn't this working
    /// folder's. Only where what lies there knows of it, so that a file that came with some archive opens nothing.
    pub(super) fn elsewhere(&self) -> Option<(PathBuf, Vec<PathBuf>)> {
        if !self.is_whole || !fs::symlink_metadata(&self.entry).is_ok_and(|meta| meta.is_file()) {
            return None;
        }
        let is = |path: PathBuf, other: &Path| {
            fs::canonicalize(path).is_ok_and(|real| fs::canonicalize(other).is_ok_and(|other| other == real))
        };
        if !self.is_linked() {
            let config = self.config();
            let folder = config.values("core", "worktree").last()?;
            return is(self.git_dir.join(folder), self.work_folder())
                .then(|| (self.git_dir.clone(), Vec::new()));
        }
        let back = pointer(&self.git_dir.join("gitdir"))?;
        let folders = self.common.join("worktrees");
        if self.git_dir.parent() != Some(&folders) || !is(self.git_dir.join(back), &self.entry) {
            return None;
        }
        let mut others = entries(&self.common);
        others
            .retain(|path| !path.file_name().is_some_and(|name| SHARED.iter().any(|shared| name == *shared)));
        others.extend(entries(&folders).into_iter().filter(|folder| *folder != self.git_dir));
        Some((self.common.clone(), others))
    }

    /// What in it makes git run programs, or leads it to where commands can write; nothing in one that was just made.
    /// `is_kept` says what no command could change.
    pub(super) fn dangers(&self, is_kept: impl Fn(&Path) -> bool) -> Vec<String> {
        let mut found = Vec::new();
        if !self.is_whole {
            return found;
        }
        if !is_kept(&self.common.join("config")) {
            let config = read_config(&self.common.join("config"));
            let mut harmful = config.map(|config| self.harmful(&config)).unwrap_or_default();
            found.append(&mut harmful);
        }
        found.extend(harmful_in(&self.git_dir.join("config.worktree")).unwrap_or_default());
        let hooks = self.common.join("hooks");
        if !is_kept(&hooks) {
            found.extend(armed(&hooks));
        }
        found
    }

    fn harmful(&self, config: &GitConfig) -> Vec<String> {
        let mut harmful = config.harmful();
        if self.works_where_it_is_found(config) {
            harmful.retain(|name| name != "core.worktree");
        }
        harmful
    }

    /// Whether the folder that its settings name, if any, is one that leads back to it, as that of a submodule.
    fn works_where_it_is_found(&self, config: &GitConfig) -> bool {
        config.values("core", "worktree").all(|folder| {
            let to =
                fs::canonicalize(self.git_dir.join(folder)).ok().and_then(|real| git_dir(&real.join(".git")));
            to.and_then(|to| fs::canonicalize(to).ok()).as_ref() == Some(&self.git_dir)
        })
    }

    /// Where it leads.
    pub(super) fn ends(&self) -> [&Path; 2] {
        [&self.git_dir, &self.common]
    }
}

/// Where what git finds leads, whether or not something is there.
pub(super) fn git_dir(entry: &Path) -> Option<PathBuf> {
    let meta = fs::metadata(entry).ok()?;
    if meta.is_dir() {
        return Some(entry.to_owned());
    }
    let text = pointer(entry)?;
    let to = OsStr::from_bytes(text.as_os_str().as_bytes().strip_prefix(b"gitdir: ")?);
    Some(entry.parent()?.join(to))
}

/// The path that a small file holds.
fn pointer(file: &Path) -> Option<PathBuf> {
    let mut bytes = read(file, POINTER_MAX_BYTES)?;
    while bytes.pop_if(|byte| matches!(byte, b'\n' | b'\r')).is_some() {}
    Some(PathBuf::from(OsStr::from_bytes(&bytes)))
}

/// The content of a regular file; none where it isn't one, or is longer.
fn read(file: &Path, max: u64) -> Option<Vec<u8>> {
    if !fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.len() <= max) {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(max).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The settings of a file; none where it isn't there.
fn read_config(file: &Path) -> Option<GitConfig> {
    fs::symlink_metadata(file).ok()?;
    let text = read(file, CONFIG_MAX_BYTES).and_then(|bytes| String::from_utf8(bytes).ok());
    Some(text.map_or_else(GitConfig::unclear, |text| GitConfig::read(&text)))
}

/// What settings hold that isn't known to be harmless; none where they aren't there.
pub(super) fn harmful_in(file: &Path) -> Option<Vec<String>> {
    read_config(file).map(|config| config.harmful())
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Hooks that git would run.
fn armed(hooks: &Path) -> Vec<String> {
    let Ok(meta) = fs::symlink_metadata(hooks) else { return Vec::new() };
    if !meta.is_dir() {
        return vec!["hooks that lie elsewhere".to_owned()];
    }
    let runs = |path: &Path| {
        let is_sample = path.extension().is_some_and(|end| end == "sample");
        let meta = fs::metadata(path);
        !is_sample && meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    };
    let armed = entries(hooks).into_iter().filter(|path| runs(path));
    armed
        .take(HOOKS_NAMED)
        .filter_map(|path| Some(format!("hooks/{}", path.file_name()?.to_string_lossy())))
        .collect()
}

/// A path from a folder, without steps up where these can be told; none where they lead out at the top.
fn placed(from: &Path, path: &Path) -> Option<PathBuf> {
    use std::path::Component;
    let mut whole = PathBuf::new();
    for part in from.join(path).components() {
        match part {
            Component::ParentDir => {
                if !whole.pop() {
                    return None;
                }
            }
            Component::CurDir => {}
            other => whole.push(other),
        }
    }
    Some(fs::canonicalize(&whole).unwrap_or(whole))
}
