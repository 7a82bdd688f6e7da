//! Searching by what words mean, with a model that settings name.

use crate::place::Place;
use serde_json::json;
use std::fs;

/// A model that knows four words, two of them near each other, in a folder beside the workspace.
fn with_model(place: &Place) {
    let folder = place.beside("model");
    fs::create_dir_all(&folder).unwrap();
    let numbers: [f32; 8] = [0.0, 0.0, 1.0, 0.0, 0.9, 0.1, 0.0, 1.0];
    let header =
        json!({"embeddings": {"dtype": "F32", "shape": [4, 2], "data_offsets": [0, 32]}}).to_string();
    let mut tensors = u64::try_from(header.len()).unwrap().to_le_bytes().to_vec();
    tensors.extend(header.into_bytes());
    tensors.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    fs::write(folder.join("model.safetensors"), tensors).unwrap();
    let vocab = json!({"[UNK]": 0, "king": 1, "monarch": 2, "fish": 3});
    let tokenizer = json!({
        "normalizer": {"type": "BertNormalizer", "lowercase": true},
        "model": {"type": "WordPiece", "continuing_subword_prefix": "##", "vocab": vocab},
    });
    fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
}

fn with_tool(place: &Place) {
    let manifest = json!({"name": "monarch-of", "description": "Tells the monarch.", "command": "true"});
    place.write(".haft/tools/monarch-of/tool.json", &manifest.to_string());
}

const NAMED: &str = "[discovery]\nmodel = '~/model'\n";

#[test]
fn a_tool_is_found_by_what_it_means() {
    let place = Place::new();
    with_tool(&place);
    with_model(&place);
    let search = || place.run(&["tools", "search", "king", "--json"]).with(0).json();
    assert_eq!(search()["tools"], json!([]), "nothing has the word");
    place.write_home("config.toml", NAMED);
    assert_eq!(search()["tools"][0]["name"], "monarch-of");
    assert!(!place.run(&["tools", "--problems"]).with(0).out.contains("searched without"));
}

#[test]
fn a_model_that_can_t_be_read_is_named_and_searches_go_on() {
    let place = Place::new();
    with_tool(&place);
    place.write_home("config.toml", NAMED);
    let ran = place.run(&["tools", "search", "monarch"]).with(0);
    assert!(ran.out.contains("monarch-of"), "{ran:?}");
    assert!(
        ran.err.contains("without the model") && ran.err.contains("model.safetensors isn't there"),
        "{ran:?}"
    );
    let problems = place.run(&["tools", "--problems"]).with(0).out;
    for part in ["config.toml:2: ", "model.safetensors isn't there", "fix: name a folder with"] {
        assert!(problems.contains(part), "no {part:?} in {problems}");
    }
    with_model(&place);
    fs::write(place.beside("model").join("tokenizer.json"), "{}").unwrap();
    let problems = place.run(&["tools", "--problems"]).with(0).out;
    assert!(problems.contains("tokenizer.json: it can't be read"), "{problems}");
}

#[test]
fn a_workspace_that_isn_t_trusted_names_no_model() {
    let place = Place::new();
    with_tool(&place);
    with_model(&place);
    place.write(".haft/config.toml", NAMED);
    assert_eq!(place.run(&["tools", "search", "king", "--json"]).with(0).json()["tools"], json!([]));
    let problems = place.run(&["tools", "--problems"]).with(0).out;
    assert!(problems.contains("\"discovery.model\" is ignored"), "{problems}");
}
