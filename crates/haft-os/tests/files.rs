//! Real files in real temporary folders: a fake file system lies about links, modes and races.

// A helper in a test may fail by panicking, as the tests themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use haft_core::{
    Cancel, Failure, FailureKind, FileKind, Files, GrepHit, GrepQuery, Http, HttpRequest, PathArg, RealPath,
    StateFolder as _, WalkOptions, WriteMode, content_hash,
};
use haft_os::{Beneath, FolderWatch, OsFiles, OsHttp, OsState, host};
use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    ops::ControlFlow,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    sync::{Arc, mpsc},
    time::{Duration, SystemTime},
};
use tempfile::TempDir;

const BOTH: [Beneath; 2] = [Beneath::Kernel, Beneath::Walk];

/// A workspace `w` with its state folder beside it.
struct House {
    folder: TempDir,
    files: OsFiles,
}

impl House {
    fn new() -> Self {
        Self::opened_by(Beneath::detect())
    }

    fn opened_by(how: Beneath) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("w")).unwrap();
        let files = OsFiles::new(&folder.path().join("w"), &[], &folder.path().join("state")).unwrap();
        Self { folder, files: files.opened_by(how) }
    }

    /// Where a name in the workspace lies.
    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join("w").join(name)
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    fn real(&self, name: &str) -> RealPath {
        self.files.resolve(&PathArg(name.to_owned())).unwrap()
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, Failure> {
        self.files.read(&self.real(name), 0, 1 << 20)
    }

    fn over(&self, name: &str, before: &[u8], after: &[u8]) -> Result<haft_core::FileChange, Failure> {
        self.files.write(&self.real(name), after, &WriteMode::Over { before: content_hash(before) })
    }

    fn walk(&self, options: &WalkOptions) -> (Vec<String>, haft_core::WalkReport) {
        let mut seen = Vec::new();
        let report = self
            .files
            .walk(&self.files.workspace(), options, &mut |entry| {
                seen.push(entry.path.beneath.to_string());
                ControlFlow::Continue(())
            })
            .unwrap();
        (seen, report)
    }

    fn grep(&self, name: &str, query: &GrepQuery) -> (Vec<GrepHit>, haft_core::WalkReport) {
        let mut hits = Vec::new();
        let report = self
            .files
            .grep(&self.real(name), query, &mut |hit| {
                hits.push(hit);
                ControlFlow::Continue(())
            })
            .unwrap();
        (hits, report)
    }

    /// Nothing but these names stands in the workspace: no temporary file was left.
    fn assert_names(&self, names: &[&str]) {
        assert_eq!(host::folder_names(&self.at("")).unwrap(), names);
    }
}

fn mkfifo(path: &Path) {
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, path, mode).unwrap();
}

fn query(pattern: &str) -> GrepQuery {
    GrepQuery { pattern: pattern.to_owned(), ..GrepQuery::default() }
}

#[test]
fn write_changes_exactly_the_bytes_it_is_given() {
    let house = House::new();
    house.put("a.ini", "k=1\r\nm=2\nz=3");
    let change = house.over("a.ini", b"k=1\r\nm=2\nz=3", b"k=1\r\nm=20\nz=3").unwrap();
    assert_eq!(house.read("a.ini").unwrap(), b"k=1\r\nm=20\nz=3");
    assert_eq!(change.after.unwrap(), content_hash(b"k=1\r\nm=20\nz=3"));
    assert_eq!(house.files.read(&house.real("a.ini"), 5, 3).unwrap(), b"m=2");
    house.assert_names(&["a.ini"]);
}

#[test]
fn links_names_and_mode_outlive_a_write() {
    let house = House::new();
    let path = house.put("t", "v1\n");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    symlink("t", house.at("s")).unwrap();

    let change = house.over("s", b"v1\n", b"v2\n").unwrap();
    assert_eq!(change.path.beneath.as_ref(), "t");
    assert!(fs::symlink_metadata(house.at("s")).unwrap().is_symlink());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o750);

    fs::hard_link(&path, house.at("h")).unwrap();
    let inode = fs::metadata(&path).unwrap().ino();
    house.over("s", b"v2\n", b"v3, longer\n").unwrap();
    house.over("s", b"v3, longer\n", b"v4\n").unwrap();
    assert_eq!(fs::read(house.at("h")).unwrap(), b"v4\n");
    assert_eq!(fs::read(&path).unwrap(), b"v4\n");
    assert_eq!(fs::metadata(&path).unwrap().ino(), inode);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o750);
    house.assert_names(&["h", "s", "t"]);
    assert!(host::folder_names(&house.folder.path().join("state/journal")).unwrap().is_empty());
}

#[test]
fn special_files_are_refused_at_once_and_skipped_by_searches() {
    for how in BOTH {
        let house = House::opened_by(how);
        mkfifo(&house.at("p"));
        symlink("/dev/zero", house.at("z")).unwrap();
        symlink("p", house.at("lp")).unwrap();
        house.put("a.txt", "needle\n");
        for (name, what) in [("p", "named pipe"), ("lp", "named pipe"), ("z", "character device")] {
            let refused = house.read(name).unwrap_err();
            assert_eq!(refused.kind, FailureKind::InvalidInput);
            assert!(refused.text.contains(what), "{}", refused.text);
            assert!(house.over(name, b"", b"x").unwrap_err().text.contains(what));
            assert!(
                house.files.write(&house.real(name), b"x", &WriteMode::New).unwrap_err().text.contains(what)
            );
        }
        let (hits, report) = house.grep(".", &query("needle"));
        assert_eq!((hits.len(), report.files, report.special), (1, 1, 1));
        let refused = house.files.grep(&house.real("p"), &query("x"), &mut |_| ControlFlow::Continue(()));
        assert!(refused.unwrap_err().text.contains("named pipe"));
        assert!(matches!(house.files.stat(&house.real("p")).unwrap().kind, FileKind::Special(_)));
    }
}

#[test]
fn a_short_file_is_read_as_it_is_looked_at_and_anything_else_only_looked_at() {
    for how in BOTH {
        let house = House::opened_by(how);
        mkfifo(&house.at("p"));
        fs::create_dir(house.at("d")).unwrap();
        house.put("none", "");
        house.put("most", "12345678");
        house.put("more", "123456789");
        for (name, expected) in
            [("none", Some("")), ("most", Some("12345678")), ("more", None), ("d", None), ("p", None)]
        {
            let at = house.real(name);
            let short = house.files.read_short(&at, 8).unwrap();
            assert_eq!(short.stat, house.files.stat(&at).unwrap(), "{name}");
            assert_eq!(short.bytes.as_deref(), expected.map(str::as_bytes), "{name}");
        }
        let at = house.real("most");
        fs::remove_file(house.at("most")).unwrap();
        assert_eq!(house.files.read_short(&at, 8).unwrap_err().kind, FailureKind::NotFound);
        symlink("none", house.at("most")).unwrap();
        assert!(house.files.read_short(&at, 8).is_err(), "a link isn't followed");
        // Its length says nothing.
        if let Ok(version) = fs::read("/proc/version") {
            let at = house.real("/proc/version");
            let short = |most| house.files.read_short(&at, most).unwrap();
            assert_eq!((short(version.len() - 1).bytes, short(version.len()).bytes), (None, Some(version)));
        }
    }
}

#[test]
fn a_folder_swapped_for_a_link_is_a_conflict_and_nothing_outside_changes() {
    for how in BOTH {
        let house = House::opened_by(how);
        house.put("d/f", "old");
        let outside = house.folder.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("f"), "old").unwrap();
        let (file, fresh) = (house.real("d/f"), house.real("d/new/g"));

        fs::rename(house.at("d"), house.at("moved")).unwrap();
        symlink(&outside, house.at("d")).unwrap();
        let over = WriteMode::Over { before: content_hash(b"old") };
        for refused in [
            house.files.write(&file, b"new", &over).unwrap_err(),
            house.files.write(&fresh, b"new", &WriteMode::New).unwrap_err(),
            house.files.read(&file, 0, 9).unwrap_err(),
            house.files.list(&house.files.workspace().join("d"), 9).unwrap_err(),
        ] {
            assert_eq!(refused.kind, FailureKind::Conflict, "{}", refused.text);
        }
        assert_eq!(host::folder_names(&outside).unwrap(), ["f"]);
        assert_eq!(fs::read(outside.join("f")).unwrap(), b"old");
    }
}

#[test]
fn a_file_swapped_for_a_link_is_a_conflict() {
    for how in BOTH {
        let house = House::opened_by(how);
        house.put("f", "old");
        let file = house.real("f");
        let secret = house.folder.path().join("secret");
        fs::write(&secret, "old").unwrap();
        fs::remove_file(house.at("f")).unwrap();
        symlink(&secret, house.at("f")).unwrap();
        assert_eq!(house.files.read(&file, 0, 9).unwrap_err().kind, FailureKind::Conflict);
        let over = WriteMode::Over { before: content_hash(b"old") };
        assert_eq!(house.files.write(&file, b"new", &over).unwrap_err().kind, FailureKind::Conflict);
        assert_eq!(
            house.files.write(&file, b"new", &WriteMode::New).unwrap_err().kind,
            FailureKind::Conflict
        );
        assert_eq!(fs::read(&secret).unwrap(), b"old");
    }
}

#[test]
fn new_refuses_what_exists_and_makes_missing_folders() {
    for how in BOTH {
        let house = House::opened_by(how);
        house.put("cfg.env", "KEEP=1");
        symlink("cfg.env", house.at("link")).unwrap();
        for name in ["cfg.env", "link"] {
            let refused = house.files.write(&house.real(name), b"NEW=1", &WriteMode::New).unwrap_err();
            assert_eq!(refused.kind, FailureKind::Conflict);
        }
        assert_eq!(house.read("cfg.env").unwrap(), b"KEEP=1");
        let change = house.files.write(&house.real("a/b/c"), b"x", &WriteMode::New).unwrap();
        assert_eq!((change.before, house.read("a/b/c").unwrap()), (None, b"x".to_vec()));
        assert!(
            house.files.write(&house.real("."), b"x", &WriteMode::New).unwrap_err().text.contains("folder")
        );
        house.assert_names(&["a", "cfg.env", "link"]);
        assert_eq!(host::folder_names(&house.at("a/b")).unwrap(), ["c"]);
    }
}

#[test]
fn over_refuses_changed_and_removed_content() {
    let house = House::new();
    house.put("f", "theirs");
    let refused = house.over("f", b"mine", b"x").unwrap_err();
    assert_eq!(refused.kind, FailureKind::Conflict);
    assert_eq!(house.read("f").unwrap(), b"theirs");
    assert_eq!(house.over("gone", b"mine", b"x").unwrap_err().kind, FailureKind::Conflict);
    house.assert_names(&["f"]);
}

#[test]
fn writers_that_take_the_lock_never_lose_a_line() {
    let house = House::new();
    house.put("log", "");
    let path = house.real("log");
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let (files, path) = (&house.files, &path);
            scope.spawn(move || {
                let _held = files.lock(path, &Cancel::new()).unwrap();
                let before = files.read(path, 0, 1 << 20).unwrap();
                let after = [before.as_slice(), format!("{writer}\n").as_bytes()].concat();
                files.write(path, &after, &WriteMode::Over { before: content_hash(&before) }).unwrap();
            });
        }
    });
    let text = String::from_utf8(house.read("log").unwrap()).unwrap();
    let lines: BTreeSet<_> = text.lines().collect();
    assert_eq!(lines.len(), 8);
    assert!(host::folder_names(&house.folder.path().join("state/locks")).unwrap().is_empty());
}

#[test]
fn a_cancelled_wait_for_a_lock_ends() {
    let house = House::new();
    let path = house.real("f");
    let held = house.files.lock(&path, &Cancel::new()).unwrap();
    let cancel = Cancel::new();
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| house.files.lock(&path, &cancel).err().map(|failure| failure.kind));
        cancel.fire();
        assert_eq!(waiting.join().unwrap(), Some(FailureKind::Cancelled));
    });
    drop(held);
    assert!(house.files.lock(&path, &Cancel::new()).is_ok());
}

#[test]
fn paths_resolve_to_one_spelling() {
    let house = House::new();
    house.put("src/a.rs", "");
    symlink("src", house.at("link")).unwrap();
    symlink("src/later.rs", house.at("dangling")).unwrap();
    symlink("circle", house.at("circle")).unwrap();
    symlink("/etc", house.at("out")).unwrap();
    let absolute = house.at("src/a.rs").to_str().unwrap().to_owned();
    for name in ["src/a.rs", "./src//a.rs", "link/a.rs", "src/../link/./a.rs", absolute.as_str()] {
        assert_eq!(house.real(name).beneath.as_ref(), "src/a.rs", "{name}");
        assert!(!house.real(name).is_outside());
    }
    assert_eq!(house.real("dangling").beneath.as_ref(), "src/later.rs");
    assert_eq!(house.real(".").beneath.as_ref(), "");
    assert_eq!(house.real("out/nothing-here"), RealPath::new("/", "etc/nothing-here"));
    for bad in ["", "a\0b", "circle", "missing/../src", "src/a.rs/b", "file:///etc/hosts"] {
        let refused = house.files.resolve(&PathArg(bad.to_owned())).unwrap_err();
        assert_eq!(refused.kind, FailureKind::InvalidInput, "{bad}");
    }
}

#[test]
fn the_longest_root_holds_a_path() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().canonicalize().unwrap();
    fs::create_dir_all(real.join("w/inner")).unwrap();
    fs::create_dir_all(real.join("winner")).unwrap();
    let missing = real.join("missing");
    let roots = [real.join("w/inner"), missing.clone()];
    let files = OsFiles::new(&real.join("w"), &roots, &real.join("state")).unwrap();
    let at = |path: &str| files.resolve(&PathArg(real.join(path).to_str().unwrap().to_owned())).unwrap();
    assert_eq!(at("w/inner/x"), RealPath::new(real.join("w/inner").to_str().unwrap(), "x"));
    assert_eq!(at("w/x"), RealPath::new(real.join("w").to_str().unwrap(), "x"));
    assert!(at("winner/x").is_outside());
    assert_eq!(files.missing_roots(), [missing]);
}

#[test]
fn what_is_not_there_is_answered_with_similar_names() {
    let house = House::new();
    house.put("src/main.rs", "");
    let text = house.read("src/mian.rs").unwrap_err().text;
    assert!(text.contains("did you mean src/main.rs?"), "{text}");
    assert!(house.read("nowhere/at/all").unwrap_err().text.contains("nowhere/at"));
    assert!(house.read("src").unwrap_err().text.contains("list it"));
}

#[test]
fn a_listing_is_sorted_and_counts_the_rest() {
    let house = House::new();
    house.put("b", "12");
    house.put("a", "");
    house.put("c/d", "");
    symlink("b", house.at("l")).unwrap();
    let listing = house.files.list(&house.files.workspace(), 3).unwrap();
    let names: Vec<_> =
        listing.entries.iter().map(|entry| (entry.path.file_name(), entry.kind, entry.len)).collect();
    assert_eq!(names[..2], [("a", FileKind::File, 0), ("b", FileKind::File, 2)]);
    assert_eq!((names[2].0, names[2].1, listing.left_out), ("c", FileKind::Folder, 1));
    assert!(house.files.list(&house.real("b"), 3).unwrap_err().text.contains("not a folder"));
}

#[test]
fn a_walk_hides_what_is_ignored_and_never_enters_git() {
    let house = House::new();
    house.put(".gitignore", "dist/\n*.log\n");
    house.put("dist/app.js", "");
    house.put(".github/w.yml", "");
    house.put(".git/config", "");
    house.put("src/a.js", "");
    house.put("src/b.rs", "");
    house.put("x.log", "");
    mkfifo(&house.at("pipe"));
    symlink("src", house.at("to-src")).unwrap();

    let (seen, report) = house.walk(&WalkOptions::default());
    assert_eq!(seen, ["pipe", "src", "src/a.js", "src/b.rs", "to-src"]);
    assert_eq!((report.files, report.special), (2, 1));

    let (seen, _) = house.walk(&WalkOptions { ignored: true, ..WalkOptions::default() });
    assert!(seen.contains(&"dist/app.js".to_owned()) && seen.contains(&".github/w.yml".to_owned()));
    assert!(!seen.iter().any(|path| path.starts_with(".git/") || path == ".git"));

    let globs = |globs: &[&str]| WalkOptions {
        globs: globs.iter().map(|&glob| glob.to_owned()).collect(),
        ..WalkOptions::default()
    };
    assert_eq!(house.walk(&globs(&["**/*.js"])).0, ["src/a.js"]);
    assert_eq!(house.walk(&globs(&["*.log"])).0, [""; 0], "a glob doesn't show what is ignored");
    assert_eq!(house.walk(&globs(&["!*.js", "!to-src"])).0, ["pipe", "src", "src/b.rs"]);
    let types = WalkOptions { types: vec!["rust".to_owned()], ..WalkOptions::default() };
    assert_eq!(house.walk(&types).0, ["src/b.rs"]);
    let shallow = WalkOptions { depth: Some(1), ..WalkOptions::default() };
    assert_eq!(house.walk(&shallow).0, ["pipe", "src", "to-src"]);

    let skip = WalkOptions {
        skip: Some(Arc::new(|path: &RealPath| path.beneath.as_ref() == "src")),
        ..WalkOptions::default()
    };
    let (seen, report) = house.walk(&skip);
    assert_eq!((seen, report.denied), (vec!["pipe".to_owned(), "to-src".to_owned()], 1));

    for bad in [globs(&["a{b"]), WalkOptions { types: vec!["klingon".to_owned()], ..WalkOptions::default() }]
    {
        let refused = house.files.walk(&house.files.workspace(), &bad, &mut |_| ControlFlow::Continue(()));
        assert_eq!(refused.unwrap_err().kind, FailureKind::InvalidInput);
    }
    let cancelled = WalkOptions::default();
    cancelled.cancel.fire();
    assert!(house.walk(&cancelled).1.stopped);
}

#[test]
fn grep_counts_honestly_and_in_order() {
    let house = House::new();
    house.put("b.txt", "one\ntwo\nthree two\n\nfour\nfive\ntwo");
    house.put("a.txt", "TWO\r\n");
    house.put("c.bin", b"two\0two\n");
    let mut wide = b"\xff\xfe".to_vec();
    wide.extend("two\n".encode_utf16().flat_map(u16::to_le_bytes));
    house.put("w.txt", wide);
    house.put("many.log", "two\n".repeat(1_500));

    let (hits, report) = house.grep(".", &query("two$"));
    let counts: Vec<_> =
        hits.iter().map(|hit| (hit.path.beneath.as_ref(), hit.count, hit.left_out)).collect();
    assert_eq!(counts, [("b.txt", 3, 0), ("many.log", 1_500, 500), ("w.txt", 1, 0)]);
    assert_eq!((report.files, report.binary), (5, 1));
    let numbers: Vec<_> = hits[0].lines.iter().map(|line| (line.number, line.after_gap)).collect();
    assert_eq!(numbers, [(2, false), (3, false), (7, true)]);

    let (hits, _) = house.grep("a.txt", &GrepQuery { ignore_case: true, ..query("two$") });
    assert_eq!(hits[0].lines[0].text, "TWO");
    let (hits, _) = house.grep("b.txt", &GrepQuery { context: 1, ..query("three") });
    let lines: Vec<_> = hits[0].lines.iter().map(|line| (line.number, line.matched)).collect();
    assert_eq!(lines, [(2, false), (3, true), (4, false)]);
    let (hits, _) = house.grep("b.txt", &GrepQuery { multiline: true, ..query("one.*three") });
    assert_eq!((hits[0].count, hits[0].lines.len()), (3, 3));
    assert_eq!(house.grep("c.bin", &query("two")).1.binary, 1);

    let bad = house.files.grep(&house.real("."), &query("a("), &mut |_| ControlFlow::Continue(()));
    assert!(bad.unwrap_err().text.contains("fixed"));
    let (hits, _) = house.grep(".", &GrepQuery { fixed: true, ..query("two\\(") });
    assert!(hits.is_empty());
}

#[test]
fn a_torn_line_spoils_only_itself() {
    let folder = tempfile::tempdir().unwrap();
    let state = OsState::new(folder.path().join("state"));
    state.open_log("s/log.jsonl").unwrap().append(b"{\"a\":1}").unwrap();
    fs::OpenOptions::new()
        .append(true)
        .open(state.path("s/log.jsonl").unwrap())
        .unwrap()
        .write_all(b"{\"b\"")
        .unwrap();
    state.open_log("s/log.jsonl").unwrap().append(b"{\"c\":3}").unwrap();
    assert_eq!(state.read("s/log.jsonl", 99).unwrap().unwrap(), b"{\"a\":1}\n{\"b\"\n{\"c\":3}\n");
    let mode = |rel: &str| fs::metadata(state.path(rel).unwrap()).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("s/log.jsonl"), mode("s")), (0o600, 0o700));
    assert!(state.read("s/log.jsonl", 5).is_err());
    assert!(state.read("none", 5).unwrap().is_none());
}

#[test]
fn numbers_are_given_once_to_whoever_asks() {
    let folder = tempfile::tempdir().unwrap();
    let state = OsState::new(folder.path());
    let counters = [state.open_counter("n").unwrap(), state.open_counter("n").unwrap()];
    let mut given: Vec<u64> = (0..700).map(|index| counters[index % 2].next().unwrap()).collect();
    assert_eq!(given[0], 1);
    given.sort_unstable();
    given.dedup();
    assert_eq!(given.len(), 700);
}

#[test]
fn what_is_held_is_seen_until_its_holder_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let state = OsState::new(folder.path());
    assert!(!state.is_held("run"));
    let held = state.hold("run").unwrap();
    assert!(state.is_held("run") && state.hold("run").is_err());
    drop(held);
    assert!(!state.is_held("run"));
}

#[test]
fn the_state_folder_keeps_names_inside_and_updates_whole() {
    let folder = tempfile::tempdir().unwrap();
    let state = OsState::new(folder.path());
    for bad in ["../x", "/etc/passwd", "a/../../b"] {
        assert!(state.write_atomic(bad, b"").is_err());
    }
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let grow = |old: Option<Vec<u8>>| Ok([old.unwrap_or_default(), b"x".to_vec()].concat());
                state.update("n/count", grow).unwrap();
            });
        }
    });
    assert_eq!(state.read("n/count", 99).unwrap().unwrap(), b"xxxxxxxx");
    assert!(state.update("n/count", |_| Err(Failure::cancelled())).is_err());
    assert_eq!(state.list("n").unwrap(), ["count", "count.lock"]);

    let mut spill = state.spill("spill/1").unwrap();
    spill.write(b"ab").unwrap();
    spill.write(b"c").unwrap();
    assert_eq!((spill.bytes(), fs::read(spill.path()).unwrap()), (3, b"abc".to_vec()));
    assert_eq!(state.list("spill").unwrap(), ["1"]);
    state.remove("spill").unwrap();
    state.remove("spill").unwrap();
    assert_eq!(state.list("spill").unwrap(), Vec::<String>::new());
}

#[test]
fn what_is_kept_again_has_its_time_renewed_once_a_minute() {
    let folder = tempfile::tempdir().unwrap();
    let state = OsState::new(folder.path());
    state.keep("k", || Ok(b"x".to_vec())).unwrap();
    let file = fs::File::options().append(true).open(folder.path().join("k")).unwrap();
    // One whose time is ahead, as after the clock was set back, would stay for ever.
    for (from_now, is_renewed) in [(-7_200_i64, true), (-20, false), (7_200, true)] {
        let span = Duration::from_secs(from_now.unsigned_abs());
        let now = SystemTime::now();
        let before = if from_now < 0 { now - span } else { now + span };
        file.set_modified(before).unwrap();
        state.keep("k", || Err(Failure::internal("it is there"))).unwrap();
        let after = file.metadata().unwrap().modified().unwrap();
        let moved = after.duration_since(before).unwrap_or_else(|error| error.duration());
        assert_eq!(moved > Duration::from_secs(60), is_renewed, "{from_now}");
    }
}

#[test]
fn a_new_file_replaces_none_and_may_be_run_only_if_meant_so() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run");
    host::write_new_file(&file, b"1", host::Executable::No).unwrap();
    assert!(host::write_new_file(&file, b"2", host::Executable::No).is_err());
    assert!(!host::is_file(&folder.path().join("none")) && host::is_file(&file));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(host::is_executable(&file));
}

#[test]
fn a_watch_tells_of_a_change() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (sender, told) = mpsc::channel();
    let _watch = FolderWatch::new(std::slice::from_ref(&root), move |paths: &BTreeSet<PathBuf>| {
        let _ = sender.send(paths.clone());
    })
    .unwrap();
    fs::write(root.join("new"), "x").unwrap();
    assert!(told.recv_timeout(Duration::from_secs(10)).unwrap().contains(&root.join("new")));
    assert!(FolderWatch::new(&[root.join("none")], |_| {}).is_err());
}

/// Answers one request with the given bytes and ends; gives the address and later the request's lines.
fn serve(answer: &'static str) -> (String, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/x", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let lines = BufReader::new(&stream).lines().map_while(Result::ok);
        let head = lines.take_while(|line| !line.is_empty()).collect();
        stream.write_all(answer.as_bytes()).unwrap();
        head
    });
    (url, served)
}

fn request(url: String) -> HttpRequest {
    let headers = vec![("x-own".to_owned(), "1".to_owned())];
    HttpRequest {
        method: "GET".to_owned(),
        url,
        headers,
        body: Vec::new(),
        idle_timeout: Duration::from_secs(10),
    }
}

#[tokio::test]
async fn http_streams_a_body_and_follows_no_redirect() {
    use futures::TryStreamExt;
    let http = OsHttp::default();
    let (url, served) = serve(
        "HTTP/1.1 200 OK\r\nX-Kind: b\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
    );
    let response = http.send(request(url)).await.unwrap();
    assert_eq!((response.status, response.header("x-kind")), (200, Some("b")));
    let pieces: Vec<Vec<u8>> = response.body.try_collect().await.unwrap();
    assert_eq!(pieces.concat(), b"abcde");
    assert!(served.join().unwrap().contains(&"x-own: 1".to_owned()));

    let (url, _served) =
        serve("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n");
    assert_eq!(http.send(request(url)).await.unwrap().status, 302);

    let (url, _served) = serve("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc");
    let cut = http.send(request(url)).await.unwrap().body.try_collect::<Vec<_>>().await;
    assert_eq!(cut.unwrap_err().kind, FailureKind::Unavailable);

    let refused = http.send(request("http://127.0.0.1:1/".to_owned())).await.err().unwrap();
    assert_eq!(refused.kind, FailureKind::Unavailable);
    assert_eq!(http.send(request("no url".to_owned())).await.err().unwrap().kind, FailureKind::InvalidInput);
}
