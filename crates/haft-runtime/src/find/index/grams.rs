//! Grams: four letters that follow each other in a word. Words that are written a little otherwise have most of them in
//! common, and so has a word with a longer one that it is part of.
//!
//! A tool is a vector of the grams of its name, its description, and its parameters' names and values, each by how rare
//! it is. What is said of parameters isn't read. How tools and words are ranked by that is left to the index.

use super::{build::count, index};
use std::collections::HashMap;

/// Letters of a gram. A blank stands before and after each word.
const LETTERS: usize = 4;

type Gram = [char; LETTERS];

/// The grams of tools while these are read.
#[derive(Debug, Default)]
pub(super) struct GramCounts {
    numbers: HashMap<Gram, u32>,
    /// The grams of each word, so that it is taken apart once.
    words: Vec<Vec<u32>>,
    /// How many tools have a gram, by its number.
    tools: Vec<f32>,
    /// How often the tool that is being read has it, by its number.
    counts: Vec<f32>,
    /// The grams that this tool has.
    own: Vec<u32>,
    /// The grams of all tools that were read, each with its count.
    values: Vec<(u32, f32)>,
    /// Where in these the grams of each tool end.
    ends: Vec<usize>,
}

/// The grams of all tools.
#[derive(Debug, Default)]
pub(super) struct Grams {
    numbers: HashMap<Gram, u32>,
    rarity: Vec<f32>,
    /// The vectors of all tools, each of length 1.
    values: Vec<(u32, f32)>,
    ends: Vec<usize>,
}

impl GramCounts {
    /// A word that may occur in tools; its number.
    pub(super) fn word(&mut self, word: &str) -> usize {
        let mut own = Vec::new();
        for gram in grams(word) {
            let next = u32::try_from(self.tools.len()).unwrap_or(u32::MAX);
            let number = *self.numbers.entry(gram).or_insert(next);
            if number == next {
                self.tools.push(0.0);
                self.counts.push(0.0);
            }
            own.push(number);
        }
        self.words.push(own);
        self.words.len() - 1
    }

    /// The tool that is being read has this word.
    pub(super) fn add(&mut self, word: usize) {
        for gram in self.words.get(word).into_iter().flatten() {
            if let Some(count) = self.counts.get_mut(index(*gram)) {
                if *count < 1.0 {
                    self.own.push(*gram);
                }
                *count += 1.0;
            }
        }
    }

    /// The tool is read; another follows.
    pub(super) fn end_tool(&mut self) {
        for gram in self.own.drain(..) {
            let at = index(gram);
            if let (Some(count), Some(tools)) = (self.counts.get_mut(at), self.tools.get_mut(at)) {
                self.values.push((gram, std::mem::take(count)));
                *tools += 1.0;
            }
        }
        self.ends.push(self.values.len());
    }

    /// The grams of all tools that were read.
    pub(super) fn finish(mut self) -> Grams {
        let all = count(self.ends.len());
        let rarity: Vec<f32> =
            self.tools.iter().map(|tools| (1.0 + all / tools.max(1.0)).ln().sqrt()).collect();
        let mut start = 0;
        for end in &self.ends {
            let Some(values) = self.values.get_mut(start..*end) else { break };
            let mut square = 0.0;
            for (gram, value) in values.iter_mut() {
                *value = damped(*value) * rarity.get(index(*gram)).copied().unwrap_or_default();
                square += *value * *value;
            }
            let length = f32::sqrt(square).max(f32::EPSILON);
            for (_, value) in values {
                *value /= length;
            }
            start = *end;
        }
        Grams { numbers: self.numbers, rarity, values: self.values, ends: self.ends }
    }
}

impl Grams {
    /// What each gram counts for these words, by its number.
    pub(super) fn wanted<'a>(&self, words: impl Iterator<Item = &'a str>) -> Vec<f32> {
        let mut wanted = vec![0_f32; self.rarity.len()];
        for gram in words.flat_map(grams) {
            let number = self.numbers.get(&gram).map(|number| index(*number));
            if let Some(count) = number.and_then(|number| wanted.get_mut(number)) {
                *count += 1.0;
            }
        }
        for (count, rarity) in wanted.iter_mut().zip(&self.rarity) {
            if *count > 0.0 {
                *count = damped(*count) * rarity;
            }
        }
        wanted
    }

    /// How much a tool has of what is wanted; comparable for one query only.
    pub(super) fn likeness(&self, wanted: &[f32], tool: usize) -> f32 {
        let start = tool.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
        let values = self.ends.get(tool).and_then(|end| self.values.get(start..*end));
        let worth =
            |(gram, value): &(u32, f32)| value * wanted.get(index(*gram)).copied().unwrap_or_default();
        values.into_iter().flatten().map(worth).sum()
    }
}

/// The grams of a word; of a short one a single one.
fn grams(word: &str) -> Vec<Gram> {
    let mut signs = vec![' '];
    signs.extend(word.chars());
    signs.resize((signs.len() + 1).max(LETTERS), ' ');
    signs.windows(LETTERS).filter_map(|run| Gram::try_from(run).ok()).collect()
}

/// More of the same counts less and less.
fn damped(count: f32) -> f32 {
    if count > 1.0 { 1.0 + count.ln() } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(tools: &[&[&str]]) -> Grams {
        let mut counts = GramCounts::default();
        for words in tools {
            for word in *words {
                let word = counts.word(word);
                counts.add(word);
            }
            counts.end_tool();
        }
        counts.finish()
    }

    #[test]
    fn a_word_comes_apart_with_its_ends() {
        let texts =
            |word: &str| grams(word).iter().map(|gram| gram.iter().collect()).collect::<Vec<String>>();
        assert_eq!(texts("node"), [" nod", "node", "ode "]);
        assert_eq!(texts("id"), [" id "]);
        assert_eq!(texts("x"), [" x  "]);
        assert_eq!(texts("äöü"), [" äöü", "äöü "]);
    }

    #[test]
    fn a_tool_is_alike_by_what_its_words_share_with_those_that_are_wanted() {
        let grams = read(&[&["colour", "picker"], &["volume"], &[], &["color"]]);
        let wanted = grams.wanted(["colors"].into_iter());
        let alike: Vec<f32> = (0..5).map(|tool| grams.likeness(&wanted, tool)).collect();
        assert!(alike[3] > alike[0] && alike[0] > 0.0, "{alike:?}");
        let none = [alike[1], alike[2], alike[4]];
        assert!(
            none.iter().all(|likeness| *likeness <= 0.0),
            "nothing in common, no words, no such tool: {none:?}"
        );
    }

    #[test]
    fn the_words_of_one_tool_are_none_of_the_next() {
        let grams = read(&[&["alpha", "alpha"], &["beta"]]);
        let wanted = grams.wanted(["alpha"].into_iter());
        assert!(grams.likeness(&wanted, 0) > 0.0);
        assert!(grams.likeness(&wanted, 1) <= 0.0);
        assert!(Grams::default().wanted(["alpha"].into_iter()).is_empty());
    }
}
