//! Building an index: the words of all documents are counted by field, then weighed against each other.

use super::{
    super::{
        document::{Document, FIELDS, fields, needs_number},
        weights::Weights,
        words::{split, stem},
    },
    Entry, Posting, Rarities, Term, ToolIndex,
    grams::GramCounts,
    index,
};
use std::collections::{BTreeSet, HashMap};

/// The fields whose grams count: name, description, names of parameters, their values.
const OF_GRAMS: [bool; FIELDS] = [true, true, true, false, true, false];

/// A word as it was written.
#[derive(Clone, Copy)]
struct Written {
    term: u32,
    /// Its number among those that were taken apart into grams.
    grams: usize,
}

/// An index that is being built.
#[derive(Default)]
pub(super) struct Builder {
    weights: Weights,
    entries: Vec<Entry>,
    names: HashMap<String, Vec<u32>>,
    stems: HashMap<String, u32>,
    /// Each word as it was written, so that it is stemmed once.
    written: HashMap<String, Written>,
    grams: GramCounts,
    /// For each document its words: count by field.
    counts: Vec<HashMap<u32, [f32; FIELDS]>>,
    lengths: Vec<[f32; FIELDS]>,
}

impl Builder {
    /// Nothing is read yet; what counts how much is told by the weights.
    pub(super) fn new(weights: Weights) -> Self {
        Self { weights, ..Self::default() }
    }

    /// Reads a document.
    pub(super) fn add(&mut self, document: &Document<'_>) {
        let Ok(number) = u32::try_from(self.entries.len()) else { return };
        let fields = fields(document);
        let mut counts: HashMap<u32, [f32; FIELDS]> = HashMap::new();
        let mut lengths = [0.0; FIELDS];
        for ((field, words), has_grams) in fields.iter().enumerate().zip(OF_GRAMS) {
            for word in words {
                let word = self.written(word);
                add_to(&mut counts, word.term, field, 1.0);
                add_at(&mut lengths, field, 1.0);
                if has_grams {
                    self.grams.add(word.grams);
                }
            }
        }
        self.grams.end_tool();
        // "board game" finds what is called board_game and what is called boardgame.
        for pair in split(document.name).windows(2) {
            let joined = self.written(&pair.concat());
            add_to(&mut counts, joined.term, 0, 0.7);
        }
        self.counts.push(counts);
        self.lengths.push(lengths);
        for key in keys(document) {
            let documents = self.names.entry(key).or_default();
            if !documents.contains(&number) {
                documents.push(number);
            }
        }
        self.entries.push(Entry {
            name: document.name.into(),
            source: document.source.into(),
            rarities: Rarities::default(),
            needs_number: needs_number(document.schema),
        });
    }

    fn written(&mut self, word: &str) -> Written {
        if let Some(known) = self.written.get(word) {
            return *known;
        }
        let next = u32::try_from(self.stems.len()).unwrap_or(u32::MAX);
        let term = *self.stems.entry(stem(word)).or_insert(next);
        let made = Written { term, grams: self.grams.word(word) };
        self.written.insert(word.to_owned(), made);
        made
    }

    /// The index of all that was read.
    pub(super) fn finish(mut self) -> ToolIndex {
        let mut terms: Vec<Term> = self.stems.values().map(|_| Term::default()).collect();
        let mut frequency = vec![0_f32; terms.len()];
        for counts in &self.counts {
            for term in counts.keys() {
                if let Some(frequency) = frequency.get_mut(index(*term)) {
                    *frequency += 1.0;
                }
            }
        }
        let all = count(self.entries.len());
        for (term, frequency) in terms.iter_mut().zip(&frequency) {
            term.rarity = (1.0 + (all - frequency + 0.5) / (frequency + 0.5)).ln();
        }
        let mut usual = [0_f32; FIELDS];
        for lengths in &self.lengths {
            for (usual, length) in usual.iter_mut().zip(lengths) {
                *usual += length / all;
            }
        }
        for (number, ((counts, lengths), entry)) in
            self.counts.iter().zip(&self.lengths).zip(&mut self.entries).enumerate()
        {
            let Ok(document) = u32::try_from(number) else { break };
            for (term, fields) in counts {
                let Some(term) = terms.get_mut(index(*term)) else { continue };
                let worth = term.rarity * self.weights.saturated(fields, lengths, &usual);
                let [name, description, parameters, ..] = *fields;
                // Words of a name that are written as one are no word of it.
                let (in_name, in_description) = (name >= 1.0, description > 0.0);
                term.in_names |= in_name || parameters > 0.0;
                if in_name {
                    entry.rarities.name += term.rarity;
                }
                if in_description {
                    entry.rarities.description += term.rarity;
                }
                term.postings.push(Posting { document, worth, in_name, in_description });
            }
        }
        let mut term = |at: u32| terms.get_mut(index(at)).map(std::mem::take);
        let terms = self.stems.into_iter().filter_map(|(stem, at)| Some((stem, term(at)?))).collect();
        ToolIndex {
            weights: self.weights,
            entries: self.entries,
            terms,
            grams: self.grams.finish(),
            names: self.names,
            embeddings: None,
        }
    }
}

/// The spellings under which a tool is named: with and without protocol and server, and its aliases.
fn keys(document: &Document<'_>) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    let mut add = |name: &str| {
        let key = split(name).join(" ");
        if !key.is_empty() {
            keys.insert(key);
        }
    };
    add(document.name);
    if let Some(rest) = document.name.strip_prefix("mcp__") {
        add(rest);
        if let Some((_, bare)) = rest.split_once("__") {
            add(bare);
        }
    }
    document.aliases.iter().for_each(|alias| add(alias));
    keys
}

fn add_to(counts: &mut HashMap<u32, [f32; FIELDS]>, term: u32, field: usize, amount: f32) {
    add_at(counts.entry(term).or_default(), field, amount);
}

fn add_at(fields: &mut [f32; FIELDS], field: usize, amount: f32) {
    if let Some(count) = fields.get_mut(field) {
        *count += amount;
    }
}

#[expect(clippy::cast_precision_loss, clippy::as_conversions, reason = "counts of tools, for a logarithm")]
pub(super) fn count(number: usize) -> f32 {
    number as f32
}
