//! A folder and a file are swapped for links to the outside, again and again, while the tools are called on the same
//! paths: nothing outside is ever shown or changed.

use crate::kit::{PATIENCE, call, equipped};
use haft_policy::Mode;
use haft_test::{Answers, Harness, HarnessSetup};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Instant,
};

/// At least so often everything is tried.
const ROUNDS: usize = 25;
/// Stands in files outside, and only there; what is searched for doesn't spell it.
const MARK: &str = "OUTSIDE-THE-WORKSPACE";
const MARK_PATTERN: &str = "OUTSIDE.THE.WORKSPACE";
/// A file's name that is only outside.
const ONLY: &str = "only-there";

/// A person says no to whatever is asked about: what lies outside.
fn furnished() -> Harness {
    let kit =
        equipped(HarnessSetup { mode: Mode::AcceptEdits, answers: Answers::no(), ..HarnessSetup::default() });
    let beyond = kit.outside().join("beyond");
    fs::create_dir(&beyond).unwrap();
    for name in ["mark", ONLY] {
        fs::write(beyond.join(name), MARK).unwrap();
    }
    for name in ["same", "patched", "replaced"] {
        fs::write(beyond.join(name), "even\n").unwrap();
        kit.write(&format!("d/{name}"), "even\n");
    }
    kit.write("d/mark", "inside\n");
    kit.write("same", "even\n");
    symlink(&beyond, kit.path("d.link")).unwrap();
    symlink(beyond.join("same"), kit.path("same.link")).unwrap();
    kit
}

/// Every name outside with its content and mode.
fn outside(kit: &Harness) -> BTreeMap<String, (Vec<u8>, u32)> {
    let entries = fs::read_dir(kit.outside().join("beyond")).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| {
            let mode = entry.metadata().unwrap().permissions().mode();
            let content = fs::read(entry.path()).unwrap_or_default();
            (entry.file_name().into_string().unwrap(), (content, mode))
        })
        .collect()
}

/// Swaps two names; false where the file system can't.
fn swap(one: &Path, other: &Path) -> bool {
    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok()
}

/// Calls of every file tool on paths that are swapped, each both ways.
fn calls(round: usize) -> Vec<(&'static str, Value)> {
    let (old, new) = if round.is_multiple_of(2) { ("even", "odd") } else { ("odd", "even") };
    let update = |path: &str| format!("*** Update File: {path}\n-{old}\n+{new}\n");
    let patch = format!(
        "*** Begin Patch\n{}{}*** Add File: d/made-{round}/f\n+made\n*** End Patch\n",
        update("d/patched"),
        update("same")
    );
    vec![
        ("read", json!({"path": "d/mark"})),
        ("read", json!({"path": "d"})),
        ("edit", json!({"path": "d/same", "old": old, "new": new})),
        ("edit", json!({"path": "same", "old": old, "new": new})),
        ("write", json!({"path": format!("d/new-{round}"), "content": "new\n"})),
        ("patch", json!({"patch": patch})),
        ("replace", json!({"pattern": old, "replacement": new, "paths": ["d"], "glob": "replaced"})),
        ("grep", json!({"pattern": MARK_PATTERN})),
        ("grep", json!({"pattern": MARK_PATTERN, "path": "d"})),
        ("grep", json!({"pattern": MARK_PATTERN, "path": "d/mark"})),
        ("glob", json!({"pattern": "**/*"})),
        ("glob", json!({"pattern": "d/*"})),
        ("tree", json!({"path": "d"})),
        ("diff", json!({"a": "d/mark", "b": "same"})),
    ]
}

/// Says so when it is dropped.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn no_tool_shows_or_changes_what_is_outside_while_paths_are_swapped_for_links() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let kit = runtime.block_on(async { furnished() });
    let pairs: Vec<[PathBuf; 2]> =
        ["d", "same"].map(|name| [kit.path(name), kit.path(&format!("{name}.link"))]).into();
    if !pairs.iter().all(|[one, other]| swap(one, other) && swap(one, other)) {
        println!("skipped: two names can't be swapped at once on this file system");
        return;
    }
    let before = outside(&kit);
    let (is_over, began) = (AtomicBool::new(false), Instant::now());
    let (mut went, mut refused) = (0, 0);
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
        while round < ROUNDS || went == 0 || refused == 0 {
            assert!(began.elapsed() < PATIENCE, "{went} went, {refused} refused");
            for (tool, input) in calls(round) {
                let ended = runtime.block_on(call(&kit, tool, input.clone()));
                let text = ended.output.joined_text();
                assert!(!text.contains(MARK) && !text.contains(ONLY), "{tool} {input}: {text}");
                if ended.outcome.is_completed() {
                    went += 1;
                } else {
                    refused += 1;
                }
            }
            round += 1;
        }
        drop(over);
    });
    assert_eq!(outside(&kit), before);
}
