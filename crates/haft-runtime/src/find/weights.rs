//! How much what counts.

use super::document::FIELDS;

/// Weights of the ranking. The default ones were set on one half of a public catalogue's functions and are measured on the
/// other half; `bench/tool_search` does both. Most are the mean over eight samples of the one half; those of descriptions, of
/// what is implied and of numbers are round numbers that held when parts of it were left out.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// What a word counts in name, description, names of parameters, their descriptions, their values, source.
    pub fields: [f32; FIELDS],
    /// How much the length of each field takes off, from 0 to 1.
    pub lengths: [f32; FIELDS],
    /// How soon more of the same word stops to count.
    pub saturation: f32,
    /// What a word that is repeated in the query adds.
    pub repeated: f32,
    /// What it adds when a name is made of words of the query.
    pub coverage: f32,
    /// What it adds when a description is.
    pub described: f32,
    /// The weight of two words of the query that a tool writes as one.
    pub joined: f32,
    /// The weight of a word of a name with which a longer word of the query starts (`calc` in `calculate`).
    pub prefix: f32,
    /// The weight of a synonym.
    pub synonym: f32,
    /// The weight of a word that the query implies; less where it is rarer than what implies it.
    pub implied: f32,
    /// What a tool loses that has to be told a number, where the query is a task without one, from 0 to 1.
    pub numberless: f32,
    /// What it adds when the words of a tool are written like those of the query, beside 1 for the best by words.
    pub spelling: f32,
    /// What it adds when a tool means what the query does, where there is a model, beside 1 for the best by words.
    pub meaning: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            fields: [1.62, 1.11, 2.08, 0.523, 0.784, 1.0],
            lengths: [0.517, 0.843, 0.335, 0.462, 0.367, 0.5],
            saturation: 0.561,
            repeated: 0.067,
            coverage: 0.148,
            described: 0.2,
            joined: 0.213,
            prefix: 0.217,
            synonym: 0.213,
            implied: 0.5,
            numberless: 0.35,
            spelling: 0.355,
            meaning: 0.2,
        }
    }
}

impl Weights {
    /// BM25F: the counts of all fields, each weighed and set against the field's usual length, then saturated together.
    pub(super) fn saturated(
        &self,
        counts: &[f32; FIELDS],
        lengths: &[f32; FIELDS],
        usual: &[f32; FIELDS],
    ) -> f32 {
        let mut sum = 0.0;
        let own = self.fields.iter().zip(&self.lengths);
        for (((count, length), usual), (weight, slope)) in counts.iter().zip(lengths).zip(usual).zip(own) {
            if *count > 0.0 {
                sum += weight * count / (1.0 - slope + slope * length / usual.max(f32::EPSILON));
            }
        }
        sum * (self.saturation + 1.0) / (sum + self.saturation)
    }
}
