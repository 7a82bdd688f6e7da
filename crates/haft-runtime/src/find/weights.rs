//! How much what counts.

use super::document::FIELDS;

/// Weights of the ranking. The default ones were set on one half of a public catalogue's functions and are measured on
/// the other; `bench/tool_search` does both.
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
    /// The weight of two words of the query that a tool writes as one.
    pub joined: f32,
    /// The weight of a word of a name with which a longer word of the query starts (`calc` in `calculate`).
    pub prefix: f32,
    /// The weight of a synonym.
    pub synonym: f32,
    /// What it adds when a tool means what the query does, where there is a model, beside 1 for the best by words.
    pub meaning: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            fields: [1.96, 1.34, 2.6, 0.249, 1.64, 1.0],
            lengths: [0.462, 0.59, 0.262, 0.508, 0.268, 0.5],
            saturation: 0.69,
            repeated: 0.052,
            coverage: 0.113,
            joined: 0.269,
            prefix: 0.047,
            synonym: 0.25,
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
