//! The variables haft was started with: which of them children see, and how the others are kept from view.
//!
//! Keys of services commonly stand in the environment. A child is given an allow-list, and since a child can
//! read `/proc/PID/environ` of other processes of its user, haft's own block of variables is wiped after it
//! has been copied.

#![allow(
    unsafe_code,
    reason = "the block of variables that the kernel shows can only be reached by its address"
)]

use crate::process::stat::Stat;
use haft_core::Secret;
use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString, c_char},
    fmt,
    path::PathBuf,
};

/// What children are given: who and where the user is, how to read text, and where toolchains are. None of
/// these holds a secret. A name may end in `*`.
#[rustfmt::skip] // a line a group
const ALLOWED: &[&str] = &[
    // The user and the system.
    "HOME", "LANG", "LANGUAGE", "LC_*", "LOGNAME", "MANPATH", "PATH", "SHELL", "TMPDIR", "TZ", "TZDIR", "USER",
    "XDG_CACHE_HOME", "XDG_CONFIG_DIRS", "XDG_CONFIG_HOME", "XDG_DATA_DIRS", "XDG_DATA_HOME", "XDG_STATE_HOME",
    // Whom to trust, without which nothing is fetched behind some proxies.
    "NIX_SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "SSL_CERT_DIR", "SSL_CERT_FILE",
    // Compilers and libraries.
    "AR", "CC", "CPATH", "CXX", "LD", "LD_LIBRARY_PATH", "LIBRARY_PATH", "PKG_CONFIG_PATH",
    // Toolchains and their version managers.
    "ANDROID_HOME", "ANDROID_SDK_ROOT", "ASDF_DATA_DIR", "ASDF_DIR", "BUN_INSTALL", "CARGO_HOME",
    "CARGO_TARGET_DIR", "CONDA_DEFAULT_ENV", "CONDA_PREFIX", "DENO_DIR", "DENO_INSTALL", "DOTNET_ROOT", "FNM_DIR",
    "GEM_HOME", "GEM_PATH", "GOBIN", "GOCACHE", "GOMODCACHE", "GOPATH", "GOROOT", "GRADLE_HOME",
    "GRADLE_USER_HOME", "JAVA_HOME", "M2_HOME", "MISE_DATA_DIR", "NIX_PATH", "NIX_PROFILES", "NODE_PATH",
    "NVM_BIN", "NVM_DIR", "PNPM_HOME", "PYENV_ROOT", "PYENV_VERSION", "PYTHONPATH", "RBENV_ROOT",
    "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "SDKMAN_DIR", "UV_CACHE_DIR", "VIRTUAL_ENV", "VOLTA_HOME",
];

/// What stays in haft's own live environment besides, for the libraries in it: terminal and session.
#[rustfmt::skip] // as above
const ALLOWED_HERE: &[&str] = &[
    "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "NO_COLOR", "RUST_BACKTRACE",
    "RUST_LOG", "TERM", "TERM_PROGRAM", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR",
];

/// What git says where it wants an editor: its message quotes the command, and so names the way out.
const NO_GIT_EDITOR: &str =
    "echo 'no editor here: give the text by an option, such as -m or --no-edit' >&2; false";

/// What children are given in any case: there is no terminal, so that whatever would wait for a person has to
/// fail at once.
const FIXED: &[(&str, &str)] = &[
    ("EDITOR", "false"),
    ("GIT_EDITOR", NO_GIT_EDITOR),
    ("GIT_PAGER", "cat"),
    ("GIT_SEQUENCE_EDITOR", NO_GIT_EDITOR),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("MANPAGER", "cat"),
    ("PAGER", "cat"),
    ("SYSTEMD_PAGER", "cat"),
    ("TERM", "dumb"),
    ("VISUAL", "false"),
];

/// Where programs are looked for if haft was started without a `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A copy of the variables haft was started with.
#[derive(Clone, Default)]
pub struct Environment {
    all: BTreeMap<OsString, OsString>,
    passed: Vec<String>,
    /// What the operator gives children besides, from elsewhere.
    given: BTreeMap<String, Secret>,
    is_scrubbed: bool,
}

impl Environment {
    /// Copies the variables of this process and changes nothing; for embedding programs and tests.
    pub fn of_process() -> Self {
        Self { all: std::env::vars_os().collect(), ..Self::default() }
    }

    /// Copies the variables of this process, then takes all but the harmless ones from its live environment
    /// and wipes the block that `/proc/PID/environ` shows.
    ///
    /// To be called first thing in `main`: where the process has a second thread already, nothing can be
    /// wiped safely, and it does no more than [`Environment::of_process`] ([`Environment::is_scrubbed`] says
    /// which it was). From then on ask this value for variables, not [`std::env::var`].
    ///
    /// It also declares the process not dumpable: neither a core dump nor a debugger or `/proc/PID/mem` in
    /// the hands of another process of the same user, such as a command that a model chose, gets at keys
    /// in memory. Files below `/proc/PID` belong to root from then on.
    pub fn take_at_start() -> Self {
        let mut taken = Self::of_process();
        // Read first: afterwards the system may refuse it.
        let stat = Stat::read("self");
        // SAFETY: a plain system call with numbers.
        unsafe { libc::prctl(libc::PR_SET_DUMPABLE, NO, NO, NO, NO) };
        if let Some(stat) = stat.filter(|stat| stat.threads() == Some(1)) {
            taken.is_scrubbed = stat.environment().is_some_and(|(start, end)| wipe(start, end));
            let kept =
                taken.all.iter().filter(|(name, _)| is_among(name, ALLOWED) || is_among(name, ALLOWED_HERE));
            // SAFETY: this is the only thread, so that nobody reads the environment meanwhile.
            unsafe {
                libc::clearenv();
                for (name, value) in kept {
                    std::env::set_var(name, value);
                }
            }
        }
        taken
    }

    /// Has children given these variables too; a name may end in `*`.
    #[must_use]
    pub fn pass(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.passed.extend(names);
        self
    }

    /// Has children given these variables, whose values haft wasn't started with.
    #[must_use]
    pub fn give(mut self, given: impl IntoIterator<Item = (String, Secret)>) -> Self {
        self.given.extend(given);
        self
    }

    /// A variable, whether children see it or not. `None` also for one that isn't Unicode.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all.get(OsStr::new(name))?.to_str()
    }

    /// The variables that are allowed to children; those that aren't Unicode are left out here.
    pub fn allowed(&self) -> Vec<(String, String)> {
        let allowed =
            self.all.iter().filter(|(name, _)| is_among(name, ALLOWED) || is_among(name, &self.passed));
        allowed
            .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())))
            .collect()
    }

    /// All variables, whether children see them or not; those that aren't Unicode are left out here.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.all.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)))
    }

    /// Whether the block that the system shows of this process was wiped.
    pub fn is_scrubbed(&self) -> bool {
        self.is_scrubbed
    }

    /// The folders in which children look for programs.
    pub(crate) fn path(&self) -> Vec<PathBuf> {
        self.for_child()
            .get(OsStr::new("PATH"))
            .map(|path| std::env::split_paths(path).collect())
            .unwrap_or_default()
    }

    /// All that a child is given before what its command sets: what is allowed, over that what holds in any
    /// case, over that what the operator passes by name or gives from elsewhere.
    pub(crate) fn for_child(&self) -> BTreeMap<OsString, OsString> {
        let mut given = BTreeMap::from([("PATH".into(), DEFAULT_PATH.into())]);
        let copy = |(name, value): (&OsString, &OsString)| (name.clone(), value.clone());
        given.extend(self.all.iter().filter(|(name, _)| is_among(name, ALLOWED)).map(copy));
        given.extend(FIXED.iter().map(|(name, value)| (name.into(), value.into())));
        given.extend(self.all.iter().filter(|(name, _)| is_among(name, &self.passed)).map(copy));
        given.extend(self.given.iter().map(|(name, value)| (name.into(), value.reveal().into())));
        // Empty and relative entries mean the folder that a command happens to run in.
        if let Some(path) = given.get_mut(OsStr::new("PATH"))
            && let Ok(absolute) =
                std::env::join_paths(std::env::split_paths(path).filter(|folder| folder.is_absolute()))
        {
            *path = absolute;
        }
        given
    }
}

/// Shows names only.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("names", &self.all.keys().collect::<Vec<_>>())
            .field("passed", &self.passed)
            .field("given", &self.given)
            .field("is_scrubbed", &self.is_scrubbed)
            .finish()
    }
}

/// Arguments of calls with a variable number of them have to have the full width.
const NO: libc::c_ulong = 0;

/// Whether a list names a variable, or what its name starts with.
fn is_among(name: &OsStr, list: &[impl AsRef<str>]) -> bool {
    let name = name.as_encoded_bytes();
    list.iter().any(|entry| match entry.as_ref().strip_suffix('*') {
        Some(start) => name.starts_with(start.as_bytes()),
        None => name == entry.as_ref().as_bytes(),
    })
}

/// Overwrites the variables the process was started with, and says whether it could.
///
/// Only to be called by a process of one thread that has copied them and then lets go of them.
fn wipe(start: usize, end: usize) -> bool {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    // SAFETY: this is the only thread. `environ` is null or a list that ends in null, so that its first entry
    // can be read.
    let first = unsafe { if environ.is_null() { std::ptr::null() } else { *environ } };
    if first.is_null() {
        return true;
    }
    // The system's word is taken only where it agrees with ours.
    if !(start..end).contains(&first.addr()) {
        return false;
    }
    let block = first.cast_mut().cast::<u8>().with_addr(start);
    for offset in 0..end.saturating_sub(start) {
        // SAFETY: the block lies on the main thread's stack for as long as the process lives, is writable, and
        // holds nothing but the variables. Volatile, or it would be optimised away as never read.
        unsafe { block.wrapping_add(offset).write_volatile(0) };
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Environment {
        let all = pairs.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Environment { all, ..Environment::default() }
    }

    #[test]
    fn children_see_what_is_listed_and_nothing_else() {
        let environment = environment(&[
            ("API_KEY", "secret"),
            ("HOME", "/home/x"),
            ("LC_TIME", "C"),
            ("LCX", "1"),
            ("PATHS", "no"),
            ("TERM", "xterm"),
        ]);
        let names: Vec<_> = environment.allowed().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["HOME", "LC_TIME"]);
        let given = environment.for_child();
        assert_eq!(given.get(OsStr::new("TERM")), Some(&"dumb".into()));
        assert_eq!(given.get(OsStr::new("PATH")), Some(&DEFAULT_PATH.into()));
        assert!(!given.contains_key(OsStr::new("API_KEY")));
        assert_eq!(environment.get("API_KEY"), Some("secret"));
    }

    #[test]
    fn the_operator_passes_by_name_and_over_what_is_fixed() {
        let environment = environment(&[("API_KEY", "1"), ("EDITOR", "ed"), ("MY_A", "2"), ("OTHER", "3")])
            .pass(["API_KEY", "MY_*", "EDITOR"].map(String::from));
        let given = environment.for_child();
        let value = |name: &str| given.get(OsStr::new(name)).and_then(|value| value.to_str());
        assert_eq!((value("API_KEY"), value("MY_A"), value("EDITOR")), (Some("1"), Some("2"), Some("ed")));
        assert_eq!(value("OTHER"), None);
    }

    #[test]
    fn what_the_operator_gives_comes_over_all_else() {
        let environment =
            environment(&[("API_KEY", "1"), ("EDITOR", "ed")]).pass(["API_KEY".to_owned()]).give([
                ("API_KEY".to_owned(), Secret::new("stored")),
                ("NEW".to_owned(), Secret::new("two\nlines")),
            ]);
        let given = environment.for_child();
        let value = |name: &str| given.get(OsStr::new(name)).and_then(|value| value.to_str());
        assert_eq!((value("API_KEY"), value("NEW")), (Some("stored"), Some("two\nlines")));
        assert_eq!(environment.get("NEW"), None, "haft itself wasn't started with it");
    }

    #[test]
    fn relative_entries_of_the_path_reach_no_child() {
        let path = |path: &str| environment(&[("PATH", path)]).for_child().get(OsStr::new("PATH")).cloned();
        assert_eq!(path("./bin:/usr/bin::bin:/bin:"), Some("/usr/bin:/bin".into()));
    }

    #[test]
    fn no_value_is_shown_for_debugging() {
        let given = [("GIVEN".to_owned(), Secret::new("secret"))];
        let shown = format!("{:?}", environment(&[("API_KEY", "secret")]).give(given));
        assert!(shown.contains("API_KEY") && shown.contains("GIVEN") && !shown.contains("secret"), "{shown}");
    }
}
