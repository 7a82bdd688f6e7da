//! Several changes to files, all or none: also where the process is killed in the middle.

// A helper in a test may fail by panicking, as the tests themselves.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use haft_core::{Failure, FailureKind, FileChange, FileOp, Files, PathArg, RealPath, WriteMode};
use haft_os::{OsFiles, host};
use std::{
    collections::BTreeMap,
    env, fs,
    hash::{BuildHasher, Hasher, RandomState},
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};
use tempfile::TempDir;

/// So many processes are killed, unless this variable says otherwise.
const ROUNDS: usize = 100;
const ROUNDS_VARIABLE: &str = "HAFT_KILL_ROUNDS";
/// Has the test that it is set for change the files in this folder, to be killed.
const FOLDER_VARIABLE: &str = "HAFT_KILL_FOLDER";
/// The same for the test that writes one file after another.
const WRITER_VARIABLE: &str = "HAFT_KILL_WRITER_FOLDER";
/// Far more than a start takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A workspace `w` with its state folder beside it.
struct House {
    folder: TempDir,
    files: OsFiles,
}

impl House {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("w")).unwrap();
        let files = open(folder.path());
        Self { folder, files }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join("w").join(name)
    }

    fn put(&self, name: &str, content: &str) {
        put(self.folder.path(), name, content);
    }

    fn real(&self, name: &str) -> RealPath {
        real(&self.files, name)
    }

    fn apply(&self, ops: &[FileOp]) -> Result<Vec<FileChange>, Failure> {
        self.files.apply(ops)
    }

    fn tree(&self) -> BTreeMap<String, String> {
        tree(self.folder.path())
    }

    fn assert_tidy(&self) {
        assert_tidy(self.folder.path());
    }
}

fn open(base: &Path) -> OsFiles {
    OsFiles::new(&base.join("w"), &[], &base.join("state")).unwrap()
}

fn put(base: &Path, name: &str, content: &str) {
    let path = base.join("w").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn real(files: &OsFiles, name: &str) -> RealPath {
    files.resolve(&PathArg(name.to_owned())).unwrap()
}

fn hash(content: &str) -> Arc<str> {
    haft_core::content_hash(content.as_bytes())
}

fn over(at: RealPath, before: &str, after: &str) -> FileOp {
    let mode = WriteMode::Over { before: hash(before) };
    FileOp::Write { at, content: after.into(), mode, executable: None }
}

fn new(at: RealPath, content: &str) -> FileOp {
    FileOp::Write { at, content: content.into(), mode: WriteMode::New, executable: None }
}

fn remove(at: RealPath, before: &str) -> FileOp {
    FileOp::Remove { at, before: hash(before) }
}

fn relocate(from: RealPath, to: RealPath, before: &str, after: Option<&str>) -> FileOp {
    FileOp::Move { from, to, before: hash(before), content: after.map(Into::into), executable: None }
}

/// Everything in the workspace: files with their content and mode, folders.
fn tree(base: &Path) -> BTreeMap<String, String> {
    fn add(folder: &Path, prefix: &str, tree: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
            let meta = fs::symlink_metadata(entry.path()).unwrap();
            if meta.is_dir() {
                add(&entry.path(), &format!("{name}/"), tree);
                tree.insert(format!("{name}/"), String::new());
            } else {
                let content = fs::read_to_string(entry.path()).unwrap();
                tree.insert(name, format!("{:o} {content}", meta.permissions().mode() & 0o777));
            }
        }
    }
    let mut all = BTreeMap::new();
    add(&base.join("w"), "", &mut all);
    all
}

fn assert_tidy(base: &Path) {
    assert_eq!(host::folder_names(&base.join("state/journal")).unwrap(), [""; 0]);
}

#[test]
fn all_kinds_of_changes_happen_together() {
    let house = House::new();
    for (name, content) in [("a", "1"), ("gone", "2"), ("from", "3"), ("edited", "4"), ("h1", "5")] {
        house.put(name, content);
    }
    fs::set_permissions(house.at("edited"), fs::Permissions::from_mode(0o750)).unwrap();
    fs::hard_link(house.at("h1"), house.at("h2")).unwrap();
    let inode = |name: &str| fs::metadata(house.at(name)).unwrap().ino();
    let (linked, moved) = (inode("h1"), inode("from"));
    let changes = house
        .apply(&[
            over(house.real("a"), "1", "one"),
            remove(house.real("gone"), "2"),
            relocate(house.real("from"), house.real("d/e/to"), "3", None),
            relocate(house.real("edited"), house.real("d/edited"), "4", Some("four")),
            over(house.real("h1"), "5", "five"),
            new(house.real("n/new"), "6"),
        ])
        .unwrap();
    assert_eq!(changes.len(), 8, "two for each move");
    assert_eq!((changes[1].before.clone(), changes[1].after.clone()), (Some(hash("2")), None));
    assert_eq!((changes[3].before.clone(), changes[3].after.clone()), (None, Some(hash("3"))));
    let read = |name: &str| fs::read_to_string(house.at(name)).unwrap();
    assert_eq!(
        ["a", "d/e/to", "d/edited", "h1", "h2", "n/new"].map(read),
        ["one", "3", "four", "five", "five", "6"].map(str::to_owned)
    );
    assert_eq!((inode("h2"), inode("d/e/to")), (linked, moved));
    assert_eq!(fs::metadata(house.at("d/edited")).unwrap().permissions().mode() & 0o777, 0o750);
    assert!(!house.at("gone").exists() && !house.at("from").exists() && !house.at("edited").exists());
    assert_eq!(host::folder_names(&house.at("")).unwrap(), ["a", "d", "h1", "h2", "n"]);
    house.assert_tidy();
}

#[test]
fn what_does_not_hold_keeps_everything_from_happening() {
    let house = House::new();
    house.put("a", "1");
    house.put("b", "2");
    fs::create_dir(house.at("folder")).unwrap();
    let before = house.tree();
    let good = || [over(house.real("a"), "1", "one"), new(house.real("x/y/new"), "n")];
    for (bad, kind, part) in [
        (over(house.real("b"), "other", "x"), FailureKind::Conflict, "changed"),
        (over(house.real("none"), "", "x"), FailureKind::Conflict, "removed"),
        (new(house.real("b"), "x"), FailureKind::Conflict, "exists"),
        (new(house.real("folder"), "x"), FailureKind::InvalidInput, "folder"),
        (remove(house.real("b"), "other"), FailureKind::Conflict, "changed"),
        (remove(house.real("folder"), ""), FailureKind::InvalidInput, "folder"),
        (relocate(house.real("b"), house.real("folder"), "2", None), FailureKind::InvalidInput, "folder"),
        (relocate(house.real("b"), house.real("a"), "2", None), FailureKind::InvalidInput, "two changes"),
        (over(house.real("a"), "1", "again"), FailureKind::InvalidInput, "two changes"),
    ] {
        let [first, second] = good();
        for ops in [vec![first.clone(), second.clone(), bad.clone()], vec![bad.clone(), first, second]] {
            let refused = house.apply(&ops).unwrap_err();
            assert_eq!(refused.kind, kind, "{}", refused.text);
            assert!(refused.text.contains(part), "{}", refused.text);
            assert_eq!(house.tree(), before);
            house.assert_tidy();
        }
    }
}

#[test]
fn links_are_followed_and_the_right_to_run_is_set_and_taken() {
    let house = House::new();
    house.put("t", "1");
    symlink("t", house.at("s")).unwrap();
    let mode = |name: &str| fs::metadata(house.at(name)).unwrap().permissions().mode() & 0o777;
    fs::set_permissions(house.at("t"), fs::Permissions::from_mode(0o640)).unwrap();
    let op = |executable| FileOp::Write {
        at: house.real("s"),
        content: "1".into(),
        mode: WriteMode::Over { before: hash("1") },
        executable: Some(executable),
    };
    house.apply(&[op(true)]).unwrap();
    assert_eq!(mode("t"), 0o750);
    assert!(fs::symlink_metadata(house.at("s")).unwrap().is_symlink());
    house.apply(&[op(false)]).unwrap();
    assert_eq!(mode("t"), 0o640);
    house.assert_tidy();
}

#[test]
fn a_folder_swapped_for_a_link_keeps_everything_from_happening() {
    let house = House::new();
    house.put("a", "1");
    house.put("d/f", "2");
    let outside = house.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("f"), "2").unwrap();
    let ops = [over(house.real("a"), "1", "one"), over(house.real("d/f"), "2", "two")];
    fs::rename(house.at("d"), house.at("kept")).unwrap();
    symlink(&outside, house.at("d")).unwrap();
    assert_eq!(house.apply(&ops).unwrap_err().kind, FailureKind::Conflict);
    assert_eq!(fs::read_to_string(house.at("a")).unwrap(), "1");
    assert_eq!(fs::read_to_string(outside.join("f")).unwrap(), "2");
    house.assert_tidy();
}

/// The files before the change that is killed.
fn old_files(base: &Path) {
    for index in 0..5 {
        put(base, &format!("f{index}"), &format!("old {index}\n").repeat(2_000));
    }
    put(base, "gone", "gone\n");
    put(base, "from", "moved\n");
    put(base, "m1", "before\n");
    put(base, "h1", &"linked old\n".repeat(500));
    fs::hard_link(base.join("w/h1"), base.join("w/h2")).unwrap();
}

/// Ten files change.
fn ten(files: &OsFiles) -> Vec<FileOp> {
    let mut ops: Vec<FileOp> = (0..5)
        .map(|index| {
            let (before, after) =
                (format!("old {index}\n").repeat(2_000), format!("new {index}\n").repeat(3_000));
            over(real(files, &format!("f{index}")), &before, &after)
        })
        .collect();
    ops.push(remove(real(files, "gone"), "gone\n"));
    ops.push(relocate(real(files, "from"), real(files, "to/deep/to"), "moved\n", None));
    ops.push(over(real(files, "h1"), &"linked old\n".repeat(500), &"linked new\n".repeat(700)));
    ops.push(new(real(files, "new/n"), "n\n"));
    ops.push(relocate(real(files, "m1"), real(files, "new/m2"), "before\n", Some("after\n")));
    ops
}

/// The victim of the test below; alone it does nothing.
#[test]
fn changes_ten_files_and_may_be_killed() {
    let Some(base) = env::var_os(FOLDER_VARIABLE).map(PathBuf::from) else { return };
    let files = open(&base);
    let ops = ten(&files);
    fs::write(base.join("started"), "").unwrap();
    files.apply(&ops).unwrap();
}

/// A number below `end`, another each time.
fn random(end: u128) -> u128 {
    u128::from(RandomState::new().build_hasher().finish()) % end.max(1)
}

/// What a file has after so many writes.
fn version(number: usize) -> String {
    format!("version {number}\n").repeat(2_000 + number % 7 * 300)
}

/// The victim of the test after next; alone it does nothing. It writes a file by renaming, one with two names in
/// place, and makes and removes a third, again and again.
#[test]
fn writes_files_and_may_be_killed() {
    let Some(base) = env::var_os(WRITER_VARIABLE).map(PathBuf::from) else { return };
    let files = open(&base);
    let (alone, twice, made) = (real(&files, "alone"), real(&files, "twice"), real(&files, "d/made"));
    fs::write(base.join("started"), "").unwrap();
    let began = Instant::now();
    for number in 1.. {
        let (before, after) = (version(number - 1), version(number));
        for at in [&alone, &twice] {
            files.write(at, after.as_bytes(), &WriteMode::Over { before: hash(&before) }).unwrap();
        }
        files.write(&made, after.as_bytes(), &WriteMode::New).unwrap();
        files.apply(&[remove(made.clone(), &after)]).unwrap();
        // Whoever was to kill it is gone.
        if began.elapsed() > PATIENCE {
            return;
        }
    }
}

fn kill_rounds() -> usize {
    env::var(ROUNDS_VARIABLE).ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS)
}

/// Starts a test of this file as a process, waits until it is at work, and kills it so many microseconds later.
fn kill_one(test: &str, variable: &str, base: &Path, moment: u128) {
    let mut victim = Command::new(env::current_exe().unwrap())
        .args(["--exact", test])
        .env(variable, base)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while !base.join("started").exists() {
        assert!(began.elapsed() < PATIENCE, "the process starts");
        std::thread::yield_now();
    }
    let began = Instant::now();
    while began.elapsed().as_micros() < moment {
        std::thread::yield_now();
    }
    let _ = victim.kill();
    victim.wait().unwrap();
}

/// The number of the version that a file has whole.
fn whole_version(content: &str) -> Option<usize> {
    let number = content.lines().next()?.strip_prefix("version ")?.parse().ok()?;
    (content == version(number)).then_some(number)
}

#[test]
fn a_kill_at_any_moment_of_a_write_leaves_a_whole_file_and_nothing_beside_it() {
    for round in 0..kill_rounds() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        put(base, "alone", &version(0));
        put(base, "twice", &version(0));
        fs::hard_link(base.join("w/twice"), base.join("w/second")).unwrap();
        let moment = random(30_000);
        kill_one("writes_files_and_may_be_killed", WRITER_VARIABLE, base, moment);

        drop(open(base));
        let files = tree(base);
        for (name, content) in &files {
            let content = content.split_once(' ').map_or("", |(_, content)| content);
            let is_whole = name.ends_with('/') || whole_version(content).is_some();
            assert!(is_whole, "round {round}, killed after {moment} µs: {name} is a mixture");
        }
        let known = ["alone", "d/", "d/made", "second", "twice"];
        let beside: Vec<&String> = files.keys().filter(|name| !known.contains(&name.as_str())).collect();
        assert!(beside.is_empty(), "round {round}, killed after {moment} µs: {beside:?} stayed");
        let inode = |name: &str| fs::metadata(base.join("w").join(name)).unwrap().ino();
        assert_eq!(inode("twice"), inode("second"));
        assert_tidy(base);
    }
}

#[test]
fn a_kill_at_any_moment_leaves_all_old_or_all_new() {
    let house = House::new();
    old_files(house.folder.path());
    let old = house.tree();
    let began = Instant::now();
    house.apply(&ten(&house.files)).unwrap();
    // A little longer than it takes, so that some get done.
    let window = began.elapsed().as_micros() * 3 / 2;
    let new = house.tree();
    house.assert_tidy();

    for round in 0..kill_rounds() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        fs::create_dir(base.join("w")).unwrap();
        old_files(base);
        let moment = random(window);
        kill_one("changes_ten_files_and_may_be_killed", FOLDER_VARIABLE, base, moment);

        drop(open(base));
        let now = tree(base);
        assert!(
            now == old || now == new,
            "round {round}, killed after {moment} µs: {:?}",
            now.iter().map(|(name, content)| (name, content.lines().next())).collect::<Vec<_>>()
        );
        let linked = ["h1", "h2"].map(|name| fs::metadata(base.join("w").join(name)).unwrap().ino());
        assert_eq!(linked[0], linked[1]);
        assert_tidy(base);
    }
}
