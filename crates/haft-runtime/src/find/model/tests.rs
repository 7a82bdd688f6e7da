//! Models made here, of a few words, in the form of files.

use super::*;
use crate::{Catalogue, Problem};
use serde_json::json;
use std::sync::Arc;

/// A safetensors file of these tensors: name, kind, shape, bytes.
fn file_of(tensors: &[(&str, &str, &[usize], Vec<u8>)]) -> Vec<u8> {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    header.insert("__metadata__".to_owned(), json!({"format": "pt"}));
    for (name, kind, shape, bytes) in tensors {
        let offsets = [data.len(), data.len() + bytes.len()];
        header.insert((*name).to_owned(), json!({"dtype": kind, "shape": shape, "data_offsets": offsets}));
        data.extend_from_slice(bytes);
    }
    let header = serde_json::to_vec(&header).unwrap();
    let mut file = u64::try_from(header.len()).unwrap().to_le_bytes().to_vec();
    file.extend(header);
    file.extend(data);
    file
}

fn singles(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

const TABLE: [f32; 12] = [9.0, 9.0, 1.0, 0.0, 0.9, 0.1, 0.0, 1.0, 0.0, 0.5, 0.6, 0.8];

fn table() -> Vec<u8> {
    file_of(&[("embeddings", "F32", &[6, 2], singles(&TABLE))])
}

fn pieces() -> Vec<u8> {
    let vocab = json!({"[UNK]": 0, "king": 1, "monarch": 2, "fish": 3, "##es": 4, "cafe": 5});
    let tokenizer = json!({
        "normalizer": {"type": "BertNormalizer", "lowercase": true, "strip_accents": null},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "vocab": vocab},
    });
    serde_json::to_vec(&tokenizer).unwrap()
}

/// `king` and `monarch` are near, `fish` is far from both.
pub(in crate::find) fn tiny() -> StaticModel {
    StaticModel::read(&table(), &pieces()).unwrap()
}

#[track_caller]
fn is_near(vector: Option<Vec<f32>>, wanted: [f32; 2]) {
    let vector = vector.unwrap();
    assert_eq!(vector.len(), 2);
    let away = vector.iter().zip(wanted).map(|(is, wanted)| (is - wanted).abs()).fold(0.0, f32::max);
    assert!(away < 1e-3, "{vector:?}");
}

#[test]
fn a_text_is_the_sum_of_its_pieces_at_length_one() {
    let model = tiny();
    is_near(model.embed("King"), [1.0, 0.0]);
    is_near(model.embed("(fishes)"), [0.0, 1.0]);
    is_near(model.embed("king, FISH!"), [0.5_f32.sqrt(), 0.5_f32.sqrt()]);
    is_near(model.embed("CAFÉ"), [0.6, 0.8]);
    for unknown in ["", "xyzzy", "fishxyzzy", "[UNK]", "…"] {
        assert_eq!(model.embed(unknown), None, "{unknown}");
    }
    is_near(model.embed(&"king ".repeat(100_000)), [1.0, 0.0]);
}

#[test]
fn rows_weights_and_kinds_are_read_as_they_are_written() {
    let rows: Vec<u8> = [1_i64, 0, -1, 1].iter().flat_map(|row| row.to_le_bytes()).collect();
    let halves: Vec<u8> =
        [0x3C00_u16, 0x0000, 0x0000, 0xBC00].iter().flat_map(|half| half.to_le_bytes()).collect();
    let bytes = vec![100, 0, 0, 156];
    let scores = json!([["<unk>", 0.0], ["▁a", -1.0], ["b", -2.0], ["▁ab", -9.0]]);
    let tokenizer = json!({"normalizer": null, "model": {"type": "Unigram", "unk_id": 0, "vocab": scores}});
    let tokenizer = serde_json::to_vec(&tokenizer).unwrap();
    for (kind, table) in [("F16", halves), ("I8", bytes)] {
        let file = file_of(&[
            ("embeddings", kind, &[2, 2], table),
            ("mapping", "I64", &[4], rows.clone()),
            ("weights", "F32", &[4], singles(&[1.0, 2.0, 1.0, 0.5])),
        ]);
        let model = StaticModel::read(&file, &tokenizer).unwrap();
        is_near(model.embed("a"), [1.0, 0.0]);
        // `▁a` and `b` are likelier together than `▁ab`; `b` has no row.
        is_near(model.embed("ab"), [1.0, 0.0]);
        assert_eq!(model.embed("b"), None, "a sign of its own isn't known here");
    }
}

#[test]
fn damaged_files_and_other_kinds_are_named() {
    let says = |tensors: &[u8], tokenizer: &[u8]| {
        StaticModel::read(tensors, tokenizer).map(|_| ()).unwrap_err().to_string()
    };
    let table = table();
    let cut = table.get(..table.len() - 1).unwrap();
    assert!(says(cut, &pieces()).contains("model.safetensors: \"embeddings\" is cut off"));
    for short in [&b""[..], b"\xff\xff\xff\xff\xff\xff\xff\xff{}", b"\x02\0\0\0\0\0\0\0{"] {
        assert!(says(short, &pieces()).contains("cut off or no safetensors"));
    }
    let empty = file_of(&[]);
    assert!(says(&empty, &pieces()).contains("it has no table \"embeddings\""));
    let other = file_of(&[("embeddings", "BF16", &[1, 2], vec![0; 4])]);
    assert!(says(&other, &pieces()).contains("holds BF16"));
    let flat = file_of(&[("embeddings", "F32", &[2], vec![0; 8])]);
    assert!(says(&flat, &pieces()).contains("no table of rows"));
    let short = file_of(&[("embeddings", "F32", &[2, usize::MAX], vec![0; 8])]);
    assert!(says(&short, &pieces()).contains("another length"));
    assert!(says(&table, b"{").starts_with("tokenizer.json: it can't be read"));
    let pairs = br#"{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}"#;
    assert!(says(&table, pairs).contains("of the kind BPE; WordPiece and Unigram are read"));
}

#[test]
fn a_source_is_read_once_and_keeps_its_problem() {
    let problem = || Problem {
        source: "user".to_owned(),
        path: None,
        line: None,
        text: "no model".to_owned(),
        fix: "name one".to_owned(),
    };
    let source = ModelSource::new(move || Err(problem()));
    assert_eq!(source.problem(), None, "nobody has asked for it yet");
    let catalogue = Catalogue::new();
    catalogue.set_model(source.clone());
    assert!(catalogue.problems().is_empty());
    assert!(catalogue.snapshot().index().is_empty(), "a search goes on without it");
    assert_eq!(catalogue.problems(), [problem()]);
    assert_eq!(catalogue.model_problem(), source.problem());
    let good = ModelSource::new(|| Ok(tiny()));
    assert!(Arc::ptr_eq(&good.model().unwrap(), &good.clone().model().unwrap()));
}
