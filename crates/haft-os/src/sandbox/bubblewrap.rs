//! Namespaces that the program `bubblewrap` puts up, where this one's own are refused and its are let through.
//!
//! It makes the same view of the files as [`super::mounts`] says, and starts this very program again in there as the
//! first process. That one hands out the proxy's port, takes on the other layers, starts the command and tells haft how
//! it ended: [`crate::process`] has that side. So a program whose `main` doesn't call [`crate::serve_child`] has no
//! bubblewrap, rather than being started a second time as itself.

#![allow(unsafe_code, reason = "between fork and exec only raw calls of the system are safe")]

use super::{
    enter, landlock,
    mounts::{self, Access, DEVICES, Step},
    plan::{Layers, Plan},
    seccomp,
};
use haft_core::{Allowance, Confinement, Failure, FailureKind, Reach};
use rustix::{fs::fstat, io::fcntl_dupfd_cloexec};
use std::{
    ffi::{CStr, CString, OsStr, OsString},
    fs::{self, File},
    io,
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::{
            ffi::OsStrExt as _,
            fs::{MetadataExt as _, PermissionsExt as _},
            net::UnixStream,
        },
    },
    path::{Path, PathBuf},
    process::Command,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

/// Where it is looked for: whoever could put a program there could put one in the place of any other.
const PLACES: [&str; 3] = ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap"];
/// The lowest descriptor that isn't one of the standard streams.
const FIRST_FREE: RawFd = 3;
/// Others than the owner may write.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// It runs with its owner's rights.
const SET_USER: u32 = 0o4000;
/// Others than the owner may look for names in it.
const SEARCHABLE_BY_OTHERS: u32 = 0o011;
/// What it fills by itself: with the devices that anybody may use, links to them, and terminals of its own.
const DEVICE_FOLDER: &CStr = c"/dev";

/// The variable that tells this program what to do in there.
pub(crate) const INSIDE: &str = "HAFT_INSIDE";

/// Whether this program does a child's work when it is started again.
static SERVES: AtomicBool = AtomicBool::new(false);

/// Remembers that it does.
pub(crate) fn serves() {
    SERVES.store(true, Ordering::Release);
}

/// The program, where there is one that nobody but root can have put there.
pub(crate) fn program() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        let mut all = PLACES.iter().filter_map(|place| fs::canonicalize(place).ok());
        all.find(|path| crate::host::is_executable(path) && is_roots(path))
    };
    FOUND.get_or_init(find).as_deref()
}

/// Whether a file and all folders around it are root's, and nobody else may write there.
fn is_roots(path: &Path) -> bool {
    path.ancestors().all(|part| {
        fs::metadata(part)
            .is_ok_and(|meta| meta.uid() == 0 && meta.permissions().mode() & WRITABLE_BY_OTHERS == 0)
    })
}

/// What bubblewrap is started with.
#[derive(Debug)]
pub(crate) struct Through {
    program: &'static Path,
    arguments: Vec<OsString>,
    /// This program.
    own: OwnedFd,
    /// The kernel's rules for files, to be taken on in there.
    landlock: Option<OwnedFd>,
    /// Where the proxy's port goes.
    port: Option<OwnedFd>,
    has_seccomp: bool,
    /// What stays open for the program that is started next, by its number.
    handed: Vec<RawFd>,
}

impl Through {
    /// For these steps, in a network of its own unless that is open, in a folder.
    ///
    /// # Errors
    /// There is no bubblewrap here that can be used.
    fn new(steps: &[Step], is_open: bool, folder: &str) -> io::Result<Self> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, "there is no bubblewrap that can be used");
        let program = program().filter(|_| SERVES.load(Ordering::Acquire)).ok_or_else(missing)?;
        // By what runs, not by its path: that may mean another file by now.
        let own = apart(File::open("/proc/self/exe")?.into())?;
        let mut arguments = arguments(steps, is_open);
        let start = format!("/proc/self/fd/{}", own.as_raw_fd());
        arguments.extend(["--chdir", folder, "--", start.as_str()].map(OsString::from));
        Ok(Self {
            program,
            arguments,
            own,
            landlock: None,
            port: None,
            has_seccomp: false,
            handed: Vec::new(),
        })
    }

    /// The command to which a program and its arguments are still to be added.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(self.program);
        command.args(&self.arguments);
        command
    }

    /// Whether the command is a user of its own in there, whose processes nobody else's count among.
    fn is_own_user(&self) -> bool {
        fs::metadata(self.program).is_ok_and(|meta| meta.permissions().mode() & SET_USER == 0)
    }

    /// What this program is told in there, and remembers which descriptors it gets: `control` leads to haft.
    fn message(&mut self, control: RawFd, processes: Option<u64>, folder: (u64, u64)) -> String {
        let raw = |descriptor: &Option<OwnedFd>| descriptor.as_ref().map(AsRawFd::as_raw_fd);
        let message = Message {
            control,
            landlock: raw(&self.landlock),
            port: raw(&self.port),
            has_seccomp: self.has_seccomp,
            processes,
            folder,
        };
        self.handed = vec![control, self.own.as_raw_fd()];
        self.handed.extend(message.landlock.into_iter().chain(message.port));
        message.to_text()
    }

    /// Keeps those open for bubblewrap and beyond. It is no command's to stop bubblewrap by a polite signal: that is
    /// for the command.
    ///
    /// # Safety
    /// In a forked child only.
    pub(crate) unsafe fn hand_over(&self) -> io::Result<()> {
        // SAFETY: plain system calls on descriptors that this holds.
        unsafe {
            libc::signal(libc::SIGTERM, libc::SIG_IGN);
            for descriptor in &self.handed {
                if libc::fcntl(*descriptor, libc::F_SETFD, 0) < 0 {
                    return Err(io::Error::last_os_error());
                }
            }
        }
        Ok(())
    }
}

impl Plan {
    /// As [`Plan::new`], where bubblewrap puts up the namespaces.
    ///
    /// # Errors
    /// Unavailable where it can't be used, or a layer can't be prepared.
    pub(super) fn by_bubblewrap(
        confinement: &Confinement,
        allowance: &Allowance,
        layers: Layers,
        (path, folder): (&str, &OwnedFd),
    ) -> Result<(Self, Option<UnixStream>), Failure> {
        let failed = |why: String| {
            let text = "the sandbox can't be prepared by bubblewrap; nothing ran. Tell the user to run `haft doctor`";
            Failure::new(FailureKind::Unavailable, text).diagnose(why)
        };
        let mut steps = mounts::steps(confinement, allowance);
        steps.retain(|step| match step {
            Step::Processes => layers.own_processes,
            Step::Empty { path, is_open: false } | Step::Blank(path) => !is_out_of_reach(path),
            _ => true,
        });
        let mut through = Through::new(&steps, confinement.network == Reach::Open, path)
            .map_err(|error| failed(error.to_string()))?;
        let is_in_reach = |folder: &String| through.program.starts_with(folder);
        if confinement.writable.iter().chain(&allowance.writable).chain(&allowance.files).any(is_in_reach) {
            return Err(failed(format!("commands may write where {} lies", through.program.display())));
        }
        let mut ours = None;
        if matches!(confinement.network, Reach::Hosts(_)) {
            let (here, there) = UnixStream::pair().map_err(|error| failed(error.to_string()))?;
            through.port = Some(apart(there.into()).map_err(|error| failed(error.to_string()))?);
            ours = Some(here);
        }
        if layers.landlock {
            // What is hidden is hidden by mounts.
            let rules = landlock::rules(confinement, &[], allowance, (false, false))
                .map_err(|error| failed(error.to_string()))?;
            through.landlock = rules.map(apart).transpose().map_err(|error| failed(error.to_string()))?;
        }
        through.has_seccomp = layers.seccomp;
        let stat = fstat(folder).map_err(|error| failed(error.to_string()))?;
        let plan = Self {
            namespaces: None,
            through: Some(through),
            landlock: None,
            landlock_rights: 0,
            rights: 0,
            seccomp: &[],
            folder: CString::new(path).map_err(|error| failed(error.to_string()))?,
            folder_identity: (stat.st_dev, stat.st_ino),
        };
        Ok((plan, ours))
    }

    /// What is left to be done in there, where this is called.
    ///
    /// # Errors
    /// No rules for system calls can be made, or none for what bubblewrap made.
    pub(crate) fn inside(message: &Message, landlock: Option<OwnedFd>) -> Result<Self, String> {
        let landlock_rights = landlock::rights();
        if let Some(rules) = &landlock {
            // SAFETY: in there terminals and shared memory are its own.
            unsafe { enter::allow_made(rules, landlock_rights) }.map_err(|error| error.to_string())?;
        }
        let seccomp = if message.has_seccomp { seccomp::programs(false)? } else { &[] };
        Ok(Self {
            namespaces: None,
            through: None,
            landlock,
            landlock_rights,
            rights: 0,
            seccomp,
            folder: c".".to_owned(),
            folder_identity: message.folder,
        })
    }

    /// What bubblewrap is started with.
    pub(crate) fn through(&self) -> Option<&Through> {
        self.through.as_ref()
    }

    /// What this program is told in there; see [`Through::message`].
    pub(crate) fn message(&mut self, control: RawFd, processes: Option<u64>) -> Option<String> {
        let folder = self.folder_identity;
        self.through.as_mut().map(|through| through.message(control, processes, folder))
    }

    /// How many processes of haft's stand between its supervisor and the program.
    pub(crate) fn frames(&self) -> usize {
        match (&self.through, &self.namespaces) {
            (Some(_), _) => 2,
            (None, Some(_)) => 1,
            (None, None) => 0,
        }
    }

    /// Whether the program is a user of its own, whose processes nobody else's count among.
    pub(crate) fn is_own_user(&self) -> bool {
        self.namespaces.is_some() || self.through.as_ref().is_some_and(Through::is_own_user)
    }
}

/// The same beyond the standard streams, which are others in a child.
fn apart(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    Ok(fcntl_dupfd_cloexec(&descriptor, FIRST_FREE)?)
}

/// Whether a path lies where neither bubblewrap nor the program gets at it: as root, in a folder of somebody else, since
/// in there only one user exists. Nothing can be put over it, and nothing has to be.
fn is_out_of_reach(path: &CStr) -> bool {
    let user = rustix::process::geteuid().as_raw();
    let is_shut = |folder: &Path| {
        fs::metadata(folder).is_ok_and(|meta| meta.uid() != user && meta.mode() & SEARCHABLE_BY_OTHERS == 0)
    };
    Path::new(os(path)).ancestors().skip(1).any(is_shut)
}

/// What bubblewrap is to do for these steps.
fn arguments(steps: &[Step], is_open: bool) -> Vec<OsString> {
    let mut all: Vec<OsString> = Vec::new();
    let mut say = |words: &[&OsStr]| all.extend(words.iter().map(|word| (*word).to_owned()));
    let word = OsStr::new;
    say(&[
        word("--unshare-all"),
        word("--die-with-parent"),
        word("--as-pid-1"),
        word("--cap-drop"),
        word("ALL"),
    ]);
    if is_open {
        say(&[word("--share-net")]);
    }
    let opens_all = steps.iter().any(is_of_all);
    say(&[if opens_all { "--bind" } else { "--ro-bind" }, "/", "/"].map(word));
    for step in steps.iter().filter(|step| !is_of_all(step)) {
        match step {
            // What is taken is put later, and comes from the outer view then as well.
            Step::Take(_) | Step::AllReadOnly => {}
            // A file is made where something is put at it; the rest comes with the devices.
            Step::MakeFile(_) | Step::MakeLink { .. } | Step::Terminals(_) => {}
            Step::Empty { path, .. } if path.as_c_str() == DEVICE_FOLDER => {
                say(&[word("--dev"), os(path)]);
            }
            Step::Put { path, .. } if DEVICES.iter().any(|device| os(path) == *device) => {}
            Step::Put { path, access, .. } => say(&[word(binds(*access)), os(path), os(path)]),
            Step::Fasten(path) => say(&[word("--bind"), os(path), os(path)]),
            Step::Keep(path) => say(&[word("--ro-bind"), os(path), os(path)]),
            Step::Empty { path, is_open: true } | Step::Memory(path) => say(&[word("--tmpfs"), os(path)]),
            Step::Empty { path, is_open: false } => {
                say(&[word("--tmpfs"), os(path), word("--remount-ro"), os(path)]);
            }
            Step::Blank(path) => say(&[word("--ro-bind"), word("/dev/null"), os(path)]),
            Step::MakeFolder(path) => say(&[word("--dir"), os(path)]),
            Step::Close(path) => say(&[word("--remount-ro"), os(path)]),
            Step::Processes => say(&["--proc", "/proc", "--remount-ro", "/proc"].map(word)),
        }
    }
    all
}

/// Whether the whole system is put somewhere.
fn is_of_all(step: &Step) -> bool {
    matches!(step, Step::Put { path, .. } if path.as_c_str() == c"/")
}

fn binds(access: Access) -> &'static str {
    match access {
        Access::Write => "--bind",
        Access::Read => "--ro-bind",
        Access::Device => "--dev-bind",
    }
}

fn os(path: &CStr) -> &OsStr {
    OsStr::from_bytes(path.to_bytes())
}

/// What this program is told where it is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) control: RawFd,
    pub(crate) landlock: Option<RawFd>,
    pub(crate) port: Option<RawFd>,
    pub(crate) has_seccomp: bool,
    pub(crate) processes: Option<u64>,
    /// Device and number of the folder that the command starts in.
    pub(crate) folder: (u64, u64),
}

impl Message {
    fn to_text(self) -> String {
        let number = |number: Option<String>| number.unwrap_or_else(|| "-".to_owned());
        [
            self.control.to_string(),
            number(self.landlock.map(|landlock| landlock.to_string())),
            number(self.port.map(|port| port.to_string())),
            u8::from(self.has_seccomp).to_string(),
            number(self.processes.map(|most| most.to_string())),
            self.folder.0.to_string(),
            self.folder.1.to_string(),
        ]
        .join(" ")
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let mut next = || words.next();
        let descriptor = |word: &str| word.parse::<RawFd>().ok().filter(|number| *number >= FIRST_FREE);
        let maybe = |word: &str| if word == "-" { Some(None) } else { descriptor(word).map(Some) };
        let message = Self {
            control: descriptor(next()?)?,
            landlock: maybe(next()?)?,
            port: maybe(next()?)?,
            has_seccomp: next()? == "1",
            processes: match next()? {
                "-" => None,
                most => Some(most.parse().ok()?),
            },
            folder: (next()?.parse().ok()?, next()?.parse().ok()?),
        };
        next().is_none().then_some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_are_said_in_their_order() {
        let at = |path: &str| CString::new(path).unwrap();
        let put = |path: &str, access| Step::Put { number: 0, path: at(path), access };
        let steps = [
            Step::Take(at("/w")),
            Step::AllReadOnly,
            Step::Empty { path: at("/dev"), is_open: true },
            Step::MakeFile(at("/dev/null")),
            put("/dev/null", Access::Device),
            Step::MakeFolder(at("/dev/shm")),
            Step::Memory(at("/dev/shm")),
            Step::MakeLink { path: at("/dev/fd"), to: at("/proc/self/fd") },
            Step::MakeFile(at("/dev/kvm")),
            put("/dev/kvm", Access::Device),
            Step::Empty { path: at("/home/u/.ssh"), is_open: false },
            Step::Blank(at("/home/u/.netrc")),
            Step::Empty { path: at("/run"), is_open: true },
            Step::MakeFolder(at("/run/x")),
            Step::MakeFile(at("/run/x/hosts")),
            put("/run/x/hosts", Access::Read),
            put("/w", Access::Write),
            Step::Fasten(at("/w/.git")),
            Step::Keep(at("/w/.git/hooks")),
            Step::Close(at("/dev")),
            Step::Close(at("/run")),
            Step::Processes,
        ];
        let said = |is_open| {
            let words = arguments(&steps, is_open);
            words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
        };
        let start = "--unshare-all --die-with-parent --as-pid-1 --cap-drop ALL";
        let end = "--ro-bind / / --dev /dev --dir /dev/shm --tmpfs /dev/shm --dev-bind /dev/kvm /dev/kvm \
                   --tmpfs /home/u/.ssh --remount-ro /home/u/.ssh --ro-bind /dev/null /home/u/.netrc \
                   --tmpfs /run --dir /run/x --ro-bind /run/x/hosts /run/x/hosts \
                   --bind /w /w --bind /w/.git /w/.git --ro-bind /w/.git/hooks /w/.git/hooks \
                   --remount-ro /dev --remount-ro /run --proc /proc --remount-ro /proc";
        assert_eq!(said(false), format!("{start} {end}"));
        assert_eq!(said(true), format!("{start} --share-net {end}"));
        let all = [Step::Take(at("/")), Step::AllReadOnly, put("/", Access::Write)];
        assert_eq!(arguments(&all, false).iter().filter(|word| *word == "--bind").count(), 1);
    }

    #[test]
    fn what_lies_in_a_closed_folder_of_somebody_else_is_out_of_reach() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("theirs");
        fs::create_dir(&inner).unwrap();
        let at = CString::new(inner.join("socket").as_os_str().as_bytes()).unwrap();
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o700)).unwrap();
        assert!(!is_out_of_reach(&at), "it is the user's own");
        if !rustix::process::geteuid().is_root() {
            println!("left out: only root makes what is another user's");
            return;
        }
        std::os::unix::fs::chown(&inner, Some(4_711), Some(4_711)).unwrap();
        assert!(is_out_of_reach(&at));
        fs::set_permissions(&inner, fs::Permissions::from_mode(0o711)).unwrap();
        assert!(!is_out_of_reach(&at));
    }

    #[test]
    fn a_message_reads_back_and_anything_else_is_none() {
        let message = Message {
            control: 7,
            landlock: Some(9),
            port: None,
            has_seccomp: true,
            processes: Some(4096),
            folder: (2049, 77),
        };
        let less = Message { landlock: None, port: Some(12), has_seccomp: false, processes: None, ..message };
        for message in [message, less] {
            assert_eq!(Message::parse(&message.to_text()), Some(message));
        }
        for wrong in
            ["", "7", "7 9 - 1 4096 2049", "7 9 - 1 4096 2049 77 5", "1 9 - 1 - 2049 77", "7 x - 1 - 2049 77"]
        {
            assert_eq!(Message::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_program_that_others_could_have_put_there_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("bwrap");
        fs::write(&file, "").unwrap();
        // As seen from the temporary folder up, which everybody writes.
        assert!(!is_roots(&file.canonicalize().unwrap()));
        assert!(!is_roots(Path::new("/nothing/here")));
    }
}
