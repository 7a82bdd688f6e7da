//! Rules of the kernel's Landlock: what may be read, what written; no signals and no abstract sockets to the outside.
//!
//! Landlock only allows. To keep something from being read, all that stands beside it on the way down is named
//! instead; a path in a writable folder can't be kept from being written at all.

use super::mounts::{DEVICES, MEMORY, TERMINALS};
use haft_core::{Allowance, Confinement};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, Scope,
};
use std::{
    os::{fd::OwnedFd, unix::fs::FileTypeExt as _},
    path::{Path, PathBuf},
};

/// The newest set of rules that is used.
const NEWEST: ABI = ABI::V6;
/// So many entries of one folder are named at most beside what is hidden; what comes after can't be read.
const BESIDE_MAX: usize = 2_000;

/// Which version of Landlock the kernel has; 0 where it has none, or it is switched off.
pub(super) fn version() -> i32 {
    const VERSION: libc::c_uint = 1;
    let none = std::ptr::null::<libc::c_void>();
    #[allow(unsafe_code, reason = "the crate has no way to ask")]
    // SAFETY: a system call that only answers a number, with the arguments that its description gives for that.
    let answer = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, VERSION) };
    i32::try_from(answer).unwrap_or(0).max(0)
}

/// All that can be done with files by the rules of this kernel, as it numbers that.
pub(super) fn rights() -> u64 {
    AccessFs::from_all(ABI::from(version().min(6))).bits()
}

/// Rules for a confinement, to be put on a process by [`super::enter`]; none where the kernel has no Landlock. What they
/// are to hide is said apart, since with namespaces mounts hide it. What is `allowed` may be written too. Whether they
/// close the network, and keep raw devices from being read, is said last: with namespaces others do both.
///
/// # Errors
/// The kernel refuses the rules.
pub(super) fn rules(
    confinement: &Confinement,
    hidden: &[String],
    allowed: &Allowance,
    (closes_network, closes_devices): (bool, bool),
) -> Result<Option<OwnedFd>, RulesetError> {
    // From Linux 7.1 on no socket of somebody outside is connected to by its path, whenever it was made.
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST) | AccessFs::ResolveUnix)?;
    if closes_network {
        rules = rules.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let mut rules = rules.scope(Scope::from_all(NEWEST))?.create()?;
    let read = AccessFs::from_read(NEWEST);
    let mut hidden: Vec<PathBuf> = hidden.iter().map(PathBuf::from).collect();
    if closes_devices {
        hidden.push(PathBuf::from("/dev"));
    }
    rules = grant_beside(rules, Path::new("/"), &hidden, read)?;
    for path in &confinement.shown {
        rules = grant(rules, Path::new(path), read)?;
    }
    for path in confinement.writable.iter().chain(&allowed.writable).chain(&allowed.files).map(Path::new) {
        // A socket that somebody names is meant to be used.
        let is_socket = std::fs::metadata(path).is_ok_and(|meta| meta.file_type().is_socket());
        let further: BitFlags<AccessFs> =
            if is_socket { AccessFs::ResolveUnix.into() } else { BitFlags::EMPTY };
        rules = grant(rules, path, AccessFs::from_all(NEWEST) | further)?;
    }
    for device in DEVICES.into_iter().chain(["/dev/ptmx", TERMINALS]) {
        rules = grant(rules, Path::new(device), read | AccessFs::from_write(NEWEST))?;
    }
    if closes_devices {
        rules = grant(rules, Path::new(MEMORY), read)?;
    }
    Ok(rules.into())
}

/// Grants a folder, or where something in it is hidden, what stands beside that.
fn grant_beside(
    mut rules: RulesetCreated,
    folder: &Path,
    hidden: &[PathBuf],
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    if hidden.iter().any(|path| path == folder) {
        return Ok(rules);
    }
    if !hidden.iter().any(|path| path.starts_with(folder)) {
        return grant(rules, folder, access);
    }
    // Names can be listed; contents not.
    rules = grant(rules, folder, AccessFs::ReadDir.into())?;
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(rules) };
    for entry in entries.flatten().take(BESIDE_MAX) {
        // Where a link leads is granted, or not, by itself.
        if entry.file_type().is_ok_and(|kind| !kind.is_symlink()) {
            rules = grant_beside(rules, &entry.path(), hidden, access)?;
        }
    }
    Ok(rules)
}

/// Grants what is there; a path that isn't grants nothing.
fn grant(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let Ok(handle) = PathFd::new(path) else { return Ok(rules) };
    let is_folder = std::fs::metadata(path).is_ok_and(|meta| meta.is_dir());
    let of_files = AccessFs::from_file(NEWEST) | AccessFs::ResolveUnix;
    let access = if is_folder { access } else { access & of_files };
    if access.is_empty() { Ok(rules) } else { rules.add_rule(PathBeneath::new(handle, access)) }
}
