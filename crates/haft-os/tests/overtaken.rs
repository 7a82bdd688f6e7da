//! Writes while another program writes the same file: what is reported is what happened.

// A helper in a test may fail by panicking, as the tests themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use haft_core::{Failure, FailureKind, FileChange, FileOp, Files, PathArg, RealPath, WriteMode};
use haft_os::{OsFiles, host};
use std::{
    fs::{self, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// So often a file is changed while another writes it.
const ROUNDS: usize = 60;
/// And so often the other one does.
const PACE: Duration = Duration::from_millis(2);

/// A workspace `w` with its state folder beside it.
struct House {
    folder: TempDir,
    files: OsFiles,
}

impl House {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("w")).unwrap();
        let files = OsFiles::new(&folder.path().join("w"), &[], &folder.path().join("state")).unwrap();
        Self { folder, files }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join("w").join(name)
    }

    fn real(&self, name: &str) -> RealPath {
        self.files.resolve(&PathArg(name.to_owned())).unwrap()
    }
}

fn hash(content: &[u8]) -> Arc<str> {
    haft_core::content_hash(content)
}

/// Adds lines to a file until it is told to stop.
fn appender(path: &Path, stop: &Arc<AtomicBool>) -> thread::JoinHandle<()> {
    let (path, stop) = (path.to_owned(), Arc::clone(stop));
    thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) {
            let mut file = OpenOptions::new().append(true).create(true).open(&path).unwrap();
            file.write_all(b"+\n").unwrap();
            thread::park_timeout(PACE);
        }
    })
}

/// Puts lines before what is there, each under its own number, while another program adds lines: one that is said
/// to have failed isn't there, and one that is said to be written was.
fn races(house: &House, write: impl Fn(&RealPath, &[u8], Arc<str>) -> Result<FileChange, Failure>) {
    let at = house.real("f");
    let stop = Arc::new(AtomicBool::new(false));
    let other = appender(&house.at("f"), &stop);
    let mut written = 0;
    for round in 0..ROUNDS {
        let before = fs::read(house.at("f")).unwrap();
        let line = format!("edit {round}\n");
        let after = [line.as_bytes(), &before].concat();
        let result = write(&at, &after, hash(&before));
        let now = String::from_utf8(fs::read(house.at("f")).unwrap()).unwrap();
        match result {
            Ok(change) => {
                written += 1;
                assert_eq!(change.after, Some(hash(&after)));
                assert!(now.contains(&line), "round {round}");
            }
            Err(failure) if failure.kind == FailureKind::Conflict => {
                assert!(!now.contains(&line), "round {round}: {failure}");
            }
            // Not to be tried again.
            Err(failure) => assert!(failure.text.contains("something else wrote"), "{failure}"),
        }
    }
    stop.store(true, Ordering::Relaxed);
    other.join().unwrap();
    println!("{written} of {ROUNDS} were written");
    assert_eq!(host::folder_names(&house.folder.path().join("state/journal")).unwrap(), [""; 0]);
}

#[test]
fn what_is_said_to_have_failed_was_not_written() {
    let house = House::new();
    fs::write(house.at("f"), "start\n").unwrap();
    races(&house, |at, content, before| house.files.write(at, content, &WriteMode::Over { before }));
}

#[test]
fn what_is_said_to_have_failed_was_not_written_with_others() {
    let house = House::new();
    fs::write(house.at("f"), "start\n").unwrap();
    races(&house, |at, content, before| {
        let mode = WriteMode::Over { before };
        let op = FileOp::Write { at: at.clone(), content: content.to_vec(), mode, executable: None };
        house.files.apply(&[op]).map(|mut changes| changes.remove(0))
    });
}

#[test]
fn a_write_that_fails_leaves_no_folders() {
    let house = House::new();
    let at = RealPath::new(&house.files.workspace().root, &format!("n1/n2/{}", "x".repeat(300)));
    assert!(house.files.write(&at, b"x", &WriteMode::New).is_err());
    assert_eq!(host::folder_names(&house.at("")).unwrap(), [""; 0]);
}

#[test]
fn a_folder_goes_at_the_end_only_where_it_is_empty() {
    let house = House::new();
    for name in ["a/b/gone", "kept/gone", "kept/other"] {
        fs::create_dir_all(house.at(name).parent().unwrap()).unwrap();
        fs::write(house.at(name), "x").unwrap();
    }
    let remove = |name: &str| FileOp::Remove { at: house.real(name), before: hash(b"x") };
    let tidy = |name: &str| FileOp::Tidy { at: house.real(name) };
    let changes = house
        .files
        .apply(&[remove("a/b/gone"), remove("kept/gone"), tidy("a"), tidy("a/b"), tidy("kept")])
        .unwrap();
    assert_eq!(changes.len(), 2);
    assert_eq!(host::folder_names(&house.at("")).unwrap(), ["kept"]);
}

#[test]
fn a_file_that_comes_back_gets_what_it_had_besides_its_content() {
    let house = House::new();
    fs::write(house.at("f"), "x").unwrap();
    let traits = house.files.traits(&house.real("f")).unwrap();
    assert_eq!(traits.links, 1);
    assert!(traits.owner.is_some());
    let at = house.real("f");
    house.files.apply(&[FileOp::Remove { at: at.clone(), before: hash(b"x") }]).unwrap();
    let traits = Some(traits);
    let content = b"x".to_vec();
    let back = FileOp::Restore { at: at.clone(), content, mode: 0o640, over: None, traits: traits.clone() };
    house.files.apply(&[back]).unwrap();
    assert_eq!(house.files.traits(&at).ok(), traits);
}
