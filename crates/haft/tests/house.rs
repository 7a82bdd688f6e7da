//! The house stands as it is drawn: which crate may know which, and what each source file must not say.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "it reads the sources and asks cargo; a test fails by panicking"
)]

use serde_json::Value;
use std::{collections::BTreeMap, fs, path::Path, process::Command};

/// Who may know whom; dev-dependencies aside.
const ARROWS: [(&str, &[&str]); 11] = [
    ("haft-core", &[]),
    ("haft-policy", &["haft-core"]),
    ("haft-runtime", &["haft-core", "haft-policy"]),
    ("haft-os", &["haft-core"]),
    ("haft-tools", &["haft-core"]),
    ("haft", &["haft-core", "haft-policy", "haft-runtime", "haft-os", "haft-tools"]),
    ("haft-mcp", &["haft-core", "haft-runtime"]),
    ("haft-agent", &["haft-core", "haft-runtime"]),
    ("haft-script", &["haft-core"]),
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
            "haft-script",
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

#[test]
fn every_relative_link_of_the_pages_leads_to_something() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let named = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];
    let mut pages: Vec<_> = named.iter().map(|name| root.join(name)).collect();
    let docs = fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    pages.extend(docs.filter(|path| path.extension().is_some_and(|ending| ending == "md")));
    let mut followed = 0;
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        for link in links(&text) {
            // One without a file is an anchor of the page itself.
            let file = link.split('#').next().unwrap_or_default();
            if !file.is_empty() && !file.contains("://") && !file.starts_with("mailto:") {
                followed += 1;
                let target = page.with_file_name(file);
                assert!(target.exists(), "{} links to {link}, and nothing is there", page.display());
            }
        }
    }
    assert!(followed > 20, "only {followed} links found");
}

/// The targets of `[…](target)`, outside of fenced code.
fn links(text: &str) -> Vec<&str> {
    let mut is_code = false;
    let mut targets = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            targets.extend(line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next()));
        }
    }
    targets
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
