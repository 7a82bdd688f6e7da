//! The process that stands between haft and a program, and what happens in it.
//!
//! A tree of processes can only be ended for certain by an ancestor of all of it: whoever else signals a
//! process id may hit a stranger that was given the id meanwhile, and misses what left its group and session.
//! So each command gets a supervisor of its own. It is made in the child that [`std::process::Command`]
//! forks, before the program is executed: that child forks once more, the new child goes on to become the
//! program, the old one stays and never executes anything. As a subreaper it becomes the parent of every
//! process beneath it whose own parent ends, whatever group or session that process moved to.
//!
//! It signals its unreaped children only, whose ids therefore can't have been given away. That reaches
//! everything: killing a parent makes its children the supervisor's own, and it goes on until it has none.
//!
//! The supervisor learns that haft is gone, or has let go, from the end of its control socket. The kernel's
//! own parent-death signal wouldn't do for that: it follows the thread that forked, and haft's threads come
//! and go. Between program and supervisor, which has one thread, it does; a program that kills its
//! supervisor ends with it.
//!
//! A tree that is to stay is let go instead: the supervisor lives on with it, so that none of it is orphaned and
//! nothing that the program prints meets a closed pipe; it reads that and throws it away. Once the program itself has
//! ended, what it left behind is killed, as with every command. Only a byte on the control socket kills such a tree.
//!
//! A command with namespaces of its own has a third process: the first of its process ids has to live as long as
//! any other, reaps what loses its parent, and takes all down with it. It is the supervisor's only child, and the
//! program is its child.
//!
//! Everything here runs between `fork` and `exec` of a process that had many threads. Another thread may
//! have held any lock at that moment, so that nothing may be called but async-signal-safe functions: no
//! allocation, no panic, no `fork` of libc (it runs handlers that others registered).

#![allow(unsafe_code, reason = "between fork and exec only raw calls of the system are safe")]

use super::{control::Record, fork::fork, limits::Bounds};
use crate::sandbox::{self, Plan};
use libc::{c_int, c_long, c_uint, c_ulong, pid_t};
use rustix::io::fcntl_dupfd_cloexec;
use std::{
    io,
    mem::MaybeUninit,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::process::CommandExt,
    },
    ptr,
};

/// The lowest descriptor that isn't one of the standard streams.
const FIRST_FREE: c_int = 3;
/// How many descriptors are gone through where the kernel can't close a range of them.
const DESCRIPTORS_MAX: c_int = 1 << 16;
/// The first pause between two rounds of killing; it doubles.
const ROUND_FIRST_MS: c_int = 5;
/// The longest pause between two rounds: for processes that run with other rights or hang in the kernel.
const ROUND_MAX_MS: c_int = 500;
/// The name that process listings show.
const NAME: &std::ffi::CStr = c"haft-supervisor";
/// The same of the first process of namespaces.
const FIRST_NAME: &std::ffi::CStr = c"haft-first";

/// What a program is put into.
#[derive(Debug, Default)]
pub(super) struct Around {
    /// The sandbox, where there is one.
    pub(super) plan: Option<Plan>,
    /// Its limits.
    pub(super) bounds: Bounds,
}

/// What a supervisor and its program are given.
pub(super) struct Given<'a> {
    /// Where the supervisor reports to the other end.
    pub(super) control: &'a OwnedFd,
    /// Where the program starts.
    pub(super) folder: &'a OwnedFd,
    /// Whether the program's standard input is a terminal that is to be its own.
    pub(super) terminal: bool,
    /// What a tree that is to stay needs; none for one that goes with haft.
    pub(super) stay: Option<Remains>,
}

/// What a supervisor needs to live on with its tree once haft is gone.
pub(super) struct Remains {
    /// The end of the pipe or terminal where the program's output comes out.
    pub(super) output: OwnedFd,
    /// A file whose lock says that the tree lives.
    pub(super) lock: Option<OwnedFd>,
}

/// The same in the forked child: descriptors, negative where there is none.
#[derive(Clone, Copy)]
struct Descriptors {
    control: c_int,
    folder: c_int,
    output: c_int,
    lock: c_int,
    is_terminal: bool,
}

/// Makes `command` start beneath a supervisor, with all that is `around` it.
///
/// The command owns all the descriptors from now on; drop it once it has started, or the other end of
/// the control socket never sees the supervisor's end.
///
/// # Errors
/// When no more files can be opened.
pub(super) fn put_between(
    command: &mut std::process::Command,
    given: Given<'_>,
    mut around: Around,
) -> io::Result<()> {
    // The standard streams of the child are put in place before the hook runs and would cover these, had
    // haft been started with some of its own closed.
    let control = fcntl_dupfd_cloexec(given.control, FIRST_FREE)?;
    let folder = fcntl_dupfd_cloexec(given.folder, FIRST_FREE)?;
    let (output, lock) = given.stay.map(|stay| (stay.output, stay.lock)).unzip();
    let output = output.map(|output| fcntl_dupfd_cloexec(output, FIRST_FREE)).transpose()?;
    let lock = lock.flatten().map(|lock| fcntl_dupfd_cloexec(lock, FIRST_FREE)).transpose()?;
    if let Some(group) = around.bounds.group.take() {
        around.bounds.group = Some(fcntl_dupfd_cloexec(&group, FIRST_FREE)?);
    }
    let (raw, most) = (control.as_raw_fd(), around.bounds.processes);
    if let Some(message) = around.plan.as_mut().and_then(|plan| plan.message(raw, most)) {
        command.env(sandbox::INSIDE, message);
    }
    let is_terminal = given.terminal;
    let hook = move || {
        let number = |descriptor: Option<&OwnedFd>| descriptor.map_or(-1, AsRawFd::as_raw_fd);
        let descriptors = Descriptors {
            control: control.as_raw_fd(),
            folder: folder.as_raw_fd(),
            output: number(output.as_ref()),
            lock: number(lock.as_ref()),
            is_terminal,
        };
        split(descriptors, &mut around)
    };
    // SAFETY: the hook calls async-signal-safe functions only and touches no memory but its stack and the
    // descriptors it owns.
    unsafe { command.pre_exec(hook) };
    Ok(())
}

/// Runs in the forked child: returns in the process that becomes the program, never in the supervisor.
fn split(given: Descriptors, around: &mut Around) -> io::Result<()> {
    // SAFETY: plain system calls; the signal sets live on this stack. Both processes go on with their own copy of
    // memory.
    unsafe {
        let supervisor = libc::getpid();
        check(libc::setsid())?;
        check(libc::prctl(libc::PR_SET_CHILD_SUBREAPER, ON, OFF, OFF, OFF))?;
        // An embedder may ignore SIGCHLD, and then the system would throw away how children ended.
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        // From here on no handler of haft's runs in the supervisor, whose descriptors mean other things soon.
        let mut all = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigfillset(all.as_mut_ptr());
        check(libc::sigprocmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()))?;
        let group = around.bounds.group.as_ref().map(AsRawFd::as_raw_fd);
        match fork(sandbox::clone_flags(around.plan.as_ref()), group) {
            0 if around.plan.as_ref().is_some_and(Plan::has_namespaces) => {
                begin(given, around, before.as_ptr())
            }
            0 => become_program(supervisor, given, around, before.as_ptr()),
            child => match pid_t::try_from(child) {
                Ok(child) if child > 0 => supervise(given, child, around.plan.as_ref()),
                _ => Err(io::Error::last_os_error()),
            },
        }
    }
}

/// Arguments of calls with a variable number of them have to have the full width.
const ON: c_ulong = 1;
const OFF: c_ulong = 0;

/// The first process of namespaces: puts up what is in them and starts the program, which returns from here.
///
/// # Safety
/// In the forked child only; `mask` points to a signal set.
unsafe fn begin(given: Descriptors, around: &mut Around, mask: *const libc::sigset_t) -> io::Result<()> {
    // SAFETY: plain system calls; `mask` is valid by the caller's word.
    unsafe {
        if let Some(plan) = &mut around.plan
            && let Err((step, error)) = sandbox::build(plan)
        {
            let failed = Record::Failed { step: step.into(), errno: error.raw_os_error().unwrap_or(0) };
            send(given.control, failed);
            return Err(error);
        }
        check(libc::prctl(libc::PR_SET_PDEATHSIG, c_long::from(libc::SIGKILL), OFF, OFF, OFF))?;
        let own = libc::getpid();
        match fork(0, None) {
            0 => become_program(own, given, around, mask),
            child => match pid_t::try_from(child) {
                Ok(child) if child > 0 => keep(given.control, child),
                _ => Err(io::Error::last_os_error()),
            },
        }
    }
}

/// The rest of the first process's life: it reaps, says how the program ended, and ends with the last of its children.
///
/// # Safety
/// As [`supervise`].
pub(super) unsafe fn keep(control: c_int, program: pid_t) -> ! {
    // SAFETY: plain system calls on descriptors that nothing else uses in this process from here on.
    unsafe {
        libc::prctl(libc::PR_SET_NAME, FIRST_NAME.as_ptr(), OFF, OFF, OFF);
        libc::prctl(libc::PR_SET_DUMPABLE, OFF, OFF, OFF, OFF);
        libc::chdir(c"/".as_ptr());
        let_go_of_descriptors([control, -1, -1]);
        let _ = sandbox::give_up_rights(0);
        loop {
            let mut status: c_int = 0;
            match libc::waitpid(-1, &raw mut status, 0) {
                -1 if errno() == libc::ECHILD => libc::_exit(0),
                // Where haft is gone, nobody else ends what the program of a tree that stays has left behind.
                pid if pid == program && !send(control, Record::Ended { pid, status }) => libc::_exit(0),
                _ => {}
            }
        }
    }
}

/// Prepares the process that becomes the program; the caller executes it.
///
/// # Safety
/// In the forked child only; `mask` points to a signal set.
unsafe fn become_program(
    supervisor: pid_t,
    given: Descriptors,
    around: &Around,
    mask: *const libc::sigset_t,
) -> io::Result<()> {
    let plan = around.plan.as_ref();
    // SAFETY: plain system calls; `mask` is valid by the caller's word.
    unsafe {
        // Through bubblewrap the program makes the terminal its own in there.
        settle(supervisor, given.is_terminal && plan.and_then(Plan::through).is_none())?;
        match plan {
            Some(plan) if plan.has_namespaces() => sandbox::go_to_folder(plan)?,
            _ => check(libc::fchdir(given.folder))?,
        }
        close_at_exec();
        if let Some(through) = plan.and_then(Plan::through) {
            // The rest is done in there.
            through.hand_over()?;
        } else {
            lock(plan, around.bounds.processes)?;
        }
        check(libc::sigprocmask(libc::SIG_SETMASK, mask, ptr::null_mut()))
    }
}

/// Gives the process that becomes the program a session of its own, at its terminal where it has one, and has it end with
/// its parent.
///
/// # Safety
/// In a forked child only.
pub(super) unsafe fn settle(parent: pid_t, has_terminal: bool) -> io::Result<()> {
    // SAFETY: plain system calls.
    unsafe {
        // No terminal to wait at but its own, and its group signals never reach the supervisor.
        check(libc::setsid())?;
        if has_terminal {
            check(libc::ioctl(libc::STDIN_FILENO, libc::TIOCSCTTY, 0))?;
        }
        check(libc::prctl(libc::PR_SET_PDEATHSIG, c_long::from(libc::SIGKILL), OFF, OFF, OFF))?;
        if libc::getppid() != parent {
            // It ended before the signal was asked for.
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
    }
    Ok(())
}

/// Takes on the layers and limits that a process puts on itself.
///
/// # Safety
/// In a forked child only.
pub(super) unsafe fn lock(plan: Option<&Plan>, most: Option<u64>) -> io::Result<()> {
    // SAFETY: plain system calls.
    unsafe {
        if let Some(plan) = plan {
            sandbox::lock(plan)?;
        }
        match most {
            Some(most) => count_processes(most),
            None => Ok(()),
        }
    }
}

/// Has the kernel count the processes of this user, which in these namespaces are the program's alone.
///
/// # Safety
/// In the forked child only.
unsafe fn count_processes(most: u64) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: reads and writes a variable of this stack.
    unsafe {
        check(libc::getrlimit(libc::RLIMIT_NPROC, &raw mut limit))?;
        // Never more than it was.
        limit.rlim_max = limit.rlim_max.min(most);
        limit.rlim_cur = limit.rlim_max;
        check(libc::setrlimit(libc::RLIMIT_NPROC, &raw const limit))
    }
}

/// The supervisor's whole life.
///
/// # Safety
/// In the forked child only, with all signals blocked; it takes over every descriptor of the process.
unsafe fn supervise(given: Descriptors, first: pid_t, plan: Option<&Plan>) -> ! {
    let control = given.control;
    // SAFETY: plain system calls on descriptors that nothing else uses in this process from here on.
    unsafe {
        // First of all, before the program can do anything to its supervisor.
        send(control, Record::Started { pid: first });
        sandbox::map_ids(plan, first);
        libc::prctl(libc::PR_SET_NAME, NAME.as_ptr(), OFF, OFF, OFF);
        // It is a copy of haft's memory: no process of the same user may look into it.
        libc::prctl(libc::PR_SET_DUMPABLE, OFF, OFF, OFF, OFF);
        libc::chdir(c"/".as_ptr());
        let_go_of_descriptors([control, given.output, given.lock]);
        let ended_children = watch_children();
        let (mut kill, mut has_ended, mut is_let_go) = (false, false, false);
        let mut round_ms = ROUND_FIRST_MS;
        let mut control_watched = control;
        // haft reads it as long as it is there.
        let mut output_watched = -1;
        loop {
            has_ended |= reap(control, first);
            kill |= is_let_go && has_ended;
            if kill {
                kill_children(first);
            }
            let mut watched = [
                libc::pollfd { fd: control_watched, events: libc::POLLIN, revents: 0 },
                libc::pollfd { fd: ended_children, events: libc::POLLIN, revents: 0 },
                libc::pollfd { fd: output_watched, events: libc::POLLIN, revents: 0 },
            ];
            let timeout = if kill || ended_children < 0 { round_ms } else { -1 };
            let ready = libc::poll(watched.as_mut_ptr(), 3, timeout);
            if ready == 0 {
                round_ms = round_ms.saturating_mul(2).min(ROUND_MAX_MS);
            }
            forget_signals(ended_children);
            if watched.last().is_some_and(|output| output.revents != 0) && !throw_away(output_watched) {
                output_watched = -1;
            }
            if control_watched < 0 {
                continue;
            }
            match word_of(control) {
                Word::None => {}
                Word::Gone if given.output >= 0 => {
                    is_let_go = true;
                    control_watched = -1;
                    output_watched = given.output;
                }
                Word::Kill | Word::Gone => {
                    kill = true;
                    round_ms = ROUND_FIRST_MS;
                    // Its end stays readable for ever.
                    control_watched = -1;
                }
            }
        }
    }
}

/// Reaps what has ended, and ends with the last child. Whether the first one was among them.
unsafe fn reap(control: c_int, first: pid_t) -> bool {
    let mut has_ended = false;
    loop {
        let mut status: c_int = 0;
        // SAFETY: `status` lives on this stack; the supervisor's children are all its own.
        match unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG) } {
            0 => return has_ended,
            -1 if errno() == libc::ECHILD => {
                send(control, Record::Gone);
                // SAFETY: ends the process at once, without anything that haft registered for its own exit.
                unsafe { libc::_exit(0) }
            }
            -1 => {}
            pid if pid == first => {
                has_ended = true;
                send(control, Record::Ended { pid, status });
            }
            _ => {}
        }
    }
}

/// What haft says over the control socket.
#[derive(Clone, Copy)]
enum Word {
    None,
    /// It sent a byte.
    Kill,
    /// It shut its side down, or is gone.
    Gone,
}

fn word_of(control: c_int) -> Word {
    let mut byte = 0_u8;
    // SAFETY: one byte into a variable of this stack.
    let count = unsafe { libc::recv(control, (&raw mut byte).cast(), 1, libc::MSG_DONTWAIT) };
    match count {
        1 => Word::Kill,
        -1 if matches!(errno(), libc::EAGAIN | libc::EINTR) => Word::None,
        _ => Word::Gone,
    }
}

/// Reads some of what a program printed that nobody listens to; whether there may be more.
fn throw_away(output: c_int) -> bool {
    let mut bytes = [0_u8; 8 * 1024];
    // SAFETY: reads at most the length of the buffer.
    let count = unsafe { libc::read(output, bytes.as_mut_ptr().cast(), bytes.len()) };
    count > 0 || count < 0 && matches!(errno(), libc::EAGAIN | libc::EINTR)
}

/// Kills every direct child, and the group it leads.
fn kill_children(first: pid_t) {
    // SAFETY: a constant path.
    let list =
        unsafe { libc::open(c"/proc/thread-self/children".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if list < 0 {
        // Old kernels have no such list. The group's number isn't given to anybody while the group has
        // members, and afterwards not before all other numbers had their turn.
        // SAFETY: plain system call.
        unsafe { libc::kill(-first, libc::SIGKILL) };
        return;
    }
    let mut buffer = [0_u8; 4096];
    let mut pid: pid_t = 0;
    loop {
        // SAFETY: reads at most the length of the buffer.
        let count = unsafe { libc::read(list, buffer.as_mut_ptr().cast(), buffer.len()) };
        let count = usize::try_from(count).unwrap_or(0);
        for byte in buffer.iter().take(count) {
            if byte.is_ascii_digit() {
                pid = pid.wrapping_mul(10).wrapping_add(pid_t::from(byte.wrapping_sub(b'0')));
            } else {
                kill_child(pid);
                pid = 0;
            }
        }
        if count == 0 {
            break;
        }
    }
    kill_child(pid);
    // SAFETY: opened above.
    unsafe { libc::close(list) };
}

/// Kills one child that hasn't been reaped, so that its id, also as a group's, is still its own.
fn kill_child(pid: pid_t) {
    if pid > 1 {
        // SAFETY: plain system calls. The whole group in one call, so that a process that keeps forking
        // can't outrun it.
        unsafe {
            libc::kill(-pid, libc::SIGKILL);
            libc::kill(pid, libc::SIGKILL);
        }
    }
}

/// Sends a record; whoever is gone doesn't read it. Whether somebody may.
pub(super) fn send(control: c_int, record: Record) -> bool {
    let bytes = record.to_bytes();
    let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
    // SAFETY: sends the bytes of this stack. The few records there are always fit the socket.
    unsafe { libc::send(control, bytes.as_ptr().cast(), bytes.len(), flags) >= 0 }
}

/// A descriptor that is readable when children have ended, or a negative one.
fn watch_children() -> c_int {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: the set lives on this stack and is emptied before use.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
        libc::signalfd(-1, set.as_ptr(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
    }
}

/// Takes the news of ended children, which say no more than that it is time to reap.
fn forget_signals(ended_children: c_int) {
    let mut news = [0_u8; 512];
    // SAFETY: reads at most the length of the buffer.
    unsafe { libc::read(ended_children, news.as_mut_ptr().cast(), news.len()) };
}

/// Closes everything but these, negative ones being none: the program's pipes, the pipe by which `spawn` learns that
/// the program was executed, and all that is haft's.
fn let_go_of_descriptors(mut kept: [c_int; 3]) {
    kept.sort_unstable();
    // SAFETY: nothing in this process uses them any more.
    unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for stream in 0..FIRST_FREE {
            if null < 0 || libc::dup2(null, stream) < 0 {
                libc::close(stream);
            }
        }
        let (mut from, mut closed) = (FIRST_FREE, true);
        for descriptor in kept.into_iter().filter(|each| *each >= FIRST_FREE) {
            closed = closed && (descriptor <= from || close_range(from, descriptor.saturating_sub(1), 0));
            from = descriptor.saturating_add(1);
        }
        closed = closed && close_range(from, c_int::MAX, 0);
        if !closed {
            for descriptor in (FIRST_FREE..descriptor_limit()).filter(|each| !kept.contains(each)) {
                libc::close(descriptor);
            }
        }
    }
}

/// Keeps every descriptor but the standard streams from the program, also those that haft inherited.
pub(super) fn close_at_exec() {
    // SAFETY: closes nothing before the program is executed.
    unsafe {
        if !close_range(FIRST_FREE, c_int::MAX, libc::CLOSE_RANGE_CLOEXEC) {
            for descriptor in FIRST_FREE..descriptor_limit() {
                libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC);
            }
        }
    }
}

/// Whether the kernel could do it; old ones can't.
unsafe fn close_range(from: c_int, to: c_int, flags: c_uint) -> bool {
    // SAFETY: the caller's word that these descriptors may be closed.
    unsafe { libc::syscall(libc::SYS_close_range, c_long::from(from), c_long::from(to), flags) == 0 }
}

/// The descriptor that is above all.
fn descriptor_limit() -> c_int {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes to a variable of this stack.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } == 0;
    match c_int::try_from(limit.rlim_cur) {
        Ok(limit) if known => limit.min(DESCRIPTORS_MAX),
        _ => DESCRIPTORS_MAX,
    }
}

fn check(result: c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn errno() -> c_int {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}
