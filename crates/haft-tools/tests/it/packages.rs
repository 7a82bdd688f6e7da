//! `packages`: what a manager is told, what it may not run, and that a dry run is dry.
//!
//! What needs a registry asks for it by `HAFT_TEST_REGISTRY=1` and says so where it is left out.

use crate::kit::{answered_by, call, denied, denying, done, failed, has, invalid, kit};
use haft_core::{Ended, FailureKind};
use haft_test::{Answers, Harness};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, path::Path};

const CARGO: &str = "[package]\nname = \"t\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\n";

async fn packages(kit: &Harness, input: Value) -> Ended {
    call(kit, "packages", input).await
}

/// Whether what needs a registry is tested here; says so where it isn't.
fn has_registry() -> bool {
    let has = std::env::var_os("HAFT_TEST_REGISTRY").is_some();
    if !has {
        println!("skipped: set HAFT_TEST_REGISTRY=1 to ask registries");
    }
    has
}

fn has_program(kit: &Harness, name: &str) -> bool {
    let is_there = kit.world().processes.locate(name).is_some();
    if !is_there {
        println!("skipped: there is no {name} here");
    }
    is_there
}

/// Every file beneath a folder with its content.
fn snapshot(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut left = vec![folder.to_path_buf()];
    while let Some(at) = left.pop() {
        for entry in fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                all.insert(format!("{}/", path.display()), Vec::new());
                left.push(path);
            } else {
                all.insert(path.display().to_string(), fs::read(&path).unwrap());
            }
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn the_folder_tells_the_manager() {
    let kit = kit();
    kit.write("Cargo.toml", CARGO);
    kit.write("web/package.json", "{}");
    kit.write("web/pnpm-lock.yaml", "");
    let manager = |cwd: &str| packages(&kit, json!({"action": "manager", "cwd": cwd}));
    has(&done(&manager(".").await), &["cargo, which keeps Cargo.toml"]);
    has(&done(&manager("web").await), &["pnpm"]);
    kit.write("package.json", "{}");
    has(&failed(&manager(".").await, FailureKind::Conflict), &["cargo, npm", "as manager"]);
    kit.write("empty/x", "");
    has(&failed(&manager("empty").await, FailureKind::NotFound), &["no manifest"]);
    assert!(kit.answers().asked().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_line_is_judged_whether_the_manager_is_named_or_found() {
    let kit = denying("bash(npm *)", Answers::no());
    kit.write("package.json", "{}");
    let named = packages(&kit, json!({"action": "install", "manager": "npm", "names": ["a"]})).await;
    assert_eq!(denied(&named), "deny");
    let found = packages(&kit, json!({"action": "install", "names": ["a"]})).await;
    assert!(!found.outcome.is_completed());
    assert!(kit.answers().asked().is_empty(), "{:?}", kit.answers().asked());
    let other = packages(&kit, json!({"action": "install", "manager": "cargo", "names": ["a"]})).await;
    assert_eq!(denied(&other), "user");
    let shown = format!("{:?}", kit.answers().asked()[0].effects);
    has(&shown, &["cargo add a", "cargo fetch"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_package_is_refused() {
    let kit = kit();
    for (manager, name) in [
        ("npm", "-g"),
        ("npm", "../x"),
        ("npm", "user/repo"),
        ("npm", "a@npm:b"),
        ("cargo", "--git=https://h/x"),
        ("pip", "x @ https://h/x"),
        ("pip", "-r/etc/passwd"),
        ("uv", "git+https://h/x"),
        ("go", "./..."),
    ] {
        let input = json!({"action": "install", "manager": manager, "names": [name]});
        has(&invalid(&packages(&kit, input).await), &["no options, paths or addresses"]);
    }
    for manager in ["pnpm", "yarn", "uv"] {
        let input = json!({"action": "install", "manager": manager, "names": ["a"], "dryRun": true});
        has(&invalid(&packages(&kit, input).await), &["has no dry run"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_requirement_that_runs_code_is_refused() {
    let kit = kit();
    for line in ["-e .", "./x", "git+https://h/x", "--index-url https://h", "x @ https://h/x.whl"] {
        kit.write("requirements.txt", format!("# list\nsix==1.17.0 ; python_version > '3'\n{line}\n"));
        kit.sh("mkdir -p .venv").await;
        let input = json!({"action": "install", "manager": "pip"});
        let text = failed(&packages(&kit, input).await, FailureKind::Conflict);
        has(&text, &["requirements.txt line 3", "through bash"]);
    }
    kit.sh("rmdir .venv").await;
    let text = failed(
        &packages(&kit, json!({"action": "install", "manager": "pip", "names": ["six"]})).await,
        FailureKind::NotFound,
    );
    has(&text, &["no .venv", "python3 -m venv"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yarn_that_the_workspace_chooses_is_not_run() {
    let kit = kit();
    kit.write("package.json", "{}");
    kit.write(".yarnrc.yml", "yarnPath: ./evil.js\n");
    let input = json!({"action": "outdated", "manager": "yarn"});
    has(&failed(&packages(&kit, input).await, FailureKind::Conflict), &["which yarn runs"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_without_proof_is_a_failure() {
    let kit = kit();
    if !has_program(&kit, "npm") {
        return;
    }
    // Without a lock file, and with no registry there, nothing can be known.
    kit.write("package.json", "{\"name\": \"t\", \"version\": \"1.0.0\"}");
    kit.write(".npmrc", "registry=http://127.0.0.1:9/\nfetch-retries=0\n");
    let text =
        failed(&packages(&kit, json!({"action": "audit", "manager": "npm"})).await, FailureKind::Unavailable);
    has(&text, &["npm audit --json failed", "isn't known"]);
    assert!(!text.contains("no vulnerability"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_without_its_program_says_so() {
    let kit = kit();
    kit.write("go.mod", "module m\n");
    if kit.world().processes.locate("govulncheck").is_some() {
        println!("skipped: govulncheck is here");
        return;
    }
    let text =
        failed(&packages(&kit, json!({"action": "audit", "manager": "go"})).await, FailureKind::Unavailable);
    has(&text, &["no govulncheck", "nothing was audited"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_of_packages_do_not_run() {
    let kit = kit();
    if !has_program(&kit, "npm") {
        return;
    }
    // The project itself and a package of its own folder, so that no registry is needed.
    let mark = kit.path("../ran").display().to_string();
    let scripts = format!("{{\"preinstall\": \"echo x >> {mark}\", \"postinstall\": \"echo x >> {mark}\"}}");
    kit.write(
        "package.json",
        format!(
            "{{\"name\": \"t\", \"version\": \"1.0.0\", \"scripts\": {scripts}, \"dependencies\": \
             {{\"own\": \"file:./own\"}}}}"
        ),
    );
    kit.write(
        "own/package.json",
        format!("{{\"name\": \"own\", \"version\": \"1.2.3\", \"scripts\": {scripts}}}"),
    );
    let before = snapshot(&kit.workspace());
    let dry = json!({"action": "install", "dryRun": true});
    has(&done(&packages(&kit, dry).await), &["Nothing was changed"]);
    assert_eq!(snapshot(&kit.workspace()), before);
    let text = done(&packages(&kit, json!({"action": "install"})).await);
    has(&text, &["Changed: package-lock.json"]);
    assert!(kit.path("node_modules/own").exists() && !kit.path("../ran").exists());
    done(&packages(&kit, json!({"action": "install", "build": true})).await);
    assert!(kit.path("../ran").exists());
}

/// A dry run must be done, must say something of the package, and may change nothing in the workspace.
async fn stays_dry(kit: &Harness, input: Value, says: &[&str]) {
    let before = snapshot(&kit.workspace());
    let text = done(&packages(kit, input).await);
    has(&text, &["Nothing was changed"]);
    has(&text, says);
    assert_eq!(snapshot(&kit.workspace()), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_of_cargo_changes_nothing() {
    let kit = kit();
    if !has_program(&kit, "cargo") {
        return;
    }
    // A registry of one package, in a folder.
    let registry = kit.path("../registry");
    fs::create_dir_all(registry.join("index/3/o")).unwrap();
    let line = json!({"name": "own", "vers": "1.2.3", "deps": [], "features": {}, "cksum": "0".repeat(64), "yanked": false});
    fs::write(registry.join("index/3/o/own"), format!("{line}\n")).unwrap();
    let source = format!("[source.own]\nlocal-registry = \"{}\"\n", registry.display());
    kit.write(".cargo/config.toml", format!("[source.crates-io]\nreplace-with = \"own\"\n{source}"));
    kit.write("Cargo.toml", CARGO);
    kit.write("src/lib.rs", "");
    stays_dry(&kit, json!({"action": "install", "names": ["own"], "dryRun": true}), &["own", "1.2.3"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_of_pip_changes_nothing() {
    let kit = kit();
    if !has_program(&kit, "pip") || !has_program(&kit, "python3") {
        return;
    }
    // An index of one wheel, in a folder.
    kit.write(
        "../wheel.py",
        "import os, sys, zipfile\n\
         os.makedirs(sys.argv[1] + '/own')\n\
         name = 'own-1.2.3-py3-none-any.whl'\n\
         wheel = zipfile.ZipFile(sys.argv[1] + '/own/' + name, 'w')\n\
         info = 'own-1.2.3.dist-info/'\n\
         wheel.writestr('own.py', '')\n\
         wheel.writestr(info + 'METADATA', 'Metadata-Version: 2.1\\nName: own\\nVersion: 1.2.3\\n')\n\
         wheel.writestr(info + 'WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n\
         wheel.writestr(info + 'RECORD', '')\n\
         wheel.close()\n\
         open(sys.argv[1] + '/own/index.html', 'w').write('<a href=\"%s\">own</a>' % name)\n",
    );
    kit.sh("python3 ../wheel.py ../index && python3 -m venv --without-pip .venv").await;
    let index = kit.path("../index").canonicalize().unwrap();
    kit.write(".venv/pip.conf", format!("[global]\nindex-url = file://{}\n", index.display()));
    let names = json!({"action": "install", "manager": "pip", "names": ["own"], "dryRun": true});
    stays_dry(&kit, names, &["own 1.2.3"]).await;
    kit.write("requirements.txt", "own==1.2.3\n");
    stays_dry(&kit, json!({"action": "install", "manager": "pip", "dryRun": true}), &["own 1.2.3"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_of_uv_changes_nothing() {
    let kit = kit();
    if !has_program(&kit, "uv") || !has_program(&kit, "python3") {
        return;
    }
    let project =
        "[project]\nname = \"t\"\nversion = \"0.1.0\"\nrequires-python = \">=3.8\"\ndependencies = []\n";
    kit.write("pyproject.toml", project);
    stays_dry(&kit, json!({"action": "install", "dryRun": true}), &["uv says"]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manager_without_a_dry_run_does_nothing_instead() {
    let kit = kit();
    kit.write("package.json", "{\"name\": \"t\", \"version\": \"1.0.0\"}");
    kit.write("go.mod", "module m\n");
    let before = snapshot(&kit.workspace());
    for (manager, names) in [
        ("pnpm", json!(["a"])),
        ("pnpm", json!([])),
        ("yarn", json!(["a"])),
        ("go", json!(["h.x/y"])),
        ("go", json!([])),
    ] {
        let input = json!({"action": "install", "manager": manager, "names": names, "dryRun": true});
        has(&invalid(&packages(&kit, input).await), &["has no dry run, and nothing was tried"]);
    }
    assert_eq!(snapshot(&kit.workspace()), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_install_tells_what_it_changed() {
    let kit = kit();
    kit.write("Cargo.toml", CARGO);
    kit.write("src/lib.rs", "");
    // An index that is nowhere.
    kit.write(
        ".cargo/config.toml",
        "[source.crates-io]\nreplace-with = \"none\"\n[source.none]\nregistry = \"sparse+http://127.0.0.1:9/\"\n\
         [net]\nretry = 0\n",
    );
    let text = failed(
        &packages(&kit, json!({"action": "install", "names": ["itoa"]})).await,
        FailureKind::Unavailable,
    );
    has(&text, &["cargo add itoa failed"]);
    assert_eq!(kit.read("Cargo.toml"), CARGO.as_bytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_runs_without_a_word() {
    let kit = answered_by(Answers::no());
    kit.write("Cargo.toml", CARGO);
    for input in [
        json!({"action": "install", "manager": "cargo", "names": ["itoa"]}),
        json!({"action": "install", "manager": "cargo", "names": ["itoa"], "dryRun": true}),
        json!({"action": "outdated", "manager": "cargo"}),
        json!({"action": "audit", "manager": "cargo"}),
    ] {
        assert_eq!(denied(&packages(&kit, input.clone()).await), "user", "{input}");
    }
}

/// Asks the registry of crates.
#[tokio::test(flavor = "multi_thread")]
async fn registry_cargo_adds_and_reads_back() {
    let kit = kit();
    if !has_registry() || !has_program(&kit, "cargo") {
        return;
    }
    kit.write("Cargo.toml", CARGO);
    kit.write("src/lib.rs", "");
    let before = snapshot(&kit.workspace());
    let dry = json!({"action": "install", "names": ["itoa@1"], "dryRun": true});
    has(&done(&packages(&kit, dry).await), &["Nothing was changed", "itoa"]);
    assert_eq!(snapshot(&kit.workspace()), before);
    let text = done(&packages(&kit, json!({"action": "install", "names": ["itoa@=1.0.1"]})).await);
    has(&text, &["itoa: 1.0.1, asked for as =1.0.1", "Changed: Cargo.lock, Cargo.toml"]);
    kit.write("Cargo.toml", String::from_utf8(kit.read("Cargo.toml")).unwrap().replace("=1.0.1", "1"));
    has(&done(&packages(&kit, json!({"action": "outdated"})).await), &["itoa 1.0.1 -> "]);
}

/// Asks the registry of npm.
#[tokio::test(flavor = "multi_thread")]
async fn registry_npm_adds_and_reads_back() {
    let kit = kit();
    if !has_registry() || !has_program(&kit, "npm") {
        return;
    }
    kit.write("package.json", "{\"name\": \"t\", \"version\": \"1.0.0\"}");
    let before = snapshot(&kit.workspace());
    let dry = json!({"action": "install", "names": ["is-number@6"], "dryRun": true});
    has(&done(&packages(&kit, dry).await), &["Nothing was changed"]);
    assert_eq!(snapshot(&kit.workspace()), before);
    let text =
        done(&packages(&kit, json!({"action": "install", "names": ["is-number@6"], "dev": true})).await);
    has(&text, &["is-number: 6.0.0, asked for as ^6.0.0", "package-lock.json"]);
    has(&done(&packages(&kit, json!({"action": "outdated"})).await), &["is-number 6.0.0 -> 7"]);
}
