//! `haft undo`: changes of one command taken back by another.

use crate::place::{Place, ended};
use serde_json::json;
use std::process::Stdio;

/// A workspace in which one call made a file and another changed one.
fn changed() -> Place {
    let place = Place::new();
    place.write("a.txt", "one\ntwo\n");
    let edit = r#"{"path":"a.txt","edits":[{"old":"two","new":"2"}]}"#;
    place.run(&["call", "--yes", "write", r#"{"path":"new/b.txt","content":"b\n"}"#]).with(0);
    place.run(&["call", "--yes", "edit", edit]).with(0);
    place
}

#[test]
fn the_last_change_goes_back_first_and_then_the_one_before() {
    let place = changed();
    let ran = place.run(&["undo", "--yes"]).with(0);
    assert!(ran.out.contains("a.txt: as before (+1 −1 lines)"), "{ran:?}");
    assert_eq!(place.read("a.txt").as_deref(), Some("one\ntwo\n"));
    assert_eq!(place.read("new/b.txt").as_deref(), Some("b\n"));
    place.run(&["--yes", "undo"]).with(0);
    assert_eq!(place.read("new/b.txt"), None);
    let ran = place.run(&["undo", "--yes"]).with(1);
    assert!(ran.err.contains("There is nothing to undo"), "{ran:?}");
}

#[test]
fn all_goes_back_at_once_and_comes_again() {
    let place = changed();
    let undone = place.run(&["undo", "--all", "--yes", "--json"]).with(0).json();
    assert_eq!((place.read("a.txt").as_deref(), place.read("new/b.txt")), (Some("one\ntwo\n"), None));
    let call = undone["call"].as_str().unwrap();
    place.run(&["undo", call, "--yes"]).with(0);
    assert_eq!(place.read("a.txt").as_deref(), Some("one\n2\n"));
    assert_eq!(place.read("new/b.txt").as_deref(), Some("b\n"));
}

#[test]
fn it_is_listed_with_its_files_until_it_is_undone() {
    let place = changed();
    let listed = place.run(&["undo", "--list", "--json"]).with(0).json();
    let expected = json!([
        {"call": "1", "tool": "write", "turn": null, "files": [{"path": "new/b.txt", "change": "made"}]},
        {"call": "2", "tool": "edit", "turn": null, "files": [{"path": "a.txt", "change": "changed"}]},
    ]);
    assert_eq!(listed["calls"], expected);
    place.run(&["undo", "1", "--yes"]).with(0);
    let ran = place.run(&["undo", "--list"]).with(0);
    assert_eq!(ran.out, "2 edit\n    changed a.txt\n");
    let ran = place.run(&["undo", "--list", "--session", "other"]).with(0);
    assert_eq!(ran.out, "nothing to undo in session other\n");
}

#[test]
fn it_asks_as_every_change_does_and_a_dry_run_does_not() {
    let place = changed();
    place.run(&["undo"]).with(3);
    let ran = place.run(&["undo", "--dry-run"]).with(0);
    assert!(ran.out.contains("-2\n+two\n") && ran.out.contains("Nothing was changed"), "{ran:?}");
    place.run(&["undo", "--yes", "--mode", "plan"]).with(3);
    assert_eq!(place.read("a.txt").as_deref(), Some("one\n2\n"));
}

#[test]
fn what_changed_since_is_named_and_kept() {
    let place = changed();
    place.write("a.txt", "one\n2\nthree\n");
    let ran = place.run(&["undo", "--all", "--yes"]).with(1);
    assert!(ran.err.contains("a.txt: its content changed (+1 −0 lines), by something"), "{ran:?}");
    assert_eq!(place.read("a.txt").as_deref(), Some("one\n2\nthree\n"));
    assert_eq!(place.read("new/b.txt").as_deref(), Some("b\n"), "all or none");
}

#[test]
fn what_is_kept_is_for_its_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = changed();
    let mut found = 0;
    let mut folders = vec![place.home()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let (path, meta) = (entry.path(), entry.metadata().unwrap());
            if meta.is_dir() {
                folders.push(path);
            } else if path.parent().is_some_and(|parent| parent.ends_with("content")) {
                found += 1;
                assert_eq!(meta.permissions().mode() & 0o777, 0o600, "{}", path.display());
            }
        }
    }
    assert!(found >= 3, "the old a.txt and both new contents");
}

#[test]
fn six_undos_at_once_take_back_six_changes() {
    let place = Place::new();
    place.write("a.txt", "0\n");
    for n in 0..6 {
        let edit = json!({"path": "a.txt", "edits": [{"old": n.to_string(), "new": (n + 1).to_string()}]});
        place.run(&["call", "--yes", "edit", &edit.to_string()]).with(0);
    }
    let children: Vec<_> = (0..6)
        .map(|_| {
            let mut command = place.command(&["undo", "--yes"]);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            command.spawn().unwrap()
        })
        .collect();
    for child in children {
        ended(child).with(0);
    }
    assert_eq!(place.read("a.txt").as_deref(), Some("0\n"));
}
