//! The steps that make a process's own view of the files: everything read-only, some folders writable, some things in
//! them kept, some hidden; devices that harm nobody, and processes of its own.

use super::parts;
use haft_core::{Allowance, Confinement};
use std::{
    collections::BTreeMap,
    ffi::CString,
    fs,
    os::unix::{ffi::OsStrExt as _, fs::FileTypeExt as _},
    path::{Path, PathBuf},
};

/// Devices that anybody may use.
pub(super) const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];
/// Memory that programs share by names. Those of a command are its own.
pub(super) const MEMORY: &str = "/dev/shm";
/// Terminals, the same.
pub(super) const TERMINALS: &str = "/dev/pts";
const DEVICE_FOLDER: &str = "/dev";
/// Names that programs expect among devices, and what they lead to.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
    ("/dev/ptmx", "pts/ptmx"),
];

/// One step, in the new process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// Takes a copy of what is mounted at a path, before everything is made read-only.
    Take(CString),
    /// Everything that is mounted becomes read-only, and its devices are none.
    AllReadOnly,
    /// Puts the copy of that number to a path, which changes as said.
    Put {
        /// Which of the copies, in the order in which they were taken.
        number: usize,
        path: CString,
        access: Access,
    },
    /// Makes a path a mount of its own, so that neither it nor what it lies in can be renamed away.
    Fasten(CString),
    /// The same, read-only.
    Keep(CString),
    /// An empty folder in the place of a folder; one that something is still to be put in becomes read-only by
    /// [`Step::Close`].
    Empty { path: CString, is_open: bool },
    /// Nothing in the place of a file.
    Blank(CString),
    /// A folder in an empty one, for something to be put at; or one that is there.
    MakeFolder(CString),
    /// A file, the same.
    MakeFile(CString),
    /// A link in an empty folder.
    MakeLink { path: CString, to: CString },
    /// Terminals of its own.
    Terminals(CString),
    /// Shared memory of its own.
    Memory(CString),
    /// What was emptied is filled; nobody adds to it.
    Close(CString),
    /// The processes of the new namespace in the place of all.
    Processes,
}

/// What may be done with what is put somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// It can be written.
    Write,
    /// It can be read.
    Read,
    /// It is a device.
    Device,
}

/// What becomes of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// A folder that can be written, with all in it.
    Root,
    /// What was approved to be written.
    Opened,
    Fastened,
    Kept,
    Hidden,
    Shown,
    Devices,
}

/// The steps for a confinement, of which `allowed` was approved besides. Both name what is there.
pub(super) fn steps(confinement: &Confinement, allowed: &Allowance) -> Vec<Step> {
    let mut steps = Steps::default();
    let places = places(confinement, allowed);
    // Parents come before what lies in them, since they are sorted.
    let mut done: BTreeMap<&Path, Place> = BTreeMap::new();
    for (path, place) in &places {
        let around = path.ancestors().skip(1).find_map(|above| {
            let place = done.get(above).filter(|place| **place != Place::Fastened)?;
            Some((above, *place))
        });
        let within = around.map(|(_, place)| place);
        let is_needed = match place {
            // A folder that is writable anyway keeps its name all the same.
            Place::Root | Place::Devices => true,
            Place::Opened => !matches!(within, Some(Place::Root | Place::Opened)),
            Place::Fastened | Place::Kept => matches!(within, Some(Place::Root | Place::Opened)),
            Place::Hidden => !matches!(within, Some(Place::Hidden | Place::Devices)),
            Place::Shown => within == Some(Place::Hidden),
        };
        if !is_needed {
            continue;
        }
        let emptied = around.filter(|(_, place)| matches!(place, Place::Hidden | Place::Devices));
        steps.place(path, *place, emptied.map(|(above, _)| above));
        done.insert(path, *place);
    }
    steps.in_order()
}

/// Each path that something is done with; what was said last of one holds.
fn places(confinement: &Confinement, allowed: &Allowance) -> BTreeMap<PathBuf, Place> {
    let mut places = BTreeMap::new();
    let is_there = |path: &&Path| parts::is_there(path);
    let roots: Vec<&Path> = confinement.writable.iter().map(Path::new).filter(is_there).collect();
    let opened: Vec<&Path> =
        allowed.writable.iter().chain(&allowed.files).map(Path::new).filter(is_there).collect();
    for path in confinement.kept.iter().map(|kept| Path::new(&kept.path)) {
        // A link can't be fastened; what it leads to is kept where that is named.
        let is_fast = fs::symlink_metadata(path).is_ok_and(|meta| !meta.is_symlink());
        let outer = roots
            .iter()
            .chain(&opened)
            .copied()
            .filter(|outer| path.starts_with(outer) && path != *outer)
            .max();
        let Some(outer) = outer.filter(|_| is_fast && !opened.contains(&path)) else { continue };
        for folder in path.ancestors().skip(1).take_while(|folder| *folder != outer) {
            places.entry(folder.to_owned()).or_insert(Place::Fastened);
        }
        places.insert(path.to_owned(), Place::Kept);
    }
    let hidden = confinement.hidden.iter().map(Path::new).filter(is_there);
    let shown = confinement.shown.iter().map(Path::new).filter(is_there);
    places.extend(roots.iter().map(|path| ((*path).to_owned(), Place::Root)));
    places.extend(hidden.map(|path| (path.to_owned(), Place::Hidden)));
    places.extend(shown.map(|path| (path.to_owned(), Place::Shown)));
    for path in opened {
        let place = places.entry(path.to_owned()).or_insert(Place::Opened);
        if *place != Place::Root {
            *place = Place::Opened;
        }
    }
    if Path::new(DEVICE_FOLDER).is_dir() {
        // Their own: made with them.
        places.remove(Path::new(MEMORY));
        places.insert(DEVICE_FOLDER.into(), Place::Devices);
    }
    places
}

/// Steps that are being put together.
#[derive(Default)]
struct Steps {
    takes: Vec<Step>,
    main: Vec<Step>,
    closes: Vec<Step>,
}

impl Steps {
    /// What is done for one path; `emptied` is the emptied folder that it lies in, where it has to be made first.
    fn place(&mut self, path: &Path, place: Place, emptied: Option<&Path>) {
        match place {
            Place::Root | Place::Opened if is_device(path) => self.put(path, Access::Device, emptied),
            Place::Root | Place::Opened => self.put(path, Access::Write, emptied),
            Place::Shown => self.put(path, Access::Read, emptied),
            Place::Fastened => self.add(path, Step::Fasten),
            Place::Kept => self.add(path, Step::Keep),
            Place::Hidden => self.hide(path),
            Place::Devices => self.devices(path),
        }
    }

    fn add(&mut self, path: &Path, make: fn(CString) -> Step) {
        self.main.extend(text(path).map(make));
    }

    fn put(&mut self, path: &Path, access: Access, emptied: Option<&Path>) {
        let Some(text) = text(path) else { return };
        if let Some(emptied) = emptied {
            let mut folders: Vec<&Path> =
                path.ancestors().skip(1).take_while(|folder| *folder != emptied).collect();
            folders.reverse();
            for folder in folders {
                self.add(folder, Step::MakeFolder);
            }
            self.add(path, if path.is_dir() { Step::MakeFolder } else { Step::MakeFile });
            self.keep_open(emptied);
        }
        let number = self.takes.len();
        self.takes.push(Step::Take(text.clone()));
        self.main.push(Step::Put { number, path: text, access });
    }

    /// An emptied folder gets something after all, and is closed when all is in it.
    fn keep_open(&mut self, folder: &Path) {
        let Some(text) = text(folder) else { return };
        for step in &mut self.main {
            if let Step::Empty { path, is_open } = step
                && *path == text
                && !*is_open
            {
                *is_open = true;
                self.closes.push(Step::Close(text.clone()));
            }
        }
    }

    fn hide(&mut self, path: &Path) {
        let Ok(meta) = fs::symlink_metadata(path) else { return };
        if meta.is_dir() {
            self.main.extend(text(path).map(|path| Step::Empty { path, is_open: false }));
        } else if meta.is_file() || meta.file_type().is_socket() {
            self.add(path, Step::Blank);
        }
    }

    /// Devices: nothing of what the system has, but what anybody may use.
    fn devices(&mut self, folder: &Path) {
        self.main.extend(text(folder).map(|path| Step::Empty { path, is_open: false }));
        for device in DEVICES.map(Path::new).iter().filter(|device| device.exists()) {
            self.put(device, Access::Device, Some(folder));
        }
        self.keep_open(folder);
        self.add(Path::new(TERMINALS), Step::MakeFolder);
        self.add(Path::new(TERMINALS), Step::Terminals);
        self.add(Path::new(MEMORY), Step::MakeFolder);
        self.add(Path::new(MEMORY), Step::Memory);
        for (path, to) in DEVICE_LINKS {
            let link = text(Path::new(path)).zip(text(Path::new(to)));
            self.main.extend(link.map(|(path, to)| Step::MakeLink { path, to }));
        }
    }

    fn in_order(self) -> Vec<Step> {
        let Self { takes, main, closes } = self;
        takes
            .into_iter()
            .chain([Step::AllReadOnly])
            .chain(main)
            .chain(closes)
            .chain([Step::Processes])
            .collect()
    }
}

fn is_device(path: &Path) -> bool {
    let kind = fs::metadata(path).map(|meta| meta.file_type());
    kind.is_ok_and(|kind| kind.is_char_device() || kind.is_block_device())
}

fn text(path: &Path) -> Option<CString> {
    CString::new(path.as_os_str().as_bytes()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use haft_core::Kept;

    struct Place {
        folder: tempfile::TempDir,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path();
            for made in ["w/.git/hooks", "w/.vscode", "w/secret/in", "elsewhere", "run/media/w"] {
                fs::create_dir_all(root.join(made)).unwrap();
            }
            for made in ["w/.git/config", "w/.vscode/settings.json", "elsewhere/new", "run/resolv.conf"] {
                fs::write(root.join(made), "").unwrap();
            }
            Self { folder }
        }

        fn at(&self, name: &str) -> String {
            self.folder.path().canonicalize().unwrap().join(name).to_str().unwrap().to_owned()
        }

        fn c(&self, name: &str) -> CString {
            CString::new(self.at(name)).unwrap()
        }

        fn confinement(&self) -> Confinement {
            let kept = |name: &str| Kept { path: self.at(name), even_absent: true };
            let names = ["w/.git/hooks", "w/.git/config", "w/.vscode", "w/none", "elsewhere/.git"];
            Confinement {
                writable: vec![self.at("w"), self.at("missing")],
                kept: names.map(kept).into(),
                hidden: vec![self.at("w/secret"), self.at("w/none")],
                ..Confinement::default()
            }
        }

        /// The steps without those for devices and processes, which are always the same.
        fn steps(confinement: &Confinement, allowed: &Allowance) -> Vec<Step> {
            let is_ours = |step: &Step| match step {
                Step::Take(path)
                | Step::Put { path, .. }
                | Step::Fasten(path)
                | Step::Keep(path)
                | Step::Empty { path, .. }
                | Step::Blank(path)
                | Step::MakeFolder(path)
                | Step::MakeFile(path)
                | Step::Close(path) => !path.to_str().unwrap().starts_with("/dev"),
                _ => false,
            };
            let mut steps = steps(confinement, allowed);
            steps.retain(is_ours);
            for step in &mut steps {
                if let Step::Put { number, .. } = step {
                    *number = 0;
                }
            }
            steps
        }

        fn put(&self, name: &str, access: Access) -> Step {
            Step::Put { number: 0, path: self.c(name), access }
        }
    }

    #[test]
    fn what_is_kept_is_fastened_up_to_the_writable_folder() {
        let place = Place::new();
        let confinement = place.confinement();
        let expected = [
            Step::Take(place.c("w")),
            place.put("w", Access::Write),
            Step::Fasten(place.c("w/.git")),
            Step::Keep(place.c("w/.git/config")),
            Step::Keep(place.c("w/.git/hooks")),
            Step::Keep(place.c("w/.vscode")),
            Step::Empty { path: place.c("w/secret"), is_open: false },
        ];
        assert_eq!(Place::steps(&confinement, &Allowance::default()), expected);
        // A folder around what is kept opens nothing of it.
        let around = Allowance { writable: vec![place.at("w")], ..Allowance::default() };
        assert_eq!(Place::steps(&confinement, &around), expected);
    }

    #[test]
    fn an_approval_opens_what_it_names_and_nothing_beside_it() {
        let place = Place::new();
        let confinement = place.confinement();
        let files = ["w/.git/config", "w/.vscode/settings.json", "elsewhere/new", "w/file"]
            .map(|name| place.at(name));
        let writable = vec![place.at("w/secret/in")];
        let allowed = Allowance { files: files.into(), writable, ..Allowance::default() };
        let expected = [
            Step::Take(place.c("elsewhere/new")),
            Step::Take(place.c("w")),
            Step::Take(place.c("w/.vscode/settings.json")),
            Step::Take(place.c("w/secret/in")),
            place.put("elsewhere/new", Access::Write),
            place.put("w", Access::Write),
            Step::Fasten(place.c("w/.git")),
            Step::Keep(place.c("w/.git/hooks")),
            Step::Keep(place.c("w/.vscode")),
            place.put("w/.vscode/settings.json", Access::Write),
            Step::Empty { path: place.c("w/secret"), is_open: true },
            Step::MakeFolder(place.c("w/secret/in")),
            place.put("w/secret/in", Access::Write),
            Step::Close(place.c("w/secret")),
        ];
        assert_eq!(Place::steps(&confinement, &allowed), expected);
    }

    #[test]
    fn what_is_hidden_lets_through_what_is_shown_and_what_is_written() {
        let place = Place::new();
        let confinement = Confinement {
            writable: vec![place.at("run/media/w")],
            hidden: vec![place.at("run"), place.at("run/media/x")],
            shown: vec![place.at("run/resolv.conf"), place.at("elsewhere"), place.at("run/none")],
            ..Confinement::default()
        };
        let expected = [
            Step::Take(place.c("run/media/w")),
            Step::Take(place.c("run/resolv.conf")),
            Step::Empty { path: place.c("run"), is_open: true },
            Step::MakeFolder(place.c("run/media")),
            Step::MakeFolder(place.c("run/media/w")),
            place.put("run/media/w", Access::Write),
            Step::MakeFile(place.c("run/resolv.conf")),
            place.put("run/resolv.conf", Access::Read),
            Step::Close(place.c("run")),
        ];
        assert_eq!(Place::steps(&confinement, &Allowance::default()), expected);
    }

    #[test]
    fn of_devices_only_harmless_ones_are_left() {
        let all = steps(&Confinement::default(), &Allowance::default());
        let devices = all.iter().filter_map(|step| match step {
            Step::Put { path, access: Access::Device, .. } => path.to_str().ok(),
            _ => None,
        });
        assert!(devices.clone().count() > 0 && devices.clone().all(|device| DEVICES.contains(&device)));
        assert_eq!(all.last(), Some(&Step::Processes));
    }
}
