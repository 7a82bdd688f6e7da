//! What models read of the built-in tools stands in a file of its own, so that a change shows in review.

use similar::TextDiff;
use std::{env, fs, path::Path};

/// Set to anything, it has the file written anew.
const RENEW: &str = "HAFT_RENEW";

/// Name, prompt and input schema of each tool.
fn all() -> String {
    let pages = haft_tools::tools().into_iter().map(|tool| {
        let spec = tool.spec();
        let schema = serde_json::to_string_pretty(&spec.input_schema).unwrap();
        format!("=== {}\n\n{}\n\n{schema}\n", spec.model_name(), spec.prompt())
    });
    pages.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_models_read_is_as_it_was_reviewed() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/prompts.snap.txt");
    let now = all();
    if env::var_os(RENEW).is_some() {
        fs::write(&file, &now).unwrap();
    }
    let reviewed = fs::read_to_string(&file).unwrap_or_default();
    if reviewed != now {
        let diff = TextDiff::from_lines(&reviewed, &now);
        let diff = diff.unified_diff().header("reviewed", "now").to_string();
        let file = file.display();
        panic!("{diff}\nIf this is meant, {RENEW}=1 cargo test -p haft-tools what_models_read writes {file}");
    }
}
