//! Where the words of secrets stand in a text, all in one pass.
//!
//! Most texts hold few of them, so that what counts is how quickly a place is passed over. The words are dealt into as
//! many groups as a number has bits. For each byte stands which groups have a word with it as the first, second, third
//! and fourth letter; what is left of the four in a row are the groups whose words are compared there. An automaton of
//! all words finds the same at half the pace, and takes more than a millisecond of each start to build.

use super::kinds::KINDS;

/// So many letters of a word are looked up before it is compared.
const LETTERS: usize = 4;
/// The groups, a bit each.
const GROUPS: usize = 64;
/// How many words shorter than that share a group.
const SHORT_GROUP: usize = 2;

/// Which groups have a word with this byte, by the letter it is.
type Row = [u64; LETTERS];

/// A word, and the kind that has it.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) kind: usize,
    pub(super) text: &'static str,
    /// Its letters stand as they are; else in capitals too.
    is_exact: bool,
}

impl Word {
    /// Enters its first letters for a group.
    fn enter(&self, rows: &mut [Row; 256], ended: &mut Row, group: u64) {
        for letter in 0..LETTERS {
            match self.text.as_bytes().get(letter) {
                Some(byte) if self.is_exact => mark(rows.get_mut(usize::from(*byte)), letter, group),
                Some(byte) => {
                    for byte in [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()] {
                        mark(rows.get_mut(usize::from(byte)), letter, group);
                    }
                }
                None => rows.iter_mut().chain([&mut *ended]).for_each(|row| mark(Some(row), letter, group)),
            }
        }
    }

    fn begins(&self, text: &[u8]) -> bool {
        let Some(there) = text.get(..self.text.len()) else { return false };
        if self.is_exact {
            there == self.text.as_bytes()
        } else {
            there.eq_ignore_ascii_case(self.text.as_bytes())
        }
    }
}

fn mark(row: Option<&mut Row>, letter: usize, group: u64) {
    if let Some(groups) = row.and_then(|row| row.get_mut(letter)) {
        *groups |= group;
    }
}

/// The words of all kinds.
pub(super) struct Words {
    rows: Box<[Row; 256]>,
    /// Which groups have a word that has ended before its second, third and fourth letter.
    ended: Row,
    groups: Vec<Vec<Word>>,
    longest: usize,
}

impl Words {
    pub(super) fn new() -> Self {
        let each = KINDS.iter().enumerate().flat_map(|(kind, row)| {
            row.words.iter().map(move |text| Word { kind, text, is_exact: row.is_exact() })
        });
        Self::of(each.collect())
    }

    fn of(mut words: Vec<Word>) -> Self {
        // Like ones together, so that a group has few letters. A short word lets any letter pass for its whole group, so
        // short ones have groups of their own, and small ones.
        words.sort_by_cached_key(|word| (word.text.to_ascii_lowercase(), word.kind));
        let longest = words.iter().map(|word| word.text.len()).max().unwrap_or_default();
        let (short, long): (Vec<Word>, Vec<Word>) =
            words.into_iter().partition(|word| word.text.len() < LETTERS);
        let size = short.len().div_ceil(GROUPS / 2).max(SHORT_GROUP);
        let mut groups = grouped(short, size);
        let size = long.len().div_ceil(GROUPS - groups.len()).max(1);
        groups.extend(grouped(long, size));
        let (mut rows, mut ended) = (Box::new([[0; LETTERS]; 256]), [0; LETTERS]);
        for (group, words) in groups.iter().enumerate() {
            for word in words {
                word.enter(&mut rows, &mut ended, 1 << group);
            }
        }
        Self { rows, ended, groups, longest }
    }

    /// The bytes of the longest.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// The first place from `from` on where words may begin, and their groups.
    #[inline(never)] // on its own its four numbers stay in registers: a third quicker
    fn next(&self, text: &[u8], from: usize) -> Option<(usize, u64)> {
        let ends = std::iter::repeat_n(&self.ended, LETTERS - 1);
        let tail = text.get(from..)?.iter();
        let mut rows = tail.filter_map(|byte| self.rows.get(usize::from(*byte))).chain(ends);
        let (mut one, mut two, mut three, mut four) = (0, 0, 0, 0);
        let last = rows.position(|[first, second, third, fourth]| {
            (four, three, two, one) = (three & fourth, two & third, one & second, *first);
            four != 0
        })?;
        Some((from + last + 1 - LETTERS, four))
    }

    /// Each word in the text with the place where it begins, in the order of the places. They may overlap.
    pub(super) fn find<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = (usize, &'a Word)> {
        let mut from = 0;
        let places = std::iter::from_fn(move || {
            let (at, groups) = self.next(text, from)?;
            from = at + 1;
            Some((at, groups))
        });
        places.flat_map(move |(at, groups)| {
            let there = text.get(at..).unwrap_or_default();
            let words = bits(groups).filter_map(|group| self.groups.get(group)).flatten();
            words.filter(|word| word.begins(there)).map(move |word| (at, word))
        })
    }
}

/// So many words in each, in their order.
fn grouped(words: Vec<Word>, size: usize) -> Vec<Vec<Word>> {
    let mut words = words.into_iter();
    let next = || Some(words.by_ref().take(size).collect::<Vec<Word>>()).filter(|group| !group.is_empty());
    std::iter::from_fn(next).collect()
}

/// The bits that are set, the lowest first.
fn bits(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = usize::try_from(set.trailing_zeros()).ok().filter(|_| set != 0)?;
        set &= set - 1;
        Some(lowest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use aho_corasick::AhoCorasick;
    use proptest::prelude::*;

    fn found(words: &Words, text: &[u8]) -> Vec<(usize, &'static str, usize)> {
        words.find(text).map(|(at, word)| (at, word.text, word.kind)).collect()
    }

    /// The same by an automaton, which knows nothing of groups.
    fn expected(words: &Words, text: &[u8]) -> Vec<(usize, &'static str, usize)> {
        let all: Vec<&Word> = words.groups.iter().flatten().collect();
        let texts = all.iter().map(|word| word.text);
        let automaton = AhoCorasick::builder().ascii_case_insensitive(true).build(texts).unwrap();
        let hits = automaton.find_overlapping_iter(text).map(|hit| (hit.start(), all[hit.pattern()]));
        let is_there =
            |at: usize, word: &Word| !word.is_exact || text[at..].starts_with(word.text.as_bytes());
        hits.filter(|(at, word)| is_there(*at, word)).map(|(at, word)| (at, word.text, word.kind)).collect()
    }

    fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
        list.sort();
        list
    }

    #[test]
    fn each_word_is_found_wherever_it_stands() {
        let words = Words::new();
        for word in words.groups.iter().flatten() {
            for text in [word.text.to_owned(), format!("{0}{0}", word.text), format!("a {}\n", word.text)] {
                let found = found(&words, text.as_bytes());
                assert!(found.iter().any(|hit| hit.1 == word.text && hit.2 == word.kind), "{text:?}");
                assert_eq!(sorted(found), sorted(expected(&words, text.as_bytes())), "{text:?}");
            }
            let capitals = word.text.to_ascii_uppercase();
            let is_found = found(&words, capitals.as_bytes()).iter().any(|hit| hit.1 == word.text);
            assert_eq!(is_found, !word.is_exact || capitals == word.text, "{capitals}");
        }
    }

    #[test]
    fn places_come_in_their_order() {
        let words = Words::new();
        let text = KINDS.iter().flat_map(|kind| kind.words.concat().into_bytes()).collect::<Vec<u8>>();
        let places: Vec<usize> = words.find(&text).map(|(at, _)| at).collect();
        assert!(places.len() > KINDS.len() && places.is_sorted());
    }

    proptest! {
        #[test]
        fn an_automaton_finds_the_same(
            pieces in proptest::collection::vec((0..512_usize, 0..8_usize, "[ -~]{0,6}"), 0..40)
        ) {
            let words = Words::new();
            let mut text = Vec::new();
            for (index, cut, between) in pieces {
                if let Some(word) = words.groups.iter().flatten().nth(index) {
                    text.extend_from_slice(word.text.as_bytes().get(cut.min(word.text.len())..).unwrap_or_default());
                }
                text.extend_from_slice(between.as_bytes());
            }
            prop_assert_eq!(sorted(found(&words, &text)), sorted(expected(&words, &text)));
        }
    }
}
