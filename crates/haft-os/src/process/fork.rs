//! `fork` by the system's own calls, into a control group where there is one.
//!
//! Not by libc's: that runs handlers which others registered. Born into its group, a process needn't be moved there,
//! for which the kernel would take its time.

#![allow(unsafe_code, reason = "between fork and exec only raw calls of the system are safe")]

use libc::{c_int, c_long};

/// The new process starts in the control group that a descriptor stands for.
const INTO_GROUP: u64 = 0x2_0000_0000;
const NIL: c_long = 0;

/// What `clone3` takes, in the kernel's first form that knows control groups.
#[repr(C)]
#[derive(Default)]
struct Arguments {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

/// Forks; 0 in the child, its id in the parent, less than 0 where it failed. `flags` may name namespaces. Where the
/// group isn't to be had, the child is in its parent's.
///
/// # Safety
/// As `fork`: the child may call nothing that waits for a lock, unless its parent has one thread.
pub(super) unsafe fn fork(flags: c_int, group: Option<c_int>) -> c_long {
    if let Some(cgroup) = group.and_then(|group| u64::try_from(group).ok()) {
        let flags = u64::from(flags.cast_unsigned()) | INTO_GROUP;
        let exit_signal = u64::from(libc::SIGCHLD.cast_unsigned());
        let arguments = Arguments { flags, exit_signal, cgroup, ..Arguments::default() };
        // SAFETY: the structure lives on this stack and has the stated length; no stack, so that both go on on copies
        // of this one.
        let child = unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<Arguments>()) };
        if child >= 0 {
            return child;
        }
    }
    // SAFETY: nothing but flags: as above.
    unsafe { libc::syscall(libc::SYS_clone, c_long::from(libc::SIGCHLD | flags), NIL, NIL, NIL, NIL) }
}

/// Whether a process can be born into a group.
pub(super) fn can_be_born_in(group: c_int) -> bool {
    let Ok(cgroup) = u64::try_from(group) else { return false };
    // Without a signal at its end, of which an embedding program would hear.
    let arguments = Arguments { flags: INTO_GROUP, cgroup, ..Arguments::default() };
    // SAFETY: as in `fork`; the child does nothing but end.
    let child = unsafe {
        match libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<Arguments>()) {
            0 => libc::_exit(0),
            child => child,
        }
    };
    let Some(child) = libc::pid_t::try_from(child).ok().filter(|child| *child > 0) else { return false };
    loop {
        let mut status: c_int = 0;
        // SAFETY: `status` lives on this stack, and the child is this function's own.
        let reaped = unsafe { libc::waitpid(child, &raw mut status, libc::__WCLONE) };
        if reaped != -1 || std::io::Error::last_os_error().kind() != std::io::ErrorKind::Interrupted {
            return reaped == child;
        }
    }
}
