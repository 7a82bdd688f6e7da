//! `check`: each runner that is here, on small projects that pass, fail, have no tests, or crash, and each told
//! apart. Runners that aren't here are named and left out.

use crate::kit::{answered_by, call, denied, denying, done, failed, has, invalid, kit};
use haft_core::{Effects, Ended, FailureKind, Touch};
use haft_test::{Answers, Harness};
use serde_json::{Value, json};

/// Whether a program is here; says so where it isn't.
fn here(kit: &Harness, program: &str) -> bool {
    let is_here = kit.world().processes.locate(program).is_some();
    if !is_here {
        eprintln!("NOT TESTED: there is no {program} here, so check wasn't tried with it");
    }
    is_here
}

async fn check(kit: &Harness, input: Value) -> Ended {
    call(kit, "check", input).await
}

async fn test(kit: &Harness) -> Ended {
    check(kit, json!({"kind": "test"})).await
}

fn metadata(ended: &Ended) -> Value {
    ended.output.metadata.clone().unwrap_or_default()
}

/// The first line of a text.
fn first(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// A test run that must have passed, with so many that passed and were skipped.
#[track_caller]
fn passed(ended: &Ended, counts: &str) {
    let text = done(ended);
    has(first(&text), &["test: passed (", counts, "exit 0"]);
    assert_eq!(metadata(ended)["status"], "passed");
    assert!(!text.contains("---"), "output that nobody needs: {text}");
}

/// One that must have failed, with its counts; gives the text.
#[track_caller]
fn lost(ended: &Ended, counts: &str) -> String {
    let text = done(ended);
    has(first(&text), &["test: FAILED (", counts]);
    assert_eq!(metadata(ended)["status"], "failed");
    text
}

#[track_caller]
fn untested(ended: &Ended) -> String {
    let text = failed(ended, FailureKind::NotFound);
    has(&text, &["test: NO TESTS WERE RUN", "Nothing is known to work"]);
    text
}

#[track_caller]
fn crashed(ended: &Ended) -> String {
    let text = failed(ended, FailureKind::Unavailable);
    has(&text, &["test: CRASHED", "no result of the check"]);
    text
}

#[track_caller]
fn broken(ended: &Ended) -> String {
    let text = failed(ended, FailureKind::Unavailable);
    has(&text, &["THE RUNNER FAILED without a result", "no result of the check"]);
    text
}

/// A package that needs nothing from elsewhere.
fn crated(kit: &Harness, lib: &str) {
    let manifest = "[package]\nname = \"fixture\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[workspace]\n";
    kit.write("Cargo.toml", manifest);
    kit.write("src/lib.rs", lib);
}

#[tokio::test(flavor = "multi_thread")]
async fn cargo_tests_pass_fail_and_are_counted() {
    let kit = kit();
    if !here(&kit, "cargo") {
        return;
    }
    crated(
        &kit,
        "pub fn two() -> u8 { 2 }\n#[test]\nfn good() { assert_eq!(two(), 2); }\n#[test]\n#[ignore]\nfn later() {}\n",
    );
    passed(&test(&kit).await, "1 passed, 0 failed, 1 skipped");
    kit.write("src/lib.rs", "#[test]\nfn good() {}\n#[test]\nfn bad() {\n    assert_eq!(1, 2);\n}\n");
    kit.write("tests/more.rs", "#[test]\nfn worse() { panic!(\"boom\"); }\n");
    let ended = test(&kit).await;
    let text = lost(&ended, "1 passed, 2 failed, 0 skipped");
    has(
        &text,
        &["\nran: cargo test --workspace", "\nsrc/lib.rs:5:5: error: assertion `left == right` failed"],
    );
    has(&text, &["(test bad)", "tests/more.rs:2:14: error: boom (test worse)"]);
    let data = metadata(&ended);
    assert_eq!(data["runs"][0]["exit"], 101);
    assert_eq!(data["runs"][0]["counts"], json!({"passed": 1, "failed": 2, "skipped": 0}));
    assert_eq!(data["runs"][0]["findings"][0]["line"], 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn cargo_without_tests_with_a_crash_and_with_errors_is_told_apart() {
    let kit = kit();
    if !here(&kit, "cargo") {
        return;
    }
    crated(&kit, "pub fn one() {}\n");
    has(&untested(&test(&kit).await), &["it counted 0 tests", "0 passed, 0 failed"]);
    kit.write("src/lib.rs", "#[test]\nfn dies() { std::process::abort() }\n");
    has(&crashed(&test(&kit).await), &["signal: 6", "exit 101"]);
    kit.write("src/lib.rs", "pub fn one() -> u8 { \"x\" }\n");
    for kind in ["test", "build", "typecheck"] {
        let text = done(&check(&kit, json!({"kind": kind})).await);
        has(first(&text), &[kind, "FAILED (", "exit 101"]);
        has(&text, &["\nsrc/lib.rs:1:22: error: mismatched types [E0308]"]);
    }
    kit.write("Cargo.toml", "[package\n");
    has(&broken(&test(&kit).await), &["counts unknown", "Cargo.toml"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn cargo_builds_and_formats() {
    let kit = kit();
    if !here(&kit, "cargo") || !here(&kit, "rustfmt") {
        return;
    }
    crated(&kit, "pub fn one( ) { }\n");
    let build = done(&check(&kit, json!({"kind": "build"})).await);
    has(&build, &["cargo build: passed (0 errors, 0 warnings, exit 0)"]);
    let text = done(&check(&kit, json!({"kind": "format"})).await);
    has(&text, &["format: FAILED (", "src/lib.rs:1: error: not formatted"]);
    has(&done(&check(&kit, json!({"kind": "format", "fix": true})).await), &["format: passed"]);
    assert_eq!(kit.read("src/lib.rs"), b"pub fn one() {}\n");
    has(&done(&check(&kit, json!({"kind": "format"})).await), &["format: passed"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn make_is_believed_only_with_evidence() {
    let kit = kit();
    if !here(&kit, "make") {
        return;
    }
    kit.write("Makefile", "test:\n\t@printf '1..2\\nok 1 - a\\nok 2 - b # SKIP later\\n'\n");
    passed(&test(&kit).await, "1 passed, 0 failed, 1 skipped");
    kit.write("Makefile", "test:\n\t@printf '1..2\\nok 1 - a\\nnot ok 2 - b\\n'\n");
    has(&lost(&test(&kit).await, "1 passed, 1 failed, 0 skipped"), &["error: failed (test b)", "exit 0"]);
    kit.write("Makefile", "test:\n\t@echo all fine\n");
    has(
        &untested(&test(&kit).await),
        &["counts unknown, exit 0", "nothing that it printed shows", "\nall fine"],
    );
    kit.write("Makefile", "test:\n\t@echo half; kill -9 $$$$\n");
    has(&crashed(&test(&kit).await), &["Killed", "exit 2", "\nhalf"]);
    kit.write("Makefile", "test:\n\t@echo half; exit 3\n");
    has(&broken(&test(&kit).await), &["counts unknown, exit 2", "Error 3", "\nhalf"]);
    kit.write("Makefile", "test:\n\tnosuchprogram --all\n");
    let text = failed(&test(&kit).await, FailureKind::NotFound);
    has(&text, &["MISSING", "nosuchprogram", "Install what is missing"]);
    kit.write("Makefile", "lint:\n\t@echo 'a.c:3:9: error: stray thing [-Wstray]'; exit 1\n");
    let text = done(&check(&kit, json!({"kind": "lint"})).await);
    has(
        &text,
        &["make lint: FAILED (1 error, 0 warnings, exit 2)", "\na.c:3:9: error: stray thing [-Wstray]"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn unittest_passes_fails_and_crashes() {
    let kit = kit();
    if !here(&kit, "python3") {
        return;
    }
    let case = |body: &str| {
        format!("import os, unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        {body}\n")
    };
    kit.write("tests/test_a.py", case("pass"));
    let ended = test(&kit).await;
    passed(&ended, "1 passed, 0 failed, 0 skipped");
    has(&done(&ended), &["python3 -m unittest discover -s tests"]);
    kit.write("tests/test_b.py", case("self.assertEqual(1, 2)"));
    let text = lost(&test(&kit).await, "1 passed, 1 failed, 0 skipped");
    has(&text, &["tests/test_b.py:4: error: AssertionError: 1 != 2 (test test_a (test_b.T"]);
    let one = check(&kit, json!({"kind": "test", "paths": ["tests/test_a.py"]})).await;
    passed(&one, "1 passed, 0 failed, 0 skipped");
    kit.write("tests/test_b.py", case("os.abort()"));
    has(&crashed(&test(&kit).await), &["killed by signal 6"]);
    kit.sh("rm tests/*.py").await;
    kit.write("tests/test_none.py", "");
    has(&untested(&test(&kit).await), &["it counted 0 tests"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn npm_scripts_are_run_and_nodes_tests_counted() {
    let kit = kit();
    if !here(&kit, "npm") || !here(&kit, "node") {
        return;
    }
    let package = |script: &str| json!({"name": "fixture", "scripts": {"test": script}}).to_string();
    kit.write("package.json", package("node --test"));
    kit.write("a.test.js", "require('node:test')('good', () => {});\n");
    passed(&test(&kit).await, "1 passed, 0 failed, 0 skipped");
    let bad = "const t = require('node:test');\nt('good', () => {});\nt('bad', () => { throw new Error('boom'); });\n";
    kit.write("a.test.js", bad);
    has(&lost(&test(&kit).await, "1 passed, 1 failed"), &["npm run test", "(test bad)"]);
    kit.sh("rm a.test.js").await;
    untested(&test(&kit).await);
    kit.write("package.json", package("nosuchrunner --all"));
    has(&failed(&test(&kit).await, FailureKind::NotFound), &["MISSING", "nosuchrunner"]);
    kit.write("package.json", package("kill -9 $$"));
    crashed(&test(&kit).await);
    kit.write("package.json", package("echo 'Error: no test specified' && exit 1"));
    has(&failed(&test(&kit).await, FailureKind::NotFound), &["no runner for test", "package.json"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_runners_pass_and_fail_where_they_are_here() {
    let kit = kit();
    if here(&kit, "pytest") {
        kit.write("py/pytest.ini", "[pytest]\n");
        kit.write("py/test_a.py", "def test_good(): pass\ndef test_bad():\n    assert 1 == 2\n");
        let text = lost(&check(&kit, json!({"kind": "test", "cwd": "py"})).await, "1 passed, 1 failed");
        has(&text, &["test_a.py:3: error: assert 1 == 2"]);
        kit.sh("rm py/test_a.py").await;
        has(&untested(&check(&kit, json!({"kind": "test", "cwd": "py"})).await), &["no tests ran"]);
    }
    if here(&kit, "go") {
        kit.write("go/go.mod", "module x\n\ngo 1.19\n");
        kit.write(
            "go/x_test.go",
            "package x\n\nimport \"testing\"\n\nfunc TestBad(t *testing.T) { t.Error(\"no\") }\n",
        );
        let text = lost(&check(&kit, json!({"kind": "test", "cwd": "go"})).await, "0 passed, 1 failed");
        has(&text, &["x_test.go:5: error: no (test TestBad)"]);
    }
    if here(&kit, "just") {
        kit.write("just/justfile", "test:\n    @printf '1..1\\nok 1\\n'\n");
        passed(&check(&kit, json!({"kind": "test", "cwd": "just"})).await, "1 passed, 0 failed");
    }
    if here(&kit, "ctest") && here(&kit, "cmake") {
        let list = "cmake_minimum_required(VERSION 3.20)\nproject(x NONE)\nenable_testing()\n";
        kit.write("ct/CMakeLists.txt", format!("{list}add_test(NAME bad COMMAND sh -c \"exit 1\")\n"));
        kit.sh("cd ct && cmake -S . -B build").await;
        let text = lost(&check(&kit, json!({"kind": "test", "cwd": "ct"})).await, "0 passed, 1 failed");
        has(&text, &["error: failed (test bad)"]);
    }
    for program in ["mvn", "gradle"] {
        here(&kit, program);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_that_is_not_here_is_named_with_what_was_found() {
    let kit = kit();
    let absent = [("bun.lock", "bun"), ("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn")];
    let absent = absent.into_iter().find(|(_, program)| kit.world().processes.locate(program).is_none());
    let Some((lock, program)) = absent else {
        eprintln!("NOT TESTED: every manager of packages is here, so none is missing");
        return;
    };
    kit.write("package.json", r#"{"scripts": {"test": "true"}}"#);
    kit.write(lock, "");
    let text = failed(&test(&kit).await, FailureKind::NotFound);
    has(
        &text,
        &["npm test: MISSING", "not started", &format!("{program} is not on the PATH"), "package.json"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_to_run_says_what_was_looked_for() {
    let kit = kit();
    let text = failed(&test(&kit).await, FailureKind::NotFound);
    has(&text, &["no runner for test was found", "Cargo.toml", "go.mod", "justfile", "cwd"]);
    kit.write("Makefile", "clean:\n");
    let text = failed(&test(&kit).await, FailureKind::NotFound);
    has(&text, &["There is Makefile", "nothing for it"]);
    let text =
        failed(&check(&kit, json!({"kind": "test", "cwd": "Makefile"})).await, FailureKind::InvalidInput);
    has(&text, &["/cwd must be a folder"]);
    let text = failed(&check(&kit, json!({"kind": "test", "paths": ["nope"]})).await, FailureKind::NotFound);
    has(&text, &["there is no nope"]);
    for (input, part) in [
        (json!({}), "/kind is required"),
        (json!({"kind": "test", "fix": true}), "/fix is for kind lint and format"),
        (json!({"kind": "lint", "fix": true, "runner": "go"}), "no option that fixes"),
        (json!({"kind": "lint", "runner": "pytest"}), "pytest has no lint"),
    ] {
        has(&invalid(&check(&kit, input).await), &[part]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_runners_run_in_turn_and_the_worst_decides() {
    let kit = kit();
    if !here(&kit, "python3") || !here(&kit, "npm") {
        return;
    }
    kit.write("test_a.py", "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n");
    kit.write("package.json", r#"{"scripts": {"test": "printf '1..1\\nnot ok 1 - x\\n'; exit 1"}}"#);
    // A Makefile commonly starts the others.
    kit.write("Makefile", "test:\n\ttouch made\n");
    let ended = test(&kit).await;
    let text = done(&ended);
    has(&text, &["test FAILED: the worst of 2 runners", "npm test: FAILED (0 passed, 1 failed"]);
    has(&text, &["unittest test: passed (1 passed, 0 failed"]);
    assert_eq!(metadata(&ended)["status"], "failed");
    assert!(!kit.path("made").exists());
    let one = check(&kit, json!({"kind": "test", "runner": "unittest"})).await;
    passed(&one, "1 passed, 0 failed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_takes_too_long_is_stopped_and_told() {
    let kit = kit();
    if !here(&kit, "make") {
        return;
    }
    kit.write("Makefile", "test:\n\t@echo began; sleep 300\n");
    let ended = check(&kit, json!({"kind": "test", "timeout": 1_000})).await;
    assert_eq!(ended.outcome.name(), "timed-out");
    has(&ended.output.joined_text(), &["TIMED OUT", "larger timeout", "\nbegan"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_for_commands_and_paths_hold_for_what_it_runs() {
    let kit = denying("bash(make *)", Answers::yes());
    kit.write("Makefile", "test:\n\ttouch made\n");
    for input in [json!({"kind": "test", "runner": "make"}), json!({"kind": "test"})] {
        assert_eq!(denied(&check(&kit, input).await), "deny");
    }
    assert!(!kit.path("made").exists() && kit.answers().asked().is_empty());
    let kit = denying("read(./secret/**)", Answers::yes());
    kit.write("secret/Makefile", "test:\n\ttouch made\n");
    kit.write("Makefile", "test:\n\t@printf '1..1\\nok 1\\n'\n");
    for input in
        [json!({"kind": "test", "cwd": "secret"}), json!({"kind": "test", "paths": ["secret/Makefile"]})]
    {
        assert_eq!(denied(&check(&kit, input.clone()).await), "deny", "{input}");
    }
    assert!(!kit.path("secret/made").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_question_shows_what_will_run() {
    let kit = answered_by(Answers::no());
    kit.write("Makefile", "check:\n\ttouch made\n");
    assert_eq!(denied(&test(&kit).await), "user");
    let asked = kit.answers().asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].preview.text, "make check");
    let Effects::Only(touches) = &asked[0].effects else { panic!("{:?}", asked[0].effects) };
    assert!(touches.iter().any(|touch| matches!(touch, Touch::Command(line) if line.contains("make check"))));
    assert!(!kit.path("made").exists());
}
