//! How a model cuts texts: `tokenizer.json`, as far as static models use it.

use super::{unigram::Unigram, wordpiece::WordPiece};
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;
use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    normalizer: Value,
    model: Model,
}

#[derive(Deserialize)]
struct Model {
    #[serde(rename = "type")]
    kind: String,
    vocab: Vocabulary,
    continuing_subword_prefix: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Vocabulary {
    Numbers(HashMap<String, u32>),
    Scores(Vec<(String, f64)>),
}

/// The words of a model.
pub(super) struct Tokens {
    cut: Cut,
    is_lower: bool,
    is_bare: bool,
}

enum Cut {
    Pieces(WordPiece),
    Scores(Unigram),
}

impl Tokens {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, String> {
        let file: File =
            serde_json::from_slice(bytes).map_err(|error| format!("it can't be read: {error}"))?;
        let is_lower =
            has(&file.normalizer, "Lowercase") || flag(&file.normalizer, "lowercase").unwrap_or_default();
        let is_bare = has(&file.normalizer, "StripAccents")
            || flag(&file.normalizer, "strip_accents")
                .unwrap_or(is_lower && has(&file.normalizer, "BertNormalizer"));
        let cut = match (file.model.kind.as_str(), file.model.vocab) {
            ("WordPiece", Vocabulary::Numbers(numbers)) => {
                let prefix = file.model.continuing_subword_prefix;
                Cut::Pieces(WordPiece::new(numbers, prefix.as_deref().unwrap_or("##")))
            }
            ("Unigram", Vocabulary::Scores(scores)) => Cut::Scores(Unigram::new(scores)?),
            (kind, _) => {
                return Err(format!("its tokens are of the kind {kind}; WordPiece and Unigram are read"));
            }
        };
        Ok(Self { cut, is_lower, is_bare })
    }

    /// The words of a text, in the form in which they are cut.
    pub(super) fn words(&self, text: &str) -> Vec<String> {
        match &self.cut {
            Cut::Pieces(_) => {
                let text = self.plain(text.nfd());
                isolated(&text)
            }
            Cut::Scores(_) => {
                let text = if self.is_bare { self.plain(text.nfkd()) } else { self.plain(text.nfkc()) };
                text.split_whitespace().map(|word| format!("▁{word}")).collect()
            }
        }
    }

    /// The tokens of a word; none where it isn't known.
    pub(super) fn of(&self, word: &str) -> Vec<u32> {
        match &self.cut {
            Cut::Pieces(pieces) => pieces.cut(word),
            Cut::Scores(scores) => scores.cut(word),
        }
    }

    fn plain(&self, signs: impl Iterator<Item = char>) -> String {
        let signs = signs.filter(|sign| sign.is_whitespace() || !sign.is_control());
        let signs = signs.filter(|sign| !self.is_bare || !is_combining_mark(*sign));
        let text: String =
            if self.is_lower { signs.flat_map(char::to_lowercase).collect() } else { signs.collect() };
        // What was taken apart for its accents is put together again where they are kept.
        if self.is_bare { text } else { text.nfc().collect() }
    }
}

/// Words and signs, each by itself; those of scripts without blanks sign by sign.
fn isolated(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for sign in text.chars() {
        let is_own = is_ideograph(sign) || !sign.is_alphanumeric() && !is_combining_mark(sign);
        if !is_own {
            word.push(sign);
            continue;
        }
        if !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if !sign.is_whitespace() {
            words.push(sign.to_string());
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

fn is_ideograph(sign: char) -> bool {
    matches!(u32::from(sign), 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x2FA1F)
}

/// The normalizer and those within.
fn parts(normalizer: &Value) -> impl Iterator<Item = &Value> {
    let within = normalizer.get("normalizers").and_then(Value::as_array).into_iter().flatten();
    std::iter::once(normalizer).chain(within)
}

fn has(normalizer: &Value, kind: &str) -> bool {
    parts(normalizer).any(|part| part.get("type").and_then(Value::as_str) == Some(kind))
}

fn flag(normalizer: &Value, key: &str) -> Option<bool> {
    parts(normalizer).find_map(|part| part.get(key)?.as_bool())
}
