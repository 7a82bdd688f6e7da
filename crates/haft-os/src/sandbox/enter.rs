//! What happens between `fork` and `exec` to put a process into its sandbox.
//!
//! As in [`crate::process`]: only raw calls of the system, no allocation, no lock. Everything that needs one is
//! prepared in a [`Plan`] before.

#![allow(unsafe_code, reason = "between fork and exec only raw calls of the system are safe")]

use super::{
    mounts::{Access, Step},
    plan::{Namespaces, Plan},
};
use libc::{c_char, c_int, c_long, c_uint, c_ulong, c_void};
use std::{
    ffi::CStr,
    io,
    os::fd::{AsRawFd as _, OwnedFd},
    ptr,
};

/// The port of the proxy in the network of its own that a confined process has.
pub(crate) const PROXY_PORT: u16 = 3128;

const NO_PATH: &CStr = c"";
const OFF: c_ulong = 0;
const ON: c_ulong = 1;
const OPEN_TREE_CLONE: c_uint = 1;
const MOVE_MOUNT_F_EMPTY_PATH: c_uint = 4;
/// What a mount may be told: that nothing on it is written, that its devices are none.
const RDONLY: u64 = 1;
const NODEV: u64 = 4;
/// What a process has of its own, as paths of the new view.
const TERMINALS: &CStr = c"/dev/pts";
const MEMORY: &CStr = c"/dev/shm";
/// Beyond this no capability is known.
const CAPABILITY_MAX: c_ulong = 63;
/// Installs a filter of system calls.
const FILTER: c_uint = 1;

/// What a new process starts with: namespaces of its own.
pub(crate) fn clone_flags(plan: Option<&Plan>) -> c_int {
    let Some(namespaces) = plan.and_then(|plan| plan.namespaces.as_ref()) else { return 0 };
    let network = if namespaces.own_network { libc::CLONE_NEWNET } else { 0 };
    libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::CLONE_NEWIPC | network
}

/// Builds what the namespaces hold. Runs in the first process of them, which then forks the program.
///
/// # Errors
/// The step that failed, as an error of the system.
///
/// # Safety
/// In a forked child only.
pub(crate) unsafe fn build(plan: &mut Plan) -> Result<(), (u8, io::Error)> {
    let Some(namespaces) = &mut plan.namespaces else { return Ok(()) };
    let at = |place: u8| move |error: io::Error| (place, error);
    // SAFETY: plain system calls with texts that the plan holds.
    unsafe {
        become_user(namespaces).map_err(at(2))?;
        let all = libc::MS_REC | libc::MS_PRIVATE;
        check(libc::mount(ptr::null(), c"/".as_ptr(), ptr::null(), all, ptr::null())).map_err(at(3))?;
        let mut taken = 0_usize;
        for step in &namespaces.steps {
            let done = match step {
                Step::Take(path) => {
                    let tree = take(path);
                    if let (Ok(tree), Some(slot)) = (&tree, namespaces.taken.get_mut(taken)) {
                        *slot = *tree;
                    }
                    taken += 1;
                    tree.map(drop)
                }
                Step::Put { number, path, access } => {
                    let tree = namespaces.taken.get(*number).copied().unwrap_or(-1);
                    put(tree, path, *access)
                }
                Step::AllReadOnly => set_attributes(libc::AT_FDCWD, c"/", RDONLY | NODEV, libc::AT_RECURSIVE),
                Step::Fasten(path) => take(path).and_then(|tree| place(tree, path)),
                Step::Keep(path) => take(path).and_then(|tree| {
                    set_attributes(tree, NO_PATH, RDONLY, libc::AT_RECURSIVE)?;
                    place(tree, path)
                }),
                Step::Empty { path, is_open: true } => empty(path, 0, c"size=64k,mode=0755"),
                Step::Empty { path, is_open: false } => {
                    is_hidden(empty(path, libc::MS_RDONLY, c"size=4k,mode=0555"))
                }
                Step::Blank(path) => is_hidden(take(c"/dev/null").and_then(|tree| place(tree, path))),
                Step::MakeFolder(path) => is_there(libc::mkdir(path.as_ptr(), 0o755)),
                Step::MakeFile(path) => is_there(libc::mknod(path.as_ptr(), libc::S_IFREG | 0o644, 0)),
                Step::MakeLink { path, to } => is_there(libc::symlink(to.as_ptr(), path.as_ptr())),
                Step::Terminals(path) => terminals(path),
                Step::Memory(path) => empty(path, 0, c"mode=1777"),
                Step::Close(path) => set_attributes(libc::AT_FDCWD, path, RDONLY, 0),
                Step::Processes => {
                    if namespaces.own_processes {
                        processes()
                    } else {
                        Ok(())
                    }
                }
            };
            done.map_err(at(4))?;
        }
        if let Some(rules) = &plan.landlock {
            allow_made(rules, plan.landlock_rights).map_err(at(4))?;
        }
        if namespaces.own_network {
            loopback().map_err(at(5))?;
        }
        if let Some(handover) = namespaces.handover {
            listen(handover).map_err(at(6))?;
        }
    }
    Ok(())
}

/// Waits until the ids of the new namespace are those of outside, or makes them so.
unsafe fn become_user(namespaces: &Namespaces) -> io::Result<()> {
    // SAFETY: plain system calls with texts that the plan holds.
    unsafe {
        if let Some(gate) = &namespaces.gate {
            // Who opens the gate may be gone; the end that this process has of it would keep it waiting.
            check(libc::prctl(libc::PR_SET_PDEATHSIG, c_long::from(libc::SIGKILL), OFF, OFF, OFF))?;
            let mut errno = [0_u8; 4];
            let count = libc::read(gate.inner.as_raw_fd(), errno.as_mut_ptr().cast(), errno.len());
            let errno = c_int::from_ne_bytes(errno);
            return match count {
                4 if errno == 0 => Ok(()),
                4 => Err(io::Error::from_raw_os_error(errno)),
                _ => Err(io::Error::last_os_error()),
            };
        }
        // The files below belong to root as long as nobody may look into this process.
        libc::prctl(libc::PR_SET_DUMPABLE, ON, OFF, OFF, OFF);
        let mapped = write(c"/proc/self/setgroups", b"deny")
            .and_then(|()| write(c"/proc/self/uid_map", &namespaces.uid_map))
            .and_then(|()| write(c"/proc/self/gid_map", &namespaces.gid_map));
        libc::prctl(libc::PR_SET_DUMPABLE, OFF, OFF, OFF, OFF);
        mapped
    }
}

/// Gives the first process of new namespaces its ids from outside, where it may not take them itself: those of more
/// than one user. Called by its parent.
///
/// # Safety
/// In a forked child only.
pub(crate) unsafe fn map_ids(plan: Option<&Plan>, child: libc::pid_t) {
    let Some(namespaces) = plan.and_then(|plan| plan.namespaces.as_ref()) else { return };
    let Some(gate) = &namespaces.gate else { return };
    let mapped = [
        (&b"setgroups"[..], &b"deny"[..]),
        (b"uid_map", &namespaces.uid_map),
        (b"gid_map", &namespaces.gid_map),
    ]
    .into_iter()
    .try_for_each(|(name, text)| {
        let path = process_file(child, name);
        // SAFETY: the path ends in a zero, which the array has at its end in any case.
        unsafe { write(CStr::from_ptr(path.as_ptr().cast()), text) }
    });
    let errno = mapped.map_or_else(|error| error.raw_os_error().unwrap_or(libc::EIO), |()| 0).to_ne_bytes();
    // SAFETY: four bytes of this stack.
    unsafe { libc::write(gate.outer.as_raw_fd(), errno.as_ptr().cast(), errno.len()) };
}

/// `/proc/PID/NAME`, with zeros behind it. Must not allocate.
fn process_file(pid: libc::pid_t, name: &[u8]) -> [u8; 40] {
    let mut digits = [0_u8; 10];
    let mut rest = pid.unsigned_abs();
    let mut first = digits.len();
    while let Some(slot) = first.checked_sub(1).and_then(|at| digits.get_mut(at)) {
        *slot = b'0' + u8::try_from(rest % 10).unwrap_or(0);
        first -= 1;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    let digits = digits.iter().skip(first);
    let mut path = [0_u8; 40];
    let bytes = b"/proc/".iter().chain(digits).chain(b"/").chain(name);
    // The last stays zero.
    for (to, from) in path.iter_mut().take(39).zip(bytes) {
        *to = *from;
    }
    path
}

/// Goes to the folder where the program starts, by its path in the new view: a handle would lead out of it.
///
/// # Safety
/// In a forked child only.
pub(crate) unsafe fn go_to_folder(plan: &Plan) -> io::Result<()> {
    // SAFETY: plain system calls; the variable lives on this stack.
    unsafe {
        check(libc::chdir(plan.folder.as_ptr()))?;
        let mut found = std::mem::MaybeUninit::<libc::stat>::zeroed();
        check(libc::stat(c".".as_ptr(), found.as_mut_ptr()))?;
        let found = found.assume_init();
        if (found.st_dev, found.st_ino) == plan.folder_identity {
            Ok(())
        } else {
            // Somebody put another folder there meanwhile.
            Err(io::Error::from_raw_os_error(libc::ESTALE))
        }
    }
}

/// Gives up all rights and takes on the rules, in the process that becomes the program.
///
/// # Safety
/// In a forked child only.
pub(crate) unsafe fn lock(plan: &Plan) -> io::Result<()> {
    // SAFETY: plain system calls; the programs are the plan's.
    unsafe {
        give_up_rights(plan.rights)?;
        check(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, ON, OFF, OFF, OFF))?;
        if let Some(rules) = &plan.landlock {
            check_long(libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0))?;
        }
        for program in plan.seccomp {
            let program =
                libc::sock_fprog { len: c_ushort(program.len()), filter: program.as_ptr().cast_mut().cast() };
            check_long(libc::syscall(libc::SYS_seccomp, FILTER, 0, &raw const program))?;
        }
    }
    Ok(())
}

/// Gives up every capability but `rights`, also those that root would get back by executing something.
///
/// # Safety
/// In a forked child only.
pub(crate) unsafe fn give_up_rights(rights: u32) -> io::Result<()> {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: c_int,
    }
    const VERSION_3: u32 = 0x2008_0522;
    // SAFETY: plain system calls; the structures live on this stack and have the kernel's form.
    unsafe {
        for capability in 0..=CAPABILITY_MAX {
            let is_left = capability < 32 && rights >> capability & 1 == 1;
            if !is_left {
                // Fails beyond the last one, and for who has no rights to give up.
                libc::prctl(libc::PR_CAPBSET_DROP, capability, OFF, OFF, OFF);
            }
        }
        libc::prctl(libc::PR_CAP_AMBIENT, c_long::from(libc::PR_CAP_AMBIENT_CLEAR_ALL), OFF, OFF, OFF);
        let header = Header { version: VERSION_3, pid: 0 };
        // Effective, permitted, inheritable; all above 31 in the second.
        let left = [[rights, rights, 0], [0; 3]];
        check_long(libc::syscall(libc::SYS_capset, &raw const header, left.as_ptr()))
    }
}

fn c_ushort(length: usize) -> libc::c_ushort {
    libc::c_ushort::try_from(length).unwrap_or(0)
}

unsafe fn write(path: &CStr, text: &[u8]) -> io::Result<()> {
    // SAFETY: a path that ends in a zero, and a text of a known length.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        check(file)?;
        let written = libc::write(file, text.as_ptr().cast(), text.len());
        let error = io::Error::last_os_error();
        libc::close(file);
        if usize::try_from(written) == Ok(text.len()) { Ok(()) } else { Err(error) }
    }
}

/// A copy of what is mounted at a path and beneath it.
unsafe fn take(path: &CStr) -> io::Result<c_int> {
    let recursive = libc::AT_RECURSIVE.cast_unsigned();
    let flags = OPEN_TREE_CLONE
        | libc::O_CLOEXEC.cast_unsigned()
        | recursive
        | libc::AT_SYMLINK_NOFOLLOW.cast_unsigned();
    // SAFETY: a path that ends in a zero.
    let tree = unsafe { libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags) };
    check_long(tree)?;
    c_int::try_from(tree).map_err(|_| io::Error::from_raw_os_error(libc::EBADF))
}

/// Puts a copy to a path, and closes it.
unsafe fn place(tree: c_int, path: &CStr) -> io::Result<()> {
    // SAFETY: paths that end in a zero; the descriptor is this process's own.
    unsafe {
        let flags = MOVE_MOUNT_F_EMPTY_PATH;
        let moved =
            libc::syscall(libc::SYS_move_mount, tree, NO_PATH.as_ptr(), libc::AT_FDCWD, path.as_ptr(), flags);
        let done = check_long(moved);
        libc::close(tree);
        done
    }
}

/// Puts a copy to a path, to be used as said.
unsafe fn put(tree: c_int, path: &CStr, access: Access) -> io::Result<()> {
    let attributes = match access {
        Access::Write => NODEV,
        Access::Read => RDONLY | NODEV,
        Access::Device => 0,
    };
    // SAFETY: as the two calls.
    unsafe {
        if attributes != 0 {
            set_attributes(tree, NO_PATH, attributes, libc::AT_RECURSIVE)?;
        }
        place(tree, path)
    }
}

unsafe fn set_attributes(tree: c_int, path: &CStr, attributes: u64, flags: c_int) -> io::Result<()> {
    let attributes = libc::mount_attr { attr_set: attributes, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let flags = flags | if path.is_empty() { libc::AT_EMPTY_PATH } else { 0 };
    // SAFETY: a path that ends in a zero, and a structure of the stated length.
    check_long(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree,
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    })
}

/// An empty folder.
unsafe fn empty(path: &CStr, flags: c_ulong, options: &CStr) -> io::Result<()> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | flags;
    let kind = c"tmpfs".as_ptr();
    // SAFETY: texts that end in a zero.
    check(unsafe { libc::mount(kind, path.as_ptr(), kind, flags, options.as_ptr().cast::<c_void>()) })
}

/// Whether a thing is out of sight: it was covered, it is gone, or this process can't get at it, which has all the
/// rights of the program and more.
fn is_hidden(covered: io::Result<()>) -> io::Result<()> {
    match covered {
        Err(error) if matches!(error.raw_os_error(), Some(libc::EACCES | libc::ENOENT | libc::ENOTDIR)) => {
            Ok(())
        }
        other => other,
    }
}

/// Whether a thing that was to be made is there.
fn is_there(made: c_int) -> io::Result<()> {
    match check(made) {
        Err(error) if error.raw_os_error() == Some(libc::EEXIST) => Ok(()),
        other => other,
    }
}

/// Terminals that nobody outside has.
unsafe fn terminals(path: &CStr) -> io::Result<()> {
    let flags = libc::MS_NOSUID | libc::MS_NOEXEC;
    let kind = c"devpts".as_ptr();
    let options = c"newinstance,ptmxmode=0666,mode=620";
    // SAFETY: texts that end in a zero.
    check(unsafe { libc::mount(kind, path.as_ptr(), kind, flags, options.as_ptr().cast::<c_void>()) })
}

/// Adds to the rules of Landlock what was made in a new view of the files, and so is known to no rule.
///
/// # Errors
/// The kernel refuses it.
///
/// # Safety
/// In a process of that view only, which has terminals and shared memory of its own.
pub(super) unsafe fn allow_made(rules: &OwnedFd, rights: u64) -> io::Result<()> {
    for path in [TERMINALS, MEMORY] {
        // SAFETY: plain system calls with a path that ends in a zero.
        unsafe { allow(rules.as_raw_fd(), rights, path)? };
    }
    Ok(())
}

/// Adds to the rules of Landlock that everything may be done beneath a path; nothing where that isn't there.
unsafe fn allow(rules: c_int, rights: u64, path: &CStr) -> io::Result<()> {
    #[repr(C, packed)]
    struct Beneath {
        rights: u64,
        path: c_int,
    }
    const PATH_BENEATH: c_int = 1;
    // SAFETY: a path that ends in a zero; the structure lives on this stack and has the kernel's form.
    unsafe {
        let path = libc::open(path.as_ptr(), libc::O_PATH | libc::O_CLOEXEC);
        if path < 0 {
            return Ok(());
        }
        let beneath = Beneath { rights, path };
        let added = libc::syscall(libc::SYS_landlock_add_rule, rules, PATH_BENEATH, &raw const beneath, 0);
        let done = check_long(added);
        libc::close(path);
        done
    }
}

/// Read-only: as root a process writes settings of the whole system there, also without any special right.
unsafe fn processes() -> io::Result<()> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC | libc::MS_RDONLY;
    let kind: *const c_char = c"proc".as_ptr();
    // SAFETY: texts that end in a zero.
    check(unsafe { libc::mount(kind, c"/proc".as_ptr(), kind, flags, ptr::null()) })
}

/// A new network has a loopback interface that is down.
unsafe fn loopback() -> io::Result<()> {
    // SAFETY: the structure lives on this stack.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        check(socket)?;
        let mut request = std::mem::MaybeUninit::<libc::ifreq>::zeroed().assume_init();
        for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
            *to = from.cast_signed();
        }
        let flags = libc::c_short::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or(1);
        request.ifr_ifru.ifru_flags = flags;
        let done = check(libc::ioctl(socket, libc::SIOCSIFFLAGS, &raw const request));
        libc::close(socket);
        done
    }
}

/// Opens the proxy's port in here and hands it to haft, which accepts connections on it out there.
///
/// # Safety
/// The descriptor is the caller's own, and closed by this.
pub(crate) unsafe fn listen(handover: c_int) -> io::Result<()> {
    // SAFETY: the structures live on this stack and are filled as the calls want them.
    unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        check(socket)?;
        let mut address = std::mem::MaybeUninit::<libc::sockaddr_in>::zeroed().assume_init();
        address.sin_family = libc::sa_family_t::try_from(libc::AF_INET).unwrap_or(2);
        address.sin_port = PROXY_PORT.to_be();
        address.sin_addr.s_addr = u32::from_ne_bytes([127, 0, 0, 1]);
        let length = libc::socklen_t::try_from(size_of::<libc::sockaddr_in>()).unwrap_or(16);
        check(libc::bind(socket, (&raw const address).cast(), length))?;
        check(libc::listen(socket, 128))?;
        let sent = send_descriptor(handover, socket);
        libc::close(socket);
        libc::close(handover);
        sent
    }
}

unsafe fn send_descriptor(to: c_int, descriptor: c_int) -> io::Result<()> {
    #[repr(C, align(8))]
    struct Control {
        header: libc::cmsghdr,
        descriptor: c_int,
        padding: c_int,
    }
    let byte = 1_u8;
    let mut part = libc::iovec { iov_base: (&raw const byte).cast_mut().cast(), iov_len: 1 };
    // SAFETY: the structures live on this stack; the message has one byte and one descriptor.
    unsafe {
        let mut control = std::mem::MaybeUninit::<Control>::zeroed().assume_init();
        control.header.cmsg_len = usize::try_from(libc::CMSG_LEN(4)).unwrap_or(0);
        control.header.cmsg_level = libc::SOL_SOCKET;
        control.header.cmsg_type = libc::SCM_RIGHTS;
        control.descriptor = descriptor;
        let mut message = std::mem::MaybeUninit::<libc::msghdr>::zeroed().assume_init();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = (&raw mut control).cast();
        message.msg_controllen = size_of::<Control>();
        if libc::sendmsg(to, &raw const message, libc::MSG_NOSIGNAL) == 1 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }
}

fn check(result: c_int) -> io::Result<()> {
    check_long(c_long::from(result))
}

fn check_long(result: c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
