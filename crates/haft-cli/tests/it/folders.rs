//! Command folders with real programs: what comes back of each way to end.

use crate::place::{Place, Ran};
use serde_json::{Value, json};

/// A tool that runs a shell line; further fields of its manifest as given.
fn tool(place: &Place, name: &str, line: &str, more: Value) {
    let mut manifest = json!({"name": name, "description": "A tool under test.", "command": line});
    manifest.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    place.write(&format!(".haft/tools/{name}/tool.json"), &manifest.to_string());
}

fn call(place: &Place, name: &str, input: &str) -> Ran {
    place.run_with(&["--yes", "call", "--json", name, "-"], input)
}

fn text(object: &Value) -> String {
    let blocks = object["content"].as_array().unwrap();
    blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_tool_that_fails_shows_its_code_and_its_stderr() {
    let place = Place::new();
    tool(&place, "fails", "echo so far; echo what is wrong >&2; exit 7", json!({}));
    let object = call(&place, "fails", "{}").with(1).json();
    let text = text(&object);
    assert_eq!(object["outcome"], "failed");
    for part in ["exited with code 7", "what is wrong", "so far"] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

#[test]
fn five_mebibytes_are_bounded_with_the_path_of_the_rest() {
    let place = Place::new();
    tool(
        &place,
        "long",
        "awk 'BEGIN { for (n = 0; n < 327680; n++) printf \"line %10d\\n\", n }'",
        json!({}),
    );
    let object = call(&place, "long", "{}").with(0).json();
    let cut = &object["truncation"];
    assert_eq!(cut["totalBytes"], 327_680 * 16);
    assert!(cut["shownBytes"].as_u64().unwrap() <= 51_200);
    let path = cut["path"].as_str().unwrap();
    assert_eq!(std::fs::metadata(path).unwrap().len(), 327_680 * 16);
    let text = text(&object);
    assert!(text.contains(path) && text.contains("line          0") && text.contains("line     327679"));
}

#[test]
fn a_mebibyte_of_arguments_printed_back_arrives_in_each_form() {
    let place = Place::new();
    let parameters = json!({"type": "object", "properties": {"text": {"type": "string"}}});
    tool(&place, "back", "cat", json!({"parameters": parameters}));
    tool(&place, "data", "cat", json!({"parameters": parameters, "output": "json"}));
    let line = "printf '{\"type\":\"final\",\"output\":'; cat; echo '}'";
    tool(&place, "steps", line, json!({"parameters": parameters, "output": "events"}));
    let input = json!({"text": "é".repeat(1 << 19)}).to_string();
    for name in ["back", "data", "steps"] {
        let object = call(&place, name, &input).with(0).json();
        let path = object["truncation"]["path"].as_str().expect("a mebibyte is cut");
        let whole = std::fs::read_to_string(path).unwrap();
        let back: Value = serde_json::from_str(whole.trim_end()).unwrap();
        assert_eq!(back, serde_json::from_str::<Value>(&input).unwrap(), "{name}");
    }
}

#[test]
fn one_that_sleeps_past_its_time_keeps_what_it_printed() {
    let place = Place::new();
    tool(&place, "slow", "echo so far; sleep 300", json!({"timeoutMs": 500}));
    let object = call(&place, "slow", "{}").with(4).json();
    assert_eq!(object["outcome"], "timed-out");
    let text = text(&object);
    assert!(text.contains("timed out after 500 ms") && text.contains("so far"), "{text}");
}

#[test]
fn a_stream_has_one_final_and_it_is_last() {
    let place = Place::new();
    let last = r#"{"type":"final","output":"done"}"#;
    let log = r#"{"type":"log","text":"on it"}"#;
    for (name, lines, rule) in [
        ("none", vec![log], "without a final"),
        ("two", vec![last, last], "final"),
        ("early", vec![last, log], "final"),
    ] {
        let line = lines.iter().map(|line| format!("echo '{line}'; ")).collect::<String>();
        tool(&place, name, &line, json!({"output": "events"}));
        let object = call(&place, name, "{}").with(1).json();
        let error = object["error"]["text"].as_str().unwrap();
        assert!(error.contains(rule) && error.contains("last"), "{name}: {error}");
    }
    tool(&place, "good", &format!("echo '{log}'; echo '{last}'"), json!({"output": "events"}));
    assert_eq!(text(&call(&place, "good", "{}").with(0).json()), "done");
}

#[test]
fn json_that_breaks_its_own_schema_is_a_failure_that_keeps_it() {
    let place = Place::new();
    let schema =
        json!({"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]});
    let more = json!({"output": "json", "outputSchema": schema});
    tool(&place, "right", "echo '{\"count\": 3}'", more.clone());
    tool(&place, "wrong", "echo '{\"count\": \"three\"}'", more);
    assert_eq!(call(&place, "right", "{}").with(0).json()["structured"]["count"], 3);
    let object = call(&place, "wrong", "{}").with(1).json();
    let text = text(&object);
    assert!(text.contains("/count must be integer") && text.contains("three"), "{text}");
}
