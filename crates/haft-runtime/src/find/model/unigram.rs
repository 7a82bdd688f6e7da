//! Unigram: a word is cut into the pieces that together are likeliest.

use std::collections::HashMap;

/// Of a longer word only the start is read.
const WORD_MAX_CHARS: usize = 100;
/// Longer pieces aren't looked for.
const PIECE_MAX_CHARS: usize = 32;
/// How much less likely than the unlikeliest piece a sign is that isn't known.
const UNKNOWN: f64 = 10.0;

pub(super) struct Unigram {
    /// The number of each piece and the logarithm of its likelihood.
    pieces: HashMap<String, (u32, f64)>,
    longest: usize,
    unknown: f64,
}

/// The best way to a place in a word.
struct Step {
    score: f64,
    from: usize,
    number: Option<u32>,
}

impl Unigram {
    pub(super) fn new(scores: Vec<(String, f64)>) -> Result<Self, String> {
        let least = scores.iter().map(|(_, score)| *score).fold(0.0, f64::min);
        let longest = scores.iter().map(|(piece, _)| piece.chars().count()).max().unwrap_or_default();
        let mut pieces = HashMap::with_capacity(scores.len());
        for (number, (piece, score)) in scores.into_iter().enumerate() {
            let number = u32::try_from(number).map_err(|_| "it has too many tokens".to_owned())?;
            pieces.insert(piece, (number, score));
        }
        Ok(Self { pieces, longest: longest.min(PIECE_MAX_CHARS), unknown: least - UNKNOWN })
    }

    pub(super) fn cut(&self, word: &str) -> Vec<u32> {
        let ends = word.char_indices().map(|(at, _)| at).chain([word.len()]);
        let places: Vec<usize> = ends.take(WORD_MAX_CHARS + 1).collect();
        let mut best = vec![Step { score: 0.0, from: 0, number: None }];
        for (end, to) in places.iter().enumerate().skip(1) {
            let mut step = Step { score: f64::NEG_INFINITY, from: end - 1, number: None };
            let from = end.saturating_sub(self.longest.max(1));
            for (start, at) in places.iter().enumerate().take(end).skip(from) {
                let (Some(before), Some(piece)) = (best.get(start), word.get(*at..*to)) else { continue };
                let (score, number) = match self.pieces.get(piece) {
                    Some((number, score)) => (*score, Some(*number)),
                    None if start + 1 == end => (self.unknown, None),
                    None => continue,
                };
                let score = before.score + score;
                if score > step.score {
                    step = Step { score, from: start, number };
                }
            }
            best.push(step);
        }
        let mut numbers = Vec::new();
        let mut at = best.len() - 1;
        while at > 0 {
            let Some(step) = best.get(at) else { break };
            numbers.extend(step.number);
            at = step.from;
        }
        numbers.reverse();
        numbers
    }
}
