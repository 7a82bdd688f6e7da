//! `diff`: two files, and what git says, without running anything that the repository names.

use crate::kit::{call, denying, done, failed, has, invalid, kit};
use haft_core::FailureKind;
use haft_test::{Answers, Harness};
use serde_json::json;

const COMMIT: &str = "git init -q . && git add -A && git -c user.name=n -c user.email=e commit -qm first";

async fn git(kit: &Harness) {
    kit.write("src/a.txt", "one\ntwo\nthree\n");
    kit.write("secret/key.txt", "old key\n");
    kit.write("gone.txt", "gone\n");
    kit.sh(COMMIT).await;
    kit.write("src/a.txt", "one\n2\nthree\n");
    kit.write("secret/key.txt", "new key\n");
    kit.sh("rm gone.txt; echo new > untracked.txt").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_files_are_compared() {
    let kit = kit();
    kit.write("a", "1\n2\n3\n");
    kit.write("b", "1\ntwo\n3\n");
    kit.write("bin", b"\0\x01");
    let text = done(&call(&kit, "diff", json!({"a": "a", "b": "b", "context": 0})).await);
    assert_eq!(text, "--- a\n+++ b\n@@ -2,1 +2,1 @@\n-2\n+two");
    has(&done(&call(&kit, "diff", json!({"a": "a", "b": "a"})).await), &["same content"]);
    has(&done(&call(&kit, "diff", json!({"a": "a", "b": "bin"})).await), &["bin is binary"]);
    has(
        &failed(&call(&kit, "diff", json!({"a": "a", "b": "."})).await, FailureKind::InvalidInput),
        &["is a folder"],
    );
    has(
        &failed(&call(&kit, "diff", json!({"a": "a", "b": "c"})).await, FailureKind::NotFound),
        &["c doesn't exist"],
    );
    has(&invalid(&call(&kit, "diff", json!({"a": "a"})).await), &["/a and /b go together"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_that_git_knows_are_shown() {
    let kit = kit();
    has(&failed(&call(&kit, "diff", json!({})).await, FailureKind::NotFound), &["in no git repository"]);
    git(&kit).await;
    let text = done(&call(&kit, "diff", json!({})).await);
    has(&text, &["--- a/src/a.txt\n+++ b/src/a.txt\n", "-two\n+2\n", "-gone", "(1 untracked file not part"]);
    has(&done(&call(&kit, "diff", json!({"staged": true})).await), &["Nothing is staged"]);
    kit.sh("git add src/a.txt").await;
    let staged = done(&call(&kit, "diff", json!({"staged": true, "context": 0})).await);
    assert!(staged.contains("@@ -2 +2 @@") && staged.contains("+2") && !staged.contains("gone"), "{staged}");
    let one = done(&call(&kit, "diff", json!({"paths": ["gone.txt"]})).await);
    assert!(one.contains("-gone") && !one.contains("key"), "{one}");
    // One that isn't there is named, what was removed and what has no change isn't.
    let some = done(&call(&kit, "diff", json!({"paths": ["gone.txt", "nope/x", "secret"]})).await);
    has(&some, &["-gone", "(nope/x: nothing has that path"]);
    assert_eq!(some.matches("nothing has that path").count(), 1, "{some}");
    has(
        &failed(&call(&kit, "diff", json!({"paths": ["../x"]})).await, FailureKind::InvalidInput),
        &["/paths must lie"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_rule_denies_is_left_out_and_counted() {
    let kit = denying("read(./secret/**)", Answers::yes());
    git(&kit).await;
    let text = done(&call(&kit, "diff", json!({})).await);
    has(&text, &["+2", "(1 changed file left out: they may hold secrets, or rules deny"]);
    assert!(!text.contains("key"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_a_repository_names_is_run() {
    let kit = kit();
    git(&kit).await;
    kit.write(".gitattributes", "*.txt filter=evil diff=evil\n");
    let mark = kit.path("../ran").display().to_string();
    kit.write("evil.sh", format!("#!/bin/sh\necho \"$0 $*\" >> {mark}\ncat \"$@\" 2>/dev/null || cat\n"));
    kit.sh(
        "chmod +x evil.sh; e=$PWD/evil.sh; for key in core.fsmonitor diff.external core.pager pager.diff \
         diff.evil.command diff.evil.textconv filter.evil.clean filter.evil.smudge filter.evil.process \
         core.sshCommand core.editor; do git config $key \"$e\"; done; git config filter.evil.required true; \
         mkdir -p .git/hooks; cp evil.sh .git/hooks/post-index-change",
    )
    .await;
    has(&done(&call(&kit, "diff", json!({})).await), &["-two\n+2"]);
    done(&call(&kit, "diff", json!({"staged": true})).await);
    assert!(!kit.path("../ran").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_a_repository_has_elsewhere_are_not_compared() {
    let kit = kit();
    git(&kit).await;
    kit.sh("mkdir ../elsewhere && git config core.worktree $PWD/../elsewhere").await;
    let text = failed(&call(&kit, "diff", json!({})).await, FailureKind::Conflict);
    has(&text, &["outside the workspace"]);
}
