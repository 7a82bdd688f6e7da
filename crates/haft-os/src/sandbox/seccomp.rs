//! The system calls that a confined process is refused.
//!
//! A list of what is refused, not of what is allowed: programs of every kind run in the sandbox. What is on it either
//! looks into other processes, changes what the sandbox is made of, or is a large and seldom used door of the kernel.

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Op, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};
use std::{collections::BTreeMap, sync::OnceLock};

/// What is refused whatever its arguments.
const REFUSED: &[libc::c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_perf_event_open,
    // What the sandbox is made of.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_setns,
    // Files without their names.
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // Doors of the kernel that programs in here don't need.
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
];

/// New namespaces: in them a process has rights again.
const NEW_NAMESPACES: [libc::c_int; 8] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
    0x80, // CLONE_NEWTIME
];
/// Kinds of sockets that are left: local ones, the two of the internet, and asking the kernel about interfaces.
const SOCKETS: [libc::c_int; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
/// Puts characters into a terminal as if they had been typed.
const TERMINAL_INPUT: [u64; 2] = [0x5412, 0x541C];

/// Programs for the kernel, to be installed one after the other; made once a process. Without a network namespace,
/// `is_closed` keeps processes from the internet by refusing its sockets.
///
/// # Errors
/// An architecture for which none can be made.
pub(super) fn programs(is_closed: bool) -> Result<&'static [BpfProgram], String> {
    static OPEN: OnceLock<Result<Vec<BpfProgram>, String>> = OnceLock::new();
    static CLOSED: OnceLock<Result<Vec<BpfProgram>, String>> = OnceLock::new();
    let made = if is_closed { &CLOSED } else { &OPEN };
    made.get_or_init(|| make(is_closed)).as_deref().map_err(Clone::clone)
}

fn make(is_closed: bool) -> Result<Vec<BpfProgram>, String> {
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> =
        REFUSED.iter().map(|number| (*number, Vec::new())).collect();
    let mut when = |number: libc::c_long, conditions: Vec<(u8, Op, u64)>| -> Result<(), String> {
        let conditions: Result<Vec<_>, _> = conditions
            .into_iter()
            .map(|(argument, op, value)| SeccompCondition::new(argument, Length::Dword, op, value))
            .collect();
        let rule = conditions.and_then(SeccompRule::new).map_err(|error| error.to_string())?;
        refused.entry(number).or_default().push(rule);
        Ok(())
    };
    for flag in NEW_NAMESPACES {
        let flag = u64::from(flag.cast_unsigned());
        when(libc::SYS_unshare, vec![(0, Op::MaskedEq(flag), flag)])?;
        when(libc::SYS_clone, vec![(0, Op::MaskedEq(flag), flag)])?;
    }
    let others = |list: &[libc::c_int]| {
        list.iter().map(|kind| (0, Op::Ne, u64::from(kind.cast_unsigned()))).collect::<Vec<_>>()
    };
    when(libc::SYS_socket, others(&SOCKETS))?;
    if is_closed {
        for kind in [libc::AF_INET, libc::AF_INET6] {
            when(libc::SYS_socket, vec![(0, Op::Eq, u64::from(kind.cast_unsigned()))])?;
        }
    }
    for command in TERMINAL_INPUT {
        when(libc::SYS_ioctl, vec![(1, Op::Eq, command)])?;
    }
    // The flags of this one stand in memory, where a filter can't look. Programs then use the older call.
    let unknown = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    [(refused, libc::EPERM), (unknown, libc::ENOSYS)]
        .map(|(rules, error)| {
            program(rules, SeccompAction::Allow, SeccompAction::Errno(error.cast_unsigned()))
        })
        .into_iter()
        .collect()
}

/// A program that does with listed calls what is said last, and with the others what is said before.
pub(super) fn program(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    others: SeccompAction,
    listed: SeccompAction,
) -> Result<BpfProgram, String> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
    let filter = SeccompFilter::new(rules, others, listed, arch);
    filter.and_then(BpfProgram::try_from).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_programs_of_a_length_the_kernel_takes() {
        for is_closed in [false, true] {
            let programs = programs(is_closed).unwrap();
            assert_eq!(programs.len(), 2);
            assert!(programs.iter().all(|program| !program.is_empty() && program.len() < 4096));
        }
    }
}
