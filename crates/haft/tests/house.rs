//! The house stands as it is drawn: which crate may know which, and what each source file must not say.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "it reads the sources and asks cargo; a test fails by panicking"
)]

use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path, process::Command};

/// Who may know whom; dev-dependencies aside.
const ARROWS: [(&str, &[&str]); 10] = [
    ("haft-core", &[]),
    ("haft-policy", &["haft-core"]),
    ("haft-runtime", &["haft-core", "haft-policy"]),
    ("haft-os", &["haft-core"]),
    ("haft-tools", &["haft-core"]),
    ("haft", &["haft-core", "haft-policy", "haft-runtime", "haft-os", "haft-tools"]),
    ("haft-mcp", &["haft-core", "haft-runtime"]),
    ("haft-agent", &["haft-core", "haft-runtime"]),
    ("haft-test", &["haft-core", "haft-policy", "haft-runtime", "haft-os"]),
    (
        "haft-cli",
        &[
            "haft-core",
            "haft-policy",
            "haft-runtime",
            "haft-os",
            "haft-tools",
            "haft",
            "haft-mcp",
            "haft-agent",
        ],
    ),
];

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn arrows_between_crates_go_one_way() {
    let arrows: BTreeMap<_, _> = ARROWS.into_iter().collect();
    let metadata = metadata();
    let mut seen = 0;
    for package in metadata["packages"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        let Some(allowed) = arrows.get(name) else { panic!("{name} is no room of the house: draw it first") };
        seen += 1;
        for dependency in package["dependencies"].as_array().unwrap() {
            let of = dependency["name"].as_str().unwrap();
            let is_ours = of == "haft" || of.starts_with("haft-");
            if is_ours && dependency["kind"] != "dev" {
                assert!(allowed.contains(&of), "{name} must not know {of}");
            }
        }
    }
    assert_eq!(seen, ARROWS.len());
}

#[test]
fn the_two_pure_crates_depend_on_no_runtime_and_no_system() {
    let metadata = metadata();
    for package in metadata["packages"].as_array().unwrap() {
        if !["haft-core", "haft-policy"].contains(&package["name"].as_str().unwrap()) {
            continue;
        }
        for dependency in package["dependencies"].as_array().unwrap() {
            let (of, kind) = (dependency["name"].as_str().unwrap(), &dependency["kind"]);
            let features = dependency["features"].to_string();
            let is_world = ["reqwest", "rustix", "libc", "notify", "tempfile"].contains(&of);
            assert!(*kind == "dev" || !is_world, "{} must not know {of}", package["name"]);
            assert!(*kind == "dev" || of != "tokio" || features == "[\"sync\"]", "{features}");
        }
    }
}

#[test]
fn every_module_says_what_it_is_for() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for package in fs::read_dir(root).unwrap().flatten() {
        sources(&package.path().join("src"), &mut files);
    }
    assert!(files.len() > 100, "only {} files found", files.len());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("//!"), "{} doesn't say what it is for", file.display());
    }
}

fn sources(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            sources(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}
