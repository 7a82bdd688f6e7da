//! A model of static embeddings: a table of vectors by token, with which a text is the sum of its tokens.
//!
//! The form is that of `Model2Vec`: `model.safetensors` with a table `embeddings`, beside it perhaps `weights` and a `mapping`
//! of tokens to rows; and `tokenizer.json`. Nothing is computed but a sum, so a query takes microseconds and no library is
//! needed. `config.json` isn't read: only directions of vectors are compared.

mod source;
mod tensors;
mod tokens;
mod unigram;
mod wordpiece;

pub use source::ModelSource;

use std::{collections::HashMap, fmt};
use tensors::{Table, Tensors};
use tokens::Tokens;

/// Most tokens of one text that are read.
const TOKENS_MAX: usize = 512;
/// The file with the table.
pub const TENSORS_FILE: &str = "model.safetensors";
/// The file with the words.
pub const TOKENIZER_FILE: &str = "tokenizer.json";

/// Why a folder holds no model that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}: {why}")]
pub struct ModelError {
    /// The file.
    pub file: &'static str,
    /// What is wrong with it.
    pub why: String,
}

/// A model, read whole.
pub struct StaticModel {
    tokens: Tokens,
    table: Table,
    /// The rows of tokens, where they aren't numbered alike.
    rows: Option<Vec<usize>>,
    /// What tokens count.
    weights: Option<Vec<f32>>,
}

impl StaticModel {
    /// Reads the contents of both files.
    ///
    /// # Errors
    /// A file is damaged, or of a kind that isn't read.
    pub fn read(tensors: &[u8], tokenizer: &[u8]) -> Result<Self, ModelError> {
        let of_tensors = |why| ModelError { file: TENSORS_FILE, why };
        let tokens = Tokens::read(tokenizer).map_err(|why| ModelError { file: TOKENIZER_FILE, why })?;
        let tensors = Tensors::read(tensors).map_err(of_tensors)?;
        let table = tensors.table(&["embeddings", "embedding.weight"]).map_err(of_tensors)?;
        let rows = tensors.integers("mapping").map_err(of_tensors)?;
        let weights = tensors.numbers("weights").map_err(of_tensors)?;
        Ok(Self { tokens, table, rows, weights })
    }

    /// How many numbers a vector has.
    pub fn width(&self) -> usize {
        self.table.width()
    }

    /// The embedding of a text, a vector of length 1; none where it has no known word.
    pub fn embed(&self, text: &str) -> Option<Vec<f32>> {
        Reader::new(self).embed(text)
    }

    fn add(&self, token: u32, sum: &mut [f32]) {
        let Ok(token) = usize::try_from(token) else { return };
        let row = match &self.rows {
            Some(rows) => rows.get(token).copied(),
            None => Some(token),
        };
        let weight = match &self.weights {
            Some(weights) => weights.get(token).copied().unwrap_or(1.0),
            None => 1.0,
        };
        if let Some(row) = row {
            self.table.add(row, weight, sum);
        }
    }
}

impl fmt::Debug for StaticModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StaticModel").field("width", &self.width()).finish_non_exhaustive()
    }
}

/// Embeds many texts; each word is cut into tokens once.
pub(super) struct Reader<'a> {
    model: &'a StaticModel,
    known: HashMap<String, Vec<u32>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(model: &'a StaticModel) -> Self {
        Self { model, known: HashMap::new() }
    }

    pub(super) fn embed(&mut self, text: &str) -> Option<Vec<f32>> {
        let mut sum = vec![0.0; self.model.width()];
        let mut left = TOKENS_MAX;
        for word in self.model.tokens.words(text) {
            let tokens = self.known.entry(word).or_insert_with_key(|word| self.model.tokens.of(word));
            for token in tokens.iter().take(left) {
                self.model.add(*token, &mut sum);
                left -= 1;
            }
            if left == 0 {
                break;
            }
        }
        unit(sum)
    }
}

/// The vector of the same direction with length 1.
fn unit(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if !length.is_normal() {
        return None;
    }
    for value in &mut vector {
        *value /= length;
    }
    Some(vector)
}

#[cfg(test)]
pub(super) mod tests;
