//! Names as they are: signs that mean something to a glob or a shell mean nothing in a path, and names that can't be
//! told apart by eye are told apart.

use crate::kit::{call, done, edit, failed, has, kit, read, write};
use haft_core::FailureKind;
use serde_json::json;

/// Names that some glob, shell, URL or option parser would change.
const NAMES: [&str; 14] = [
    "a[1].txt",
    "app/(group)/[id]/page.tsx",
    "{x,y}.txt",
    "star*.txt",
    "what?.txt",
    "!not.txt",
    "-dash",
    "#hash",
    "100%41.txt",
    "it's \"quoted\".txt",
    "back\\slash",
    "$HOME",
    " leading",
    "naïve ☃.txt",
];

#[tokio::test(flavor = "multi_thread")]
async fn every_tool_takes_a_name_as_it_is() {
    let kit = kit();
    // Would be found by some of the names, were they patterns.
    kit.write("a1.txt", "decoy\n");
    kit.write("x.txt", "decoy\n");
    for name in NAMES {
        done(&write(&kit, name, "one\n").await);
        assert_eq!(done(&read(&kit, name).await), "1│one", "{name}");
        done(&edit(&kit, name, "one", "two").await);
        assert_eq!(kit.read(name), b"two\n", "{name}");
        let patch = format!("*** Begin Patch\n*** Update File: {name}\n-two\n+three\n*** End Patch\n");
        // The line that names a file can't hold blanks at its ends.
        if name.trim() == name {
            done(&call(&kit, "patch", json!({"patch": patch})).await);
            assert_eq!(kit.read(name), b"three\n", "{name}");
        }
        let input = json!({"pattern": "two|three", "replacement": "four", "paths": [name]});
        done(&call(&kit, "replace", input).await);
        assert_eq!(kit.read(name), b"four\n", "{name}");
        let found = done(&call(&kit, "grep", json!({"pattern": "four", "path": name})).await);
        has(&found, &["four"]);
    }
    assert_eq!((kit.read("a1.txt"), kit.read("x.txt")), (b"decoy\n".to_vec(), b"decoy\n".to_vec()));
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f19_a_new_file_beside_one_that_looks_the_same_is_told() {
    let kit = kit();
    kit.write("cafe\u{301}.txt", "two signs\n");
    let text = done(&write(&kit, "caf\u{e9}.txt", "one sign\n").await);
    has(&text, &["Created", "though \"cafe\\u{301}.txt\" looks the same"]);
    assert_eq!(kit.read("cafe\u{301}.txt"), b"two signs\n");
    assert_eq!(kit.read("caf\u{e9}.txt"), b"one sign\n");
    // Both are there now, and each is meant by its own name.
    assert_eq!(done(&read(&kit, "caf\u{e9}.txt").await), "1│one sign");
    done(&edit(&kit, "cafe\u{301}.txt", "two", "2").await);
    assert_eq!(kit.read("cafe\u{301}.txt"), b"2 signs\n");
    let text = done(&write(&kit, "other.txt", "x\n").await);
    assert!(!text.contains("looks the same"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f19_a_change_never_goes_to_a_name_that_only_looks_the_same() {
    let kit = kit();
    kit.write("Shot 2026\u{202f}AM.txt", "one\n");
    kit.write("n\u{202f}b.ipynb", "{}");
    kit.write("cafe\u{301}.ipynb", "{}");
    let plain = "Shot 2026 AM.txt";
    let patch = format!("*** Begin Patch\n*** Update File: {plain}\n-one\n+1\n*** End Patch\n");
    for (tool, input) in [
        ("edit", json!({"path": plain, "old": "one", "new": "1"})),
        ("patch", json!({"patch": patch})),
        ("notebook_edit", json!({"path": "n b.ipynb", "cell": "q", "source": "x"})),
    ] {
        let text = failed(&call(&kit, tool, input).await, FailureKind::NotFound);
        has(&text, &["\\u{202f}", "looks the same", "give it exactly"]);
    }
    let composed = json!({"path": "caf\u{e9}.ipynb", "cell": "q", "source": "x"});
    let text = failed(&call(&kit, "notebook_edit", composed).await, FailureKind::NotFound);
    has(&text, &["\"cafe\\u{301}.ipynb\" looks the same"]);
    assert_eq!(kit.read("Shot 2026\u{202f}AM.txt"), b"one\n");
    assert!(!kit.path(plain).exists());
}
