//! What `glob` and `tree` find, what they hide, and that they say so.

use crate::kit::{call, done, failed, has, invalid, kit};
use haft_core::{Ended, FailureKind};
use haft_test::Harness;
use serde_json::{Value, json};

async fn glob(kit: &Harness, input: Value) -> Ended {
    call(kit, "glob", input).await
}

async fn tree(kit: &Harness, input: Value) -> Ended {
    call(kit, "tree", input).await
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f20_a_literal_path_wins_over_ignore_and_hidden_rules() {
    let kit = kit();
    kit.write(".gitignore", "dist/\n");
    for name in ["dist/app.js", ".github/w.yml", "src/a.js"] {
        kit.write(name, "");
    }
    for (pattern, path) in [
        ("dist/*.js", "dist/app.js"),
        ("dist/app.js", "dist/app.js"),
        (".github/*.yml", ".github/w.yml"),
        (".gitignore", ".gitignore"),
        ("./dist/**", "dist/app.js"),
    ] {
        assert_eq!(done(&glob(&kit, json!({"pattern": pattern})).await), path, "{pattern}");
    }
    let text = done(&glob(&kit, json!({"pattern": "**/*.js"})).await);
    assert_eq!(text, "src/a.js\n[1 path hidden by ignore rules; pass ignored=true]");
    let text = done(&glob(&kit, json!({"pattern": "**/*.js", "ignored": true})).await);
    has(&text, &["dist/app.js", "src/a.js"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f20_a_named_folder_wins_over_rules_for_what_is_in_it() {
    let kit = kit();
    kit.write(".gitignore", "*.log\n/gebäude/\nout/*\n!out/keep\n");
    for name in ["src/a.log", "src/a.rs", "gebäude/b.js", "out/c.js", "out/keep", "d.log"] {
        kit.write(name, "");
    }
    for (pattern, path) in [
        ("src/*.log", "src/a.log"),
        ("geb\u{e4}ude/*.js", "gebäude/b.js"),
        ("geba\u{308}ude/*.js", "gebäude/b.js"),
        ("geba\u{308}ude/b.js", "gebäude/b.js"),
        ("out/*.js", "out/c.js"),
        ("out/**", "out/keep\n[1 path hidden by ignore rules; pass ignored=true]"),
    ] {
        assert_eq!(done(&glob(&kit, json!({"pattern": pattern})).await), path, "{pattern}");
    }
    // Where no folder is named, what is hidden is counted and nothing more.
    for input in [json!({"pattern": "**/*.log"}), json!({"pattern": "*.log", "path": "."})] {
        let text = done(&glob(&kit, input.clone()).await);
        has(&text, &["No files match", "[2 paths hidden by ignore rules; pass ignored=true]"]);
        assert!(!text.contains("src/a.log"), "{input}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_tree_is_listed_and_counted_whole() {
    let kit = kit();
    kit.write(".gitignore", "*.tmp\n");
    for number in 0..700 {
        let end = if number % 7 == 0 { "tmp" } else { "txt" };
        kit.write(&format!("d{}/e{}/f{number}.{end}", number % 9, number % 4), "");
    }
    kit.sh("touch -d @4102444800 d3/e2/f30.txt").await;
    let text = done(&glob(&kit, json!({"pattern": "**/f*", "limit": 5})).await);
    assert!(text.starts_with("d3/e2/f30.txt\n"), "{text}");
    has(&text, &["[5 of 600 files shown, newest first", "[100 paths hidden by ignore rules"]);
    let text = done(&glob(&kit, json!({"pattern": "**/f*", "ignored": true, "limit": 5})).await);
    has(&text, &["[5 of 700 files shown"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f20_the_git_folder_is_never_walked() {
    let kit = kit();
    kit.write(".git/config", "");
    let text = done(&glob(&kit, json!({"pattern": "**/config", "ignored": true})).await);
    has(&text, &["No files match \"**/config\"."]);
    let text = failed(&glob(&kit, json!({"pattern": ".git/*"})).await, FailureKind::InvalidInput);
    has(&text, &[".git is never searched", "use git itself"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f20_rules_of_every_kind_hide_and_are_counted() {
    let kit = kit();
    kit.write(".gitignore", "*.log\n/build\n");
    kit.write(".ignore", "vendor\n");
    kit.write("sub/.gitignore", "*.tmp\n!keep.log\n");
    for name in
        ["a.log", "build/a.txt", "vendor/a.txt", "sub/a.tmp", "sub/keep.log", ".hidden/a.txt", "a.txt"]
    {
        kit.write(name, "");
    }
    assert_eq!(
        done(&glob(&kit, json!({"pattern": "**/a.txt"})).await),
        "a.txt\n[3 paths hidden by ignore rules; pass ignored=true]"
    );
    assert_eq!(
        done(&glob(&kit, json!({"pattern": "**/*.log"})).await),
        "sub/keep.log\n[1 path hidden by ignore rules; pass ignored=true]"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_come_first_and_the_rest_is_counted() {
    let kit = kit();
    kit.sh("touch -d @1000 old.rs; touch -d @3000 new.rs; touch -d @2000 mid.rs").await;
    assert_eq!(done(&glob(&kit, json!({"pattern": "*.rs"})).await), "new.rs\nmid.rs\nold.rs");
    let text = done(&glob(&kit, json!({"pattern": "*.rs", "limit": 1})).await);
    assert_eq!(text, "new.rs\n[1 of 3 files shown, newest first; raise limit or narrow the pattern]");
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_found_however_they_are_spelt() {
    let kit = kit();
    kit.write("Cafe\u{301}/menu\u{300}.txt", "");
    kit.write("app/[id]/page.tsx", "");
    kit.write("a b/c'd.txt", "");
    for (pattern, path) in [
        ("Caf\u{e9}/*.txt", "Cafe\u{301}/menu\u{300}.txt"),
        ("app/[id]/page.tsx", "app/[id]/page.tsx"),
        ("app/\\[id\\]/*", "app/[id]/page.tsx"),
        ("a b/*", "a b/c'd.txt"),
        ("**/*.{tsx,jsx}", "app/[id]/page.tsx"),
    ] {
        assert_eq!(done(&glob(&kit, json!({"pattern": pattern})).await), path, "{pattern}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_found_is_told_from_a_pattern_that_cannot_be_used() {
    let kit = kit();
    kit.write("src/a.rs", "");
    for pattern in ["*.zig", "src/*.zig", "gone/*.rs", "src/b.rs"] {
        has(&done(&glob(&kit, json!({"pattern": pattern})).await), &["No files match", pattern]);
    }
    has(&done(&glob(&kit, json!({"pattern": "src"})).await), &["a folder has that name"]);
    for (pattern, part) in [("a/[b", "backslash"), ("", "names no file"), ("*/../a", "..")] {
        has(&invalid(&glob(&kit, json!({"pattern": pattern})).await), &[part]);
    }
    let gone = glob(&kit, json!({"pattern": "*.rs", "path": "gone"})).await;
    has(&failed(&gone, FailureKind::NotFound), &["doesn't exist"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn links_are_counted_and_not_followed() {
    let kit = kit();
    kit.write("real/a.txt", "");
    kit.sh("ln -s real via; ln -s real/a.txt l.txt; ln -s .. real/up").await;
    assert_eq!(done(&glob(&kit, json!({"pattern": "**/*.txt"})).await), "real/a.txt\n[left out: 1 link]");
    // One that is written out is meant.
    assert_eq!(done(&glob(&kit, json!({"pattern": "l.txt"})).await), "l.txt");
    assert_eq!(done(&glob(&kit, json!({"pattern": "via/*.txt"})).await), "real/a.txt");
    let text = done(&tree(&kit, json!({})).await);
    has(&text, &["l.txt  (link)\n", "real/\n  a.txt\n  up  (link)\n", "via  (link)"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_counts_what_it_leaves_out() {
    let kit = kit();
    kit.write(".gitignore", "dist/\n");
    for name in ["src/deep/er/x.rs", "src/lib.rs", "dist/a", "README"] {
        kit.write(name, "x".repeat(1_024));
    }
    let text = done(&tree(&kit, json!({})).await);
    let tree_of_it = "/\nREADME\nsrc/\n  deep/\n    er/  (1 inside)\n  lib.rs\n";
    let note = "… 2 paths hidden by ignore rules or leading dots; ignored=true shows them";
    assert!(text.ends_with(&format!("{tree_of_it}{note}")), "{text}");
    let text = done(&tree(&kit, json!({"ignored": true})).await);
    has(&text, &["\n.gitignore\n", "\ndist/\n  a\n"]);
    assert!(!text.contains("hidden by"), "{text}");
    let text = done(&tree(&kit, json!({"path": "src", "depth": 1, "sizes": true})).await);
    assert_eq!(text, "src/\ndeep/  (1 inside)\nlib.rs  1.0 KiB");
    let text = done(&tree(&kit, json!({"path": "src", "limit": 1})).await);
    has(&text, &["src/\ndeep/", "3 entries of these levels aren't shown", "raise limit"]);
    kit.sh("mkdir empty").await;
    has(&done(&tree(&kit, json!({"path": "empty"})).await), &["nothing"]);
    let gone = tree(&kit, json!({"path": "gone"})).await;
    has(&failed(&gone, FailureKind::NotFound), &["doesn't exist"]);
    has(&invalid(&tree(&kit, json!({"depth": 0})).await), &["/depth must be at least 1"]);
}
