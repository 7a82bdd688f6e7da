//! The files of a workspace: [`OsFiles`], its lookups and reads.
//!
//! Leaves writing, walking, searching and locking to the modules of those names. Keeps the invariant
//! "paths are opened beneath a root handle": everything here goes through [`Root`].

use crate::{
    fault, journal, lock,
    resolve::{self, Names, Start},
    root::{self, Beneath, Place, Root, split},
    similar::similar,
    xattr,
};
use haft_core::{
    Cancel, Entry, Failure, FileChange, FileKind, FileLock, FileOp, FileTraits, Files, GrepHit, GrepQuery,
    Listing, PathArg, RealPath, Short, Stat, WalkOptions, WalkReport, WriteMode,
};
use rustix::fs::OFlags;
use std::{
    borrow::Cow,
    ffi::CString,
    fs::{File, FileType, Metadata},
    io::{self, Read, Seek, SeekFrom},
    ops::ControlFlow,
    os::{fd::OwnedFd, unix::fs::FileTypeExt, unix::fs::MetadataExt},
    path::{Path, PathBuf},
    sync::Arc,
};

/// How much room is made for a read at most before it is known what comes; never more than the file is long.
const READ_AHEAD_MAX_BYTES: usize = 1 << 26;
/// How many names of a folder are compared for "did you mean".
const SIBLINGS_MAX: usize = 5_000;

/// The real files of a workspace and its further roots.
#[derive(Debug)]
pub struct OsFiles {
    /// The workspace's first.
    roots: Vec<Root>,
    /// Stands for all that lies beneath no root.
    outside: Root,
    missing: Vec<PathBuf>,
    home: Option<PathBuf>,
    pub(crate) state: PathBuf,
    pub(crate) how: Beneath,
}

impl OsFiles {
    /// Opens the roots, and finishes or undoes writes that a dead process left half done.
    ///
    /// Locks and journals go beneath `state`, which is made where it is missing. An extra root that isn't
    /// there stops nothing: its paths count as outside, and [`OsFiles::missing_roots`] names it.
    ///
    /// # Errors
    /// Not found where the workspace isn't a folder; whatever keeps the state folder from being made.
    pub fn new(workspace: &Path, extra_roots: &[PathBuf], state: &Path) -> Result<Self, Failure> {
        let mut roots = vec![open_root(workspace)?];
        let mut missing = Vec::new();
        for extra in extra_roots {
            match open_root(extra) {
                Ok(root) if roots.iter().any(|known| known.path() == root.path()) => {}
                Ok(root) => roots.push(root),
                Err(_) => missing.push(extra.clone()),
            }
        }
        let outside = Root::open("/").map_err(|error| fault::io("open", "/", &error))?;
        crate::state::make_folders(state)?;
        journal::recover(state);
        Ok(Self {
            roots,
            outside,
            missing,
            home: std::env::home_dir().filter(|home| home.is_absolute()),
            state: state.to_owned(),
            how: Beneath::detect(),
        })
    }

    /// The same files opened in the given way, instead of the best that the system has.
    #[must_use]
    pub fn opened_by(mut self, how: Beneath) -> Self {
        self.how = how;
        self
    }

    /// The extra roots that weren't there.
    pub fn missing_roots(&self) -> &[PathBuf] {
        &self.missing
    }

    /// The root that holds a path, and the path beneath it.
    ///
    /// A root that is unknown, or was removed and made anew, is looked up from `/`: no link is followed from
    /// there either.
    pub(crate) fn root_of<'a>(&'a self, at: &'a RealPath) -> (&'a Root, Cow<'a, str>) {
        match self.roots.iter().find(|root| *root.path() == at.root) {
            Some(root) if !root.is_gone() => (root, Cow::Borrowed(at.beneath.as_ref())),
            _ => (&self.outside, Cow::Owned(at.absolute().trim_start_matches('/').to_owned())),
        }
    }

    /// A path as the model would write it.
    pub(crate) fn show(&self, at: &RealPath) -> String {
        let in_workspace = self.roots.first().is_some_and(|root| *root.path() == at.root);
        if in_workspace && !at.beneath.is_empty() { at.beneath.to_string() } else { at.absolute() }
    }

    /// The open folder of a path, and its name there.
    pub(crate) fn place(&self, at: &RealPath) -> io::Result<Place> {
        let (root, beneath) = self.root_of(at);
        let (parent, name) = split(&beneath);
        Ok(Place { folder: root.folder(parent, self.how)?, name: name.to_owned() })
    }

    /// What stands at a path, nothing opened.
    pub(crate) fn look(&self, at: &RealPath) -> Result<Metadata, Failure> {
        self.place(at).and_then(|place| place.look()).map_err(|error| self.trouble("look at", at, &error))
    }

    /// Opens a regular file; anything else is refused before it is opened, and again after.
    pub(crate) fn open_regular(&self, at: &RealPath, place: &Place) -> Result<(File, Metadata), Failure> {
        let meta = place.look().map_err(|error| self.trouble("read", at, &error))?;
        self.require_file(at, &meta)?;
        self.open_looked_at(at, place)
    }

    /// Opens what was a regular file when it was looked at.
    fn open_looked_at(&self, at: &RealPath, place: &Place) -> Result<(File, Metadata), Failure> {
        let file = place.open(OFlags::RDONLY).map_err(|error| self.trouble("read", at, &error))?;
        let meta = file.metadata().map_err(|error| self.trouble("read", at, &error))?;
        self.require_file(at, &meta)?;
        Ok((file, meta))
    }

    pub(crate) fn require_file(&self, at: &RealPath, meta: &Metadata) -> Result<(), Failure> {
        match kind(meta.file_type()) {
            FileKind::File => Ok(()),
            FileKind::Folder => {
                Err(Failure::invalid(format!("{} is a folder, not a file; list it instead", self.show(at))))
            }
            FileKind::Link => Err(self.link_in_the_way(at)),
            FileKind::Special(what) => Err(fault::special(&self.show(at), what)),
        }
    }

    pub(crate) fn link_in_the_way(&self, at: &RealPath) -> Failure {
        fault::io("open", &self.show(at), &rustix::io::Errno::LOOP.into())
    }

    /// An error as a failure; for what isn't there with the names that may have been meant.
    pub(crate) fn trouble(&self, doing: &str, at: &RealPath, error: &io::Error) -> Failure {
        if error.kind() == io::ErrorKind::NotFound {
            return self.not_found(at);
        }
        fault::io(doing, &self.show(at), error)
    }

    fn not_found(&self, at: &RealPath) -> Failure {
        let shown = self.show(at);
        if shown.contains(char::REPLACEMENT_CHARACTER) {
            return Failure::not_found(format!(
                "{shown} can't be opened by this name: the real one isn't UTF-8; rename it with a \
                 shell command first"
            ));
        }
        let (root, beneath) = self.root_of(at);
        let (parent, name) = split(&beneath);
        let shown_parent = shown.strip_suffix(name).unwrap_or_default();
        let Ok(names) = root.folder(parent, self.how).and_then(|folder| names(&folder)) else {
            return Failure::not_found(format!(
                "{shown} doesn't exist, and neither does its folder {shown_parent}; list a folder further up"
            ));
        };
        let siblings = names.into_iter().take(SIBLINGS_MAX).map(|name| name.to_string_lossy().into_owned());
        let near: Vec<_> =
            similar(name, siblings).into_iter().map(|name| format!("{shown_parent}{name}")).collect();
        Failure::not_found(match near.as_slice() {
            [] => format!("{shown} doesn't exist; list its folder to see what is there"),
            [only] => format!("{shown} doesn't exist; did you mean {only}?"),
            [first @ .., last] => {
                format!("{shown} doesn't exist; did you mean {} or {last}?", first.join(", "))
            }
        })
    }

    /// The real path of what was written.
    fn resolve_by(&self, path: &PathArg, names: Names) -> Result<RealPath, Failure> {
        let workspace = self.workspace();
        let start = Start { workspace: Path::new(workspace.root.as_ref()), home: self.home.as_deref() };
        let real = resolve::real(&path.0, &start, names)?;
        let longest = self
            .roots
            .iter()
            .filter_map(|root| Some((root, resolve::beneath(root.path(), &real)?)))
            .max_by_key(|(root, _)| root.path().len());
        Ok(match longest {
            Some((root, beneath)) => RealPath { root: Arc::clone(root.path()), beneath: beneath.into() },
            None => RealPath::new("/", real.trim_start_matches('/')),
        })
    }
}

impl Files for OsFiles {
    fn workspace(&self) -> RealPath {
        // There is always a first root: `new` makes no value without.
        let path = self.roots.first().map_or_else(|| Arc::from("/"), |root| Arc::clone(root.path()));
        RealPath { root: path, beneath: "".into() }
    }

    fn resolve(&self, path: &PathArg) -> Result<RealPath, Failure> {
        self.resolve_by(path, Names::Exact)
    }

    fn resolve_existing(&self, path: &PathArg) -> Result<RealPath, Failure> {
        self.resolve_by(path, Names::OrAlike)
    }

    fn stat(&self, at: &RealPath) -> Result<Stat, Failure> {
        stat_of(&self.look(at)?).ok_or_else(|| self.link_in_the_way(at))
    }

    fn peek(&self, at: &RealPath) -> Option<Stat> {
        stat_of(&self.place(at).ok()?.look().ok()?)
    }

    fn read(&self, at: &RealPath, offset: u64, max_bytes: usize) -> Result<Vec<u8>, Failure> {
        let place = self.place(at).map_err(|error| self.trouble("read", at, &error))?;
        let (mut file, meta) = self.open_regular(at, &place)?;
        let left = usize::try_from(meta.len().saturating_sub(offset)).unwrap_or(usize::MAX);
        // Room for one byte more, so that the end shows without another round.
        let mut bytes = Vec::with_capacity(left.min(max_bytes).saturating_add(1).min(READ_AHEAD_MAX_BYTES));
        let seek = if offset == 0 { Ok(0) } else { file.seek(SeekFrom::Start(offset)) };
        seek.and_then(|_| file.take(u64::try_from(max_bytes).unwrap_or(u64::MAX)).read_to_end(&mut bytes))
            .map_err(|error| self.trouble("read", at, &error))?;
        Ok(bytes)
    }

    fn read_short(&self, at: &RealPath, max_bytes: usize) -> Result<Short, Failure> {
        let trouble = |error: &io::Error| self.trouble("read", at, error);
        let place = self.place(at).map_err(|error| trouble(&error))?;
        let meta = place.look().map_err(|error| trouble(&error))?;
        let is_short = |meta: &Metadata| usize::try_from(meta.len()).is_ok_and(|len| len <= max_bytes);
        if !meta.is_file() || !is_short(&meta) {
            let stat = stat_of(&meta).ok_or_else(|| self.link_in_the_way(at))?;
            return Ok(Short { stat, bytes: None });
        }
        let (file, meta) = self.open_looked_at(at, &place)?;
        let stat = stat_of(&meta).ok_or_else(|| self.link_in_the_way(at))?;
        let mut bytes =
            Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(max_bytes).min(max_bytes) + 1);
        let most = u64::try_from(max_bytes).unwrap_or(u64::MAX).saturating_add(1);
        file.take(most).read_to_end(&mut bytes).map_err(|error| trouble(&error))?;
        // It may have grown meanwhile.
        Ok(Short { stat, bytes: (bytes.len() <= max_bytes).then_some(bytes) })
    }

    fn list(&self, at: &RealPath, max: usize) -> Result<Listing, Failure> {
        let meta = self.look(at)?;
        match kind(meta.file_type()) {
            FileKind::Folder => {}
            FileKind::Link => return Err(self.link_in_the_way(at)),
            _ => {
                return Err(Failure::invalid(format!(
                    "{} is not a folder; read it, or list the folder it is in",
                    self.show(at)
                )));
            }
        }
        let (root, beneath) = self.root_of(at);
        let folder = root.folder(&beneath, self.how).map_err(|error| self.trouble("list", at, &error))?;
        let mut names = names(&folder).map_err(|error| self.trouble("list", at, &error))?;
        names.sort();
        let left_out = names.len().saturating_sub(max);
        let entries = names.iter().take(max).map(|name| entry(at, &folder, name)).collect();
        Ok(Listing { entries, left_out: u64::try_from(left_out).unwrap_or(u64::MAX) })
    }

    fn write(&self, at: &RealPath, content: &[u8], mode: &WriteMode) -> Result<FileChange, Failure> {
        self.write_file(at, content, mode)
    }

    fn apply(&self, ops: &[FileOp]) -> Result<Vec<FileChange>, Failure> {
        self.apply_all(ops)
    }

    fn traits(&self, at: &RealPath) -> Result<FileTraits, Failure> {
        let place = self.place(at).map_err(|error| self.trouble("look at", at, &error))?;
        let (file, meta) = self.open_regular(at, &place)?;
        Ok(xattr::traits(&file, &meta))
    }

    fn walk(
        &self,
        tree: &RealPath,
        options: &WalkOptions,
        visit: &mut dyn FnMut(&Entry) -> ControlFlow<()>,
    ) -> Result<WalkReport, Failure> {
        self.walk_tree(tree, options, visit)
    }

    fn grep(
        &self,
        tree: &RealPath,
        query: &GrepQuery,
        visit: &mut dyn FnMut(GrepHit) -> ControlFlow<()>,
    ) -> Result<WalkReport, Failure> {
        self.search(tree, query, visit)
    }

    fn lock(&self, at: &RealPath, cancel: &Cancel) -> Result<Box<dyn FileLock>, Failure> {
        Ok(Box::new(lock::acquire(&self.state, std::slice::from_ref(at), cancel)?))
    }

    fn lock_all(&self, files: &[RealPath], cancel: &Cancel) -> Result<Vec<Box<dyn FileLock>>, Failure> {
        Ok(vec![Box::new(lock::acquire(&self.state, files, cancel)?)])
    }
}

fn open_root(path: &Path) -> Result<Root, Failure> {
    let shown = path.display().to_string();
    let real =
        std::fs::canonicalize(path).map_err(|error| fault::io("open the root folder", &shown, &error))?;
    let Some(real) = real.to_str() else {
        return Err(Failure::invalid(format!("the path of the root folder {shown} isn't UTF-8; rename it")));
    };
    Root::open(real).map_err(|error| fault::io("open the root folder", &shown, &error))
}

/// What is told of a file; none for a link.
fn stat_of(meta: &Metadata) -> Option<Stat> {
    match kind(meta.file_type()) {
        FileKind::Link => None,
        kind => Some(Stat {
            kind,
            len: meta.len(),
            modified: meta.modified().ok(),
            links: meta.nlink(),
            mode: meta.mode() & 0o7777,
        }),
    }
}

/// What a type of file is called here.
pub(crate) fn kind(of: FileType) -> FileKind {
    if of.is_file() {
        FileKind::File
    } else if of.is_dir() {
        FileKind::Folder
    } else if of.is_symlink() {
        FileKind::Link
    } else if of.is_fifo() {
        FileKind::Special("named pipe (FIFO)")
    } else if of.is_socket() {
        FileKind::Special("socket")
    } else if of.is_char_device() {
        FileKind::Special("character device")
    } else if of.is_block_device() {
        FileKind::Special("block device")
    } else {
        FileKind::Special("special file")
    }
}

/// The names in a folder, in the order of the system.
fn names(folder: &OwnedFd) -> io::Result<Vec<CString>> {
    let mut names = Vec::new();
    // The handle at hand is a bare place; reading needs one of its own.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = rustix::fs::openat(folder, ".", flags, rustix::fs::Mode::empty())?;
    for entry in rustix::fs::Dir::new(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if !matches!(name.to_bytes(), b"." | b"..") {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

fn entry(at: &RealPath, folder: &OwnedFd, name: &CString) -> Entry {
    let shown = name.to_string_lossy();
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let meta = rustix::fs::openat(folder, name.as_c_str(), flags, rustix::fs::Mode::empty())
        .map_err(io::Error::from)
        .and_then(|place| File::from(place).metadata());
    Entry {
        path: at.join(&shown),
        // What vanished or can't be looked at is still there by name.
        kind: meta.as_ref().map_or(FileKind::Special("unreadable entry"), |meta| kind(meta.file_type())),
        len: meta.as_ref().map_or(0, Metadata::len),
        modified: meta.ok().and_then(|meta| meta.modified().ok()),
        depth: 1,
    }
}

/// Writes out a folder's entries. Best effort: some file systems can't, and some folders can't be opened.
pub(crate) fn sync_folder(folder: &OwnedFd) {
    if let Ok(folder) = root::open(folder, ".", OFlags::RDONLY | OFlags::DIRECTORY) {
        let _ = folder.sync_all();
    }
}
