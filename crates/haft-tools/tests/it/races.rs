//! Calls beside each other, and a world that changes while a question is open.

use crate::kit::{bash, denied, denying, done, end_of, failed, has, kit, signs, silent, start};
use haft_core::{Cancel, FailureKind, Outcome, PathArg, Request};
use haft_test::Answers;
use serde_json::json;
use std::{
    fs,
    sync::atomic::{AtomicBool, Ordering},
};

#[tokio::test(flavor = "multi_thread")]
async fn two_approved_edits_to_different_places_both_land() {
    let kit = silent();
    kit.write("f", "one\ntwo\nthree\n");
    let first = start(&kit, "edit", &json!({"path": "f", "old": "one", "new": "1\n1b"}));
    let second = start(&kit, "edit", &json!({"path": "f", "old": "three", "new": "3"}));
    kit.answers().wait_for(2).await;
    assert_eq!(signs(kit.read("f")), signs("one\ntwo\nthree\n"));
    kit.answers().speak();
    done(&end_of(first).await);
    done(&end_of(second).await);
    assert_eq!(signs(kit.read("f")), signs("1\n1b\ntwo\n3\n"));
    assert_eq!(kit.answers().asked().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_edit_lands_though_the_file_changed_elsewhere() {
    let kit = silent();
    kit.write("f", "one\ntwo\nthree\n");
    let call = start(&kit, "edit", &json!({"path": "f", "old": "three", "new": "3"}));
    kit.answers().wait_for(1).await;
    kit.write("f", "zero\none\n2\nthree\n");
    kit.answers().speak();
    done(&end_of(call).await);
    assert_eq!(signs(kit.read("f")), signs("zero\none\n2\n3\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_change_whose_own_place_changed_is_a_conflict() {
    let edit = json!({"path": "f", "old": "two", "new": "2"});
    let write = json!({"path": "g", "content": "mine\n"});
    for (tool, input, name, before, meanwhile) in [
        // Gone, twice there, elsewhere on a line that reads differently now.
        ("edit", &edit, "f", "one\ntwo\n", "one\nzwei\n"),
        ("edit", &edit, "f", "one\ntwo\n", "two\ntwo\n"),
        ("edit", &edit, "f", "one\nif x { two }\n", "one\nif !x { two }\n"),
        // A new file that somebody else made.
        ("write", &write, "g", "", "theirs\n"),
    ] {
        let kit = silent();
        if !before.is_empty() {
            kit.write(name, before);
        }
        let call = start(&kit, tool, input);
        kit.answers().wait_for(1).await;
        kit.write(name, meanwhile);
        kit.answers().speak();
        let text = failed(&end_of(call).await, FailureKind::Conflict);
        assert!(!text.is_empty());
        assert_eq!(signs(kit.read(name)), signs(meanwhile), "{tool} over {meanwhile:?}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_swapped_for_a_link_after_the_approval_changes_nothing_outside() {
    for (tool, input, swap) in [
        ("edit", json!({"path": "d/f", "old": "v1", "new": "v2"}), "mv d kept && ln -s ../beyond d"),
        ("write", json!({"path": "d/new", "content": "v2\n"}), "mv d kept && ln -s ../beyond d"),
        ("edit", json!({"path": "d/f", "old": "v1", "new": "v2"}), "mv d/f kept && ln -s ../../beyond/f d/f"),
    ] {
        // The person would allow anything; the rule shows that it is judged anew.
        let kit = denying("edit(//**/beyond/**)", Answers::silent());
        let beyond = kit.outside().join("beyond");
        fs::create_dir(&beyond).unwrap();
        fs::write(beyond.join("f"), "v1\n").unwrap();
        kit.write("d/f", "v1\n");
        let call = start(&kit, tool, &input);
        kit.answers().wait_for(1).await;
        kit.sh(swap).await;
        kit.answers().speak();
        let ended = end_of(call).await;
        assert_eq!(denied(&ended), "deny", "{tool} {swap}");
        assert_eq!(fs::read(beyond.join("f")).unwrap(), b"v1\n", "{tool} {swap}");
        assert!(!beyond.join("new").exists(), "{tool} {swap}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_swapped_for_a_link_is_asked_about_anew() {
    let kit = silent();
    fs::create_dir(kit.outside().join("beyond")).unwrap();
    kit.write("d/f", "v1\n");
    let call = start(&kit, "write", &json!({"path": "d/new", "content": "v2\n"}));
    kit.answers().wait_for(1).await;
    kit.sh("mv d kept && ln -s ../beyond d").await;
    kit.answers().speak();
    done(&end_of(call).await);
    let asked = kit.answers().asked();
    assert_eq!(asked.len(), 2);
    let reasons = |index: usize| asked[index].why.iter().map(|why| why.reason.clone()).collect::<String>();
    assert!(!reasons(0).contains("outside"), "{}", reasons(0));
    has(&reasons(1), &["/beyond/new", "outside the workspace"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_edits_of_one_file_at_once_are_all_present() {
    let kit = kit();
    let line = |number: usize, value: &str| format!("slot{number:02} = {value}\n");
    kit.write("f", (0..50).map(|number| line(number, "old")).collect::<String>());
    let calls: Vec<_> = (0..50)
        .map(|number| {
            let (old, new) = (line(number, "old"), line(number, "new"));
            start(&kit, "edit", &json!({"path": "f", "edits": [{"old": old, "new": new}]}))
        })
        .collect();
    for call in calls {
        done(&end_of(call).await);
    }
    assert_eq!(signs(kit.read("f")), signs((0..50).map(|number| line(number, "new")).collect::<String>()));
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_from_two_sessions_are_all_present() {
    let kit = kit();
    let other = kit.open_session("other").unwrap();
    kit.sh("ln -s f link").await;
    kit.write("f", (0..30).map(|number| format!("slot{number:02} = old\n")).collect::<String>());
    let calls: Vec<_> = (0..30)
        .map(|number| {
            let (session, name) = if number % 2 == 0 { (kit.session(), "f") } else { (&other, "link") };
            let (old, new) = (format!("slot{number:02} = old"), format!("slot{number:02} = new"));
            let edit = json!({"path": name, "old": old, "new": new});
            kit.executor().submit(session, Request::new("edit", edit.to_string()))
        })
        .collect();
    for call in calls {
        done(&end_of(call).await);
    }
    assert_eq!(String::from_utf8(kit.read("f")).unwrap().matches("= new\n").count(), 30);
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_through_every_spelling_of_one_path_are_all_present() {
    let kit = kit();
    let other = kit.open_session("other").unwrap();
    let line = |number: usize, value: &str| format!("slot{number:02} = {value}\n");
    kit.write("d/f", (0..48).map(|number| line(number, "old")).collect::<String>());
    // A second name is another path and the same file.
    kit.sh("mkdir e; ln -s d/f link; ln -s d via; ln -s ../link e/far; ln d/f second").await;
    let absolute = kit.path("d/f").to_str().unwrap().to_owned();
    let spellings =
        ["d/f", "./d/../d//f", "link", "via/f", "e/far", "e/../link", absolute.as_str(), "second"];
    let patch = |name: &str, old: &str, new: &str| json!({"patch": format!("*** Begin Patch\n*** Update File: {name}\n-{old}+{new}*** End Patch\n")});
    let calls: Vec<_> = (0..48)
        .map(|number| {
            let session = if number % 3 == 0 { &other } else { kit.session() };
            let (name, old, new) =
                (spellings[number % spellings.len()], line(number, "old"), line(number, "new"));
            let (tool, input) = match number % 5 {
                0 => ("patch", patch(name, &old, &new)),
                1 => {
                    ("replace", json!({"pattern": old, "replacement": new, "literal": true, "paths": [name]}))
                }
                _ => ("edit", json!({"path": name, "old": old, "new": new})),
            };
            kit.executor().submit(session, Request::new(tool, input.to_string()))
        })
        .collect();
    for call in calls {
        done(&end_of(call).await);
    }
    let all: String = (0..48).map(|number| line(number, "new")).collect();
    assert_eq!(signs(kit.read("d/f")), signs(&all));
    assert_eq!(signs(kit.read("second")), signs(&all));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replace_comes_through_beside_edits_without_end() {
    const REPLACES: usize = 10;
    let kit = kit();
    let others = ["a", "b", "c", "d", "e", "f", "g", "h"].map(|name| kit.open_session(name).unwrap());
    let lines: String = (0..8).map(|number| format!("slot{number} = 0\n")).collect();
    kit.write("f", format!("mine = 0\n{lines}"));
    // It is written in place, which takes longest.
    kit.sh("ln f second").await;
    let is_over = AtomicBool::new(false);
    let edits = async {
        for round in 0..5_000 {
            let one = |slot: usize| {
                let edit = json!({"path": "f", "old": format!("slot{slot} = {round}\n"), "new": format!("slot{slot} = {}\n", round + 1)});
                kit.executor().submit(&others[slot], Request::new("edit", edit.to_string()))
            };
            for edit in (0..8).map(one).collect::<Vec<_>>() {
                done(&end_of(edit).await);
            }
            if is_over.load(Ordering::SeqCst) {
                break;
            }
        }
    };
    let replaces = async {
        for number in 0..REPLACES {
            let (old, new) = (format!("mine = {number}\n"), format!("mine = {}\n", number + 1));
            let input = json!({"pattern": old, "replacement": new, "literal": true, "paths": ["f"]});
            done(&end_of(start(&kit, "replace", &input)).await);
        }
        is_over.store(true, Ordering::SeqCst);
    };
    tokio::join!(edits, replaces);
    assert!(String::from_utf8(kit.read("f")).unwrap().starts_with(&format!("mine = {REPLACES}\n")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replace_in_a_folder_waits_for_no_file_that_it_leaves_as_it_is() {
    let kit = kit();
    kit.write("f", "other\n");
    kit.write("d/a", "one\n");
    let files = &kit.world().files;
    let at = files.resolve(&PathArg::from("f")).unwrap();
    let _held = files.lock(&at, &Cancel::new()).unwrap();
    let input = json!({"pattern": "one", "replacement": "two", "literal": true, "paths": ["f", "d"]});
    done(&end_of(start(&kit, "replace", &input)).await);
    assert_eq!(signs(kit.read("d/a")), signs("two\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_after_a_write_sees_it_by_every_name() {
    for name in ["real/f", "./real/../real/f", "link", "via/f"] {
        let kit = silent();
        kit.write("real/f", "");
        kit.sh("ln -s real/f link; ln -s real via").await;
        let write = start(&kit, "write", &json!({"path": "real/f", "content": "fresh\n"}));
        let read = start(&kit, "read", &json!({"path": name}));
        let grep = start(&kit, "grep", &json!({"pattern": "fresh", "path": "real"}));
        kit.answers().wait_for(1).await;
        kit.answers().speak();
        has(&done(&end_of(read).await), &["1│fresh"]);
        has(&done(&end_of(grep).await), &["real/f:1:fresh"]);
        done(&end_of(write).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_after_a_command_sees_what_it_made() {
    let kit = kit();
    kit.sh("mkfifo gate").await;
    let command = start(&kit, "bash", &json!({"command": "cat gate; echo fresh > f; ln -s f link"}));
    let read = start(&kit, "read", &json!({"path": "link"}));
    // Returns once the command has opened the gate; what the read's path stands for comes about after that.
    fs::write(kit.path("gate"), "go\n").unwrap();
    has(&done(&end_of(read).await), &["1│fresh"]);
    done(&end_of(command).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_call_that_is_refused_takes_no_other_with_it() {
    let kit = kit();
    kit.write("f", "a\n");
    let calls = [
        start(&kit, "read", &json!({"path": "f"})),
        start(&kit, "edit", &json!({"path": "f", "old": "nowhere", "new": "b"})),
        start(&kit, "edit", &json!({"path": "f", "old": "a", "new": "b"})),
        start(&kit, "read", &json!({"path": "f"})),
    ];
    let mut texts = Vec::new();
    let mut outcomes = Vec::new();
    for call in calls {
        let ended = end_of(call).await;
        texts.push(ended.output.joined_text());
        outcomes.push(ended.outcome);
    }
    assert_eq!((texts[0].as_str(), texts[3].as_str()), ("1│a", "1│b"));
    assert_eq!(outcomes[1], Outcome::Failed { kind: FailureKind::Conflict });
    assert_eq!(outcomes[2], Outcome::Completed);
    assert_eq!(bash(&kit, "cat f").await.body, "b\n");
}
