//! Whatever the file tools did, `undo` takes it back: bytes, modes, links and second names, in every encoding. Times
//! of change aren't kept: a file put back was changed just now.

use crate::kit::{call, kit};
use haft_test::Harness;
use proptest::{prelude::*, sample::select, test_runner::TestRunner};
use serde_json::{Value, json};
use std::{
    cell::Cell,
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
};

/// How many sessions are played.
const CASES: u32 = 40;
/// The files, each with its mode and what it holds; all have the word that is replaced.
const FILES: [(&str, u32, &[u8]); 7] = [
    ("crlf", 0o644, b"one\r\nkey = 1\r\nlast"),
    ("mixed", 0o600, b"one\r\nkey = 1\nold mac\rlast"),
    ("run", 0o755, b"#!/bin/sh\nkey = 1\n"),
    ("mark", 0o640, b"\xEF\xBB\xBFkey = 1\n"),
    ("wide", 0o644, b"\xFF\xFEk\0e\0y\0 \0=\0 \x001\0\r\0\n\0"),
    ("latin", 0o664, b"Le caf\xe9 cr\xe8me et la cr\xe8me br\xfbl\xe9e \xe9taient servis\nkey = 1\n"),
    ("twice", 0o444, b"key = 1\nand a second name\n"),
];

/// One thing to do to one of the files.
#[derive(Debug, Clone, Copy)]
enum Act {
    Edit(usize),
    Write(usize),
    Patch(usize),
    Replace,
    Delete(usize),
    Move(usize),
    New,
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let file = || 0..FILES.len();
    // The file with a second name stays: removed and made anew, it is another one.
    let but_twice = || 0..FILES.len() - 1;
    let act = prop_oneof![
        4 => file().prop_map(Act::Edit),
        3 => file().prop_map(Act::Write),
        3 => file().prop_map(Act::Patch),
        2 => Just(Act::Replace),
        1 => but_twice().prop_map(Act::Delete),
        1 => but_twice().prop_map(Act::Move),
        1 => Just(Act::New),
    ];
    let times = select(vec![1_usize, 1, 1, 2]);
    prop::collection::vec((act, times), 1..10)
        .prop_map(|acts| acts.into_iter().flat_map(|(act, times)| vec![act; times]).collect::<Vec<Act>>())
}

fn name(file: usize) -> &'static str {
    FILES[file].0
}

impl Act {
    /// The call that does it. What isn't there any more is refused, and that is no change.
    fn call(self, round: usize) -> (&'static str, Value) {
        let envelope = |body: String| json!({"patch": format!("*** Begin Patch\n{body}\n*** End Patch\n")});
        match self {
            Self::Edit(file) => {
                let new = format!("key = 1\nnew {round}");
                ("edit", json!({"path": name(file), "old": "key = 1", "new": new}))
            }
            Self::Write(file) => {
                let content = format!("key = 1\nround {round}\n");
                ("write", json!({"path": name(file), "content": content}))
            }
            Self::Patch(file) => {
                let body = format!("*** Update File: {}\n-key = 1\n+key = 1\n+patched {round}", name(file));
                ("patch", envelope(body))
            }
            Self::Replace => {
                // By one of its names only a file with two of them is changed.
                let (new, glob) = (format!("key{round}"), "{crlf,mixed,run,mark,wide,latin}");
                ("replace", json!({"pattern": "key", "replacement": new, "literal": true, "glob": glob}))
            }
            Self::Delete(file) => ("patch", envelope(format!("*** Delete File: {}", name(file)))),
            Self::Move(file) => {
                let body = format!("*** Update File: {}\n*** Move to: d/{round}/{}", name(file), name(file));
                ("patch", envelope(body))
            }
            Self::New => ("write", json!({"path": format!("new/{round}"), "content": "new\n"})),
        }
    }
}

/// Every file with its mode and bytes, every link with its target.
fn tree(kit: &Harness) -> BTreeMap<String, (u32, Vec<u8>)> {
    fn add(kit: &Harness, prefix: &str, tree: &mut BTreeMap<String, (u32, Vec<u8>)>) {
        for entry in fs::read_dir(kit.path(prefix)).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
            let meta = fs::symlink_metadata(entry.path()).unwrap();
            if meta.is_symlink() {
                let target = fs::read_link(entry.path()).unwrap();
                tree.insert(name, (0, target.to_str().unwrap().as_bytes().to_vec()));
            } else if meta.is_dir() {
                add(kit, &format!("{name}/"), tree);
            } else {
                tree.insert(name, (meta.permissions().mode() & 0o7777, fs::read(entry.path()).unwrap()));
            }
        }
    }
    let mut all = BTreeMap::new();
    add(kit, "", &mut all);
    all
}

fn furnished() -> Harness {
    let kit = kit();
    kit.register(haft_runtime::undo_tool());
    for (name, mode, content) in FILES {
        kit.write(name, content);
        fs::set_permissions(kit.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }
    fs::hard_link(kit.path("twice"), kit.path("second")).unwrap();
    symlink("crlf", kit.path("link")).unwrap();
    kit
}

fn inodes(kit: &Harness) -> [u64; 2] {
    ["twice", "second"].map(|name| fs::metadata(kit.path(name)).unwrap().ino())
}

/// Plays one session; says whether there was something to undo.
async fn play(acts: &[Act]) -> bool {
    let kit = furnished();
    let (before, twice) = (tree(&kit), inodes(&kit));
    for (round, act) in acts.iter().enumerate() {
        if let Act::Write(file) = act {
            call(&kit, "read", json!({"path": name(*file)})).await;
        }
        let (tool, input) = act.call(round);
        call(&kit, tool, input).await;
    }
    let after = tree(&kit);
    let undone = call(&kit, "undo", json!({"session": true})).await;
    if after == before {
        assert_eq!(tree(&kit), before, "{acts:?}");
        return false;
    }
    assert!(undone.outcome.is_completed(), "{acts:?}: {}", undone.output.joined_text());
    assert_eq!(tree(&kit), before, "{acts:?}");
    assert_eq!(inodes(&kit), twice, "{acts:?}");
    let again = call(&kit, "undo", json!({"call": undone.call.to_string()})).await;
    assert!(again.outcome.is_completed(), "{acts:?}: {}", again.output.joined_text());
    assert_eq!(tree(&kit), after, "{acts:?}");
    true
}

#[test]
fn undoing_what_the_file_tools_did_is_the_identity() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let changed = Cell::new(0);
    let config = ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() };
    let result = TestRunner::new(config).run(&acts(), |acts| {
        changed.set(changed.get() + u32::from(runtime.block_on(play(&acts))));
        Ok(())
    });
    result.unwrap();
    assert!(changed.get() > CASES / 2, "only {} of {CASES} changed anything", changed.get());
}
