//! Folders and files swapped for links to the outside, again and again, while the same paths are read, searched and
//! changed: nothing outside is ever read or written.

// A helper in a test may fail by panicking, as the tests themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use haft_core::{FileOp, Files, GrepQuery, PathArg, RealPath, WalkOptions, WriteMode};
use haft_os::{Beneath, OsFiles};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::{
    collections::BTreeMap,
    fs,
    ops::ControlFlow,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// At least so often is everything tried.
const ROUNDS: usize = 60;
/// Far more than that takes.
const PATIENCE: Duration = Duration::from_secs(120);
/// Stands in the files outside, and only there.
const MARK: &str = "OUTSIDE-THE-WORKSPACE";
/// What the file that is changed has by turns; outside there is one with the first, so that its hash keeps nobody
/// from changing it.
const CONTENTS: [&str; 2] = ["even\n", "odd\n"];

/// A workspace `w` beside a folder `outside`, and links to that beside what they are swapped for.
struct House {
    folder: TempDir,
    files: OsFiles,
}

impl House {
    fn new(how: Beneath) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (inside, outside) = (folder.path().join("w"), folder.path().join("outside"));
        for place in [inside.join("d"), outside.clone()] {
            fs::create_dir_all(place).unwrap();
        }
        fs::write(inside.join("d/mark"), "inside\n").unwrap();
        fs::write(outside.join("mark"), MARK).unwrap();
        fs::write(outside.join("only-outside"), MARK).unwrap();
        for place in [inside.join("d/same"), inside.join("same"), outside.join("same")] {
            fs::write(place, CONTENTS[0]).unwrap();
        }
        symlink("../outside", inside.join("d.link")).unwrap();
        symlink("../outside/same", inside.join("same.link")).unwrap();
        let files = OsFiles::new(&inside, &[], &folder.path().join("state")).unwrap();
        Self { folder, files: files.opened_by(how) }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join("w").join(name)
    }

    /// The path as it was judged, before anything is swapped.
    fn real(&self, name: &str) -> RealPath {
        self.files.resolve(&PathArg(name.to_owned())).unwrap()
    }

    /// Every name outside with its content and mode.
    fn outside(&self) -> BTreeMap<String, (Vec<u8>, u32)> {
        let entries = fs::read_dir(self.folder.path().join("outside")).unwrap().map(|entry| entry.unwrap());
        entries
            .map(|entry| {
                let name = entry.file_name().into_string().unwrap();
                let mode = entry.metadata().unwrap().permissions().mode();
                (name, (fs::read(entry.path()).unwrap_or_default(), mode))
            })
            .collect()
    }
}

/// Swaps two names; false where the file system can't.
fn swap(one: &Path, other: &Path) -> bool {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok()
}

fn hash(content: &str) -> Arc<str> {
    haft_core::content_hash(content.as_bytes())
}

/// One who reads and changes the paths as they were judged.
struct Worker<'a> {
    house: &'a House,
    mark: RealPath,
    /// Two files that are changed, one in the folder and one that is swapped itself.
    same: [RealPath; 2],
    folder: RealPath,
    /// How often a path led to what was judged, and how often not.
    went: usize,
    refused: usize,
}

impl Worker<'_> {
    fn round(&mut self, round: usize) {
        self.reads();
        self.writes(round);
        self.walks();
    }

    fn reads(&mut self) {
        match self.house.files.read(&self.mark, 0, 1_000) {
            Ok(bytes) => {
                assert_eq!(bytes, b"inside\n");
                self.went += 1;
            }
            Err(_) => self.refused += 1,
        }
        if let Ok(listing) = self.house.files.list(&self.folder, 1_000) {
            assert!(listing.entries.iter().all(|entry| !entry.path.absolute().ends_with("only-outside")));
        }
        if let Ok(stat) = self.house.files.stat(&self.mark) {
            assert_eq!(stat.len, 7, "that of the file outside is longer");
        }
    }

    fn writes(&self, round: usize) {
        let files = &self.house.files;
        for at in &self.same {
            for [before, after] in [CONTENTS, [CONTENTS[1], CONTENTS[0]]] {
                let mode = WriteMode::Over { before: hash(before) };
                let _ = files.write(at, after.as_bytes(), &mode);
            }
        }
        let _ = files.write(&self.folder.join(&format!("new-{round}")), b"new\n", &WriteMode::New);
        for [before, after] in [CONTENTS, [CONTENTS[1], CONTENTS[0]]] {
            let over = self.same.iter().map(|at| FileOp::Write {
                at: at.clone(),
                content: after.into(),
                mode: WriteMode::Over { before: hash(before) },
                executable: Some(round.is_multiple_of(2)),
            });
            let made = FileOp::Write {
                at: self.folder.join(&format!("made-{round}/f")),
                content: b"made\n".to_vec(),
                mode: WriteMode::New,
                executable: None,
            };
            let _ = files.apply(&over.chain([made]).collect::<Vec<_>>());
        }
        let (at, before) = (self.folder.join(&format!("new-{round}")), hash("new\n"));
        let _ = files.apply(&[FileOp::Remove { at, before }]);
    }

    fn walks(&self) {
        let files = &self.house.files;
        for tree in [files.workspace(), self.folder.clone()] {
            let _ = files.walk(&tree, &WalkOptions::default(), &mut |entry| {
                assert!(!entry.path.absolute().ends_with("only-outside"), "{}", entry.path);
                ControlFlow::Continue(())
            });
            let query = GrepQuery { pattern: MARK.to_owned(), fixed: true, ..GrepQuery::default() };
            let mut read = Vec::new();
            let _ = files.grep(&tree, &query, &mut |hit| {
                read.push(hit.path);
                ControlFlow::Continue(())
            });
            assert!(read.is_empty(), "{read:?}");
        }
    }
}

#[test]
fn nothing_outside_is_read_or_written_while_paths_are_swapped_for_links() {
    for how in [Beneath::Kernel, Beneath::Walk] {
        let house = House::new(how);
        let pairs: Vec<[PathBuf; 2]> =
            ["d", "same"].map(|name| [house.at(name), house.at(&format!("{name}.link"))]).into();
        if !pairs.iter().all(|[one, other]| swap(one, other) && swap(one, other)) {
            println!("skipped: two names can't be swapped at once on this file system");
            return;
        }
        let before = house.outside();
        let mut worker = Worker {
            mark: house.real("d/mark"),
            same: [house.real("d/same"), house.real("same")],
            folder: house.real("d"),
            house: &house,
            went: 0,
            refused: 0,
        };
        let (is_over, began) = (AtomicBool::new(false), Instant::now());
        thread::scope(|scope| {
            // Also where an assertion fails, the other thread must come to its end.
            let over = Over(&is_over);
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    for [one, other] in &pairs {
                        swap(one, other);
                        thread::yield_now();
                    }
                }
            });
            let mut round = 0;
            while round < ROUNDS || worker.went == 0 || worker.refused == 0 {
                assert!(began.elapsed() < PATIENCE, "{} went, {} refused", worker.went, worker.refused);
                worker.round(round);
                round += 1;
            }
            drop(over);
        });
        assert_eq!(house.outside(), before, "{how:?}");
    }
}

/// Says so when it is dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
