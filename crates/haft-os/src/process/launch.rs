//! Starts a command: pipes, environment, folder, supervisor; and says why where that fails.

use super::{control::Control, input::Input, supervisor};
use crate::{
    environment::Environment,
    sandbox::{self, Placeholders, Plan, Proxy, Sandbox},
};
use haft_core::{Command, Confined, Failure, FailureKind, ProcessInput, Reach};
use rustix::{
    fs::{Access, AtFlags, accessat},
    io::Errno,
};
use std::{
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    process::{Command as StdCommand, Stdio},
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
    pub(super) input: Option<Input>,
    /// The report file.
    pub(super) report: Option<NamedTempFile>,
    /// What holds it in, and what lives as long as it does.
    pub(super) held: Option<Held>,
}

/// What stands around a confined command.
pub(super) struct Held {
    /// What it is kept in by.
    pub(super) confined: Confined,
    /// Whether the first process of the tree isn't the program but of namespaces.
    pub(super) has_first: bool,
    _placeholders: Placeholders,
    _proxy: Option<Proxy>,
}

/// Starts the command; `more` is written to it while it runs. Blocks until the program is executed; must be in a tokio
/// runtime.
///
/// # Errors
/// As [`haft_core::Processes::run`].
pub(super) fn launch(
    command: Command,
    more: Option<ProcessInput>,
    environment: &Environment,
    sandbox: Option<&Sandbox>,
) -> Result<Launched, Failure> {
    let Some((program, arguments)) = command.argv.split_first() else {
        return Err(Failure::invalid("the command is empty; name a program to run"));
    };
    let folder = open_folder(&command)?;
    let file = match sandbox.filter(|_| command.trusted && command.confined.is_none()) {
        Some(sandbox) if !program.contains('/') => Some(beyond_reach(program, environment, sandbox)?),
        _ => None,
    };
    let mut os = StdCommand::new(file.as_deref().unwrap_or(Path::new(program)));
    os.args(arguments)
        .env_clear()
        .envs(environment.for_child())
        .envs(command.env.iter().map(|(name, value)| (name, value)));
    let report = command.report.then(NamedTempFile::new).transpose().map_err(|fault| no_pipe(&fault))?;
    if let Some(report) = &report {
        os.env(REPORT, report.path());
    }
    let prepared = match (&command.confined, sandbox) {
        (Some(allowance), Some(sandbox)) => {
            sandbox.require()?;
            let placeholders = sandbox.placeholders()?;
            let path = command.cwd.absolute();
            let (plan, port) = Plan::new(
                &placeholders.kept_too(sandbox.confinement()),
                allowance,
                sandbox.layers(),
                (&path, &folder),
            )?;
            if port.is_some() {
                os.envs(sandbox::variables());
            }
            Some((plan, port, placeholders, sandbox))
        }
        _ => None,
    };
    let (plan, rest) = match prepared {
        Some((plan, port, placeholders, sandbox)) => (Some(plan), Some((port, placeholders, sandbox))),
        None => (None, None),
    };
    let has_first = plan.as_ref().is_some_and(Plan::has_namespaces);
    let is_fed = !command.stdin.is_empty() || more.is_some();
    let mut plumbed = plumb(&mut os, command.merged, is_fed).map_err(|fault| no_pipe(&fault))?;
    supervisor::put_between(&mut os, &plumbed.theirs, &folder, plan).map_err(|fault| no_pipe(&fault))?;
    let mut os = TokioCommand::from(os);
    let mut child = os.spawn().map_err(|fault| match plumbed.control.failed_step() {
        Some((step, errno)) => no_sandbox(step, errno),
        None => not_started(program, &command, &fault),
    })?;
    // With it go haft's copies of the child's ends, without which no end would ever be seen.
    drop(os);
    drop(plumbed.theirs);
    let supervisor = child.id().and_then(|pid| i32::try_from(pid).ok()).unwrap_or_default();
    plumbed.control.supervised_by(supervisor);
    let held = match rest {
        Some((port, placeholders, sandbox)) => {
            let proxy = match (port, &sandbox.confinement().network) {
                (Some(port), Reach::Hosts(hosts)) => {
                    Some(Proxy::serve(&port, hosts).map_err(|fault| no_pipe(&fault))?)
                }
                _ => None,
            };
            let confined = sandbox.confined();
            Some(Held { confined, has_first, _placeholders: placeholders, _proxy: proxy })
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
        input: plumbed.input.map(|pipe| Input::new(pipe, command.stdin, more)),
        report,
        held,
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
}

/// Makes the pipes and hands the command its ends.
fn plumb(os: &mut StdCommand, merged: bool, fed: bool) -> io::Result<Plumbed> {
    let (control, theirs) = Control::pair()?;
    let (out, writer) = io::pipe()?;
    let err = if merged {
        os.stderr(writer.try_clone()?);
        None
    } else {
        let (err, writer) = io::pipe()?;
        os.stderr(writer);
        Some(Receiver::from_owned_fd(err.into())?)
    };
    os.stdout(writer);
    let input = if fed {
        let (reader, input) = io::pipe()?;
        os.stdin(reader);
        Some(Sender::from_owned_fd(input.into())?)
    } else {
        os.stdin(Stdio::null());
        None
    };
    Ok(Plumbed { control, theirs, out: Receiver::from_owned_fd(out.into())?, err, input })
}

fn no_pipe(fault: &io::Error) -> Failure {
    Failure::new(
        FailureKind::Unavailable,
        "the system gives no pipes or files for a command now; try again later",
    )
    .diagnose(fault.to_string())
}

/// Why a program couldn't be started, with the next step.
fn not_started(program: &str, command: &Command, fault: &io::Error) -> Failure {
    let failure = match Errno::from_io_error(fault) {
        Some(Errno::NOENT | Errno::NOTDIR) if program.contains('/') => Failure::not_found(format!(
            "there is no program `{program}` (relative paths start at {}), or the interpreter that its first \
             line names is missing; check both paths",
            command.cwd.absolute(),
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
