//! Notebooks with any cells, each cell changed in each way; and any text as a notebook.
#![no_main]

use haft_tools::fuzzing::{sources, with_cell, with_first_cell, with_source, without_cell};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fuzz_target!(|input: (Vec<(String, bool)>, u8, String, String)| {
    let (cells, chosen, source, any) = input;
    if let Some(found) = sources(&any) {
        assert!(serde_json::from_str::<Value>(&any).is_ok(), "{found:?}");
    }
    if cells.is_empty() {
        return;
    }
    let text = notebook(&cells, chosen);
    let before: Vec<String> = cells.into_iter().map(|(source, _)| source).collect();
    assert_eq!(sources(&text).as_ref(), Some(&before));
    let at = usize::from(chosen) % before.len();
    let name = format!("#{}", at + 1);

    let mut replaced = before.clone();
    replaced[at].clone_from(&source);
    check(with_source(&text, &name, &source), &replaced);
    let mut inserted = before.clone();
    inserted.insert(at + 1, source.clone());
    check(with_cell(&text, &name, &source), &inserted);
    let mut rest = before.clone();
    let moved = rest.remove(at);
    check(without_cell(&text, &name), &rest);
    rest.insert(0, moved);
    check(with_first_cell(&text, &name), &rest);
});

/// A notebook whose cells have no ids, in one of two layouts.
fn notebook(cells: &[(String, bool)], layout: u8) -> String {
    let cell = |(source, in_lines): &(String, bool)| {
        let source = if *in_lines {
            Value::from(source.split_inclusive('\n').collect::<Vec<_>>())
        } else {
            Value::from(source.as_str())
        };
        json!({"cell_type": "markdown", "metadata": {}, "source": source})
    };
    let cells: Vec<Value> = cells.iter().map(cell).collect();
    let notebook = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4});
    let written =
        if layout >= 128 { serde_json::to_string(&notebook) } else { serde_json::to_string_pretty(&notebook) };
    written.expect("JSON can be written")
}

/// It is a notebook with these sources.
fn check(text: Option<String>, expected: &[String]) {
    let text = text.expect("the cell is there");
    assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
    assert_eq!(sources(&text).as_deref(), Some(expected), "{text}");
}
