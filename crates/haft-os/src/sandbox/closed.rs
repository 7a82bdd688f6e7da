//! Closes this very process off from everything but its open pipes: no files, no network, no other programs.
//!
//! For a child of haft's own that runs what strangers wrote, in an engine that may have faults. It is the reverse of
//! the sandbox for commands: a short list of what is allowed. What is refused is refused with an error, so that a
//! library that asks for more than it needs goes on without.

use super::seccomp::program;
use haft_core::{Confined, Layer};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetError, RulesetStatus, Scope,
};
use rustix::process::{Resource, Rlimit, setrlimit};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Op, SeccompCondition, SeccompRule,
};
use std::collections::BTreeMap;

/// The newest set of Landlock's rules that is used.
const NEWEST: ABI = ABI::V6;
/// What the program itself, its stacks and its allocator's reserves take of addresses.
const OWN_BYTES: u64 = 1 << 30;
/// Names a piece of memory; allocators do.
const NAME_MEMORY: libc::c_int = 0x5356_4d41;

/// Reading and writing what is open, memory, threads, time, ending.
const ALLOWED: &[libc::c_long] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_lseek,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_membarrier,
    libc::SYS_futex,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_gettid,
    libc::SYS_getpid,
    libc::SYS_set_robust_list,
    libc::SYS_rseq,
    libc::SYS_set_tid_address,
    // Answered by the other filter.
    libc::SYS_clone3,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    libc::SYS_exit,
    libc::SYS_exit_group,
];
/// The same by names that only this architecture has.
#[cfg(target_arch = "x86_64")]
const ALLOWED_HERE: &[libc::c_long] = &[libc::SYS_poll, libc::SYS_arch_prctl, libc::SYS_time];
#[cfg(not(target_arch = "x86_64"))]
const ALLOWED_HERE: &[libc::c_long] = &[];

/// Closes this process off, the threads that it starts from now on included, and bounds its memory. Call it while
/// there is one thread. What couldn't be done is named in the answer.
pub fn close_off(memory_bytes: u64) -> Confined {
    let most = memory_bytes.saturating_add(OWN_BYTES);
    for (resource, most) in [(Resource::As, most), (Resource::Core, 0), (Resource::Nofile, 0)] {
        let _ = setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) });
    }
    let mut confined = Confined::default();
    if matches!(no_files_and_no_network(), Ok(status) if status != RulesetStatus::NotEnforced) {
        confined.layers.push(Layer::Landlock);
    }
    match refuse_all_but_the_list() {
        Ok(()) => confined.layers.push(Layer::Seccomp),
        Err(why) => confined.gaps.push(
            format!("the kernel doesn't refuse the engine's system calls ({why}): only the engine itself keeps scripts in")
                .into(),
        ),
    }
    confined
}

fn no_files_and_no_network() -> Result<RulesetStatus, RulesetError> {
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    Ok(rules.restrict_self()?.ruleset)
}

fn refuse_all_but_the_list() -> Result<(), String> {
    for program in programs()? {
        seccompiler::apply_filter(&program).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn programs() -> Result<[BpfProgram; 2], String> {
    let mut allowed: BTreeMap<i64, Vec<SeccompRule>> =
        ALLOWED.iter().chain(ALLOWED_HERE).map(|number| (*number, Vec::new())).collect();
    let mut when = |number: libc::c_long, argument: u8, op: Op, value: u64| -> Result<(), String> {
        let condition = SeccompCondition::new(argument, Length::Dword, op, value);
        let rule = condition.and_then(|condition| SeccompRule::new(vec![condition]));
        allowed.entry(number).or_default().push(rule.map_err(|error| error.to_string())?);
        Ok(())
    };
    // Threads, and no processes.
    let thread = bits(libc::CLONE_THREAD);
    when(libc::SYS_clone, 0, Op::MaskedEq(thread), thread)?;
    // Memory, and none that runs.
    let runs = bits(libc::PROT_EXEC);
    when(libc::SYS_mmap, 2, Op::MaskedEq(runs), 0)?;
    when(libc::SYS_mprotect, 2, Op::MaskedEq(runs), 0)?;
    // Its own end, as by an abort.
    when(libc::SYS_tgkill, 0, Op::Eq, u64::from(std::process::id()))?;
    for option in [libc::PR_SET_NAME, NAME_MEMORY] {
        when(libc::SYS_prctl, 0, Op::Eq, bits(option))?;
    }
    // The flags of this one stand in memory, where a filter can't look. Libraries then use the older call.
    let newer = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let unknown = SeccompAction::Errno(libc::ENOSYS.cast_unsigned());
    let refused = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    Ok([program(newer, SeccompAction::Allow, unknown)?, program(allowed, refused, SeccompAction::Allow)?])
}

fn bits(flags: libc::c_int) -> u64 {
    u64::from(flags.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_programs_of_a_length_the_kernel_takes() {
        for program in programs().unwrap() {
            assert!(!program.is_empty() && program.len() < 4096);
        }
    }
}
