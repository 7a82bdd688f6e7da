//! Child processes, as the runtime and the tools see them.

use crate::{Allowance, BoxFuture, BoxStream, Cancel, Confined, Failure, FailureKind, RealPath, Tether};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Which stream a piece of output came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdio {
    /// Standard output, or both where they are merged.
    Out,
    /// Standard error.
    Err,
}

/// How large a command's terminal is; it stays so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    /// Characters in a line.
    pub columns: u16,
    /// Lines.
    pub rows: u16,
}

impl Default for TerminalSize {
    fn default() -> Self {
        Self { columns: 120, rows: 40 }
    }
}

/// What to run.
#[derive(Debug, Clone)]
pub struct Command {
    /// Program and arguments; the program is looked up on the child's `PATH`.
    pub argv: Vec<String>,
    /// Where it runs.
    pub cwd: RealPath,
    /// Variables on top of the allow-listed ones.
    pub env: Vec<(String, String)>,
    /// All of its standard input; empty means closed.
    pub stdin: Vec<u8>,
    /// Both streams through one pipe, as they came.
    pub merged: bool,
    /// Its tree is stopped after this time.
    pub deadline: Option<Duration>,
    /// Whether to hand it a file by `HAFT_REPORT` whose first 64 KiB come back in [`Exit::report`].
    pub report: bool,
    /// Looks the program up only where no command in the sandbox can have put it: for what a tool runs by itself
    /// outside it.
    pub trusted: bool,
    /// Runs it in the sandbox of [`Processes::sandbox`], with what was approved for it; none runs it outside.
    pub confined: Option<Allowance>,
    /// Gives it a terminal of its own in the place of all three streams; what it prints comes as [`Stdio::Out`].
    pub terminal: Option<TerminalSize>,
    /// Further input, and what becomes known of it while it runs.
    pub tether: Option<Tether>,
    /// Its tether is told once it has printed nothing and used no processor for so long.
    pub quiet_after: Option<Duration>,
    /// Lets it live when the future of its run is dropped, and when haft ends, however it ends. Both streams then go
    /// through one pipe, and what it prints once nobody listens is thrown away.
    pub keep: bool,
}

impl Command {
    /// A command with closed input, separate streams and no deadline.
    pub fn new(argv: Vec<String>, cwd: RealPath) -> Self {
        Self {
            argv,
            cwd,
            env: Vec::new(),
            stdin: Vec::new(),
            merged: false,
            deadline: None,
            report: false,
            trusted: false,
            confined: None,
            terminal: None,
            tether: None,
            quiet_after: None,
            keep: false,
        }
    }
}

/// How the first process of the tree ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Status {
    /// It exited.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
}

/// Why the tree ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// The first process ended by itself.
    Itself,
    /// The deadline passed.
    Deadline,
    /// The call was cancelled.
    Cancelled,
}

/// A process that was still there when the first one had ended, and was stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Survivor {
    /// Its process id.
    pub pid: i32,
    /// Its name as the system gives it.
    pub name: String,
}

/// The end of a tree of processes: nothing of it is left.
#[derive(Debug, Clone)]
pub struct Exit {
    /// How the first process ended.
    pub status: Status,
    /// Why.
    pub reason: StopReason,
    /// What had to be stopped after it; at most 16 are named.
    pub survivors: Vec<Survivor>,
    /// How many there were.
    pub survivor_count: usize,
    /// What it wrote to the report file.
    pub report: Vec<u8>,
    /// What it was kept in by; none where it ran outside the sandbox.
    pub confined: Option<Confined>,
}

/// The language of the shell that command lines are given to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Shell {
    /// `bash`.
    #[default]
    Bash,
    /// `sh`, where there is no bash.
    Posix,
}

/// A process that is talked with while it runs.
pub struct Talk {
    /// What it prints as it comes, in pieces of at most 64 KiB; it ends with the process's own streams.
    pub output: BoxStream<'static, (Stdio, Vec<u8>)>,
    /// Its standard input; dropping it closes it.
    pub input: Box<dyn TalkInput>,
    /// The process itself; dropping it kills the whole tree at once.
    pub process: Box<dyn TalkProcess>,
}

/// The input of a process that is talked with.
pub trait TalkInput: Send {
    /// Gives it all of these bytes; waits while it takes none.
    ///
    /// # Errors
    /// Unavailable where it takes no more.
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), Failure>>;
}

/// A process that is talked with.
pub trait TalkProcess: Send {
    /// Kills what is left of its tree, waits until that is gone, and says how the process ended: by itself, if it had.
    fn end(self: Box<Self>) -> BoxFuture<'static, Result<Exit, Failure>>;
}

/// Starts processes and owns all they start.
pub trait Processes: Send + Sync {
    /// The file that a bare program name leads to on the children's `PATH`, all links followed; none where there is
    /// no such program.
    fn locate(&self, program: &str) -> Option<String>;

    /// The shell that there is for command lines.
    fn shell(&self) -> Shell {
        if self.locate("bash").is_some() { Shell::Bash } else { Shell::Posix }
    }

    /// What confined commands are kept in by; none where there is no sandbox. It may take a moment when it is asked
    /// for the first time, since each layer is tried.
    fn sandbox(&self) -> Option<Confined> {
        None
    }

    /// Runs a command to its end. Output goes to `output` as it comes, in pieces of at most 64 KiB.
    ///
    /// Returns when the first process has ended, whatever its children hold: those are stopped. A deadline or
    /// cancel sends TERM to the whole tree and KILL after 2 s. Dropping the future kills the tree at once, unless the
    /// command is to be kept.
    ///
    /// # Errors
    /// Not found where there is no such program; unavailable where the system can't start more.
    fn run<'a>(
        &'a self,
        command: Command,
        cancel: &'a Cancel,
        output: &'a mut (dyn FnMut(Stdio, &[u8]) + Send),
    ) -> BoxFuture<'a, Result<Exit, Failure>>;

    /// Starts a command that is talked with. Its `stdin` is what it is given first; its deadline counts until it
    /// has started.
    ///
    /// # Errors
    /// As [`Processes::run`]; unavailable where processes can't be talked with.
    fn talk(&self, command: Command) -> BoxFuture<'_, Result<Talk, Failure>> {
        let program = command.argv.first().cloned().unwrap_or_default();
        Box::pin(std::future::ready(Err(Failure::new(
            FailureKind::Unavailable,
            format!("`{program}` would have to be talked with while it runs, which this host can't do"),
        ))))
    }
}
