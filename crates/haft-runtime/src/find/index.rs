//! The index of a catalogue, and how its tools are ranked for a query.

mod build;
mod grams;

use super::{
    Query,
    document::Document,
    embeddings::{Embeddings, text_of},
    implied::implied,
    model::StaticModel,
    values::lacks_number,
    weights::Weights,
    words::{is_stop, kin, split, stem},
};
use build::Builder;
use grams::Grams;
use std::{
    cmp::{Ordering, Reverse},
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

/// Shortest start of a word that counts.
const PREFIX_MIN_CHARS: usize = 4;
/// Longest one that is looked for: each costs a look at all its characters.
const PREFIX_MAX_CHARS: usize = 64;
/// Most words of a query that are looked at; what follows is seldom about the tool.
const QUERY_MAX_WORDS: usize = 400;
/// A tool without a word of the query is found where its embedding is as similar to the query's.
const SIMILARITY_MIN: f32 = 0.35;
/// Spelling is looked at where a tool has so much of the score of the best by words.
const SPELLED_MIN_SHARE: f32 = 0.2;
/// And of no more tools than these.
const SPELLED_MAX_TOOLS: usize = 200;
/// Most words of a name that is looked for as a whole.
const NAME_MAX_WORDS: usize = 12;

/// A place where a word occurs.
#[derive(Debug, Clone, Copy)]
struct Posting {
    document: u32,
    /// What the word is worth here: inverse frequency and all fields, saturated.
    worth: f32,
    /// Whether it is a word of the name.
    in_name: bool,
    /// Whether it is one of the description.
    in_description: bool,
}

#[derive(Debug, Default)]
struct Term {
    postings: Vec<Posting>,
    /// The inverse frequency.
    rarity: f32,
    in_names: bool,
}

/// Rarities of words, added up: of a tool's, or of those among them that a query has.
#[derive(Debug, Clone, Copy, Default)]
struct Rarities {
    name: f32,
    description: f32,
}

#[derive(Debug)]
struct Entry {
    name: Arc<str>,
    source: Arc<str>,
    rarities: Rarities,
    needs_number: bool,
}

/// How tools are ranked.
#[derive(Debug, Clone, Default)]
pub struct Ranking {
    /// How much what counts.
    pub weights: Weights,
    /// What words mean; none, and they count as they are written.
    pub model: Option<Arc<StaticModel>>,
}

/// An index of tools. Building takes some microseconds a tool; it never changes.
#[derive(Debug, Default)]
pub struct ToolIndex {
    weights: Weights,
    entries: Vec<Entry>,
    terms: HashMap<String, Term>,
    grams: Grams,
    /// Names as words joined by blanks, with and without server and source.
    names: HashMap<String, Vec<u32>>,
    embeddings: Option<Embeddings>,
}

/// A tool that fits: its rank among those that are named, its score.
type Ranked<'a> = (Option<usize>, f32, &'a Entry);

/// A tool that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The name that a model calls.
    pub name: Arc<str>,
    /// Whether the query names it.
    pub is_named: bool,
    /// How well it fits; comparable within one answer only.
    pub score: f32,
}

/// The answer to a query.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    /// The best, best first.
    pub hits: Vec<Hit>,
    /// How many more there were.
    pub more: usize,
    /// Names of a `select:` that no tool has.
    pub unknown: Vec<String>,
}

impl ToolIndex {
    /// Reads all documents.
    pub fn build<'a>(documents: impl IntoIterator<Item = Document<'a>>) -> Self {
        Self::ranked(Ranking::default(), documents)
    }

    /// Reads all documents, to be ranked otherwise than by words and the usual weights.
    pub fn ranked<'a>(ranking: Ranking, documents: impl IntoIterator<Item = Document<'a>>) -> Self {
        let mut builder = Builder::new(ranking.weights);
        let mut texts = Vec::new();
        for document in documents {
            builder.add(&document);
            if ranking.model.is_some() {
                texts.push(text_of(&document));
            }
        }
        let embeddings = ranking.model.map(|model| Embeddings::of(model, &texts));
        Self { embeddings, ..builder.finish() }
    }

    /// How many tools are in it.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The best tools for a query among those that `shows` lets through. Tools that the query names come first and all
    /// of them, also past the limit.
    pub fn search(&self, query: &Query, limit: usize, shows: impl Fn(&str) -> bool) -> Found {
        if !query.select.is_empty() {
            return self.selected(query, shows);
        }
        let scores = self.scores(&query.text);
        let named = self.named(&query.text);
        let required = self.having(&query.required);
        let fits = |at: usize, entry: &Entry| {
            let has_words = required.as_ref().is_none_or(|having| having.contains(&at));
            has_words && of_source(entry, query.source.as_deref()) && shows(&entry.name)
        };
        // A source or a required word alone asks for all that have it.
        let is_list = query.text.is_empty();
        let mut hits: Vec<Ranked<'_>> = Vec::new();
        for (at, entry) in self.entries.iter().enumerate() {
            let place = named.get(&at).copied();
            let score = scores.get(at).copied().unwrap_or_default();
            if (score > 0.0 || place.is_some() || is_list) && fits(at, entry) {
                hits.push((place, score, entry));
            }
        }
        let kept = limit.max(hits.iter().filter(|(place, ..)| place.is_some()).count());
        let more = hits.len().saturating_sub(kept);
        if kept < hits.len() {
            // Only those that are kept need an order among them.
            hits.select_nth_unstable_by(kept, best_first);
            hits.truncate(kept);
        }
        hits.sort_by(best_first);
        Found {
            hits: hits.iter().map(|(place, score, entry)| hit(entry, place.is_some(), *score)).collect(),
            more,
            unknown: Vec::new(),
        }
    }

    fn selected(&self, query: &Query, shows: impl Fn(&str) -> bool) -> Found {
        let mut found = Found::default();
        for name in &query.select {
            let exact = self.entries.iter().position(|entry| entry.name.as_ref() == name);
            let loose =
                || self.names.get(&split(name).join(" ")).and_then(|at| at.first()).map(|at| index(*at));
            match exact.or_else(loose).and_then(|at| self.entries.get(at)).filter(|entry| shows(&entry.name))
            {
                Some(entry) if found.hits.iter().any(|hit| hit.name == entry.name) => {}
                Some(entry) => found.hits.push(hit(entry, true, 0.0)),
                None => found.unknown.push(name.clone()),
            }
        }
        found
    }

    /// How well each document fits a query.
    fn scores(&self, text: &str) -> Vec<f32> {
        let scores = self.lexical(text);
        let similarities = self.embeddings.as_ref().and_then(|embeddings| embeddings.similarities(text));
        let Some(similarities) = similarities else { return scores };
        let best = scores.iter().copied().fold(f32::EPSILON, f32::max);
        let both = scores.iter().zip(similarities).map(|(score, similarity)| {
            let is_found = *score > 0.0 || similarity >= SIMILARITY_MIN;
            if is_found { score / best + self.weights.meaning * similarity.max(0.0) } else { 0.0 }
        });
        both.collect()
    }

    /// How well each document fits the words of a query.
    fn lexical(&self, text: &str) -> Vec<f32> {
        let mut words = split(text);
        words.truncate(QUERY_MAX_WORDS);
        let mut scores = vec![0_f32; self.entries.len()];
        let mut covered = vec![Rarities::default(); self.entries.len()];
        for (word, weight) in self.expand(&words) {
            let Some(term) = self.terms.get(&word) else { continue };
            for posting in &term.postings {
                let at = index(posting.document);
                if let (Some(score), Some(covered)) = (scores.get_mut(at), covered.get_mut(at)) {
                    *score += weight * posting.worth;
                    let rarity = weight.min(1.0) * term.rarity;
                    if posting.in_name {
                        covered.name += rarity;
                    }
                    if posting.in_description {
                        covered.description += rarity;
                    }
                }
            }
        }
        for ((score, covered), entry) in scores.iter_mut().zip(covered).zip(&self.entries) {
            let all = entry.rarities;
            *score *= self.weights.coverage.mul_add(share(covered.name, all.name), 1.0);
            *score *= self.weights.described.mul_add(share(covered.description, all.description), 1.0);
        }
        self.add_spelling(&words, &mut scores);
        if lacks_number(text, &words, |word| self.is_own(word)) {
            for (score, _) in scores.iter_mut().zip(&self.entries).filter(|(_, entry)| entry.needs_number) {
                *score *= 1.0 - self.weights.numberless;
            }
        }
        scores
    }

    /// Whether tools, or parameters of theirs, are called by that word, written together or apart.
    fn is_own(&self, word: &str) -> bool {
        let parts = split(word);
        let is_own = |part: &str| self.terms.get(&stem(part)).is_some_and(|term| term.in_names);
        is_own(&parts.concat()) || parts.iter().all(|part| is_own(part))
    }

    /// Of the tools that are best by words, lifts those whose words are written like those of the query.
    fn add_spelling(&self, words: &[String], scores: &mut [f32]) {
        let best = scores.iter().copied().fold(0.0, f32::max);
        let enough = |(_, score): &(usize, f32)| *score > SPELLED_MIN_SHARE * best;
        let mut good: Vec<(usize, f32)> = scores.iter().copied().enumerate().filter(enough).collect();
        if good.len() > SPELLED_MAX_TOOLS {
            good.select_nth_unstable_by(SPELLED_MAX_TOOLS, |(at, score), (other, other_score)| {
                other_score.total_cmp(score).then(at.cmp(other))
            });
            good.truncate(SPELLED_MAX_TOOLS);
        }
        let wanted = self.grams.wanted(words.iter().filter(|word| tells(word)).map(String::as_str));
        for (at, likeness) in &mut good {
            *likeness = self.grams.likeness(&wanted, *at);
        }
        let most = good.iter().fold(f32::EPSILON, |most, (_, likeness)| most.max(*likeness));
        for (at, likeness) in good {
            if let Some(score) = scores.get_mut(at) {
                *score += self.weights.spelling * best * likeness / most;
            }
        }
    }

    /// The stems to look for, each with its weight.
    fn expand(&self, words: &[String]) -> Vec<(String, f32)> {
        let mut weights: HashMap<String, f32> = HashMap::new();
        let mut counts: HashMap<&str, f32> = HashMap::new();
        for word in words.iter().filter(|word| tells(word)) {
            *counts.entry(word).or_default() += 1.0;
        }
        for (word, count) in &counts {
            let weight = weights.entry(stem(word)).or_default();
            *weight = weight.max(self.weights.repeated.mul_add(count.ln(), 1.0));
        }
        let own: BTreeSet<String> = weights.keys().cloned().collect();
        let mut also = |stem: String, weight: f32| {
            if !own.contains(&stem) && self.terms.contains_key(&stem) {
                let known = weights.entry(stem).or_default();
                *known = known.max(weight);
            }
        };
        for pair in words.windows(2) {
            if let [one, other] = pair
                && one.len() > 2
                && other.len() > 2
            {
                also(stem(&format!("{one}{other}")), self.weights.joined);
            }
        }
        for word in counts.keys() {
            for (end, _) in word.char_indices().take(PREFIX_MAX_CHARS).skip(PREFIX_MIN_CHARS) {
                let start = word.get(..end).unwrap_or_default();
                if self.terms.get(start).is_some_and(|term| term.in_names) {
                    also(start.to_owned(), self.weights.prefix);
                }
            }
        }
        for stem in &own {
            for other in kin(stem) {
                also(other.clone(), self.weights.synonym);
            }
        }
        let rarity = |stem: &str| self.terms.get(stem).map(|term| term.rarity);
        for word in implied(words) {
            let by = word.by.iter().filter_map(|word| rarity(&stem(word))).fold(f32::INFINITY, f32::min);
            // What many tools talk about implies little.
            let limit = rarity(word.stem).map_or(0.0, |rarity| (by / rarity).min(1.0));
            also(word.stem.to_owned(), self.weights.implied * word.share * limit * limit);
        }
        let mut terms: Vec<_> = weights.into_iter().collect();
        // Added up always in one order, so that equal queries rank equally to the last bit.
        terms.sort_by(|one, other| one.0.cmp(&other.0));
        terms
    }

    /// The tools that the query names, each with its rank: the one named by the whole query first, then those named by
    /// more words, then in the order of the query.
    fn named(&self, text: &str) -> HashMap<usize, usize> {
        let mut words = split(text);
        words.truncate(QUERY_MAX_WORDS);
        let mut found: Vec<(Reverse<usize>, usize, usize)> = Vec::new();
        let chunks: Vec<&str> =
            text.split([' ', ',', ';', '\n', '\t']).filter(|chunk| !chunk.is_empty()).collect();
        let only_names = chunks.iter().all(|chunk| self.names.contains_key(&split(chunk).join(" ")));
        let mut add = |key: &str, weight: usize, at: usize| {
            for document in self.names.get(key).into_iter().flatten() {
                found.push((Reverse(weight), at, index(*document)));
            }
        };
        add(&words.join(" "), usize::MAX, 0);
        for (at, chunk) in chunks.iter().enumerate() {
            // A word alone is a name only where it looks like one, or all others are names as well.
            let bare = chunk.trim_matches(|sign: char| !sign.is_alphanumeric());
            let looks_it =
                *chunk != bare && chunk.contains(['`', '"']) || bare.contains(['_', '-', '.', ':']);
            let key = split(chunk);
            if key.len() > 1 || only_names || looks_it {
                add(&key.join(" "), key.len(), at);
            }
        }
        for start in 0..words.len() {
            for length in 2..=NAME_MAX_WORDS.min(words.len() - start) {
                let key = words.get(start..start + length).unwrap_or_default().join(" ");
                add(&key, length, start);
            }
        }
        found.sort_unstable();
        let mut ranks = HashMap::new();
        for (rank, (_, _, document)) in found.into_iter().enumerate() {
            ranks.entry(document).or_insert(rank);
        }
        ranks
    }

    /// The tools that have all these words in any form.
    fn having(&self, words: &[String]) -> Option<BTreeSet<usize>> {
        let mut having: Option<BTreeSet<usize>> = None;
        for word in words {
            let postings = self.terms.get(&stem(word)).map_or(&[][..], |term| &term.postings);
            let with: BTreeSet<usize> = postings.iter().map(|posting| index(posting.document)).collect();
            having = Some(match having {
                Some(before) => before.intersection(&with).copied().collect(),
                None => with,
            });
        }
        having
    }
}

/// Named tools by their rank, then by score; equal ones in the order of their names.
fn best_first(
    (place, score, entry): &Ranked<'_>,
    (other_place, other_score, other): &Ranked<'_>,
) -> Ordering {
    let order = place.unwrap_or(usize::MAX).cmp(&other_place.unwrap_or(usize::MAX));
    order.then(other_score.total_cmp(score)).then_with(|| entry.name.cmp(&other.name))
}

/// How much of all there is, from 0 to 1.
fn share(part: f32, all: f32) -> f32 {
    if all > 0.0 { (part / all).min(1.0) } else { 0.0 }
}

fn hit(entry: &Entry, is_named: bool, score: f32) -> Hit {
    Hit { name: Arc::clone(&entry.name), is_named, score }
}

/// Whether a word of a query is worth looking for: not a number or a letter alone.
fn tells(word: &str) -> bool {
    !is_stop(word) && word.chars().nth(1).is_some() && !word.chars().all(|sign| sign.is_ascii_digit())
}

/// Whether the tool comes from that source: the owner's name, or the server that its own name starts with.
fn of_source(entry: &Entry, source: Option<&str>) -> bool {
    let Some(source) = source else { return true };
    let owner = entry.source.to_lowercase();
    let server = entry.name.strip_prefix("mcp__").and_then(|rest| rest.split("__").next());
    owner == source
        || owner.rsplit([':', '/']).next() == Some(source)
        || server.is_some_and(|server| server.eq_ignore_ascii_case(source))
}

fn index(document: u32) -> usize {
    usize::try_from(document).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
