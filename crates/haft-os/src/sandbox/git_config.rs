//! Settings of a repository as git reads them: which of them can make git run something.
//!
//! A list of what is harmless, not of what harms: git has many settings that name programs and gets new ones. What
//! isn't read for certain counts as harmful.

/// So much of a settings file is looked at; a longer one isn't harmless.
pub(super) const CONFIG_MAX_BYTES: u64 = 256 * 1024;

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    /// Section and key, in lower case.
    pub(super) name: (String, String),
    /// Its value; `true` where none is written.
    pub(super) value: String,
}

/// What a repository's settings say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct GitConfig {
    settings: Vec<Setting>,
    /// Whether some of it wasn't understood.
    is_unclear: bool,
}

/// Sections of which every key is harmless.
const HARMLESS_SECTIONS: [&str; 3] = ["color", "advice", "column"];

/// Sections, and their harmless keys. What stands between them in quotes (a remote's name) doesn't matter.
const HARMLESS: [(&str, &str); 23] = [
    (
        "core",
        "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol \
         safecrlf quotepath abbrev compression bigfilethreshold longpaths sharedrepository untrackedcache preloadindex \
         checkstat trustctime sparsecheckout sparsecheckoutcone protectntfs protecthfs splitindex commitgraph \
         multipackindex",
    ),
    (
        "extensions",
        "objectformat compatobjectformat refstorage partialclone worktreeconfig relativeworktrees noop preciousobjects",
    ),
    (
        "remote",
        "url pushurl fetch push tagopt prune prunetags mirror promisor partialclonefilter skipfetchall \
         skipdefaultupdate gh-resolved glab-resolved",
    ),
    (
        "branch",
        "remote merge rebase pushremote description autosetupmerge autosetuprebase sort vscode-merge-base \
         gh-merge-base github-pr-owner-number",
    ),
    ("user", "name email useconfigonly"),
    ("author", "name email"),
    ("committer", "name email"),
    ("init", "defaultbranch"),
    ("pull", "rebase ff"),
    ("push", "default autosetupremote followtags recursesubmodules"),
    ("fetch", "prune prunetags parallel recursesubmodules writecommitgraph"),
    ("merge", "conflictstyle ff renames renamelimit stat log"),
    ("rebase", "autostash autosquash stat updaterefs"),
    ("commit", "verbose cleanup"),
    ("status", "showuntrackedfiles short branch relativepaths submodulesummary"),
    ("diff", "algorithm renames renamelimit context noprefix mnemonicprefix colormoved submodule"),
    ("gc", "auto autodetach autopacklimit pruneexpire worktreepruneexpire reflogexpire"),
    ("maintenance", "auto strategy autodetach"),
    ("index", "version threads sparse"),
    ("feature", "manyfiles experimental"),
    ("submodule", "url active branch ignore path recurse fetchjobs shallow"),
    ("lfs", "repositoryformatversion"),
    ("pack", "threads windowmemory usesparse usebitmaps"),
];

impl GitConfig {
    /// Reads a text.
    pub(super) fn read(text: &str) -> Self {
        let mut config = Self::default();
        let mut section = None;
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let mut line = line.trim_start().to_owned();
            if line.starts_with('[') {
                match header(&line) {
                    Some((name, rest)) => {
                        section = Some(name);
                        line = rest.trim().to_owned();
                    }
                    None => config.is_unclear = true,
                }
            }
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            // A value goes on in the next line behind a single backslash; but not where that stands in a comment.
            while ends_in_backslash(line.trim_end()) {
                config.is_unclear |= line.contains(['#', ';']) || line.ends_with(char::is_whitespace);
                line.truncate(line.trim_end().len().saturating_sub(1));
                line.push_str(lines.next().unwrap_or_default());
            }
            match (&section, setting(&line)) {
                (Some(section), Some((key, value))) => {
                    config.settings.push(Setting { name: (section.clone(), key), value });
                }
                _ => config.is_unclear = true,
            }
        }
        config
    }

    /// One that wasn't read.
    pub(super) fn unclear() -> Self {
        Self { settings: Vec::new(), is_unclear: true }
    }

    /// The values of a setting, in the order in which they stand.
    pub(super) fn values<'a>(&'a self, section: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
        let is_it = move |setting: &&Setting| setting.name.0 == section && setting.name.1 == key;
        self.settings.iter().filter(is_it).map(|setting| setting.value.as_str())
    }

    /// Whether a setting is switched on.
    pub(super) fn is_on(&self, section: &str, key: &str) -> bool {
        self.values(section, key)
            .last()
            .is_some_and(|value| ["true", "yes", "on", "1"].contains(&value.to_ascii_lowercase().as_str()))
    }

    /// The settings that aren't known to be harmless, each once.
    pub(super) fn harmful(&self) -> Vec<String> {
        let mut found: Vec<String> = self
            .settings
            .iter()
            .filter(|setting| !is_harmless(setting))
            .map(|Setting { name: (section, key), .. }| format!("{section}.{key}"))
            .collect();
        if self.is_unclear {
            found.push("settings that can't be read".to_owned());
        }
        found.sort();
        found.dedup();
        found
    }
}

fn is_harmless(setting: &Setting) -> bool {
    let Setting { name: (section, key), value } = setting;
    if HARMLESS_SECTIONS.contains(&section.as_str()) {
        return true;
    }
    let is_listed = HARMLESS
        .iter()
        .any(|(name, keys)| name == section && keys.split_whitespace().any(|listed| listed == key));
    // `helper::address` names a program; so does an address that is an option.
    let is_address = ["url", "pushurl"].contains(&key.as_str());
    is_listed && !(is_address && (value.contains("::") || value.starts_with('-')))
}

/// The name of a section, and what stands behind it in its line.
fn header(line: &str) -> Option<(String, &str)> {
    let inner = line.strip_prefix('[')?;
    let end = match inner.find(['"', ']']) {
        Some(at) if inner.get(at..)?.starts_with('"') => {
            let quoted = inner.get(at + 1..)?;
            let close = closing_quote(quoted)?;
            let after = at + 1 + close + 1;
            after
                + inner.get(after..)?.find(']').filter(|gap| {
                    inner.get(after..after + gap).is_some_and(|between| between.trim().is_empty())
                })?
        }
        at => at?,
    };
    let name = inner.get(..end)?.split(['"', ' ', '\t', '.']).next()?;
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    is_name.then(|| Some((name.to_ascii_lowercase(), inner.get(end + 1..)?)))?
}

/// Where the quotes end that were opened before this text.
fn closing_quote(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends.then_some(at)
    })
}

fn ends_in_backslash(line: &str) -> bool {
    line.chars().rev().take_while(|c| *c == '\\').count() % 2 == 1
}

/// Key and value of a line.
fn setting(line: &str) -> Option<(String, String)> {
    let (key, value) = line.split_once('=').map_or((line, None), |(key, value)| (key, Some(value)));
    let key = match value {
        // A comment may stand behind a key alone.
        None => key.split(['#', ';']).next().unwrap_or_default(),
        Some(_) => key,
    };
    let key = key.trim();
    let is_key = key.starts_with(|c: char| c.is_ascii_alphabetic())
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    is_key.then(|| (key.to_ascii_lowercase(), value.map_or_else(|| "true".to_owned(), unquoted)))
}

/// A value without its quotes, escapes and comment.
fn unquoted(value: &str) -> String {
    let (mut plain, mut kept, mut is_quoted) = (String::new(), 0, false);
    let mut letters = value.trim_start().chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '\\' => plain.push(match letters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('b') => '\u{8}',
                Some(other) => other,
                None => break,
            }),
            '#' | ';' if !is_quoted => break,
            other => plain.push(other),
        }
        // Spaces at the end count only in quotes.
        if is_quoted || !letter.is_whitespace() {
            kept = plain.len();
        }
    }
    plain.truncate(kept);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_itself_writes_is_harmless() {
        let text = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\
                    [remote \"origin\"]\n\turl = https://example.org/a.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
                    [branch \"a \\\"b\\\" ]\"]\n\tremote = origin\n\tmerge = refs/heads/main ; as ever\n\
                    [user] name = \"A; B\" # me\n[color]\n\tui\n# end\n";
        let config = GitConfig::read(text);
        assert_eq!(config.harmful(), [""; 0]);
        assert_eq!(config.values("user", "name").collect::<Vec<_>>(), ["A; B"]);
        assert_eq!(config.values("branch", "merge").collect::<Vec<_>>(), ["refs/heads/main"]);
        assert!(config.is_on("core", "filemode") && !config.is_on("core", "bare"));
    }

    #[test]
    fn what_names_a_program_is_found_however_it_is_written() {
        for (text, expected) in [
            ("[core]\nfsmonitor = ./x", "core.fsmonitor"),
            ("[CORE] FSMonitor=./x", "core.fsmonitor"),
            ("[core]\n\thooksPath = hooks", "core.hookspath"),
            ("[core]\nfilemode = true \\\n\nsshCommand = x", "core.sshcommand"),
            ("[filter \"lfs\"]\nclean = x", "filter.clean"),
            ("[filter.lfs]\nclean = x", "filter.clean"),
            ("[diff \"x\"]\ntextconv = x", "diff.textconv"),
            ("[alias]\nst = !x", "alias.st"),
            ("[include]\npath = ../x", "include.path"),
            ("[includeIf \"gitdir:/\"]\npath = x", "includeif.path"),
            ("[remote \"o\"]\nuploadpack = x", "remote.uploadpack"),
            ("[remote \"o\"]\nurl = ext::sh -c x", "remote.url"),
            ("[submodule \"s\"]\nupdate = !x", "submodule.update"),
            ("[core]\nworktree = /home", "core.worktree"),
            ("[core\nfilemode = true", "settings that can't be read"),
            ("filemode = true", "settings that can't be read"),
            ("[core]\nfilemode = true # \\\nfsmonitor = x", "settings that can't be read"),
            ("[core]\n\u{1}x = 1", "settings that can't be read"),
        ] {
            assert!(GitConfig::read(text).harmful().contains(&expected.to_owned()), "{text}");
        }
        assert_eq!(GitConfig::unclear().harmful().len(), 1);
    }

    #[test]
    fn values_are_read_as_git_reads_them() {
        for (line, expected) in [
            ("a = b c  ", "b c"),
            ("a = \"b  \" ", "b  "),
            ("a = b\\\\c\\n", "b\\c\n"),
            ("a = b # c", "b"),
            ("a=\"#\"", "#"),
            ("a", "true"),
            ("a ; b", "true"),
            ("a =", ""),
        ] {
            assert_eq!(setting(line).map(|(_, value)| value).as_deref(), Some(expected), "{line}");
        }
        assert_eq!(setting("1a = b"), None);
    }
}
