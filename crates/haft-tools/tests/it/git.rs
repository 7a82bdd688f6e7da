//! `git` on real repositories: what it says, what it changes and reads back, and what of a repository's it never runs.

use crate::kit::{answered_by, call, denied, denying, done, equipped, failed, has, invalid, kit};
use haft_core::{Ended, FailureKind};
use haft_policy::Mode;
use haft_test::{Answers, Harness, HarnessSetup};
use serde_json::{Value, json};

const INIT: &str =
    "git init -q -b main . && git config user.name t && git config user.email t@example.invalid";

async fn repository(kit: &Harness) {
    kit.write("src/a.txt", "one\n");
    kit.sh(&format!("{INIT} && git add -A && git commit -qm first")).await;
}

/// As [`repository`], with a bare one beside the workspace as its remote.
async fn with_remote(kit: &Harness) {
    repository(kit).await;
    kit.sh("git init -q --bare ../r.git && git remote add origin ../r.git && git push -q origin main").await;
}

async fn git(kit: &Harness, input: Value) -> Ended {
    call(kit, "git", input).await
}

async fn log(kit: &Harness, folder: &str) -> String {
    kit.sh(&format!("git -C {folder} log --format=%s main")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_asks_runs_unasked_and_what_changes_asks() {
    let kit = answered_by(Answers::no());
    repository(&kit).await;
    for action in ["status", "diff", "log", "show", "branch", "stash", "worktree"] {
        done(&git(&kit, json!({"action": action})).await);
    }
    done(&git(&kit, json!({"action": "blame", "paths": ["src/a.txt"]})).await);
    assert!(kit.answers().asked().is_empty());
    for input in [
        json!({"action": "add", "paths": ["."]}),
        json!({"action": "commit", "message": "x"}),
        json!({"action": "branch", "op": "add", "name": "x"}),
        json!({"action": "stash", "op": "add"}),
        json!({"action": "switch", "name": "x", "op": "add"}),
        json!({"action": "fetch"}),
        json!({"action": "push"}),
    ] {
        assert_eq!(denied(&git(&kit, input.clone()).await), "user", "{input}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_repository_it_says_what_to_do() {
    let kit = kit();
    let text = failed(&git(&kit, json!({"action": "status"})).await, FailureKind::NotFound);
    has(&text, &["in no git repository", "git init"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_every_kind_are_listed_as_they_are() {
    let kit = kit();
    repository(&kit).await;
    kit.write("a \"q\"", "x");
    kit.write("b\nc", "x");
    kit.write("-rf", "x");
    kit.sh("touch \"$(printf 'd\\377e')\"; git mv src/a.txt src/b.txt").await;
    let text = done(&git(&kit, json!({"action": "status"})).await);
    has(&text, &["On branch main", "R src/a.txt -> src/b.txt", "  a \"q\"", "  b\\nc", "  -rf"]);
    has(&text, &["d\\xffe (not UTF-8)"]);
    let text = done(&git(&kit, json!({"action": "add", "paths": ["./-rf", "b\nc"]})).await);
    has(&text, &["Staged now:", "A -rf", "A b\\nc", "R src/a.txt -> src/b.txt"]);
    assert_eq!(kit.sh("git diff --cached --name-only -z").await.split('\0').count(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_is_read_back() {
    let kit = kit();
    repository(&kit).await;
    let text = failed(&git(&kit, json!({"action": "commit", "message": "x"})).await, FailureKind::Conflict);
    has(&text, &["nothing is staged", "action add"]);
    kit.write("src/a.txt", "one\ntwo\n");
    kit.write("new", "x\n");
    done(&git(&kit, json!({"action": "add", "paths": ["."]})).await);
    let message = "it's \"new\"\n\n# kept\n$HOME `x`";
    let text = done(&git(&kit, json!({"action": "commit", "message": message})).await);
    let hash = kit.sh("git rev-parse --short HEAD").await;
    has(&text, &[hash.trim(), "it's \"new\"", "2 files, +2 -0", "+1 -0 new"]);
    assert_eq!(kit.sh("git log -1 --format=%B").await.trim_end(), message);
    let text = done(&git(&kit, json!({"action": "commit", "amend": true, "message": "better"})).await);
    has(&text, &["better", "in place of "]);
    assert_eq!(log(&kit, ".").await, "better\nfirst\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_amended_commit_that_stays_the_same_is_told_as_such() {
    let kit = kit();
    repository(&kit).await;
    let amend = json!({"action": "commit", "amend": true});
    let text = failed(&git(&kit, amend).await, FailureKind::Conflict);
    has(&text, &["nothing is staged and there is no message", "would stay as it is"]);
    // Whether the second has passed or not.
    for _ in 0..4 {
        let text = done(&git(&kit, json!({"action": "commit", "amend": true, "message": "first"})).await);
        assert!(text.contains("in place of ") || text.contains(" is as it was"), "{text}");
    }
    assert_eq!(log(&kit, ".").await, "first\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_remote_of_several_addresses_tells_of_each() {
    let kit = kit();
    with_remote(&kit).await;
    kit.sh("git init -q --bare ../s.git && git remote set-url --add --push origin ../r.git && git remote set-url --add \
            --push origin ../s.git && git switch -qc x && git commit -q --allow-empty -m x")
        .await;
    let text = done(&git(&kit, json!({"action": "push"})).await);
    has(&text, &["origin (../r.git) has x at ", "\norigin (../s.git) has x at "]);
    // One of them has got something else meanwhile.
    kit.sh(
        "git clone -q -b x ../s.git ../other && cd ../other && git -c user.name=t -c user.email=t@example.invalid \
         commit -q --allow-empty -m theirs && git push -q origin x",
    )
    .await;
    kit.sh("git commit -q --allow-empty -m ours").await;
    let text = failed(&git(&kit, json!({"action": "push"})).await, FailureKind::Conflict);
    has(&text, &["origin (../s.git) refused x", "Taken was this:\norigin (../r.git) has x at "]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worktree_of_a_branch_that_is_there_says_how() {
    let kit = kit();
    repository(&kit).await;
    kit.sh("git branch x").await;
    let twice = json!({"action": "worktree", "op": "add", "paths": ["w"], "name": "x"});
    has(&failed(&git(&kit, twice).await, FailureKind::Conflict), &["a branch x already", "name it as rev"]);
    let text = done(&git(&kit, json!({"action": "worktree", "op": "add", "paths": ["w"], "rev": "x"})).await);
    has(&text, &["Worktrees now:", "/w ", " x"]);
    let text = done(&git(&kit, json!({"action": "worktree", "op": "remove", "paths": ["w"]})).await);
    assert!(!text.contains("/w "), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_that_only_a_remote_has_is_switched_to_with_its_filters_looked_at() {
    let kit = kit();
    with_remote(&kit).await;
    kit.sh(
        "git switch -qc far && echo '*.bin filter=lfs' > .gitattributes && echo x > a.bin && git add -A && git commit -qm \
         far && git push -q origin far && git switch -q main && git branch -qD far",
    )
    .await;
    has(&done(&git(&kit, json!({"action": "switch", "name": "far"})).await), &["On branch far"]);
    kit.sh("git switch -q main && git branch -qD far && git config filter.lfs.smudge cat").await;
    let text = failed(&git(&kit, json!({"action": "switch", "name": "far"})).await, FailureKind::Conflict);
    has(&text, &["a.bin (filter.lfs)", "nothing was done"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_identity_is_told() {
    let kit = kit();
    kit.write("a", "x");
    // What the user set elsewhere must not count here.
    kit.sh("git init -q -b main . && git config user.name '' && git config user.email '' && git add a").await;
    let text = failed(&git(&kit, json!({"action": "commit", "message": "x"})).await, FailureKind::Conflict);
    has(&text, &["doesn't know whose commit", "git config user.name"]);
    has(&done(&git(&kit, json!({"action": "status"})).await), &["without a commit yet", "A a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_a_repository_names_is_run() {
    let kit = kit();
    with_remote(&kit).await;
    let mark = kit.path("../ran").display().to_string();
    kit.write("evil.sh", format!("#!/bin/sh\necho \"$0 $*\" >> {mark}\nexit 1\n"));
    kit.sh(
        "chmod +x evil.sh; e=$PWD/evil.sh; for key in core.fsmonitor diff.external core.pager pager.log \
         diff.evil.command diff.evil.textconv core.editor sequence.editor gpg.program gpg.ssh.program \
         core.alternateRefsCommand interactive.diffFilter; do git config $key \"$e\"; done; \
         git config commit.gpgSign true; git config push.gpgSign if-asked; git config log.showSignature true; \
         git config hook.evil.command \"$e\"; git config hook.evil.event pre-commit; \
         echo '*.txt diff=evil' > .gitattributes; \
         for hook in pre-commit prepare-commit-msg commit-msg post-commit post-checkout post-index-change pre-push \
         reference-transaction post-rewrite; do cp evil.sh .git/hooks/$hook; done; \
         for hook in pre-receive update post-receive reference-transaction; do cp evil.sh ../r.git/hooks/$hook; done",
    )
    .await;
    kit.write("src/a.txt", "two\n");
    for input in [
        json!({"action": "status"}),
        json!({"action": "diff"}),
        json!({"action": "add", "paths": ["src"]}),
        json!({"action": "diff", "staged": true}),
        json!({"action": "commit", "message": "second"}),
        json!({"action": "log"}),
        json!({"action": "show"}),
        json!({"action": "show", "rev": "HEAD:src/a.txt"}),
        json!({"action": "blame", "paths": ["src/a.txt"]}),
        json!({"action": "branch"}),
        json!({"action": "switch", "name": "x", "op": "add"}),
        json!({"action": "push", "name": "main"}),
        json!({"action": "fetch"}),
        json!({"action": "worktree", "op": "add", "paths": ["wt"], "name": "y"}),
        json!({"action": "worktree", "op": "remove", "paths": ["wt"], "force": true}),
    ] {
        let text = done(&git(&kit, input.clone()).await);
        assert!(!kit.path("../ran").exists(), "{input} ran {text}");
        match input["action"].as_str() {
            Some("commit") => has(&text, &["hooks", "pre-commit", "not run", "not signed"]),
            Some("push") => has(&text, &["pre-push", "not run"]),
            _ => {}
        }
    }
    assert_eq!(log(&kit, "../r.git").await, "second\nfirst\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_pass_a_filter_are_left_alone() {
    let kit = kit();
    repository(&kit).await;
    let mark = kit.path("../ran").display().to_string();
    kit.sh(&format!(
        "git config filter.big.clean 'echo ran >> {mark}; cat'; git config filter.big.smudge 'echo ran >> {mark}; cat'; \
         git config merge.odd.driver 'echo ran >> {mark}'; echo '*.bin filter=big' > .gitattributes"
    ))
    .await;
    kit.write("x.bin", "x");
    kit.write("plain", "x");
    let text = failed(&git(&kit, json!({"action": "add", "paths": ["."]})).await, FailureKind::Conflict);
    has(&text, &["x.bin (filter.big)", "nothing was done", "through bash"]);
    has(
        &done(&git(&kit, json!({"action": "add", "paths": ["plain", ".gitattributes"]})).await),
        &["A plain"],
    );
    done(&git(&kit, json!({"action": "commit", "message": "attributes"})).await);
    assert!(!kit.path("../ran").exists());
    kit.sh(&format!("git add x.bin && git commit -qm bin; rm -f {mark}")).await;
    let text = failed(
        &git(&kit, json!({"action": "switch", "op": "add", "name": "x", "rev": "HEAD"})).await,
        FailureKind::Conflict,
    );
    has(&text, &["x.bin (filter.big)"]);
    assert!(!kit.path("../ran").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_rule_denies_is_left_out_and_counted() {
    let kit = denying("read(./secret/**)", Answers::yes());
    kit.write("secret/k.txt", "old key\n");
    kit.write(".env", "KEY=old\n");
    repository(&kit).await;
    kit.write("secret/k.txt", "new key\n");
    kit.write(".env", "KEY=new\n");
    kit.write("src/a.txt", "two\n");
    let text = done(&git(&kit, json!({"action": "diff"})).await);
    has(&text, &["+two", "(2 changed files left out: they may hold secrets"]);
    assert!(!text.contains("key") && !text.contains("KEY"), "{text}");
    let text = done(&git(&kit, json!({"action": "show"})).await);
    has(&text, &["first", "+one", "(2 changed files left out"]);
    assert!(!text.contains("key") && !text.contains("KEY"), "{text}");
    let text = done(&git(&kit, json!({"action": "status"})).await);
    has(&text, &["M src/a.txt", "M .env", "(1 file left out: rules deny"]);
    assert!(!text.contains("secret"), "{text}");
    for input in [
        json!({"action": "show", "rev": "HEAD:secret/k.txt"}),
        json!({"action": "blame", "paths": ["secret/k.txt"]}),
    ] {
        assert_eq!(denied(&git(&kit, input.clone()).await), "deny", "{input}");
    }
    assert!(kit.answers().asked().is_empty());
    done(&git(&kit, json!({"action": "show", "rev": "HEAD:.env"})).await);
    assert_eq!(kit.answers().asked().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_detached_head_and_a_conflict_are_told() {
    let kit = kit();
    repository(&kit).await;
    done(&git(&kit, json!({"action": "switch", "rev": "HEAD"})).await);
    has(&done(&git(&kit, json!({"action": "status"})).await), &["No branch, detached at "]);
    let text = failed(&git(&kit, json!({"action": "push"})).await, FailureKind::NotFound);
    has(&text, &["no remote \"origin\""]);
    kit.sh(
        "git switch -qc x main; echo x > src/a.txt; git commit -qam x; git switch -q main; echo y > src/a.txt; \
         git commit -qam y; git merge -q x || true",
    )
    .await;
    has(&done(&git(&kit, json!({"action": "status"})).await), &["In conflict", "UU src/a.txt"]);
    let text = failed(&git(&kit, json!({"action": "commit", "message": "m"})).await, FailureKind::Conflict);
    has(&text, &["git commit failed"]);
    kit.write("src/a.txt", "z\n");
    done(&git(&kit, json!({"action": "add", "paths": ["src/a.txt"]})).await);
    has(&done(&git(&kit, json!({"action": "commit", "message": "merged"})).await), &["merged"]);
    assert_eq!(kit.sh("git log -1 --format=%p").await.split_whitespace().count(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_tells_what_the_remote_answered() {
    let kit = kit();
    with_remote(&kit).await;
    done(&git(&kit, json!({"action": "switch", "op": "add", "name": "x"})).await);
    has(&done(&git(&kit, json!({"action": "push"})).await), &["origin (../r.git) has x at ", "[new branch]"]);
    // Somebody else pushes.
    kit.sh(
        "git clone -q -b x ../r.git ../other && cd ../other && git -c user.name=t -c user.email=t@example.invalid \
         commit -q --allow-empty -m theirs && git push -q origin x",
    )
    .await;
    kit.sh("git commit -q --allow-empty -m ours").await;
    let text = failed(&git(&kit, json!({"action": "push"})).await, FailureKind::Conflict);
    has(&text, &["refused x", "fetch"]);
    let text = failed(
        &git(&kit, json!({"action": "push", "name": "x", "force": true})).await,
        FailureKind::Conflict,
    );
    has(&text, &["stale info", "others have pushed"]);
    has(&done(&git(&kit, json!({"action": "fetch"})).await), &["remotes/origin/x "]);
    has(&done(&git(&kit, json!({"action": "fetch"})).await), &["Nothing is new."]);
    done(&git(&kit, json!({"action": "push", "name": "x", "force": true})).await);
    assert_eq!(kit.sh("git -C ../r.git log -1 --format=%s x").await, "ours\n");
    let text = failed(&git(&kit, json!({"action": "push", "name": "nope"})).await, FailureKind::NotFound);
    has(&text, &["no branch nope"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_branch_is_pushed_under_its_own_name_whatever_is_set() {
    let kit = kit();
    with_remote(&kit).await;
    kit.sh("git switch -qc x; git commit -q --allow-empty -m x; git config push.default upstream; \
         git config branch.x.remote origin; git config branch.x.merge refs/heads/main; \
         git config remote.origin.push +refs/heads/x:refs/heads/main")
        .await;
    done(&git(&kit, json!({"action": "push", "name": "x", "force": true})).await);
    assert_eq!(log(&kit, "../r.git").await, "first\n");
    assert_eq!(kit.sh("git -C ../r.git log -1 --format=%s x").await, "x\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_takes_away_asks_even_in_yolo_mode_and_a_protected_branch_is_never_rewritten() {
    let kit = equipped(HarnessSetup { mode: Mode::Yolo, answers: Answers::no(), ..HarnessSetup::default() });
    with_remote(&kit).await;
    kit.sh("git branch x; git commit -q --allow-empty -m second; echo w > src/a.txt; git stash -q").await;
    for input in [
        json!({"action": "commit", "amend": true}),
        json!({"action": "branch", "op": "remove", "name": "x", "force": true}),
        json!({"action": "stash", "op": "remove"}),
        json!({"action": "push", "name": "x", "force": true}),
    ] {
        assert_eq!(denied(&git(&kit, input.clone()).await), "user", "{input}");
    }
    let asked = kit.answers().asked().len();
    let main = git(&kit, json!({"action": "push", "name": "main", "force": true})).await;
    assert_eq!(denied(&main), "hard-deny");
    assert_eq!(kit.answers().asked().len(), asked);
    // A plain one doesn't ask there.
    done(&git(&kit, json!({"action": "push", "name": "main"})).await);
    assert_eq!(log(&kit, "../r.git").await, "second\nfirst\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rule_for_the_shell_holds_here_too() {
    let kit = denying("bash(git push *)", Answers::yes());
    with_remote(&kit).await;
    assert_eq!(denied(&git(&kit, json!({"action": "push"})).await), "deny");
    done(&git(&kit, json!({"action": "fetch"})).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_known_ways_lead_to_a_remote() {
    let kit = kit();
    repository(&kit).await;
    let mark = kit.path("../ran").display().to_string();
    kit.sh(&format!(
        "git remote add ext 'ext::sh -c \"echo ran >> {mark}\"'; git remote add odd foo://h/x; \
         git config url.ext::sh.insteadOf short:; git remote add short short:x"
    ))
    .await;
    for remote in ["ext", "odd", "short"] {
        let text =
            failed(&git(&kit, json!({"action": "fetch", "remote": remote})).await, FailureKind::Conflict);
        has(&text, &["no address that is contacted here"]);
    }
    kit.sh("git remote add origin https://h.invalid/x; git config credential.helper '!echo ran'").await;
    let text = failed(&git(&kit, json!({"action": "fetch"})).await, FailureKind::Conflict);
    has(&text, &["credential.helper"]);
    assert!(!kit.path("../ran").exists());
    for input in [
        json!({"action": "fetch", "remote": "../r.git"}),
        json!({"action": "fetch", "remote": "--upload-pack=x"}),
        json!({"action": "push", "name": "+main"}),
        json!({"action": "push", "name": ":main"}),
        json!({"action": "log", "rev": "--output=x"}),
        json!({"action": "diff", "rev": "-O/etc/passwd"}),
    ] {
        invalid(&git(&kit, input).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_put_away_comes_back() {
    let kit = kit();
    repository(&kit).await;
    let text = failed(&git(&kit, json!({"action": "stash", "op": "add"})).await, FailureKind::Conflict);
    has(&text, &["nothing to put away"]);
    kit.write("src/a.txt", "two\n");
    let text = done(&git(&kit, json!({"action": "stash", "op": "add", "message": "-w it's"})).await);
    has(&text, &["Put away as stash@{0}", "-w it's", "Nothing has changed"]);
    assert_eq!(kit.read("src/a.txt"), b"one\n");
    let text = done(&git(&kit, json!({"action": "stash", "op": "pop"})).await);
    has(&text, &["stash@{0} is back", "M src/a.txt"]);
    assert_eq!(kit.read("src/a.txt"), b"two\n");
    has(&done(&git(&kit, json!({"action": "stash"})).await), &["There is no stash."]);
    let text = failed(&git(&kit, json!({"action": "stash", "op": "pop"})).await, FailureKind::NotFound);
    has(&text, &["no stash@{0}"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workspace_within_a_repository_stays_in_it() {
    let kit = kit();
    // The repository is larger than the workspace.
    kit.sh(&format!("cd .. && {INIT} && echo x > above && git add above && git commit -qm above")).await;
    kit.sh("echo y > ../above").await;
    kit.write("in", "x\n");
    let text = done(&git(&kit, json!({"action": "status"})).await);
    assert!(text.contains("  in") && !text.contains("above"), "{text}");
    let text = done(&git(&kit, json!({"action": "diff"})).await);
    assert!(!text.contains("+y") && text.contains("the repository is larger"), "{text}");
    done(&git(&kit, json!({"action": "add", "paths": ["."]})).await);
    assert_eq!(kit.sh("git diff --cached --name-only").await, "workspace/in\n");
    for path in ["../above", "/etc/passwd"] {
        let ended = git(&kit, json!({"action": "diff", "paths": [path]})).await;
        has(&failed(&ended, FailureKind::InvalidInput), &["/paths must lie in the workspace"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn long_answers_are_bounded_and_counted() {
    let kit = kit();
    repository(&kit).await;
    kit.sh("for i in $(seq 1 150); do echo x > f$i; done; for i in 1 2 3; do git commit -q --allow-empty -m word$i; done")
        .await;
    has(&done(&git(&kit, json!({"action": "status"})).await), &["(and 50 more; name folders in paths)"]);
    let text = done(&git(&kit, json!({"action": "log", "limit": 2})).await);
    has(&text, &["word3", "word2", "there are older ones"]);
    assert!(!text.contains("word1"), "{text}");
}
