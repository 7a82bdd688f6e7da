//! The embeddings of tools: what means the same is found without a word in common.

use super::{
    document::Document,
    model::{Reader, StaticModel},
    words::split,
};
use std::sync::Arc;

/// Bytes of a description that are read; what it is for stands at the beginning.
const ABOUT_MAX_BYTES: usize = 512;
/// Bytes of a query that are read.
const QUERY_MAX_BYTES: usize = 2_048;

/// The embeddings of all tools of an index, quantized to a byte a number: a look at 10,000 tools stays in the cache.
#[derive(Debug)]
pub(super) struct Embeddings {
    model: Arc<StaticModel>,
    tools: Vec<Option<Quantized>>,
}

#[derive(Debug)]
struct Quantized {
    values: Vec<i8>,
    /// What 1 stands for.
    scale: f32,
}

/// What is read of a tool.
pub(super) fn text_of(document: &Document<'_>) -> String {
    format!("{}. {}", split(document.name).join(" "), head(document.description, ABOUT_MAX_BYTES))
}

impl Embeddings {
    /// The embeddings of tools by their texts, in their order.
    pub(super) fn of(model: Arc<StaticModel>, texts: &[String]) -> Self {
        let mut tools = Vec::with_capacity(texts.len());
        let mut reader = Reader::new(&model);
        for text in texts {
            tools.push(reader.embed(text).map(|vector| Quantized::of(&vector)));
        }
        Self { model, tools }
    }

    /// The cosine similarity of each tool to a text, from -1 to 1; none where the model knows no word of it.
    pub(super) fn similarities(&self, text: &str) -> Option<Vec<f32>> {
        let query = Quantized::of(&self.model.embed(head(text, QUERY_MAX_BYTES))?);
        let tools = self.tools.iter().map(Option::as_ref);
        Some(tools.map(|tool| tool.map_or(0.0, |tool| tool.dot(&query))).collect())
    }
}

impl Quantized {
    fn of(vector: &[f32]) -> Self {
        let most = vector.iter().fold(f32::EPSILON, |most, number| most.max(number.abs()));
        let scale = most / f32::from(i8::MAX);
        Self { values: vector.iter().map(|number| byte(number / scale)).collect(), scale }
    }

    fn dot(&self, other: &Self) -> f32 {
        let products = self.values.iter().zip(&other.values);
        let sum: i32 = products.map(|(one, other)| i32::from(*one) * i32::from(*other)).sum();
        number(sum) * self.scale * other.scale
    }
}

fn head(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

#[expect(clippy::cast_possible_truncation, clippy::as_conversions, reason = "from -127 to 127")]
fn byte(number: f32) -> i8 {
    number.round() as i8
}

#[expect(
    clippy::cast_precision_loss,
    clippy::as_conversions,
    reason = "a dot product of two vectors of bytes"
)]
fn number(sum: i32) -> f32 {
    sum as f32
}
