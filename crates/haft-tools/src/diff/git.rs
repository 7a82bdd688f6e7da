//! git, asked for differences, with everything switched off by which a repository could have a program run.

use haft_core::{Command, Cx, Failure, FailureKind, Status, Stdio, StopReason};
use std::time::Duration;

/// How long one question may take.
const DEADLINE: Duration = Duration::from_secs(60);
/// How much of a short answer, such as a list of names, is kept.
const ANSWER_MAX_BYTES: usize = 8 << 20;
/// How much of an error is passed on.
const ERROR_MAX_BYTES: usize = 2_000;

/// Holds for every question. `core.fsmonitor` and hooks run programs; external diffs and text conversions are
/// refused where the diff is asked for; nothing is fetched that a partial clone lacks; a repository in the middle
/// of another one's files isn't taken for one.
const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "core.sshCommand=false",
    "core.quotePath=false",
    "diff.external=",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
];

/// The variables for every question.
const VARIABLES: &[(&str, &str)] = &[
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("LC_ALL", "C.UTF-8"),
];

/// Says how a diff is made: no program of the repository's, no look into submodules' files.
pub(crate) const DIFF: &[&str] = &[
    "diff",
    "--relative",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--ignore-submodules=dirty",
    "--submodule=short",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

/// The git of a workspace.
pub(crate) struct Git<'a> {
    cx: &'a Cx,
    /// Settings that switch off the filters that this repository names.
    filters: Vec<String>,
}

/// What git said.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Standard output, as far as it was kept.
    pub(crate) out: Vec<u8>,
    /// Whether all of it was.
    pub(crate) is_whole: bool,
    code: Option<i32>,
    error: Vec<u8>,
}

impl Answer {
    /// The parts of an answer that end with NUL.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &[u8]> {
        // Where it was cut, the last part may be half a name.
        let end = self.out.iter().rposition(|byte| *byte == 0).unwrap_or(0);
        let parts = self.out.get(..end).unwrap_or_default().split(|byte| *byte == 0);
        parts.filter(|part| !part.is_empty())
    }

    fn failure(&self) -> Failure {
        let said = String::from_utf8_lossy(&self.error);
        let said = said.trim().lines().next().unwrap_or("it said nothing");
        Failure::new(
            FailureKind::Unavailable,
            format!(
                "git couldn't make the diff ({said}); look at the repository with git status through bash"
            ),
        )
        .diagnose(format!(
            "git ended with {:?}: {}",
            self.code,
            String::from_utf8_lossy(&self.error)
        ))
    }
}

impl<'a> Git<'a> {
    /// Finds the repository that the workspace lies in, and what in it would run programs.
    ///
    /// # Errors
    /// Not found where there is no git, or no repository; a conflict where its files lie elsewhere.
    pub(crate) async fn open(cx: &'a Cx) -> Result<Self, Failure> {
        let mut git = Self { cx, filters: Vec::new() };
        let top = git.ask(&["rev-parse", "--show-toplevel"]).await?;
        let workspace = cx.world.files.workspace().absolute();
        if top.code != Some(0) {
            return Err(Failure::not_found(format!(
                "{workspace} is in no git repository with files; give two files as a and b"
            ))
            .diagnose(String::from_utf8_lossy(&top.error)));
        }
        let top = String::from_utf8_lossy(&top.out);
        let top = top.strip_suffix('\n').unwrap_or(&top);
        let is_above = top == "/"
            || workspace.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if !is_above {
            return Err(Failure::conflict(format!(
                "the repository's settings say that its files lie in {top}, outside the workspace, so they aren't \
                 compared; use git through bash, or give two files as a and b"
            )));
        }
        // A filter is a program that git runs to read a changed file.
        let named = git.ask(&["config", "--null", "--name-only", "--get-regexp", "^filter\\."]).await?;
        if !named.is_whole {
            return Err(Failure::conflict("the repository's settings are too long to be switched off"));
        }
        let mut filters = Vec::new();
        for key in named.parts() {
            let key = String::from_utf8_lossy(key);
            if key.contains(['=', '\n', '\u{fffd}']) {
                return Err(Failure::conflict(
                    "a filter in the repository's settings has a name that can't be switched off; use git through \
                     bash",
                ));
            }
            let driver = key.rsplit_once('.').map_or(&*key, |(driver, _)| driver);
            for off in ["clean=", "smudge=", "process=", "required=false"] {
                let setting = format!("{driver}.{off}");
                if !filters.contains(&setting) {
                    filters.push(setting);
                }
            }
        }
        git.filters = filters;
        Ok(git)
    }

    /// Asks for a short answer, whose meaning is in its exit code too.
    async fn ask(&self, arguments: &[&str]) -> Result<Answer, Failure> {
        let mut out = Vec::new();
        let mut is_whole = true;
        let mut take = |bytes: &[u8]| {
            is_whole = is_whole && out.len() + bytes.len() <= ANSWER_MAX_BYTES;
            if is_whole {
                out.extend_from_slice(bytes);
            }
        };
        let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        let mut answer = self.run(arguments, &mut take).await?;
        (answer.out, answer.is_whole) = (out, is_whole);
        Ok(answer)
    }

    /// The answer to what has to succeed.
    ///
    /// # Errors
    /// Unavailable where it doesn't; timeout; cancelled.
    pub(crate) async fn list(&self, arguments: &[&str]) -> Result<Answer, Failure> {
        let answer = self.ask(arguments).await?;
        if answer.code == Some(0) { Ok(answer) } else { Err(answer.failure()) }
    }

    /// Hands a long answer on as it comes.
    ///
    /// # Errors
    /// As [`Git::list`].
    pub(crate) async fn stream(
        &self,
        arguments: Vec<String>,
        take: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<(), Failure> {
        let answer = self.run(arguments, take).await?;
        if answer.code == Some(0) { Ok(()) } else { Err(answer.failure()) }
    }

    async fn run(
        &self,
        arguments: Vec<String>,
        take: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<Answer, Failure> {
        let mut argv = ["git", "--no-pager", "--literal-pathspecs"].map(str::to_owned).to_vec();
        let settings = SETTINGS.iter().copied().chain(self.filters.iter().map(String::as_str));
        argv.extend(settings.flat_map(|setting| ["-c".to_owned(), setting.to_owned()]));
        argv.extend(arguments);
        let world = &self.cx.world;
        let command = Command {
            env: VARIABLES.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            deadline: Some(DEADLINE),
            ..Command::new(argv, world.files.workspace())
        };
        let mut error = Vec::new();
        let mut output = |stream: Stdio, bytes: &[u8]| match stream {
            Stdio::Out => take(bytes),
            Stdio::Err => {
                let room = ERROR_MAX_BYTES - error.len();
                error.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
            }
        };
        let exit = world.processes.run(command, &self.cx.cancel, &mut output).await?;
        match exit.reason {
            StopReason::Cancelled => Err(Failure::cancelled()),
            StopReason::Deadline => Err(Failure::new(
                FailureKind::Timeout,
                format!("git took longer than {} s; name fewer files in paths", DEADLINE.as_secs()),
            )),
            StopReason::Itself => {
                let code = match exit.status {
                    Status::Code(code) => Some(code),
                    Status::Signal(_) => None,
                };
                Ok(Answer { out: Vec::new(), is_whole: true, code, error })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_name_is_none() {
        let answer =
            |out: &[u8]| Answer { out: out.to_vec(), is_whole: true, code: Some(0), error: Vec::new() };
        let names = |out: &[u8]| answer(out).parts().map(<[u8]>::to_vec).collect::<Vec<_>>();
        assert_eq!(names(b"a\0b c\0ha"), [b"a".to_vec(), b"b c".to_vec()]);
        assert!(names(b"half").is_empty() && names(b"").is_empty());
    }
}
