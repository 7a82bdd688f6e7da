//! This program as the first process in namespaces that bubblewrap put up.
//!
//! What [`super::supervisor`] does between `fork` and `exec` where haft puts up the namespaces itself is done here in a
//! program of its own: it hands out the proxy's port, starts the command with the other layers on it, says how that
//! ended, and lives until the last process in there is gone.

#![allow(
    unsafe_code,
    reason = "descriptors come by their numbers, and between fork and exec only raw calls are safe"
)]

use super::{
    control::{Record, START},
    supervisor::{close_at_exec, keep, lock, send, settle},
};
use crate::sandbox::{self, INSIDE, Message, Plan};
use libc::{c_int, pid_t};
use std::{
    env, io,
    os::{
        fd::{FromRawFd as _, IntoRawFd as _, OwnedFd},
        unix::process::CommandExt as _,
    },
    process::{Command, exit},
};

/// The status of a program that couldn't be started at all.
const NOTHING_STARTED: i32 = 126;

/// Starts the command that the arguments are, as the message says, and ends this process with it.
pub(crate) fn serve(message: &str) -> ! {
    let mut arguments = env::args_os().skip(1);
    let (Some(message), Some(program)) = (Message::parse(message), arguments.next()) else {
        exit(NOTHING_STARTED);
    };
    let Some(control) = taken(Some(message.control)) else { exit(NOTHING_STARTED) };
    let control = control.into_raw_fd();
    if let Err((step, error)) = handed_port(&message) {
        refuse(control, step, &error);
    }
    let plan = match Plan::inside(&message, taken(message.landlock)) {
        Ok(plan) => plan,
        Err(why) => refuse(control, START, &io::Error::other(why)),
    };
    send(control, Record::Inside);
    let mut command = Command::new(program);
    command.args(arguments).env_remove(INSIDE);
    let first = pid_t::try_from(std::process::id()).unwrap_or_default();
    let most = message.processes;
    // SAFETY: the hook calls async-signal-safe functions only, and touches what it owns.
    unsafe { command.pre_exec(move || prepare(&plan, first, most)) };
    match command.spawn() {
        Ok(child) => {
            let child = pid_t::try_from(child.id()).unwrap_or_default();
            // SAFETY: this process has one thread and uses no descriptor besides from here on.
            unsafe { keep(control, child) }
        }
        Err(error) => refuse(control, START, &error),
    }
}

fn refuse(control: c_int, step: i32, error: &io::Error) -> ! {
    send(control, Record::Failed { step, errno: error.raw_os_error().unwrap_or(libc::EIO) });
    exit(NOTHING_STARTED)
}

/// Opens the proxy's port and hands it to haft, where there is a proxy.
fn handed_port(message: &Message) -> Result<(), (i32, io::Error)> {
    const PORT: i32 = 6;
    let Some(handover) = taken(message.port) else { return Ok(()) };
    // SAFETY: the descriptor is given away.
    unsafe { sandbox::listen(handover.into_raw_fd()) }.map_err(|error| (PORT, error))
}

/// A descriptor that was handed over; none where the number stands for nothing. The command doesn't get it.
fn taken(number: Option<c_int>) -> Option<OwnedFd> {
    let number = number?;
    // SAFETY: only asks and sets a flag; whoever started this process left the descriptor for it alone.
    unsafe {
        if libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) < 0 {
            return None;
        }
        Some(OwnedFd::from_raw_fd(number))
    }
}

/// Prepares the process that becomes the program.
fn prepare(plan: &Plan, first: pid_t, most: Option<u64>) -> io::Result<()> {
    // SAFETY: plain system calls in the forked child.
    unsafe {
        settle(first, libc::isatty(libc::STDIN_FILENO) == 1)?;
        // Ignored so far, so that bubblewrap isn't ended by it.
        libc::signal(libc::SIGTERM, libc::SIG_DFL);
        sandbox::go_to_folder(plan)?;
        close_at_exec();
        lock(Some(plan), most)
    }
}
