//! git, asked with everything switched off by which a repository could have a program run.

use super::beneath::beneath;
use crate::program::{Answer, ask, pass_on};
use haft_core::{Command, Cx, Failure, FailureKind};
use std::time::Duration;

/// How long git may take for what it does on this machine.
const DEADLINE: Duration = Duration::from_secs(60);
/// How long it may talk to another one.
pub(super) const REMOTE_DEADLINE: Duration = Duration::from_secs(300);

/// Holds for every call. `core.fsmonitor`, hooks, editors, pagers, signers and askers of passwords are programs;
/// external diffs and text conversions are refused where a diff is asked for; no repository's maintenance begins in
/// the background; a repository in the middle of another one's files isn't taken for one; nobody's name is guessed.
const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.editor=false",
    "sequence.editor=false",
    "core.askPass=",
    "core.alternateRefsCommand=true",
    "core.quotePath=false",
    "diff.external=",
    "blame.ignoreRevsFile=",
    "log.showSignature=false",
    "commit.gpgSign=false",
    "push.gpgSign=false",
    "gpg.program=false",
    "gpg.ssh.program=false",
    "gpg.x509.program=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "safe.bareRepository=explicit",
    "user.useConfigOnly=true",
];
/// Where no other machine is meant to be contacted.
const HERE: &[&str] = &["core.sshCommand=false", "protocol.allow=never"];
/// The ways to another repository; no other helper, `ext::` among them, is started.
const THERE: &[&str] = &[
    "protocol.allow=never",
    "protocol.https.allow=always",
    "protocol.http.allow=always",
    "protocol.ssh.allow=always",
    "protocol.git.allow=always",
    "protocol.file.allow=always",
];

/// The variables for every call.
const VARIABLES: &[(&str, &str)] = &[
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_EDITOR", "false"),
    ("LC_ALL", "C.UTF-8"),
];

/// Says how a diff is made: no program of the repository's, no look into submodules' files.
pub(crate) const DIFF: &[&str] = &[
    "--relative",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--ignore-submodules=dirty",
    "--submodule=short",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// One setting that git knows there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Known {
    /// `local`, `worktree`, `global`, `system`.
    pub(super) scope: String,
    /// In small letters but for what stands in quotes.
    pub(super) key: String,
    pub(super) value: String,
}

/// The repository that a workspace lies in.
pub(crate) struct Repository<'a> {
    pub(super) cx: &'a Cx,
    /// The folder of its files, absolute.
    pub(super) top: String,
    /// The workspace's path in it: empty, or with a slash at its end.
    pub(super) prefix: String,
    /// What its settings say, and the user's.
    pub(super) known: Vec<Known>,
    /// Settings that switch off what is named there.
    off: Vec<String>,
}

impl<'a> Repository<'a> {
    /// Finds the repository that the workspace lies in, and what in it would run programs.
    ///
    /// # Errors
    /// Not found where there is no git, or no repository; a conflict where its files lie elsewhere.
    pub(crate) async fn open(cx: &'a Cx) -> Result<Self, Failure> {
        let (known, off) = (Vec::new(), Vec::new());
        let mut git = Self { cx, top: String::new(), prefix: String::new(), known, off };
        let top = git.ask(&["rev-parse", "--show-toplevel", "--show-prefix"]).await?;
        let workspace = cx.world.files.workspace().absolute();
        if !top.is_ok() {
            return Err(Failure::not_found(format!(
                "{workspace} is in no git repository with files ({}); where one is wanted, make it with git init \
                 through bash",
                top.said()
            ))
            .diagnose(top.diagnostic()));
        }
        let said = top.text();
        let (top, prefix) = said.split_once('\n').unwrap_or((&said, ""));
        let is_above = top == "/"
            || workspace.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if !is_above {
            return Err(Failure::conflict(format!(
                "the repository's settings say that its files lie in {top}, outside the workspace, so they are left \
                 alone; use git through bash"
            )));
        }
        (git.top, git.prefix) = (top.to_owned(), prefix.to_owned());
        let listed = git.ask(&["config", "--null", "--show-scope", "--list"]).await?;
        if !listed.is_whole || !listed.is_ok() {
            return Err(Failure::conflict(
                "the repository's settings can't be read whole, so what in them runs programs can't be switched off; \
                 check them with git config --list through bash",
            ));
        }
        git.known = settings(&listed);
        git.off = switched_off(&git.known)?;
        Ok(git)
    }

    /// Whether anybody's settings name filters or drivers of merges, which files may have to pass.
    pub(super) fn has_drivers(&self) -> bool {
        self.known.iter().any(|known| driver(&known.key).is_some())
    }

    /// The last value of a setting, by whomever.
    pub(super) fn setting(&self, key: &str) -> Option<&str> {
        let found = self.known.iter().rev().find(|known| known.key == key);
        found.map(|known| known.value.as_str())
    }

    /// Paths as git takes them.
    ///
    /// # Errors
    /// As [`beneath`].
    pub(super) fn beneath(&self, paths: &[String]) -> Result<Vec<String>, Failure> {
        beneath(paths, &self.cx.world.files.workspace())
    }

    /// Asks for a short answer, whose meaning is in its exit code too.
    ///
    /// # Errors
    /// As [`crate::program::ask`].
    pub(super) async fn ask(&self, words: &[&str]) -> Result<Answer, Failure> {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        self.call(Call::new(words)).await
    }

    /// The answer to what has to succeed.
    ///
    /// # Errors
    /// Unavailable where it doesn't; timeout; cancelled.
    pub(crate) async fn list(&self, words: &[&str]) -> Result<Answer, Failure> {
        let answer = self.ask(words).await?;
        if answer.is_ok() { Ok(answer) } else { Err(refused(words, &answer)) }
    }

    /// Hands a long answer on as it comes.
    ///
    /// # Errors
    /// As [`Repository::list`].
    pub(crate) async fn stream(
        &self,
        words: Vec<String>,
        take: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<(), Failure> {
        let action = words.first().cloned().unwrap_or_default();
        let answer = pass_on(self.cx, self.command(&Call::new(words)), take).await?;
        if answer.is_ok() { Ok(()) } else { Err(refused(&[&action], &answer)) }
    }

    /// Calls git; the exit code says how it went.
    ///
    /// # Errors
    /// As [`crate::program::ask`].
    pub(super) async fn call(&self, call: Call) -> Result<Answer, Failure> {
        ask(self.cx, self.command(&call)).await
    }

    fn command(&self, call: &Call) -> Command {
        let mut argv = ["git", "--no-pager", "--literal-pathspecs"].map(str::to_owned).to_vec();
        let reach = if call.is_remote { THERE } else { HERE };
        let settings = SETTINGS.iter().chain(reach).copied().chain(self.off.iter().map(String::as_str));
        argv.extend(settings.flat_map(|setting| ["-c".to_owned(), setting.to_owned()]));
        argv.extend(call.words.iter().cloned());
        let mut env: Vec<(String, String)> =
            VARIABLES.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        if call.is_remote && self.setting("core.sshcommand").is_none() {
            // Nobody could answer its questions.
            env.push(("GIT_SSH_COMMAND".to_owned(), "ssh -oBatchMode=yes".to_owned()));
        }
        Command {
            env,
            stdin: call.stdin.clone(),
            trusted: true,
            deadline: Some(if call.is_remote { REMOTE_DEADLINE } else { DEADLINE }),
            ..Command::new(argv, self.cx.world.files.workspace())
        }
    }
}

/// One call of git.
#[derive(Debug, Clone)]
pub(super) struct Call {
    words: Vec<String>,
    stdin: Vec<u8>,
    is_remote: bool,
}

impl Call {
    pub(super) fn new(words: Vec<String>) -> Self {
        Self { words, stdin: Vec::new(), is_remote: false }
    }

    pub(super) fn with_stdin(mut self, stdin: Vec<u8>) -> Self {
        self.stdin = stdin;
        self
    }

    pub(super) fn with_remote(mut self) -> Self {
        self.is_remote = true;
        self
    }
}

/// What is said where git refuses.
pub(super) fn refused(words: &[&str], answer: &Answer) -> Failure {
    let action = match words {
        ["-C", _, action, ..] | [action, ..] => *action,
        [] => "",
    };
    Failure::new(
        FailureKind::Conflict,
        format!("git {action} failed: {}\nCheck the names with action status, branch or log", answer.said()),
    )
    .diagnose(answer.diagnostic())
}

fn settings(listed: &Answer) -> Vec<Known> {
    let mut parts = listed.parts();
    let mut known = Vec::new();
    while let (Some(scope), Some(entry)) = (parts.next(), parts.next()) {
        let (scope, entry) = (String::from_utf8_lossy(scope), String::from_utf8_lossy(entry));
        // What stands on the command line is ours.
        if scope != "command" {
            let (key, value) = entry.split_once('\n').unwrap_or((&entry, "true"));
            known.push(Known { scope: scope.into_owned(), key: key.to_owned(), value: value.to_owned() });
        }
    }
    known
}

/// `filter.lfs` of `filter.lfs.clean`, `merge.x` of `merge.x.driver`.
pub(super) fn driver(key: &str) -> Option<&str> {
    let (name, last) = key.rsplit_once('.')?;
    let is_filter = name.starts_with("filter.");
    let is_merge = name.starts_with("merge.") && last == "driver";
    (is_filter || is_merge).then_some(name)
}

/// The settings that switch off what others name.
fn switched_off(known: &[Known]) -> Result<Vec<String>, Failure> {
    let mut off: Vec<String> = Vec::new();
    let mut add = |setting: String| {
        if !off.contains(&setting) {
            off.push(setting);
        }
    };
    for Known { key, .. } in known {
        let hook = key.strip_prefix("hook.").and_then(|rest| rest.rsplit_once('.')).map(|(name, _)| name);
        let name = driver(key);
        if (name.is_some() || hook.is_some()) && key.contains(['=', '\n', '\u{fffd}']) {
            return Err(Failure::conflict(
                "a filter, driver or hook in the repository's settings has a name that can't be switched off; use git \
                 through bash",
            ));
        }
        match name {
            Some(name) if name.starts_with("filter.") => {
                for value in ["clean=", "smudge=", "process=", "required=false"] {
                    add(format!("{name}.{value}"));
                }
            }
            // An empty one would count as a merge well done.
            Some(name) => add(format!("{name}.driver=false")),
            None => {}
        }
        if let Some(hook) = hook {
            add(format!("hook.{hook}.enabled=false"));
        }
    }
    Ok(off)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(keys: &[&str]) -> Vec<Known> {
        let one = |key: &&str| Known { scope: "local".into(), key: (*key).to_owned(), value: "x".into() };
        keys.iter().map(one).collect()
    }

    #[test]
    fn settings_are_read_with_their_scope_and_without_ours() {
        let out = b"global\0user.name\nt\0local\0filter.A b.clean\nx\ny\0command\0core.pager\ncat\0local\0core.bare\0";
        let listed = Answer { out: out.to_vec(), is_whole: true, ..Answer::default() };
        let found: Vec<String> = settings(&listed)
            .into_iter()
            .map(|known| format!("{} {} {:?}", known.scope, known.key, known.value))
            .collect();
        assert_eq!(
            found,
            ["global user.name \"t\"", "local filter.A b.clean \"x\\ny\"", "local core.bare \"true\""]
        );
    }

    #[test]
    fn what_runs_programs_is_switched_off_by_name() {
        let off = switched_off(&known(&[
            "filter.lfs.clean",
            "filter.lfs.process",
            "merge.ours.driver",
            "merge.conflictstyle",
            "hook.lint.command",
            "core.bare",
        ]))
        .unwrap();
        assert_eq!(
            off,
            [
                "filter.lfs.clean=",
                "filter.lfs.smudge=",
                "filter.lfs.process=",
                "filter.lfs.required=false",
                "merge.ours.driver=false",
                "hook.lint.enabled=false",
            ]
        );
        assert!(switched_off(&known(&["filter.a=b.clean"])).is_err());
        assert!(switched_off(&known(&["remote.a=b.url"])).is_ok());
    }
}
