//! Starts a command: pipes, environment, folder, supervisor; and says why where that fails.

use super::{
    OsProcesses,
    cgroup::Group,
    control::{Control, START, Stay},
    limits::{Bounds, Limits},
    pty::Pty,
    run::{Feed, blocking},
    storm::Storm,
    supervisor::{self, Around},
    told::Told,
};
use crate::{
    environment::Environment,
    sandbox::{self, Plan, Proxy, Sandbox, Scene},
};
use haft_core::{Command, Confined, Failure, FailureKind, Reach, Tether};
use rustix::{
    fs::{Access, AtFlags, accessat},
    io::Errno,
};
use std::{
    io,
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::{Path, PathBuf},
    process::{Command as StdCommand, Stdio},
    sync::Weak,
    time::Duration,
};
use tempfile::NamedTempFile;
use tokio::{
    net::unix::pipe::{Receiver, Sender},
    process::Command as TokioCommand,
    task::JoinHandle,
};

/// The variable that names the report file.
const REPORT: &str = "HAFT_REPORT";

/// A command that has started.
pub(super) struct Launched {
    /// The supervisor's socket.
    pub(super) control: Control,
    /// The supervisor's process id.
    pub(super) supervisor: i32,
    /// Reaps the supervisor, also when the call was dropped.
    pub(super) reaper: JoinHandle<()>,
    /// Standard output, or both streams.
    pub(super) out: Receiver,
    /// Standard error where it is apart.
    pub(super) err: Option<Receiver>,
    /// Standard input, and what goes there.
    pub(super) input: Option<Feed>,
    /// Who goes on with it, and after what silence they are told.
    pub(super) tether: Option<Tether>,
    pub(super) quiet_after: Option<Duration>,
    /// The report file.
    pub(super) report: Option<NamedTempFile>,
    /// What holds it in, and what lives as long as it does.
    pub(super) held: Option<Held>,
    /// Who counts its processes and ends them.
    pub(super) keepers: Keepers,
}

/// What comes of a command, as far as its sandbox was put up.
pub(super) enum PutUp<T> {
    Done(T),
    /// Nothing ran, since bubblewrap didn't put it up: at another time it may.
    Not(NotPutUp),
}

/// A sandbox that bubblewrap didn't put up.
pub(super) struct NotPutUp {
    pub(super) why: Failure,
    /// What has to be told all the same, by whatever comes of the command in the end.
    pub(super) noticed: Vec<String>,
}

impl NotPutUp {
    /// What held it is let go of, once nothing of it is left; `complaint` is what bubblewrap said.
    pub(super) async fn new(held: Option<Held>, complaint: &[u8]) -> Self {
        let noticed = ended(held).await.map(|confined| confined.noticed).unwrap_or_default();
        Self { why: not_put_up(complaint), noticed }
    }

    /// Why nothing ran, and what has to be told besides.
    pub(super) fn into_failure(self) -> Failure {
        with_noticed(self.why, &self.noticed)
    }
}

/// What bounds and ends a command besides its supervisor.
#[derive(Default)]
pub(super) struct Keepers {
    /// Its control group.
    pub(super) group: Option<Group>,
    /// Who counts its processes, where the kernel doesn't.
    storm: Option<Storm>,
    /// Whether the group stays when this goes, with the tree in it.
    pub(super) stay: bool,
}

impl Drop for Keepers {
    fn drop(&mut self) {
        if let Some(group) = self.group.take().filter(|_| self.stay) {
            group.leave();
        }
    }
}

impl Keepers {
    /// What has to be said of the command's end.
    pub(super) fn last_words(&self) -> Option<String> {
        self.storm.as_ref().and_then(Storm::last_words).or_else(|| self.group.as_ref()?.last_words())
    }
}

/// What stands around a confined command.
pub(super) struct Held {
    /// How many processes of haft's stand between the supervisor and the program.
    pub(super) frames: usize,
    /// What was to be started, and where.
    program: (String, String),
    confined: Confined,
    scene: Scene,
    _proxy: Option<Proxy>,
    /// What was noticed when it was tried before.
    pub(super) earlier: Vec<String>,
}

impl Held {
    /// What it was kept in by, and what was found when nothing of it was left. Blocking.
    fn end(self) -> Confined {
        let mut confined = self.confined;
        self.scene.end(&mut confined);
        confined.noticed = each_once(self.earlier, confined.noticed);
        confined
    }

    /// Whether bubblewrap is between haft and the program, and hasn't said that it made room for it.
    pub(super) fn is_outside(&self, told: &Told) -> bool {
        self.frames > 1 && !told.is_inside
    }

    /// Why the program wasn't started in there, where the system said it.
    pub(super) fn refusal(&self, told: &Told) -> Option<Failure> {
        let (program, folder) = &self.program;
        let (step, errno) = told.failed?;
        Some(match step {
            START => not_started(program, folder, &io::Error::from_raw_os_error(errno)),
            _ => no_sandbox(step, errno),
        })
    }
}

/// What it was kept in by, if it was, and what was found when nothing of it was left: without this the next command would
/// take for its work what others did meanwhile.
pub(super) async fn ended(held: Option<Held>) -> Option<Confined> {
    let held = held?;
    blocking(move || Some(held.end())).await
}

/// Why its program didn't run, once nothing of it is left, with what has to be told all the same.
pub(super) async fn unused(held: Option<Held>, why: Failure) -> Failure {
    let noticed = ended(held).await.map(|confined| confined.noticed).unwrap_or_default();
    with_noticed(why, &noticed)
}

/// What was noticed before and at last: each try notices what stays as it is.
pub(super) fn each_once(mut earlier: Vec<String>, last: Vec<String>) -> Vec<String> {
    for notice in last {
        if !earlier.contains(&notice) {
            earlier.push(notice);
        }
    }
    earlier
}

/// Why nothing came of a command, with what has to be told all the same.
pub(super) fn with_noticed(mut why: Failure, noticed: &[String]) -> Failure {
    for notice in noticed {
        why.text.push('\n');
        why.text.push_str(notice);
    }
    why
}

/// Why nothing ran where bubblewrap ended by itself and nobody said that it had made room: with its words for the
/// operator.
fn not_put_up(complaint: &[u8]) -> Failure {
    let text = "the sandbox couldn't be put up by bubblewrap, so nothing ran; try again, or tell the user to run \
                `haft doctor`";
    Failure::new(FailureKind::Unavailable, text).diagnose(String::from_utf8_lossy(complaint).trim())
}

/// What is made ready for a confined command.
struct Prepared {
    plan: Plan,
    port: Option<UnixStream>,
    confined: Confined,
    scene: Scene,
}

impl Prepared {
    /// # Errors
    /// As [`haft_core::Processes::run`]: the sandbox can't be prepared, or isn't whole where it has to be.
    fn new(
        command: &Command,
        sandbox: Option<&Sandbox>,
        limits: Limits,
        folder: &OwnedFd,
    ) -> Result<Option<Self>, Failure> {
        let (Some(allowance), Some(sandbox)) = (&command.confined, sandbox) else { return Ok(None) };
        let own = sandbox.own(allowance)?;
        let confined = limits.named_in(sandbox.confined_as(&own));
        sandbox::require(own.required, &confined)?;
        let scene = sandbox.scene(&own, allowance)?;
        let path = command.cwd.absolute();
        let (plan, port) = Plan::new(&scene.confinement, &scene.allowed, sandbox.layers(), (&path, folder))?;
        Ok(Some(Self { plan, port, confined, scene }))
    }

    /// What tells programs of the proxy, where there is one.
    fn variables(&self) -> Vec<(String, String)> {
        match (&self.port, &self.scene.confinement.network) {
            (Some(_), Reach::Hosts(hosts)) => sandbox::variables(hosts),
            _ => Vec::new(),
        }
    }
}

/// How a command is given its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Given {
    /// What it says, what its tether gives, and then the end.
    Once,
    /// By whoever talks with it, for as long as they do.
    Talk,
}

/// Starts the command. Blocks until the program is executed; must be in a tokio runtime.
///
/// # Errors
/// As [`haft_core::Processes::run`]; cancelled where nobody holds what `wanted` stands for any more.
pub(super) fn launch(
    command: Command,
    own: &OsProcesses,
    given: Given,
    wanted: &Weak<()>,
) -> Result<Launched, Failure> {
    let (environment, sandbox, limits) = (&*own.environment, own.sandbox.as_deref(), own.limits);
    let Some((program, arguments)) = command.argv.split_first() else {
        return Err(Failure::invalid("the command is empty; name a program to run"));
    };
    let folder = open_folder(&command)?;
    let file = match sandbox.filter(|_| command.trusted && command.confined.is_none()) {
        Some(sandbox) if !program.contains('/') => Some(beyond_reach(program, environment, sandbox)?),
        _ => None,
    };
    let prepared = Prepared::new(&command, sandbox, limits, &folder)?;
    let mut os = match prepared.as_ref().and_then(|prepared| prepared.plan.through()) {
        Some(through) => {
            let mut os = through.command();
            os.arg(program);
            os
        }
        None => StdCommand::new(file.as_deref().unwrap_or(Path::new(program))),
    };
    os.args(arguments)
        .env_clear()
        .envs(environment.for_child())
        .envs(command.env.iter().map(|(name, value)| (name, value)));
    let report = command.report.then(NamedTempFile::new).transpose().map_err(|fault| no_pipe(&fault))?;
    if let Some(report) = &report {
        os.env(REPORT, report.path());
    }
    os.envs(prepared.as_ref().map(Prepared::variables).unwrap_or_default());
    let (plan, rest) = match prepared {
        Some(Prepared { plan, port, confined, scene }) => (Some(plan), Some((port, confined, scene))),
        None => (None, None),
    };
    let frames = plan.as_ref().map_or(0, Plan::frames);
    let mut plumbed = plumb(&mut os, &command, given).map_err(|fault| no_pipe(&fault))?;
    let lock = match &rest {
        Some((_, _, scene)) if command.keep => scene.held_apart().map_err(|fault| no_pipe(&fault))?,
        _ => None,
    };
    // What was made ready took its time, in the sandbox most of all. From here on it costs processes.
    if wanted.strong_count() == 0 {
        return Err(Failure::cancelled());
    }
    let group = Group::new(limits);
    let is_own_user = plan.as_ref().is_some_and(Plan::is_own_user);
    let bounds = Bounds::new(limits, group.as_ref(), is_own_user);
    let is_loose = bounds.are_loose(group.as_ref());
    let passed = supervisor::Given {
        control: &plumbed.theirs,
        folder: &folder,
        terminal: command.terminal.is_some(),
        stay: plumbed.remains.take().map(|output| supervisor::Remains { output, lock }),
    };
    let around = Around { plan, bounds };
    supervisor::put_between(&mut os, passed, around).map_err(|fault| no_pipe(&fault))?;
    let mut os = TokioCommand::from(os);
    let mut child = os.spawn().map_err(|fault| match plumbed.control.failed_step() {
        Some((step, errno)) => no_sandbox(step, errno),
        None => not_started(program, &command.cwd.absolute(), &fault),
    })?;
    // With it go haft's copies of the child's ends, without which no end would ever be seen.
    drop(os);
    drop(plumbed.theirs);
    let supervisor = child.id().and_then(|pid| i32::try_from(pid).ok()).unwrap_or_default();
    plumbed.control.supervised_by(supervisor);
    let watch = |killer| Storm::watch(supervisor, limits.processes, killer);
    let storm = if is_loose { plumbed.control.killer().ok().map(watch) } else { None };
    let held = match rest {
        Some((port, confined, scene)) => {
            let proxy = match (port, &scene.confinement.network) {
                (Some(port), Reach::Hosts(hosts)) => match Proxy::serve(&port, hosts) {
                    Ok(proxy) => Some(proxy),
                    // Then bubblewrap failed, of which its end will tell.
                    Err(_) if frames > 1 => None,
                    Err(fault) => return Err(no_pipe(&fault)),
                },
                _ => None,
            };
            let program = (program.clone(), command.cwd.absolute());
            Some(Held { frames, program, confined, scene, _proxy: proxy, earlier: Vec::new() })
        }
        None => None,
    };
    let reaper = tokio::spawn(async move { drop(child.wait().await) });
    Ok(Launched {
        control: plumbed.control,
        supervisor,
        reaper,
        out: plumbed.out,
        err: plumbed.err,
        input: plumbed.input.map(|sender| Feed::new(sender, &command)),
        tether: command.tether,
        quiet_after: command.quiet_after,
        report,
        held,
        keepers: Keepers { group, storm, stay: false },
    })
}

/// The file of a program in a folder that no command in the sandbox can write.
///
/// # Errors
/// Not found where there is none.
fn beyond_reach(program: &str, environment: &Environment, sandbox: &Sandbox) -> Result<PathBuf, Failure> {
    let is_writable = |folder: &Path| {
        let real = crate::host::real_path(folder).unwrap_or_else(|| folder.to_owned());
        sandbox.confinement().writable.iter().any(|root| real.starts_with(root))
    };
    let mut folders = environment.path();
    folders.retain(|folder| !is_writable(folder));
    crate::host::find_program(program, &folders).ok_or_else(|| {
        Failure::not_found(format!(
            "there is no program `{program}` on the PATH outside the folders that commands can write; have it installed, \
             or run it through bash"
        ))
    })
}

/// Why the sandbox couldn't be put up.
fn no_sandbox(step: i32, errno: i32) -> Failure {
    let what = match step {
        1 | 2 => "its user",
        3 => "its view of the files",
        4 => "one of its paths",
        5 => "its network",
        _ => "the port of its proxy",
    };
    let error = io::Error::from_raw_os_error(errno);
    Failure::new(
        FailureKind::Unavailable,
        format!(
            "the sandbox couldn't be put up, so nothing ran ({what}: {error}); try again, or tell the user to run `haft doctor`"
        ),
    )
}

/// The folder it runs in, opened without following links beneath its root.
fn open_folder(command: &Command) -> Result<OwnedFd, Failure> {
    let folder = crate::root::open_folder(&command.cwd)?;
    // Seen here, as it couldn't be told from a program that may not be executed later.
    match accessat(&folder, ".", Access::EXEC_OK, AtFlags::empty()) {
        Err(Errno::ACCESS) => Err(Failure::new(
            FailureKind::Permission,
            format!("nothing can run in {}: this user may not enter the folder", command.cwd.absolute()),
        )),
        _ => Ok(folder),
    }
}

/// haft's ends of the pipes and of the control socket.
struct Plumbed {
    control: Control,
    theirs: OwnedFd,
    out: Receiver,
    err: Option<Receiver>,
    input: Option<Sender>,
    /// A copy of where the output comes out, for a supervisor whose tree is to stay.
    remains: Option<OwnedFd>,
}

/// Makes the pipes or the terminal and hands the command its ends.
fn plumb(os: &mut StdCommand, command: &Command, given: Given) -> io::Result<Plumbed> {
    if let Some(size) = command.terminal {
        return at_terminal(os, command.keep, Pty::open(size)?);
    }
    let (control, theirs) = Control::pair(stay(command.keep))?;
    let (out, writer) = io::pipe()?;
    let out = OwnedFd::from(out);
    let remains = command.keep.then(|| out.try_clone()).transpose()?;
    let err = if command.merged || command.keep {
        os.stderr(writer.try_clone()?);
        None
    } else {
        let (err, writer) = io::pipe()?;
        os.stderr(writer);
        Some(Receiver::from_owned_fd(err.into())?)
    };
    os.stdout(writer);
    let takes_more = given == Given::Talk || command.tether.as_ref().is_some_and(Tether::takes_input);
    let input = if takes_more || !command.stdin.is_empty() {
        let (reader, input) = io::pipe()?;
        os.stdin(reader);
        Some(Sender::from_owned_fd(input.into())?)
    } else {
        os.stdin(Stdio::null());
        None
    };
    Ok(Plumbed { control, theirs, out: Receiver::from_owned_fd(out)?, err, input, remains })
}

/// Hands the command its end of a terminal for all of its streams.
fn at_terminal(os: &mut StdCommand, keep: bool, pty: Pty) -> io::Result<Plumbed> {
    let (control, theirs) = Control::pair(stay(keep))?;
    os.stdin(pty.theirs.try_clone()?).stdout(pty.theirs.try_clone()?).stderr(pty.theirs);
    let remains = keep.then(|| pty.ours.try_clone()).transpose()?;
    // Not pipes, but read and written as those are.
    let input = Sender::from_owned_fd_unchecked(pty.ours.try_clone()?)?;
    let out = Receiver::from_owned_fd_unchecked(pty.ours)?;
    Ok(Plumbed { control, theirs, out, err: None, input: Some(input), remains })
}

fn stay(keep: bool) -> Stay {
    if keep { Stay::Yes } else { Stay::No }
}

fn no_pipe(fault: &io::Error) -> Failure {
    Failure::new(
        FailureKind::Unavailable,
        "the system gives no pipes or files for a command now; try again later",
    )
    .diagnose(fault.to_string())
}

/// Why a program couldn't be started, with the next step.
fn not_started(program: &str, folder: &str, fault: &io::Error) -> Failure {
    let failure = match Errno::from_io_error(fault) {
        Some(Errno::NOENT | Errno::NOTDIR) if program.contains('/') => Failure::not_found(format!(
            "there is no program `{program}` (relative paths start at {folder}), or the interpreter that its first \
             line names is missing; check both paths"
        )),
        Some(Errno::NOENT | Errno::NOTDIR) => Failure::not_found(format!(
            "there is no program `{program}` on the PATH; check the name, install it, or give its full path"
        )),
        Some(Errno::ACCESS | Errno::PERM) => Failure::new(
            FailureKind::Permission,
            format!(
                "this user may not execute `{program}`; make it executable, or start it by its interpreter"
            ),
        ),
        Some(Errno::TOOBIG) => Failure::invalid(
            "the command is too long: its arguments and variables exceed what the system takes; \
             hand long data over by standard input or a file",
        ),
        Some(Errno::NOEXEC) => {
            Failure::invalid(format!("`{program}` is not a program that this system can execute"))
        }
        Some(Errno::NAMETOOLONG | Errno::LOOP) => {
            Failure::invalid(format!("`{program}` is not a usable path of a program; check it"))
        }
        Some(Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE | Errno::TXTBSY) => Failure::new(
            FailureKind::Unavailable,
            format!("the system can't start `{program}` now; stop other processes or try again later"),
        ),
        None if fault.kind() == io::ErrorKind::InvalidInput => {
            Failure::invalid("an argument or variable of the command contains a NUL character; leave it out")
        }
        _ => Failure::internal(format!("`{program}` couldn't be started: {fault}")),
    };
    failure.diagnose(fault.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::RealPath;
    use std::sync::Arc;

    #[tokio::test]
    async fn a_start_that_nobody_waits_for_any_more_starts_nothing() {
        let own = OsProcesses::new(Environment::of_process());
        let command = || Command::new(vec!["true".to_owned()], RealPath::new("/", "tmp"));
        let wanted = Arc::new(());
        let started = launch(command(), &own, Given::Once, &Arc::downgrade(&wanted));
        let Ok(launched) = started else { panic!("it wasn't started") };
        launched.reaper.await.unwrap();
        drop(wanted);
        let started = launch(command(), &own, Given::Once, &Weak::new());
        let Err(failure) = started else { panic!("it was started") };
        assert_eq!(failure.kind, FailureKind::Cancelled);
    }
}
