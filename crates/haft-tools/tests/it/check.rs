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
async fn cargo_tests_without_a_harness_are_known_by_their_status() {
    let kit = kit();
    if !here(&kit, "cargo") {
        return;
    }
    crated(&kit, "pub fn one() {}\n");
    let manifest = String::from_utf8(kit.read("Cargo.toml")).unwrap();
    kit.write("Cargo.toml", format!("{manifest}\n[[test]]\nname = \"own\"\nharness = false\n"));
    kit.write("tests/own.rs", "fn main() { println!(\"own words\"); std::process::exit(3) }\n");
    let text = lost(&test(&kit).await, "counts unknown, exit 101");
    has(&text, &["doesn't say which of its tests did (test --test own)"]);
    kit.write("tests/own.rs", "fn main() { println!(\"own words\") }\n");
    passed(&test(&kit).await, "counts unknown");
    kit.write("src/lib.rs", "#[test]\nfn leaves() { std::process::exit(0) }\n");
    has(&lost(&test(&kit).await, "0 passed, 1 failed"), &["never said how they went"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_may_name_one_test() {
    let kit = kit();
    if here(&kit, "cargo") {
        crated(&kit, "#[cfg(test)]\nmod tests {\n    #[test]\n    fn inner() {}\n}\n");
        kit.write("tests/more.rs", "#[test]\nfn good() {}\n#[test]\nfn worse() { panic!(\"boom\") }\n");
        let one = |path: &str| json!({"kind": "test", "runner": "cargo", "paths": [path]});
        passed(&check(&kit, one("tests/more.rs::good")).await, "1 passed, 0 failed");
        has(&lost(&check(&kit, one("tests/more.rs")).await, "1 passed, 1 failed"), &["--test more"]);
        passed(&check(&kit, one("src/lib.rs::tests::inner")).await, "1 passed, 0 failed");
        passed(&check(&kit, one("tests::inner")).await, "1 passed, 0 failed");
        untested(&check(&kit, one("tests/more.rs::nosuch")).await);
    }
    if here(&kit, "python3") {
        let case = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n    def test_b(self): self.fail()\n";
        kit.write("py/tests/__init__.py", "");
        kit.write("py/tests/test_x.py", case);
        let one = json!({"kind": "test", "cwd": "py", "paths": ["tests/test_x.py::T::test_a"]});
        passed(&check(&kit, one).await, "1 passed, 0 failed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_projects_own_pytest_is_taken() {
    let kit = kit();
    kit.write("tests/test_a.py", "import unittest\n");
    kit.write(".venv/bin/pytest", "#!/bin/sh\necho '==== 1 passed in 0.01s ===='\n");
    kit.sh("chmod +x .venv/bin/pytest").await;
    let ended = test(&kit).await;
    passed(&ended, "1 passed, 0 failed");
    has(&done(&ended), &["ran: .venv/bin/pytest --verbosity=0"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_start_is_counted_by_their_sums_or_not_at_all() {
    let kit = kit();
    if !here(&kit, "make") {
        return;
    }
    let lint = |line: &str| format!("lint:\n\t@{line}\n");
    let ran = async |line: &str| {
        kit.write("Makefile", lint(line));
        check(&kit, json!({"kind": "lint"})).await
    };
    has(first(&done(&ran("true").await)), &["make lint: passed (not counted, exit 0)"]);
    has(first(&done(&ran("echo 'All checks passed!'").await)), &["passed (0 errors, 0 warnings, exit 0)"]);
    let ended = ran("echo '✖ 3 problems (2 errors, 1 warning)'; exit 1").await;
    has(&done(&ended), &["make lint: FAILED (2 errors, 1 warning, exit 2)", "--- its output"]);
    assert_eq!(metadata(&ended)["runs"][0]["problems"], json!({"errors": 2, "warnings": 1}));
    has(first(&done(&ran("echo 'Found 3 errors in 2 files.' || true").await)), &["FAILED (3 errors"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_that_cannot_be_read_is_told_with_its_place() {
    let kit = kit();
    kit.write("package.json", "{\n  \"scripts\": {\"test\": \"true\",}\n}\n");
    let text = failed(&test(&kit).await, FailureKind::Conflict);
    has(&text, &["package.json isn't JSON", "at line 2 column", "mend it"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn manifests_below_are_named_where_the_folder_has_none() {
    let kit = kit();
    kit.write("packages/web/package.json", "{}");
    kit.write("core/Cargo.toml", "");
    kit.write("packages/web/node_modules/x/package.json", "{}");
    kit.write(".hidden/go.mod", "");
    let text = failed(&test(&kit).await, FailureKind::NotFound);
    has(&text, &["no runner for test", "Below it are core/Cargo.toml, packages/web/package.json: name one"]);
    assert!(!text.contains("node_modules") && !text.contains("hidden"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pytest_passes_fails_crashes_and_runs_nothing() {
    let kit = kit();
    if !here(&kit, "pytest") {
        return;
    }
    kit.write("pytest.ini", "[pytest]\n");
    kit.write("test_a.py", "def test_good(): pass\n");
    passed(&test(&kit).await, "1 passed, 0 failed");
    kit.write("test_a.py", "def test_good(): pass\ndef test_bad():\n    assert 1 == 2\n");
    let text = lost(&test(&kit).await, "1 passed, 1 failed");
    has(&text, &["test_a.py:3: error: assert 1 == 2"]);
    passed(
        &check(&kit, json!({"kind": "test", "paths": ["test_a.py::test_good"]})).await,
        "1 passed, 0 failed",
    );
    kit.write("test_a.py", "import os\ndef test_dies(): os.kill(os.getpid(), 9)\n");
    has(&crashed(&test(&kit).await), &["killed by signal 9"]);
    kit.write("test_a.py", "import nosuchmodule\n");
    has(&lost(&test(&kit).await, "0 passed, 1 failed"), &["No module named 'nosuchmodule'"]);
    kit.write("pytest.ini", "[pytest]\naddopts = --nosuchoption\n");
    broken(&test(&kit).await);
    kit.write("pytest.ini", "[pytest]\n");
    kit.sh("rm test_a.py").await;
    has(&untested(&test(&kit).await), &["no tests ran"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn go_passes_fails_crashes_and_runs_nothing() {
    let kit = kit();
    if !here(&kit, "go") {
        return;
    }
    let case = |body: &str| format!("package x\n\nimport \"testing\"\n\n{body}\n");
    kit.write("go.mod", "module x\n\ngo 1.19\n");
    kit.write("x.go", "package x\n");
    kit.write("x_test.go", case("func TestGood(t *testing.T) {}"));
    passed(&test(&kit).await, "1 passed, 0 failed");
    kit.write(
        "x_test.go",
        case("func TestGood(t *testing.T) {}\nfunc TestBad(t *testing.T) { t.Error(\"no\") }"),
    );
    has(&lost(&test(&kit).await, "1 passed, 1 failed"), &["x_test.go:6: error: no (test TestBad)"]);
    passed(
        &check(&kit, json!({"kind": "test", "paths": ["x_test.go::TestGood"]})).await,
        "1 passed, 0 failed",
    );
    let dying =
        "import \"syscall\"\n\nfunc TestDies(t *testing.T) { syscall.Kill(syscall.Getpid(), 9); select {} }";
    kit.write("x_test.go", case(dying));
    has(&crashed(&test(&kit).await), &["signal: killed"]);
    kit.write("x_test.go", case("func TestBad(t *testing.T) { nosuch() }"));
    has(&done(&test(&kit).await), &["test: FAILED (", "undefined: nosuch"]);
    kit.sh("rm x_test.go").await;
    has(&untested(&test(&kit).await), &["no test files"]);
    kit.write("go.mod", "modul x\n");
    has(
        &done(&test(&kit).await),
        &["test: FAILED (counts unknown, exit 1)", "go.mod:1: error: unknown directive"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn just_is_believed_only_with_evidence() {
    let kit = kit();
    if !here(&kit, "just") {
        return;
    }
    let recipe = |line: &str| format!("test:\n    @{line}\n");
    kit.write("justfile", recipe("printf '1..1\\nok 1\\n'"));
    passed(&test(&kit).await, "1 passed, 0 failed");
    kit.write("justfile", recipe("printf '1..1\\nnot ok 1 - b\\n'; exit 1"));
    has(&lost(&test(&kit).await, "0 passed, 1 failed"), &["(test b)"]);
    kit.write("justfile", recipe("echo all fine"));
    untested(&test(&kit).await);
    kit.write("justfile", recipe("kill -9 $$"));
    has(&crashed(&test(&kit).await), &["by signal 9"]);
    kit.write("justfile", recipe("nosuchprogram --all"));
    has(&failed(&test(&kit).await, FailureKind::NotFound), &["MISSING", "nosuchprogram"]);
    kit.write("justfile", recipe("exit 3"));
    broken(&test(&kit).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn ctest_passes_fails_and_runs_nothing() {
    let kit = kit();
    if !here(&kit, "ctest") || !here(&kit, "cmake") {
        return;
    }
    let configured = async |tests: &str| {
        let list = "cmake_minimum_required(VERSION 3.20)\nproject(x NONE)\nenable_testing()\n";
        kit.write("CMakeLists.txt", format!("{list}{tests}"));
        kit.sh("cmake -S . -B build").await;
        test(&kit).await
    };
    let good = "add_test(NAME good COMMAND sh -c \"exit 0\")\n";
    passed(&configured(good).await, "1 passed, 0 failed");
    let bad = "add_test(NAME bad COMMAND sh -c \"exit 1\")\n";
    let text = lost(&configured(&format!("{good}{bad}")).await, "1 passed, 1 failed");
    has(&text, &["error: failed (test bad)"]);
    let gone = "add_test(NAME gone COMMAND nosuchprogram)\n";
    lost(&configured(gone).await, "0 passed, 1 failed");
    untested(&configured("").await);
}

/// The managers beside npm, each with the file by which it is known.
const MANAGERS: [(&str, &str); 3] = [("bun.lock", "bun"), ("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn")];

#[tokio::test(flavor = "multi_thread")]
async fn each_manager_of_packages_runs_the_projects_scripts() {
    for (lock, program) in MANAGERS {
        let kit = kit();
        let script = |line: &str| {
            kit.write("package.json", json!({"name": "fixture", "scripts": {"test": line}}).to_string());
        };
        kit.write(lock, "");
        if !here(&kit, program) {
            continue;
        }
        script("printf '1..1\\nok 1 - a\\n'");
        let ended = test(&kit).await;
        passed(&ended, "1 passed, 0 failed");
        has(&done(&ended), &[&format!("ran: {program} run test")]);
        script("printf '1..1\\nnot ok 1 - b\\n'; exit 1");
        has(&lost(&test(&kit).await, "0 passed, 1 failed"), &["(test b)"]);
        script("echo all fine");
        untested(&test(&kit).await);
        script("kill -9 $$");
        crashed(&test(&kit).await);
        script("nosuchrunner --all");
        has(&failed(&test(&kit).await, FailureKind::NotFound), &["MISSING", "nosuchrunner"]);
        script("exit 3");
        broken(&test(&kit).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ruff_and_mypy_find_and_count() {
    let kit = kit();
    kit.write("pyproject.toml", "[tool.ruff.lint]\nselect = [\"F\"]\n\n[tool.mypy]\nstrict = false\n");
    kit.write("m.py", "import os\n\nx: int = \"a\"\n");
    if here(&kit, "ruff") {
        let text = done(&check(&kit, json!({"kind": "lint"})).await);
        has(&text, &["ruff lint: FAILED (1 error, 0 warnings, exit 1)", "m.py:1:8: error:", "[F401]"]);
        let text = done(&check(&kit, json!({"kind": "lint", "fix": true})).await);
        has(&text, &["ruff lint: passed (0 errors, 0 warnings, exit 0)"]);
    }
    if here(&kit, "mypy") {
        let text = done(&check(&kit, json!({"kind": "typecheck"})).await);
        has(&text, &["mypy typecheck: FAILED (1 error, 0 warnings, exit 1)", "[assignment]"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_that_is_not_here_is_named_with_what_was_found() {
    let runners = [
        ("Cargo.toml", "", "cargo"),
        ("pytest.ini", "[pytest]\n", "pytest"),
        ("go.mod", "module x\n", "go"),
        ("pom.xml", "", "mvn"),
        ("build.gradle", "", "gradle"),
        ("Makefile", "test:\n\ttrue\n", "make"),
        ("justfile", "test:\n    true\n", "just"),
    ];
    let mut tried = 0;
    for (manifest, content, program) in runners {
        let kit = kit();
        if kit.world().processes.locate(program).is_some() {
            continue;
        }
        tried += 1;
        kit.write(manifest, content);
        let text = failed(&test(&kit).await, FailureKind::NotFound);
        has(
            &text,
            &["MISSING", "not started", &format!("{program} is not on the PATH"), "name another runner"],
        );
    }
    for (lock, program) in MANAGERS {
        let kit = kit();
        if kit.world().processes.locate(program).is_some() {
            continue;
        }
        tried += 1;
        kit.write("package.json", r#"{"scripts": {"test": "true"}}"#);
        kit.write(lock, "");
        let text = failed(&test(&kit).await, FailureKind::NotFound);
        has(
            &text,
            &["npm test: MISSING", "not started", &format!("{program} is not on the PATH"), "package.json"],
        );
    }
    if tried == 0 {
        eprintln!("NOT TESTED: every runner is here, so none is missing on the PATH");
    }
    // A wrapper that the project has, and that can't be started.
    let kit = kit();
    kit.write("pom.xml", "");
    kit.write("mvnw", "#!/nonexistent/interpreter\n");
    kit.sh("chmod +x mvnw").await;
    has(&failed(&test(&kit).await, FailureKind::NotFound), &["maven test: MISSING", "not started"]);
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
