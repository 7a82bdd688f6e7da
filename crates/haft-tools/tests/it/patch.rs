//! What `patch` promises: all or none, unique places, no file over another, and the trees that `git apply` makes.

use crate::kit::{call, done, end_of, failed, has, invalid, kit, read, signs, silent, start, write};
use haft_core::{Ended, FailureKind, Outcome};
use haft_test::Harness;
use proptest::prelude::*;
use serde_json::json;
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

async fn patch(kit: &Harness, text: &str) -> Ended {
    call(kit, "patch", json!({"patch": text})).await
}

fn envelope(body: &str) -> String {
    format!("*** Begin Patch\n{body}\n*** End Patch\n")
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f11_nothing_is_added_or_moved_over_a_file() {
    let kit = kit();
    kit.write("cfg.env", "KEEP=1");
    kit.write("other", "x\n");
    kit.sh("ln -s cfg.env link").await;
    for (body, part) in [
        ("*** Add File: cfg.env\n+NEW=1", "Update File"),
        ("*** Add File: link\n+NEW=1", "Update File"),
        ("*** Update File: other\n*** Move to: cfg.env\n-x\n+y", "exists already"),
    ] {
        let text = failed(&patch(&kit, &envelope(body)).await, FailureKind::Conflict);
        has(&text, &["cfg.env exists already", part, "Nothing was changed"]);
        assert_eq!((kit.read("cfg.env"), kit.read("other")), (b"KEEP=1".to_vec(), b"x\n".to_vec()));
    }
    let git = "diff --git a/cfg.env b/cfg.env\nnew file mode 100644\n--- /dev/null\n+++ b/cfg.env\n@@ -0,0 +1 @@\n+N\n";
    has(&failed(&patch(&kit, git).await, FailureKind::Conflict), &["exists already"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f12_one_hunk_that_fails_keeps_all_files() {
    let kit = kit();
    kit.write("a.txt", "1\n");
    kit.write("b.txt", "2\n");
    let body = |context: &str| {
        envelope(&format!(
            "*** Update File: a.txt\n-1\n+1\n+1b\n*** Update File: b.txt\n {context}\n+3\n*** Add File: n/c\n+c"
        ))
    };
    let text = failed(&patch(&kit, &body("two")).await, FailureKind::Conflict);
    has(&text, &["b.txt, hunk 1", "two", "Nothing was changed"]);
    assert_eq!((kit.read("a.txt"), kit.read("b.txt")), (b"1\n".to_vec(), b"2\n".to_vec()));
    assert!(!kit.path("n").exists());
    let ended = patch(&kit, &body("2")).await;
    has(&done(&ended), &["Patched 3 files", "updated a.txt (1 hunk, +1 −0)", "added n/c (1 line)"]);
    assert_eq!(ended.output.files.len(), 3);
    assert_eq!((kit.read("a.txt"), kit.read("b.txt")), (b"1\n1b\n".to_vec(), b"2\n3\n".to_vec()));
    // Once more says so, and adds nothing twice.
    let text = failed(&patch(&kit, &body("2")).await, FailureKind::Conflict);
    has(
        &text,
        &[
            "a.txt, hunk 1: its new text is already there",
            "b.txt, hunk 1: its new text",
            "exactly this content",
        ],
    );
    assert_eq!(kit.read("a.txt"), b"1\n1b\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn expected_and_found_lines_are_shown() {
    let kit = kit();
    kit.write("f", "fn a() {\n\tgo(1);\n}\n");
    let text = failed(
        &patch(&kit, &envelope("*** Update File: f\n fn a() {\n-\tgo(2);\n+\tgo(3);\n }")).await,
        FailureKind::Conflict,
    );
    has(&text, &["f, hunk 1", "expected 2│→go(2);", "found    2│→go(1);"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f14_a_change_elsewhere_keeps_nothing_from_applying() {
    let kit = kit();
    kit.write("m.rs", "one\ntwo\nthree\n");
    read(&kit, "m.rs").await;
    kit.write("m.rs", "one\ntwo\n    three\n");
    let text = done(&patch(&kit, &envelope("*** Update File: m.rs\n-one\n+1")).await);
    has(&text, &["m.rs was changed elsewhere"]);
    // What it doesn't know whole may not be overwritten, what it knows may.
    failed(&write(&kit, "m.rs", "x").await, FailureKind::Conflict);
    read(&kit, "m.rs").await;
    done(&patch(&kit, &envelope("*** Update File: m.rs\n-two\n+2\n*** Add File: n\n+n")).await);
    done(&write(&kit, "m.rs", "x").await);
    done(&write(&kit, "n", "x").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn case_f03_bytes_and_encodings_stay() {
    let kit = kit();
    kit.write("c.pas", b"x = 1\nprice \xa2 40\n");
    done(&patch(&kit, &envelope("*** Update File: c.pas\n-x = 1\n+x = 2")).await);
    assert_eq!(signs(kit.read("c.pas")), signs(b"x = 2\nprice \xa2 40\n"));
    let text = failed(
        &patch(&kit, &envelope("*** Update File: c.pas\n-x = 2\n+\u{2603}")).await,
        FailureKind::InvalidInput,
    );
    has(&text, &["can't hold", "Nothing was changed"]);
    kit.write("a.ini", "k=1\r\nm=2\nz=3");
    done(&patch(&kit, "--- a/a.ini\n+++ b/a.ini\n@@ -1,3 +1,4 @@\n-k=1\n+k=10\n+l=1\n m=2\n z=3\n").await);
    assert_eq!(signs(kit.read("a.ini")), signs("k=10\r\nl=1\r\nm=2\nz=3"));
}

#[tokio::test(flavor = "multi_thread")]
async fn modes_links_and_moves_are_kept() {
    let kit = kit();
    kit.write("run", "1\n");
    kit.write("t", "v1\n");
    kit.sh("chmod 750 t; ln -s t s; ln t h").await;
    let mode = |name: &str| fs::metadata(kit.path(name)).unwrap().permissions().mode() & 0o777;
    done(&patch(&kit, &envelope("*** Update File: s\n-v1\n+v2")).await);
    assert_eq!((kit.read("h"), kit.read("t"), mode("t")), (b"v2\n".to_vec(), b"v2\n".to_vec(), 0o750));
    assert!(fs::symlink_metadata(kit.path("s")).unwrap().is_symlink());
    done(&patch(&kit, "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n").await);
    assert_ne!(mode("run") & 0o100, 0);
    done(
        &patch(&kit, "diff --git a/run b/d/run\nsimilarity index 100%\nrename from run\nrename to d/run\n")
            .await,
    );
    assert!(mode("d/run") & 0o100 != 0 && !kit.path("run").exists());
    let text = failed(&patch(&kit, &envelope("*** Delete File: s")).await, FailureKind::Conflict);
    has(&text, &["s is a link to t", "Name t itself"]);
    done(&patch(&kit, &envelope("*** Delete File: d/run")).await);
    assert!(!kit.path("d/run").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_names_of_one_file_never_wait_for_each_other() {
    let kit = kit();
    kit.write("a", "1\n");
    kit.sh("ln a b").await;
    let both =
        |a: &str, b: &str| envelope(&format!("*** Update File: a\n-1\n+{a}\n*** Update File: b\n-1\n+{b}"));
    let text = failed(&patch(&kit, &both("2", "3")).await, FailureKind::InvalidInput);
    has(&text, &["a and b are names of one file", "nothing was changed"]);
    assert_eq!(kit.read("a"), b"1\n");
    done(&patch(&kit, &both("2", "2")).await);
    assert_eq!((kit.read("a"), kit.read("b")), (b"2\n".to_vec(), b"2\n".to_vec()));
    done(&patch(&kit, &envelope("*** Delete File: a\n*** Delete File: b")).await);
    assert!(!kit.path("a").exists() && !kit.path("b").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn other_names_are_taken_and_nonsense_is_refused_by_line() {
    let kit = kit();
    let add = |name: &str| envelope(&format!("*** Add File: {name}\n+x"));
    done(&call(&kit, "patch", json!({"input": add("a")})).await);
    done(&call(&kit, "apply_patch", json!({"diff": add("b")})).await);
    assert_eq!((kit.read("a"), kit.read("b")), (b"x\n".to_vec(), b"x\n".to_vec()));
    for (text, part) in [
        ("", "/patch is empty"),
        ("hello", "names no file"),
        ("*** Begin Patch\n*** Add File: z\n+x", "may be cut off"),
        ("diff --git a/x b/x\nindex 1..2\nGIT binary patch\n", "binary files"),
    ] {
        has(&invalid(&call(&kit, "patch", json!({"patch": text})).await), &[part]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approved_patch_lands_though_a_file_changed_elsewhere_and_not_where_its_place_changed() {
    let input = json!({"patch": envelope("*** Update File: f\n-three\n+3\n*** Update File: g\n-x\n+y")});
    for (meanwhile, lands) in [("zero\ntwo\nthree\n", true), ("two\ndrei\n", false)] {
        let kit = silent();
        kit.write("f", "two\nthree\n");
        kit.write("g", "x\n");
        let call = start(&kit, "patch", &input);
        kit.answers().wait_for(1).await;
        has(&kit.answers().asked()[0].preview.text, &["-three\n", "+3\n", "-x\n", "+y\n"]);
        kit.write("f", meanwhile);
        kit.answers().speak();
        let ended = end_of(call).await;
        assert_eq!(ended.outcome.is_completed(), lands, "{}", ended.output.joined_text());
        assert_eq!(kit.read("g"), if lands { b"y\n" } else { b"x\n" });
    }
}

/// A file of a random tree: its text, and whether it may be run.
type Tree = BTreeMap<String, (String, bool)>;

fn text() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec!["a", "b", "c", "", "\tx = 1", "}", "é", "-- d", "++ e"]);
    let end = prop::sample::select(vec!["\n", "\n", "\n", "\r\n"]);
    (prop::collection::vec((line, end), 0..24), any::<bool>()).prop_map(|(lines, is_open)| {
        let text: String = lines.iter().map(|(line, end)| format!("{line}{end}")).collect();
        if is_open { text.trim_end_matches(['\r', '\n']).to_owned() } else { text }
    })
}

/// Two trees; the second has most files of the first, some changed in a line or two.
fn trees() -> impl Strategy<Value = (Tree, Tree)> {
    let names = ["one", "two words", "d/three", "d/e/ü", "five"];
    let change = prop_oneof![
        3 => (any::<prop::sample::Index>(), "[a-c]{1,2}").prop_map(Some),
        1 => Just(None),
    ];
    let file = (text(), any::<bool>(), 0..8_u8, change, text(), any::<bool>());
    prop::collection::vec(file, names.len()).prop_map(move |files| {
        let (mut old, mut new) = (Tree::new(), Tree::new());
        for (name, (text, runs, fate, change, other, runs_then)) in names.iter().zip(files) {
            let name = (*name).to_owned();
            if fate != 0 {
                old.insert(name.clone(), (text.clone(), runs));
            }
            match fate {
                1 => {}
                0 | 2 => drop(new.insert(name, (other, runs_then))),
                3 => drop(new.insert(format!("moved/{name}"), (text, runs))),
                _ => {
                    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
                    if let Some((at, word)) = change {
                        let at = at.index(lines.len() + 1);
                        lines.insert(at, format!("{word}\n"));
                    } else if !lines.is_empty() {
                        lines.remove(0);
                    }
                    new.insert(name, (lines.concat(), runs));
                }
            }
        }
        (old, new)
    })
}

fn put(root: &Path, tree: &Tree) {
    for (name, (text, runs)) in tree {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(if *runs { 0o755 } else { 0o644 })).unwrap();
    }
}

fn look(root: &Path) -> Tree {
    fn add(folder: &Path, prefix: &str, tree: &mut Tree) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
            let meta = entry.metadata().unwrap();
            if name == ".git" {
                continue;
            }
            if meta.is_dir() {
                add(&entry.path(), &format!("{name}/"), tree);
            } else {
                let text = fs::read_to_string(entry.path()).unwrap();
                tree.insert(name, (text, meta.permissions().mode() & 0o100 != 0));
            }
        }
    }
    let mut tree = Tree::new();
    add(root, "", &mut tree);
    tree
}

/// Runs a program; none where there is none, else whether it went well, and its output.
fn run(folder: &Path, program: &str, args: &[&str]) -> Option<(bool, Vec<u8>)> {
    let output = Command::new(program)
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap_or(folder))
        .stdin(Stdio::null())
        .output()
        .ok()?;
    Some((output.status.success(), output.stdout))
}

fn git_diff(base: &Path, old: &Tree, new: &Tree) -> Option<Vec<u8>> {
    let root = base.join("repository");
    fs::create_dir(&root).unwrap();
    put(&root, old);
    let git = |args: &[&str]| run(&root, "git", args);
    git(&["init", "-q"])?;
    git(&["add", "-A"])?;
    let who = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
    git(&[&who[..], &["commit", "-q", "--allow-empty", "-m", "old"]].concat())?;
    for name in old.keys() {
        fs::remove_file(root.join(name)).unwrap();
    }
    put(&root, new);
    git(&["add", "-A"])?;
    Some(git(&["diff", "--cached", "--no-color", "-M"])?.1)
}

fn plain_diff(base: &Path, old: &Tree, new: &Tree) -> Option<Vec<u8>> {
    fs::create_dir_all(base.join("a")).unwrap();
    fs::create_dir_all(base.join("b")).unwrap();
    put(&base.join("a"), old);
    put(&base.join("b"), new);
    Some(run(base, "diff", &["-ruN", "a", "b"])?.1)
}

/// Applies a diff with git and with us. False where there is nothing to compare.
async fn agrees(old: &Tree, diff: &[u8]) -> bool {
    let Ok(text) = String::from_utf8(diff.to_vec()) else { return false };
    if text.is_empty() {
        return false;
    }
    let kit = kit();
    let theirs = kit.outside().join("theirs");
    fs::create_dir(&theirs).unwrap();
    put(&theirs, old);
    put(&kit.workspace(), old);
    fs::write(kit.outside().join("p.diff"), diff).unwrap();
    let (applied, _) = run(&theirs, "git", &["apply", "--whitespace=nowarn", "../p.diff"]).unwrap();
    let ended = patch(&kit, &text).await;
    let ours = look(&kit.workspace());
    if ended.outcome.is_completed() {
        if applied {
            assert_eq!(ours, look(&theirs), "{text}");
        }
        return applied;
    }
    assert!(matches!(ended.outcome, Outcome::Failed { .. } | Outcome::Invalid), "{:?}", ended.outcome);
    assert_eq!(&ours, old, "refused, and yet changed: {}", ended.output.joined_text());
    false
}

/// Compares on random trees; most diffs must be such that there is something to compare.
fn compare(diff: fn(&Path, &Tree, &Tree) -> Option<Vec<u8>>) {
    if run(Path::new("/"), "git", &["--version"]).is_none() || run(Path::new("/"), "diff", &["-v"]).is_none()
    {
        println!("skipped: there is no git or no diff here");
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let (cases, compared) = (64, std::cell::Cell::new(0));
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let result = runner.run(&trees(), |(old, new)| {
        let is_compared = runtime.block_on(async {
            let folder = kit();
            match diff(folder.outside(), &old, &new) {
                Some(diff) => agrees(&old, &diff).await,
                None => false,
            }
        });
        compared.set(compared.get() + u32::from(is_compared));
        Ok(())
    });
    result.unwrap();
    assert!(compared.get() > cases / 2, "only {} of {cases} could be compared", compared.get());
}

#[test]
fn diffs_of_git_give_the_tree_that_git_gives() {
    compare(git_diff);
}

#[test]
fn diffs_of_diff_give_the_tree_that_git_gives() {
    compare(plain_diff);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_that_contradicts_itself_is_refused_as_such() {
    let kit = kit();
    let body = "*** Add File: q1/z\n+1\n*** Add File: q1\n+2";
    let text = failed(&patch(&kit, &envelope(body)).await, FailureKind::InvalidInput);
    has(&text, &["q1 is a file by one part", "the folder of q1/z", "Nothing was changed"]);
    assert!(!kit.path("q1").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_anchor_is_looked_for_in_the_block_of_the_one_before() {
    let kit = kit();
    kit.write("a.py", "class B:\n    def f(self):\n        x\nclass A:\n    def f(self):\n        x\n");
    let body = "*** Update File: a.py\n@@ class A:\n@@     def f(self):\n-        x\n+        y";
    done(&patch(&kit, &envelope(body)).await);
    let after = "class B:\n    def f(self):\n        x\nclass A:\n    def f(self):\n        y\n";
    assert_eq!(kit.read("a.py"), after.as_bytes());
    let body = "*** Update File: a.py\n@@ class B:\n@@     def f(self):\n+        z";
    done(&patch(&kit, &envelope(body)).await);
    assert!(kit.read("a.py").starts_with(b"class B:\n    def f(self):\n        z\n"));
}
