//! What models read of the built-in tools stands in a file of its own, so that a change shows in review.

use crate::snapshot;

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
    snapshot::check("prompts.snap.txt", "what_models_read", &all());
}
